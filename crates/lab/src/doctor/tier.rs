//! Which latency tier of macOS a thread is in, from how long a long sleep
//! takes.

use punctual_core::{Method, Nanos};
use punctual_program::program::Op;
use punctual_program::{Machine, Program};
use punctual_record::Late;
use punctual_sim::{Model, SimMachine};

use super::cases::LONG;

/// A tier that a measurement points to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tier {
    /// As the model `macos` calls it.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// How late a sleep of 100 ms is in it when nothing else interrupts its CPU.
    pub cap: Nanos,
    /// Whether the sleeps ended where the tier ends them, and not sooner.
    pub at_the_edge: bool,
}

/// Those whose caps differ, the least first (XNU, osfmk/arm/arm_timer.c).
const TIERS: [(&str, &str); 4] = [
    ("none", "tier 0, 4, 5 or none: 12.5 %, at most 1 ms"),
    ("1", "tier 1: 25 %, at most 5 ms"),
    ("2", "tier 2: 50 %, at most 20 ms"),
    ("3", "tier 3: 400 %, at most 75 ms"),
];

/// The tier with the least cap that allows what was measured of sleeps of
/// 100 ms; `None` for too few of them, and for sleeps that are later than any
/// tier makes them.
///
/// An interrupt inside the window ends a sleep sooner, so a larger cap is
/// possible too; it is unlikely only if the sleeps end at the edge.
pub fn of(late: &Late) -> Option<Tier> {
    let p50 = late.p50?;
    let tiers = TIERS.into_iter().filter_map(|(name, what)| {
        let cap = predicted_late(name, LONG)?;
        Some(Tier {
            name,
            what,
            cap,
            at_the_edge: p50 * 5 >= i64::try_from(cap.as_ns()).ok()? * 4,
        })
    });
    // What waking up takes comes on top.
    let allows = |tier: &Tier| {
        let cap = i64::try_from(tier.cap.as_ns()).unwrap_or(i64::MAX);
        p50 <= cap + (cap / 5).max(500_000)
    };
    let mut tiers = tiers;
    tiers.find(allows)
}

/// How late a wait of this length is in a tier, by the model.
pub fn predicted_late(tier: &str, length: Nanos) -> Option<Nanos> {
    let model = Model::parse(&format!("macos,tier={tier},wake=0ns,nap=0ns")).ok()?;
    let program = Program {
        subjects: vec![],
        ops: vec![Op::Block {
            method: Method::Sleep,
            length,
            tolerance: Nanos::ZERO,
        }],
    };
    let seen = SimMachine::new(model, 1).run(&program).ok()?;
    let late = seen.threads.first()?.sections.first()?.samples.first()?;
    u64::try_from(late.outcome.late.as_ns())
        .ok()
        .map(Nanos::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ms: f64) -> Option<(&'static str, bool)> {
        let samples = [(ms * 1e6) as i64; 24];
        of(&Late::of(&samples)).map(|tier| (tier.name, tier.at_the_edge))
    }

    /// facts: tier 1 sleeps 100 ms for at most 105, tier 3 for at most 175.
    #[test]
    fn long_sleeps_tell_tiers_apart() {
        assert_eq!(found(1.02), Some(("none", true)));
        assert_eq!(found(5.01), Some(("1", true)));
        assert_eq!(found(3.0), Some(("1", false)));
        assert_eq!(found(20.1), Some(("2", true)));
        assert_eq!(found(75.2), Some(("3", true)));
        assert_eq!(found(40.0), Some(("3", false)));
        assert_eq!(found(100.0), None);
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(of(&Late::of(&[5_000_000; 19])), None);
    }
}
