//! A rule on the clock of another program.

use punctual_core::Method;

use crate::{
    Answer, Description, Expired, ProcessId, Random, Request, Rule, Setting, ThreadId, Time,
};

/// A rule with its own chance, for threads that wait one at a time: it answers at once when a wait
/// ends.
///
/// The host says what time it is, in any clock that only goes forward; where zero lies on it is where
/// the rule has its first tick. Threads that wait at the same time can affect each other under some
/// rules: their host arms the timers of a [`Rule`] itself.
///
/// ```
/// use punctual_core::{Method, Nanos};
/// use punctual_rules::{Description, Host, Setting, Time};
///
/// let windows: Description = "windows-10-2004 interval=15.625ms finest=500us base=now hardware=exact \
///     cycles=nearest cap=500us slip=0 class=expiry global=0 expiry=owner hires_late=5us"
///     .parse()?;
/// let mut host = Host::new(&windows, 1);
/// let called = Time::from_ns(20_000_000);
/// let millisecond = Time::from_ns(1_000_000);
/// let ends = host.end(Method::WindowsSleep, called, called + millisecond);
/// assert_eq!(ends.floor_ns(), 31_250_000);
///
/// host.set(Setting::request(Nanos::from_ms(1)), ends);
/// let ends = host.end(Method::WindowsSleep, ends, ends + millisecond);
/// assert_eq!(ends.floor_ns(), 32_250_000);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct Host {
    rule: Box<dyn Rule>,
    random: Random,
    expired: Vec<Expired>,
}

/// The thread that waits, its process, and its CPU.
const THREAD: ThreadId = 0;
const PROCESS: ProcessId = 0;
const CPU: usize = 0;

impl Host {
    /// A rule as it is before anything has happened, whose chances are drawn from `seed`.
    pub fn new(description: &Description, seed: u64) -> Self {
        let mut rule = description.build();
        rule.created(THREAD, PROCESS, None);
        Self {
            rule,
            random: Random::new(seed),
            // No interrupt expires more.
            expired: Vec::with_capacity(1),
        }
    }

    /// The rule itself, of which this asks nothing in between.
    pub fn rule(&self) -> &dyn Rule {
        &*self.rule
    }

    /// The process changes a setting at `now`, one that the rule does not [refuse](Rule::refuses).
    pub fn set(&mut self, setting: Setting, now: Time) -> Answer {
        self.rule.set(THREAD, PROCESS, setting, now)
    }

    /// The end of a wait that begins at `now` with one of the rule's [methods](Rule::methods) and asks
    /// to end at `due`. Only its timer ends it, and never before `now`.
    ///
    /// An event may end it sooner: the host need not say so. Chance, where a rule has any, is drawn as
    /// if its timer had ended it.
    pub fn end(&mut self, method: Method, now: Time, due: Time) -> Time {
        let request = Request {
            thread: THREAD,
            cpu: CPU,
            method,
            now,
            due: due.max(now),
            tolerance: Time::ZERO,
        };
        self.rule.arm(&request, &mut self.random);
        while let Some((at, cpu)) = self.rule.next_interrupt() {
            // A timer that is due at once has its interrupt as it is armed.
            let at = at.max(now);
            self.rule
                .interrupt(cpu, at, &mut self.random, &mut self.expired);
            if self.expired.pop().is_some() {
                return at;
            }
            if at == Time::NEVER {
                self.rule.disarm(THREAD);
            }
        }
        Time::NEVER
    }
}
