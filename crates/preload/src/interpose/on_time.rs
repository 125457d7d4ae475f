//! Waits that end when they were asked to end.
//!
//! The strategy is the library's `adaptive`. Its naps are the real calls with less time, so that events, signals and
//! cancellation end them as ever. Its spins read the clock, and look for what else can end the wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::c_int;
use punctual_core::crowd::Crowd;
use punctual_core::strategies::Adaptive;
use punctual_core::wait::Wait as Steps;
use punctual_core::{Goal, Nanos, Reason, Step};
use punctual_sys::clock::{self, Host, Tick};
use punctual_sys::{crowd, spin, thread};

use super::books::{lower_slack, set_slack};
use super::notifications::Condition;
use super::process;
use super::strategies::{self, Ticket};
use super::wait::{Ask, Until, errno, set_errno};
use crate::Call;
use crate::accurate::{Accurate, Class, SPIN_MOST, SpinBudget, at, bin};

/// The part of this process in a run.
struct Part {
    run: Accurate,
    words: &'static [AtomicU64],
    budget: SpinBudget,
}

static PART: OnceLock<Part> = OnceLock::new();

/// Has the waits of this process end on time, if the page is that of such a run.
pub(super) fn take_part(words: &'static [AtomicU64]) -> bool {
    let run = Accurate::read(|at| words[at].load(Relaxed));
    let Some(run) = run.filter(|_| words.len() >= at::WORDS) else {
        return false;
    };
    words[at::PROCESSES].fetch_add(1, Relaxed);
    let budget = SpinBudget::new();
    PART.get_or_init(|| Part { run, words, budget });
    true
}

/// Whether the waits of this process end on time.
pub(super) fn takes_part() -> bool {
    PART.get().is_some()
}

/// How a wait spins.
#[derive(Clone, Copy)]
enum Spin {
    /// Only time ends it.
    Clock,
    /// It looks again and again for what it waits for, which stays there.
    Looks,
    /// It looks for notifications, which are missed between two calls.
    Notified(Condition),
    /// It could miss notifications.
    Never,
}

/// How often a wait that spins looks for its event.
const LOOK: Nanos = Nanos::from_us(2);
/// A wait that begins with less of the budget hardly spins.
const LITTLE: Nanos = Nanos::from_us(20);

/// A wait under way. It holds nothing: the thread may be cancelled meanwhile.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    part: &'static Part,
    class: Class,
    begin: Tick,
    due: Tick,
    until: Option<Until>,
    spin: Spin,
    is_left_alone: bool,
}

impl Wait {
    /// A call that asks for so many nanoseconds from an instant of CLOCK_MONOTONIC on; `None` if it is left as it is.
    pub(super) fn begin(call: Call, now: u64, asked: u64, until: Option<Until>) -> Option<Self> {
        let part = PART.get()?;
        let class = Class::of(call);
        if part.run.only_sleeps && class != Class::Sleep {
            return None;
        }
        let word = |at: usize| &part.words[at + class as usize];
        let begun = word(at::BEGUN).fetch_add(1, Relaxed);
        let alone = word(at::ALONE).load(Relaxed);
        let begin = Tick::from_ns(now);
        Some(Self {
            part,
            class,
            begin,
            due: begin + Nanos::new(asked),
            until,
            spin: match class {
                Class::Sleep => Spin::Clock,
                Class::Event | Class::Lock => Spin::Looks,
            },
            is_left_alone: part.run.is_left_alone(begun, alone),
        })
    }

    /// The wait ends by notifications of a condition variable. `None` is one that other processes may notify.
    pub(super) fn notified_by(self, condition: Option<Condition>) -> Self {
        let spin = condition.map_or(Spin::Never, Spin::Notified);
        Self { spin, ..self }
    }

    /// The rest of the time that the caller asked for; `None` if the call of the program said it.
    pub(super) fn left(&self) -> Option<u64> {
        (!self.is_native()).then(|| self.due.since(clock::now()).as_ns())
    }

    /// Whether it is the call of the program as it is.
    fn is_native(&self) -> bool {
        self.is_left_alone || matches!(self.spin, Spin::Never)
    }

    /// Waits by the call of the program or by the real call. A call of nothing but time returns zero when the
    /// time is over.
    pub(super) fn by<T: Copy + From<c_int>>(
        self,
        native: impl FnOnce() -> T,
        mut real: impl FnMut(Ask) -> T,
        is_timer: impl Fn(T) -> bool,
    ) -> T {
        let result = if self.is_left_alone {
            native()
        } else if self.is_native() {
            slackless(native)
        } else {
            self.in_steps(&mut real, &is_timer)
        };
        let error = errno();
        self.note(is_timer(result));
        set_errno(error);
        result
    }

    /// Naps and spins as the strategy of the thread says.
    fn in_steps<T: Copy + From<c_int>>(
        &self,
        real: &mut impl FnMut(Ask) -> T,
        is_timer: &impl Fn(T) -> bool,
    ) -> T {
        let mut steps = self.first();
        let mut now = self.begin;
        loop {
            // Without a strategy it naps.
            let step = steps.as_ref().map_or(Step::Done, |(_, wait)| wait.step());
            let left = self.due.since(now);
            let mut cpu = None;
            let (result, reason) = match step {
                Step::Spin => self.spin(now, real, is_timer),
                Step::Block { limit, metered, .. } => {
                    let before = metered.then(thread::exact_cpu_time).flatten();
                    let ended = nap(limit.length(now), left, real, is_timer);
                    cpu = before.and_then(|before| Some(thread::exact_cpu_time()? - before));
                    ended
                }
                Step::Yield | Step::Done => nap(left, left, real, is_timer),
            };
            let error = errno();
            let is_by_timer = is_timer(result);
            now = clock::now();
            if let Some((ticket, wait)) = &mut steps {
                let told = strategies::again(*ticket, |it| wait.woke(it, now, reason, cpu));
                if told.is_none() {
                    steps = None;
                }
            }
            set_errno(error);
            if !is_by_timer {
                return result;
            }
            // A clock that another library has stopped shows no end; the kernel and the spin know it.
            if now >= self.due || !matches!(step, Step::Block { .. }) {
                crowd::end_limited(now, now.since(self.due));
                return self.outlast(result, real);
            }
        }
    }

    /// The first step of the wait.
    fn first(&self) -> Option<(Ticket, Steps<Host>)> {
        // Detected before the nap, where there is time for it.
        spin::kind();
        let now = self.begin.as_ns();
        let budget = self.part.budget.at(self.part.run.spin, now);
        if budget < LITTLE {
            self.part.words[at::LIMITED].fetch_add(1, Relaxed);
        }
        let goal = Goal {
            spin_most: budget.min(crowd::spin_most(self.begin, self.due.since(self.begin))),
            ..Goal::until(self.due)
        };
        let begin = |strategy: &mut Adaptive| Steps::begin(strategy, goal, self.begin);
        strategies::begin(self.part.run.weight, now, begin)
    }

    /// Spins until the wait is due, or until its event. An event that comes at the last moment counts.
    fn spin<T: Copy + From<c_int>>(
        &self,
        from: Tick,
        real: &mut impl FnMut(Ask) -> T,
        is_timer: &impl Fn(T) -> bool,
    ) -> (T, Reason) {
        let mut event = None;
        // The crowd counts the threads that spin: none is cancelled meanwhile.
        let cancel = process::without_cancel();
        let (now, reason) = match self.spin {
            Spin::Clock | Spin::Never => crowd::spin_until(from, self.due, Nanos::MAX, || false),
            Spin::Looks => crowd::spin_until(from, self.due, LOOK, || {
                event = Some(real(Ask::NOTHING)).filter(|result| !is_timer(*result));
                event.is_some()
            }),
            Spin::Notified(condition) => {
                let mut spun = (from, Reason::Event);
                let spin = |is_notified: &dyn Fn() -> bool| {
                    spun = crowd::spin_until(from, self.due, LOOK, is_notified);
                };
                // SAFETY: the caller of the wait gave both, and holds the mutex.
                event = match unsafe { condition.released(spin) } {
                    Ok(false) => None,
                    Ok(true) => Some(T::from(0)),
                    Err(error) => Some(T::from(error)),
                };
                spun
            }
        };
        process::set_cancel(cancel);
        let spun = now.since(from);
        let part = self.part;
        part.budget.spend(part.run.spin, now.as_ns(), spun);
        part.words[at::SPUN].fetch_add(spun.as_ns(), Relaxed);
        let result = event.unwrap_or_else(|| {
            process::test_cancel();
            match self.spin {
                Spin::Looks => real(Ask::NOTHING),
                Spin::Notified(_) => T::from(libc::ETIMEDOUT),
                Spin::Clock | Spin::Never => T::from(0),
            }
        });
        (result, reason)
    }

    /// Waits for the rest where the clock of the caller was set or slewed meanwhile, and is not there yet.
    fn outlast<T>(&self, result: T, real: &mut impl FnMut(Ask) -> T) -> T {
        let left = || Nanos::new(self.until.map_or(0, Until::left));
        // A slewed clock can take a second spin.
        for _ in 0..3 {
            match left() {
                Nanos::ZERO => return result,
                left if left <= SPIN_MOST => _ = spin::until(clock::now() + left),
                _ => break,
            }
        }
        slackless(|| real(Ask::whole(left().as_ns())))
    }

    /// The call has returned; whether by its timer.
    fn note(&self, is_timer: bool) {
        let add = |at: usize| self.part.words[at].fetch_add(1, Relaxed);
        if !is_timer {
            add(at::BY_EVENT);
            return;
        }
        if self.is_left_alone {
            add(at::ALONE + self.class as usize);
        }
        let late = clock::now().since(self.due);
        add(self.class.books(self.is_left_alone) + bin(late));
    }
}

/// Naps by the real call, for `length` of what is `left`.
fn nap<T: Copy>(
    length: Nanos,
    left: Nanos,
    real: &mut impl FnMut(Ask) -> T,
    is_timer: &impl Fn(T) -> bool,
) -> (T, Reason) {
    let result = slackless(|| real(Ask::less(length.as_ns(), (left - length).as_ns())));
    let reason = match is_timer(result) {
        true => Reason::Timer,
        false => Reason::Event,
    };
    (result, reason)
}

/// Calls without timer slack. Where the CPUs are overloaded, little is kept: one interrupt then wakes several threads.
fn slackless<T>(call: impl FnOnce() -> T) -> T {
    let most = match crowd::is_crowded() {
        true => Crowd::SLACK_MOST,
        false => Nanos::new(1),
    };
    let before = lower_slack(most.as_ns() as c_int);
    let result = call();
    if let Some(before) = before {
        set_slack(before);
    }
    result
}
