//! `/proc`, `/sys` and `/etc/os-release`. A file that is missing, or closed to
//! this user, is a fact that is not told.

mod cores;
mod counters;
mod idle;
mod power;

pub use self::cores::cpus;
pub(super) use self::cores::types as core_types;
pub(crate) use self::counters::busy;
pub(super) use self::counters::counters;
pub(super) use self::power::on_battery;

use super::{CpuTimes, HostFacts};
use punctual_core::Nanos;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

pub(super) fn host() -> HostFacts {
    let kernel = read("/proc/sys/kernel/osrelease");
    let (deepest_idle_state, deepest_idle_exit) = idle::deepest().unzip();
    HostFacts {
        os_version: read("/etc/os-release").and_then(|text| pretty_name(&text)),
        preemption: read("/proc/sys/kernel/version").and_then(|text| preemption(&text)),
        preemption_mode: preemption_mode(),
        cpu_model: read("/proc/cpuinfo").and_then(|text| cpu_model(&text)),
        hypervisor: read("/sys/hypervisor/type"),
        clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_sources: read("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        sched_ext: sched_ext(
            read("/sys/kernel/sched_ext/state"),
            read("/sys/kernel/sched_ext/root/ops"),
        ),
        tick_hz: tick_hz(),
        halt_poll: halt_poll(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        cpuidle_driver: read("/sys/devices/system/cpu/cpuidle/current_driver"),
        deepest_idle_exit,
        deepest_idle_state,
        cpu_dma_latency: cpu_dma_latency(),
        kernel,
        ..HostFacts::default()
    }
}

pub(super) fn cpu_times(cpus: &[usize]) -> Option<CpuTimes> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let tick = tick()?;
    let none = CpuTimes {
        idle: Nanos::ZERO,
        stolen: Nanos::ZERO,
    };
    cpus.iter().try_fold(none, |sum, &cpu| {
        let (idle, stolen) = cpu_ticks(&stat, cpu)?;
        Some(CpuTimes {
            idle: sum.idle + tick.times(idle),
            stolen: sum.stolen + tick.times(stolen),
        })
    })
}

pub(super) fn stolen_fraction() -> Option<f64> {
    stolen(&fs::read_to_string("/proc/stat").ok()?)
}

/// What `/proc/stat` counts times in: 10 ms everywhere.
fn tick() -> Option<Nanos> {
    // SAFETY: asks for one number; no pointers.
    let ticks_per_s = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let ticks_per_s = u64::try_from(ticks_per_s).ok()?;
    1_000_000_000_u64.checked_div(ticks_per_s).map(Nanos::new)
}

/// Columns of a CPU in proc_stat(5).
const IDLE: usize = 3;
const IOWAIT: usize = 4;
const STEAL: usize = 7;

/// The whole file without surrounding space; `None` when empty or unreadable.
pub fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What the kernel was built with, where distributions put it, or where it says so
/// itself if it was built to.
pub fn kernel_config() -> Option<String> {
    let release = read("/proc/sys/kernel/osrelease")?;
    read(&format!("/boot/config-{release}")).or_else(own_config)
}

/// gunzip stands in for a library, which whoever waits would compile as well.
fn own_config() -> Option<String> {
    let packed = fs::File::open("/proc/config.gz").ok()?;
    let mut gunzip = Command::new("gunzip");
    let unpacked = gunzip
        .arg("-c")
        .stdin(packed)
        .stderr(Stdio::null())
        .output();
    let unpacked = unpacked.ok().filter(|done| done.status.success())?;
    String::from_utf8(unpacked.stdout).ok()
}

/// `PRETTY_NAME` of os-release(5), whose values may be quoted.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']).to_owned())
}

/// The word of the build line that tells how the kernel preempts, as in
/// `#1 SMP PREEMPT_DYNAMIC Debian 6.1.0`.
fn preemption(version: &str) -> Option<String> {
    let word = version
        .split(' ')
        .find(|word| word.starts_with("PREEMPT"))?;
    Some(word.to_owned())
}

/// The first `model name` of `/proc/cpuinfo`, which ARM does not have.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `CONFIG_HZ`, as the step of the clock that the tick writes: `KTIME_LOW_RES` is
/// one tick (clock_getres(2)). `sysconf(_SC_CLK_TCK)` is not it: that is 100 for
/// every program, whatever the kernel uses.
fn tick_hz() -> Option<u32> {
    let mut step = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `step` is a valid place for one timespec.
    let answer = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut step) };
    let ns = u32::try_from(step.tv_nsec)
        .ok()
        .filter(|ns| *ns > 0 && answer == 0)?;
    Some((1_000_000_000 + ns / 2) / ns)
}

/// How long an idle CPU of a guest polls before it halts, where that driver picks
/// (kernel documentation, "Guest halt polling").
fn halt_poll() -> Option<Nanos> {
    let driver = read("/sys/devices/system/cpu/cpuidle/current_driver")?;
    let ns = read("/sys/module/haltpoll/parameters/guest_halt_poll_ns")?;
    let ns = ns.parse().ok().filter(|_| driver == "haltpoll")?;
    Some(Nanos::new(ns))
}

/// How the kernel preempts now: as its build line says where that leaves no choice, as debugfs says,
/// which only root can read, else as it was started, else as it was built.
fn preemption_mode() -> Option<String> {
    let version = read("/proc/sys/kernel/version").and_then(|text| preemption(&text));
    let chosen = || read("/sys/kernel/debug/sched/preempt").and_then(|modes| in_brackets(&modes));
    let is_dynamic = version.as_deref() == Some("PREEMPT_DYNAMIC");
    let given = || preempt_given(&read("/proc/cmdline")?).filter(|_| is_dynamic);
    let built = || built_mode(&kernel_config()?).map(str::to_owned);
    let fixed = version.as_deref().and_then(fixed_mode).map(str::to_owned);
    fixed.or_else(chosen).or_else(given).or_else(built)
}

/// The one mode of a kernel with this word in its build line, if it has but one
/// (`init/Makefile`).
fn fixed_mode(preemption: &str) -> Option<&'static str> {
    match preemption {
        "PREEMPT_RT" => Some("rt"),
        "PREEMPT" => Some("full"),
        _ => None,
    }
}

/// What sched_ext does, with the scheduler that it has loaded (kernel documentation, "Extensible
/// Scheduler Class").
fn sched_ext(state: Option<String>, ops: Option<String>) -> Option<String> {
    let state = state?;
    Some(match ops.filter(|_| state != "disabled") {
        Some(ops) => format!("{state}, {ops}"),
        None => state,
    })
}

/// The share of all time of all CPUs that was stolen; guests' time is in that of users already.
fn stolen(stat: &str) -> Option<f64> {
    let columns = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks = columns.split_ascii_whitespace().map(str::parse::<u64>);
    let ticks: Vec<u64> = ticks.take(STEAL + 1).collect::<Result<_, _>>().ok()?;
    let all: u64 = ticks.iter().sum();
    let stolen = *ticks.get(STEAL)?;
    (all > 0).then(|| stolen as f64 / all as f64)
}

/// The word in round brackets, as in `none voluntary (full) lazy`.
fn in_brackets(modes: &str) -> Option<String> {
    let (mode, _) = modes.split_once('(')?.1.split_once(')')?;
    Some(mode.to_owned())
}

/// The last `preempt=` of a kernel's command line.
fn preempt_given(command_line: &str) -> Option<String> {
    let mut words = command_line.split_ascii_whitespace().rev();
    let mode = words.find_map(|word| word.strip_prefix("preempt="))?;
    Some(mode.to_owned())
}

/// The default of a kernel's configuration.
fn built_mode(config: &str) -> Option<&'static str> {
    let is_set = |option: &str| {
        config
            .lines()
            .any(|line| line.strip_suffix("=y") == Some(option))
    };
    [
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
    ]
    .into_iter()
    .find_map(|(option, mode)| is_set(option).then_some(mode))
}

/// The device answers with the strictest limit in force, a 32-bit number of
/// microseconds. To have it open for a moment asks for nothing (kernel
/// documentation, "PM Quality of Service Interface").
fn cpu_dma_latency() -> Option<Nanos> {
    let mut us = [0; 4];
    fs::File::open("/dev/cpu_dma_latency")
        .and_then(|mut device| device.read_exact(&mut us))
        .ok()?;
    u64::try_from(i32::from_ne_bytes(us))
        .ok()
        .map(Nanos::from_us)
}

/// How long a CPU was idle, and how long it was stolen, in ticks.
fn cpu_ticks(stat: &str, cpu: usize) -> Option<(u64, u64)> {
    let name = format!("cpu{cpu} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
    let columns: Vec<&str> = line.split_ascii_whitespace().collect();
    let ticks = |column: usize| columns.get(column)?.parse::<u64>().ok();
    Some((ticks(IDLE)? + ticks(IOWAIT)?, ticks(STEAL)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_their_manuals_say() {
        let stat =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 4 800 900 8 16 32 5 6\ncpu10 0 0 0 0 0 0 0 7 0 0\n";
        assert_eq!(cpu_ticks(stat, 1), Some((1_700, 32)));
        assert_eq!(cpu_ticks(stat, 10), Some((0, 7)));
        assert_eq!(cpu_ticks(stat, 0), None);
        assert_eq!(cpu_ticks("cpu0 1 2 4 800 900\n", 0), None);
        assert_eq!(stolen("cpu  10 0 10 60 10 0 5 5 7 7\ncpu0 1\n"), Some(0.05));
        assert_eq!(stolen("cpu  10 0 10 60\n"), None);
        assert_eq!(stolen("cpu  0 0 0 0 0 0 0 0 0 0\n"), None);
        let ext = |state: &str, ops: Option<&str>| {
            sched_ext(Some(state.to_owned()), ops.map(str::to_owned))
        };
        assert_eq!(ext("disabled", None).unwrap(), "disabled");
        assert_eq!(ext("enabled", Some("rusty")).unwrap(), "enabled, rusty");
        assert_eq!(sched_ext(None, None), None);
        assert_eq!(fixed_mode("PREEMPT_RT"), Some("rt"));
        assert_eq!(fixed_mode("PREEMPT"), Some("full"));
        assert_eq!(fixed_mode("PREEMPT_DYNAMIC"), None);
        let config = "CONFIG_PREEMPT_BUILD=y\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\n";
        assert_eq!(built_mode(config), Some("voluntary"));
        assert_eq!(
            built_mode("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RCU=y\n"),
            Some("full")
        );
        assert_eq!(
            in_brackets("none voluntary (full) lazy").as_deref(),
            Some("full")
        );
        let given = preempt_given("quiet preempt=none preempt=full init=/x");
        assert_eq!(given.as_deref(), Some("full"));
        let os_release = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(
            pretty_name(os_release).unwrap(),
            "Debian GNU/Linux 12 (bookworm)"
        );
        assert_eq!(
            preemption("#1 SMP PREEMPT_DYNAMIC @0").unwrap(),
            "PREEMPT_DYNAMIC"
        );
        assert_eq!(preemption("#1 SMP Debian 6.1"), None);
        assert_eq!(
            cpu_model("processor\t: 0\nmodel name\t: Xeon\n").unwrap(),
            "Xeon"
        );
    }

    #[test]
    fn the_first_allowed_cpu_has_its_times() {
        let cpu = crate::thread::allowed_cpus()[0];
        if fs::exists("/proc/stat").unwrap() {
            let one = cpu_times(&[cpu]).unwrap();
            let twice = cpu_times(&[cpu, cpu]).unwrap();
            assert!(twice.idle >= one.idle.times(2));
        }
    }
}
