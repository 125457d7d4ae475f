//! The part of this process in a run.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{java, node, on_time, python, real, slots, traced};
use crate::accurate;
use crate::books::Page;
use crate::page::{self, Found, Run, at};
use crate::runtime::TakenFor;
use crate::runtime::go;
use crate::runtime::rust::{self, InFile};

/// The page of a run that this process is in, once it is known.
static PAGE: OnceLock<Page<'static>> = OnceLock::new();

/// The page of the run, if this process is emulated.
#[inline]
pub(super) fn page() -> Option<Page<'static>> {
    PAGE.get().copied()
}

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Runs before the program.
extern "C" fn begin() {
    real::find_all();
    let Some(path) = variable(page::VARIABLE) else {
        return;
    };
    super::exec::remember(path);
    let Some(words) = map(path) else {
        return;
    };
    if on_time::take_part(words) || traced::take_part(words) {
        return;
    }
    let read = |at: usize| words[at].load(Ordering::Relaxed);
    let Some(page) = Page::new(words) else { return };
    let Some(run) = Run::read(read) else { return };
    let mut name = [0; 32];
    let by_name = found_by_name(&mut name);
    let found = match (python::version(), node::version(), by_name) {
        (Some(minor), ..) => Found::Python(minor),
        (None, Some(major), _) => Found::Node(major),
        (None, None, _) if java::is_launcher() => java::version().map_or(Found::Other, Found::Java),
        (None, None, Found::Plain) => found_in_file(),
        (None, None, by_name) => by_name,
    };
    let Some(taken_for) = run.taken_for(found) else {
        return page.note_runtime(&name);
    };
    if !slots::fill(&run, taken_for) {
        return;
    }
    page.count(taken_for);
    PAGE.get_or_init(|| page);
    let mut clocks = false;
    if let TakenFor::Python(minor) = taken_for {
        clocks = run.clocks && python::has_steps(minor);
        page.word(at::CLOCKS_WANTED)
            .fetch_add(clocks.into(), Ordering::Relaxed);
    }
    let lines = run.notes_lines && matches!(found, Found::Python(_));
    if clocks || lines {
        python::prepare(&run, clocks, lines);
    }
}

/// The value of a variable of the environment.
pub(super) fn variable(name: &str) -> Option<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: before the program runs nothing changes the environment, which is a list of C strings.
    unsafe {
        let mut each = environ;
        while !each.is_null() && !(*each).is_null() {
            let entry = CStr::from_ptr(*each);
            let rest = entry.to_bytes_with_nul().strip_prefix(name.as_bytes());
            if let Some(value) = rest.and_then(|rest| rest.strip_prefix(b"=")) {
                return CStr::from_bytes_with_nul(value).ok();
            }
            each = each.add(1);
        }
    }
    None
}

/// Maps the page: for all, or for this process alone where it may only read it.
fn map(path: &CStr) -> Option<&'static [AtomicU64]> {
    let flags = libc::O_CLOEXEC;
    // SAFETY: the path is a C string; the mapping is private to this function until it is checked.
    unsafe {
        let mut how = libc::MAP_SHARED;
        let mut file = libc::open(path.as_ptr(), flags | libc::O_RDWR);
        if file < 0 {
            how = libc::MAP_PRIVATE;
            file = libc::open(path.as_ptr(), flags | libc::O_RDONLY);
        }
        if file < 0 {
            return None;
        }
        let end = libc::lseek(file, 0, libc::SEEK_END);
        let words = usize::try_from(end).unwrap_or(0) / 8;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        if how == libc::MAP_SHARED && words <= page::IN_MEMORY_MOST {
            // Else the first record in each part of it makes a wait late.
            how |= libc::MAP_POPULATE;
        }
        let mapped = match words >= page::WORDS.min(accurate::at::WORDS) {
            true => libc::mmap(null_mut(), words * 8, rights, how, file, 0),
            false => libc::MAP_FAILED,
        };
        libc::close(file);
        (mapped != libc::MAP_FAILED)
            .then(|| std::slice::from_raw_parts(mapped.cast::<AtomicU64>().cast_const(), words))
    }
}

/// Reads the name of this program, and finds its runtime by it.
fn found_by_name(name: &mut [u8; 32]) -> Found {
    let mut path = [0; 4096];
    let path = program(&mut path);
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let kept = last.len().min(31);
    name[..kept].copy_from_slice(&last[..kept]);
    Found::by_name(last)
}

/// Reads the path of this program.
pub(super) fn program(path: &mut [u8; 4096]) -> &[u8] {
    let room = path.len();
    // SAFETY: the buffer has so much room.
    let len = unsafe {
        let buffer = path.as_mut_ptr().cast::<c_char>();
        libc::readlink(c"/proc/self/exe".as_ptr(), buffer, room)
    };
    &path[..usize::try_from(len).unwrap_or(0)]
}

/// Finds the runtime of this program by its file.
fn found_in_file() -> Found {
    // SAFETY: the mapping is private and is not used after it has gone. A program that is running is not written to.
    unsafe {
        let file = libc::open(c"/proc/self/exe".as_ptr(), libc::O_CLOEXEC | libc::O_RDONLY);
        if file < 0 {
            return Found::Plain;
        }
        let len = usize::try_from(libc::lseek(file, 0, libc::SEEK_END)).unwrap_or(0);
        let mapped = libc::mmap(null_mut(), len, libc::PROT_READ, libc::MAP_PRIVATE, file, 0);
        libc::close(file);
        if mapped == libc::MAP_FAILED {
            return Found::Plain;
        }
        let bytes = std::slice::from_raw_parts(mapped.cast::<u8>().cast_const(), len);
        let found = match (go::in_section(bytes), rust::in_file(bytes)) {
            (go::InFile::None, InFile::None) => Found::Plain,
            (go::InFile::None, InFile::Version(minor)) => Found::Rust(minor),
            // Waits of Go call the kernel without libc.
            _ => Found::Other,
        };
        libc::munmap(mapped, len);
        found
    }
}

/// From now on this thread cannot be cancelled; returns whether it could.
pub(super) fn without_cancel() -> libc::c_int {
    const DISABLED: libc::c_int = 1;
    set_cancel(DISABLED)
}

/// Sets whether this thread can be cancelled; returns whether it could.
pub(super) fn set_cancel(state: libc::c_int) -> libc::c_int {
    let mut before = state;
    if let Some(real) = real::pthread_setcancelstate() {
        // SAFETY: the number is of this function.
        unsafe { real(state, &mut before) };
    }
    before
}

/// Ends this thread if it is cancelled.
pub(super) fn test_cancel() {
    if let Some(real) = real::pthread_testcancel() {
        // SAFETY: it has no arguments. Nothing that it may unwind has a destructor.
        unsafe { real() };
    }
}

/// Nanoseconds of a clock now.
#[inline]
pub(super) fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock writes to a time of this function. Of a clock that is none it writes nothing.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}
