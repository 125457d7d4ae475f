use std::fmt;
use std::io;

/// Why the system did not do what was asked.
///
/// It prints as one line: what failed, why, and what to do instead. Programs
/// ask [`is_unsupported`](Error::is_unsupported),
/// [`is_permission`](Error::is_permission) and
/// [`is_range`](Error::is_range).
///
/// # Examples
///
/// ```
/// use punctual::Period;
///
/// let refused = Period::hz(0).unwrap_err();
/// assert!(refused.is_range());
/// println!("{refused}");
/// ```
pub struct Error(pub(crate) punctual_sys::Error);

impl Error {
    /// An [`is_unsupported`](Self::is_unsupported) error, for bindings.
    #[doc(hidden)]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self(punctual_sys::Error::unsupported(message))
    }

    /// An [`is_range`](Self::is_range) error, for bindings.
    #[doc(hidden)]
    pub fn range(message: impl Into<String>) -> Self {
        Self(punctual_sys::Error::range(message))
    }

    /// The error of a call that failed with `cause`, for bindings.
    #[doc(hidden)]
    pub fn io(what: impl fmt::Display, cause: &io::Error) -> Self {
        Self(punctual_sys::Error::io(what, cause))
    }

    /// [`io`](Self::io) with the last error of the calling thread, for bindings.
    #[doc(hidden)]
    pub fn last_os(what: impl fmt::Display) -> Self {
        Self(punctual_sys::Error::last_os(what))
    }

    /// Whether the system does not have what was asked for.
    pub fn is_unsupported(&self) -> bool {
        self.0.is_unsupported()
    }

    /// Whether another user, or a capability, would be allowed to do it.
    pub fn is_permission(&self) -> bool {
        self.0.is_permission()
    }

    /// Whether another value would have been accepted.
    pub fn is_range(&self) -> bool {
        self.0.is_range()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The source is a [`std::io::Error`] where a system call failed.
impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
