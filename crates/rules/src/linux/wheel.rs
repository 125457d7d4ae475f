use crate::Time;

/// Each level of the wheel has a granule of eight times that of the level
/// below (`LVL_CLK_SHIFT`, kernel/time/timer.c).
const LEVEL_SHIFT: u32 = 3;

/// A level has 64 buckets (`LVL_BITS`), and takes timeouts of fewer than 63 of
/// its granules.
const LEVEL_REACH: u64 = (1 << 6) - 1;

/// The jiffies wheel: timeouts that are meant not to happen, above all those
/// of the network.
///
/// A timer goes into the bucket of a level by its distance, and stays there (no cascading). It
/// fires in the tick that begins the first granule of the level after its expiry
/// (`calc_wheel_index`, kernel/time/timer.c, Linux 4.8 and later). It is never early, and late by
/// up to a granule. A granule is a jiffy for short timeouts, and at most about an eighth of the
/// length for others.
/// Levels begin at 63, 504, 4032, ... jiffies (`LVL_START`); the comment in the
/// same file rounds that to 64, 512, 4096. Beyond the last level, days away,
/// its granule remains; the kernel fires such a timer early, and the socket
/// waits again for the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wheel {
    hz: u64,
}

impl Wheel {
    /// The wheel of a kernel with this many ticks a second.
    pub(super) fn new(hz: u64) -> Self {
        Self { hz }
    }

    /// From one tick to the next: exact, as 300 Hz too goes into a second in
    /// thirds of a nanosecond.
    pub(super) fn jiffy(self) -> Time {
        Time::from_thirds(Time::from_ns(1_000_000_000).as_thirds() / self.hz)
    }

    /// When a socket timeout of `length` that begins at `now` goes off, and
    /// the granule of its level.
    pub(super) fn expiry(self, now: Time, length: Time) -> (Time, Time) {
        let jiffies = self.jiffies(length);
        let shift = LEVEL_SHIFT * self.level(jiffies);
        let expires = now.div(self.jiffy()) + jiffies;
        let bucket = ((expires >> shift) + 1) << shift;
        (self.jiffy().times(bucket), self.jiffy().times(1 << shift))
    }

    /// The timeout in jiffies: a `timeval`, whose microseconds are rounded up
    /// (`sock_set_timeout`, net/core/sock.c). At 300 Hz the kernel takes a
    /// jiffy for 3333 us there, so 100 ms become 31 jiffies. Zero would be no
    /// timeout at all, so the least is one microsecond.
    fn jiffies(self, length: Time) -> u64 {
        let us = length
            .as_thirds()
            .div_ceil(Time::from_ns(1_000).as_thirds())
            .max(1);
        us / 1_000_000 * self.hz + (us % 1_000_000).div_ceil(1_000_000 / self.hz)
    }

    fn level(self, jiffies: u64) -> u32 {
        // LVL_DEPTH.
        let depth = if self.hz > 100 { 9 } else { 8 };
        let holds = |level: &u32| jiffies < LEVEL_REACH << (LEVEL_SHIFT * level);
        (0..depth - 1).find(holds).unwrap_or(depth - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The granule of a timeout of so many jiffies, in microseconds.
    fn granule(hz: u64, jiffies: u64) -> u64 {
        let wheel = Wheel::new(hz);
        let (_, granule) = wheel.expiry(Time::ZERO, wheel.jiffy().times(jiffies));
        granule.floor_ns() / 1_000
    }

    #[test]
    fn levels_have_the_granules_and_ranges_of_the_kernel() {
        for (hz, levels) in [
            (1_000, &[1_000, 8_000, 64_000, 512_000, 4_096_000][..]),
            (250, &[4_000, 32_000, 256_000, 2_048_000]),
            (100, &[10_000, 80_000, 640_000, 5_120_000]),
        ] {
            for (level, want) in levels.iter().enumerate() {
                // From 0, 63, 504, 4032, 32256 jiffies on.
                let begin = if level == 0 {
                    1
                } else {
                    63 << (3 * (level - 1))
                };
                let end = 63 << (3 * level);
                assert_eq!(granule(hz, begin), *want, "{hz} Hz, level {level}");
                assert_eq!(granule(hz, end - 1), *want, "{hz} Hz, level {level}");
                assert_eq!(granule(hz, end), 8 * want, "{hz} Hz, level {level}");
            }
        }
    }

    #[test]
    fn the_last_level_has_no_end() {
        let top = |hz| granule(hz, 1 << 40) / granule(hz, 1);
        assert_eq!(top(1_000), 1 << 24);
        assert_eq!(top(100), 1 << 21);
    }

    /// Whenever it begins, a timeout of 100 ms at 1000 Hz lasts from just above
    /// 100 to 108 ms.
    #[test]
    fn a_timeout_of_100_ms_lasts_100_to_108() {
        let wheel = Wheel::new(1_000);
        let mut least = u64::MAX;
        let mut most = 0;
        for phase in (0..16 * MS).step_by(997).chain([8 * MS - 1, 8 * MS]) {
            let now = Time::from_ns(1_000_000 * MS + phase);
            let (at, granule) = wheel.expiry(now, Time::from_ns(100 * MS));
            assert_eq!(granule, Time::from_ns(8 * MS));
            assert_eq!(at.rem(granule), Time::ZERO);
            let lasted = (at - now).floor_ns();
            assert!(100 * MS < lasted && lasted <= 108 * MS, "{phase}: {lasted}");
            least = least.min(lasted);
            most = most.max(lasted);
        }
        // The shortest begin at the end of a jiffy, the longest at its beginning.
        assert!(least < 100 * MS + 1_000, "{least}");
        assert!(most > 108 * MS - 1_000, "{most}");
    }

    #[test]
    fn a_short_timeout_lasts_up_to_a_jiffy_longer() {
        let wheel = Wheel::new(250);
        let at = |now, length| wheel.expiry(Time::from_ns(now), Time::from_ns(length)).0;
        assert_eq!(at(0, 4 * MS), Time::from_ns(8 * MS));
        assert_eq!(at(4 * MS - 1, 4 * MS), Time::from_ns(8 * MS));
        assert_eq!(at(0, 1), Time::from_ns(8 * MS));
        assert_eq!(at(0, 0), Time::from_ns(8 * MS));
        assert_eq!(at(0, 4 * MS + 1), Time::from_ns(12 * MS));
    }

    #[test]
    fn at_300_hz_jiffies_are_exact_and_timeouts_a_little_long() {
        let wheel = Wheel::new(300);
        assert_eq!(wheel.jiffy().times(300), Time::from_ns(1_000_000_000));
        assert_eq!(wheel.jiffies(Time::from_ns(100 * MS)), 31);
        assert_eq!(wheel.jiffies(Time::from_ns(1_000 * MS)), 300);
    }
}
