//! What keeps real-time threads from all of a CPU.

use crate::clock::Time;
use crate::model::RealTimeLimit;

/// `sched_rt_period_us`, and the period of the fair server.
const PERIOD: Time = Time::from_ns(1_000_000_000);

/// `sched_rt_runtime_us`, and the time after which the fair server steps in.
const MOST: Time = Time::from_ns(950_000_000);

/// What the fair server gives (`fair_server_init`, kernel/sched/deadline.c).
const SERVED: Time = Time::from_ns(50_000_000);

/// How much real-time threads had of one CPU.
///
/// Throttled, they have 950 ms of each period of a second, at multiples of it, and the CPU is
/// idle after that if nobody else wants it (`sched_rt_runtime_exceeded`, kernel/sched/rt.c, before
/// Linux 6.12). With the fair server they go on until an ordinary thread has waited for 950 ms,
/// which is when the server has just time left for its 50 ms (kernel/sched/deadline.c, since 6.12).
#[derive(Debug, Default)]
pub(super) struct RealTime {
    used: Time,
    period: u64,
    served: Time,
    is_out: bool,
}

impl RealTime {
    /// A real-time thread ran for so long, until `now`, while others waited or not.
    pub(super) fn ran(&mut self, limit: RealTimeLimit, length: Time, now: Time, waits: bool) {
        match limit {
            RealTimeLimit::None => {}
            RealTimeLimit::Throttled => {
                self.begin_period(now);
                // Of what began in the period before, the part of this one.
                self.used = self.used + length.min(now.rem(PERIOD));
                self.is_out = self.used >= MOST;
            }
            RealTimeLimit::Server => {
                self.used = match waits {
                    true => self.used + length,
                    false => Time::ZERO,
                };
                self.is_out = self.used >= MOST;
                self.served = Time::ZERO;
            }
        }
    }

    /// An ordinary thread did.
    pub(super) fn others_ran(&mut self, limit: RealTimeLimit, length: Time) {
        if limit != RealTimeLimit::Server {
            return;
        }
        self.served = self.served + length;
        if !self.is_out || self.served >= SERVED {
            *self = Self::default();
        }
    }

    /// Whether real-time threads make room, for others if there are any.
    pub(super) fn is_out(&self, limit: RealTimeLimit, waits: bool) -> bool {
        self.is_out && (waits || limit == RealTimeLimit::Throttled)
    }

    /// How long a real-time thread may still run.
    pub(super) fn left(&self, limit: RealTimeLimit, waits: bool) -> Option<Time> {
        let counts = waits || limit == RealTimeLimit::Throttled;
        (limit != RealTimeLimit::None && counts).then(|| MOST - self.used)
    }

    /// How long the server still gives to others, if it does.
    pub(super) fn served_left(&self, limit: RealTimeLimit) -> Option<Time> {
        (limit == RealTimeLimit::Server && self.is_out).then(|| SERVED - self.served)
    }

    /// When those who were throttled may run again.
    pub(super) fn next(&self, limit: RealTimeLimit, now: Time) -> Option<Time> {
        let is_throttled = limit == RealTimeLimit::Throttled && self.is_out;
        is_throttled.then(|| PERIOD.times(now.div(PERIOD) + 1))
    }

    /// Time that was too much counts in the next period.
    pub(super) fn begin_period(&mut self, now: Time) {
        let period = now.div(PERIOD);
        let begun = period - self.period.min(period);
        self.period = period;
        if begun > 0 {
            self.used = self.used - MOST.times(begun);
            self.is_out = self.used >= MOST;
        }
    }
}
