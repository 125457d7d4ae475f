//! The functions that the page calls. Bytes are put into and read out of one buffer, which the
//! page finds in the memory of this module.

#![expect(
    unsafe_code,
    reason = "the name of a function is the page's way to find it, and nothing else has it"
)]

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Tells the page the share of the answer that is done.
    safe fn punctual_progress(share: f64);
}

/// Makes room for a question of so many bytes, and says where.
#[unsafe(no_mangle)]
extern "C" fn punctual_make_room(bytes: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = vec![0; bytes];
        buffer.as_mut_ptr()
    })
}

/// Answers the question that is there, and says how long the answer is, which is there now.
#[unsafe(no_mangle)]
extern "C" fn punctual_answer() -> usize {
    BUFFER.with_borrow_mut(|buffer| {
        let question = String::from_utf8_lossy(buffer);
        *buffer = crate::answer(&question, &mut |share| punctual_progress(share)).into_bytes();
        buffer.len()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
extern "C" fn punctual_where() -> *const u8 {
    BUFFER.with_borrow(|buffer| buffer.as_ptr())
}
