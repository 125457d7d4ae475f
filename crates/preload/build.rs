//! Tells crates that carry this library where its sources are.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where a crate is");
    println!("cargo::metadata=source={here}");
}
