//! The threads of one name in one phase.

use std::collections::BTreeMap;

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::Sample;
use punctual_program::machine::Section;
use punctual_record::{nearest_rank, percentile};

use super::expect::{Figure, Series, Stat, energy_impact};

/// The threads of one name in one phase, taken together: the samples of all,
/// and the mean of their rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// How many threads there were.
    pub(super) threads: u64,
    /// The length of the phase, for each of them.
    pub(super) elapsed: Nanos,
    pub(super) cpu: Nanos,
    /// The least and the greatest share of a CPU that one of them takes.
    pub(super) cpu_shares: Option<(f64, f64)>,
    pub(super) queued: Nanos,
    /// How often waking one of them ended the rest of an idle CPU; `None` where it is not counted.
    pub(super) wakeups: Option<u64>,
    /// How many sleeps and waits ended.
    pub(super) wakes: u64,
    pub(super) naps: u64,
    pub(super) missed: u64,
    pub(super) denied: u64,
    /// The sleeps and waits whose lengths count, thread by thread, in order.
    pub(super) sleeps: Vec<Sleep>,
    /// The sleeps that began in an earlier phase and therefore count as wakes only.
    pub(super) began_before: Vec<Sleep>,
    /// The times from one wake of a thread to its next.
    pub(super) frames: Vec<u64>,
    /// From the signal to the end, of waits that an event ended.
    pub(super) since_signal: Vec<u64>,
    /// The readings, thread by thread, in order, in nanoseconds.
    pub(super) readings: BTreeMap<Probe, Vec<u64>>,
}

/// One sleep or wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep {
    pub(super) asked: Nanos,
    /// From the call to the end.
    pub(super) slept: Nanos,
    /// How long after the time asked for it ended; `None` if an event ended it.
    pub(super) late: Option<i64>,
    /// When it ended, counted from the beginning of the experiment.
    pub(super) woke: Nanos,
    /// Whether it began in the phase in which it ended.
    began_here: bool,
}

impl Group {
    /// Adds what one thread did in a phase of this `length`, in a section that began at
    /// `began`. Rates are of the phase, also where the thread was there for a part of it.
    pub(super) fn add(&mut self, began: Nanos, length: Nanos, section: &Section) {
        self.threads += 1;
        self.elapsed += length;
        self.cpu += section.cpu.thread.unwrap_or_default();
        if !length.is_zero() {
            let used = section.cpu.thread.unwrap_or_default();
            let share = used.as_ns() as f64 / length.as_ns() as f64;
            let (least, most) = self.cpu_shares.unwrap_or((share, share));
            self.cpu_shares = Some((least.min(share), most.max(share)));
        }
        self.queued += section.cpu.queued.unwrap_or_default();
        if let Some(wakeups) = section.cpu.wakeups {
            *self.wakeups.get_or_insert(0) += wakeups;
        }
        self.denied += section.denied;
        self.wakes += section.samples.len() as u64;
        for sample in &section.samples {
            self.naps += u64::from(sample.outcome.naps);
            self.missed += sample.missed;
            self.sleeps.push(Sleep::of(began, &sample));
            let since = sample.since_signal.map(Nanos::as_ns);
            self.since_signal.extend(since);
        }
        let frames = section.samples.gaps();
        self.frames.extend(frames.map(Nanos::as_ns));
        for reading in &section.readings {
            let read = self.readings.entry(reading.probe).or_default();
            read.push(reading.value.as_ns());
        }
    }

    /// All threads are in.
    ///
    /// A sleep that began in the phase before was under that phase's rule. It counts as a wake,
    /// and its length counts only if there is no other sleep.
    pub(super) fn finish(mut self) -> Self {
        if self.sleeps.iter().any(|sleep| sleep.began_here) {
            let sleeps = std::mem::take(&mut self.sleeps).into_iter();
            (self.sleeps, self.began_before) = sleeps.partition(|sleep| sleep.began_here);
        }
        self.frames.sort_unstable();
        self.since_signal.sort_unstable();
        self
    }

    /// In order of length.
    pub(super) fn slept(&self) -> Vec<u64> {
        sorted(self.sleeps.iter().map(|sleep| sleep.slept.as_ns()))
    }

    /// In the order of the sleeps.
    pub(super) fn late(&self) -> Vec<i64> {
        self.sleeps.iter().filter_map(|sleep| sleep.late).collect()
    }

    /// The number per second and thread.
    pub(super) fn per_s(&self, count: u64) -> Option<f64> {
        (!self.elapsed.is_zero()).then(|| count as f64 / self.elapsed.as_secs_f64())
    }

    /// The share of a CPU that each thread takes.
    pub(super) fn cpu_share(&self) -> Option<f64> {
        let share = self.cpu.as_ns() as f64 / self.elapsed.as_ns() as f64;
        (!self.elapsed.is_zero()).then_some(share)
    }

    /// A figure of these threads; `None` if nothing was seen, or too little.
    pub(super) fn figure(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::WakesPerS => self.per_s(self.wakes),
            Figure::Of(Series::Slept, stat) => stat_of(&signed(&self.slept()), stat),
            Figure::Of(Series::Late, stat) => stat_of(&sorted(self.late().into_iter()), stat),
            Figure::Of(Series::Signal, stat) => stat_of(&signed(&self.since_signal), stat),
            Figure::Of(Series::Frame, stat) => stat_of(&signed(&self.frames), stat),
            Figure::Reading(probe) => mean(self.readings.get(&probe)?),
            Figure::MissedPerS => self.per_s(self.missed),
            Figure::Cpu => self.cpu_share(),
            Figure::WakeupsPerS => self.per_s(self.wakeups?),
            Figure::EnergyImpact => {
                Some(energy_impact(self.cpu_share()?, self.per_s(self.wakeups?)?))
            }
            Figure::InterruptsPerS
            | Figure::SwitchesPerS
            | Figure::GoodIdle
            | Figure::Busy
            | Figure::Power => None,
        }
    }
}

impl Sleep {
    fn of(began: Nanos, sample: &Sample) -> Self {
        let late = sample.outcome.late.as_ns();
        let slept = match u64::try_from(late) {
            Ok(late) => sample.asked + Nanos::new(late),
            Err(_) => sample.asked - Nanos::new(late.unsigned_abs()),
        };
        Self {
            asked: sample.asked,
            slept,
            late: (!sample.outcome.by_event).then_some(late),
            woke: began + sample.woke,
            began_here: sample.woke >= slept,
        }
    }
}

/// Whether a wait began in the section in which it ended.
pub(super) fn began_here(sample: &Sample) -> bool {
    Sleep::of(Nanos::ZERO, sample).began_here
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

fn signed(lengths: &[u64]) -> Vec<i64> {
    lengths
        .iter()
        .map(|ns| i64::try_from(*ns).unwrap_or(i64::MAX))
        .collect()
}

/// A statistic of sorted lengths.
fn stat_of(sorted: &[i64], stat: Stat) -> Option<f64> {
    let found = match stat {
        Stat::Mean => {
            let sum: i128 = sorted.iter().copied().map(i128::from).sum();
            return (!sorted.is_empty()).then(|| sum as f64 / sorted.len() as f64);
        }
        Stat::Sd => return deviation(sorted),
        Stat::P50 => nearest_rank(sorted, 500),
        Stat::P90 => percentile(sorted, 900),
        Stat::P99 => percentile(sorted, 990),
        Stat::P999 => percentile(sorted, 999),
        Stat::Min => sorted.first().copied(),
        Stat::Max => sorted.last().copied(),
    };
    found.map(|ns| ns as f64)
}

/// The arithmetic mean; `None` of nothing.
pub(super) fn mean(values: &[u64]) -> Option<f64> {
    let sum: u128 = values.iter().copied().map(u128::from).sum();
    (!values.is_empty()).then(|| sum as f64 / values.len() as f64)
}

/// The standard deviation of a sample; `None` of fewer than two.
fn deviation(values: &[i64]) -> Option<f64> {
    let n = values.len() as f64;
    let values = || values.iter().map(|value| *value as f64);
    let mean = values().sum::<f64>() / n;
    let squares: f64 = values().map(|value| (value - mean) * (value - mean)).sum();
    (n > 1.0).then(|| (squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_core::Outcome;
    use punctual_core::time::Lateness;
    use punctual_program::machine::CpuUse;
    use punctual_program::machine::Reading;

    const LENGTH: Nanos = Nanos::from_ms(100);

    fn sample(asked: u64, woke: u64, late: i64) -> Sample {
        Sample {
            asked: Nanos::from_ms(asked),
            woke: Nanos::from_ms(woke),
            outcome: Outcome {
                late: Lateness::new(late * 1_000_000),
                naps: 1,
                ..Outcome::default()
            },
            ..Sample::default()
        }
    }

    fn section(samples: &[Sample]) -> Section {
        Section {
            samples: samples.to_vec().into(),
            cpu: CpuUse {
                elapsed: Nanos::from_ms(100),
                thread: Some(Nanos::from_ms(10)),
                wakeups: Some(2),
                ..CpuUse::default()
            },
            ..Section::default()
        }
    }

    #[test]
    fn threads_of_a_name_share_samples_and_have_the_mean_of_their_rates() {
        let mut group = Group::default();
        group.add(
            Nanos::from_ms(50),
            LENGTH,
            &section(&[sample(5, 10, 1), sample(5, 20, 3)]),
        );
        group.add(Nanos::ZERO, LENGTH, &section(&[sample(5, 30, 5)]));
        let group = group.finish();
        assert_eq!(group.threads, 2);
        assert_eq!(group.figure(Figure::WakesPerS), Some(15.0));
        assert_eq!(group.figure(Figure::Cpu), Some(0.1));
        assert_eq!(
            group.figure(Figure::Of(Series::Slept, Stat::Mean)),
            Some(8e6)
        );
        assert_eq!(group.figure(Figure::Of(Series::Late, Stat::Max)), Some(5e6));
        assert_eq!(
            group.figure(Figure::Of(Series::Frame, Stat::Max)),
            Some(10e6)
        );
        assert_eq!(group.sleeps[0].woke, Nanos::from_ms(60));
        assert_eq!(group.figure(Figure::Of(Series::Signal, Stat::P50)), None);
        assert_eq!(group.figure(Figure::Busy), None);
        assert_eq!(group.figure(Figure::WakeupsPerS), Some(20.0));
        // A tenth of a CPU, and 20 wake-ups of 0.02 each.
        assert_eq!(group.figure(Figure::EnergyImpact), Some(10.4));
    }

    #[test]
    fn rates_are_of_the_phase_however_short_a_thread_lives() {
        let mut group = Group::default();
        group.add(
            Nanos::ZERO,
            Nanos::from_ms(1_000),
            &section(&[sample(5, 10, 1)]),
        );
        assert_eq!(group.figure(Figure::WakesPerS), Some(1.0));
        assert_eq!(group.figure(Figure::Cpu), Some(0.01));
        assert_eq!(group.cpu_shares, Some((0.01, 0.01)));
    }

    #[test]
    fn spread_and_tails_are_figures() {
        let mut group = Group::default();
        let mut samples: Vec<Sample> = (1..=20_u64)
            .map(|ms| sample(1, 2 * ms, ms as i64))
            .collect();
        samples[19].missed = 3;
        group.add(Nanos::ZERO, Nanos::from_ms(500), &section(&samples));
        let group = group.finish();
        // Of 1 to 20: the root of (20 x 20 - 1) / 12 x 20 / 19, which is 35.
        assert_eq!(
            group.figure(Figure::Of(Series::Late, Stat::Sd)),
            Some(1e6 * 35_f64.sqrt())
        );
        assert_eq!(
            group.figure(Figure::Of(Series::Slept, Stat::Sd)),
            Some(1e6 * 35_f64.sqrt())
        );
        assert_eq!(group.figure(Figure::Of(Series::Frame, Stat::Sd)), Some(0.0));
        assert_eq!(group.figure(Figure::MissedPerS), Some(6.0));
        for of_few in [
            Figure::Of(Series::Late, Stat::P90),
            Figure::Of(Series::Late, Stat::P999),
            Figure::Of(Series::Slept, Stat::P999),
        ] {
            assert_eq!(group.figure(of_few), None, "{of_few}");
        }
        let mut many = Group::default();
        let samples: Vec<Sample> = (1..=200_u64)
            .map(|ms| sample(1, 2 * ms, ms as i64))
            .collect();
        many.add(Nanos::ZERO, Nanos::from_ms(500), &section(&samples));
        assert_eq!(
            many.finish().figure(Figure::Of(Series::Late, Stat::P90)),
            Some(180e6)
        );
    }

    #[test]
    fn what_began_in_the_phase_before_counts_as_a_wake_only() {
        let before = sample(15, 2, 0);
        let mut group = Group::default();
        group.add(Nanos::ZERO, LENGTH, &section(&[before, sample(1, 4, 1)]));
        let group = group.finish();
        assert_eq!((group.wakes, group.sleeps.len()), (2, 1));
        assert_eq!(group.began_before[0].slept, Nanos::from_ms(15));
        assert_eq!(
            group.figure(Figure::Of(Series::Slept, Stat::Max)),
            Some(2e6)
        );

        let mut alone = Group::default();
        alone.add(Nanos::ZERO, LENGTH, &section(&[before]));
        assert_eq!(
            alone.finish().figure(Figure::Of(Series::Slept, Stat::Max)),
            Some(15e6)
        );
    }

    #[test]
    fn an_event_makes_nothing_late() {
        let mut by_event = sample(1_000, 7, -995);
        by_event.outcome.by_event = true;
        by_event.since_signal = Some(Nanos::from_us(3));
        let mut group = Group::default();
        group.add(Nanos::ZERO, LENGTH, &section(&[by_event]));
        let group = group.finish();
        assert_eq!(group.figure(Figure::Of(Series::Late, Stat::Max)), None);
        assert_eq!(
            group.figure(Figure::Of(Series::Slept, Stat::Max)),
            Some(5e6)
        );
        assert_eq!(
            group.figure(Figure::Of(Series::Signal, Stat::P50)),
            Some(3e3)
        );
        assert_eq!(
            group.figure(Figure::Of(Series::Signal, Stat::Max)),
            Some(3e3)
        );
        assert_eq!(
            group.figure(Figure::Of(Series::Signal, Stat::P99)),
            None,
            "one sample has no p99"
        );
    }

    #[test]
    fn readings_are_means() {
        let reading = |ms| Reading {
            probe: Probe::Resolution,
            value: Nanos::from_ms(ms),
        };
        let mut group = Group::default();
        group.add(
            Nanos::ZERO,
            LENGTH,
            &Section {
                readings: vec![reading(1), reading(2)],
                ..section(&[])
            },
        );
        let figure = group.figure(Figure::Reading(Probe::Resolution));
        assert_eq!(figure, Some(1.5e6));
        let all = BTreeMap::from([(Probe::Resolution, vec![1_000_000, 2_000_000])]);
        assert_eq!(group.readings, all);
    }
}
