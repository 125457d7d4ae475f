//! The threads that had a CPU for which others waited.

use crate::event::Name;

/// The number of threads that are told apart for a wait, and for a bin.
const MOST: usize = 8;

/// A thread on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupant {
    pub(crate) name: Name,
    pub(crate) cpu: u32,
    pub(crate) is_real_time: bool,
}

/// The threads that had the CPU, and for how long; of more than [`MOST`] those that had it for short are not named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behinds(Vec<(Occupant, u64)>);

impl Behinds {
    pub(crate) fn note(&mut self, occupant: Occupant, ns: u64) {
        if ns == 0 {
            return;
        }
        if let Some((_, sum)) = self.0.iter_mut().find(|(of, _)| *of == occupant) {
            *sum = sum.saturating_add(ns);
        } else if self.0.len() < MOST {
            self.0.push((occupant, ns));
        } else if let Some(least) = self.0.iter_mut().min_by_key(|(_, sum)| *sum)
            && least.1 < ns
        {
            *least = (occupant, ns);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (occupant, ns) in &other.0 {
            self.note(*occupant, *ns);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The longest first.
    pub(crate) fn sorted(&self) -> Vec<punctual_record::Behind> {
        let mut all = self.0.clone();
        all.sort_by_key(|(of, ns)| (std::cmp::Reverse(*ns), of.name, of.cpu));
        let behind = all.into_iter().map(|(of, ns)| punctual_record::Behind {
            thread: of.name.to_string(),
            on_cpu: of.cpu,
            is_real_time: of.is_real_time,
            ns,
        });
        behind.collect()
    }
}
