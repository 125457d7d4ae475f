//! Requests that were not carried out.

/// A request that was not carried out. The report makes a [`Warning`](crate::Warning) of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotDone {
    /// To measure at a priority.
    Priority {
        /// Its name.
        name: String,
        /// Why the machine refuses it; `None` where this user may not have it.
        why: Option<String>,
    },
    /// To give threads a setting.
    Setting {
        /// Its name.
        name: String,
        /// Theirs.
        threads: Vec<String>,
        /// The error of the OS.
        why: String,
    },
    /// To check so many expectations, since they are of other models.
    Expectations {
        /// How many.
        n: usize,
        /// Of how many.
        of: usize,
        /// The models.
        models: Vec<String>,
    },
}
