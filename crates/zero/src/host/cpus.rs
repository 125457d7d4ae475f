//! The CPUs that workers run on, what counts their CPU time, and what of the accounting of
//! workers counts who were off their CPU.

use punctual_core::Nanos;
use punctual_lab::host::usual_cpu;
use punctual_os::cgroups::CpuGroups;
use punctual_os::{Tick, clock, thread};
use punctual_record::{Warning, median};
use punctual_zero_pool::{Accounting, Sample};

/// The CPUs of this process, for workers.
#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    /// In the order in which they get workers: the last first, because the first
    /// usually takes most interrupts.
    pub(crate) order: Vec<usize>,
    pub(crate) pinned: bool,
    /// How many may be busy all the time; fewer than there are under a quota, as
    /// containers have (`cpu.max` of Linux's control groups).
    pub(crate) at_once: usize,
    /// How many CPUs a quota is worth, if there is one.
    pub(crate) quota: Option<f64>,
}

impl Cpus {
    pub(crate) fn of_this_process() -> Self {
        let order: Vec<usize> = thread::allowed_cpus().into_iter().rev().collect();
        let parallelism = std::thread::available_parallelism();
        Self {
            pinned: usual_cpu().is_some(),
            at_once: parallelism.map_or(order.len(), |many| many.get().min(order.len())),
            quota: CpuGroups::of_this_process()
                .quota()
                .map(|quota| quota.cpus()),
            order,
        }
    }

    /// Whether so many workers have to share CPUs.
    pub(crate) fn is_oversubscribed(&self, workers: usize) -> bool {
        workers > self.at_once
    }

    /// The warning where a quota is in force.
    pub(crate) fn quota(&self) -> Option<Warning> {
        let all = self.order.len();
        let quota = self.quota.filter(|quota| *quota < all as f64)?;
        let cpus = (quota * 100.0).round() / 100.0;
        let stops = if quota < 1.0 {
            "even one worker stops"
        } else {
            "more workers than that stop"
        };
        Some(Warning::new(
            format!(
                "A quota gives this process the time of {cpus} of its {all} CPUs: {stops} in turn, and more than {} \
                 count as more than there are CPUs.",
                self.at_once
            ),
            "Measure without the quota: outside of the container, or with `max` in its cpu.max.",
        ))
    }
}

/// How the CPU time of this process's threads is counted, and how well.
///
/// A pass can take a few microseconds, about as long as asking the system for a CPU time. The
/// count is therefore used only for the time that a thread was off its CPU between two readings.
/// The rest of the elapsed time is its CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuClock {
    /// Whether the system counts CPU time finely enough. Where it does not, the
    /// time that passes stands for it.
    counts: bool,
    /// Whether it is no exact count.
    pub(crate) approximate: bool,
    /// The time between two readings that stand beside each other which is not
    /// counted between them.
    nothing: Nanos,
}

/// Readings at the beginning of something that a thread does.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    asked: Tick,
    cpu: Nanos,
    /// When it began.
    pub at: Tick,
}

/// The work of a thread, from its beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// When it ended.
    pub at: Tick,
    /// Its CPU time.
    pub cpu: Nanos,
}

/// A thread that leaves its CPU needs two context switches to return, of more than a microsecond
/// each. A shorter time is that of the question itself.
const LEAST_OFF_CPU: Nanos = Nanos::from_us(2);

impl CpuClock {
    /// Finds out what there is here, which takes 50 ms at most.
    ///
    /// A count in steps of more than 100 us is of no use for passes of tens of microseconds. An
    /// example is `GetThreadTimes` of Windows, with ticks of up to 15.6 ms.
    pub fn of_this_host() -> Self {
        const COARSE: Nanos = Nanos::from_us(100);
        let counted = thread::cpu_time();
        let counts = step().is_some_and(|step| step <= COARSE);
        let mut clock = Self {
            counts,
            approximate: !counts || counted.is_some_and(|time| time.approximate),
            nothing: Nanos::ZERO,
        };
        clock.nothing = clock.uncounted_of_nothing();
        clock
    }

    /// The calling thread begins something.
    ///
    /// A thread loses its CPU where a system call returns, so mostly between the readings: they
    /// are repeated then. A loss would otherwise count for the next part.
    pub fn begin(&self) -> Begun {
        const TRIES: u32 = 4;
        let mut tries = 0;
        loop {
            let asked = clock::now();
            let cpu = self.read();
            let at = clock::now();
            tries += 1;
            if at.since(asked) < LEAST_OFF_CPU || tries == TRIES {
                return Begun { asked, cpu, at };
            }
        }
    }

    /// The same thread has slept since it began, and goes on. Where nothing tells
    /// sleep from CPU time, what it does begins only now.
    pub fn after_sleep(&self, begun: Begun) -> Begun {
        if self.counts { begun } else { self.begin() }
    }

    /// The same thread has ended it.
    pub fn end(&self, begun: &Begun) -> Done {
        let at = clock::now();
        let passed = at.since(begun.at);
        let uncounted = self.uncounted(begun, at);
        let off_cpu = (uncounted - self.nothing).min(passed);
        let cpu = match off_cpu < LEAST_OFF_CPU {
            true => passed,
            false => passed - off_cpu,
        };
        Done { at, cpu }
    }

    /// The time from then until `at`, just now, that the calling thread's CPU time does not have.
    fn uncounted(&self, begun: &Begun, at: Tick) -> Nanos {
        if !self.counts {
            return Nanos::ZERO;
        }
        let counted = self.read() - begun.cpu;
        at.since(begun.asked) - counted
    }

    fn read(&self) -> Nanos {
        thread::cpu_time().map_or(Nanos::ZERO, |time| Nanos::new(time.ns))
    }

    fn uncounted_of_nothing(&self) -> Nanos {
        const TIMES: usize = 101;
        let seen: Vec<Nanos> = (0..TIMES)
            .map(|_| {
                let begun = self.begin();
                let at = std::hint::black_box(clock::now());
                self.uncounted(&begun, at)
            })
            .collect();
        median(&seen).unwrap_or_default()
    }
}

/// The least that the count moved by at once; `None` where it does not move.
/// Something else may run between two readings, hence the least of several.
fn step() -> Option<Nanos> {
    const STEPS: usize = 10;
    const LONGEST: Nanos = Nanos::from_ms(50);
    let end = clock::now() + LONGEST;
    let mut last = thread::cpu_time()?.ns;
    let mut steps = Vec::with_capacity(STEPS + 1);
    while steps.len() <= STEPS && clock::now() < end {
        let now = thread::cpu_time()?.ns;
        if now > last {
            steps.push(Nanos::new(now - last));
            last = now;
        }
    }
    // The first step is cut off by the beginning.
    steps.into_iter().skip(1).min()
}

/// Accounting whose room has been touched, so that no page fault is timed.
pub(super) fn with_room(every: u32, room: usize) -> Accounting {
    let mut accounting = Accounting::new(every, room);
    accounting.samples.resize(room, Sample::default());
    accounting.samples.clear();
    accounting
}

/// The number of takes to skip in pass number `number`. Thus the first timed take is the first of
/// the pass, then the second, and so on in turn.
///
/// Else it could be the same ones of each pass, as where their number is a multiple
/// of `every`; and the first of a pass and the last, which finds nothing, are like
/// no other.
pub(super) fn skip(acquisitions: u64, number: u64, every: u32) -> u64 {
    let every = u64::from(every.max(1));
    // Timed are those takes before which there was a multiple of `every`.
    let first = number % every;
    (2 * every - first - acquisitions % every) % every
}

/// More than waiting for a few cache lines takes, and less than a time slice.
const LONG: Nanos = Nanos::from_us(100);

/// Takes samples out of the accounting of a pass, which begin with number `first`, and whose
/// worker was off its CPU for so long; in its waits too, as they are meant to be, where it
/// `can_park`.
///
/// The clock runs while a worker has lost its CPU, and its CPU time does not. Few takes are timed,
/// and each stands for many. A take in whose middle the worker was off its CPU for a time slice
/// would outweigh all others. The total time off the CPU in the pass is known. The longest takes,
/// of which it can be half, are therefore taken out until they explain it. (The other half of a
/// long wait may be spinning, while the lock's owner is off the CPU. No sample has that CPU time
/// any more.) Their pages are taken out with them, because a take can be a large part of all
/// pages. The timed pages then stand for as many as before.
pub(super) fn sift(accounting: &mut Accounting, first: usize, off_cpu: Nanos, can_park: bool) {
    let length = |sample: &Sample| {
        let wait = if can_park { Nanos::ZERO } else { sample.wait };
        wait + sample.hold + sample.zeroing
    };
    let mut off_cpu = off_cpu;
    while off_cpu >= LONG {
        let samples = accounting.samples.iter().enumerate().skip(first);
        let lengths = samples.map(|(i, sample)| (length(sample), i));
        let explained = lengths.filter(|(length, _)| (LONG..=off_cpu.times(2)).contains(length));
        let Some((length, i)) = explained.max() else {
            return;
        };
        off_cpu = off_cpu - length;
        let out = accounting.samples.swap_remove(i);
        accounting.sampled -= 1;
        accounting.pages_sampled -= out.pages;
        accounting.wait = accounting.wait - out.wait;
        accounting.hold = accounting.hold - out.hold;
        accounting.zeroing = accounting.zeroing - out.zeroing;
    }
}

#[cfg(test)]
mod tests {
    use punctual_os::spin;

    use super::*;

    #[test]
    fn under_a_quota_workers_share_cpus_sooner() {
        let mut cpus = Cpus {
            order: (0..8).rev().collect(),
            pinned: true,
            at_once: 8,
            quota: None,
        };
        assert_eq!(cpus.quota(), None);
        assert!(!cpus.is_oversubscribed(8) && cpus.is_oversubscribed(9));
        (cpus.at_once, cpus.quota) = (2, Some(2.0));
        assert!(!cpus.is_oversubscribed(2) && cpus.is_oversubscribed(3));
        let what = cpus.quota().unwrap().what;
        assert!(
            what.contains("the time of 2 of its 8 CPUs: more workers"),
            "{what}"
        );
        (cpus.at_once, cpus.quota) = (1, Some(0.5));
        let what = cpus.quota().unwrap().what;
        assert!(
            what.contains("the time of 0.5 of its 8 CPUs: even one"),
            "{what}"
        );
    }

    #[test]
    fn there_is_one_at_least_and_no_more_at_once_than_there_are() {
        let cpus = Cpus::of_this_process();
        assert!((1..=cpus.order.len()).contains(&cpus.at_once), "{cpus:?}");
    }

    #[test]
    fn the_time_of_a_thread_that_computes_is_divided() {
        let cpu = CpuClock::of_this_host();
        let begun = cpu.begin();
        let end = spin::until(begun.at + Nanos::from_us(200));
        let done = cpu.end(&begun);
        assert!(done.at >= end);
        let passed = done.at.since(begun.at);
        assert!(done.cpu <= passed);
        assert!(cpu.counts || (cpu.approximate && done.cpu == passed));
    }

    /// By the count alone, also on a busy computer.
    #[test]
    fn time_that_others_take_around_the_readings_is_not_taken_off() {
        use std::sync::atomic::{AtomicBool, Ordering};

        let clock = CpuClock::of_this_host();
        if !clock.counts {
            return;
        }
        let cpu = *Cpus::of_this_process().order.first().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _ = thread::pin(cpu);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let worked = scope.spawn(|| {
                let _ = thread::pin(cpu);
                let worked = Nanos::from_us(100);
                let mut least = Nanos::MAX;
                for _ in 0..1_000 {
                    let begun = clock.begin();
                    while clock.read() - begun.cpu < worked {}
                    let done = clock.end(&begun);
                    least = least.min(done.cpu + begun.at.since(begun.asked));
                }
                (worked, least)
            });
            let (worked, least) = worked.join().unwrap();
            is_over.store(true, Ordering::Relaxed);
            assert!(least + LEAST_OFF_CPU >= worked, "{least} of {worked}");
        });
    }

    #[test]
    fn sleep_is_no_cpu_time_where_nothing_counts() {
        let cpu = CpuClock {
            counts: false,
            approximate: true,
            nothing: Nanos::ZERO,
        };
        let begun = cpu.begin();
        // It makes no difference there whether it sleeps or computes.
        let due = spin::until(begun.at + Nanos::from_us(200));
        let done = cpu.end(&cpu.after_sleep(begun));
        assert!(done.cpu <= done.at.since(due), "{done:?}");
    }

    /// Takes of so many nanoseconds and pages.
    fn accounting(samples: &[([u64; 3], u64)]) -> Accounting {
        let samples: Vec<Sample> = samples
            .iter()
            .map(|&(ns, pages)| {
                let [wait, hold, zeroing] = ns.map(Nanos::new);
                Sample {
                    wait,
                    hold,
                    zeroing,
                    pages,
                }
            })
            .collect();
        let sum = |of: fn(&Sample) -> Nanos| samples.iter().map(of).fold(Nanos::ZERO, |a, b| a + b);
        Accounting {
            acquisitions: 64,
            sampled: samples.len() as u64,
            wait: sum(|sample| sample.wait),
            hold: sum(|sample| sample.hold),
            zeroing: sum(|sample| sample.zeroing),
            pages_sampled: samples.iter().map(|sample| sample.pages).sum(),
            samples,
            ..Accounting::default()
        }
    }

    /// The second half is of a pass of its own.
    const FOUR: [([u64; 3], u64); 4] = [
        ([20, 30, 50], 1),
        ([20, 30, 900_000], 2),
        ([20, 30, 50], 3),
        ([20, 800_000, 50], 4),
    ];

    #[test]
    fn a_take_is_taken_out_with_its_pages_if_the_time_off_the_cpu_explains_it() {
        for (off_cpu, kept) in [(0, 4), (300_000, 4), (500_000, 3), (9_000_000, 3)] {
            let mut left = accounting(&FOUR);
            sift(&mut left, 2, Nanos::new(off_cpu), false);
            assert_eq!(left, accounting(&FOUR[..kept]));
        }
        // Half of what is left is taken each time, and the first take is interrupted for as
        // long as it works.
        let ms = |ms: u64, pages| ([0, 0, ms * 1_000_000], pages);
        let takes = [ms(16, 8), ms(4, 4), ms(2, 2), ms(1, 1), ms(0, 0)];
        let mut left = accounting(&takes);
        sift(&mut left, 0, Nanos::from_ms(8), false);
        assert_eq!((left.sampled, left.pages_sampled), (4, 7));
        assert_eq!(left.zeroing, Nanos::from_ms(7));
    }

    #[test]
    fn a_wait_that_was_parked_stays() {
        for (can_park, kept) in [(true, 1), (false, 0)] {
            let waited = [([500_000, 0, 0], 0)];
            let mut left = accounting(&waited);
            sift(&mut left, 0, Nanos::new(500_000), can_park);
            assert_eq!(left, accounting(&waited[..kept]));
        }
    }

    #[test]
    fn every_take_of_a_pass_is_timed_equally_often() {
        for (takes, every) in [(3, 2), (4, 2), (7, 8), (64, 64), (129, 64), (5, 1)] {
            let mut timed = vec![0; takes];
            let mut acquisitions = 0;
            for pass in 0..u64::from(every) * 3 {
                acquisitions += skip(acquisitions, pass, every);
                for take in &mut timed {
                    *take += u32::from(acquisitions % u64::from(every) == 0);
                    acquisitions += 1;
                }
            }
            assert_eq!(timed, vec![3; takes], "{takes} {every}");
        }
    }

    #[test]
    fn there_is_room_for_samples() {
        let empty = with_room(16, 100);
        assert!(empty.samples.is_empty() && empty.samples.capacity() >= 100);
    }
}
