use std::ffi::c_char;
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

impl punctual_result {
    /// What it is, with its end.
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok\0",
            Self::Null => "a pointer that must not be null is\0",
            Self::Range => "a value is out of its range\0",
            Self::Unsupported => "this system has nothing of the kind\0",
            Self::Permission => "the system does not let this program\0",
            Self::Cancelled => "the wait was cancelled\0",
            Self::Interrupted => "the wait was interrupted by a signal\0",
            Self::Busy => "another thread uses the handle just now\0",
            Self::System => "the system refused\0",
            Self::Panic => "a fault of the library\0",
        }
    }
}

impl From<&Error> for punctual_result {
    fn from(error: &Error) -> Self {
        match error {
            _ if error.is_range() => Self::Range,
            _ if error.is_unsupported() => Self::Unsupported,
            _ if error.is_permission() => Self::Permission,
            _ => Self::System,
        }
    }
}

impl From<Error> for punctual_result {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

/// What a result means, in a few words of English; never freed.
///
/// Any thread, any time.
#[unsafe(no_mangle)]
pub extern "C" fn punctual_result_text(result: i32) -> *const c_char {
    use punctual_result::*;
    let all = [
        Ok,
        Null,
        Range,
        Unsupported,
        Permission,
        Cancelled,
        Interrupted,
        Busy,
        System,
        Panic,
    ];
    let known = all.into_iter().find(|one| *one as i32 == result);
    let text = known.map_or("no result of punctual\0", punctual_result::text);
    text.as_ptr().cast()
}

/// Where C calls in: nothing unwinds beyond it.
pub(crate) fn called(body: impl FnOnce() -> Result<(), punctual_result>) -> punctual_result {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => punctual_result::Ok,
        Ok(Err(why)) => why,
        Err(_) => punctual_result::Panic,
    }
}
