//! The runtime of a program, by its file.

use std::fs;
use std::path::Path;

use memchr::memmem;

use super::go;
use super::java;
use super::rust::{self, InFile};
use super::{minor_version, node};
use crate::page::Found;

/// The standard library of Rust in words.
pub const RUST: &str = "the standard library of Rust";

/// The runtime of a program in this file with these bytes, and the name of the runtime. Of Java the version is read from
/// a file beside it.
pub fn runtime(file: &Path, bytes: &[u8]) -> (Found, String) {
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let shown = String::from_utf8_lossy(name).into_owned();
    if has(bytes, b"libjli.so") {
        let release = file
            .parent()
            .and_then(|folder| fs::read(folder.join("../release")).ok());
        let version = release.and_then(|release| java::of_release(&release));
        return match version {
            Some(major) => (Found::Java(major), format!("OpenJDK {major}")),
            None => (Found::Other, "a JDK of an unknown version".to_owned()),
        };
    }
    match Found::by_name(name) {
        found @ Found::Python(_) => return (found, shown),
        Found::Other => {
            let found = match name {
                name if name.starts_with(b"python") => python_in(bytes).map(Found::Python),
                name if name.starts_with(b"node") => node::in_file(bytes).map(Found::Node),
                _ => None,
            };
            return (found.unwrap_or(Found::Other), shown);
        }
        _ => {}
    }
    if let Some(go) = of_go(go::in_section(bytes)) {
        return go;
    }
    // Put together here, so that the command does not have the name in it.
    if has(bytes, &[&b"libpy"[..], b"thon3"].concat()) {
        return match python_in(bytes) {
            Some(minor) => (Found::Python(minor), format!("CPython 3.{minor}")),
            None => (Found::Other, "CPython".to_owned()),
        };
    }
    match rust::in_file(bytes) {
        InFile::Version(minor) => return (Found::Rust(minor), format!("{RUST} 1.{minor}")),
        InFile::Unknown => return (Found::Other, format!("{RUST} of an unknown version")),
        InFile::None => {}
    }
    if let Some(go) = of_go(go::in_file(bytes)) {
        return go;
    }
    match has(bytes, b"libcoreclr") {
        true => (Found::Other, ".NET".to_owned()),
        false => (Found::Plain, shown),
    }
}

fn of_go(found: go::InFile) -> Option<(Found, String)> {
    match found {
        go::InFile::Version(minor) => Some((Found::Go(minor), format!("Go 1.{minor}"))),
        go::InFile::Unknown => Some((Found::Other, "Go of an unknown version".to_owned())),
        go::InFile::None => None,
    }
}

/// The minor version of the CPython 3 that a program has in it, or is linked with.
fn python_in(bytes: &[u8]) -> Option<u8> {
    let marks: [&[u8]; 2] = [b"libpython", b"lib/python"];
    let mut found = marks.iter().filter_map(|mark| {
        let at = memmem::find(bytes, &[mark, &b"3."[..]].concat())?;
        minor_version(&bytes[at + mark.len()..])
    });
    found.next()
}

fn has(bytes: &[u8], mark: &[u8]) -> bool {
    memmem::find(bytes, mark).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_python_is_found() {
        for (bytes, minor) in [
            (&b"\0libpython3.11.so.1.0\0"[..], Some(11)),
            (b"../lib/python3.9/os.py", Some(9)),
            (b"libpython3.so", None),
            (b"", None),
        ] {
            assert_eq!(python_in(bytes), minor);
        }
        let of = |name: &str, bytes| runtime(Path::new(name), bytes).0;
        assert_eq!(of("python3.12", b""), Found::Python(12));
        assert_eq!(of("python", b"lib/python3.13/"), Found::Python(13));
        assert_eq!(of("game", b"libpython3.10.so"), Found::Python(10));
        assert_eq!(of("pypy3.10", b"lib/python3.10"), Found::Other);
        assert_eq!(of("server", b"\0/rustc/abc"), Found::Other);
        assert_eq!(of("server", b"libpython3.11.so /rustc/"), Found::Python(11));
        assert_eq!(of("sh", b"lib/python3.10"), Found::Plain);
        let address = b"https://nodejs.org/download/release/v20.20.2/node-v20.20.2.tar.gz";
        assert_eq!(of("node", address), Found::Node(20));
        assert_eq!(of("node", b"lib/python3.10"), Found::Other);
        assert_eq!(of("server", b"\xff Go buildinf:"), Found::Other);
    }
}
