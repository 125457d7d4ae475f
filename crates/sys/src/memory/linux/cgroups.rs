//! What the memory limits of control groups leave (kernel documentation,
//! "Control Group v2" and "Memory Resource Controller").

use crate::facts::read;
use std::path::{Path, PathBuf};

/// The least that any group of this process, or a group around it, may still
/// use; `None` when none has a limit.
pub(super) fn free_bytes() -> Option<u64> {
    let mounts = read("/proc/self/mountinfo")?;
    let groups = read("/proc/self/cgroup")?;
    let free = |version: &Version| {
        let (folder, top) = folder(version, &mounts, &groups)?;
        let around = folder
            .ancestors()
            .take_while(|group| group.starts_with(&top));
        around.filter_map(|group| version.free_bytes(group)).min()
    };
    VERSIONS.iter().filter_map(free).min()
}

/// How a version of control groups names things.
struct Version {
    /// The type of its file system.
    file_system: &'static str,
    /// What its mount states, and its line in `/proc/self/cgroup`.
    controller: &'static str,
    limits: &'static [&'static str],
    used: &'static str,
    /// In `memory.stat`: what files hold of it that were not read again. It is
    /// taken from the group first and costs nothing.
    cached: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        file_system: "cgroup2",
        controller: "",
        limits: &["memory.max", "memory.high"],
        used: "memory.current",
        cached: "inactive_file",
    },
    Version {
        file_system: "cgroup",
        controller: "memory",
        limits: &["memory.limit_in_bytes"],
        used: "memory.usage_in_bytes",
        cached: "total_inactive_file",
    },
];

impl Version {
    /// What a group leaves; `None` when it has no limit (`max`).
    fn free_bytes(&self, group: &Path) -> Option<u64> {
        let file = |name: &str| read(group.join(name).to_str()?);
        let number = |name: &&str| file(name)?.parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(number).min()?;
        let used = number(&self.used)?;
        let cached = file("memory.stat").and_then(|stat| value(&stat, self.cached));
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    }
}

/// The folder of this process' group, and the topmost one that can be seen.
fn folder(version: &Version, mounts: &str, groups: &str) -> Option<(PathBuf, PathBuf)> {
    let group = groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let named = |name| name == version.controller;
        controllers.split(',').any(named).then_some(group)
    })?;
    let (root, top) = mounts.lines().find_map(|line| mount(version, line))?;
    // A container may see its own group as the root, and yet be told its path
    // from outside.
    let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    Some((Path::new(top).join(inside), top.into()))
}

/// Which group a line of proc_pid_mountinfo(5) shows, and where.
fn mount<'a>(version: &Version, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (place, system) = line.split_once(" - ")?;
    let mut system = system.split(' ');
    let named = |name| version.controller.is_empty() || name == version.controller;
    let wanted = system.next()? == version.file_system && system.next_back()?.split(',').any(named);
    let mut place = place.split(' ').skip(3);
    wanted.then_some((place.next()?, place.next()?))
}

fn value(stat: &str, name: &str) -> Option<u64> {
    let line = stat
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 1 0:5 / /proc rw - proc proc rw
27 26 0:24 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup rw,nsdelegate
28 26 0:25 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
29 26 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
";

    fn folders(mounts: &str, groups: &str) -> [Option<String>; 2] {
        VERSIONS.map(|version| {
            let (folder, top) = folder(&version, mounts, groups)?;
            assert!(folder.starts_with(top));
            Some(folder.to_str().unwrap().to_owned())
        })
    }

    #[test]
    fn the_group_is_found_in_both_versions() {
        assert_eq!(
            folders(
                MOUNTS,
                "4:memory:/one/two\n2:cpu,cpuacct:/\n0::/user.slice\n"
            ),
            [
                Some("/sys/fs/cgroup/unified/user.slice".to_owned()),
                Some("/sys/fs/cgroup/memory/one/two".to_owned()),
            ]
        );
        assert_eq!(folders(MOUNTS, "2:cpu,cpuacct:/\n"), [None, None]);
        assert_eq!(folders("", "4:memory:/one\n0::/\n"), [None, None]);
    }

    #[test]
    fn a_container_sees_its_group_as_the_root() {
        let mounts = "30 23 0:26 /docker/ab /sys/fs/cgroup ro master:11 - cgroup2 cgroup rw\n";
        for (group, folder) in [
            ("0::/docker/ab\n", "/sys/fs/cgroup/"),
            ("0::/docker/ab/in\n", "/sys/fs/cgroup/in"),
            ("0::/elsewhere\n", "/sys/fs/cgroup/"),
        ] {
            assert_eq!(folders(mounts, group)[0].as_deref(), Some(folder));
        }
    }

    #[test]
    fn a_value_has_its_whole_name() {
        let stat = "cache 9\ntotal_inactive_file 7\ninactive_file 5\n";
        assert_eq!(value(stat, "inactive_file"), Some(5));
        assert_eq!(value(stat, "total_inactive_file"), Some(7));
        assert_eq!(value(stat, "inactive"), None);
    }
}
