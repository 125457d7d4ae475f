//! Builds the library that `punctual emulate` starts programs with, and has the command carry it.
//!
//! A crate cannot depend on the shared library of another on stable Rust. Therefore a cargo of its own builds it,
//! optimised and stripped in each profile, by the same flags whatever those of this build are. Where the library does
//! not work or cannot be built, the command carries none; a warning says why.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// How the library is built.
const PROFILE: [&str; 6] = [
    "profile.release.opt-level=2",
    "profile.release.lto=true",
    "profile.release.codegen-units=1",
    "profile.release.debug=0",
    "profile.release.strip=true",
    "profile.release.panic='unwind'",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| env::var(name).unwrap_or_default();
    let out = PathBuf::from(var("OUT_DIR"));
    let is_supported = var("CARGO_CFG_TARGET_OS") == "linux"
        && ["gnu", "musl"].contains(&&*var("CARGO_CFG_TARGET_ENV"))
        && var("CARGO_CFG_TARGET_POINTER_WIDTH") == "64"
        && ["x86_64", "aarch64"].contains(&&*var("CARGO_CFG_TARGET_ARCH"));
    let source = PathBuf::from(var("DEP_PUNCTUAL_PRELOAD_SOURCE"));
    let carried = match is_supported.then(|| build(&source, &out)) {
        Some(Ok(library)) => format!("Some(include_bytes!({library:?}))"),
        Some(Err(why)) => {
            println!(
                "cargo::warning=`punctual emulate` will refuse all, as its library cannot be built: {why}"
            );
            "None".to_owned()
        }
        None => "None".to_owned(),
    };
    let text = format!("pub(super) const LIBRARY: Option<&[u8]> = {carried};\n");
    fs::write(out.join("carried.rs"), text).expect("the folder of a build can be written");
}

/// Builds the library from its sources, or says why not.
fn build(source: &Path, out: &Path) -> Result<PathBuf, String> {
    for folder in [".", "../rules", "../sys", "../core"] {
        for part in ["src", "Cargo.toml", "build.rs"] {
            let part = source.join(folder).join(part);
            if part.exists() {
                println!("cargo::rerun-if-changed={}", part.display());
            }
        }
    }
    let var = |name: &str| env::var(name).unwrap_or_default();
    // The programs that load it are linked with glibc, however this command is linked.
    let (target, folder) = (var("TARGET").replace("-musl", "-gnu"), out.join("preload"));
    let linker = target.to_uppercase().replace(['-', '.'], "_");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_{linker}_LINKER");
    let mut cargo = Command::new(var("CARGO"));
    cargo
        .args(["rustc", "--quiet", "--locked", "--release", "--lib"])
        .args(["--crate-type=cdylib", "--features=interpose"])
        .args(["--target", &target])
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .args(PROFILE.iter().flat_map(|setting| ["--config", *setting]))
        // Else a setting of the user would have both builds wait for the same lock.
        .arg("--config")
        .arg(format!("build.build-dir={folder:?}"));
    // Flags of this build, such as a sanitizer, are not for other programs. These come before all others that
    // cargo knows of; with them the library is the same wherever its sources and its folder are.
    let root = source.parent().and_then(Path::parent).unwrap_or(source);
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let flags = [remap(root, "/punctual"), remap(&folder, "/build")]
        .into_iter()
        .chain(home.map(|home| remap(&home, "/cargo")));
    cargo.env(
        "CARGO_ENCODED_RUSTFLAGS",
        flags.collect::<Vec<_>>().join("\x1f"),
    );
    for name in [
        "CARGO_BUILD_RUSTC_WRAPPER",
        "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
        "CARGO_INCREMENTAL",
        "CLIPPY_ARGS",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTFLAGS",
    ] {
        cargo.env_remove(name);
    }
    let built = cargo.output().map_err(|why| why.to_string())?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let errors: Vec<&str> = said.lines().filter(|l| l.starts_with("error")).collect();
        return Err(match errors[..] {
            [] => said.lines().last().unwrap_or("no reason given").to_owned(),
            _ => errors.join("; "),
        });
    }
    let library = folder.join(target).join("release/libpunctual_preload.so");
    match library.exists() {
        true => Ok(library),
        false => Err(format!("there is no {}", library.display())),
    }
}
