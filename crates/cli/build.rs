//! Builds the library that `punctual emulate` starts programs with, and has the command carry it.
//!
//! A crate cannot depend on the shared library of another on stable Rust. Therefore a cargo of its own builds it,
//! optimised and stripped in each profile. Where the library does not work, the command carries none.

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
        && var("CARGO_CFG_TARGET_ENV") == "gnu"
        && ["x86_64", "aarch64"].contains(&&*var("CARGO_CFG_TARGET_ARCH"));
    let carried = match is_supported {
        true => {
            let library = build(Path::new(&var("DEP_PUNCTUAL_PRELOAD_SOURCE")), &out);
            format!("Some(include_bytes!({library:?}))")
        }
        false => "None".to_owned(),
    };
    let text = format!("pub(super) const LIBRARY: Option<&[u8]> = {carried};\n");
    fs::write(out.join("carried.rs"), text).expect("the folder of a build can be written");
}

/// Builds the library from its sources.
fn build(source: &Path, out: &Path) -> PathBuf {
    for part in ["src", "../rules/src", "../core/src"] {
        let part = source.join(part);
        if part.exists() {
            println!("cargo::rerun-if-changed={}", part.display());
        }
    }
    let var = |name: &str| env::var(name).unwrap_or_default();
    let (target, mut folder) = (var("TARGET"), out.join("preload"));
    let mut cargo = Command::new(var("CARGO"));
    cargo
        .args(["rustc", "--quiet", "--offline", "--release", "--lib"])
        .args(["--crate-type=cdylib", "--features=interpose"])
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .args(PROFILE.iter().flat_map(|setting| ["--config", *setting]));
    if target != var("HOST") {
        cargo.args(["--target", &target]);
        folder.push(&target);
    }
    // Flags of this build, such as a sanitizer, are not for other programs.
    for name in [
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CLIPPY_ARGS",
    ] {
        cargo.env_remove(name);
    }
    let built = cargo.status().is_ok_and(|status| status.success());
    assert!(
        built,
        "the library of `punctual emulate` cannot be built: {cargo:?}"
    );
    folder.join("release/libpunctual_preload.so")
}
