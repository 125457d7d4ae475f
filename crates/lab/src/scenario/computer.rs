//! What the computer did in one phase.

use punctual_core::Nanos;
use punctual_program::machine::ComputerUse;

use super::expect::{Figure, energy_impact};

/// An idle stretch of this length or more saves power as it should
/// (timer-rule article: "8 ms or more").
const GOOD_STRETCH: Nanos = Nanos::from_ms(8);

/// A figure of the computer; `None` where there is nothing to take it from.
pub(super) fn figure(used: &ComputerUse, figure: Figure) -> Option<f64> {
    let over = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let share = |part: Nanos, whole: Nanos| over(part.as_ns() as f64, whole.as_ns() as f64);
    let elapsed = used.elapsed.as_secs_f64();
    match figure {
        Figure::InterruptsPerS => over(used.interrupts? as f64, elapsed),
        Figure::SwitchesPerS => over(used.switches? as f64, elapsed),
        Figure::WakeupsPerS => over(used.wakeups? as f64, elapsed),
        Figure::Busy => share(used.busy?, used.elapsed.times(used.cpus as u64)),
        Figure::EnergyImpact => Some(energy_impact(
            share(used.busy?, used.elapsed)?,
            over(used.wakeups? as f64, elapsed)?,
        )),
        Figure::GoodIdle => {
            let good = |at_least: Nanos| at_least >= GOOD_STRETCH;
            share(idle(used, good), idle(used, |_| true))
        }
        _ => None,
    }
}

/// The idle time in stretches of some lengths.
fn idle(used: &ComputerUse, some: impl Fn(Nanos) -> bool) -> Nanos {
    let stretches = used.idle.iter().filter(|stretch| some(stretch.at_least));
    stretches.fold(Nanos::ZERO, |sum, stretch| sum + stretch.total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_program::machine::IdleStretches;

    #[test]
    fn figures_of_a_phase() {
        let stretches = |at_least, ms| IdleStretches {
            at_least: Nanos::from_ms(at_least),
            count: 1,
            total: Nanos::from_ms(ms),
        };
        let used = ComputerUse {
            elapsed: Nanos::from_secs(2),
            cpus: 4,
            busy: Some(Nanos::from_secs(2)),
            interrupts: Some(128),
            switches: Some(32),
            wakeups: Some(64),
            idle: vec![stretches(4, 100), stretches(8, 200), stretches(16, 100)],
            ..ComputerUse::default()
        };
        for (what, is) in [
            (Figure::InterruptsPerS, 64.0),
            (Figure::SwitchesPerS, 16.0),
            (Figure::WakeupsPerS, 32.0),
            (Figure::Busy, 0.25),
            (Figure::GoodIdle, 0.75),
            // One busy CPU, and 32 wake-ups of 0.02 each.
            (Figure::EnergyImpact, 100.64),
        ] {
            assert_eq!(figure(&used, what), Some(is));
        }
        assert_eq!(figure(&used, Figure::Cpu), None);
        for what in [Figure::Busy, Figure::InterruptsPerS, Figure::SwitchesPerS] {
            assert_eq!(figure(&ComputerUse::default(), what), None);
        }
    }
}
