//! Which CPUs are of which kind.

use super::read;

/// Nothing when all are alike, as far as the kernel tells.
pub(in crate::facts) fn types() -> Vec<(usize, String)> {
    let hybrid = hybrid(|kind| read(&format!("/sys/devices/{kind}/cpus")));
    if !hybrid.is_empty() {
        return hybrid;
    }
    let capacity = |cpu: usize| read(&format!("/sys/devices/system/cpu/cpu{cpu}/cpu_capacity"));
    by_capacity((0..).map_while(capacity))
}

/// Intel's hybrid CPUs show as two performance monitors (kernel documentation,
/// `perf-intel-hybrid.txt`).
fn hybrid(cpus_of: impl Fn(&str) -> Option<String>) -> Vec<(usize, String)> {
    let kinds = [("cpu_core", "P-core"), ("cpu_atom", "E-core")];
    let mut types = Vec::new();
    for (folder, name) in kinds {
        let cpus = cpus_of(folder).map_or_else(Vec::new, |text| cpus(&text));
        types.extend(cpus.into_iter().map(|cpu| (cpu, name.to_owned())));
    }
    types.sort();
    types
}

/// ARM states how much each CPU gets done, of 1024 (kernel documentation,
/// "Capacity Aware Scheduling").
fn by_capacity(capacities: impl Iterator<Item = String>) -> Vec<(usize, String)> {
    let capacities: Vec<String> = capacities.collect();
    if capacities.windows(2).all(|pair| pair[0] == pair[1]) {
        return Vec::new();
    }
    let name = |capacity| format!("capacity {capacity}");
    capacities.into_iter().map(name).enumerate().collect()
}

/// A list such as `0-3,8`; what is no list has no CPUs.
pub fn cpus(list: &str) -> Vec<usize> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cpus(""), [] as [usize; 0]);
    }

    #[test]
    fn kinds_are_told_apart() {
        let named = |cpu, name: &str| (cpu, name.to_owned());
        let folders = |kind: &str| match kind {
            "cpu_core" => Some("0-1".to_owned()),
            "cpu_atom" => Some("2".to_owned()),
            _ => None,
        };
        assert_eq!(
            hybrid(folders),
            [named(0, "P-core"), named(1, "P-core"), named(2, "E-core")]
        );
        assert_eq!(hybrid(|_| None), []);
        let capacities = |texts: [&str; 2]| texts.map(str::to_owned).into_iter();
        assert_eq!(
            by_capacity(capacities(["446", "1024"])),
            [named(0, "capacity 446"), named(1, "capacity 1024")]
        );
        assert_eq!(by_capacity(capacities(["1024", "1024"])), []);
    }
}
