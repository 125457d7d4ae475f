//! What zeroing costs: so much for each go, however long, and so much for each
//! page.

use punctual_record::{Interval, ZeroCost};

/// A straight line through what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    /// For each go, in nanoseconds.
    pub(super) go: f64,
    /// For each page, with what is not sure of it.
    pub(super) page: Interval,
}

impl Curve {
    /// The line whose relative errors have the least squares. `None` where
    /// nothing was measured.
    ///
    /// A go of so many pages costs `go + page x pages`; with one measurement it is
    /// all the pages'.
    pub(super) fn through<'c>(costs: impl Iterator<Item = &'c ZeroCost>) -> Option<Self> {
        let points: Vec<(f64, Interval)> = costs
            .map(|cost| (cost.pages as f64, cost.page_ns))
            .collect();
        let (_, longest) = points.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (go, page) = line(points.iter().map(|(pages, ns)| (*pages, ns.median)));
        // The page of a long go is nearly all of it, and as sure.
        let scale = page / longest.median;
        Some(Self {
            go,
            page: Interval {
                median: page,
                low: longest.low * scale,
                high: longest.high * scale,
            },
        })
    }
}

/// Of goes of so many pages with what each page takes: what a go takes and what a
/// page takes. No go costs less than nothing.
fn line(points: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    // What a page takes is go/n + page. Divided by it, each point weighs the same:
    // the sum of (go x + page y - 1)^2 with x = 1/(n t) and y = 1/t is least.
    let terms = points.map(|(n, t)| (1.0 / (n * t), 1.0 / t));
    let sum = |of: fn((f64, f64)) -> f64| terms.clone().map(of).sum::<f64>();
    let (xx, xy, yy) = (
        sum(|(x, _)| x * x),
        sum(|(x, y)| x * y),
        sum(|(_, y)| y * y),
    );
    let (sx, sy) = (sum(|(x, _)| x), sum(|(_, y)| y));
    let determinant = xx * yy - xy * xy;
    // One point, or several of one length, do not tell the two apart.
    if determinant > 1e-9 * xx * yy {
        let go = (sx * yy - sy * xy) / determinant;
        let page = (sy * xx - sx * xy) / determinant;
        if go > 0.0 && page > 0.0 {
            return (go, page);
        }
    }
    (0.0, sy / yy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(pages: u64, ns: f64) -> ZeroCost {
        ZeroCost {
            pages,
            page_ns: Interval {
                median: ns,
                low: 0.9 * ns,
                high: 1.2 * ns,
            },
            ..ZeroCost::default()
        }
    }

    fn through(points: &[(u64, f64)]) -> Curve {
        let costs: Vec<ZeroCost> = points.iter().map(|&(n, ns)| cost(n, ns)).collect();
        Curve::through(costs.iter()).unwrap()
    }

    fn is_near(got: f64, expected: f64) {
        assert!(
            (got - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{got}, not {expected}"
        );
    }

    #[test]
    fn a_line_goes_through_points_on_it() {
        // 12 ns each go, 35 ns each page.
        let curve = through(&[(1, 47.0), (4, 38.0), (16, 35.75), (64, 35.1875)]);
        is_near(curve.go, 12.0);
        is_near(curve.page.median, 35.0);
        is_near(curve.page.low, 31.5);
        is_near(curve.page.high, 42.0);
    }

    #[test]
    fn one_point_is_all_the_pages() {
        let curve = through(&[(16, 100.0)]);
        assert_eq!(curve.go, 0.0);
        is_near(curve.page.median, 100.0);
        assert_eq!(Curve::through([].iter()), None);
    }

    #[test]
    fn no_go_costs_less_than_nothing() {
        // Long goes are dearer here.
        let curve = through(&[(1, 180.0), (64, 200.0)]);
        assert_eq!(curve.go, 0.0);
        assert!((180.0..200.0).contains(&curve.page.median), "{curve:?}");
    }
}
