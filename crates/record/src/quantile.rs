//! Between which two of so many samples a quantile lies.

/// What may lie beyond either end of an interval that holds with 95 %.
const BEYOND_ONE_END: f64 = 0.025;

/// The ranks, counted from 1, of the two samples between which the `q`
/// quantile of what `n` samples were drawn from lies with at least 95 %
/// confidence; `None` where so few samples do not hold it that surely.
///
/// How many samples lie below the quantile is binomial, whatever their
/// distribution; this needs the samples to be independent of each other, and
/// nothing else. (David and Nagaraja, "Order Statistics", 3rd edition, 7.1.)
pub(crate) fn ranks(n: usize, q: f64) -> Option<(usize, usize)> {
    if n == 0 || q.is_nan() || q <= 0.0 || q >= 1.0 {
        return None;
    }
    let (first, weights) = binomial(n, q);
    let total: f64 = weights.iter().sum();
    // The largest `low` with P(below < low) within the limit, and the smallest
    // `high` with P(below >= high) within it.
    let beyond = |weights: &mut dyn Iterator<Item = &f64>| {
        let mut sum = 0.0;
        weights
            .take_while(|weight| {
                sum += **weight;
                sum / total <= BEYOND_ONE_END
            })
            .count()
    };
    let low = first + beyond(&mut weights.iter());
    let high = first + weights.len() - beyond(&mut weights.iter().rev());
    (low >= 1 && high <= n).then_some((low, high))
}

/// The binomial probabilities around their greatest, up to a common factor, and
/// the count of the first of them. What is left out is less than a rounding
/// error.
fn binomial(n: usize, q: f64) -> (usize, Vec<f64>) {
    const NOTHING: f64 = 1e-20;
    let mode = (((n + 1) as f64 * q) as usize).min(n);
    let odds = q / (1.0 - q);
    let mut below = Vec::new();
    let mut weight = 1.0;
    for k in (1..=mode).rev() {
        weight *= k as f64 / ((n - k + 1) as f64 * odds);
        if weight < NOTHING {
            break;
        }
        below.push(weight);
    }
    let first = mode - below.len();
    let mut weights: Vec<f64> = below.into_iter().rev().collect();
    weights.push(1.0);
    weight = 1.0;
    for k in mode..n {
        weight *= (n - k) as f64 * odds / (k + 1) as f64;
        if weight < NOTHING {
            break;
        }
        weights.push(weight);
    }
    (first, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_the_median_agree_with_the_published_table_of_the_sign_test() {
        for (n, ends) in [
            (5, None),
            (6, Some((1, 6))),
            (9, Some((2, 8))),
            (20, Some((6, 15))),
            (25, Some((8, 18))),
            (100, Some((40, 61))),
        ] {
            assert_eq!(ranks(n, 0.5), ends, "n = {n}");
        }
    }

    #[test]
    fn the_probability_of_missing_is_at_most_five_per_cent_and_nearly_that() {
        for (n, q) in [(1_000, 0.5), (1_000, 0.99), (40_000, 0.9), (1_000_000, 0.5)] {
            let (low, high) = ranks(n, q).unwrap();
            let (first, weights) = binomial(n, q);
            let total: f64 = weights.iter().sum();
            let of = |range: std::ops::Range<usize>| -> f64 {
                let each = weights.iter().enumerate();
                let held = each.filter(|(i, _)| range.contains(&(first + i)));
                held.map(|(_, weight)| weight / total).sum()
            };
            assert!(of(low..high) >= 0.95, "{n} {q}");
            assert!(of(0..low) <= 0.025 && of(high..n + 1) <= 0.025, "{n} {q}");
            assert!(of(0..low + 1) > 0.025 && of(high - 1..n + 1) > 0.025);
        }
    }

    #[test]
    fn where_samples_do_not_reach_there_are_none() {
        assert_eq!(ranks(0, 0.5), None);
        assert_eq!(ranks(20, 0.99), None);
        assert_eq!(ranks(20, 0.0), None);
        assert_eq!(ranks(20, f64::NAN), None);
    }
}
