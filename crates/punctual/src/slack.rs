use punctual_sys::nap;

/// The handling of the thread's timer slack during a nap. Linux may end a nap later by the slack.
/// Other systems have no slack, and all three are the same there.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual::{Slack, Waiter};
///
/// // Saves the system calls that change the slack; naps end up to 50 us later.
/// let mut waiter = Waiter::builder().slack(Slack::Leave).build()?;
/// waiter.sleep(Duration::from_millis(1));
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Slack {
    /// Lowers it to 1 ns for each nap: four short system calls. While many threads of the
    /// process wait, naps keep a slack of up to 200 us instead, so that one interrupt wakes
    /// several threads.
    ///
    /// The thread's own slack is restored when the nap ends, and in a child that a signal
    /// handler forks. Slack that a signal handler sets during the nap stays.
    #[default]
    PerNap,
    /// Lowers it to 1 ns at the first nap and keeps it there while the
    /// [`Waiter`](crate::Waiter) lives. That holds for all other timers of the thread too, for
    /// threads that it starts and for programs. A `std::process::Command` inherits it, a child of
    /// `fork` does not.
    ///
    /// A waiter that moves to another thread lowers it there as well. Dropping it restores
    /// the slack of the thread it napped on last, if it is dropped on that thread; other
    /// threads keep 1 ns.
    KeepThread,
    /// Leaves it as it is.
    Leave,
}

impl Slack {
    pub(crate) fn sys(self) -> nap::Slack {
        match self {
            Self::PerNap => nap::Slack::PerNap,
            Self::KeepThread => nap::Slack::KeepThread,
            Self::Leave => nap::Slack::Leave,
        }
    }
}
