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
use punctual_preload::runtime::program::{self, RUST};
use punctual_preload::runtime::{TakenFor, cpython, go, rust};

use super::{By, Failure};
use crate::exec::{CANNOT_RUN, NOT_FOUND, REFUSED};

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

/// A program that can be emulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    /// How its waits are reached.
    pub(super) by: By,
    /// Whether it is a program of Go, whose own naps are frequent.
    pub(super) is_go: bool,
}

/// Decides how the waits of a program are reached. Refuses one whose waits are out of reach, or which a run sees as those
/// of another.
pub(super) fn check(file: &Path, run: Option<&Run>, by: Option<By>) -> Result<Checked, Failure> {
    let mut file = file.to_path_buf();
    for _ in 0..=SCRIPTS {
        let bytes = read(&file, run)?;
        match interpreter(&bytes) {
            Some(Ok(next)) => file = next,
            Some(Err(failure)) => return Err(failure),
            None => return check_binary(&file, &bytes, run, by),
        }
    }
    let shown = file.display();
    Err(Failure::new(
        CANNOT_RUN,
        format!("`{shown}`: more than {SCRIPTS} scripts lead to it"),
    ))
}

fn read(file: &Path, run: Option<&Run>) -> Result<Vec<u8>, Failure> {
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
            run,
            "it runs with rights of its own (set-uid), and such programs are left alone",
        ));
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(LARGEST) as usize);
    let mut read = File::open(file).map_err(fail)?.take(LARGEST);
    read.read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}

/// As much of a program is looked at.
const LARGEST: u64 = 512 << 20;

/// It cannot be emulated; without a run, it cannot have the library.
fn refused(file: &Path, run: Option<&Run>, why: &str) -> Failure {
    let shown = file.display();
    let cannot = match run {
        Some(_) => "cannot be emulated",
        None => "does not load the library",
    };
    Failure::new(REFUSED, format!("`{shown}` {cannot}: {why}"))
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

fn check_binary(
    file: &Path,
    bytes: &[u8],
    run: Option<&Run>,
    by: Option<By>,
) -> Result<Checked, Failure> {
    let Some(elf) = Elf::of(bytes) else {
        // The kernel says what is wrong with it.
        let by = by.unwrap_or(By::Preload);
        return Ok(Checked { by, is_go: false });
    };
    if !elf.is_64 {
        return Err(refused(file, run, "it is a 32-bit program"));
    }
    if elf.machine != MACHINE {
        return Err(refused(file, run, "it is for another processor"));
    }
    let canonical = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let (found, runtime) = program::runtime(&canonical, bytes);
    let is_go = runtime.starts_with("Go ");
    let no_library = no_library(&elf, bytes, is_go);
    let by = match (by, no_library) {
        (Some(By::Ptrace), _) => By::Ptrace,
        (_, None) => By::Preload,
        (None, Some((_, true))) if run.is_some() => By::Ptrace,
        (None, Some((why, false))) if run.is_some() => {
            return Err(refused(
                file,
                run,
                &format!("{why}; `--by ptrace` traces it"),
            ));
        }
        (_, Some((why, _))) => return Err(refused(file, run, why)),
    };
    let Some(run) = run else {
        return Ok(Checked { by, is_go });
    };
    match run.taken_for(found) {
        Some(TakenFor::Python(_)) if by == By::Ptrace => {
            return Err(refused(
                file,
                Some(run),
                "the locks of CPython look alike to a tracer, and its clocks are out of reach: it needs `--by preload`",
            ));
        }
        Some(TakenFor::Java(_)) if by == By::Ptrace => {
            return Err(refused(
                file,
                Some(run),
                "Thread.sleep and LockSupport look alike to a tracer: it needs `--by preload`",
            ));
        }
        Some(_) => return Ok(Checked { by, is_go }),
        None => {}
    }
    let nearest = |name: &str, (first, last): (u8, u8), minor: Option<u8>| {
        let minor = minor.unwrap_or(last).clamp(first, last);
        format!("`--as {name}.{minor}` takes it for the nearest that has one")
    };
    let advice = match found {
        Found::Python(minor) => nearest("python-3", cpython::VERSIONS, Some(minor)),
        Found::Rust(minor) => nearest("rust-1", rust::VERSIONS, Some(minor)),
        Found::Go(minor) => nearest("go-1", go::VERSIONS, Some(minor)),
        _ if is_go => nearest("go-1", go::VERSIONS, None),
        _ if runtime.contains("JDK") => {
            "`--as java-25` takes it for the last that has one".to_owned()
        }
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

/// Why a program does not load the library or is not reached by it, if so, and whether it can be traced without further
/// thought.
fn no_library(elf: &Elf<'_>, bytes: &[u8], is_go: bool) -> Option<(&'static str, bool)> {
    // Put together here, so that this command does not have the name in it.
    let sanitizer = [&b"\0__asan"[..], b"_init\0"].concat();
    match elf.interpreter {
        None => Some(("it is linked statically, and loads no library", true)),
        Some(loader) if has(loader, b"ld-musl") => {
            Some(("it is linked with musl, and the library is for glibc", true))
        }
        Some(_) if is_go => Some(("Go calls the kernel without libc", true)),
        Some(_) if has(bytes, &sanitizer) => Some((
            "it is built with AddressSanitizer, which wants to be loaded first, and which searches for leaks only without a \
             tracer",
            false,
        )),
        Some(_) => None,
    }
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
}
