//! When the work of a frame is to begin, and which slot it is for.

use crate::estimators::Work;
use crate::period::Period;
use crate::schedule::{Schedule, Served};
use crate::time::{Nanos, Tick};

/// Frames that are to be done by the slots of a period, without a clock. The caller tells the time
/// and how long the work took.
#[derive(Clone, Copy, Debug)]
pub struct Frames<C> {
    /// The slots, with those before the frames to come.
    pub schedule: Schedule<C>,
    /// How much earlier frames begin than the predicted work would take.
    pub safety: Nanos,
    work: Work,
}

/// A frame to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned<C> {
    /// Its slot.
    pub slot: Served<C>,
    /// When its work begins if that is to be as late as is safe.
    pub start: Tick<C>,
}

impl<C: Copy + Ord> Frames<C> {
    /// The first is for the slot a period after `origin`.
    pub fn begun_at(origin: Tick<C>, period: Period, safety: Nanos) -> Self {
        Self {
            schedule: Schedule::begun_at(origin, period),
            safety,
            work: Work::new(),
        }
    }

    /// Plans a frame that can begin `now`. Its slot is the next one before which at
    /// least half of the predicted work fits in; those before it are missed.
    ///
    /// Not all of it. A prediction that is too high would keep the frame from the slot that it can
    /// make, and the next ones too.
    pub fn plan(&mut self, now: Tick<C>) -> Planned<C> {
        let predicted = self.predicted();
        let half = Nanos::new(predicted.as_ns() / 2);
        let slot = self.schedule.next_after(now + half);
        let lead = (predicted + self.safety).min(self.schedule.period().whole());
        Planned {
            slot,
            start: slot.at - lead,
        }
    }

    /// A frame took so long. It is believed up to a period: what stalls one frame is
    /// nothing to begin all the next ones earlier for.
    pub fn worked(&mut self, length: Nanos) {
        self.work.took(length.min(self.schedule.period().whole()));
    }

    /// How long the next frame is believed to take: a period at most, also where the
    /// period was longer when that was learned.
    pub fn predicted(&self) -> Nanos {
        self.work.predicted().min(self.schedule.period().whole())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Clock;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    struct Virtual;
    impl Clock for Virtual {}

    const fn us(us: u64) -> Tick<Virtual> {
        Tick::from_ns(us * 1_000)
    }

    /// At 100 Hz, begun at 0, with 1 ms of safety.
    fn frames() -> Frames<Virtual> {
        Frames::begun_at(us(0), Period::of_cycles(100, 1).unwrap(), Nanos::from_ms(1))
    }

    /// Begins as late as is safe and works for so long. The slot in us, its missed
    /// ones, when the work began and when it ended.
    fn frame(frames: &mut Frames<Virtual>, now: &mut Tick<Virtual>, work_us: u64) -> [u64; 4] {
        let Planned { slot, start } = frames.plan(*now);
        let began = start.max(*now);
        *now = began + Nanos::from_us(work_us);
        frames.worked(Nanos::from_us(work_us));
        let us = |at: Tick<Virtual>| at.as_ns() / 1_000;
        [us(slot.at), slot.missed, us(began), us(*now)]
    }

    #[test]
    fn frames_begin_as_late_as_their_work_lets_them() {
        let (mut frames, mut now) = (frames(), us(0));
        // Nothing is known: the safety alone is too little.
        assert_eq!(
            frame(&mut frames, &mut now, 3_000),
            [10_000, 0, 9_000, 12_000]
        );
        assert_eq!(
            frame(&mut frames, &mut now, 3_000),
            [20_000, 0, 16_000, 19_000]
        );
        assert_eq!(
            frame(&mut frames, &mut now, 2_000),
            [30_000, 0, 26_000, 28_000]
        );
        // A fiftieth less than before.
        assert_eq!(
            frame(&mut frames, &mut now, 2_000),
            [40_000, 0, 36_020, 38_020]
        );
    }

    #[test]
    fn a_frame_that_is_far_too_long_costs_its_slots_and_no_others() {
        let (mut frames, mut now) = (frames(), us(0));
        frame(&mut frames, &mut now, 3_000);
        assert_eq!(
            frame(&mut frames, &mut now, 34_000),
            [20_000, 0, 16_000, 50_000]
        );
        // Believed up to a period, of which a half is to fit in: the slot at 60 is made.
        assert_eq!(frames.predicted(), Nanos::from_ms(10));
        assert_eq!(
            frame(&mut frames, &mut now, 3_000),
            [60_000, 3, 50_000, 53_000]
        );
        assert_eq!(
            frame(&mut frames, &mut now, 3_000),
            [70_000, 0, 60_000, 63_000]
        );
        for slot in 8..200 {
            let [at, missed, _, end] = frame(&mut frames, &mut now, 3_000);
            assert_eq!((at, missed), (slot * 10_000, 0));
            assert!(end <= at);
        }
        assert!(frames.predicted() < Nanos::from_us(3_200));
    }

    #[test]
    fn a_faster_rate_gives_up_no_slots_for_what_the_slower_one_learned() {
        let (mut frames, mut now) = (frames(), us(0));
        frames
            .schedule
            .set_period(Period::of_cycles(10, 1).unwrap(), now);
        frame(&mut frames, &mut now, 100_000);
        frames
            .schedule
            .set_period(Period::of_cycles(100, 1).unwrap(), now);
        assert_eq!(frames.predicted(), Nanos::from_ms(10));
        let now = frames.plan(now).slot.at;
        assert_eq!(frames.plan(now).slot.missed, 0);
    }

    #[test]
    fn frames_that_do_not_fit_take_every_other_slot() {
        let (mut frames, mut now) = (frames(), us(0));
        for _ in 0..4 {
            frame(&mut frames, &mut now, 15_000);
        }
        for k in 1..100 {
            let slot = 70_000 + 20_000 * k;
            let expected = [slot, 1, slot - 10_000, slot + 5_000];
            assert_eq!(frame(&mut frames, &mut now, 15_000), expected);
        }
        assert_eq!(frames.schedule.counts().missed, 102);
    }
}
