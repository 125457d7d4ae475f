//! Timers with a window: a soft and a hard expiry.

use punctual_core::wait::Reason;

use super::per_cpu::PerCpu;
use crate::{Expired, Time, Why};

/// Timers that may fire from their soft expiry on, and have an interrupt of their own at the hard
/// one, as on Linux and macOS.
///
/// The queue of each CPU is ordered by hard expiry, and its hardware is set to the earliest. An
/// interrupt takes timers from the front while their soft expiry has passed. It stops at the first
/// whose has not, even if one behind it is due (Linux: `__hrtimer_run_queues`,
/// kernel/time/hrtimer.c; XNU: `timer_queue_expire`, osfmk/kern/timer_call.c). A timer that is
/// alone thus fires at the hard expiry, and none before the soft one.
///
/// Timers of a CPU are armed with their hard expiry, and keep the soft one.
pub(super) type SoftHard = PerCpu<Time>;

impl SoftHard {
    /// An interrupt of a CPU.
    pub(super) fn interrupt(&mut self, cpu: usize, now: Time, expired: &mut Vec<Expired>) {
        self.expire(
            cpu,
            |_, soft| soft <= now,
            |thread, hard, soft| {
                expired.push(Expired {
                    thread,
                    reason: Reason::Timer,
                    why: Why::Window { soft, hard },
                });
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ThreadId;

    /// The expected timers: soft and hard expiry, CPU and thread, in the order in which they were
    /// armed.
    #[derive(Default)]
    struct Naive(Vec<(Time, Time, usize, ThreadId)>);

    impl Naive {
        fn next(&self) -> Option<(Time, usize)> {
            self.0.iter().map(|(_, hard, cpu, _)| (*hard, *cpu)).min()
        }

        fn next_on(&self, cpu: usize) -> Option<Time> {
            let mine = self.0.iter().filter(|timer| timer.2 == cpu);
            mine.map(|timer| timer.1).min()
        }

        fn interrupt(&mut self, cpu: usize, now: Time) -> Vec<(ThreadId, Time, Time)> {
            let mut mine: Vec<_> = self.0.iter().copied().filter(|t| t.2 == cpu).collect();
            mine.sort_by_key(|(_, hard, ..)| *hard);
            let due = mine.iter().take_while(|(soft, ..)| *soft <= now);
            let taken: Vec<_> = due
                .map(|&(soft, hard, _, thread)| (thread, soft, hard))
                .collect();
            self.0
                .retain(|t| taken.iter().all(|(thread, ..)| *thread != t.3));
            taken
        }
    }

    fn interrupt(timers: &mut SoftHard, cpu: usize, now: Time) -> Vec<(ThreadId, Time, Time)> {
        let mut expired = Vec::new();
        timers.interrupt(cpu, now, &mut expired);
        let windows = expired.iter().map(|e| match e.why {
            Why::Window { soft, hard } => (e.thread, soft, hard),
            other => panic!("{other:?} is no window"),
        });
        windows.collect()
    }

    proptest! {
        /// For any timers on several CPUs, nothing fires early. The next interrupt is that of the
        /// earliest hard expiry, and every timer fires by its own.
        #[test]
        fn timers_go_off_inside_their_windows(
            steps in prop::collection::vec((0_usize..12, 0_usize..3, 0_u64..40, 0_u64..40, 0_u8..6), 0..200),
        ) {
            let mut timers = SoftHard::default();
            let mut naive = Naive::default();
            let mut now = Time::ZERO;
            for (thread, cpu, length, slack, what) in steps {
                let is_armed = naive.0.iter().any(|timer| timer.3 == thread);
                match what {
                    0..3 if !is_armed => {
                        let soft = now + Time::from_ns(length);
                        let hard = soft + Time::from_ns(slack);
                        timers.arm(cpu, thread, hard, soft);
                        naive.0.push((soft, hard, cpu, thread));
                    }
                    3 => {
                        timers.disarm(thread);
                        naive.0.retain(|timer| timer.3 != thread);
                    }
                    4 => {
                        let taken = interrupt(&mut timers, cpu, now);
                        prop_assert!(taken.iter().all(|(_, soft, _)| *soft <= now));
                        prop_assert_eq!(taken, naive.interrupt(cpu, now));
                    }
                    _ => {
                        // Time passes, but never past an interrupt.
                        let until = now + Time::from_ns(length);
                        now = naive.next().map_or(until, |(at, _)| until.min(at));
                    }
                }
                prop_assert_eq!(timers.next(), naive.next());
                for cpu in 0..4 {
                    prop_assert_eq!(timers.next_on(cpu), naive.next_on(cpu));
                }
            }
            while let Some((at, cpu)) = timers.next() {
                prop_assert!(at >= now);
                now = at;
                let taken = interrupt(&mut timers, cpu, now);
                prop_assert!(!taken.is_empty());
                prop_assert!(taken.iter().all(|(_, soft, hard)| *soft <= now && now <= *hard));
                prop_assert_eq!(taken, naive.interrupt(cpu, now));
            }
            prop_assert!(naive.0.is_empty());
        }
    }
}
