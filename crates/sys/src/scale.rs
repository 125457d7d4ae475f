//! From the counts of a hardware counter to nanoseconds, exactly and cheaply.
//!
//! A counter of frequency f has 10^9 / f nanoseconds per count, a ratio n/d that is seldom whole.
//! Dividing the frequency first is wrong by up to 0.13 % (quanta's mistake). Dividing 128-bit
//! numbers at every reading is as slow as the divider of the CPU. The division is therefore done
//! once: m = ceil(n * 2^s / d). Then c * m >> s is *exactly* floor(c * n / d) for every 64-bit
//! count c, if s is at least 64 plus the bits of d. Proof: m is too large by e/d with e < d. The
//! product is thus too large by c * e / d < 2^64, at most one part in d of 2^s. That is the least
//! distance from below to the next whole nanosecond (Granlund and Montgomery, "Division by
//! invariant integers using multiplication", 1994).
//!
//! Each reading costs two 64 by 64 bit multiplications and a shift.

use punctual_core::Nanos;

/// The length of one count of a counter, as an exact ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Nanoseconds per count: `numer / denom`, in lowest terms.
    numer: u64,
    denom: u64,
    /// `ceil(numer << (64 + shift) / denom)`, in two halves.
    high: u64,
    low: u64,
    /// The bits to shift by beyond the low half.
    shift: u32,
}

impl Scale {
    /// A counter of nanoseconds.
    pub const NANOSECONDS: Self = Self {
        numer: 1,
        denom: 1,
        high: 1,
        low: 0,
        shift: 0,
    };

    /// A counter that counts `hz` times a second. `None` for zero.
    pub fn from_frequency(hz: u64) -> Option<Self> {
        Self::new(1_000_000_000, hz)
    }

    /// A counter whose count lasts `numer / denom` nanoseconds, which is how
    /// `mach_timebase_info` states it. `None` when either is zero.
    pub fn from_timebase(numer: u32, denom: u32) -> Option<Self> {
        Self::new(numer.into(), denom.into())
    }

    /// The nanoseconds of `counter` counts, rounded down; the exact floor for
    /// every count. Never goes back when the counter does not. Beyond 584 years
    /// it stays at the largest number.
    #[inline]
    pub fn to_ns(&self, counter: u64) -> u64 {
        let count = u128::from(counter);
        // (2^64 - 1)^2 + 2^64 - 1 < 2^128: the sum cannot overflow.
        let product = count * u128::from(self.high) + ((count * u128::from(self.low)) >> 64);
        u64::try_from(product >> self.shift).unwrap_or(u64::MAX)
    }

    /// The first count at which [`to_ns`](Scale::to_ns) has reached `ns`.
    /// Rounded up, so that a converted deadline is never early; saturates.
    pub fn from_ns(&self, ns: u64) -> u64 {
        let count = (u128::from(ns) * u128::from(self.denom)).div_ceil(u128::from(self.numer));
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// The length of one count, rounded up to a nanosecond.
    pub fn step(&self) -> Nanos {
        Nanos::new(self.numer.div_ceil(self.denom))
    }

    /// `numer` must stay below 2^62, or the factor would not fit 128 bits.
    fn new(numer: u64, denom: u64) -> Option<Self> {
        if numer == 0 || denom == 0 {
            return None;
        }
        let common = greatest_common_divisor(numer, denom);
        let (numer, denom) = (numer / common, denom / common);
        let shift = u64::BITS - (denom - 1).leading_zeros();
        let factor = shifted_ratio(numer, denom, shift);
        Some(Self {
            numer,
            denom,
            high: (factor >> 64) as u64,
            low: factor as u64,
            shift,
        })
    }
}

/// `ceil(numer * 2^(64 + shift) / denom)`, in two steps of long division
/// because the dividend has more than 128 bits.
fn shifted_ratio(numer: u64, denom: u64, shift: u32) -> u128 {
    let (first, denom) = (u128::from(numer) << 64, u128::from(denom));
    let second = (first % denom) << shift;
    ((first / denom) << shift) + second.div_ceil(denom)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exact(counter: u64, numer: u64, denom: u64) -> u64 {
        let ns = u128::from(counter) * u128::from(numer) / u128::from(denom);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Frequencies met in the field (ACPI PM timer, 10 MHz QPC, ARM 24 MHz,
    /// HPET, TSC) and everything between 1 kHz and 10 GHz.
    fn frequency() -> impl Strategy<Value = u64> {
        prop_oneof![
            prop::sample::select(vec![
                1_000,
                3_579_545,
                10_000_000,
                14_318_180,
                19_200_000,
                24_000_000,
                2_399_987_000,
                10_000_000_000,
            ]),
            1_000_u64..10_000_000_001,
        ]
    }

    /// Small, large and odd counts alike.
    fn counter() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift)
    }

    #[test]
    fn known_counters() {
        let at = |hz, counter| Scale::from_frequency(hz).unwrap().to_ns(counter);
        assert_eq!(at(10_000_000, 1), 100);
        assert_eq!(at(3_579_545, 3_579_545), 1_000_000_000);
        assert_eq!(at(3_579_545, 3_579_544), 999_999_720);
        assert_eq!(at(10_000_000_000, 19), 1);
        assert_eq!(
            Scale::from_frequency(1_000_000_000),
            Some(Scale::NANOSECONDS)
        );
        assert_eq!(Scale::from_frequency(0), None);
        assert_eq!(Scale::from_timebase(1, 0), None);
    }

    /// ARMSX2#702: the ratio was turned upside down, and a wait of 17 ms lasted
    /// 0.016 ms. One second of Apple silicon is 24 million counts.
    #[test]
    fn an_inverted_timebase_would_be_seen() {
        let right = Scale::from_timebase(125, 3).unwrap();
        assert_eq!(right.to_ns(24_000_000), 1_000_000_000);
        assert_eq!(right.from_ns(17_000_000), 408_000);
        let inverted = Scale::from_timebase(3, 125).unwrap();
        assert_eq!(inverted.to_ns(24_000_000), 576_000);
    }

    #[test]
    fn the_largest_count_saturates() {
        let slow = Scale::from_frequency(1_000).unwrap();
        assert_eq!(slow.to_ns(u64::MAX), u64::MAX);
        let fast = Scale::from_frequency(10_000_000_000).unwrap();
        assert_eq!(fast.from_ns(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn readings_are_the_exact_floor(hz in frequency(), counter in counter()) {
            let scale = Scale::from_frequency(hz).unwrap();
            prop_assert_eq!(scale.to_ns(counter), exact(counter, 1_000_000_000, hz));
        }

        #[test]
        fn timebases_are_the_exact_floor(
            numer in 1_u32.., denom in 1_u32.., counter in counter(),
        ) {
            let scale = Scale::from_timebase(numer, denom).unwrap();
            prop_assert_eq!(scale.to_ns(counter), exact(counter, numer.into(), denom.into()));
        }

        #[test]
        fn any_frequency_is_the_exact_floor(hz in 1_u64.., counter in counter()) {
            let scale = Scale::from_frequency(hz).unwrap();
            prop_assert_eq!(scale.to_ns(counter), exact(counter, 1_000_000_000, hz));
        }

        #[test]
        fn readings_never_go_back(hz in frequency(), counter in counter(), step in 0_u64..1_000) {
            let scale = Scale::from_frequency(hz).unwrap();
            prop_assert!(scale.to_ns(counter.saturating_add(step)) >= scale.to_ns(counter));
        }

        #[test]
        fn deadlines_are_the_first_count_that_is_not_early(hz in frequency(), ns in counter()) {
            let scale = Scale::from_frequency(hz).unwrap();
            let count = scale.from_ns(ns);
            prop_assert!(count == u64::MAX || scale.to_ns(count) >= ns);
            prop_assert!(count == 0 || scale.to_ns(count - 1) < ns);
        }
    }
}
