//! Turns: one thread runs at a time, in the order of virtual time.

use std::cell::Cell;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use punctual::Cancel;
use punctual_core::{Nanos, Tick};
use punctual_sim::{Doing, Hosted, SimClock};

/// After so many readings of the clock in one turn each of them ends the turn. A loop that waits
/// by reading the clock thus ends.
const READS: u32 = 8;
/// A thread is given up that has had its turn for so many [`LOOK`]s, a minute.
const PATIENCE: u32 = 60;
/// How often a waiting thread checks whether turns are handed on at all. A process that is
/// stopped, as by a debugger, loses one check.
const LOOK: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1_000 });

const STOPPED: &str =
    "the virtual computer was stopped by the panic of a thread that started others";

thread_local! {
    /// Which computer's thread this is, and which of its threads.
    static SELF: Cell<Option<(*const Turns, usize)>> = const { Cell::new(None) };
}

/// The computer, and whose turn it is on it.
pub(crate) struct Turns {
    /// The instant at which virtual time begins.
    epoch: (Instant, Tick<SimClock>),
    state: Mutex<State>,
}

struct State {
    hosted: Hosted,
    turn: usize,
    /// How often the clock was read since another thread may have had a turn, and how many of
    /// these readings still have to be charged.
    reads: u32,
    unpaid: u32,
    /// Counts turns, of any thread.
    turns: u64,
    /// The threads that are real, by their numbers on the computer.
    threads: Vec<(usize, Thread)>,
    /// The waits that can be cancelled, by thread.
    cancels: Vec<(usize, Cancel)>,
    stopped: Option<Stopped>,
}

/// Why no thread has a turn any more.
enum Stopped {
    /// The thread that started others panicked: these end without a word of their own.
    ByPanic,
    Because(String),
}

impl Turns {
    /// Makes the calling thread the first of the computer.
    pub(crate) fn begin(mut hosted: Hosted) -> Result<Arc<Self>, Error> {
        let first = hosted.turn().map_err(|why| Error(why.to_string()))?;
        let turns = Arc::new(Self {
            epoch: (Instant::now(), hosted.now()),
            state: Mutex::new(State {
                hosted,
                turn: first,
                reads: 0,
                unpaid: 0,
                turns: 0,
                threads: vec![(first, thread::current())],
                cancels: Vec::new(),
                stopped: None,
            }),
        });
        Ok(turns)
    }

    /// Looks at the computer, or changes it, in no time.
    pub(crate) fn hosted<T>(&self, act: impl FnOnce(&mut Hosted) -> T) -> T {
        act(&mut self.lock().hosted)
    }

    /// Reads the clock, which takes some time, and shows that the next time.
    ///
    /// The first readings of a turn do not end it: who holds a lock may look at the clock.
    pub(crate) fn read(&self) -> Instant {
        let mut state = self.lock();
        self.me(&state);
        state.reads += 1;
        if state.reads <= READS {
            state.unpaid += 1;
        } else {
            let reads = state.reads;
            drop(state);
            self.does(Doing::Read, None);
            state = self.lock();
            state.reads = reads;
        }
        self.instant(state.hosted.now())
    }

    /// The time of the clock.
    pub(crate) fn now(&self) -> Instant {
        self.instant(self.lock().hosted.now())
    }

    fn instant(&self, tick: Tick<SimClock>) -> Instant {
        let (instant, begin) = self.epoch;
        // Virtual time ends after 195 years, for which an `Instant` has room.
        instant + Duration::from(tick.since(begin))
    }

    pub(crate) fn tick(&self, instant: Instant) -> Tick<SimClock> {
        let (begin, tick) = self.epoch;
        tick + Nanos::from(instant.saturating_duration_since(begin))
    }

    /// The calling thread does something, which takes until its next turn.
    pub(crate) fn does(&self, what: Doing, cancel: Option<&Cancel>) {
        let mut state = self.lock();
        let me = self.me(&state);
        state.reads = 0;
        let unpaid = std::mem::take(&mut state.unpaid);
        if unpaid > 0 {
            let read = state.hosted.model().costs().read;
            let reading = Doing::Work(read.times(unpaid.into()));
            state = self.do_one(state, me, reading, None);
        }
        drop(self.do_one(state, me, what, cancel));
    }

    fn do_one<'t>(
        &'t self,
        mut state: MutexGuard<'t, State>,
        me: usize,
        what: Doing,
        cancel: Option<&Cancel>,
    ) -> MutexGuard<'t, State> {
        if !self.may_go_on(&state) {
            return state;
        }
        self.notify(&mut state);
        if cancel.is_some_and(Cancel::is_cancelled) {
            return state;
        }
        state
            .cancels
            .extend(cancel.map(|cancel| (me, cancel.clone())));
        state.hosted.does(me, what);
        self.hand_on(&mut state, me);
        let mut state = self.await_turn(state, me);
        state.cancels.retain(|(thread, _)| *thread != me);
        state
    }

    /// The CPU time of the calling thread.
    pub(crate) fn cpu_time(&self) -> Nanos {
        let mut state = self.lock();
        let me = self.me(&state);
        state.hosted.cpu_time(me)
    }

    /// A thread has been started on the computer, and becomes a real one.
    pub(crate) fn spawn(&self) -> usize {
        self.lock().hosted.spawn("")
    }

    /// It is this one, which is about to begin.
    pub(crate) fn adopt(&self, id: usize, thread: Thread) {
        self.lock().threads.push((id, thread));
    }

    /// The calling thread is that one; waits for its first turn.
    pub(crate) fn enter(&self, id: usize) {
        SELF.set(Some((self, id)));
        drop(self.await_turn(self.lock(), id));
    }

    /// The calling thread ends.
    pub(crate) fn leave(&self, id: usize) {
        let mut state = self.lock();
        if state.stopped.is_none() {
            self.notify(&mut state);
            (state.reads, state.unpaid) = (0, 0);
            state.threads.retain(|(thread, _)| *thread != id);
            state.hosted.does(id, Doing::Exit);
            self.hand_on(&mut state, id);
        }
    }

    /// Ends all other threads when they look for their turn.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        self.stop_because(&mut state, Stopped::ByPanic);
    }

    fn stop_because(&self, state: &mut State, why: Stopped) {
        state.stopped.get_or_insert(why);
        state.threads.iter().for_each(|(_, thread)| thread.unpark());
    }

    /// The number of the calling thread.
    fn me(&self, state: &State) -> usize {
        match SELF.get() {
            Some((computer, id)) if std::ptr::eq(computer, self) => return id,
            _ => {}
        }
        let (first, thread) = &state.threads[0];
        assert!(
            thread.id() == thread::current().id(),
            "a thread that is none of this virtual computer's asks for its clock: start it with \
             `Computer::scope`"
        );
        *first
    }

    /// Wakes those whose waits have been cancelled since the last turn.
    fn notify(&self, state: &mut State) {
        let State {
            hosted, cancels, ..
        } = state;
        let cancelled = cancels.iter().filter(|(_, cancel)| cancel.is_cancelled());
        cancelled.for_each(|(thread, _)| hosted.notify(*thread));
    }

    fn hand_on(&self, state: &mut State, me: usize) {
        match state.hosted.turn() {
            Ok(next) => {
                state.turn = next;
                state.turns += 1;
                if next != me {
                    let mut threads = state.threads.iter();
                    if let Some((_, thread)) = threads.find(|(thread, _)| *thread == next) {
                        thread.unpark();
                    }
                }
            }
            Err(why) => self.stop_because(state, Stopped::Because(why.to_string())),
        }
    }

    fn await_turn<'t>(
        &'t self,
        mut state: MutexGuard<'t, State>,
        me: usize,
    ) -> MutexGuard<'t, State> {
        let (mut turns, mut looks) = (state.turns, 0);
        while self.may_go_on(&state) && state.turn != me {
            drop(state);
            let began = Instant::now();
            thread::park_timeout(LOOK);
            state = self.lock();
            looks += u32::from(began.elapsed() >= LOOK);
            if turns != state.turns {
                (turns, looks) = (state.turns, 0);
            }
            if looks == PATIENCE && state.turn != me {
                let why = "a thread has had its turn for a minute of real time: it waits for \
                           something else than the virtual clock, as a lock, a channel or \
                           another thread"
                    .to_owned();
                self.stop_because(&mut state, Stopped::Because(why));
            }
        }
        state
    }

    /// Whether there are turns at all. If not the thread ends, unless it is ending already.
    fn may_go_on(&self, state: &State) -> bool {
        match &state.stopped {
            None => true,
            Some(_) if thread::panicking() => false,
            Some(Stopped::ByPanic) if SELF.get().is_some() => resume_unwind(Box::new(STOPPED)),
            Some(Stopped::ByPanic) => panic!("{STOPPED}"),
            Some(Stopped::Because(why)) => panic!("the virtual computer stopped: {why}"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent between any two calls.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock().hosted.fmt(f)
    }
}

/// Why there is no such computer, or it has no such call.
///
/// # Examples
///
/// ```
/// use punctual_virtual::Computer;
///
/// let error = Computer::named("windows-3.11").unwrap_err();
/// println!("{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub(crate) String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Mutex;
    use std::time::Duration;

    use crate::Computer;

    #[test]
    fn a_thread_that_waits_for_a_lock_instead_of_the_clock_is_found() {
        let computer = Computer::named("linux").unwrap();
        let clock = computer.clock();
        let lock = Mutex::new(());
        let locked = catch_unwind(AssertUnwindSafe(|| {
            computer.scope(|scope| {
                scope.spawn(|| drop(lock.lock().unwrap()));
                let _held = lock.lock().unwrap();
                clock.sleep(Duration::from_secs(1));
            });
        }));
        let why = locked.unwrap_err();
        let why = why.downcast_ref::<String>().unwrap();
        assert!(why.contains("as a lock, a channel"), "{why}");
    }
}
