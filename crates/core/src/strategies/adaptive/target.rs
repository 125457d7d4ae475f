//! A target for lateness or CPU time, met by setting the weight.

use std::fmt;
use std::str::FromStr;

use crate::time::Nanos;

/// A target of a waiter, which takes the place of a weight that the user chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Target {
    /// Late by more than this length in at most this share of waits.
    pub late: Option<(Nanos, f32)>,
    /// At most this share of a CPU spent spinning.
    pub spin: Option<f32>,
}

impl Target {
    /// The share of late waits that a target can have. A lower share takes too long to learn, and
    /// half of all waits needs no target.
    pub const OFTEN: std::ops::RangeInclusive<f32> = 0.0005..=0.5;
    /// The least share of a CPU to spin that a target may have.
    pub const SPIN_MIN: f32 = 0.0001;

    /// # Errors
    /// The value that is out of range, and the range.
    pub fn check(&self) -> Result<(), String> {
        if let Some((by, often)) = self.late {
            if by.is_zero() {
                return Err("late by more than 0 is every wait: ask for 1us or more".to_owned());
            }
            if !Self::OFTEN.contains(&often) {
                return Err(format!(
                    "late at most {often} of the time: it goes from 0.0005 to 0.5"
                ));
            }
        }
        match self.spin {
            Some(share) if !(Self::SPIN_MIN..=1.0).contains(&share) => Err(format!(
                "spin at most {share} of a CPU: it goes from 0.0001 to 1"
            )),
            _ => Ok(()),
        }
    }
}

/// Late by more than a length in at most a share of waits: `50us/1%`.
pub(crate) struct LateAtMost(pub(crate) (Nanos, f32));

impl fmt::Display for LateAtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self((by, often)) = self;
        write!(f, "{}/{}%", by.exact(), often * 100.0)
    }
}

impl FromStr for LateAtMost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = |(by, often): (&str, &str)| Some(Self((by.parse().ok()?, percent(often)?)));
        text.split_once('/').and_then(read).ok_or_else(|| {
            format!("`late={text}`: write by how much, and at most how often, like 50us/1%")
        })
    }
}

/// `5%` as 0.05.
pub(crate) fn percent(text: &str) -> Option<f32> {
    let percent: f32 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Some(percent / 100.0)
}

/// How well a target is met.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetStatus {
    /// The weight of lateness that is in force.
    pub late_weight: f32,
    /// The share of recent waits that were late by more than the target allows.
    pub late_share: f32,
    /// The share of the time spent spinning.
    pub spun_share: f32,
    /// Which bound decides the weight.
    pub limited_by: LimitedBy,
    /// The result of each weight that was tried, the lightest first: the choice that this machine
    /// offers.
    pub tradeoffs: Vec<Tradeoff>,
}

/// Which bound decides how much a waiter spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitedBy {
    /// Too few waits to judge.
    Learning,
    /// Neither: the lowest weight meets both limits.
    Neither,
    /// Both limits are met; without the limit on lateness the weight would be lower.
    Lateness,
    /// Spinning takes more than half of its limit. The limit on lateness is met, if there is one.
    Spinning,
    /// The limit on lateness is not met: this computer cannot meet it, or not with so little spinning.
    Unreachable,
}

/// Waits with weights of one order of magnitude.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tradeoff {
    /// The weight.
    pub late_weight: f32,
    /// How many waits; long past ones count half.
    pub waits: f32,
    /// The share of them that were late by more than the target allows.
    pub late_share: f32,
    /// The share of the time spent spinning.
    pub spun_share: f32,
}

/// The range of weights: below it a waiter spins hardly less, above it hardly more.
const LIGHTEST: f32 = 0.01;
const HEAVIEST: f32 = 10_000.0;
/// By this the logarithm of the weight falls at most with each wait that was in time. A
/// faster fall goes too far before a wait that is late tells.
const FALL: f32 = 0.02;
/// The weight at most doubles with a wait that was not in time. More makes it swing, which
/// spins more on average.
const RISE_MAX: f32 = std::f32::consts::LN_2;
/// It aims at this part of the share that the target allows, as the actual one scatters about the aim.
const AIM: f32 = 0.6;
/// And at this part of the spinning that the target allows; the budget enforces the rest.
const SPIN_AIM: f32 = 0.8;
/// The list of trade-offs has a row for each power of ten.
const POWERS: usize = 7;
/// A row of that list is halved at this many waits.
const MEMORY: f32 = 4_096.0;
/// The logarithm of the weight must change by this much to take effect.
const STEP: f32 = 0.1;

/// Sets the weight so that a target is met.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Keeper {
    target: Target,
    /// The logarithm of the weight aimed for.
    weight: f32,
    in_force: f32,
    waits: u32,
    late_share: f32,
    /// The mean time spun in a wait, and from wait to wait.
    spun_ns: f32,
    all_ns: f32,
    /// When the last wait began, and how late it ended.
    began: Option<u64>,
    pub(super) late: Option<Nanos>,
    /// Of each power of ten: waits, late waits, time spun, time passed.
    tried: [[f32; 4]; POWERS],
}

impl Keeper {
    /// One of the same target that has seen nothing.
    pub(super) fn anew(&self, weight: f32) -> Self {
        Self::new(self.target, weight)
    }

    pub(super) fn new(target: Target, weight: f32) -> Self {
        Self {
            target,
            weight: weight.ln(),
            in_force: weight,
            waits: 0,
            late_share: 0.0,
            spun_ns: 0.0,
            all_ns: 0.0,
            began: None,
            late: None,
            tried: [[0.0; 4]; POWERS],
        }
    }

    /// Over how many waits shares are taken: the allowed share of late waits happens a dozen
    /// times in it.
    fn window(&self) -> f32 {
        let often = self.target.late.map_or(0.05, |(_, often)| often);
        (12.0 / often).max(64.0)
    }

    /// Learns from the last wait, which spun for `spun_ns`, as the next begins `now`. The
    /// weight, if it changes.
    pub(super) fn settle(&mut self, now: u64, spun_ns: f32) -> Option<f32> {
        let began = self.began.replace(now);
        let (late, began) = (self.late.take()?, began?);
        let passed_ns = now.saturating_sub(began).max(1) as f32;
        let is_late = self.target.late.is_some_and(|(by, _)| late > by);
        self.waits = self.waits.saturating_add(1);
        let part = 1.0 / self.window().min(self.waits as f32);
        self.late_share += part * (f32::from(u8::from(is_late)) - self.late_share);
        self.spun_ns += part * (spun_ns - self.spun_ns);
        self.all_ns += part * (passed_ns - self.all_ns);
        let tried = &mut self.tried[power(self.in_force)];
        if tried[0] >= MEMORY {
            tried.iter_mut().for_each(|sum| *sum /= 2.0);
        }
        for (sum, more) in
            tried
                .iter_mut()
                .zip([1.0, f32::from(u8::from(is_late)), spun_ns, passed_ns])
        {
            *sum += more;
        }
        self.weight = (self.weight + self.step(is_late)).clamp(LIGHTEST.ln(), HEAVIEST.ln());
        let sought = self.weight.exp();
        let is_another = (sought / self.in_force).ln().abs() > STEP;
        is_another.then(|| {
            self.in_force = sought;
            sought
        })
    }

    fn spun_share(&self) -> f32 {
        self.spun_ns / self.all_ns.max(1.0)
    }

    /// The change of the logarithm of the weight.
    fn step(&self, is_late: bool) -> f32 {
        let over_spin = |share: f32| self.spun_share() / (SPIN_AIM * share) - 1.0;
        let too_much = self.target.spin.map(over_spin);
        let Some((_, often)) = self.target.late else {
            // As exact as the allowed spinning makes it.
            return -FALL * too_much.unwrap_or_default().clamp(-1.0, 2.0);
        };
        if let Some(too_much) = too_much.filter(|too_much| *too_much > 0.0) {
            return -FALL * too_much.min(2.0);
        }
        // Rises and falls cancel out where waits are late as often as aimed for.
        let odds = AIM * often / (1.0 - AIM * often);
        let fall = FALL.min(RISE_MAX * odds);
        if is_late { fall / odds } else { -fall }
    }

    pub(super) fn target_status(&self) -> TargetStatus {
        let tried = self.tried.iter().enumerate();
        let tradeoffs = tried.filter(|(_, tried)| tried[0] > 0.0);
        TargetStatus {
            late_weight: self.in_force,
            late_share: self.late_share,
            spun_share: self.spun_share(),
            limited_by: self.limited_by(),
            tradeoffs: tradeoffs
                .map(|(power, [waits, late, spun_ns, all_ns])| Tradeoff {
                    late_weight: LIGHTEST * 10f32.powi(power as i32),
                    waits: *waits,
                    late_share: late / waits,
                    spun_share: spun_ns / all_ns,
                })
                .collect(),
        }
    }

    fn limited_by(&self) -> LimitedBy {
        if (self.waits as f32) < self.window() {
            return LimitedBy::Learning;
        }
        let is_spent = (self.target.spin).is_some_and(|share| self.spun_share() > 0.5 * share);
        let is_lightest = self.in_force < LIGHTEST * 2.0;
        match self.target.late {
            // Far above the aim, so not by chance.
            Some((_, often)) if self.late_share > often => LimitedBy::Unreachable,
            _ if is_spent => LimitedBy::Spinning,
            Some(_) if !is_lightest => LimitedBy::Lateness,
            _ => LimitedBy::Neither,
        }
    }
}

/// The index of the power of ten that a weight is nearest to.
fn power(weight: f32) -> usize {
    (weight / LIGHTEST)
        .log10()
        .round()
        .clamp(0.0, (POWERS - 1) as f32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits of 1 ms each, late as often and spun as much as the weight in force has it.
    fn play(target: Target, waits: u32, of: impl Fn(f32, u32) -> (u64, f32)) -> TargetStatus {
        let mut keeper = Keeper::new(target, 10.0);
        let mut spun_ns = 0.0;
        for n in 0..waits {
            keeper.settle(u64::from(n) * 1_000_000, spun_ns);
            let (late_us, spun_us) = of(keeper.in_force, n);
            keeper.late = Some(Nanos::from_us(late_us));
            spun_ns = 1e3 * spun_us;
        }
        keeper.target_status()
    }

    /// A machine on which one wait in ten is late at weight 1, and one in a hundred at 10; it
    /// spins for 10 us at weight 1, and twice as long with each power.
    fn machine(weight: f32, n: u32) -> (u64, f32) {
        let often = (0.1 / weight).min(1.0);
        // As regular as can be without being in step with anything.
        let draw = (f64::from(n) * 0.618_034).fract();
        let late_us = if draw < often.into() { 80 } else { 0 };
        (late_us, 10.0 * 2f32.powf(weight.log10()))
    }

    #[test]
    fn a_target_of_lateness_is_met_with_little_more_than_it_takes() {
        for often in [0.2, 0.05, 0.01, 0.002] {
            let target = Target {
                late: Some((Nanos::from_us(50), often)),
                spin: None,
            };
            let kept = play(target, 200_000, machine);
            assert!(kept.late_share <= often, "{often}: {kept:?}");
            let needed = 0.1 / often;
            let over = kept.late_weight / needed;
            assert!((0.5..=20.0).contains(&over), "{often}: {kept:?}");
            assert_eq!(kept.limited_by, LimitedBy::Lateness);
        }
    }

    #[test]
    fn a_target_of_spinning_is_met_and_used() {
        // Weight 10 spins for 2 %, weight 100 for 4 %.
        let target = Target {
            late: None,
            spin: Some(0.04),
        };
        let kept = play(target, 20_000, machine);
        assert!((0.02..=0.04).contains(&kept.spun_share), "{kept:?}");
        assert_eq!(kept.limited_by, LimitedBy::Spinning);
    }

    #[test]
    fn targets_that_exclude_each_other_are_unreachable_and_show_tradeoffs() {
        let target = Target {
            late: Some((Nanos::from_us(50), 0.001)),
            spin: Some(0.02),
        };
        let kept = play(target, 100_000, machine);
        assert_eq!(kept.limited_by, LimitedBy::Unreachable, "{kept:?}");
        assert!(kept.spun_share <= 0.02, "{kept:?}");
        let tried = |weight: f32| {
            kept.tradeoffs
                .iter()
                .find(|t| power(t.late_weight) == power(weight))
        };
        let at_ten = tried(10.0).expect("it began there");
        assert!((0.003..=0.04).contains(&at_ten.late_share), "{kept:?}");
        // A lateness that no weight can keep, at the heaviest one.
        let alone = Target {
            spin: None,
            ..target
        };
        let kept = play(alone, 100_000, |_, n| (u64::from(n % 10 == 0) * 80, 5.0));
        assert_eq!(kept.limited_by, LimitedBy::Unreachable);
        assert!(kept.late_weight > 5_000.0, "{kept:?}");
    }

    #[test]
    fn what_is_kept_with_nothing_binds_nothing() {
        let target = Target {
            late: Some((Nanos::from_us(500), 0.01)),
            spin: Some(0.5),
        };
        let kept = play(target, 2_000, machine);
        assert_eq!(kept.limited_by, LimitedBy::Neither, "{kept:?}");
        let kept = play(target, 20, machine);
        assert_eq!(kept.limited_by, LimitedBy::Learning);
    }

    #[test]
    fn it_comes_back_after_the_machine_changed() {
        let target = Target {
            late: Some((Nanos::from_us(50), 0.01)),
            spin: None,
        };
        // For a while everything is late, whatever is spun.
        let kept = play(target, 60_000, |weight, n| match n {
            10_000..20_000 => (80, 10.0),
            _ => machine(weight, n),
        });
        assert!(kept.late_share <= 0.01, "{kept:?}");
        assert!(kept.late_weight < 200.0, "{kept:?}");
    }
}
