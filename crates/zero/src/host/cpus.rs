//! The CPUs that workers run on.

use punctual_os::cgroups::CpuGroups;
use punctual_os::thread;
use punctual_record::Warning;

use punctual_lab::host::usual_cpu;

/// The CPUs of this process, for workers.
#[derive(Clone, Debug)]
pub(crate) struct Cpus {
    /// In the order in which they get workers: the last first, because the first
    /// usually takes most interrupts.
    pub(crate) order: Vec<usize>,
    /// Whether threads can be kept on one.
    pub(crate) pinned: bool,
    /// How many may be busy all the time; fewer than there are under a quota, as
    /// containers have (`cpu.max` of Linux's control groups).
    pub(crate) at_once: usize,
    /// How many CPUs a quota is worth, if there is one.
    pub(crate) quota: Option<f64>,
}

impl Cpus {
    /// Those that the calling thread may use.
    pub(crate) fn of_this_process() -> Self {
        let order: Vec<usize> = thread::allowed_cpus().into_iter().rev().collect();
        let parallelism = std::thread::available_parallelism();
        Self {
            pinned: usual_cpu().is_some(),
            at_once: parallelism.map_or(order.len(), |many| many.get().min(order.len())),
            quota: CpuGroups::of_this_process()
                .quota()
                .map(|quota| quota.cpus()),
            order,
        }
    }

    /// Whether so many workers have to share CPUs.
    pub(crate) fn is_oversubscribed(&self, workers: usize) -> bool {
        workers > self.at_once
    }

    /// What there is to know where a quota is in force.
    pub(crate) fn quota(&self) -> Option<Warning> {
        let all = self.order.len();
        let quota = self.quota.filter(|quota| *quota < all as f64)?;
        let cpus = (quota * 100.0).round() / 100.0;
        let stops = if quota < 1.0 {
            "even one worker stops"
        } else {
            "more workers than that stop"
        };
        Some(Warning {
            what: format!(
                "A quota gives this process the time of {cpus} of its {all} CPUs: {stops} in turn, and more than {} \
                 count as more than there are CPUs.",
                self.at_once
            ),
            remedy:
                "Measure without the quota: outside of the container, or with `max` in its cpu.max."
                    .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_a_quota_workers_share_cpus_sooner() {
        let mut cpus = Cpus {
            order: (0..8).rev().collect(),
            pinned: true,
            at_once: 8,
            quota: None,
        };
        assert_eq!(cpus.quota(), None);
        assert!(!cpus.is_oversubscribed(8) && cpus.is_oversubscribed(9));
        (cpus.at_once, cpus.quota) = (2, Some(2.0));
        assert!(!cpus.is_oversubscribed(2) && cpus.is_oversubscribed(3));
        let what = cpus.quota().unwrap().what;
        assert!(
            what.contains("the time of 2 of its 8 CPUs: more workers"),
            "{what}"
        );
        (cpus.at_once, cpus.quota) = (1, Some(0.5));
        let what = cpus.quota().unwrap().what;
        assert!(
            what.contains("the time of 0.5 of its 8 CPUs: even one"),
            "{what}"
        );
    }

    #[test]
    fn there_is_one_at_least_and_no_more_at_once_than_there_are() {
        let cpus = Cpus::of_this_process();
        assert!((1..=cpus.order.len()).contains(&cpus.at_once), "{cpus:?}");
    }
}
