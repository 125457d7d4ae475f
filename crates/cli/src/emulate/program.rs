//! The program to start: where it is, and whether its waits can be emulated.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use memchr::memmem;
use punctual_preload::page::{Found, Run};
use punctual_preload::runtime::elf::part;
use punctual_preload::runtime::rust::{self, InFile};
use punctual_preload::runtime::{self, cpython, node};

use super::{CANNOT_RUN, Failure, NOT_FOUND, REFUSED};

/// The file that a shell would run for a name.
pub(super) fn find(name: &OsStr) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    let not_found = || {
        Failure::new(
            NOT_FOUND,
            format!("cannot run `{shown}`: there is no such program"),
        )
    };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return path.exists().then_some(path).ok_or_else(not_found);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates = || env::split_paths(&path).map(|folder| folder.join(name));
    let found = candidates().find(|file| is_executable(file));
    found
        .or_else(|| candidates().find(|file| file.is_file()))
        .ok_or_else(not_found)
}

fn is_executable(file: &Path) -> bool {
    let metadata = fs::metadata(file);
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// How many scripts may lead from one to the next.
const SCRIPTS: usize = 4;

/// Refuses a program whose waits the library does not see, or which a run sees as those of another.
pub(super) fn check(file: &Path, run: Option<&Run>) -> Result<(), Failure> {
    let mut file = file.to_path_buf();
    for _ in 0..=SCRIPTS {
        let bytes = read(&file)?;
        match interpreter(&bytes) {
            Some(Ok(next)) => file = next,
            Some(Err(failure)) => return Err(failure),
            None => return check_binary(&file, &bytes, run),
        }
    }
    let shown = file.display();
    Err(Failure::new(
        CANNOT_RUN,
        format!("`{shown}`: more than {SCRIPTS} scripts lead to it"),
    ))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let shown = file.display();
    let fail =
        |why: std::io::Error| Failure::new(CANNOT_RUN, format!("cannot run `{shown}`: {why}"));
    let metadata = fs::metadata(file).map_err(fail)?;
    if metadata.is_dir() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(Failure::new(
            CANNOT_RUN,
            format!("cannot run `{shown}`: it is not executable"),
        ));
    }
    if metadata.permissions().mode() & 0o6000 != 0 {
        return Err(refused(
            file,
            "it runs with rights of its own (set-uid), and such programs load no other library",
        ));
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(LARGEST) as usize);
    let mut read = File::open(file).map_err(fail)?.take(LARGEST);
    read.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

/// As much of a program is looked at.
const LARGEST: u64 = 512 << 20;

fn refused(file: &Path, why: &str) -> Failure {
    Failure::new(
        REFUSED,
        format!("`{}` cannot use the library: {why}", file.display()),
    )
}

/// The program that runs a script.
fn interpreter(bytes: &[u8]) -> Option<Result<PathBuf, Failure>> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let first = OsStr::from_bytes(words.next()?);
    let is_env = Path::new(first).file_name() == Some(OsStr::new("env"));
    let named = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='));
    Some(match named.filter(|_| is_env) {
        Some(name) => find(OsStr::from_bytes(name)),
        None => find(first),
    })
}

fn check_binary(file: &Path, bytes: &[u8], run: Option<&Run>) -> Result<(), Failure> {
    let Some(elf) = Elf::of(bytes) else {
        // The kernel says what is wrong with it.
        return Ok(());
    };
    if !elf.is_64 {
        return Err(refused(file, "it is a 32-bit program"));
    }
    if elf.machine != MACHINE {
        return Err(refused(file, "it is for another processor"));
    }
    match elf.interpreter {
        None => {
            return Err(refused(
                file,
                "it is linked statically, so that its waits go to the kernel directly",
            ));
        }
        Some(loader) if has(loader, b"ld-musl") => {
            return Err(refused(
                file,
                "it is linked with musl, and the library is for glibc",
            ));
        }
        Some(_) => {}
    }
    // Put together here, so that this command does not have the name in it.
    if has(bytes, &[&b"\0__asan"[..], b"_init\0"].concat()) {
        return Err(refused(
            file,
            "it is built with AddressSanitizer, which wants to be loaded first",
        ));
    }
    let Some(run) = run else { return Ok(()) };
    let (found, runtime) = runtime(file, bytes);
    if run.taken_for(found).is_some() {
        return Ok(());
    }
    let nearest = |name: &str, (first, last): (u8, u8), minor: Option<u8>| {
        let minor = minor.unwrap_or(last).clamp(first, last);
        format!("`--as {name}.{minor}` takes it for the nearest that has one")
    };
    let advice = match found {
        Found::Python(minor) => nearest("python-3", cpython::VERSIONS, Some(minor)),
        Found::Rust(minor) => nearest("rust-1", rust::VERSIONS, Some(minor)),
        _ if runtime.starts_with("node") => {
            "`--as node-24` takes it for the last that has one".to_owned()
        }
        _ if runtime.starts_with(RUST) => nearest("rust-1", rust::VERSIONS, None),
        _ if runtime.starts_with("python") || runtime.starts_with("CPython") => {
            nearest("python-3", cpython::VERSIONS, None)
        }
        _ => "`--as plain` takes it for a C program".to_owned(),
    };
    let shown = file.display();
    Err(Failure::new(
        REFUSED,
        format!(
            "`{shown}` cannot be emulated: {runtime} waits by other calls on that system than a C program does, and no \
             table of them is there yet: an answer would be wrong, not approximate; {advice}"
        ),
    ))
}

/// The runtime of Rust in words.
const RUST: &str = "the standard library of Rust";

/// The runtime of a program whose port to another system waits by calls of its own, and its name.
fn runtime(file: &Path, bytes: &[u8]) -> (Found, String) {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let name = file.file_name().unwrap_or_default().as_bytes();
    let shown = String::from_utf8_lossy(name).into_owned();
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
        Found::Plain | Found::Rust(_) | Found::Node(_) => {}
    }
    // Put together here, as for AddressSanitizer.
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
    let marks: [(&[u8], &str); 3] = [
        (b"\xff Go buildinf:", "Go"),
        (b"libjli.so", "a Java machine"),
        (b"libcoreclr", ".NET"),
    ];
    match marks.iter().find(|(mark, _)| has(bytes, mark)) {
        None => (Found::Plain, shown),
        Some((_, runtime)) => (Found::Other, (*runtime).to_owned()),
    }
}

/// The minor version of the CPython 3 that a program has in it, or is linked with.
fn python_in(bytes: &[u8]) -> Option<u8> {
    let marks: [&[u8]; 2] = [b"libpython", b"lib/python"];
    let mut found = marks.iter().filter_map(|mark| {
        let at = memmem::find(bytes, &[mark, &b"3."[..]].concat())?;
        runtime::minor_version(&bytes[at + mark.len()..])
    });
    found.next()
}

fn has(bytes: &[u8], mark: &[u8]) -> bool {
    memmem::find(bytes, mark).is_some()
}

/// The parts of a program's file that matter here.
struct Elf<'b> {
    is_64: bool,
    machine: u16,
    /// The loader, if it is linked dynamically.
    interpreter: Option<&'b [u8]>,
}

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u16 = 0;

/// The kind of the part that names the loader.
const PT_INTERP: u32 = 3;

impl<'b> Elf<'b> {
    /// Reads a file of this byte order; `None` if it is no ELF file, or broken.
    fn of(bytes: &'b [u8]) -> Option<Self> {
        bytes.strip_prefix(b"\x7fELF")?;
        let is_64 = *bytes.get(4)? == 2;
        let machine = u16::from_ne_bytes(part(bytes, 18)?);
        let mut interpreter = None;
        if is_64 {
            let begin = usize::try_from(u64::from_ne_bytes(part(bytes, 32)?)).ok()?;
            let size = usize::from(u16::from_ne_bytes(part(bytes, 54)?));
            let count = usize::from(u16::from_ne_bytes(part(bytes, 56)?));
            for number in 0..count {
                let header = begin.checked_add(number.checked_mul(size)?)?;
                if u32::from_ne_bytes(part(bytes, header)?) != PT_INTERP {
                    continue;
                }
                let at = usize::try_from(u64::from_ne_bytes(part(bytes, header + 8)?)).ok()?;
                let len = usize::try_from(u64::from_ne_bytes(part(bytes, header + 32)?)).ok()?;
                interpreter = bytes.get(at..at.checked_add(len)?);
            }
        }
        Some(Self {
            is_64,
            machine,
            interpreter,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_broken_file_is_no_program_of_any_kind() {
        let whole = fs::read("/bin/true").unwrap();
        assert!(Elf::of(&whole).unwrap().interpreter.is_some());
        for len in 0..whole.len().min(2_000) {
            let _ = Elf::of(&whole[..len]);
        }
        let mut wild = whole[..64].to_vec();
        wild[32..64].fill(0xff);
        assert!(Elf::of(&wild).is_none());
        assert!(Elf::of(b"#!/bin/sh").is_none());
    }

    #[test]
    fn scripts_lead_to_what_runs_them() {
        let of = |text: &str| interpreter(text.as_bytes()).map(|found| found.ok());
        assert_eq!(of("#!/bin/sh -e\n"), Some(Some("/bin/sh".into())));
        assert_eq!(
            of("#! /usr/bin/env -S A=1 sh\n").flatten(),
            find(OsStr::new("sh")).ok()
        );
        assert_eq!(of("#!/no/such\n"), Some(None));
        assert_eq!(of("echo"), None);
    }

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
        assert_eq!(of("/no/python3.12", b""), Found::Python(12));
        assert_eq!(of("/no/python", b"lib/python3.13/"), Found::Python(13));
        assert_eq!(of("/no/game", b"libpython3.10.so"), Found::Python(10));
        assert_eq!(of("/no/pypy3.10", b"lib/python3.10"), Found::Other);
        assert_eq!(of("/no/server", b"\0/rustc/abc"), Found::Other);
        assert_eq!(
            of("/no/server", b"libpython3.11.so /rustc/"),
            Found::Python(11)
        );
        assert_eq!(of("/no/sh", b"lib/python3.10"), Found::Plain);
        let address = b"https://nodejs.org/download/release/v20.20.2/node-v20.20.2.tar.gz";
        assert_eq!(of("/no/node", address), Found::Node(20));
        assert_eq!(of("/no/node", b"lib/python3.10"), Found::Other);
    }
}
