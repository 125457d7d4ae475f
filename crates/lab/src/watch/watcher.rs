//! The thread that waits, and the hand that takes what it saw.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use punctual_core::{Driver, Event, Limit, Method, Nanos, Schedule};
use punctual_os::cgroups::CpuGroups;
use punctual_os::event::Events;
use punctual_os::meter::{Counts, Meter};
use punctual_os::processes::{Ran, Runtimes};
use punctual_os::wait::Sleeper;
use punctual_os::{Host, Tick, clock, facts, stops, thread};
use punctual_program::Refusal;

use super::ring::{Reader, Writer, ring};
use super::{Missed, PERIODS, Seen, Settings, Tally, Wake};
use crate::host::{Clocks, Stop};
use crate::wall_clock::Reading;

/// A thread that waits for one deadline after the other until it has met all of
/// them, or is dropped or stopped; and the numbers it has put aside.
///
/// # What is measured
/// Deadlines are absolute. A wait that the OS ends before its deadline continues, so lateness is
/// never negative. Lateness is the first reading of the clock after the deadline, less the
/// deadline. A deadline that has passed before its wait begins is missed. Its lateness is that of
/// the moment when it is given up.
#[derive(Debug)]
pub struct Watcher {
    reader: Reader,
    shared: Arc<Shared>,
    /// How it began.
    pub begun: Begun,
    cpu: Option<usize>,
    groups: CpuGroups,
    clocks: Clocks,
    /// The run times of all processes by now, where reading them is cheap.
    ran: Option<Runtimes>,
}

impl Watcher {
    /// Starts the thread and returns when its first wait begins. When `stop` is
    /// requested, [`wait`](Self::wait) no longer waits.
    ///
    /// # Errors
    /// The period is none of [`PERIODS`], this host lacks the method, the thread may not run on
    /// the CPU, or no thread can be started.
    pub fn start(settings: &Settings, stop: &Stop) -> Result<Self, Refusal> {
        let period = settings.rate.period();
        if !PERIODS.contains(&period) {
            let (least, most) = (PERIODS.start(), PERIODS.end());
            return Err(Refusal::new(format!(
                "a period of {period} cannot be watched: choose {least} to {most}"
            )));
        }
        let room = ROOM.as_ns() / period.as_ns();
        let (writer, reader) = ring((room as usize).clamp(LEAST_ROOM, MOST_ROOM));
        let shared = Arc::new(Shared::default());
        stop.watch(&shared.events);
        let (report, reported) = mpsc::channel();
        let job = Job {
            settings: settings.clone(),
            ring: writer,
            shared: Arc::clone(&shared),
        };
        std::thread::Builder::new()
            .spawn(move || job.run(&report))
            .map_err(|why| Refusal::new(format!("cannot start the watching thread: {why}")))?;
        let begun = reported
            .recv()
            .map_err(|_| Refusal::new("the watching thread ended before it began"))?;
        Ok(Self {
            reader,
            shared,
            begun: begun?,
            cpu: settings.cpu,
            groups: CpuGroups::of_this_process(),
            clocks: Clocks::default(),
            ran: (thread::allowed_cpus().len() > 1 && settings.cpu.is_some())
                .then(Runtimes::read)
                .flatten(),
        })
    }

    /// The processes that ran on the watched CPU since the last call. Only now and then: reading
    /// takes at most a fiftieth of the time of another CPU, or is given up.
    fn others(&mut self) -> Option<Vec<Ran>> {
        const SHARE: u64 = 50;
        let (before, cpu) = (self.ran.take()?, self.cpu?);
        let due = before.took().times(SHARE);
        if due > Nanos::from_secs(1) {
            return None;
        }
        if clock::now().since(before.at()) < due {
            self.ran = Some(before);
            return None;
        }
        let now = Runtimes::read()?;
        let mut ran = now.others_since(&before);
        ran.retain(|ran| ran.cpu == cpu);
        self.ran = Some(now);
        Some(ran)
    }

    /// Both clocks now; the steady one as the time since the watch began.
    pub fn clocks(&self) -> Reading {
        self.clocks.read(self.begun.at)
    }

    /// The time since the watch began.
    pub fn elapsed(&self) -> Nanos {
        clock::now().since(self.begun.at)
    }

    /// Blocks for `length`, or until the watch is over or stopped.
    pub fn wait(&self, length: Nanos) {
        if !self.is_over() {
            self.shared.events.wait(OVER, Some(length));
        }
    }

    /// Whether the thread has met all its deadlines.
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire)
    }

    /// Gives `tally` the waits since the last call, and reads the stolen time of the CPU. That
    /// takes 15 us on a machine of two CPUs and longer on a larger one. It is therefore not on the
    /// watched CPU, and not in the watching thread.
    pub fn collect(&mut self, tally: &mut Tally) {
        let seen: Vec<Seen> = std::iter::from_fn(|| self.reader.pop()).collect();
        // Read afterwards, so that the stops in all of them have been noted.
        let since_begun = |at: Tick| at.since(self.begun.at);
        tally.went_on = stops::ends().into_iter().map(since_begun).collect();
        seen.iter().for_each(|seen| tally.add(seen));
        if let Some(times) = self.cpu.and_then(|cpu| facts::cpu_times(&[cpu])) {
            tally.stolen(self.elapsed(), times.stolen);
        }
        let throttled = self.groups.quota().zip(self.groups.throttled());
        if let Some((quota, throttled)) = throttled {
            tally.throttled(self.elapsed(), quota, Nanos::new(throttled.time_ns));
        }
        if let Some(ran) = self.others() {
            tally.others(self.elapsed(), ran);
        } else if self.ran.is_none() {
            tally.looked = None;
        }
        tally.lost = self.reader.lost();
        tally.settle();
    }
}

/// The thread ends at its next deadline.
impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
    }
}

/// The time for which the ring has room, within bounds of its size: a quarter
/// of a megabyte to sixteen.
const ROOM: Nanos = Nanos::from_secs(20);
const LEAST_ROOM: usize = 1 << 12;
const MOST_ROOM: usize = 1 << 18;

/// Signalled at the end.
const OVER: Event = Event(0);

#[derive(Debug, Default)]
struct Shared {
    over: AtomicBool,
    events: Events,
}

/// How the watch began.
#[derive(Debug)]
pub struct Begun {
    at: Tick,
    /// The counts of the thread before its first wait.
    pub counts: Counts,
    /// The OS call that waits.
    pub method: Method,
}

/// The work of the thread.
struct Job {
    settings: Settings,
    ring: Writer,
    shared: Arc<Shared>,
}

impl Job {
    fn run(mut self, report: &Sender<Result<Begun, Refusal>>) {
        let mut sleeper = Sleeper::new();
        let prepared = self.prepare(&mut sleeper);
        let method = match prepared {
            Ok(method) => method,
            Err(refusal) => {
                let _ = report.send(Err(refusal));
                return;
            }
        };
        let meter = Meter::of_this_thread();
        warm_up(&mut sleeper, method, &meter);
        let counts = meter.read();
        let at = clock::now();
        let begun = Begun { at, counts, method };
        if report.send(Ok(begun)).is_ok() {
            self.watch(&mut sleeper, method, &meter, at);
        }
        self.shared.over.store(true, Ordering::Release);
        self.shared.events.signal(OVER);
    }

    fn prepare(&self, sleeper: &mut Sleeper) -> Result<Method, Refusal> {
        let refusal = |error: punctual_os::Error| Refusal::new(error.to_string());
        if let Some(cpu) = self.settings.cpu {
            thread::pin(cpu).map_err(refusal)?;
        }
        sleeper.prepare(self.settings.method).map_err(refusal)
    }

    /// The loop. Nothing in it allocates, prints or takes a lock.
    fn watch(&mut self, sleeper: &mut Sleeper, method: Method, meter: &Meter, origin: Tick) {
        let deadlines = self.settings.deadlines.unwrap_or(u64::MAX);
        let mut pace = Schedule::<Host>::begun_at(origin, self.settings.rate.exact_period());
        let period = self.settings.rate.period();
        let mut cycle = 0_u64;
        while cycle < deadlines && !self.shared.over.load(Ordering::Relaxed) {
            let now = clock::now();
            let slot = pace.next_after(now);
            let missed = slot.missed.min(deadlines - cycle);
            if missed > 0 {
                self.ring.push(&Seen::Missed(Missed {
                    first: slot.at.since(origin) - period.times(slot.missed),
                    count: missed,
                    given_up: now.since(origin),
                }));
            }
            cycle += missed;
            if cycle == deadlines {
                break;
            }
            cycle += 1;
            let woke = wait_until(sleeper, method, slot.at);
            self.ring.push(&Seen::Wake(Wake {
                due: slot.at.since(origin),
                late: woke.since(slot.at),
                counts: meter.read(),
            }));
        }
    }
}

/// Waits, and returns the first instant that was read and is not before the
/// deadline.
fn wait_until(sleeper: &mut Sleeper, method: Method, deadline: Tick) -> Tick {
    loop {
        sleeper.block(method, Limit::Until(deadline), None);
        let now = clock::now();
        if now >= deadline {
            return now;
        }
    }
}

/// Does once what the loop does, so that its code and its stack are there.
fn warm_up(sleeper: &mut Sleeper, method: Method, meter: &Meter) {
    for _ in 0..3 {
        wait_until(sleeper, method, clock::now() + Nanos::from_us(100));
        meter.read();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Rate;

    fn settings(period_us: u64, deadlines: Option<u64>) -> Settings {
        Settings {
            rate: Rate::from_period(Nanos::from_us(period_us)).unwrap(),
            method: Method::Sleep,
            cpu: None,
            deadlines,
        }
    }

    /// Each deadline is met or missed, whatever the host does.
    #[test]
    fn every_deadline_is_met_or_missed_or_lost() {
        let mut watcher = Watcher::start(&settings(200, Some(150)), &Stop::new()).unwrap();
        let period = Nanos::from_us(200);
        let mut tally = Tally::new(Nanos::from_us(500), period, watcher.begun.counts);
        while !watcher.is_over() {
            watcher.wait(Nanos::from_ms(5));
            watcher.collect(&mut tally);
        }
        watcher.collect(&mut tally);
        let late = tally.whole.late();
        assert!(late.n > 0 && late.early == 0);
        assert_eq!(tally.waits + tally.missed, late.n);
        assert_eq!(late.n + tally.lost, 150);
        assert!(watcher.elapsed() >= Nanos::from_us(200 * 150));
    }

    /// The thread is in a wait of a minute, and is not joined.
    #[test]
    fn a_stop_ends_the_collectors_wait_at_once() {
        let stop = Stop::new();
        let watcher = Watcher::start(&settings(60_000_000, None), &stop).unwrap();
        stop.request();
        watcher.wait(Nanos::from_secs(3_600));
        assert!(!watcher.is_over());
    }

    #[test]
    fn what_cannot_be_watched_is_refused() {
        let foreign = if cfg!(windows) {
            Method::Timerfd
        } else {
            Method::WindowsSleep
        };
        let refused = |settings: Settings| {
            let refusal = Watcher::start(&settings, &Stop::new()).unwrap_err();
            refusal.to_string()
        };
        assert!(refused(settings(49, None)).contains("50 us to 60 s"));
        let method = foreign;
        assert!(
            refused(Settings {
                method,
                ..settings(1_000, None)
            })
            .contains(method.name())
        );
        let cpu = Some(1_000_000);
        assert!(
            refused(Settings {
                cpu,
                ..settings(1_000, None)
            })
            .contains("1000000")
        );
    }
}
