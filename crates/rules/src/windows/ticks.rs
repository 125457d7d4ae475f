//! When there is a clock interrupt, and which timers it looks at.

use crate::{Grid, Time};

/// Which ticks look at a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// All of them.
    EveryTick,
    /// The ticks with a default scan.
    DefaultScans,
}

/// The ticks under the interval in force, and the default scans among them.
///
/// When the interval changes, the ticks continue from the last one of the old interval, or from
/// the next if that would come first. A shorter interval thus delays no tick. The next default
/// scan is at the first tick that is a scan's length after the last. Neither is documented:
/// confidence C. If ticks or scans started anew, a process with a request around each of its
/// sleeps would delay those of all others for ever.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    grid: Grid,
    /// The multiple of the interval that is a default scan's length.
    cycle: u64,
    /// The last tick up to `since`.
    last_tick: Time,
    /// Default scans after `since`.
    scans: Grid,
    /// The last default scan up to `since`.
    last_scan: Time,
    /// Each tick is as good as a default scan, since a driver wants it so.
    are_all_scans: bool,
    /// Everything before this instant, and at it, has happened.
    since: Time,
}

impl Ticks {
    /// The ticks of a computer that starts with this interval.
    pub(super) fn every(interval: Time) -> Self {
        let grid = Grid {
            anchor: Time::ZERO,
            period: interval,
        };
        Self {
            grid,
            cycle: 1,
            last_tick: Time::ZERO,
            scans: grid,
            last_scan: Time::ZERO,
            are_all_scans: false,
            since: Time::ZERO,
        }
    }

    /// The ticks.
    pub(super) fn grid(&self) -> Grid {
        self.grid
    }

    /// From one tick to the next.
    pub(super) fn interval(&self) -> Time {
        self.grid.period
    }

    /// Whether each tick is as good as a default scan.
    pub(super) fn are_all_scans(&self) -> bool {
        self.are_all_scans
    }

    /// The ticks that look at timers of a class, after the last change.
    pub(super) fn looks(&self, class: Class) -> Grid {
        match class {
            Class::DefaultScans if !self.are_all_scans => self.scans,
            _ => self.grid,
        }
    }

    /// One in how many ticks looks at timers of a class.
    pub(super) fn one_in(&self, class: Class) -> u64 {
        match class {
            Class::DefaultScans if !self.are_all_scans => self.cycle,
            _ => 1,
        }
    }

    /// The last tick at `now` or before. Instants of the grid before it was in force are no ticks;
    /// else changes that come faster than ticks would delay them for ever.
    pub(super) fn last_tick(&self, now: Time) -> Time {
        let tick = self.grid.at_or_before(now);
        if tick > self.since {
            tick
        } else {
            self.last_tick
        }
    }

    /// When a timer of a class that is due at `due` is looked at, as things
    /// stand.
    pub(super) fn look_at(&self, class: Class, due: Time) -> Time {
        let looks = self.looks(class);
        if due <= self.since {
            looks.after(self.since)
        } else {
            looks.at_or_after(due)
        }
    }

    /// The last tick at `now` or before that looked at timers of a class, if
    /// there has been one since the last change.
    pub(super) fn last_look(&self, class: Class, now: Time) -> Option<Time> {
        let last = self.looks(class).at_or_before(now);
        (last > self.since).then_some(last)
    }

    /// From `now` on there are different ticks, or other timers that they look
    /// at. The interrupts up to `now` have been.
    pub(super) fn change(&mut self, now: Time, interval: Time, cycle: u64, are_all_scans: bool) {
        let scan = self.scans.at_or_before(now);
        if scan > self.since {
            self.last_scan = scan;
        }
        self.last_tick = self.last_tick(now);
        self.since = now;
        self.are_all_scans = are_all_scans;
        if interval == self.grid.period {
            return;
        }
        let pending = self.grid.after(now);
        self.grid = Grid {
            anchor: self.last_tick,
            period: interval,
        };
        let is_put_off = self.grid.after(now) > pending.max(self.last_tick + interval);
        if is_put_off {
            self.grid.anchor = pending;
        }
        self.cycle = cycle;
        let period = interval.times(cycle);
        let next = self.grid.at_or_after(self.last_scan + period);
        self.scans = Grid {
            anchor: next.max(self.grid.after(now)),
            period,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Class::{DefaultScans, EveryTick};

    /// Ticks every 15 that make way for ticks every 4, of which each third has
    /// a default scan, at 37.
    fn changed() -> Ticks {
        let mut ticks = Ticks::every(at(15));
        ticks.change(at(37), at(4), 3, false);
        ticks
    }

    fn at(thirds: u64) -> Time {
        Time::from_thirds(thirds)
    }

    #[test]
    fn new_ticks_go_on_from_the_last_old_one() {
        let ticks = changed();
        // 30, 34, 38, 42, ... and scans at 42, 54, ...
        for (due, tick, scan) in [
            (1, 38, 42),
            (37, 38, 42),
            (38, 38, 42),
            (39, 42, 42),
            (43, 46, 54),
        ] {
            assert_eq!(ticks.look_at(EveryTick, at(due)), at(tick), "{due}");
            assert_eq!(ticks.look_at(DefaultScans, at(due)), at(scan), "{due}");
        }
        assert_eq!(ticks.one_in(EveryTick), 1);
        assert_eq!(ticks.one_in(DefaultScans), 3);
    }

    #[test]
    fn a_shorter_interval_puts_no_tick_off() {
        let mut ticks = Ticks::every(at(15));
        // 16 would be next of those that go on from 0.
        ticks.change(at(14), at(8), 1, false);
        assert_eq!(ticks.last_tick(at(14)), at(0));
        assert_eq!(ticks.look_at(EveryTick, at(1)), at(15));
        assert_eq!(ticks.last_tick(at(22)), at(15));
        assert_eq!(ticks.look_at(EveryTick, at(16)), at(23));
        // A longer one does, to its own length after the last tick.
        ticks.change(at(17), at(15), 1, false);
        assert_eq!(ticks.look_at(EveryTick, at(1)), at(30));
        // A change that finds the next tick put off already.
        ticks.change(at(29), at(9), 1, false);
        assert_eq!(ticks.look_at(EveryTick, at(1)), at(30));
    }

    #[test]
    fn what_was_before_a_change_does_not_count() {
        let ticks = changed();
        assert_eq!(ticks.last_look(EveryTick, at(37)), None);
        assert_eq!(ticks.last_look(EveryTick, at(41)), Some(at(38)));
        assert_eq!(ticks.last_look(DefaultScans, at(41)), None);
        assert_eq!(ticks.last_look(DefaultScans, at(65)), Some(at(54)));
    }

    #[test]
    fn the_scans_do_not_begin_anew() {
        let mut ticks = changed();
        // 44 lies between the scans of 42 and 54; the old interval comes back
        // for a moment, in which there is no tick.
        ticks.change(at(44), at(15), 1, false);
        assert_eq!(ticks.look_at(DefaultScans, at(1)), at(57));
        ticks.change(at(45), at(4), 3, false);
        assert_eq!(ticks.look_at(EveryTick, at(1)), at(46));
        assert_eq!(ticks.look_at(DefaultScans, at(1)), at(54));
        // A scan that has become overdue is at the next tick.
        ticks.change(at(53), at(15), 1, false);
        ticks.change(at(58), at(4), 3, false);
        assert_eq!(ticks.look_at(DefaultScans, at(1)), at(62));
    }

    #[test]
    fn a_driver_has_every_tick_look_at_everything() {
        let mut ticks = changed();
        ticks.change(at(39), at(4), 3, true);
        assert_eq!(ticks.look_at(DefaultScans, at(1)), at(42));
        assert_eq!(ticks.look_at(DefaultScans, at(43)), at(46));
        assert_eq!(ticks.one_in(DefaultScans), 1);
        // The scans have gone on meanwhile.
        ticks.change(at(47), at(4), 3, false);
        assert_eq!(ticks.look_at(DefaultScans, at(1)), at(54));
    }
}
