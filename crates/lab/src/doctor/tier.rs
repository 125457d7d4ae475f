//! Which latency tier of macOS a thread is in, from how long a long sleep
//! takes.

use punctual_core::{Method, Nanos};
use punctual_program::Machine;
use punctual_program::program::Op;
use punctual_record::{FoundTier, Late, LatencyTier};
use punctual_sim::{Model, SimMachine};

use super::cases::LONG;

/// Those whose caps differ, as the model `macos` calls them, the least first (XNU,
/// osfmk/arm/arm_timer.c).
const TIERS: [(LatencyTier, &str); 4] = [
    (LatencyTier::Least, "none"),
    (LatencyTier::One, "1"),
    (LatencyTier::Two, "2"),
    (LatencyTier::Three, "3"),
];

/// The tier with the least cap that allows what was measured of sleeps of
/// 100 ms; `None` for too few of them, and for sleeps that are later than any
/// tier makes them.
///
/// An interrupt inside the window ends a sleep sooner, so a larger cap is
/// possible too; it is unlikely only if the sleeps end at the edge.
pub fn of(late: &Late) -> Option<FoundTier> {
    let p50 = late.p50?;
    TIERS.into_iter().find_map(|(tier, name)| {
        let cap = i64::try_from(predicted_late(name, LONG)?.as_ns()).ok()?;
        // What waking up takes comes on top.
        (p50 <= cap + (cap / 5).max(500_000)).then_some(FoundTier {
            tier,
            at_the_edge: p50 * 5 >= cap * 4,
        })
    })
}

/// How late a wait of this length is in a tier, by the model.
pub fn predicted_late(tier: &str, length: Nanos) -> Option<Nanos> {
    let model = Model::parse(&format!("macos,tier={tier},interrupts=0,wake=0ns,nap=0ns")).ok()?;
    let nap = vec![Op::nap(Method::Sleep, length)];
    let seen = SimMachine::new(model, 1).run(&nap.into()).ok()?;
    let late = seen.threads.first()?.sections.first()?.samples.first()?;
    u64::try_from(late.outcome.late.as_ns())
        .ok()
        .map(Nanos::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ms: f64) -> Option<(LatencyTier, bool)> {
        let samples = [(ms * 1e6) as i64; 24];
        of(&Late::of(&samples)).map(|found| (found.tier, found.at_the_edge))
    }

    /// facts: tier 1 sleeps 100 ms for at most 105, tier 3 for at most 175.
    #[test]
    fn long_sleeps_tell_tiers_apart() {
        assert_eq!(found(1.02), Some((LatencyTier::Least, true)));
        assert_eq!(found(5.01), Some((LatencyTier::One, true)));
        assert_eq!(found(3.0), Some((LatencyTier::One, false)));
        assert_eq!(found(20.1), Some((LatencyTier::Two, true)));
        assert_eq!(found(75.2), Some((LatencyTier::Three, true)));
        assert_eq!(found(40.0), Some((LatencyTier::Three, false)));
        assert_eq!(found(100.0), None);
    }

    #[test]
    fn too_few_tell_nothing() {
        assert_eq!(of(&Late::of(&[5_000_000; 19])), None);
    }
}
