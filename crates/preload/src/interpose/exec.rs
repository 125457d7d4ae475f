//! Programs are started with the library, also those that get an environment of their own.
//!
//! The safety of all wrappers is the same, and stands here once. A wrapper passes the arguments of its caller on to
//! the function that the caller meant, except for the environment.

#![allow(clippy::undocumented_unsafe_blocks)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use libc::{pid_t, posix_spawn_file_actions_t, posix_spawnattr_t};

use super::real;
use crate::page::{LIBRARY, VARIABLE};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The two entries of the environment: that of the page, and `LD_PRELOAD` with this library alone.
static ENTRIES: [AtomicPtr<c_char>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Keeps what programs need that this one starts. The library lies beside the page.
pub(super) fn remember(page: &CStr) {
    let page = page.to_bytes();
    let folder = page.rsplitn(2, |byte| *byte == b'/').nth(1);
    let entries = [
        [VARIABLE.as_bytes(), b"=", page, b"", b"\0"].concat(),
        [
            PRELOAD,
            folder.unwrap_or(b""),
            b"/",
            LIBRARY.as_bytes(),
            b"\0",
        ]
        .concat(),
    ];
    for (kept, entry) in ENTRIES.iter().zip(entries) {
        kept.store(entry.leak().as_mut_ptr().cast(), Relaxed);
    }
}

/// The most entries of an environment that are completed.
const MOST: usize = 1_000;

/// Calls `start` with an environment that has the library and the page: `given`, or one with these entries
/// more. It allocates nothing, for it can run after a fork, or beside a parent whose memory it shares.
unsafe fn complete<T>(
    given: *const *const c_char,
    start: impl FnOnce(*const *const c_char) -> T,
) -> T {
    let [page, library] = [ENTRIES[0].load(Relaxed), ENTRIES[1].load(Relaxed)];
    if page.is_null() || library.is_null() {
        return start(given);
    }
    let mut entries = [null::<c_char>(); MOST + 3];
    let mut both = [0_u8; 4096];
    let mut count = 0;
    // Whether the page, and the library, are in it.
    let (mut has_page, mut has_library, mut is_as_given) = (false, false, true);
    // SAFETY: an environment is a list of C strings that ends with a null pointer, and the kept entries are
    // C strings.
    unsafe {
        let of_page = CStr::from_ptr(page).to_bytes();
        let of_library = CStr::from_ptr(library).to_bytes();
        let path = &of_library[PRELOAD.len()..];
        let mut each = given;
        while !each.is_null() && !(*each).is_null() {
            if count == MOST {
                return start(given);
            }
            let entry = CStr::from_ptr(*each).to_bytes();
            entries[count] = *each;
            has_page |= entry == of_page;
            if let Some(others) = entry.strip_prefix(PRELOAD) {
                let mut libraries = others.split(|byte| *byte == b':' || *byte == b' ');
                let len = of_library.len() + 1 + others.len();
                if !libraries.any(|library| library == path) && len < both.len() {
                    both[..of_library.len()].copy_from_slice(of_library);
                    both[of_library.len()] = b':';
                    both[of_library.len() + 1..len].copy_from_slice(others);
                    entries[count] = both.as_ptr().cast();
                    is_as_given = false;
                }
                has_library = true;
            }
            count += 1;
            each = each.add(1);
        }
    }
    for (has, entry) in [(has_page, page), (has_library, library)] {
        if !has {
            entries[count] = entry;
            count += 1;
            is_as_given = false;
        }
    }
    if is_as_given {
        return start(given);
    }
    start(entries.as_ptr())
}

fn missing() -> c_int {
    // SAFETY: the place of this thread's error.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execve(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    unsafe {
        complete(environment, |environment| {
            real::execve().map_or_else(missing, |real| real(path, arguments, environment))
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int {
    unsafe { execve(path, arguments, environ) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvpe(
    file: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    unsafe {
        complete(environment, |environment| {
            real::execvpe().map_or_else(missing, |real| real(file, arguments, environment))
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int {
    unsafe { execvpe(file, arguments, environ) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fexecve(
    file: c_int,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    unsafe {
        complete(environment, |environment| {
            real::fexecve().map_or_else(missing, |real| real(file, arguments, environment))
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawn(
    process: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    unsafe {
        complete(environment.cast(), |environment| {
            let real = real::posix_spawn();
            real.map_or(libc::ENOSYS, |real| {
                real(
                    process,
                    path,
                    actions,
                    attributes,
                    arguments,
                    environment.cast(),
                )
            })
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn posix_spawnp(
    process: *mut pid_t,
    file: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    attributes: *const posix_spawnattr_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    unsafe {
        complete(environment.cast(), |environment| {
            let real = real::posix_spawnp();
            real.map_or(libc::ENOSYS, |real| {
                real(
                    process,
                    file,
                    actions,
                    attributes,
                    arguments,
                    environment.cast(),
                )
            })
        })
    }
}
