//! Distributions for a terminal: a bar of `#` for each bin.

mod drawing;
mod scale;

use std::collections::BTreeMap;

use punctual_record::Mode;

use crate::units;
use drawing::{Line, drawn};
use scale::Scale;

/// A histogram has at most about this many lines, which a screen holds.
const MOST_LINES: usize = 32;

/// More empty bins than this in a row become one line.
const MOST_EMPTY: usize = 2;

/// Two modes in words, and not more.
const LONGEST_NOTE: usize = 44;

/// Modes with a smaller share, or fewer samples, are accidents and get no name.
const LEAST_SHARE: f64 = 0.01;
const LEAST_SAMPLES: u64 = 5;

/// The distribution of what was counted in bins of three digits, as
/// [`Histogram`](punctual_record::Histogram) does: how many lie above the bound
/// before and up to `upper_bound_ns`, in rising order.
///
/// They are joined in lines as those of [`histogram_of`], equally wide on their
/// axis, so that their bars can be compared; nothing is left out.
///
/// ```
/// let bins = [(50_047, 1), (100_031, 90), (200_063, 8)];
/// let text = punctual_report::histogram("lateness", "waits", &bins);
/// assert!(text.contains("n = 99 waits"));
/// ```
pub fn histogram(title: &str, counted: &str, bins: &[(u64, u64)]) -> String {
    let filled = bins.iter().filter(|(_, count)| *count > 0);
    let samples: Vec<(i64, u64)> = filled.map(|&(ns, count)| (as_sample(ns), count)).collect();
    let (Some(&(low, _)), Some(&(high, _))) = (samples.first(), samples.last()) else {
        return drawn(title, counted, "", &[]);
    };
    // Lines hardly wider than bins would hold now two of them and now three.
    let low = low.min(high / 4 * 3);
    let scales = Scale::fitting((low, low), high).into_iter();
    let mut candidates = scales.map(|scale| Bins::new(scale, samples.iter().copied(), high));
    let usual = candidates.next();
    // As fine as a screen holds: few hiccups far away take few lines.
    let mut finer =
        candidates.filter(|bins| bins.scale.is_by_decades() && bins.lines() <= MOST_LINES);
    match finer.next_back().or(usual) {
        Some(bins) => drawn(title, counted, &bins.scale.in_words(), &bins.drawn(&[])),
        None => drawn(title, counted, "", &[]),
    }
}

/// The distribution of samples in nanoseconds, in bins that fit them: equally
/// wide ones, or some per decade where the samples differ by more than one.
///
/// `counted` names them in the plural, such as `sleeps`. Of `modes`, those with
/// at least 1 % and five samples are named in their lines, and bins are made so
/// narrow that two of them are two peaks. The few samples far from all others are counted in
/// a line `under` and a line `over`. Lines are as those of [`histogram`].
///
/// ```
/// use punctual_record::modes;
///
/// let slept = [2_000_000, 3_000_000].repeat(5);
/// let modes = modes(&slept, Some(1_000_000));
/// let samples: Vec<i64> = slept.iter().map(|&ns| ns as i64).collect();
/// let text = punctual_report::histogram_of("Sleep(1)", "sleeps", &samples, &modes);
/// assert!(text.contains("2 ticks") && text.contains("3 ticks"));
/// ```
pub fn histogram_of(title: &str, counted: &str, samples_ns: &[i64], modes: &[Mode]) -> String {
    let mut sorted = samples_ns.to_vec();
    sorted.sort_unstable();
    let named = named(modes, sorted.len());
    let Some(bins) = Bins::fitting(&sorted, &named) else {
        return drawn(title, counted, "", &[]);
    };
    let [least, most] = [sorted[0], sorted[sorted.len() - 1]];
    let mut lines = Vec::new();
    if bins.under > 0 {
        let note = format!("from {} on", units::duration(least));
        lines.push(Line::new("under".to_owned(), bins.under).with(note));
    }
    lines.extend(bins.drawn(&named));
    if bins.over > 0 {
        let note = format!("up to {}", units::duration(most));
        lines.push(Line::new("over".to_owned(), bins.over).with(note));
    }
    drawn(title, counted, &bins.scale.in_words(), &lines)
}

/// Lines for empty bins between others, or one that says how many they are.
fn gap(bins: std::ops::Range<usize>, label: impl Fn(usize) -> String) -> Vec<Line> {
    match bins.len() {
        0..=MOST_EMPTY => bins.map(|bin| Line::new(label(bin), 0)).collect(),
        many => vec![Line::new("...".to_owned(), 0).with(format!("{many} empty lines"))],
    }
}

/// The modes that get a name: those that are no accident. A single peak needs
/// none, but in ticks its name says something.
pub(crate) fn named(modes: &[Mode], samples: usize) -> Vec<&Mode> {
    let named: Vec<&Mode> = modes
        .iter()
        .filter(|mode| is_common(mode) && mode.n > far(samples) as u64)
        .collect();
    match named[..] {
        [only] if only.ticks.is_none() => vec![],
        _ => named,
    }
}

/// Whether a mode is no accident of a few samples.
pub(crate) fn is_common(mode: &Mode) -> bool {
    mode.share >= LEAST_SHARE && mode.n >= LEAST_SAMPLES
}

/// The modes of one line, by number where their names are too long for it.
fn names<'m>(modes: impl Iterator<Item = &'m Mode>) -> String {
    let names: Vec<String> = modes.map(name).collect();
    let all = names.join(" and ");
    if all.len() > LONGEST_NOTE {
        format!("{} modes", names.len())
    } else {
        all
    }
}

/// `2 ticks (2.000 ms)`.
pub(crate) fn name(mode: &Mode) -> String {
    let length = match mode.center_ns {
        ns if ns < 1_000_000_000 => units::fine(ns),
        ns => units::duration(ns),
    };
    match mode.ticks {
        Some(1) => format!("1 tick ({length})"),
        Some(ticks) => format!("{ticks} ticks ({length})"),
        None => length,
    }
}

/// How many samples lie in which bin of a scale.
struct Bins {
    scale: Scale,
    under: u64,
    counts: BTreeMap<usize, u64>,
    over: u64,
}

impl Bins {
    /// Bins for sorted samples; none if there are no samples.
    fn fitting(sorted: &[i64], named: &[&Mode]) -> Option<Self> {
        let (low, high) = usual(sorted)?;
        let centers = || named.iter().map(|mode| as_sample(mode.center_ns));
        let low = centers().fold(low, i64::min);
        let high = centers().fold(high, i64::max);
        let candidates: Vec<Self> =
            Scale::fitting((low, sorted[far(sorted.len()).min(sorted.len() - 1)]), high)
                .into_iter()
                .map(|scale| Self::new(scale, sorted.iter().map(|&sample| (sample, 1)), high))
                .collect();
        let separate = candidates
            .iter()
            .position(|bins| bins.lines() <= MOST_LINES && bins.separate(named));
        candidates.into_iter().nth(separate.unwrap_or(0))
    }

    /// What lies in the bins up to that of `high`, and outside of them.
    fn new(scale: Scale, samples: impl Iterator<Item = (i64, u64)>, high: i64) -> Self {
        let last = scale.bin(high);
        let mut bins = Self {
            scale,
            under: 0,
            counts: BTreeMap::new(),
            over: 0,
        };
        for (sample, count) in samples {
            *match bins.scale.bin(sample) {
                None => &mut bins.under,
                bin if bin > last => &mut bins.over,
                Some(bin) => bins.counts.entry(bin).or_default(),
            } += count;
        }
        bins
    }

    /// The bin of a mode.
    fn of(&self, mode: &Mode) -> Option<usize> {
        self.scale.bin(as_sample(mode.center_ns))
    }

    /// The bins as lines, with those that are empty, and the modes in them.
    fn drawn(&self, named: &[&Mode]) -> Vec<Line> {
        let (mut lines, mut last) = (Vec::new(), None);
        for (&bin, &count) in &self.counts {
            let label = |bin| self.scale.label(bin);
            lines.extend(last.map_or_else(Vec::new, |last| gap(last + 1..bin, label)));
            let here = named.iter().filter(|mode| self.of(mode) == Some(bin));
            lines.push(Line::new(label(bin), count).with(names(here.copied())));
            last = Some(bin);
        }
        lines
    }

    /// How many lines the bins take, those for empty ones included.
    fn lines(&self) -> usize {
        let empty = |(a, b): (&usize, &usize)| match b - a - 1 {
            few @ 0..=MOST_EMPTY => few,
            _ => 1,
        };
        let bins = self.counts.keys();
        let between: usize = bins.clone().zip(bins.skip(1)).map(empty).sum();
        self.counts.len() + between
    }

    /// Whether there is a bin with fewer samples between any two modes.
    fn separate(&self, named: &[&Mode]) -> bool {
        let mut peaks: Vec<Option<usize>> = named.iter().map(|mode| self.of(mode)).collect();
        peaks.sort_unstable();
        let count = |bin: usize| self.counts.get(&bin).copied().unwrap_or(0);
        peaks.windows(2).all(|pair| {
            let [Some(a), Some(b)] = pair else {
                return false;
            };
            let least = count(*a).min(count(*b));
            (a + 1..*b).any(|between| count(between) < least)
        })
    }
}

fn as_sample(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// How many samples at either end can be far from the others: a 200th of them,
/// and at least one.
fn far(samples: usize) -> usize {
    samples.div_ceil(200)
}

/// From where to where samples lie: all of them, unless those at the ends
/// make the range much wider.
pub(crate) fn usual(sorted: &[i64]) -> Option<(i64, i64)> {
    let last = sorted.len().checked_sub(1)?;
    let cut = far(sorted.len()).min(last / 2);
    let (low, high) = (sorted[cut], sorted[last - cut]);
    let width = high.abs_diff(low);
    let whole = |end: i64, usual: i64| {
        let is_near = end.abs_diff(usual) <= width;
        if is_near { end } else { usual }
    };
    Some((whole(sorted[0], low), whole(sorted[last], high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_far_away_do_not_widen_the_range() {
        let mut samples: Vec<i64> = (1_000..1_200).collect();
        assert_eq!(usual(&samples), Some((1_000, 1_199)));
        samples.push(90_000);
        assert_eq!(usual(&samples), Some((1_000, 1_198)));
        assert_eq!(usual(&[7]), Some((7, 7)));
        assert_eq!(usual(&[i64::MIN, i64::MAX]), Some((i64::MIN, i64::MAX)));
        assert_eq!(usual(&[]), None);
    }
}
