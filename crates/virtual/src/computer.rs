use std::sync::Arc;

use punctual_sim::{Hosted, Model};

use crate::clock::VirtualClock;
use crate::scope::{self, Scope};
use crate::turns::{Error, Turns};

/// A simulated computer on which code of a test runs in virtual time.
///
/// The thread that makes it is its first thread; others it [starts](Self::scope) itself.
/// The same model, seed and code have the same times in each run, on every platform.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use punctual_virtual::Computer;
///
/// let computer = Computer::named("windows-10-2004")?;
/// let clock = computer.clock();
/// let start = clock.now();
/// let mut wakes = 0;
/// while clock.now() - start < Duration::from_secs(1) {
///     clock.sleep(Duration::from_millis(1));
///     wakes += 1;
/// }
/// assert_eq!(wakes, 65); // 64 ticks of 15.625 ms, begun in the middle of one
/// # Ok::<(), punctual_virtual::Error>(())
/// ```
#[derive(Debug)]
pub struct Computer {
    turns: Arc<Turns>,
}

impl Computer {
    /// A computer after a model as `punctual simulate --on` takes it, with its parameters:
    /// `windows-11`, `linux,slack=1us,cpus=2`. `recorded`, which is a file, is the exception.
    /// `punctual simulate --list` prints all.
    ///
    /// # Errors
    /// There is no such model, or it has no such parameter; the error says which there are.
    pub fn named(model: &str) -> Result<Self, Error> {
        Self::seeded(model, 1)
    }

    /// As [`named`](Self::named), with other chances: when in a tick it begins, how long a
    /// wake-up takes. A test that holds with several seeds says more.
    ///
    /// # Errors
    /// As [`named`](Self::named).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual_virtual::Computer;
    ///
    /// let slept = |seed| {
    ///     let clock = Computer::seeded("windows-11", seed)?.clock();
    ///     let start = clock.now();
    ///     clock.sleep(Duration::from_millis(1));
    ///     Ok::<_, punctual_virtual::Error>(clock.now() - start)
    /// };
    /// assert_eq!(slept(7)?, slept(7)?); // the same in each run
    /// assert_ne!(slept(7)?, slept(8)?);
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn seeded(model: &str, seed: u64) -> Result<Self, Error> {
        let model = Model::parse(model).map_err(Error)?;
        Turns::begin(Hosted::new(model, seed)).map(|turns| Self { turns })
    }

    /// Its clock.
    pub fn clock(&self) -> VirtualClock {
        VirtualClock::new(Arc::clone(&self.turns))
    }

    /// Starts so many processes of which each wants a CPU for ever, at normal priority:
    /// what else runs on a busy computer.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual_virtual::Computer;
    ///
    /// let computer = Computer::named("linux,cpus=1")?;
    /// computer.busy_with(2);
    /// let clock = computer.clock();
    /// let start = clock.now();
    /// clock.work(Duration::from_millis(100)); // has about a third of the CPU
    /// assert!(clock.now() - start > Duration::from_millis(200));
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn busy_with(&self, processes: usize) {
        self.turns.hosted(|hosted| {
            for _ in 0..processes {
                hosted.spawn_hog();
            }
        });
    }

    /// Runs code of several threads in virtual time, and waits for all that it starts, as
    /// [`std::thread::scope`].
    ///
    /// One thread runs at a time, until it waits, works or reads the clock; whose turn it is
    /// then, virtual time says. Thus they may share what a `Mutex` guards, and
    /// one may end the wait of another by a [`Cancel`](punctual::Cancel).
    ///
    /// # Panics
    /// If a thread panicked that was not [joined](crate::JoinHandle::join), and as
    /// [all that waits](VirtualClock#panics).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual_virtual::Computer;
    ///
    /// // Both want the one CPU.
    /// let computer = Computer::named("linux,cpus=1")?;
    /// let clock = computer.clock();
    /// let start = clock.now();
    /// computer.scope(|scope| {
    ///     scope.spawn(|| clock.work(Duration::from_millis(50)));
    ///     clock.work(Duration::from_millis(50));
    /// });
    /// assert!(clock.now() - start >= Duration::from_millis(100));
    /// # Ok::<(), punctual_virtual::Error>(())
    /// ```
    pub fn scope<'env, T>(&self, code: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> T) -> T {
        scope::run(&self.turns, code)
    }
}
