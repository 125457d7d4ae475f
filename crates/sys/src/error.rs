//! The one error type: opaque, one word wide, asked through predicates.

use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Why the host did not do what was asked.
///
/// It prints as one line: what failed, why, and what to do instead. Programs
/// ask [`is_unsupported`](Error::is_unsupported),
/// [`is_permission`](Error::is_permission) and
/// [`is_range`](Error::is_range).
pub struct Error(Box<Inner>);

impl Error {
    /// This host has no such call, or its system is too old for it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message.into())
    }

    /// The value asked for is outside what the host accepts.
    pub fn range(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Range, message.into())
    }

    /// A call failed: `what` says which, and `cause` is the system's answer,
    /// which also decides the predicates.
    pub fn io(what: impl fmt::Display, cause: &io::Error) -> Self {
        let kind = match cause.kind() {
            io::ErrorKind::Unsupported => ErrorKind::Unsupported,
            io::ErrorKind::PermissionDenied => ErrorKind::Permission,
            io::ErrorKind::InvalidInput => ErrorKind::Range,
            _ => ErrorKind::Other,
        };
        let mut error = Self::new(kind, format!("{what}: {cause}"));
        error.0.cause = Some(match cause.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(cause.kind(), cause.to_string()),
        });
        error
    }

    /// [`Error::io`] with the error that the last system call of this thread
    /// left behind.
    pub fn last_os(what: impl fmt::Display) -> Self {
        Self::io(what, &io::Error::last_os_error())
    }

    /// Whether the host does not have what was asked for.
    pub fn is_unsupported(&self) -> bool {
        self.0.kind == ErrorKind::Unsupported
    }

    /// Whether another user, or a capability, would be allowed to do it.
    pub fn is_permission(&self) -> bool {
        self.0.kind == ErrorKind::Permission
    }

    /// Whether another value would have been accepted.
    pub fn is_range(&self) -> bool {
        self.0.kind == ErrorKind::Range
    }

    fn new(kind: ErrorKind, message: String) -> Self {
        Self(Box::new(Inner {
            kind,
            message,
            cause: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {})", self.0.kind, self.0.message)
    }
}

/// The source is the system's answer, where a call failed.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause = self.0.cause.as_ref()?;
        Some(cause)
    }
}

// It never changes, and its cause is made here: of a number or of a text.
impl UnwindSafe for Error {}
impl RefUnwindSafe for Error {}

struct Inner {
    kind: ErrorKind,
    message: String,
    cause: Option<io::Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorKind {
    Unsupported,
    Permission,
    Range,
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_one_word() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn the_system_answer_decides_the_predicates() {
        let error = |kind| Error::io("pinning to CPU 3", &io::Error::from(kind));
        assert!(error(io::ErrorKind::PermissionDenied).is_permission());
        assert!(error(io::ErrorKind::Unsupported).is_unsupported());
        assert!(error(io::ErrorKind::InvalidInput).is_range());
        let other = error(io::ErrorKind::OutOfMemory);
        assert!(!other.is_permission() && !other.is_unsupported() && !other.is_range());
        assert!(other.to_string().starts_with("pinning to CPU 3: "));
    }

    #[test]
    fn the_system_answer_is_the_source() {
        use std::error::Error as _;

        let error = Error::io("pinning to CPU 3", &io::Error::from_raw_os_error(1));
        let source = error.source().and_then(|source| source.downcast_ref());
        assert_eq!(source.and_then(io::Error::raw_os_error), Some(1));
        assert!(Error::range("a rate of 0").source().is_none());
    }
}
