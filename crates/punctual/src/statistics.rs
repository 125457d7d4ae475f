use std::fmt;
use std::time::Duration;

use punctual_core::{Nanos, bins};

use crate::outcome::Outcome;

/// Statistics of many waits: their lateness and their cost.
///
/// A [`Waiter`](crate::Waiter) keeps them once [asked to](crate::Waiter::keep_statistics),
/// and so do [`Ticker`](crate::Ticker), [`Pacer`](crate::Pacer) and
/// [`FramePacer`](crate::FramePacer). It is cheap enough to be left on: 2.1 KB, and a
/// few nanoseconds a wait, spent at the begin of the next. It is plain data: those of
/// several threads can be [merged](Self::merge).
///
/// Lateness is counted in bins of which each is at most an eighth wider than its lower
/// end, up to 17 s; the largest is exact.
///
/// # Examples
///
/// ```
/// use punctual::{Period, interval};
///
/// let mut ticker = interval(Period::hz(1_000)?);
/// ticker.keep_statistics();
/// for _ in 0..20 {
///     ticker.tick();
/// }
/// let seen = ticker.statistics();
/// println!("{seen}");
/// assert_eq!(seen.waits(), 20);
/// # Ok::<(), punctual::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Statistics {
    already_late: u64,
    missed: u64,
    naps: u64,
    slept_ns: u64,
    spun_ns: u64,
    late_ns: u64,
    late_max_ns: u64,
    hit_budget: u64,
    preempted_spins: u64,
    #[cfg_attr(feature = "serde", serde(with = "filled"))]
    late: [u64; BINS],
}

/// Eight bins for each power of two.
const BITS: u32 = 3;
const BINS: usize = 256;
/// A spin that ends so late did not have the CPU. A reading of the clock takes a thousandth of it,
/// and the shortest slices of schedulers last that long.
const PREEMPTED: Nanos = Nanos::from_us(100);

impl Statistics {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self {
            already_late: 0,
            missed: 0,
            naps: 0,
            slept_ns: 0,
            spun_ns: 0,
            late_ns: 0,
            late_max_ns: 0,
            hit_budget: 0,
            preempted_spins: 0,
            late: [0; BINS],
        }
    }

    /// Counts a wait, as the waiter does that keeps statistics itself. For bindings.
    #[doc(hidden)]
    pub fn record(&mut self, outcome: &Outcome) {
        let late_ns = outcome.late.as_ns();
        let has_waited = outcome.naps > 0 || !outcome.spun.is_zero();
        let count = &mut self.late[bin(late_ns)];
        *count = count.saturating_add(1);
        self.late_ns = self.late_ns.saturating_add(late_ns);
        self.late_max_ns = self.late_max_ns.max(late_ns);
        self.already_late += u64::from(!has_waited);
        self.naps += u64::from(outcome.naps);
        // Time that has passed: 584 years of it are more than there will be.
        self.slept_ns += outcome.slept.as_ns();
        self.spun_ns += outcome.spun.as_ns();
        self.hit_budget += u64::from(outcome.hit_budget);
        self.preempted_spins += u64::from(!outcome.spun.is_zero() && outcome.late > PREEMPTED);
    }

    /// Adds slots without a wait. For bindings.
    #[doc(hidden)]
    pub fn miss(&mut self, slots: u64) {
        self.missed = self.missed.saturating_add(slots);
    }

    /// Adds what another has seen.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::{Statistics, Waiter};
    ///
    /// let mut all = Statistics::new();
    /// for _ in 0..2 {
    ///     let mut waiter = Waiter::builder().statistics().build()?;
    ///     waiter.sleep(Duration::from_micros(50));
    ///     all.merge(&waiter.statistics());
    /// }
    /// assert_eq!(all.waits(), 2);
    /// assert!(all.mean_lateness() <= all.max_lateness());
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.late.iter_mut().zip(&other.late) {
            *count = count.saturating_add(*more);
        }
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
        for (sum, more) in [
            (&mut self.already_late, other.already_late),
            (&mut self.missed, other.missed),
            (&mut self.naps, other.naps),
            (&mut self.slept_ns, other.slept_ns),
            (&mut self.spun_ns, other.spun_ns),
            (&mut self.late_ns, other.late_ns),
            (&mut self.hit_budget, other.hit_budget),
            (&mut self.preempted_spins, other.preempted_spins),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// How many waits came to their deadline. One that was cancelled or interrupted
    /// is not counted.
    pub fn waits(&self) -> u64 {
        self.late.iter().sum()
    }

    /// The number of waits whose deadline had passed when they began. Their lateness is the
    /// caller's.
    pub fn already_late(&self) -> u64 {
        self.already_late
    }

    /// The slots that no tick was for; nothing of a waiter by itself.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// How many times the thread gave up its CPU to an OS call.
    pub fn naps(&self) -> u64 {
        self.naps
    }

    /// The time spent in those calls.
    pub fn slept(&self) -> Duration {
        Duration::from_nanos(self.slept_ns)
    }

    /// The time spent spinning, which is CPU time used.
    pub fn spun(&self) -> Duration {
        Duration::from_nanos(self.spun_ns)
    }

    /// The part of the time in waits that was spun, from 0 to 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use punctual::{Strategy, Waiter};
    ///
    /// let begin = Instant::now();
    /// let mut spinning = Waiter::builder().strategy(Strategy::spin()).statistics().build()?;
    /// spinning.sleep(Duration::from_micros(50));
    /// spinning.sleep_until(begin); // its deadline has passed
    /// let seen = spinning.statistics();
    /// assert_eq!((seen.spun_share(), seen.already_late(), seen.budget_hits()), (1.0, 1, 0));
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn spun_share(&self) -> f64 {
        match self.spun_ns.saturating_add(self.slept_ns) {
            0 => 0.0,
            all => self.spun_ns as f64 / all as f64,
        }
    }

    /// How many waits would have spun more if their [budget](crate::Budget) had let
    /// them.
    pub fn budget_hits(&self) -> u64 {
        self.hit_budget
    }

    /// How many waits spun and were late by more than 100 us all the same: others had
    /// the CPU while they spun. Where these are many, spinning is of no use: every CPU is
    /// busy, or a quota is used up.
    pub fn preempted_spins(&self) -> u64 {
        self.preempted_spins
    }

    /// The lateness that a part `q` of the waits does not exceed, from 0 to 1; `None`
    /// if nothing was seen.
    ///
    /// # Accuracy
    /// Up to an eighth more than it was; exact below 16 ns and at most
    /// [`max_lateness`](Self::max_lateness).
    pub fn lateness_quantile(&self, q: f64) -> Option<Duration> {
        let waits = self.waits();
        if waits == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * waits as f64).ceil() as u64).max(1);
        let mut up_to = 0;
        let found = self.late.iter().position(|count| {
            up_to += *count;
            up_to >= rank
        });
        Some(self.longest(found.unwrap_or(BINS - 1)))
    }

    /// The mean lateness; nothing if nothing was seen.
    pub fn mean_lateness(&self) -> Duration {
        Duration::from_nanos(self.late_ns / self.waits().max(1))
    }

    /// The largest lateness.
    pub fn max_lateness(&self) -> Duration {
        Duration::from_nanos(self.late_max_ns)
    }

    /// The lateness of all waits in bins that are not empty: the longest of each, and
    /// how many there were.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use punctual::Waiter;
    ///
    /// let mut waiter = Waiter::builder().statistics().build()?;
    /// waiter.sleep(Duration::from_micros(50));
    /// for (longest, waits) in waiter.statistics().lateness_bins() {
    ///     println!("{waits} waits were late by {longest:?} or a little less");
    /// }
    /// # Ok::<(), punctual::Error>(())
    /// ```
    pub fn lateness_bins(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let bins = self.late.iter().enumerate();
        bins.filter(|(_, count)| **count > 0)
            .map(|(bin, count)| (self.longest(bin), *count))
    }

    /// The longest lateness that can be in a bin; the last has all that is beyond.
    fn longest(&self, bin: usize) -> Duration {
        Duration::from_nanos(match bin < BINS - 1 {
            true => end_of(bin).min(self.late_max_ns),
            false => self.late_max_ns,
        })
    }

    /// The lateness in nanoseconds as an HdrHistogram with three digits and up to an
    /// hour, each as long as the longest of its bin. Feature `hdrhistogram`.
    ///
    /// # Examples
    ///
    /// ```
    /// let seen = punctual::Statistics::new();
    /// assert_eq!(seen.to_hdrhistogram().len(), seen.waits());
    /// ```
    #[cfg(feature = "hdrhistogram")]
    #[expect(
        clippy::missing_panics_doc,
        reason = "three digits are always possible"
    )]
    pub fn to_hdrhistogram(&self) -> hdrhistogram::Histogram<u64> {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let mut histogram = hdrhistogram::Histogram::new_with_max(HOUR_NS, 3)
            .expect("three digits are among those there are");
        for (late, count) in self.lateness_bins() {
            histogram.saturating_record_n(late.as_nanos() as u64, count);
        }
        histogram
    }

    /// In the text format that Prometheus scrapes: a histogram of lateness and counters,
    /// whose names begin with `punctual_`, each with these labels. Feature `prometheus`.
    ///
    /// # Accuracy
    /// A lateness just below the end of a bucket, by up to an eighth, counts in the next.
    ///
    /// # Examples
    ///
    /// ```
    /// let text = punctual::Statistics::new().to_prometheus(&[("loop", "control")]);
    /// assert!(text.contains("punctual_lateness_seconds_count{loop=\"control\"} 0"));
    /// ```
    #[cfg(feature = "prometheus")]
    pub fn to_prometheus(&self, labels: &[(&str, &str)]) -> String {
        prometheus::text(self, labels)
    }
}

/// In one line; lateness in the median, of all but a hundredth, and at most.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = |q| self.lateness_quantile(q).unwrap_or_default();
        write!(
            f,
            "{} waits, {:?} late at p50, {:?} at p99, {:?} at most; {} missed; spun {:.2} % of the time",
            self.waits(),
            late(0.5),
            late(0.99),
            self.max_lateness(),
            self.missed,
            100.0 * self.spun_share(),
        )
    }
}

/// Nothing seen yet.
impl Default for Statistics {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a lateness is counted. The first sixteen are exact.
#[inline]
fn bin(ns: u64) -> usize {
    (bins::bin(ns, BITS) as usize).min(BINS - 1)
}

/// The longest lateness that is counted there.
fn end_of(bin: usize) -> u64 {
    bins::least(bin as u32 + 1, BITS) - 1
}

/// serde has arrays of up to 32.
#[cfg(feature = "serde")]
mod filled {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::BINS;

    pub(super) fn serialize<S: Serializer>(late: &[u64; BINS], to: S) -> Result<S::Ok, S::Error> {
        let filled = late.iter().rposition(|count| *count > 0);
        late[..filled.map_or(0, |last| last + 1)].serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; BINS], D::Error> {
        let filled = Vec::<u64>::deserialize(from)?;
        let mut late = [0; BINS];
        match late.get_mut(..filled.len()) {
            Some(first) => first.copy_from_slice(&filled),
            None => return Err(D::Error::custom("it has more than 256 bins")),
        }
        Ok(late)
    }
}

#[cfg(feature = "prometheus")]
mod prometheus {
    use super::{Statistics, end_of};

    /// From 1 us to a second, by about 2.5.
    const BUCKETS_US: [u64; 18] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
        200_000, 1_000_000,
    ];

    pub(super) fn text(of: &Statistics, labels: &[(&str, &str)]) -> String {
        let all: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let all = all.join(",");
        let braced = match all.is_empty() {
            true => String::new(),
            false => format!("{{{all}}}"),
        };
        let comma = if all.is_empty() { "" } else { "," };
        let bucket = |us: u64| {
            // By the ends of whole bins, which never move, so that no bucket ever falls.
            let within = of.late.iter().enumerate();
            let within = within.take_while(|(bin, _)| end_of(*bin) <= us * 1_000);
            let count: u64 = within.map(|(_, count)| count).sum();
            let le = us as f64 / 1e6;
            format!("punctual_lateness_seconds_bucket{{{all}{comma}le=\"{le}\"}} {count}\n")
        };
        format!(
            "\
# HELP punctual_lateness_seconds How long after their deadline waits ended.
# TYPE punctual_lateness_seconds histogram
{buckets}\
punctual_lateness_seconds_bucket{{{all}{comma}le=\"+Inf\"}} {waits}
punctual_lateness_seconds_sum{braced} {late}
punctual_lateness_seconds_count{braced} {waits}
# HELP punctual_already_late_total Waits whose deadline had passed when they began.
# TYPE punctual_already_late_total counter
punctual_already_late_total{braced} {already_late}
# HELP punctual_missed_slots_total Slots that no tick was for.
# TYPE punctual_missed_slots_total counter
punctual_missed_slots_total{braced} {missed}
# HELP punctual_naps_total Times that a thread gave up its CPU to an OS call.
# TYPE punctual_naps_total counter
punctual_naps_total{braced} {naps}
# HELP punctual_slept_seconds_total Time in these calls.
# TYPE punctual_slept_seconds_total counter
punctual_slept_seconds_total{braced} {slept}
# HELP punctual_spun_seconds_total Time spent spinning.
# TYPE punctual_spun_seconds_total counter
punctual_spun_seconds_total{braced} {spun}
# HELP punctual_budget_hits_total Waits that would have spun more if their budget had let them.
# TYPE punctual_budget_hits_total counter
punctual_budget_hits_total{braced} {hits}
# HELP punctual_preempted_spins_total Waits that spun and were late by more than 100 us all the same.
# TYPE punctual_preempted_spins_total counter
punctual_preempted_spins_total{braced} {preempted_spins}
",
            buckets = BUCKETS_US.map(bucket).concat(),
            waits = of.waits(),
            late = of.late_ns as f64 / 1e9,
            already_late = of.already_late as f64,
            missed = of.missed as f64,
            naps = of.naps as f64,
            slept = of.slept_ns as f64 / 1e9,
            spun = of.spun_ns as f64 / 1e9,
            hits = of.hit_budget as f64,
            preempted_spins = of.preempted_spins as f64,
        )
    }

    fn escaped(value: &str) -> String {
        value
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(ns: u64) -> Outcome {
        Outcome {
            late: Nanos::new(ns),
            naps: 1,
            ..Outcome::default()
        }
    }

    #[test]
    fn bins_follow_each_other_and_are_narrow() {
        let mut before = 0;
        for at in 0..BINS - 1 {
            let end = end_of(at);
            assert_eq!((bin(end), bin(end + 1)), (at, at + 1));
            if at > 15 {
                assert!((end - before) * 8 <= before + 1, "{at}: {before} to {end}");
            }
            before = end;
        }
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn quantiles_are_at_most_an_eighth_too_large() {
        let mut seen = Statistics::new();
        assert_eq!(seen.lateness_quantile(0.5), None);
        let all: Vec<u64> = (0..10_000).map(|i| i * i).collect();
        all.iter().for_each(|ns| seen.record(&late(*ns)));
        for q in [0.0, 0.001, 0.5, 0.9, 0.999, 1.0] {
            let exact = all[((q * 1e4) as usize).saturating_sub(1)];
            let found = seen.lateness_quantile(q).unwrap().as_nanos() as u64;
            assert!(
                (exact..=exact + exact / 8).contains(&found),
                "{q}: {found} for {exact}"
            );
        }
        assert_eq!(seen.max_lateness(), Duration::from_nanos(9_999 * 9_999));
        assert_eq!(seen.lateness_quantile(1.0), Some(seen.max_lateness()));
        seen.record(&late(1 << 40));
        assert_eq!(seen.lateness_quantile(1.0), Some(seen.max_lateness()));
    }

    #[test]
    fn in_words_it_is_one_line() {
        let mut seen = Statistics::new();
        assert!(seen.to_string().starts_with("0 waits, 0ns late at p50"));
        [7, 8, 9_000].iter().for_each(|ns| seen.record(&late(*ns)));
        seen.miss(2);
        let said =
            "3 waits, 8ns late at p50, 9µs at p99, 9µs at most; 2 missed; spun 0.00 % of the time";
        assert_eq!(seen.to_string(), said);
    }

    #[test]
    fn what_is_merged_is_what_one_would_have_seen() {
        let (mut one, mut other, mut both) =
            (Statistics::new(), Statistics::new(), Statistics::new());
        for ns in 0..1_000 {
            let outcome = Outcome {
                spun: Nanos::new(ns % 3),
                slept: Nanos::new(2 * ns),
                naps: (ns % 2) as u32,
                hit_budget: ns % 7 == 0,
                late: Nanos::new(ns * ns),
                ..Outcome::default()
            };
            if ns % 5 == 0 { &mut one } else { &mut other }.record(&outcome);
            both.record(&outcome);
        }
        one.miss(3);
        both.miss(3);
        one.merge(&other);
        assert_eq!(one, both);
    }

    #[test]
    fn a_spin_that_ends_late_was_preempted() {
        let mut seen = Statistics::new();
        let spun = |late_us| Outcome {
            spun: Nanos::from_us(5),
            late: Nanos::from_us(late_us),
            ..Outcome::default()
        };
        seen.record(&spun(100));
        seen.record(&late(5_000_000));
        assert_eq!(seen.preempted_spins(), 0);
        seen.record(&spun(101));
        assert_eq!((seen.preempted_spins(), seen.already_late()), (1, 0));
        seen.record(&Outcome::of_past_deadline(Duration::from_secs(1)));
        assert_eq!(
            (seen.preempted_spins(), seen.already_late(), seen.waits()),
            (1, 1, 4)
        );
    }

    #[cfg(feature = "hdrhistogram")]
    #[test]
    fn an_hdrhistogram_has_the_same_counts() {
        let mut seen = Statistics::new();
        (0..1_000).for_each(|us| seen.record(&late(us * 1_000)));
        let histogram = seen.to_hdrhistogram();
        assert_eq!(histogram.len(), 1_000);
        let (ours, theirs) = (
            seen.lateness_quantile(0.9),
            histogram.value_at_quantile(0.9),
        );
        assert!(theirs.abs_diff(ours.unwrap().as_nanos() as u64) <= theirs / 500);
    }

    #[cfg(feature = "prometheus")]
    #[test]
    fn no_bucket_falls_when_a_wait_is_added() {
        let counts = |seen: &Statistics| -> Vec<u64> {
            let text = seen.to_prometheus(&[]);
            let buckets = text.lines().filter(|line| line.contains("_bucket"));
            let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse().unwrap();
            buckets.map(count).collect()
        };
        let (mut seen, mut before) = (Statistics::new(), vec![0; 19]);
        for n in 0..2_000u64 {
            seen.record(&late(n * n * 300));
            let now = counts(&seen);
            assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
            assert!(now.is_sorted());
            before = now;
        }
    }

    #[cfg(feature = "prometheus")]
    #[test]
    fn prometheus_reads_its_histogram_and_labels() {
        let mut seen = Statistics::new();
        for ns in [500, 1_500, 30_000_000_000] {
            seen.record(&late(ns));
        }
        let text = seen.to_prometheus(&[("loop", "a\"b\n")]);
        for line in [
            "punctual_lateness_seconds_bucket{loop=\"a\\\"b\\n\",le=\"0.000001\"} 1\n",
            "punctual_lateness_seconds_bucket{loop=\"a\\\"b\\n\",le=\"0.000002\"} 2\n",
            "punctual_lateness_seconds_bucket{loop=\"a\\\"b\\n\",le=\"+Inf\"} 3\n",
            "punctual_lateness_seconds_count{loop=\"a\\\"b\\n\"} 3\n",
            "punctual_naps_total{loop=\"a\\\"b\\n\"} 3\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let plain = seen.to_prometheus(&[]);
        assert!(
            plain.contains("punctual_lateness_seconds_bucket{le=\"1\"} 2\n"),
            "{plain}"
        );
        assert!(plain.contains("punctual_lateness_seconds_count 3\n"));
    }
}
