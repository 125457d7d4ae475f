//! The lines of a Python program that sleep.
//!
//! `time.sleep` releases the lock of the interpreter before it waits, and no frame can be read without the lock.
//! Therefore another function stands before it. It holds the lock, notes the line of its caller for this thread, and calls
//! the real one. The wait of libc finds the note. The safety of calls of the interpreter is that of `python`.

#![allow(clippy::undocumented_unsafe_blocks)]

use std::cell::Cell;
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::Relaxed;

use super::process;
use super::python::{self, Interface, Object};
use crate::books::Here;
use crate::page::{self, at};

thread_local! {
    static HERE: Cell<Option<Here>> = const { Cell::new(None) };
}

/// The line that sleeps in this thread, if it is known.
pub(super) fn here() -> Option<Here> {
    HERE.get()
}

/// `time.sleep`. A thread that ends in the real one unwinds through this: nothing here has a destructor.
pub(super) unsafe extern "C-unwind" fn sleep(module: Object, arguments: Object) -> Object {
    let Some(interface) = python::interface() else {
        return null_mut();
    };
    unsafe {
        let real = (interface.PyObject_GetAttrString)(module, python::REAL_SLEEP.as_ptr());
        if real.is_null() {
            return null_mut();
        }
        // A handler of a signal can sleep in here.
        let before = HERE.replace(noted(interface, arguments));
        let result = (interface.PyObject_CallObject)(real, arguments);
        HERE.set(before);
        (interface.Py_DecRef)(real);
        result
    }
}

/// The line that calls, and the length in its arguments. `None` if either cannot be read.
unsafe fn noted(interface: &Interface, arguments: Object) -> Option<Here> {
    let some = |object: Object| (!object.is_null()).then_some(object);
    unsafe {
        let read = || {
            let length = some((interface.PyTuple_GetItem)(arguments, 0))?;
            let seconds = (interface.PyFloat_AsDouble)(length);
            // An error is less than zero, and so is a length that the real one refuses.
            let asked = (seconds >= 0.0).then_some((seconds * 1e9).round() as u64)?;
            let frame = some((interface.PyEval_GetFrame)())?;
            let number = (interface.PyFrame_GetLineNumber)(frame);
            let code = some((interface.PyFrame_GetCode)(frame))?;
            let file = (interface.PyObject_GetAttrString)(code, c"co_filename".as_ptr());
            (interface.Py_DecRef)(code);
            let file = some(file)?;
            let name = (interface.PyUnicode_AsUTF8)(file);
            let line = (!name.is_null()).then(|| line(CStr::from_ptr(name).to_bytes(), number));
            (interface.Py_DecRef)(file);
            let line = line?;
            Some(Here { line, asked })
        };
        let read = read();
        if read.is_none() {
            (interface.PyErr_Clear)();
        }
        read
    }
}

/// The place of a line in the table, and one; zero if the table has no room.
fn line(file: &[u8], number: i32) -> u16 {
    let Some(page) = process::page() else {
        return 0;
    };
    let number = u64::try_from(number).unwrap_or(0);
    // FNV-1a. The first word of a line is never zero.
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = file.iter().copied().chain(number.to_ne_bytes());
    let key = bytes.fold(0xcbf2_9ce4_8422_2325, hash) | 1;
    for way in 0..page::LINES {
        let place = ((key >> 8) as usize + way) % page::LINES;
        let entry = at::LINES + page::LINE_WORDS * place;
        match page.word(entry).compare_exchange(0, key, Relaxed, Relaxed) {
            Ok(_) => {
                page.word(entry + 1).store(number, Relaxed);
                // A zero ends the name.
                let room = 8 * (page::LINE_WORDS - 2) - 1;
                let name = &file[file.len().saturating_sub(room)..];
                for (word, bytes) in (entry + 2..).zip(name.chunks(8)) {
                    let mut whole = [0; 8];
                    whole[..bytes.len()].copy_from_slice(bytes);
                    page.word(word).store(u64::from_ne_bytes(whole), Relaxed);
                }
                return place as u16 + 1;
            }
            Err(other) if other == key => return place as u16 + 1,
            Err(_) => {}
        }
    }
    0
}
