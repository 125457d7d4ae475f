//! In which order pages are touched.

use std::sync::Arc;

use punctual_zero_memory::Mapping;

/// An order of pages.
#[derive(Clone, Debug)]
pub(super) enum Order {
    /// The first page first.
    Forward,
    /// The last page first: a system that maps some pages ahead of a fault gains
    /// nothing by that.
    Backward,
    /// Each page once, in no order: neither does one that looks for strides.
    Random(Arc<[u32]>),
}

impl Order {
    /// So many pages in a random order, which the same seed always gives.
    ///
    /// # Panics
    /// When the number of a page has more than 32 bits: these would be 16 TiB.
    pub(super) fn random(pages: usize, seed: u64) -> Self {
        let pages = u32::try_from(pages).expect("less than 16 TiB");
        let mut order: Vec<u32> = (0..pages).collect();
        let mut state = seed;
        // Fisher and Yates.
        for last in (1..order.len()).rev() {
            let upto = last as u64 + 1;
            let chosen = (u128::from(split_mix(&mut state)) * u128::from(upto)) >> 64;
            order.swap(last, chosen as usize);
        }
        Self::Random(order.into())
    }

    /// What the user reads.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Random(_) => "random",
        }
    }

    /// Writes to every page of a mapping in this order.
    ///
    /// # Panics
    /// When it is the random order of more pages.
    pub(super) fn write_touch(&self, mapping: &Mapping) {
        match self {
            Self::Forward => mapping.write_touch(0..mapping.pages()),
            Self::Backward => mapping.write_touch((0..mapping.pages()).rev()),
            Self::Random(order) => mapping.write_touch(order.iter().map(|&page| page as usize)),
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_zero_memory::PAGE;

    fn shuffled(pages: usize, seed: u64) -> Vec<u32> {
        match Order::random(pages, seed) {
            Order::Random(order) => order.to_vec(),
            order => panic!("{order:?}"),
        }
    }

    #[test]
    fn every_page_comes_once_in_no_order() {
        let order = shuffled(1000, 1);
        let ascending = order.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..600).contains(&ascending), "{ascending}");
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_seed_gives_one_order() {
        assert_eq!(shuffled(100, 7), shuffled(100, 7));
        assert_ne!(shuffled(100, 7), shuffled(100, 8));
    }

    #[test]
    fn each_order_touches_every_page() {
        for order in [Order::Forward, Order::Backward, Order::random(100, 1)] {
            let mapping = Mapping::new(100 * PAGE).unwrap();
            order.write_touch(&mapping);
            let untouched = (0..100).find(|page| mapping.first_dirty(*page..page + 1).is_none());
            assert_eq!(untouched, None, "{}", order.name());
        }
    }
}
