//! Which CPUs of a Windows computer are of which kind.

use super::processors::{cpus_of, processor_records};
use windows_sys::Win32::System::SystemInformation::RelationProcessorCore;

/// Nothing when all are of one efficiency class. A higher class is faster and
/// less efficient.
pub(in crate::facts) fn types() -> Vec<(usize, String)> {
    named(classes())
}

fn named(mut classes: Vec<(usize, u8)>) -> Vec<(usize, String)> {
    classes.sort_unstable();
    if classes.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return Vec::new();
    }
    let name = |(cpu, class)| (cpu, format!("efficiency class {class}"));
    classes.into_iter().map(name).collect()
}

/// Each CPU, numbered through all processor groups, and its class; none when the
/// system does not tell.
fn classes() -> Vec<(usize, u8)> {
    let mut classes = Vec::new();
    processor_records(RelationProcessorCore, |record| {
        // SAFETY: only cores were asked for, and this is the part of a core,
        // which is in one group.
        let core = unsafe { record.Anonymous.Processor };
        let [mask] = core.GroupMask;
        classes.extend(cpus_of(&mask).map(|cpu| (cpu, core.EfficiencyClass)));
    });
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_one_class_where_the_system_tells() {
        let classes = classes();
        let mut cpus: Vec<usize> = classes.iter().map(|class| class.0).collect();
        cpus.sort_unstable();
        cpus.dedup();
        assert_eq!(cpus.len(), classes.len());
    }

    #[test]
    fn classes_are_named_when_they_differ() {
        assert_eq!(named(vec![(1, 0), (0, 0)]), []);
        assert_eq!(
            named(vec![(1, 0), (0, 1)]),
            [
                (0, "efficiency class 1".to_owned()),
                (1, "efficiency class 0".to_owned())
            ]
        );
    }
}
