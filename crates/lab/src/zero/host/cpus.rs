//! The CPUs that workers run on.

use punctual_record::Warning;
use punctual_sys::thread;

use crate::host::usual_cpu;

/// The CPUs of this process, for workers.
#[derive(Clone, Debug)]
pub(in crate::zero) struct Cpus {
    /// In the order in which they get workers: the last first, because the first
    /// usually takes most interrupts.
    pub(in crate::zero) order: Vec<usize>,
    /// Whether threads can be kept on one.
    pub(in crate::zero) pinned: bool,
    /// How many may be busy all the time; fewer than there are under a quota, as
    /// containers have (`cpu.max` of Linux's control groups).
    pub(in crate::zero) at_once: usize,
}

impl Cpus {
    /// Those that the calling thread may use.
    pub(in crate::zero) fn of_this_process() -> Self {
        let order: Vec<usize> = thread::allowed_cpus().into_iter().rev().collect();
        let parallelism = std::thread::available_parallelism();
        Self {
            pinned: usual_cpu().is_some(),
            at_once: parallelism.map_or(order.len(), |many| many.get().min(order.len())),
            order,
        }
    }

    /// Whether so many workers have to share CPUs.
    pub(in crate::zero) fn is_oversubscribed(&self, workers: usize) -> bool {
        workers > self.at_once
    }

    /// What there is to know where a quota is in force.
    pub(in crate::zero) fn quota(&self) -> Option<Warning> {
        let (at_once, all) = (self.at_once, self.order.len());
        (at_once < all).then(|| Warning {
            what: format!(
                "A quota gives this process the time of {at_once} of its {all} CPUs: more workers than that stop in \
                 turn, and count as more than there are CPUs."
            ),
            remedy: "Measure without the quota: outside of the container, or with `max` in its cpu.max.".to_owned(),
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
        };
        assert_eq!(cpus.quota(), None);
        assert!(!cpus.is_oversubscribed(8) && cpus.is_oversubscribed(9));
        cpus.at_once = 2;
        assert!(!cpus.is_oversubscribed(2) && cpus.is_oversubscribed(3));
        let what = cpus.quota().unwrap().what;
        assert!(what.contains("the time of 2 of its 8 CPUs"), "{what}");
    }

    #[test]
    fn there_is_one_at_least_and_no_more_at_once_than_there_are() {
        let cpus = Cpus::of_this_process();
        assert!((1..=cpus.order.len()).contains(&cpus.at_once), "{cpus:?}");
    }
}
