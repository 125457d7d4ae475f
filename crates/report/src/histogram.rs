//! Distributions for a terminal: a bar of `#` for each bin.

use std::collections::BTreeMap;

use libm::{exp10, log10};
use punctual_record::Mode;

use crate::{prose, units};

/// A histogram has at most about this many lines, which a screen holds.
const MOST_LINES: usize = 32;

/// More empty bins than this in a row become one line.
const MOST_EMPTY: usize = 2;

/// Two modes in words, and not more.
const LONGEST_NOTE: usize = 44;

/// Modes with a smaller share, or fewer samples, are accidents and get no name.
const LEAST_SHARE: f64 = 0.01;
const LEAST_SAMPLES: u64 = 5;

/// The distribution of samples that were counted in bins of three digits, as
/// [`Histogram`](punctual_record::Histogram) does. Each bin has the number above the previous
/// bound and up to `upper_bound_ns`, in rising order.
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
    let by_decades = |bins: &Bins| matches!(bins.scale, Scale::Decades { .. });
    let mut finer = candidates.filter(|bins| by_decades(bins) && bins.lines() <= MOST_LINES);
    match finer.next_back().or(usual) {
        Some(bins) => drawn(title, counted, &bins.scale.in_words(), &bins.drawn(&[])),
        None => drawn(title, counted, "", &[]),
    }
}

/// The distribution of samples in nanoseconds, in bins that fit them. The bins are equally wide,
/// or some per decade where the samples differ by more than one.
///
/// `counted` names them in the plural, such as `sleeps`. Of `modes`, those with at least 1 % and
/// five samples are named in their lines. Bins are narrow enough that two of them are two peaks.
/// The few samples far from all others are counted in a line `under` and a line `over`. Lines are
/// as those of [`histogram`].
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
        lines.push(Line::new("under", bins.under, note));
    }
    lines.extend(bins.drawn(&named));
    if bins.over > 0 {
        let note = format!("up to {}", units::duration(most));
        lines.push(Line::new("over", bins.over, note));
    }
    drawn(title, counted, &bins.scale.in_words(), &lines)
}

/// Lines for empty bins between others, or one that says how many they are.
fn gap(bins: std::ops::Range<usize>, label: impl Fn(usize) -> String) -> Vec<Line> {
    match bins.len() {
        0..=MOST_EMPTY => bins
            .map(|bin| Line::new(label(bin), 0, String::new()))
            .collect(),
        many => vec![Line::new("...", 0, format!("{many} empty lines"))],
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
        Some(ticks) => format!("{} ({length})", prose::counted(ticks, "tick")),
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

    /// The samples in the bins up to that of `high`, and outside of them.
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
            lines.push(Line::new(label(bin), count, names(here.copied())));
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

/// A scale is chosen so that the bins are at most about this many.
const BINS: f64 = 24.0;

/// Samples that differ by more than this factor are told apart by decades.
const FACTOR: f64 = 20.0;

/// The widest range of a logarithmic scale, so that one zero among milliseconds does not stretch
/// it.
const SPAN: f64 = 1e6;

/// Where the bins of a decade begin: the preferred numbers of ISO 3, which are about
/// equally far apart on a logarithmic axis.
const PER_DECADE: [&[f64]; 5] = [
    &[
        1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3,
        7.1, 8.0, 9.0,
    ],
    &[1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0],
    &[1.0, 1.6, 2.5, 4.0, 6.3],
    &[1.0, 1.8, 3.15, 5.6],
    &[1.0],
];

/// The bins, counted from zero.
#[derive(Clone, Debug, PartialEq)]
enum Scale {
    /// Bins of one width; the middle of each is a multiple of it.
    Even {
        width_ns: i128,
        /// Which multiple is the middle of the first.
        first: i128,
        /// The unit in which middles are written, and the decimals it takes.
        unit: units::Unit,
        decimals: usize,
    },
    /// A number of bins in each decade. Each ends where the next begins, and the last bound is
    /// only an end.
    Decades { bounds_ns: Vec<f64>, each: usize },
}

impl Scale {
    /// The scales that show samples from `low` to `high`, the best first. The later ones are for
    /// samples that the first does not resolve. One by decades begins at `usual_low`, as few small
    /// samples would stretch it.
    fn fitting((low, usual_low): (i64, i64), high: i64) -> Vec<Self> {
        let width = even_width(low, high);
        let mut even: Vec<Self> = [1.0, 2.0, 4.0, 10.0, 20.0, 40.0]
            .map(|finer| Self::even(low, high, round_up(width / finer)))
            .into();
        even.dedup();
        if (high as f64) < FACTOR * (usual_low.max(1) as f64) {
            return even;
        }
        let mut all: Vec<Self> = PER_DECADE
            .iter()
            .rev()
            .map(|each| Self::decades(usual_low, high, each))
            .collect();
        // The finest of those that fit is the best of them.
        // The last bin may be there for its bound alone.
        let fit = all.iter().filter(|scale| scale.bins() as f64 <= BINS + 1.0);
        let coarser = fit.count().saturating_sub(1);
        all.drain(..coarser);
        all.extend(even);
        all
    }

    fn even(low: i64, high: i64, width_ns: f64) -> Self {
        let width_ns = (width_ns as i128).max(1);
        let unit = units::Unit::of((high as f64).abs().max((low as f64).abs()));
        let decimals = (0..=9).find(|&decimals| {
            let steps = width_ns as f64 / unit.ns * exp10(f64::from(decimals));
            steps >= 1.0 && (steps - steps.round()).abs() < 1e-6
        });
        Self::Even {
            width_ns,
            first: middle(low, width_ns),
            unit,
            decimals: decimals.unwrap_or(9) as usize,
        }
    }

    fn decades(low: i64, high: i64, each: &[f64]) -> Self {
        let high = (high as f64).max(1.0);
        let low = (low as f64).max(high / SPAN).max(1.0);
        let decades = log10(low).floor() as i32..=log10(high).floor() as i32 + 1;
        let mut bounds_ns: Vec<f64> = decades
            .flat_map(|decade| each.iter().map(move |m| m * exp10(decade.into())))
            .collect();
        let end = bounds_ns.partition_point(|bound| *bound <= high);
        bounds_ns.truncate(end + 1);
        let first = bounds_ns.partition_point(|bound| *bound <= low);
        bounds_ns.drain(..first.saturating_sub(1));
        Self::Decades {
            bounds_ns,
            each: each.len(),
        }
    }

    fn bins(&self) -> usize {
        match self {
            Self::Even { .. } => BINS as usize,
            Self::Decades { bounds_ns, .. } => bounds_ns.len() - 1,
        }
    }

    /// The bin of a sample; none if it lies below the first.
    fn bin(&self, sample: i64) -> Option<usize> {
        match self {
            Self::Even {
                width_ns, first, ..
            } => usize::try_from(middle(sample, *width_ns) - first).ok(),
            Self::Decades { bounds_ns, .. } => bounds_ns
                .partition_point(|bound| *bound <= sample as f64)
                .checked_sub(1),
        }
    }

    /// The label beside the bar of a bin.
    fn label(&self, bin: usize) -> String {
        match self {
            Self::Even {
                width_ns,
                first,
                unit,
                decimals,
            } => {
                let middle = (first + bin as i128) as f64 * *width_ns as f64 / unit.ns;
                format!("{middle:.decimals$} {}", unit.name)
            }
            Self::Decades { bounds_ns, .. } => bounds_ns
                .get(bin)
                .map_or_else(String::new, |&begin| units::nominal(begin)),
        }
    }

    /// A description of the bins.
    fn in_words(&self) -> String {
        match self {
            Self::Even { width_ns, .. } => format!(
                "each line {} wide, around the length it names",
                units::nominal(*width_ns as f64)
            ),
            Self::Decades { each, .. } => format!(
                "{each} {} for each factor of ten, from the length it names up to the next",
                if *each == 1 { "line" } else { "lines" }
            ),
        }
    }
}

/// Which multiple of the width is closest; of two, the greater.
fn middle(sample: i64, width_ns: i128) -> i128 {
    (i128::from(sample) + width_ns / 2).div_euclid(width_ns)
}

/// How wide bins are so that there are about as many as fit. Where all samples
/// are the same, a thousandth of them.
fn even_width(low: i64, high: i64) -> f64 {
    let range = high.abs_diff(low) as f64;
    let least = (high as f64).abs().max(1.0) / 1_000.0;
    round_up((range / BINS).max(least))
}

/// The least of 1, 2, 5, 10, 20, 50, ... that is no smaller.
fn round_up(width: f64) -> f64 {
    let width = width.max(1.0);
    let decade = exp10(log10(width).floor());
    [1.0, 2.0, 5.0]
        .map(|digit| digit * decade)
        .into_iter()
        .find(|round| *round >= width * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

/// The longest bar, where what is noted behind bars leaves room for it.
const LONGEST: usize = 60;
const LEAST_LONGEST: usize = 10;

/// A bar that is too short for a `#`.
const TRACE: &str = ".";

/// A bin, or those outside of all bins.
struct Line {
    label: String,
    count: u64,
    /// The note behind the bar.
    note: String,
}

impl Line {
    fn new(label: impl Into<String>, count: u64, note: String) -> Self {
        let label = label.into();
        Self { label, count, note }
    }
}

/// The title, n with the bins in words, and the lines.
fn drawn(title: &str, counted: &str, bins: &str, lines: &[Line]) -> String {
    let n: u64 = lines.iter().map(|line| line.count).sum();
    let mut text = prose::paragraph(title);
    if n == 0 {
        text += &prose::paragraph(&format!("No {counted}: not measured."));
        return text;
    }
    text += &prose::paragraph(&format!("n = {n} {counted}; {bins}."));
    let most = lines.iter().map(|line| line.count).max().unwrap_or(0);
    let widest = |of: fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let label = widest(|line| line.label.chars().count());
    let count = widest(|line| line.count.to_string().len());
    let note = widest(|line| line.note.chars().count());
    // Two spaces, the label, the count, the share, and the signs between them.
    let before = 2 + label + 2 + count + 2 + 7 + 2;
    let room = prose::page().saturating_sub(before + 1 + note);
    let longest = room.clamp(LEAST_LONGEST, LONGEST);
    for line in lines {
        let share = line.count as f64 / n as f64 * 100.0;
        let bar = bar(line.count, most, longest);
        let space = if bar.is_empty() || line.note.is_empty() {
            ""
        } else {
            " "
        };
        let written = format!(
            "  {:>label$}  {:>count$}  {share:>5.1} % |{bar}{space}{}",
            line.label, line.count, line.note
        );
        text += written.trim_end();
        text.push('\n');
    }
    text
}

fn bar(count: u64, most: u64, longest: usize) -> String {
    let length = (count as f64 / most.max(1) as f64 * longest as f64).round() as usize;
    match (count, length) {
        (0, _) => String::new(),
        (_, 0) => TRACE.to_owned(),
        (_, length) => "#".repeat(length),
    }
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

    fn fitting(low: i64, high: i64) -> Vec<Scale> {
        Scale::fitting((low, low), high)
    }

    #[test]
    fn samples_within_a_decade_have_even_bins_around_round_lengths() {
        let scale = &fitting(1_000_000, 3_000_000)[0];
        assert_eq!(
            scale.in_words(),
            "each line 100 us wide, around the length it names"
        );
        assert_eq!(scale.bin(949_999), None);
        assert_eq!(scale.bin(950_000), Some(0));
        assert_eq!(scale.label(0), "1.0 ms");
        assert_eq!(scale.bin(2_990_000), Some(20));
        assert_eq!(scale.label(20), "3.0 ms");
    }

    #[test]
    fn samples_of_several_decades_have_as_many_bins_in_each_as_fit() {
        let scale = &fitting(1_000, 100_000)[0];
        assert!(scale.in_words().starts_with("10 lines for each factor"));
        assert_eq!(scale.bin(999), None);
        assert_eq!(scale.bin(1_000), Some(0));
        assert_eq!(scale.label(1), "1.25 us");
        assert_eq!(scale.bin(100_000), Some(20));
        let scale = &fitting(0, 1_000_000_000)[0];
        assert!(scale.in_words().starts_with("4 lines for each factor"));
        // A millionth of the longest is the least that is shown.
        assert_eq!(scale.bin(999), None);
        assert_eq!(scale.label(0), "1 us");
    }

    #[test]
    fn equal_samples_and_the_ends_of_the_range_have_bins() {
        for (low, high) in [(0, 0), (7, 7), (-5, 5), (i64::MIN, i64::MAX), (i64::MIN, 0)] {
            for scale in fitting(low, high) {
                let bin = scale.bin(high).unwrap();
                assert!(!scale.label(bin).is_empty(), "{low} {high} {scale:?}");
                assert!(bin < 2_000, "{low} {high} {scale:?}");
            }
        }
        assert_eq!(fitting(1_058_000, 1_058_000)[0].label(0), "1.058 ms");
    }

    #[test]
    fn bars_are_in_proportion_and_none_is_lost() {
        assert_eq!(bar(0, 1_000, 60), "");
        assert_eq!(bar(1, 1_000, 60), ".");
        assert_eq!(bar(500, 1_000, 60).len(), 30);
        assert_eq!(bar(1_000, 1_000, 60).len(), 60);
    }

    #[test]
    fn nothing_measured_is_said() {
        assert_eq!(
            drawn("title", "waits", "", &[]),
            "title\nNo waits: not measured.\n"
        );
    }
}
