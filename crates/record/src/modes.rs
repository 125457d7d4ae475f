//! The lengths that sleeps have: few on a tick, and each of them many times.

use serde::{Deserialize, Serialize};

/// Lengths that are closer than this belong together, whatever they are: they
/// differ by what waking up takes.
const GAP_NS: u64 = 10_000;

/// And so do lengths that are closer than this share of themselves.
const GAP_PER_CENT: u64 = 3;

/// How far a mode may be from a whole number of ticks to be named by it, as a
/// share of a tick.
const TICK_PER_CENT: u64 = 5;

/// Lengths that lie close together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// The median of them.
    pub center_ns: u64,
    /// How many there are.
    pub n: u64,
    /// The share of all that they are.
    pub share: f64,
    /// How many ticks they are long, if they are about a whole number.
    pub ticks: Option<u64>,
}

/// Sorts lengths into modes, the one with the most first.
///
/// Where two neighbours in order of length are more than 10 us and more than
/// 3 % apart, one mode ends and another begins. `tick_ns` is the interval of
/// the clock that ended them: a mode whose centre is within 5 % of a tick of a
/// multiple is named by that multiple.
pub fn modes(samples_ns: &[u64], tick_ns: Option<u64>) -> Vec<Mode> {
    let mut sorted = samples_ns.to_vec();
    sorted.sort_unstable();
    let apart = |a: &u64, b: &u64| {
        let gap = b - a;
        gap > GAP_NS && u128::from(gap) * 100 > u128::from(*a) * u128::from(GAP_PER_CENT)
    };
    let mut modes: Vec<Mode> = sorted
        .chunk_by(|a, b| !apart(a, b))
        .map(|mode| {
            let center_ns = mode[(mode.len() - 1) / 2];
            Mode {
                center_ns,
                n: mode.len() as u64,
                share: mode.len() as f64 / sorted.len() as f64,
                ticks: tick_ns.and_then(|tick_ns| ticks(center_ns, tick_ns)),
            }
        })
        .collect();
    // The sort is stable: of equally many, the shorter come first.
    modes.sort_by_key(|mode| std::cmp::Reverse(mode.n));
    modes
}

/// How many ticks a length is, if that is about a whole number.
fn ticks(ns: u64, tick_ns: u64) -> Option<u64> {
    if tick_ns == 0 {
        return None;
    }
    let ticks = ns / tick_ns + u64::from(ns % tick_ns > tick_ns / 2);
    let off = ns.abs_diff(ticks.checked_mul(tick_ns)?);
    let is_close = u128::from(off) * 100 <= u128::from(tick_ns) * u128::from(TICK_PER_CENT);
    (ticks > 0 && is_close).then_some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_and_three_ticks_are_two_named_modes() {
        let tick = 999_800;
        let jitter = |i: u64| i * 37 % 1_000;
        let sleep = |i: u64| if i % 10 < 7 { 2 * tick } else { 3 * tick } + jitter(i);
        let samples: Vec<u64> = (0..1_000).map(sleep).collect();
        let modes = modes(&samples, Some(tick));
        let seen: Vec<_> = modes.iter().map(|m| (m.ticks, m.n, m.share)).collect();
        assert_eq!(seen, [(Some(2), 700, 0.7), (Some(3), 300, 0.3)]);
        for (mode, ticks) in modes.iter().zip([2, 3]) {
            assert!((ticks * tick..ticks * tick + 1_000).contains(&mode.center_ns));
        }
    }

    #[test]
    fn a_gap_must_be_wide_for_its_length_and_wider_than_a_wake_up() {
        let lengths = |samples: &[u64]| -> Vec<u64> {
            modes(samples, None).iter().map(|m| m.center_ns).collect()
        };
        // 9 us are 9 % of 100 us, but no more than wake-ups differ by.
        assert_eq!(lengths(&[100_000, 109_000]), [100_000]);
        assert_eq!(lengths(&[100_000, 111_000]), [100_000, 111_000]);
        // 300 us are a lot, but 2 % of 15 ms.
        assert_eq!(lengths(&[15_000_000, 15_300_000]), [15_000_000]);
        assert_eq!(lengths(&[15_000_000, 15_500_000]), [15_000_000, 15_500_000]);
        // Steps that are small each make one mode however long it is.
        let slope: Vec<u64> = (0..100).map(|i| 1_000_000 + i * 20_000).collect();
        assert_eq!(lengths(&slope).len(), 1);
    }

    #[test]
    fn only_about_whole_ticks_give_a_name() {
        let named = |ns, tick| modes(&[ns], Some(tick))[0].ticks;
        assert_eq!(named(1_040, 1_000), Some(1));
        assert_eq!(named(1_060, 1_000), None);
        assert_eq!(named(2_950, 1_000), Some(3));
        assert_eq!(named(20, 1_000), None);
        assert_eq!(named(20, 0), None);
        assert_eq!(named(u64::MAX, u64::MAX - 1), Some(1));
        assert_eq!(modes(&[], Some(1)), []);
    }
}
