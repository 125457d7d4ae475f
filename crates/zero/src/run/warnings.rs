//! What should be known before the numbers are believed.

use punctual_record::{MachineFacts, Warning};

use crate::rows::ZeroRow;

/// The warnings that pools on this computer deserve, after so many rounds.
pub fn warnings(facts: &MachineFacts, results: &[ZeroRow], rounds: u32) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |what: String, remedy| warnings.push(Warning::new(what, remedy));
    if facts.host.wine.is_some() {
        warn(
            "This is Wine: threads and memory are those of the system underneath.".to_owned(),
            "Measure on Windows itself to learn about Windows.",
        );
    }
    let mut zeroed = results.iter().filter_map(ZeroRow::zeroed);
    if zeroed.any(|zeroed| zeroed.cpu_is_approximate) {
        warn(
            format!(
                "The CPU time of a thread is not counted exactly here ({}): where the count is too coarse for a pass, \
                 the time that passed stands for it, and a worker that is parked for one that computes.",
                facts.cpu_time
            ),
            "Do not read anything into small differences of GB per CPU-s.",
        );
    }
    if rounds < 6 && !results.is_empty() {
        warn(
            format!(
                "{rounds} of the 6 rounds that 95 % intervals need: the intervals are the whole range."
            ),
            "Leave out --quick; of `zero run` give --rounds 6 or more.",
        );
    }
    let mut zeroings = results.iter().filter_map(ZeroRow::zeroing);
    if zeroings.any(|zeroing| zeroing.oversubscribed) {
        warn(
            "Some settings have more workers than CPUs: they measure the scheduler, and a queued lock waits for \
             whoever has no CPU."
                .to_owned(),
            "Do not draw them into one curve with the others.",
        );
    }
    if facts.host.governor.as_deref() == Some("powersave") {
        warn(
            "The CPU frequency governor is `powersave`: a pass may be over before the CPU is fast."
                .to_owned(),
            "Compare with: sudo cpupower frequency-set -g performance",
        );
    }
    if facts.host.virtual_machine == Some(true) {
        warn(
            "This is a virtual machine: its host can take the CPU from whoever holds the lock while others wait for \
             it, and nobody here sees that."
                .to_owned(),
            "Look at medians, and trust ratios within this run rather than absolute rates.",
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ZeroedPages;

    #[test]
    fn each_is_told_where_it_holds() {
        let mut facts = MachineFacts::default();
        let mut result = ZeroRow::pool("tas", ZeroedPages::default());
        let none: [Warning; 0] = [];
        assert_eq!(warnings(&facts, std::slice::from_ref(&result), 6), none);
        facts.host.virtual_machine = Some(true);
        facts.host.governor = Some("powersave".to_owned());
        facts.host.wine = Some("8.0".to_owned());
        let zeroed = result.zeroed_mut().unwrap();
        zeroed.cpu_is_approximate = true;
        zeroed.zero.oversubscribed = true;
        let warned = warnings(&facts, &[result], 5);
        for says in [
            "Wine",
            "not counted exactly",
            "5 of the 6 rounds",
            "more workers than CPUs",
            "powersave",
            "virtual machine",
        ] {
            assert!(warned.iter().any(|w| w.what.contains(says)), "{says}");
        }
        assert_eq!(warned.len(), 6);
    }
}
