use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use punctual::Error;

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum punctual_result {
    /// The call succeeded.
    Ok = 0,
    /// A required pointer was null.
    Null = 1,
    /// A value is out of range, a text is not recognized, or a `size` is too small.
    Range = 2,
    /// This system does not have the feature.
    Unsupported = 3,
    /// Permission denied.
    Permission = 4,
    /// The wait was cancelled before its deadline.
    Cancelled = 5,
    /// A signal was handled before the deadline.
    Interrupted = 6,
    /// Another thread is using the handle, or this is a callback of a call that is using it.
    Busy = 7,
    /// The system refused for another reason.
    System = 8,
    /// An internal error of the library: please report it. The handle must not be used again,
    /// except to free it.
    Internal = 9,
}

/// The text of each result, by its number.
const TEXTS: [&CStr; punctual_result::Internal as usize + 1] = [
    c"ok",
    c"a required pointer was null",
    c"a value is out of range",
    c"this system does not have the feature",
    c"permission denied",
    c"the wait was cancelled",
    c"the wait was interrupted by a signal",
    c"another thread is using the handle",
    c"the system refused",
    c"an internal error of the library",
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

/// Returns the meaning of a result in English. The text must not be freed.
///
/// Any thread, at any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_result_text(result: i32) -> *const c_char {
    let known = usize::try_from(result).ok();
    let known = known.and_then(|number| TEXTS.get(number));
    known.unwrap_or(&c"not a result of punctual").as_ptr()
}

/// The entry from C: no panic passes it.
pub(crate) fn called(body: impl FnOnce() -> Result<(), punctual_result>) -> punctual_result {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => punctual_result::Ok,
        Ok(Err(why)) => why,
        Err(_) => punctual_result::Internal,
    }
}
