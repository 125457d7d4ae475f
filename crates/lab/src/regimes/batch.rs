//! One subject in one regime and condition, once.

use std::time::{Duration, Instant};

use punctual::{Strategy, Waiter};
use punctual_core::Nanos;
use punctual_os::{Error, thread};
use punctual_record::experiment::RegimeBatch;
use punctual_record::{CAP_NS, Cost, median};

use super::surroundings::{Condition, Surroundings};
use crate::host::{MakePeer, Peer, Stop};
use crate::rounds::Waits;
use crate::workload::{Before, Due, Regime, Script};

/// The way a subject waits.
#[derive(Clone, Debug)]
pub enum Sleeper {
    /// The library, as its users wait with it.
    Waiter(Strategy),
    /// Foreign code.
    Peer(MakePeer),
}

/// One turn of one subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    pub(super) sleeper: &'a Sleeper,
    /// By which its recovery is judged.
    pub(super) weight: f64,
    pub(super) regime: Regime,
    pub(super) condition: Condition,
    /// The share of a CPU that it took in quiet batches, where there were any.
    pub(super) quiet_share: Option<f64>,
    /// The time in which it is neither measured nor disturbed.
    pub(super) warm_up: Duration,
    /// The time in which it is measured.
    pub(super) length: Duration,
    /// That of its lengths, which are the same for all subjects of a round.
    pub(super) seed: u64,
}

/// The result of a batch.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) waits: Waits,
    pub(super) more: RegimeBatch,
}

/// The number of waits that are observed after a load is gone.
const AFTER: usize = 60;
/// The number of them in a row that must be back to normal.
const IN_A_ROW: usize = 8;
/// Shorter batches are too short to be trapped in.
const TRAP_FROM: Duration = Duration::from_secs(8);

impl Batch<'_> {
    /// Runs it on a thread of its own. `None` if the user ended it.
    pub(super) fn run(&self, stop: &Stop) -> Result<Option<Seen>, Error> {
        let surroundings = Surroundings::of(self.condition, self.sleeper)?;
        let run = || {
            surroundings.prepare()?;
            match self.sleeper {
                Sleeper::Waiter(strategy) => {
                    let make = || {
                        let waiter = Waiter::builder().strategy(strategy.clone()).build();
                        waiter.map_err(super::refused)
                    };
                    self.run_here(make, &surroundings, stop)
                }
                Sleeper::Peer(make) => self.run_here(|| Ok(make()), &surroundings, stop),
            }
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .unwrap_or_else(|_| Err(Error::unsupported("the thread that waited failed")))
    }

    fn run_here<W: WaitUntil>(
        &self,
        make: impl Fn() -> Result<W, Error>,
        surroundings: &Surroundings,
        stop: &Stop,
    ) -> Result<Option<Seen>, Error> {
        let mut course = Course::new(self.regime, self.seed, make)?;
        let is_steady = self.regime.is_steady();
        let mut normal = Stretch::default();
        if is_steady {
            // The normal state is that after learning.
            course.wait_for(self.warm_up / 2, stop)?;
            normal = course.wait_for(self.warm_up / 2, stop)?;
        }
        surroundings.begin()?;
        let part = course.wait_for(self.length, stop);
        surroundings.end()?;
        let part = part?;
        let looks = is_steady && self.condition != Condition::Quiet && self.length >= TRAP_FROM;
        let mut after = Vec::new();
        if looks {
            for _ in 0..AFTER {
                after.push(course.wait_for(Duration::ZERO, stop)?.cost(self.weight));
            }
        }
        if stop.is_requested() || part.waits.late_ns.is_empty() {
            return Ok(None);
        }
        let normal_share = least(normal.waits.round().cpu_fraction, self.quiet_share);
        let trapped = looks.then(|| trapped_seconds(&part.seconds, normal_share));
        Ok(Some(Seen {
            more: RegimeBatch {
                late_ns_p50: median(&part.waits.late_ns).unwrap_or(0),
                reported_late_ns_p50: median(&part.reported_ns),
                trapped_s: trapped.flatten(),
                back_after_waits: back_after(&after, normal.cost(self.weight)),
                load_ended: looks,
            },
            waits: part.waits,
        }))
    }
}

/// Something that waits until an instant.
trait WaitUntil {
    /// Returns how late it says that it was.
    fn until(&mut self, deadline: Instant) -> Option<Duration>;
}

impl WaitUntil for Waiter {
    #[inline]
    fn until(&mut self, deadline: Instant) -> Option<Duration> {
        Some(self.sleep_until(deadline).lateness())
    }
}

impl WaitUntil for Peer {
    #[inline]
    fn until(&mut self, deadline: Instant) -> Option<Duration> {
        self(deadline);
        None
    }
}

/// A subject on its way through a regime.
struct Course<W, M> {
    script: Script,
    unit: u64,
    make: M,
    waiter: W,
    /// The cycles of this length, and the last of them.
    cycle: Option<(Duration, Instant)>,
}

/// The counts of a part of it.
#[derive(Clone, Debug, Default)]
struct Stretch {
    /// Their CPU time is without rests, as the time that passed.
    waits: Waits,
    reported_ns: Vec<i64>,
    seconds: Vec<Second>,
}

/// A second of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Second {
    cpu_share: f64,
    late_mean_ns: f64,
}

impl Stretch {
    /// The mean per wait.
    fn cost(&self, weight: f64) -> Option<f64> {
        Cost::CAPPED.of_round(&self.waits.round(), weight)
    }
}

impl<W: WaitUntil, M: Fn() -> Result<W, Error>> Course<W, M> {
    fn new(regime: Regime, seed: u64, make: M) -> Result<Self, Error> {
        Ok(Self {
            script: Script::new(regime, seed),
            unit: regime.unit(),
            waiter: make()?,
            make,
            cycle: None,
        })
    }

    /// Waits again and again, for so long or a little longer; once at least.
    fn wait_for(&mut self, length: Duration, stop: &Stop) -> Result<Stretch, Error> {
        let mut part = Stretch::default();
        // The memory is touched first, so that no wait has to pay for it.
        let most = (length.as_micros() as usize / 20).clamp(64, 1 << 20);
        for samples in [&mut part.waits.late_ns, &mut part.reported_ns] {
            samples.resize(most, 1);
            samples.clear();
        }
        part.seconds.reserve(length.as_secs() as usize + 1);
        // The time since the last part counts for no wait.
        self.cycle = None;
        let mut cpu_before = cpu_ns();
        let mut begun = Instant::now();
        let mut rests = Duration::ZERO;
        let mut second = (begun, cpu_before, 0);
        let mut waited: u64 = 0;
        loop {
            let turn = self.script.next();
            match turn.before {
                Before::Nothing => {}
                Before::Fresh => {
                    self.waiter = (self.make)()?;
                    self.cycle = None;
                }
                Before::Rest(rest) => {
                    let (at, cpu) = (Instant::now(), cpu_ns());
                    std::thread::sleep(rest);
                    let resting = cpu_ns().zip(cpu).map(|(now, before)| now - before);
                    cpu_before = cpu_before.zip(resting).map(|(before, cpu)| before + cpu);
                    rests += at.elapsed();
                    self.cycle = None;
                }
            }
            let deadline = self.deadline(turn.due, &mut part.waits.missed);
            let reported = self.waiter.until(deadline);
            let woke = Instant::now();
            // Negative if it was early.
            let late = signed(woke.saturating_duration_since(deadline))
                - signed(deadline.saturating_duration_since(woke));
            part.waits.late_ns.push(late);
            part.reported_ns.extend(reported.map(signed));
            waited += 1;
            if woke.duration_since(second.0) >= Duration::from_secs(1) {
                let cpu = cpu_ns();
                part.seconds.extend(one_second(&part, second, woke, cpu));
                second = (woke, cpu, part.waits.late_ns.len());
            }
            let over = woke.duration_since(begun) >= length && waited.is_multiple_of(self.unit);
            if over || stop.is_requested() {
                begun += rests;
                part.waits.elapsed = woke.saturating_duration_since(begun).into();
                let cpu = cpu_ns().zip(cpu_before);
                part.waits.cpu = cpu.map(|(now, before)| Nanos::new(now - before));
                return Ok(part);
            }
        }
    }

    fn deadline(&mut self, due: Due, missed: &mut u64) -> Instant {
        let now = Instant::now();
        let period = match due {
            Due::After(length) => return now + length,
            Due::Cycle(period) => period,
        };
        let next = match self.cycle {
            Some((same, last)) if same == period => {
                let behind = now.saturating_duration_since(last).as_nanos();
                let skipped = (behind / period.as_nanos()) as u32;
                *missed += u64::from(skipped);
                last + period * (skipped + 1)
            }
            _ => now + period,
        };
        self.cycle = Some((period, next));
        next
    }
}

fn one_second(
    part: &Stretch,
    (begun, cpu_before, first): (Instant, Option<u64>, usize),
    now: Instant,
    cpu: Option<u64>,
) -> Option<Second> {
    let late = &part.waits.late_ns[first..];
    let elapsed = now.duration_since(begun).as_nanos() as f64;
    Some(Second {
        cpu_share: (cpu? - cpu_before?) as f64 / elapsed,
        late_mean_ns: late.iter().sum::<i64>() as f64 / late.len() as f64,
    })
}

/// Other activity meanwhile could only have raised it.
fn least(share: Option<f64>, other: Option<f64>) -> Option<f64> {
    share.into_iter().chain(other).min_by(f64::total_cmp)
}

fn signed(length: Duration) -> i64 {
    i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)
}

fn cpu_ns() -> Option<u64> {
    thread::cpu_time().map(|time| time.ns)
}

/// A second is trapped if its CPU share is above three times the normal one, and its mean lateness
/// above half of the cap.
fn trapped_seconds(seconds: &[Second], normal_share: Option<f64>) -> Option<u32> {
    let most = 3.0 * normal_share?;
    let trapped =
        |second: &&Second| second.cpu_share > most && second.late_mean_ns > CAP_NS as f64 / 2.0;
    Some(seconds.iter().filter(trapped).count() as u32)
}

/// The first of so many waits in a row that cost no more, on the average, than
/// twice what is normal; in how many waits it comes.
fn back_after(costs: &[Option<f64>], normal: Option<f64>) -> Option<u32> {
    let most = 2.0 * normal?;
    let is_normal = |costs: &[Option<f64>]| {
        let sum: Option<f64> = costs.iter().copied().sum();
        sum.is_some_and(|sum| sum / IN_A_ROW as f64 <= most)
    };
    let first = costs.windows(IN_A_ROW).position(is_normal)?;
    u32::try_from(first).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_trapped_that_is_dear_and_late() {
        let second = |cpu_share, late_us: f64| Second {
            cpu_share,
            late_mean_ns: late_us * 1e3,
        };
        let seconds = [
            second(0.05, 20.0),
            second(0.40, 20.0),
            second(0.05, 2_000.0),
            second(0.40, 2_000.0),
            second(0.16, 501.0),
        ];
        assert_eq!(trapped_seconds(&seconds, Some(0.05)), Some(2));
        assert_eq!(trapped_seconds(&seconds, None), None);
        assert_eq!(least(Some(0.5), Some(0.05)), Some(0.05));
        assert_eq!(
            (least(Some(0.5), None), least(None, None)),
            (Some(0.5), None)
        );
    }

    #[test]
    fn back_to_normal_is_what_lasts() {
        let costs = |dear: usize| -> Vec<Option<f64>> {
            (0..AFTER)
                .map(|i| Some(if i < dear { 900.0 } else { 100.0 }))
                .collect()
        };
        assert_eq!(back_after(&costs(0), Some(100.0)), Some(0));
        // One dear wait in eight makes 200.
        assert_eq!(back_after(&costs(10), Some(100.0)), Some(9));
        assert_eq!(back_after(&costs(AFTER), Some(100.0)), None);
        assert_eq!(back_after(&[None; AFTER], Some(100.0)), None);
    }

    /// Waits by setting its deadlines in the past, so that no time passes.
    struct Never;
    impl WaitUntil for Never {
        fn until(&mut self, deadline: Instant) -> Option<Duration> {
            Some(Instant::now().saturating_duration_since(deadline))
        }
    }

    #[test]
    fn what_has_passed_is_skipped_and_counted() {
        let mut course = Course::new(Regime::Rate(1_000), 1, || Ok(Never)).unwrap();
        let ms = Duration::from_millis(1);
        let mut missed = 0;
        let first = course.deadline(Due::Cycle(ms), &mut missed);
        let past = Instant::now().checked_sub(ms * 100).unwrap();
        course.cycle = Some((ms, past));
        let next = course.deadline(Due::Cycle(ms), &mut missed);
        assert!(missed >= 99 && next > first - ms, "{missed}");
        assert_eq!(next.duration_since(past).as_nanos() % ms.as_nanos(), 0);
        // Another period begins anew.
        let before = missed;
        course.deadline(Due::Cycle(2 * ms), &mut missed);
        assert_eq!(missed, before);
    }

    #[test]
    fn a_batch_sees_every_wait_and_none_early() {
        let stop = Stop::new();
        for regime in [Regime::Cold, Regime::Rate(1_000), Regime::Switch] {
            let batch = Batch {
                sleeper: &Sleeper::Waiter(Strategy::default()),
                weight: 10.0,
                regime,
                condition: Condition::Quiet,
                quiet_share: None,
                warm_up: Duration::from_millis(10),
                length: Duration::from_millis(20),
                seed: 1,
            };
            let seen = batch.run(&stop).unwrap().unwrap();
            let late_ns = &seen.waits.late_ns;
            assert_eq!(late_ns.len() as u64 % regime.unit(), 0);
            assert!(late_ns.iter().all(|late| *late >= 0));
            assert!(seen.more.reported_late_ns_p50.is_some());
        }
        stop.request();
        let batch = Batch {
            sleeper: &Sleeper::Peer(|| Box::new(|deadline| while Instant::now() < deadline {})),
            weight: 10.0,
            regime: Regime::Mixed,
            condition: Condition::Load(1),
            quiet_share: None,
            warm_up: Duration::ZERO,
            length: Duration::from_secs(60),
            seed: 1,
        };
        assert!(batch.run(&stop).unwrap().is_none());
    }
}
