use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use punctual::Error;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum punctual_result {
    /// As it should.
    Ok = 0,
    /// A pointer that must not be null is.
    Null = 1,
    /// A value is out of its range, a text is none that is known, or a `size` is too small.
    Range = 2,
    /// This system has nothing of the kind.
    Unsupported = 3,
    /// The system does not let this program.
    Permission = 4,
    /// The wait was cancelled before its deadline.
    Cancelled = 5,
    /// A signal was handled before the deadline.
    Interrupted = 6,
    /// Another thread, or a callback's caller, uses the handle just now.
    Busy = 7,
    /// The system refused; it gave no reason that has a name here.
    System = 8,
    /// A fault of the library: please report it. The handle is of no use any more.
    Panic = 9,
}

/// The text of each result, by its number.
const TEXTS: [&CStr; punctual_result::Panic as usize + 1] = [
    c"ok",
    c"a pointer that must not be null is",
    c"a value is out of its range",
    c"this system has nothing of the kind",
    c"the system does not let this program",
    c"the wait was cancelled",
    c"the wait was interrupted by a signal",
    c"another thread uses the handle just now",
    c"the system refused",
    c"a fault of the library",
];

impl From<Error> for punctual_result {
    fn from(error: Error) -> Self {
        match error {
            _ if error.is_range() => Self::Range,
            _ if error.is_unsupported() => Self::Unsupported,
            _ if error.is_permission() => Self::Permission,
            _ => Self::System,
        }
    }
}

/// The meaning of a result in a few words of English; never freed.
///
/// Any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_result_text(result: i32) -> *const c_char {
    let known = usize::try_from(result).ok();
    let known = known.and_then(|number| TEXTS.get(number));
    known.unwrap_or(&c"no result of punctual").as_ptr()
}

/// Where C calls in: nothing unwinds beyond it.
pub(crate) fn called(body: impl FnOnce() -> Result<(), punctual_result>) -> punctual_result {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => punctual_result::Ok,
        Ok(Err(why)) => why,
        Err(_) => punctual_result::Panic,
    }
}
