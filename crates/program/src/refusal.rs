//! What a machine answers when it cannot do something.

use std::fmt;

/// A machine's answer to a program it cannot run: what it cannot do, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// A refusal in one sentence that says what cannot be done, why, and what
    /// to do instead.
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}
