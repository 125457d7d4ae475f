//! The memory and CPU time that the control groups of Linux leave this process (kernel
//! documentation, "Control Group v2", "CFS Bandwidth Control" and "Memory Resource Controller").
//! Empty where there are no such files.

use crate::Error;
use punctual_core::Nanos;
use punctual_record::{CpuQuota, QuotaFile, Throttled};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The groups that this process is in, from its own to the topmost that can be
/// seen, as far as they can limit CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuGroups(Vec<(&'static Version, PathBuf)>);

impl CpuGroups {
    /// The groups of this process, as of now. Takes about 0.1 ms.
    pub fn of_this_process() -> Self {
        Self::of("self")
    }

    /// The groups of the process with this number, as of now.
    pub fn of_process(pid: u32) -> Self {
        Self::of(&pid.to_string())
    }

    fn of(process: &str) -> Self {
        let around = |version| {
            let mounts = read("/proc/self/mountinfo")?;
            let groups = groups(process, version, version.cpu, &mounts);
            let has_counts = groups?
                .into_iter()
                .filter(|group| group.join("cpu.stat").exists());
            Some(has_counts.map(|group| (version, group)).collect::<Vec<_>>())
        };
        Self(VERSIONS.iter().filter_map(around).flatten().collect())
    }

    /// The quota that leaves the least; `None` where there is none.
    pub fn quota(&self) -> Option<CpuQuota> {
        Some(self.least()?.0)
    }

    /// The line that lifts that quota.
    pub fn quota_file(&self) -> Option<QuotaFile> {
        let (_, version, group) = self.least()?;
        let (file, lifted) = match version.is_second() {
            true => ("cpu.max", "max"),
            false => ("cpu.cfs_quota_us", "-1"),
        };
        Some(QuotaFile {
            path: group.join(file).to_string_lossy().into_owned(),
            lifted: lifted.to_owned(),
        })
    }

    fn least(&self) -> Option<(CpuQuota, &'static Version, &Path)> {
        let quotas = self.0.iter().filter_map(|(version, group)| {
            Some((version.quota(group)?, *version, group.as_path()))
        });
        quotas.min_by(|(a, ..), (b, ..)| a.cpus().total_cmp(&b.cpus()))
    }

    /// Whether the process competes for CPU time in the autogroup of its session, as none of these does
    /// (sched(7)).
    pub fn is_in_autogroup(&self) -> bool {
        let is_on = read("/proc/sys/kernel/sched_autogroup_enabled").as_deref() == Some("1");
        is_on && !self.compete()
    }

    fn compete(&self) -> bool {
        let inside = |(version, group): &(&Version, PathBuf)| match version.is_second() {
            true => group.join("cpu.weight").exists(),
            // The topmost has shares too, and is no competitor.
            false => group
                .parent()
                .is_some_and(|around| around.join("cpu.shares").exists()),
        };
        self.0.iter().any(inside)
    }

    /// The counts, since its creation, of the group that was throttled the longest: a throttled
    /// group throttles those inside it. Only the difference of two readings has a meaning. `None`
    /// where nothing is counted.
    pub fn throttled(&self) -> Option<Throttled> {
        let counts = self.0.iter().filter_map(|(version, group)| {
            let stat = read(group.join("cpu.stat"))?;
            let (name, unit_ns) = version.throttled;
            Some(Throttled {
                periods: value(&stat, "nr_throttled")?,
                time_ns: value(&stat, name)?.checked_mul(unit_ns)?,
                periods_counted: value(&stat, "nr_periods"),
            })
        });
        counts.max_by_key(|counted| (counted.time_ns, counted.periods_counted))
    }
}

/// The CPU time that the threads of a group get together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The most CPU time in each period; as much as there is without one.
    pub quota: Option<CpuQuota>,
    /// How much of what earlier periods left may be used on top of it in one, at most as much again.
    pub burst: Nanos,
    /// The weight of the group, from 1 to 10000; 100 by default.
    pub weight: Option<u16>,
}

/// Without a burst.
impl From<CpuQuota> for Terms {
    fn from(quota: CpuQuota) -> Self {
        Self {
            quota: Some(quota),
            ..Self::default()
        }
    }
}

/// A group inside that of this process, whose threads together get what its terms say. Dropped, it is removed, if all of its threads have ended or left.
#[derive(Debug)]
pub struct OwnGroup {
    version: &'static Version,
    around: PathBuf,
    inside: PathBuf,
    /// Whether the groups inside the one around could not limit CPU time before.
    enabled: bool,
}

impl OwnGroup {
    /// With these terms.
    ///
    /// # Errors
    /// There are no control groups, or this process may not make one, or not with
    /// threads of its own in it. The system does not grant the terms.
    pub fn new(terms: impl Into<Terms>) -> Result<Self, Error> {
        let terms = terms.into();
        let groups = CpuGroups::of_this_process().0;
        let mut why = Error::unsupported("there are no control groups that limit CPU time");
        for version in &VERSIONS {
            // The first of a version is that of this process.
            let mut of_version = groups.iter().filter(|(of, _)| of == &version);
            let Some((version, around)) = of_version.next() else {
                continue;
            };
            if !version.limits_cpu(around) {
                continue;
            }
            match Self::made(version, around, terms) {
                Ok(group) => return Ok(group),
                Err(cause) => why = Error::io("making a control group", &cause),
            }
        }
        Err(why)
    }

    fn made(version: &'static Version, around: &Path, terms: Terms) -> std::io::Result<Self> {
        let inside = around.join(format!("{OURS}{}", std::process::id()));
        std::fs::create_dir_all(&inside)?;
        let mut group = Self {
            version,
            around: around.to_owned(),
            inside,
            enabled: false,
        };
        if version.is_second() {
            std::fs::write(group.inside.join("cgroup.type"), "threaded")?;
            if !lists(&around.join(SUBTREE), "cpu") {
                std::fs::write(around.join(SUBTREE), "+cpu")?;
                group.enabled = true;
            }
        }
        group.write(terms)?;
        Ok(group)
    }

    /// Gives it other terms.
    ///
    /// # Errors
    /// The system does not grant them.
    pub fn set(&self, terms: impl Into<Terms>) -> Result<(), Error> {
        self.write(terms.into())
            .map_err(|cause| Error::io("changing the terms of a control group", &cause))
    }

    fn write(&self, terms: Terms) -> std::io::Result<()> {
        let put = |name: &str, text: String| std::fs::write(self.inside.join(name), text);
        let is_second = self.version.is_second();
        let burst = match is_second {
            true => "cpu.max.burst",
            false => "cpu.cfs_burst_us",
        };
        // Neither exists before Linux 5.14. The present value may be more than the new quota.
        if self.inside.join(burst).exists() {
            put(burst, "0".to_owned())?;
        }
        match (is_second, terms.quota.map(in_us)) {
            (true, Some((time, period))) => put("cpu.max", format!("{time} {period}"))?,
            (true, None) => put("cpu.max", "max".to_owned())?,
            (false, quota) => {
                // A mix of the old quota and the new period might exceed the limit of the parent
                // group.
                put("cpu.cfs_quota_us", "-1".to_owned())?;
                if let Some((time, period)) = quota {
                    put("cpu.cfs_period_us", period.to_string())?;
                    put("cpu.cfs_quota_us", time.to_string())?;
                }
            }
        }
        if !terms.burst.is_zero() {
            put(burst, (terms.burst.as_ns() / 1_000).to_string())?;
        }
        let weight = u64::from(terms.weight.unwrap_or(USUAL_WEIGHT));
        match is_second {
            true => put("cpu.weight", weight.to_string()),
            false => put("cpu.shares", (weight * 1_024).div_ceil(100).to_string()),
        }
    }

    /// Puts the calling thread into it.
    ///
    /// # Errors
    /// It may not go there.
    pub fn enter(&self) -> Result<(), Error> {
        // 0 is the thread that writes it.
        self.put("0", &self.inside)
    }

    /// Puts the calling thread back where this process is.
    ///
    /// # Errors
    /// It may not go there.
    pub fn leave(&self) -> Result<(), Error> {
        self.put("0", &self.around)
    }

    fn put(&self, thread: &str, group: &Path) -> Result<(), Error> {
        std::fs::write(group.join(self.version.threads), thread)
            .map_err(|cause| Error::io("moving a thread to another control group", &cause))
    }

    /// Puts all threads of this process there; those that they start meanwhile too.
    fn put_all(&self, group: &Path) -> Result<(), Error> {
        let mut seen = BTreeSet::new();
        loop {
            let threads = std::fs::read_dir("/proc/self/task")
                .map_err(|cause| Error::io("listing the threads of this process", &cause))?;
            let names = threads.flatten().map(|thread| thread.file_name());
            let new: Vec<_> = names.filter(|name| !seen.contains(name)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for name in new {
                let thread = name.to_string_lossy();
                let moved = self.put(&thread, group);
                // It may have ended meanwhile.
                if Path::new("/proc/self/task").join(&name).exists() {
                    moved?;
                }
                seen.insert(name);
            }
        }
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // A thread that is still in it keeps it; nothing runs worse for that.
        let _ = std::fs::remove_dir(&self.inside);
        let is_used = || {
            let mut inside = std::fs::read_dir(&self.around)
                .into_iter()
                .flatten()
                .flatten();
            inside.any(|entry| entry.file_name().to_string_lossy().starts_with(OURS))
        };
        if self.enabled && !is_used() {
            let _ = std::fs::write(self.around.join(SUBTREE), "-cpu");
        }
    }
}

/// The default weight of a group.
const USUAL_WEIGHT: u16 = 100;

/// A quota and its period.
fn in_us(quota: CpuQuota) -> (u64, u64) {
    (quota.time_ns / 1_000, quota.period_ns / 1_000)
}

/// How the groups begin that are made here.
const OURS: &str = "punctual-";

/// Which controllers the groups inside a group have.
const SUBTREE: &str = "cgroup.subtree_control";

/// A group of this process and of whatever it starts from then on, until this is dropped: then the
/// process is back where it was.
#[derive(Debug)]
pub struct ProcessGroup(OwnGroup);

impl ProcessGroup {
    /// From now on.
    ///
    /// # Errors
    /// As [`OwnGroup::new`].
    pub fn new(terms: impl Into<Terms>) -> Result<Self, Error> {
        let process = Self(OwnGroup::new(terms)?);
        process.0.put_all(&process.0.inside)?;
        Ok(process)
    }

    /// Other terms instead.
    ///
    /// # Errors
    /// As [`OwnGroup::set`].
    pub fn set(&self, terms: impl Into<Terms>) -> Result<(), Error> {
        self.0.set(terms)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // It came from there.
        let _ = self.0.put_all(&self.0.around);
    }
}

/// The least memory that any group of this process, or a group around it, may
/// still use; `None` when none has a limit.
pub fn free_bytes() -> Option<u64> {
    let mounts = read("/proc/self/mountinfo")?;
    let free = |version: &Version| {
        let around = groups("self", version, version.memory, &mounts)?;
        around
            .iter()
            .filter_map(|group| version.free_bytes(group))
            .min()
    };
    VERSIONS.iter().filter_map(free).min()
}

/// How a version of control groups names things.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    /// The type of its file system.
    file_system: &'static str,
    /// The options of the controllers' mounts, and their lines in `/proc/self/cgroup`.
    memory: &'static str,
    cpu: &'static str,
    limits: &'static [&'static str],
    used: &'static str,
    /// In `memory.stat`: what files hold of it that were not read again. It is
    /// taken from the group first and costs nothing.
    cached: &'static str,
    /// The file that takes threads.
    threads: &'static str,
    /// The quota and its period, in microseconds: in one file, or two.
    quota: &'static [&'static str],
    /// In `cpu.stat`: the time for which the group was stopped, and its unit.
    throttled: (&'static str, u64),
}

const VERSIONS: [Version; 2] = [
    Version {
        file_system: "cgroup2",
        memory: "",
        cpu: "",
        limits: &["memory.max", "memory.high"],
        used: "memory.current",
        cached: "inactive_file",
        threads: "cgroup.threads",
        quota: &["cpu.max"],
        throttled: ("throttled_usec", 1_000),
    },
    Version {
        file_system: "cgroup",
        memory: "memory",
        cpu: "cpu",
        limits: &["memory.limit_in_bytes"],
        used: "memory.usage_in_bytes",
        cached: "total_inactive_file",
        threads: "tasks",
        quota: &["cpu.cfs_quota_us", "cpu.cfs_period_us"],
        throttled: ("throttled_time", 1),
    },
];

impl Version {
    fn is_second(&self) -> bool {
        self.file_system == "cgroup2"
    }

    /// Whether a group inside this one can have a quota.
    fn limits_cpu(&self, around: &Path) -> bool {
        match self.is_second() {
            true => lists(&around.join("cgroup.controllers"), "cpu"),
            false => around.join("cpu.cfs_quota_us").exists(),
        }
    }

    /// The free memory of a group; `None` if it has no limit (`max`).
    fn free_bytes(&self, group: &Path) -> Option<u64> {
        let number = |name: &&str| read(group.join(name))?.parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(number).min()?;
        let used = number(&self.used)?;
        let cached = read(group.join("memory.stat")).and_then(|stat| value(&stat, self.cached));
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    }

    /// `None` when a group has none (`max` or -1).
    fn quota(&self, group: &Path) -> Option<CpuQuota> {
        let texts = self.quota.iter().map(|name| read(group.join(name)));
        let text = texts.collect::<Option<Vec<_>>>()?.join(" ");
        let mut us = text.split_ascii_whitespace().map(|us| us.parse().ok());
        let [time, period] = [us.next()??, us.next()??].map(Nanos::from_us);
        (!time.is_zero() && !period.is_zero()).then(|| CpuQuota::new(time, period))
    }
}

/// The folders of the group of a process, by its name in `/proc`, and of those around it that can be seen.
fn groups(
    process: &str,
    version: &Version,
    controller: &str,
    mounts: &str,
) -> Option<Vec<PathBuf>> {
    let groups = read(format!("/proc/{process}/cgroup"))?;
    let (folder, top) = folder(version, controller, mounts, &groups)?;
    let around = folder
        .ancestors()
        .take_while(|group| group.starts_with(&top));
    Some(around.map(Path::to_owned).collect())
}

/// The folder of this process' group, and the topmost one that can be seen.
fn folder(
    version: &Version,
    controller: &str,
    mounts: &str,
    groups: &str,
) -> Option<(PathBuf, PathBuf)> {
    let group = groups.lines().find_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let named = |name| name == controller;
        controllers.split(',').any(named).then_some(group)
    })?;
    let (root, top) = mounts
        .lines()
        .find_map(|line| mount(version.file_system, controller, line))?;
    // A container may see its own group as the root, and yet be told its path
    // from outside.
    let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    Some((Path::new(top).join(inside), top.into()))
}

/// Which group a line of proc_pid_mountinfo(5) shows, and where.
fn mount<'a>(file_system: &str, controller: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (place, system) = line.split_once(" - ")?;
    let mut system = system.split(' ');
    let named = |name| controller.is_empty() || name == controller;
    let wanted = system.next()? == file_system && system.next_back()?.split(',').any(named);
    let mut place = place.split(' ').skip(3);
    wanted.then_some((place.next()?, place.next()?))
}

fn value(stat: &str, name: &str) -> Option<u64> {
    let line = stat
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

/// Whether a file of words has this one.
fn lists(path: &Path, word: &str) -> bool {
    read(path).is_some_and(|text| text.split_ascii_whitespace().any(|listed| listed == word))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
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

    fn folders(mounts: &str, groups: &str) -> [Option<PathBuf>; 2] {
        VERSIONS.map(|version| {
            let (folder, top) = folder(&version, version.memory, mounts, groups)?;
            assert!(folder.starts_with(top));
            Some(folder)
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
                Some("/sys/fs/cgroup/unified/user.slice".into()),
                Some("/sys/fs/cgroup/memory/one/two".into()),
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
            assert_eq!(
                folders(mounts, group)[0].as_deref(),
                Some(Path::new(folder))
            );
        }
    }

    #[test]
    fn a_value_has_its_whole_name() {
        let stat = "cache 9\ntotal_inactive_file 7\ninactive_file 5\n";
        assert_eq!(value(stat, "inactive_file"), Some(5));
        assert_eq!(value(stat, "total_inactive_file"), Some(7));
        assert_eq!(value(stat, "inactive"), None);
    }

    /// A folder with these files, as the kernel would show a group.
    fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn a_quota_and_what_it_stopped_are_read_in_both_versions() {
        let [v2, v1] = &VERSIONS;
        let second = group(&[
            ("cpu.max", "20000 100000\n"),
            (
                "cpu.stat",
                "usage_usec 9\nnr_periods 253\nnr_throttled 102\nthrottled_usec 7080000\n",
            ),
        ]);
        let first = group(&[
            ("cpu.cfs_quota_us", "50000\n"),
            ("cpu.cfs_period_us", "25000\n"),
            (
                "cpu.stat",
                "nr_periods 9\nnr_throttled 3\nthrottled_time 81000000\n",
            ),
        ]);
        let open = [
            group(&[("cpu.max", "max 100000\n"), ("cpu.stat", "usage_usec 9\n")]),
            group(&[
                ("cpu.cfs_quota_us", "-1\n"),
                ("cpu.cfs_period_us", "100000\n"),
            ]),
        ];
        let counted = |periods, ms: u64, of| {
            Some(Throttled {
                periods,
                time_ns: ms * 1_000_000,
                periods_counted: Some(of),
            })
        };
        let quota =
            |time, period| Some(CpuQuota::new(Nanos::from_ms(time), Nanos::from_ms(period)));

        let groups = |of: [(&'static Version, &tempfile::TempDir); 2]| {
            CpuGroups(
                of.map(|(version, group)| (version, group.path().to_owned()))
                    .into(),
            )
        };
        let inner = groups([(v2, &second), (v2, &open[0])]);
        assert_eq!(
            (inner.quota(), inner.throttled()),
            (quota(20, 100), counted(102, 7_080, 253))
        );
        let outer = groups([(v1, &open[1]), (v1, &first)]);
        assert_eq!(
            (outer.quota(), outer.throttled()),
            (quota(50, 25), counted(3, 81, 9))
        );
        assert!((outer.quota().unwrap().cpus() - 2.0).abs() < 1e-9);
        let lifts = |groups: &CpuGroups, of: &tempfile::TempDir, file, lifted: &str| {
            let path = of.path().join(file).to_string_lossy().into_owned();
            let lifted = lifted.to_owned();
            assert_eq!(groups.quota_file(), Some(QuotaFile { path, lifted }));
        };
        lifts(&inner, &second, "cpu.max", "max");
        lifts(&outer, &first, "cpu.cfs_quota_us", "-1");
        let free = groups([(v2, &open[0]), (v1, &open[1])]);
        assert_eq!(free.quota_file(), None);
        assert_eq!((free.quota(), free.throttled()), (None, None));
    }

    #[test]
    fn who_competes_in_a_group_is_known_in_both_versions() {
        let [v2, v1] = &VERSIONS;
        let top = group(&[("cpu.shares", "1024\n")]);
        let inside = top.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let weighed = group(&[("cpu.weight", "100\n")]);
        let plain = group(&[]);
        for (version, folder, competes) in [
            (v1, top.path(), false),
            (v1, &inside, true),
            (v2, plain.path(), false),
            (v2, weighed.path(), true),
        ] {
            let groups = CpuGroups(vec![(version, folder.to_owned())]);
            assert_eq!(groups.compete(), competes, "{folder:?}");
        }
    }

    /// As the files say of it: no kernel is asked.
    #[test]
    fn who_can_limit_cpu_time_says_so() {
        let [v2, v1] = &VERSIONS;
        for (controllers, can) in [("cpuset cpu io\n", true), ("cpuset io\n", false)] {
            let group = group(&[("cgroup.controllers", controllers)]);
            assert_eq!(v2.limits_cpu(group.path()), can, "{controllers}");
        }
        assert!(v1.limits_cpu(group(&[("cpu.cfs_quota_us", "-1\n")]).path()));
        assert!(!v1.limits_cpu(group(&[]).path()));
    }

    /// As files would have it: no kernel is asked.
    #[test]
    fn the_terms_of_a_group_are_written_in_both_versions() {
        let terms = Terms {
            quota: Some(CpuQuota::new(Nanos::from_ms(20), Nanos::from_ms(50))),
            burst: Nanos::from_ms(10),
            weight: Some(200),
        };
        let [v2, v1] = &VERSIONS;
        let second = [
            ("cpu.max", "20000 50000"),
            ("cpu.max.burst", "10000"),
            ("cpu.weight", "200"),
        ];
        let first = [
            ("cpu.cfs_quota_us", "20000"),
            ("cpu.cfs_period_us", "50000"),
            ("cpu.cfs_burst_us", "10000"),
            ("cpu.shares", "2048"),
        ];
        for (version, files) in [(v2, &second[..]), (v1, &first)] {
            let folder = group(&[]);
            let own = OwnGroup {
                version,
                around: folder.path().to_owned(),
                inside: folder.path().to_owned(),
                enabled: false,
            };
            own.write(terms).unwrap();
            for (name, text) in files {
                let written = read(folder.path().join(name));
                assert_eq!(written.as_deref(), Some(*text), "{name}");
            }
        }
    }

    #[test]
    fn the_groups_of_this_process_can_be_asked() {
        let groups = CpuGroups::of_this_process();
        let time = || groups.throttled().map(|throttled| throttled.time_ns);
        let before = time();
        assert!(time() >= before);
        assert!(groups.quota().is_none_or(|quota| quota.cpus() > 0.0));
    }
}
