//! Rules of the crates that Cargo does not check: which are pure, which dependencies the library
//! may have, and where unsafe code is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The crates with unsafe code: system calls for the library and for the lab, memory to zero, and
/// exported functions.
const UNSAFE: [&str; 7] = [
    "capi",
    "explorer",
    "os",
    "preload",
    "supervise",
    "sys",
    "zero/memory",
];

/// The crates that never touch the operating system.
const PURE: [&str; 10] = [
    "core",
    "import",
    "program",
    "record",
    "report",
    "rules",
    "sim",
    "trace",
    "zero/pool",
    "zero/sim",
];

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_owned()
}

fn manifest(name: &str) -> String {
    fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap()
}

/// The workspace as cargo knows it. `None` under Wine, which cannot run the system's cargo.
fn packages() -> Option<Vec<Value>> {
    if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
        return None;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    Some(metadata["packages"].as_array().unwrap().clone())
}

/// A package's dependencies of some kinds; a `null` kind is an ordinary one.
fn of_kinds<'p>(package: &'p Value, kinds: &'p [Option<&str>]) -> impl Iterator<Item = &'p Value> {
    let dependencies = package["dependencies"].as_array().unwrap().iter();
    dependencies.filter(|d| kinds.contains(&d["kind"].as_str()))
}

/// Their names.
fn dependencies(package: &Value, kinds: &[Option<&str>]) -> BTreeSet<String> {
    let name = |d: &Value| d["name"].as_str().unwrap().to_owned();
    of_kinds(package, kinds).map(name).collect()
}

const SHIPPED: [Option<&str>; 2] = [None, Some("build")];
const ALL: [Option<&str>; 3] = [None, Some("build"), Some("dev")];

fn is_ours(name: &str) -> bool {
    name.starts_with("punctual")
}

#[test]
fn pure_crates_depend_on_pure_crates_only() {
    let Some(packages) = packages() else { return };
    let pure = PURE.map(|pure| format!("punctual-{}", pure.replace('/', "-")));
    let is_pure = |name: &str| pure.iter().any(|pure| pure == name);
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        for dependency in dependencies(package, &ALL) {
            assert!(
                !is_pure(name) || !is_ours(&dependency) || is_pure(&dependency),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn the_library_needs_nothing_but_a_binding_to_the_system() {
    let Some(packages) = packages() else { return };
    for (name, allowed) in [
        ("punctual-core", &[][..]),
        (
            "punctual-sys",
            &["punctual-core", "libc", "windows-sys", "mach2"],
        ),
        ("punctual", &["punctual-core", "punctual-sys"]),
    ] {
        let package = packages.iter().find(|p| p["name"] == name).unwrap();
        for dependency in of_kinds(package, &SHIPPED) {
            let [name_of, features] = [&dependency["name"], &dependency["features"]];
            let name_of = name_of.as_str().unwrap();
            // The library asks the core for none of its features, and so gets
            // nothing that is optional in it.
            assert!(
                !is_ours(name_of) || features.as_array().unwrap().is_empty(),
                "{name} must not ask {name_of} for {features}"
            );
            let is_asked_for = dependency["optional"] == false;
            assert!(
                allowed.contains(&name_of) || !is_asked_for,
                "{name} must not depend on {name_of}"
            );
        }
        let features = package["features"].as_object().unwrap();
        assert!(!features.contains_key("default"), "{name}: {features:?}");
    }
}

/// Whether a manifest inherits the lints of the workspace.
fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    let lints = lines.any(|line| line == "[lints]");
    lints && lines.find(|line| !line.is_empty()) == Some("workspace = true")
}

/// The crates of the workspace, as folders below `crates/`.
fn members() -> Vec<String> {
    let crates = |folder: &str| {
        let entries = fs::read_dir(root().join("crates").join(folder)).unwrap();
        let folders = entries.map(|entry| entry.unwrap().path());
        let crates = folders.filter(|path| path.join("Cargo.toml").exists());
        crates.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
    };
    let of_zero = crates("zero").map(|name| format!("zero/{name}"));
    crates("").chain(of_zero.collect::<Vec<_>>()).collect()
}

#[test]
fn unsafe_code_is_forbidden_in_all_crates_but_those_that_are_named() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut lines = workspace.lines().map(str::trim);
    assert!(lines.any(|line| line == "[workspace.lints.rust]"));
    assert!(lines.any(|line| line == "unsafe_code = \"forbid\""));
    let members = members();
    assert!(members.len() > UNSAFE.len());
    for name in &members {
        let is_unsafe = UNSAFE.contains(&name.as_str());
        assert_eq!(inherits_lints(&manifest(name)), !is_unsafe, "{name}");
    }
}

#[test]
fn a_manifest_without_the_workspaces_lints_is_recognised() {
    assert!(inherits_lints("[lints]\nworkspace = true\n"));
    assert!(!inherits_lints("[dependencies]\nworkspace = true\n"));
    assert!(!inherits_lints("[lints.rust]\nunsafe_code = \"deny\"\n"));
    assert!(!inherits_lints("[lints]\n[features]\n"));
}

#[test]
fn clippy_keeps_the_pure_crates_from_the_operating_system() {
    let forbids = "\n#![forbid(clippy::disallowed_methods, clippy::disallowed_types)]\n";
    for name in PURE {
        let lib = root().join("crates").join(name).join("src/lib.rs");
        let lib = fs::read_to_string(lib).unwrap();
        assert!(lib.contains(forbids), "{name}");
    }
    let rules = fs::read_to_string(root().join("clippy.toml")).unwrap();
    for refused in [
        "std::time::Instant",
        "std::time::SystemTime",
        "std::thread::sleep",
        "std::thread::spawn",
        "std::env::var",
        "std::fs::write",
    ] {
        assert!(rules.contains(refused), "{refused}");
    }
}
