//! Events in, waits out.

use std::collections::{BTreeMap, HashMap};

use punctual_record::{LateParts, Measurement, WakeUps};

use crate::call::{Call, Ended, Timeout};
use crate::cpus::Cpus;
use crate::event::{Event, Left, Name, Offsets, What};
use crate::recording::Recording;
use crate::scenario::{self, Head, Replay};
use crate::slack::Slack;
use crate::tally::{Class, Kind, Pooled, Tally, Waker, count, kind};
use crate::wait::{Phase, Timer, Wait};

/// Threads whose waits are followed at a time, tallies, and names of woken threads: more are only
/// counted.
pub(crate) const MOST_THREADS: usize = 65_536;
const MOST_TALLIES: usize = 4_096;
const MOST_NAMES: usize = 1_024;

/// Makes waits of events, in constant memory.
///
/// Events must come in the order of time. Events of calls must be of the traced threads only;
/// the others are of the whole computer.
#[derive(Debug, Default)]
pub struct Engine {
    tick_ns: Option<u64>,
    tried: Slack,
    recording: Option<Recording>,
    clocks: Offsets,
    threads: HashMap<u32, Thread>,
    /// The thread that waits for each timer.
    timers: HashMap<u64, u32>,
    cpus: Cpus,
    tallies: HashMap<Class, (Name, Tally)>,
    wake_ups: HashMap<Name, WakeUps>,
    names: HashMap<u32, Name>,
    first: Option<u64>,
    last: u64,
    events: u64,
    lost: u64,
    throttled_ns: Option<u64>,
    not_noted: u64,
    has_bounds: bool,
    /// The waits that ended since the last time, if they are wanted.
    ended: Option<Vec<EndedWait>>,
}

/// A wait that ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedWait {
    /// Its process.
    pub process: u32,
    /// Its thread.
    pub thread: u32,
    /// The name of the thread.
    pub name: Name,
    /// The call.
    pub call: Call,
    /// When it began, in nanoseconds of the monotonic clock.
    pub began: u64,
    /// The instant that was asked for, if that is known.
    pub deadline: Option<u64>,
    /// When the program went on.
    pub returned: u64,
    /// The cause of its end.
    pub ended: Ended,
    /// The parts of its lateness.
    pub parts: LateParts,
}

/// A traced thread.
#[derive(Debug)]
struct Thread {
    process: u32,
    name: Name,
    wait: Option<Wait>,
    /// For how long it slept before this wait, and since then; and since when it does.
    slept_before: u64,
    slept: u64,
    sleeps_since: Option<u64>,
}

impl Engine {
    /// An engine without events, of a computer whose timer wheel has ticks of this length.
    pub fn new(tick_ns: Option<u64>) -> Self {
        Self {
            tick_ns,
            ..Self::default()
        }
    }

    /// The same engine that predicts lateness with this slack, instead of the least.
    pub fn predicting(self, tried: Slack) -> Self {
        Self { tried, ..self }
    }

    /// The same engine that also keeps the waits of each thread one after the other, as far as there is room.
    pub fn recording(self) -> Self {
        Self {
            recording: Some(Recording::default()),
            ..self
        }
    }

    /// The waits as a scenario; `None` of an engine that kept none.
    pub fn replay(&self, head: Head<'_>) -> Option<Replay> {
        let from = self.first.unwrap_or(self.last);
        let recording = self.recording.as_ref()?;
        Some(scenario::of(recording, from, self.last, head))
    }

    /// Takes the next event.
    pub fn feed(&mut self, event: &Event) {
        self.events += 1;
        self.first.get_or_insert(event.time);
        // A clock never goes back; a file may.
        let now = self.last.max(event.time);
        self.last = now;
        let Event { cpu, thread, .. } = *event;
        // These are of no thread.
        if !matches!(
            event.what,
            What::Clocks(_) | What::Throttled { .. } | What::Lost { .. }
        ) {
            let name = self.names.get(&thread).copied().unwrap_or_default();
            self.cpus.observe(cpu, now, thread, name);
        }
        let is_expiry = matches!(event.what, What::Expire { .. });
        let follows_expiry = self.cpus.follows_expiry(cpu, is_expiry);
        match event.what {
            What::Enter {
                process,
                call,
                timeout,
            } => self.enter(thread, process, call, timeout, now),
            What::Exit { result } => self.exit(thread, result, now),
            What::Arm {
                timer,
                soft,
                hard,
                is_relative,
            } => self.arm(thread, (timer, soft, hard), is_relative, now),
            What::ArmWheel {
                timer,
                now: at,
                expires,
                slot,
            } => self.arm_wheel(thread, timer, [at, expires, slot], now),
            What::Expire { timer } => {
                if let Some(thread) = self.timers.remove(&timer) {
                    self.with(thread, |wait, cpus| wait.expire(now, cpus));
                }
            }
            What::Waking {
                thread,
                by_interrupt,
            } => {
                self.count_wake_up(thread, by_interrupt, follows_expiry);
                self.with(thread, |wait, cpus| {
                    wait.advance(now, cpus);
                    wait.phase = Phase::Woken;
                });
            }
            What::Ready { thread, on } => self.with(thread, |wait, cpus| {
                wait.advance(now, cpus);
                wait.phase = Phase::Ready(on);
            }),
            What::Migrate { thread, to } => self.with(thread, |wait, cpus| {
                if matches!(wait.phase, Phase::Ready(_)) {
                    wait.advance(now, cpus);
                    wait.phase = Phase::Ready(to);
                }
            }),
            What::Switch {
                left,
                next,
                name,
                is_real_time,
            } => {
                self.rename(next, name);
                self.cpus.switch(cpu, now, next, name, is_real_time);
                self.leave(thread, left, Some(cpu), now);
                self.run(next, now);
            }
            What::Due {
                deadline,
                leeway,
                in_wheel,
            } => {
                self.has_bounds = true;
                self.with(thread, |wait, _| wait.is_due(deadline, leeway, in_wheel));
            }
            What::Waited { ns } => self.with(thread, |wait, _| wait.has_waited(ns)),
            What::Off { left } => self.leave(thread, left, None, now),
            What::On => self.run(thread, now),
            What::SeenStopped { since } => self.stopped(thread, since, now),
            What::Named(name) => self.rename(thread, name),
            What::Clocks(clocks) => self.clocks = clocks,
            What::End => self.end(thread, now),
            What::Throttled { ns } => {
                self.throttled_ns = Some(self.throttled_ns.unwrap_or(0).saturating_add(ns));
            }
            What::Lost { n } => self.lose(cpu, n),
        }
    }

    /// The waits that ended since the last time. From the first time on they are kept.
    pub fn take_ended(&mut self) -> Vec<EndedWait> {
        std::mem::take(self.ended.get_or_insert_default())
    }

    /// No more events come: waits that returned just before are counted.
    pub fn close(&mut self) {
        let returned = self.threads.iter().filter_map(|(thread, of)| {
            let (ended, at) = of.wait.as_ref()?.returned?;
            Some((*thread, ended, at))
        });
        for (thread, ended, at) in returned.collect::<Vec<_>>() {
            self.finish(thread, ended, at);
        }
    }

    /// The length of a tick of the timer wheel, in nanoseconds.
    pub const fn tick_ns(&self) -> Option<u64> {
        self.tick_ns
    }

    /// How many events it took.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// How many events were lost.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// For how long quotas stopped threads of the traced programs, in nanoseconds; `None` if that was not counted.
    pub const fn throttled_ns(&self) -> Option<u64> {
        self.throttled_ns
    }

    /// CPUs that show no events of their idle threads: no end of a timer that comes while they are idle, and no wake-up by
    /// it.
    pub fn cpus_without_idle(&self) -> Vec<u32> {
        self.cpus.without_idle()
    }

    /// Whether slack and ticks of some waits are upper bounds, as their timers were not seen.
    pub const fn has_bounds(&self) -> bool {
        self.has_bounds
    }

    /// Waits that were not told apart, as there are too many threads, calls and lengths.
    pub const fn not_noted(&self) -> u64 {
        self.not_noted
    }

    /// The time from the first to the last event, in nanoseconds.
    pub fn elapsed_ns(&self) -> u64 {
        self.last - self.first.unwrap_or(self.last)
    }

    /// The waits, those that were late for the longest time in all first.
    pub fn rows(&self) -> Vec<Measurement> {
        let mut tallies: Vec<_> = self.tallies.iter().collect();
        tallies.sort_by_key(|(class, _)| **class);
        let elapsed = self.elapsed_ns();
        let row = |(class, (name, tally)): &(&Class, &(Name, Tally))| {
            tally.row(class, &name.in_words(), elapsed)
        };
        let rows = tallies.iter().map(|of| (of.1.1.ended(), row(of)));
        let mut rows: Vec<(u64, Measurement)> = rows.collect();
        let late = |row: &Measurement| (row.late_ns.mean * row.late_ns.n as f64) as u64;
        rows.sort_by_key(|(ended, row)| std::cmp::Reverse((late(row), *ended)));
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// The waits of all threads with one name that are alike, together: in another run of the program the numbers of
    /// its threads are others.
    pub fn pooled(&self) -> BTreeMap<Kind, Pooled> {
        let mut all: BTreeMap<Kind, Pooled> = BTreeMap::new();
        for (class, (name, tally)) in &self.tallies {
            let kind = Kind {
                thread: name.in_words(),
                call: class.call,
                timeout: class.timeout,
                octave: class.octave,
            };
            tally.pool(all.entry(kind).or_default());
        }
        all
    }

    /// The wake-ups of the computer by the name of the thread, most first.
    pub fn wake_ups(&self) -> Vec<WakeUps> {
        let mut all: Vec<_> = self.wake_ups.iter().collect();
        all.sort_by_key(|(name, of)| (std::cmp::Reverse(of.n()), **name));
        let named = all.into_iter().map(|(name, of)| WakeUps {
            thread: name.in_words(),
            ..of.clone()
        });
        named.collect()
    }

    /// Does something with the wait of a thread, if it is in one.
    fn with(&mut self, thread: u32, act: impl FnOnce(&mut Wait, &Cpus)) {
        if let Some(wait) = self
            .threads
            .get_mut(&thread)
            .and_then(|it| it.wait.as_mut())
        {
            act(wait, &self.cpus);
        }
    }

    fn enter(&mut self, thread: u32, process: u32, call: Call, timeout: Timeout, now: u64) {
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&thread) {
            self.not_noted += 1;
            return;
        }
        let name = self.names.get(&thread).copied().unwrap_or_default();
        let of = self.threads.entry(thread).or_insert(Thread {
            process,
            name,
            wait: None,
            slept_before: 0,
            slept: 0,
            sleeps_since: None,
        });
        of.process = process;
        match of.wait.as_mut() {
            Some(wait) if wait.goes_on(call, timeout) => {
                if let Some(timer) = wait.restart(now, &self.cpus) {
                    self.timers.remove(&timer.address);
                }
            }
            _ => {
                // Of one without an exit: a handler of a signal ran.
                self.finish(thread, Ended::BySignal, now);
                if let Some(of) = self.threads.get_mut(&thread)
                    && call != Call::RestartSyscall
                {
                    of.wait = Some(Wait::new(call, timeout, now));
                    of.slept_before = std::mem::take(&mut of.slept);
                }
            }
        }
    }

    fn exit(&mut self, thread: u32, result: i64, now: u64) {
        // A call that does not wait, such as the waking of a futex, ends without having begun here. It comes after a wait
        // that has returned, or in a handler of the signal that interrupts one.
        match self.threads.get(&thread).and_then(|it| it.wait.as_ref()) {
            Some(wait) if wait.returned.is_some() => {
                return self.finish(thread, Ended::BySignal, now);
            }
            Some(wait) if wait.is_interrupted => return,
            _ => {}
        }
        let mut timer = None;
        self.with(thread, |wait, cpus| {
            match wait.phase {
                Phase::Running => wait.advance(now, cpus),
                _ => wait.miss(now),
            }
            let has_expired = wait.expired || wait.hides_timer();
            match wait.call.ended(result, has_expired) {
                Ended::Interrupted => wait.is_interrupted = true,
                ended => {
                    if ended == Ended::ByTime && !has_expired {
                        wait.forget_parts();
                    }
                    wait.settle();
                    wait.returns(ended, now);
                    timer = wait.timer;
                }
            }
        });
        if let Some(timer) = timer {
            self.timers.remove(&timer.address);
        }
    }

    /// The thread loses this CPU; `None` if it is not seen what that does from now on.
    fn leave(&mut self, thread: u32, left: Left, cpu: Option<u32>, now: u64) {
        let wait = self.threads.get(&thread).and_then(|it| it.wait.as_ref());
        if wait.is_some_and(|wait| {
            wait.returned.is_some() && (left != Left::Ready || !wait.is_on_its_way(now))
        }) {
            self.finish(thread, Ended::BySignal, now);
        }
        if let Some(of) = self.threads.get_mut(&thread)
            && of.wait.is_none()
            && left != Left::Ready
        {
            of.sleeps_since = Some(now);
        }
        self.with(thread, |wait, cpus| {
            wait.advance(now, cpus);
            wait.phase = match left {
                Left::Ready => cpu.map_or(Phase::Queued, Phase::Ready),
                Left::Asleep => Phase::Asleep,
                Left::Stopped => Phase::Stopped,
            };
        });
    }

    /// The thread gets a CPU.
    fn run(&mut self, thread: u32, now: u64) {
        if let Some(of) = self.threads.get_mut(&thread)
            && let Some(since) = of.sleeps_since.take()
        {
            of.slept += now - since;
        }
        let mut has_returned = false;
        self.with(thread, |wait, cpus| {
            wait.advance(now, cpus);
            wait.phase = Phase::Running;
            if let Some((ended, _)) = wait.returned {
                // It goes on only now.
                wait.returns(ended, now);
                has_returned = true;
            }
        });
        if has_returned {
            self.finish(thread, Ended::BySignal, now);
        }
    }

    /// The threads of a process were stopped for a time.
    fn stopped(&mut self, process: u32, since: u64, now: u64) {
        for of in self.threads.values_mut() {
            if let Some(wait) = of.wait.as_mut().filter(|_| of.process == process) {
                wait.was_stopped(since, now);
            }
        }
    }

    /// Counts the wait of a thread, if it is in one. One that did not return ends like this, now.
    fn finish(&mut self, thread: u32, ended: Ended, now: u64) {
        let Some(of) = self.threads.get_mut(&thread) else {
            return;
        };
        let Some(mut wait) = of.wait.take() else {
            return;
        };
        wait.close();
        if let Some(timer) = wait.timer.filter(|_| wait.returned.is_none()) {
            self.timers.remove(&timer.address);
        }
        let (ended, now) = wait.returned.unwrap_or((ended, now));
        if let Some(recording) = &mut self.recording {
            let timeout = kind(&wait);
            recording.note(
                thread,
                of.name,
                (&wait, timeout),
                (ended, now),
                of.slept_before,
            );
        }
        // Most calls on files have no timeout.
        if wait.timeout == Timeout::OfFile && wait.timer.is_none() {
            return;
        }
        if let Some(waits) = &mut self.ended {
            waits.push(EndedWait {
                process: of.process,
                thread,
                name: of.name,
                call: wait.call,
                began: wait.entered,
                deadline: wait.deadline,
                returned: now,
                ended,
                parts: wait.parts,
            });
        }
        let class = Class::of(of.process, thread, &wait);
        if self.tallies.len() >= MOST_TALLIES && !self.tallies.contains_key(&class) {
            self.not_noted += 1;
            return;
        }
        let (name, tally) = self.tallies.entry(class).or_default();
        *name = of.name;
        tally.note(&wait, ended, now, self.tried);
    }

    fn arm(
        &mut self,
        thread: u32,
        (address, soft, hard): (u64, u64, u64),
        is_relative: bool,
        now: u64,
    ) {
        let Some(timer) = self.own_timer(thread, address, soft, hard) else {
            return;
        };
        // A handler of a signal ran, and the program waits anew.
        let wait = self.threads.get(&thread).and_then(|it| it.wait.as_ref());
        if let Some(wait) = wait
            && let Some(at) = wait.ended_before(&timer)
        {
            let anew = Wait::new(wait.call, wait.timeout, at);
            self.finish(thread, Ended::BySignal, at);
            if let Some(of) = self.threads.get_mut(&thread) {
                of.wait = Some(anew);
            }
        }
        self.with(thread, |wait, cpus| {
            wait.advance(now, cpus);
            let deadline = match is_relative {
                // The kernel counts from just before, and the program from its call. No length has passed before that.
                true => (timer.soft.saturating_sub(now - wait.entered)).max(wait.entered),
                false => timer.soft,
            };
            wait.arm(timer, deadline);
        });
        self.timers.insert(address, thread);
    }

    /// The timer, on the monotonic clock, if it is that of the thread's wait.
    fn own_timer(&self, thread: u32, address: u64, soft: u64, hard: u64) -> Option<Timer> {
        let wait = self.threads.get(&thread)?.wait.as_ref()?;
        let ahead = match wait.timeout {
            Timeout::Until(clock) => self.clocks.of(clock)?,
            _ => 0,
        };
        let monotonic = |instant: u64| instant.saturating_add_signed(ahead.saturating_neg());
        wait.arms(address).then(|| Timer {
            address,
            soft: monotonic(soft),
            hard: monotonic(hard.max(soft)),
            in_wheel: false,
        })
    }

    fn arm_wheel(&mut self, thread: u32, address: u64, [at, expires, slot]: [u64; 3], now: u64) {
        let Some(tick_ns) = self.tick_ns else {
            return;
        };
        let mut is_its_own = false;
        self.with(thread, |wait, cpus| {
            if !wait.arms(address) {
                return;
            }
            wait.advance(now, cpus);
            let after =
                |tick: u64| now.saturating_add(tick.wrapping_sub(at).saturating_mul(tick_ns));
            let timer = Timer {
                address,
                soft: after(expires),
                hard: after(slot).max(after(expires)),
                in_wheel: true,
            };
            // The length is counted from the call.
            let deadline = timer.soft.saturating_sub(now - wait.entered);
            wait.arm(timer, deadline);
            is_its_own = true;
        });
        if is_its_own {
            self.timers.insert(address, thread);
        }
    }

    fn count_wake_up(&mut self, thread: u32, by_interrupt: bool, follows_expiry: bool) {
        let name = self.names.get(&thread).copied().unwrap_or_default();
        let by = match (by_interrupt, follows_expiry) {
            (true, true) => Waker::Timer,
            (true, false) => Waker::Interrupt,
            (false, _) => Waker::Thread,
        };
        if self.wake_ups.len() < MOST_NAMES || self.wake_ups.contains_key(&name) {
            count(self.wake_ups.entry(name).or_default(), by);
        }
    }

    fn rename(&mut self, thread: u32, name: Name) {
        if self.names.len() < MOST_THREADS || self.names.contains_key(&thread) {
            self.names.insert(thread, name);
        }
        if let Some(of) = self.threads.get_mut(&thread) {
            of.name = name;
        }
    }

    fn end(&mut self, thread: u32, now: u64) {
        self.finish(thread, Ended::BySignal, now);
        self.threads.remove(&thread);
        self.names.remove(&thread);
    }

    /// Waits under way are not counted: parts of them may be missing.
    fn lose(&mut self, cpu: u32, n: u64) {
        self.lost = self.lost.saturating_add(n);
        self.cpus.forget(cpu);
        for thread in self.threads.values_mut() {
            thread.wait = None;
        }
        self.timers.clear();
    }
}
