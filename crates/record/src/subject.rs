//! The names of ways of waiting.

/// The name of the library as its users call it.
pub const LIBRARY: &str = "punctual";

/// A way of waiting, by its name in a Run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectId<'n> {
    /// The library as its users call it.
    Library,
    /// Its strategy `adaptive`: this name has its weight, such as `adaptive-balanced`.
    Adaptive(&'n str),
    /// A sleep of the OS, and nothing else. Every system has it.
    PlainSleep,
    /// Any other.
    Other(&'n str),
}

impl SubjectId<'static> {
    /// The strategy that the library waits with.
    pub const DEFAULT: Self = Self::Adaptive("adaptive-balanced");
}

impl<'n> SubjectId<'n> {
    /// The subject of that name.
    pub fn of(name: &'n str) -> Self {
        match name {
            LIBRARY => Self::Library,
            "system" => Self::PlainSleep,
            _ if name.starts_with("adaptive") => Self::Adaptive(name),
            _ => Self::Other(name),
        }
    }

    /// Its name.
    pub const fn name(self) -> &'n str {
        match self {
            Self::Library => LIBRARY,
            Self::PlainSleep => "system",
            Self::Adaptive(name) | Self::Other(name) => name,
        }
    }

    /// Whether it is the library or its strategy `adaptive`.
    pub const fn is_of_library(self) -> bool {
        matches!(self, Self::Library | Self::Adaptive(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_has_the_name_that_it_is_made_of() {
        for name in [LIBRARY, "system", "adaptive-exact", "spin_sleep"] {
            assert_eq!(SubjectId::of(name).name(), name);
        }
        assert!(SubjectId::of("adaptive-exact").is_of_library());
        assert!(!SubjectId::of("system").is_of_library());
    }
}
