//! The part of this process in a run.

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use super::{node, on_time, python, real, slots};
use crate::accurate;
use crate::page::{self, Found, Run, at};
use crate::runtime::TakenFor;
use crate::runtime::rust::{self, InFile};

/// The words of the page; null in a process that is not emulated.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
static WORDS: AtomicUsize = AtomicUsize::new(0);
static ORIGIN: AtomicU64 = AtomicU64::new(0);

/// The page of a run that this process is in.
#[derive(Clone, Copy)]
pub(super) struct Page {
    words: &'static [AtomicU64],
}

impl Page {
    /// That of the run, if this process is emulated.
    #[inline]
    pub(super) fn get() -> Option<Self> {
        let words = PAGE.load(Ordering::Acquire);
        if words.is_null() {
            return None;
        }
        // SAFETY: the mapping is of so many words, and lasts as long as the process.
        let words = unsafe { std::slice::from_raw_parts(words, WORDS.load(Ordering::Relaxed)) };
        Some(Self { words })
    }

    #[inline]
    pub(super) fn word(self, at: usize) -> &'static AtomicU64 {
        &self.words[at]
    }

    /// The words of an entry of the log, if there is room for it.
    pub(super) fn log(self, entry: u64) -> Option<&'static [AtomicU64]> {
        let begin = usize::try_from(entry)
            .ok()?
            .checked_mul(8)?
            .checked_add(at::LOG)?;
        self.words.get(begin..begin + 8)
    }

    /// An instant of CLOCK_MONOTONIC in the time of the rule.
    #[inline]
    pub(super) fn time(now: u64) -> u64 {
        now.wrapping_sub(ORIGIN.load(Ordering::Relaxed))
    }
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
    if on_time::take_part(words) {
        return;
    }
    let read = |at: usize| words[at].load(Ordering::Relaxed);
    let is_whole = words.len() >= page::WORDS;
    let Some(run) = is_whole.then(|| Run::read(read)).flatten() else {
        return;
    };
    let mut name = [0; 32];
    let by_name = found_by_name(&mut name);
    let found = match (python::version(), node::version(), by_name) {
        (Some(minor), ..) => Found::Python(minor),
        (None, Some(major), _) => Found::Node(major),
        (None, None, Found::Plain) => found_in_file(),
        (None, None, by_name) => by_name,
    };
    let Some(taken_for) = run.taken_for(found) else {
        return note_runtime(words, &name);
    };
    if !slots::fill(&run, taken_for) {
        return;
    }
    words[at::PROCESSES].fetch_add(1, Ordering::Relaxed);
    ORIGIN.store(run.origin, Ordering::Relaxed);
    WORDS.store(words.len(), Ordering::Relaxed);
    PAGE.store(words.as_ptr().cast_mut(), Ordering::Release);
    let versions = match taken_for {
        TakenFor::Plain => None,
        TakenFor::Python(minor) => Some((at::PYTHONS, minor)),
        TakenFor::Rust(minor) => Some((at::RUSTS + usize::from(minor / 64) % 2, minor)),
        TakenFor::Node(major) => Some((at::NODES, major)),
    };
    if let Some((word, version)) = versions {
        words[word].fetch_or(1 << (version % 64), Ordering::Relaxed);
    }
    let mut clocks = false;
    if let TakenFor::Python(minor) = taken_for {
        clocks = run.clocks && python::has_steps(minor);
        words[at::CLOCKS_WANTED].fetch_add(clocks.into(), Ordering::Relaxed);
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
    let mut path = [0_u8; 4096];
    let room = path.len();
    // SAFETY: the buffer has so much room.
    let len = unsafe {
        let buffer = path.as_mut_ptr().cast::<c_char>();
        libc::readlink(c"/proc/self/exe".as_ptr(), buffer, room)
    };
    let path = &path[..usize::try_from(len).unwrap_or(0)];
    let last = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let kept = last.len().min(31);
    name[..kept].copy_from_slice(&last[..kept]);
    Found::by_name(last)
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
        let found = match rust::in_file(bytes) {
            InFile::None => Found::Plain,
            InFile::Version(minor) => Found::Rust(minor),
            InFile::Unknown => Found::Other,
        };
        libc::munmap(mapped, len);
        found
    }
}

/// Notes the name of a runtime once.
fn note_runtime(words: &[AtomicU64], name: &[u8; 32]) {
    let name: [u64; 4] =
        std::array::from_fn(|i| u64::from_ne_bytes(std::array::from_fn(|byte| name[8 * i + byte])));
    for place in 0..page::RUNTIMES {
        let begin = at::RUNTIMES + 4 * place;
        let (relaxed, first) = (Ordering::Relaxed, &words[begin]);
        match first.compare_exchange(0, name[0], relaxed, relaxed) {
            Ok(_) => {
                for (word, value) in words[begin + 1..begin + 4].iter().zip(&name[1..]) {
                    word.store(*value, relaxed);
                }
                return;
            }
            Err(same) if same == name[0] => return,
            Err(_) => {}
        }
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
