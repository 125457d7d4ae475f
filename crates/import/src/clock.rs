//! How far the clock of a file is ahead of the clock of its timers.
//!
//! The default clock of `perf record` runs at the frequency that was measured at boot, and nothing corrects it. The clock
//! of the timers is corrected by NTP, so both drift apart by some microseconds a second. An interrupt of a tick shows both.

use std::collections::BTreeMap;

/// The clocks are compared once in so many nanoseconds.
const EVERY: u64 = 1_000_000_000;

/// The greatest drift, in parts per million: NTP corrects no clock by more (`MAXFREQ`, include/linux/timex.h).
const MOST_DRIFT_PPM: u64 = 500;

/// An interrupt reads the clock of the timers before its event is written. With one clock for both, the event is later by no
/// more than this, in nanoseconds.
const SAME_CLOCK: i64 = 20_000;

/// The clocks are not taken for known further than this from a comparison, in nanoseconds.
const KNOWN_FOR: u64 = 10_000_000_000;

/// The comparisons in a file, the one with the shortest time in between in each second.
#[derive(Default)]
pub(crate) struct Comparisons(BTreeMap<u64, (u64, i64)>);

impl Comparisons {
    /// An event at `at` shows that the other clock was at `now` just before.
    pub(crate) fn note(&mut self, at: u64, now: u64) {
        let (Ok(signed), Ok(now)) = (i64::try_from(at), i64::try_from(now)) else {
            return;
        };
        let ahead = signed - now;
        let least = self.0.entry(at / EVERY).or_insert((at, ahead));
        if ahead < least.1 {
            *least = (at, ahead);
        }
    }

    /// The clock that they show; `None` without any.
    pub(crate) fn settle(self) -> Option<Ahead> {
        let mut points: Vec<(u64, i64)> = self.0.into_values().collect();
        // A late interrupt stands out, as no clock drifts so fast.
        let most = |from: u64, to: u64| (from.abs_diff(to) / 1_000_000 * MOST_DRIFT_PPM) as i64;
        for i in 1..points.len() {
            let (at, ahead) = points[i - 1];
            points[i].1 = points[i].1.min(ahead.saturating_add(most(at, points[i].0)));
        }
        for i in (1..points.len()).rev() {
            let (at, ahead) = points[i];
            let before = &mut points[i - 1];
            before.1 = before.1.min(ahead.saturating_add(most(at, before.0)));
        }
        (!points.is_empty()).then_some(Ahead(points))
    }
}

/// How far the clock of a file is ahead: instants of the file in order, with nanoseconds; one at least.
pub(crate) struct Ahead(Vec<(u64, i64)>);

impl Ahead {
    /// Whether both clocks are the same.
    pub(crate) fn is_same(&self) -> bool {
        let mut all: Vec<i64> = self.0.iter().map(|(_, ahead)| *ahead).collect();
        all.sort_unstable();
        all[0] >= 0 && all[all.len() / 2] <= SAME_CLOCK
    }

    /// This instant of the file on the other clock. Between two comparisons the drift is even; before and behind them it is
    /// the mean of all.
    pub(crate) fn on_other(&self, at: u64) -> u64 {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        let next = self.0.partition_point(|(point, _)| *point < at);
        let ahead = match (next.checked_sub(1).map(|i| self.0[i]), self.0.get(next)) {
            (Some(from), Some(to)) => line(from, *to, at),
            // A drift that was measured over a shorter time is mostly chance.
            _ if last.0 - first.0 < 5 * EVERY && at > last.0 => last.1.into(),
            _ if last.0 - first.0 < 5 * EVERY => first.1.into(),
            _ => line(first, last, at),
        };
        let on_other = i128::from(at) - ahead;
        u64::try_from(on_other.max(0)).unwrap_or(u64::MAX)
    }

    /// Whether these instants lie so far from all comparisons that the clocks may have drifted apart.
    pub(crate) fn is_unknown(&self, first: u64, last: u64) -> bool {
        let known = [self.0[0].0, self.0[self.0.len() - 1].0];
        let gap = self.0.windows(2).map(|pair| pair[1].0 - pair[0].0).max();
        let before = known[0].saturating_sub(first);
        before.max(last.saturating_sub(known[1])) > KNOWN_FOR || gap > Some(2 * KNOWN_FOR)
    }
}

/// The value at an instant of the line through two points at different instants.
fn line(from: (u64, i64), to: (u64, i64), at: u64) -> i128 {
    let [from_at, to_at, at] = [from.0, to.0, at].map(i128::from);
    let rise = i128::from(to.1) - i128::from(from.1);
    i128::from(from.1) + rise * (at - from_at) / (to_at - from_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ahead(points: impl Iterator<Item = (u64, i64)>) -> Ahead {
        let mut all = Comparisons::default();
        points.for_each(|(at, ahead)| all.note(at, at.saturating_add_signed(-ahead)));
        all.settle().unwrap()
    }

    #[test]
    fn a_drift_is_followed_and_late_interrupts_are_not() {
        // 40 parts per million, and each interrupt up to 5 us late, one in a second of its own 900 us.
        let drift = |at: u64| (at / 25_000) as i64 - 3_000_000;
        let late = |i: u64| {
            if i == 100_000 {
                900_000
            } else {
                (i * 7_919 % 5_000) as i64
            }
        };
        let ticks = (0..150_000_u64).filter(|i| !(99_900..100_300).contains(i) || *i == 100_000);
        let ahead = ahead(ticks.map(|i| (i * 4 * MS, drift(i * 4 * MS) + late(i))));
        assert!(!ahead.is_same());
        for at in (0..600_000).step_by(37).map(|ms| ms * MS) {
            let exact = at.saturating_add_signed(-drift(at)) as i64;
            let off = exact - ahead.on_other(at) as i64;
            let most = match (398_000 * MS..402_000 * MS).contains(&at) {
                true => 506_000,
                false => 6_000,
            };
            assert!((-1_000..most).contains(&off), "{at}: {off}");
        }
    }

    #[test]
    fn one_clock_is_not_set() {
        let same = |i: u64| if i == 7 { 300_000 } else { 1_500 };
        assert!(ahead((0..60).map(|i| (i * EVERY, same(i)))).is_same());
        assert!(!ahead((0..60).map(|i| (i * EVERY, -2_000))).is_same());
        assert!(!ahead((0..60).map(|i| (i * EVERY, i as i64 * 10_000))).is_same());
    }

    #[test]
    fn no_instant_is_put_before_an_earlier_one() {
        let ahead = ahead(
            [(1, 0), (2, 40_000), (3, 80_000)]
                .map(|(s, by)| (s * EVERY, by))
                .into_iter(),
        );
        let on_other: Vec<u64> = (0..5_000).map(|ms| ahead.on_other(ms * MS)).collect();
        assert!(on_other.is_sorted());
        assert_eq!(ahead.on_other(4 * EVERY), 4 * EVERY - 80_000);
    }

    #[test]
    fn far_from_all_comparisons_nothing_is_known() {
        let ahead = ahead([(30 * EVERY, 5), (31 * EVERY, 5)].into_iter());
        assert!(!ahead.is_unknown(21 * EVERY, 40 * EVERY));
        assert!(ahead.is_unknown(10 * EVERY, 40 * EVERY));
        assert!(ahead.is_unknown(30 * EVERY, 60 * EVERY));
        assert_eq!(ahead.on_other(0), 0);
        assert_eq!(ahead.on_other(u64::MAX), u64::MAX - 5);
    }
}
