//! Bins for numbers of any size, as histograms count them.
//!
//! Each octave has `2^bits` bins, so a bin is at most one part in `2^bits` wide. Numbers below `2^(bits + 1)` have a
//! bin each.

/// The bin of a number.
#[inline]
pub const fn bin(number: u64, bits: u32) -> u32 {
    match (number | 1).ilog2().checked_sub(bits) {
        None => number as u32,
        Some(shift) => ((shift + 1) << bits) + ((number >> shift) as u32 & ((1 << bits) - 1)),
    }
}

/// The least number of a bin. A bin behind that of `u64::MAX` has none, and the answer means nothing.
pub const fn least(bin: u32, bits: u32) -> u64 {
    let in_octave = (bin & ((1 << bits) - 1)) as u64;
    match (bin >> bits).checked_sub(1) {
        None => bin as u64,
        Some(shift) => (in_octave | 1 << bits) << shift,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bins_follow_each_other_and_hold_their_numbers(number in 0..u64::MAX / 2, bits in 1_u32..8) {
            let at = bin(number, bits);
            prop_assert!(least(at, bits) <= number && number < least(at + 1, bits));
            prop_assert!(bin(number + 1, bits) - at <= 1);
            let wide = least(at + 1, bits) - least(at, bits);
            prop_assert!(wide == 1 || wide <= least(at, bits) >> bits);
        }
    }

    #[test]
    fn small_numbers_have_a_bin_each() {
        for number in 0..16 {
            assert_eq!(bin(number, 3), number as u32);
        }
        assert_eq!((bin(16, 3), bin(17, 3), bin(18, 3)), (16, 16, 17));
    }
}
