//! The processes' requests for a timer interval, and which of them count.

use std::collections::BTreeMap;

use punctual_core::Nanos;

use crate::setting::{Power, Requester, Throttling};
use crate::{Answer, Outstanding, ProcessId};

/// Requests are in units of so many nanoseconds.
const UNIT: u64 = 100;

/// The outstanding requests of all processes.
///
/// Each request stands until it is released or its process ends, also several for the same
/// interval (Microsoft, `timeBeginPeriod`; blogstuff, TimerOverlaps). Requests of drivers count
/// until the driver ends them, independent of the process it works for.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Whether the requests of processes that are neither visible nor audible are ignored.
    throttles: bool,
    /// No request gets less than this.
    finest: Nanos,
    power: Power,
    /// The processes with a setting.
    processes: BTreeMap<ProcessId, Process>,
    /// How often each interval is the shortest that counts of a process, or of
    /// its drivers.
    wanted: BTreeMap<Nanos, usize>,
    /// How many processes have drivers with a request.
    with_drivers: usize,
}

#[derive(Clone, Debug, Default)]
struct Process {
    own: Made,
    of_drivers: Made,
    /// It owns a window, and is neither visible nor audible.
    is_unnoticed: bool,
    throttling: Throttling,
}

/// How often each interval has been asked for and not released, with what
/// becomes of it on the battery. A program that asks without end takes no more
/// room for it.
type Made = BTreeMap<(Nanos, Option<Nanos>), u64>;

impl Requests {
    /// The requests before any process starts.
    pub(super) fn new(throttles: bool, finest: Nanos) -> Self {
        Self {
            throttles,
            finest,
            power: Power::Mains,
            processes: BTreeMap::new(),
            wanted: BTreeMap::new(),
            with_drivers: 0,
        }
    }

    /// The shortest interval that counts.
    pub(super) fn shortest(&self) -> Option<Nanos> {
        self.wanted.first_key_value().map(|(interval, _)| *interval)
    }

    /// All of them, by process.
    pub(super) fn outstanding(&self) -> Vec<Outstanding> {
        let shortest = self.shortest();
        let made = self.processes.iter().flat_map(|(&id, process)| {
            let own = process
                .own
                .keys()
                .map(move |made| (id, Requester::Process, made));
            let of_drivers = process
                .of_drivers
                .keys()
                .map(move |made| (id, Requester::Driver, made));
            own.chain(of_drivers)
        });
        let all = made.map(|(process, by, &made)| {
            let is_heard = by == Requester::Driver || self.is_honoured(process);
            let counts_as = is_heard.then(|| counts(made, self.power).max(self.finest));
            Outstanding {
                process,
                by,
                interval: made.0,
                counts_as,
                rules: counts_as.is_some() && counts_as == shortest,
            }
        });
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        all
    }

    /// Whether a process has a request of its own that counts.
    pub(super) fn is_honoured(&self, process: ProcessId) -> bool {
        self.processes.get(&process).is_some_and(|process| {
            let is_throttled = self.throttles && process.is_throttled();
            !process.own.is_empty() && !is_throttled
        })
    }

    /// Whether some driver has a request.
    pub(super) fn are_by_drivers(&self) -> bool {
        self.with_drivers > 0
    }

    /// A process, or a driver for it, asks. No interval at all is out of range
    /// (TIMERR_NOCANDO).
    pub(super) fn request(
        &mut self,
        process: ProcessId,
        interval: Nanos,
        on_battery: Option<Nanos>,
        by: Requester,
    ) -> Answer {
        if interval.is_zero() {
            return Answer::Denied;
        }
        self.change(process, |process| {
            let made = process.made(by).entry((interval, on_battery));
            *made.or_default() += 1;
            Answer::Accepted
        })
    }

    /// It withdraws a request for this interval, of several that which lasts
    /// longest on the battery. Without one it gets an error
    /// (STATUS_TIMER_RESOLUTION_NOT_SET, TIMERR_NOCANDO).
    pub(super) fn release(&mut self, process: ProcessId, interval: Nanos, by: Requester) -> Answer {
        self.change(process, |process| {
            let made = process.made(by);
            let same = (interval, None)..=(interval, Some(Nanos::MAX));
            let Some((&key, count)) = made.range_mut(same).next_back() else {
                return Answer::Denied;
            };
            *count -= 1;
            if *count == 0 {
                made.remove(&key);
            }
            Answer::Accepted
        })
    }

    /// A process has ended, and so have its requests.
    pub(super) fn ended(&mut self, process: ProcessId) -> Answer {
        let answer = self.change(process, |process| {
            *process = Process::default();
            Answer::Accepted
        });
        self.processes.remove(&process);
        answer
    }

    /// How the user perceives a window of the process.
    pub(super) fn window(&mut self, process: ProcessId, visible: bool, audible: bool) -> Answer {
        self.change(process, |process| {
            process.is_unnoticed = !visible && !audible;
            Answer::Accepted
        })
    }

    /// Whether the user notices nothing of a process while the computer is on its battery.
    pub(super) fn is_unnoticed_on_battery(&self, process: ProcessId) -> bool {
        let process = self.processes.get(&process);
        self.power == Power::Battery && process.is_some_and(|process| process.is_unnoticed)
    }

    /// The treatment that a process wants for its requests.
    pub(super) fn throttling(&mut self, process: ProcessId, throttling: Throttling) -> Answer {
        self.change(process, |process| {
            process.throttling = throttling;
            Answer::Accepted
        })
    }

    /// The computer runs on something else.
    pub(super) fn power(&mut self, power: Power) -> Answer {
        self.power = power;
        self.wanted.clear();
        let all: Vec<_> = self.processes.keys().copied().collect();
        for process in all {
            self.count(process);
        }
        Answer::Accepted
    }

    fn change(
        &mut self,
        process: ProcessId,
        change: impl FnOnce(&mut Process) -> Answer,
    ) -> Answer {
        self.uncount(process);
        let changed = self.processes.entry(process).or_default();
        self.with_drivers -= usize::from(!changed.of_drivers.is_empty());
        let answer = change(changed);
        self.with_drivers += usize::from(!changed.of_drivers.is_empty());
        self.count(process);
        answer
    }

    fn count(&mut self, process: ProcessId) {
        for interval in self.wanted_of(process).into_iter().flatten() {
            *self.wanted.entry(interval).or_default() += 1;
        }
    }

    fn uncount(&mut self, process: ProcessId) {
        for interval in self.wanted_of(process).into_iter().flatten() {
            let count = self.wanted.entry(interval).or_default();
            *count -= 1;
            if *count == 0 {
                self.wanted.remove(&interval);
            }
        }
    }

    /// The shortest interval of a process that counts, and that of its drivers.
    fn wanted_of(&self, process: ProcessId) -> [Option<Nanos>; 2] {
        let shortest = |made: &Made| {
            let counted = made
                .keys()
                .map(|&made| counts(made, self.power).max(self.finest));
            counted.min()
        };
        let Some(of) = self.processes.get(&process) else {
            return [None; 2];
        };
        [
            shortest(&of.own).filter(|_| self.is_honoured(process)),
            shortest(&of.of_drivers),
        ]
    }
}

impl Process {
    fn made(&mut self, by: Requester) -> &mut Made {
        match by {
            Requester::Process => &mut self.own,
            Requester::Driver => &mut self.of_drivers,
        }
    }

    fn is_throttled(&self) -> bool {
        match self.throttling {
            Throttling::BySystem => self.is_unnoticed,
            Throttling::HonourRequests => false,
            Throttling::IgnoreRequests => true,
        }
    }
}

/// The interval that a request counts as.
fn counts((interval, on_battery): (Nanos, Option<Nanos>), power: Power) -> Nanos {
    let on_battery = on_battery.filter(|_| power == Power::Battery);
    let interval = interval.max(on_battery.unwrap_or_default());
    Nanos::new(interval.as_ns() / UNIT * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Requester::{Driver, Process as Own};

    const SHORTEST: Nanos = Nanos::from_us(500);

    fn of(throttles: bool) -> Requests {
        Requests::new(throttles, SHORTEST)
    }

    fn ms(ms: u64) -> Nanos {
        Nanos::from_ms(ms)
    }

    #[test]
    fn the_lowest_wins_and_the_next_lowest_takes_over() {
        let mut requests = of(false);
        assert_eq!(requests.shortest(), None);
        requests.request(0, ms(2), None, Own);
        requests.request(1, ms(4), None, Own);
        requests.request(2, ms(4), None, Own);
        assert_eq!(requests.shortest(), Some(ms(2)));
        assert_eq!(requests.release(0, ms(2), Own), Answer::Accepted);
        assert_eq!(requests.shortest(), Some(ms(4)));
        requests.ended(1);
        assert_eq!(requests.shortest(), Some(ms(4)));
        requests.ended(2);
        assert_eq!(requests.shortest(), None);
    }

    #[test]
    fn a_release_needs_its_own_request() {
        let mut requests = of(false);
        requests.request(0, ms(1), None, Own);
        assert_eq!(requests.release(0, ms(2), Own), Answer::Denied);
        assert_eq!(requests.release(1, ms(1), Own), Answer::Denied);
        assert_eq!(requests.release(0, ms(1), Driver), Answer::Denied);
        assert_eq!(requests.shortest(), Some(ms(1)));
        assert_eq!(requests.release(0, ms(1), Own), Answer::Accepted);
        assert_eq!(requests.release(0, ms(1), Own), Answer::Denied);
    }

    #[test]
    fn no_interval_is_denied_and_a_short_one_becomes_the_shortest() {
        let mut requests = of(false);
        assert_eq!(requests.request(0, Nanos::ZERO, None, Own), Answer::Denied);
        assert!(!requests.is_honoured(0));
        requests.request(0, Nanos::new(507_199), None, Own);
        assert_eq!(requests.shortest(), Some(Nanos::new(507_100)));
        requests.request(0, Nanos::new(1), None, Own);
        assert_eq!(requests.shortest(), Some(SHORTEST));
    }

    #[test]
    fn on_its_battery_a_request_can_count_as_longer() {
        let mut requests = of(false);
        requests.request(0, ms(1), Some(ms(8)), Own);
        requests.power(Power::Battery);
        assert_eq!(requests.shortest(), Some(ms(8)));
        requests.request(1, ms(4), Some(ms(2)), Own);
        assert_eq!(requests.shortest(), Some(ms(4)));
        requests.power(Power::Mains);
        assert_eq!(requests.shortest(), Some(ms(1)));
    }

    #[test]
    fn an_unnoticed_process_is_honoured_only_before_windows_11() {
        for throttles in [false, true] {
            let mut requests = of(throttles);
            requests.request(0, ms(1), None, Own);
            for (visible, audible) in [(true, true), (true, false), (false, true)] {
                requests.window(0, visible, audible);
                assert!(requests.is_honoured(0));
            }
            requests.window(0, false, false);
            assert_eq!(requests.is_honoured(0), !throttles);
            assert_eq!(requests.shortest(), (!throttles).then_some(ms(1)));
            assert!(!requests.is_honoured(1));
        }
    }

    #[test]
    fn each_request_is_told_with_what_it_counts_as() {
        let mut requests = of(true);
        requests.request(0, ms(4), None, Own);
        requests.request(1, ms(1), Some(ms(8)), Own);
        requests.request(2, ms(2), None, Driver);
        let told = |requests: &Requests| -> Vec<_> {
            let all = requests.outstanding().into_iter();
            all.map(|it| (it.process, it.interval, it.counts_as, it.rules))
                .collect()
        };
        let (first, third) = ((0, ms(4), Some(ms(4)), false), (2, ms(2), Some(ms(2))));
        assert_eq!(
            told(&requests),
            [
                first,
                (1, ms(1), Some(ms(1)), true),
                (third.0, third.1, third.2, false)
            ]
        );
        requests.power(Power::Battery);
        assert_eq!(told(&requests)[1], (1, ms(1), Some(ms(8)), false));
        requests.window(1, false, false);
        assert_eq!(told(&requests)[1], (1, ms(1), None, false));
        assert_eq!(told(&requests)[2], (third.0, third.1, third.2, true));
        requests.ended(1);
        assert_eq!(told(&requests).len(), 2);
    }

    #[test]
    fn a_process_can_say_itself_whether_it_is_honoured() {
        let mut requests = of(true);
        requests.request(0, ms(1), None, Own);
        requests.throttling(0, Throttling::IgnoreRequests);
        assert_eq!(requests.shortest(), None);
        requests.window(0, false, false);
        requests.throttling(0, Throttling::HonourRequests);
        assert_eq!(requests.shortest(), Some(ms(1)));
        requests.throttling(0, Throttling::BySystem);
        assert_eq!(requests.shortest(), None);
    }

    #[test]
    fn a_drivers_request_counts_whoever_it_works_for() {
        let mut requests = of(true);
        requests.window(0, false, false);
        requests.request(0, ms(2), None, Driver);
        requests.request(0, ms(1), None, Own);
        assert_eq!(requests.shortest(), Some(ms(2)));
        assert!(requests.are_by_drivers() && !requests.is_honoured(0));
        requests.ended(0);
        assert_eq!(requests.shortest(), None);
        assert!(!requests.are_by_drivers());
    }
}
