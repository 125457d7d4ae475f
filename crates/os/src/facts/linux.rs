//! `/proc`, `/sys` and `/etc/os-release`. A file that is missing, or closed to
//! this user, is a fact that is not told.

use super::{Counters, CpuTimes, CpuUse, HostFacts};
use punctual_core::Nanos;
use punctual_program::machine::IdleState;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

pub(super) fn host() -> HostFacts {
    let kernel = read("/proc/sys/kernel/osrelease");
    let (deepest_idle_state, deepest_idle_exit) = deepest_idle().unzip();
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

pub(super) fn idle_of_each(cpus: &[usize]) -> Vec<(usize, Nanos)> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let tick = tick().unwrap_or_default();
    let idle = |cpu: &usize| Some((*cpu, tick.times(cpu_ticks(&stat, *cpu)?.0)));
    cpus.iter().filter_map(idle).collect()
}

pub(super) fn stolen_fraction() -> Option<f64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_ascii_whitespace().next()?.parse().ok()?;
    let ticks_per_s = 1e9 / tick()?.as_ns() as f64;
    stolen(
        &fs::read_to_string("/proc/stat").ok()?,
        uptime * ticks_per_s,
    )
}

/// The unit of the times in `/proc/stat`: 10 ms everywhere.
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

/// The configuration of the kernel, from where distributions put it, or from the kernel itself if
/// it was built to have it.
pub fn kernel_config() -> Option<String> {
    let release = read("/proc/sys/kernel/osrelease")?;
    read(&format!("/boot/config-{release}")).or_else(own_config)
}

/// gunzip stands in for a library, which users of the waits would compile as well.
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

/// The present mode of preemption. Its source is the build line where that leaves no choice, else
/// debugfs (root only), the boot line, or the build.
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

/// The state of sched_ext, with the scheduler that it has loaded (kernel documentation,
/// "Extensible Scheduler Class").
fn sched_ext(state: Option<String>, ops: Option<String>) -> Option<String> {
    let state = state?;
    Some(match ops.filter(|_| state != "disabled") {
        Some(ops) => format!("{state}, {ops}"),
        None => state,
    })
}

/// The share of all time of all CPUs that was stolen, unless that is more than the ticks
/// since the start allow; guests' time is in that of users already.
fn stolen(stat: &str, uptime_ticks: f64) -> Option<f64> {
    let ticks = columns(stat, "cpu ")?;
    let stolen = *ticks.get(STEAL)? as f64;
    let all: f64 = ticks[..=STEAL].iter().map(|ticks| *ticks as f64).sum();
    let is_cpu = |line: &&str| {
        let number = line
            .strip_prefix("cpu")
            .and_then(|rest| rest.chars().next());
        number.is_some_and(|digit| digit.is_ascii_digit())
    };
    let cpus = stat.lines().filter(is_cpu).count().max(1);
    // A CPU that was taken away since keeps its part of the sum, so there may be twice as much.
    let is_possible = stolen <= 2.0 * uptime_ticks * cpus as f64;
    (all > 0.0 && is_possible).then(|| stolen / all)
}

/// The numbers of the line of `/proc/stat` that begins so.
fn columns(stat: &str, name: &str) -> Option<Vec<u64>> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
    let columns = line.split_ascii_whitespace();
    Some(columns.map_while(|column| column.parse().ok()).collect())
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
    let ticks = columns(stat, &format!("cpu{cpu} "))?;
    Some((ticks.get(IDLE)? + ticks.get(IOWAIT)?, *ticks.get(STEAL)?))
}

/// Which CPUs are of which kind: nothing when all are alike, as far as the kernel tells.
pub(super) fn core_types() -> Vec<(usize, String)> {
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

/// The kernel's counters of the whole computer: proc_stat(5), proc_interrupts(5).
pub(super) fn counters() -> Option<Counters> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let interrupts = fs::read_to_string("/proc/interrupts").ok();
    let cpus = cpu_uses(&stat, tick()?);
    Some(Counters {
        timer_interrupts: interrupts.and_then(|text| timer_interrupts(&text)),
        interrupts: total(&stat, "intr "),
        context_switches: total(&stat, "ctxt "),
        idle_states: idle_uses(cpus.iter().map(|usage| usage.cpu)),
        cpus,
    })
}

/// The CPU time of all CPUs together, without the other counters.
pub(crate) fn busy() -> Option<Nanos> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let cpus = cpu_uses(&stat, tick()?);
    Some(cpus.iter().fold(Nanos::ZERO, |sum, cpu| sum + cpu.busy))
}

/// Columns of a CPU in which it did something, besides [`IDLE`] and [`IOWAIT`]: user, nice,
/// system, irq, softirq. The time of guests is in user.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

fn cpu_uses(stat: &str, tick: Nanos) -> Vec<CpuUse> {
    let of_line = |line: &str| {
        let (cpu, columns) = line.strip_prefix("cpu")?.split_once(' ')?;
        let columns: Vec<u64> = columns
            .split_ascii_whitespace()
            .map_while(|column| column.parse().ok())
            .collect();
        let sum = |of: &[usize]| of.iter().filter_map(|&column| columns.get(column)).sum();
        Some(CpuUse {
            // The line of all CPUs together has no number.
            cpu: cpu.parse().ok()?,
            busy: tick.times(sum(&BUSY)),
            idle: tick.times(sum(&[IDLE, IOWAIT])),
        })
    };
    stat.lines().filter_map(of_line).collect()
}

/// The first number of a line of `/proc/stat`.
fn total(stat: &str, name: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Summed over the CPUs. On x86 the line `LOC` counts the interrupts of the
/// local timers; on ARM, that of `arch_timer` does.
fn timer_interrupts(interrupts: &str) -> Option<u64> {
    let of_timer =
        |line: &&str| line.trim_start().starts_with("LOC:") || line.contains("arch_timer");
    let line = interrupts.lines().find(of_timer)?;
    let counts = line.split_once(':')?.1;
    Some(
        counts
            .split_ascii_whitespace()
            .map_while(|count| count.parse::<u64>().ok())
            .sum(),
    )
}

/// The deepest idle state of the first CPU that is enabled, and how long it says it takes to
/// leave (kernel documentation, "CPU Idle Time Management").
fn deepest_idle() -> Option<(String, Nanos)> {
    let states = (0..).map_while(|number| idle_state(|name| idle_field(0, number, name)));
    let enabled = states.filter(|(_, is_enabled)| *is_enabled);
    enabled.map(|(state, _)| state).last()
}

/// How the CPUs used their idle states, summed over the CPUs.
fn idle_uses(cpus: impl Iterator<Item = usize>) -> Vec<IdleState> {
    let mut sums: Vec<IdleState> = Vec::new();
    for cpu in cpus {
        let of_cpu = (0..).map_while(|number| idle_use(|name| idle_field(cpu, number, name)));
        add_idle(&mut sums, of_cpu);
    }
    sums
}

/// States go by their names: CPUs of two kinds have different ones.
fn add_idle(sums: &mut Vec<IdleState>, of_cpu: impl Iterator<Item = IdleState>) {
    for state in of_cpu {
        match sums.iter_mut().find(|sum| sum.name == state.name) {
            Some(sum) => {
                sum.entered += state.entered;
                sum.total += state.total;
            }
            None => sums.push(state),
        }
    }
}

/// Its name, how long it takes to leave, and whether the system may use it.
fn idle_state(field: impl Fn(&str) -> Option<String>) -> Option<((String, Nanos), bool)> {
    let exit = us(&field("latency")?)?;
    Some(((field("name")?, exit), field("disable")? == "0"))
}

fn idle_use(field: impl Fn(&str) -> Option<String>) -> Option<IdleState> {
    Some(IdleState {
        name: field("name")?,
        entered: field("usage")?.parse().ok()?,
        total: us(&field("time")?)?,
    })
}

fn us(text: &str) -> Option<Nanos> {
    text.parse().ok().map(Nanos::from_us)
}

fn idle_field(cpu: usize, state: usize, name: &str) -> Option<String> {
    read(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{name}"
    ))
}

/// The mains, or a battery that empties, say it; a computer with neither does
/// not.
pub(super) fn on_battery() -> Option<bool> {
    let supplies = fs::read_dir("/sys/class/power_supply").ok()?.flatten();
    let texts: Vec<Supply> = supplies
        .filter_map(|supply| {
            let field = |name: &str| {
                let text = fs::read_to_string(supply.path().join(name)).ok()?;
                Some(text.trim().to_owned())
            };
            Some(Supply {
                kind: field("type")?,
                scope: field("scope"),
                online: field("online"),
                status: field("status"),
            })
        })
        .collect();
    runs_on_battery(&texts)
}

/// One folder of `/sys/class/power_supply` (kernel documentation, ABI
/// "sysfs-class-power").
struct Supply {
    kind: String,
    /// `Device` for the battery of a mouse.
    scope: Option<String>,
    online: Option<String>,
    status: Option<String>,
}

/// A plug that is in says no; else a battery that is being emptied says yes.
fn runs_on_battery(supplies: &[Supply]) -> Option<bool> {
    let of_computer = |supply: &&Supply| supply.scope.as_deref() != Some("Device");
    let mut plugs = supplies
        .iter()
        .filter(of_computer)
        .filter(|supply| supply.kind != "Battery" && supply.kind != "UPS");
    if plugs.any(|plug| plug.online.as_deref() == Some("1")) {
        return Some(false);
    }
    let mut batteries = supplies
        .iter()
        .filter(of_computer)
        .filter(|supply| supply.kind == "Battery")
        .peekable();
    batteries.peek()?;
    Some(batteries.any(|battery| battery.status.as_deref() == Some("Discharging")))
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
        assert_eq!(
            stolen("cpu  10 0 10 60 10 0 5 5 7 7\ncpu0 1\n", 100.0),
            Some(0.05)
        );
        assert_eq!(stolen("cpu  10 0 10 60\n", 100.0), None);
        assert_eq!(stolen("cpu  0 0 0 0 0 0 0 0 0 0\n", 100.0), None);
        let huge = "cpu  9 0 9 9 9 0 5 18446744073709551611 7 7\ncpu0 1\ncpu1 1\n";
        assert_eq!(stolen(huge, 100.0), None);
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

    #[test]
    fn a_cpu_is_busy_or_idle() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 4 800 900 8 16 32 5 6\ncpu12 0 0 1 7\n\
                    intr 1234 5 6\nctxt 77\n";
        let usage = |cpu, busy, idle| CpuUse {
            cpu,
            busy: Nanos::from_ms(busy),
            idle: Nanos::from_ms(idle),
        };
        assert_eq!(
            cpu_uses(stat, Nanos::from_ms(10)),
            [usage(0, 310, 17_000), usage(12, 10, 70)]
        );
        assert_eq!(total(stat, "intr "), Some(1_234));
        assert_eq!(total(stat, "ctxt "), Some(77));
        assert_eq!(total(stat, "btime "), None);
    }

    #[test]
    fn timer_interrupts_are_those_of_all_cpus() {
        let x86 = "            CPU0       CPU1\n   0:         22          0   IO-APIC   2-edge      timer\n \
                   LOC:      12345      67890   Local timer interrupts\n";
        assert_eq!(timer_interrupts(x86), Some(80_235));
        let arm = "           CPU0       CPU1\n 11:       1000       2000     GICv3  27 Level     arch_timer\n";
        assert_eq!(timer_interrupts(arm), Some(3_000));
        assert_eq!(timer_interrupts("           CPU0\n"), None);
    }

    #[test]
    fn counts_go_up() {
        let (Some(first), Some(second)) = (counters(), counters()) else {
            return;
        };
        assert_eq!(first.cpus.len(), second.cpus.len());
        assert!(first.context_switches <= second.context_switches);
        assert!(first.interrupts <= second.interrupts);
    }

    /// A folder of the file system, as text.
    fn folder(fields: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let (_, text) = fields.iter().find(|field| field.0 == name)?;
            Some((*text).to_owned())
        }
    }

    const C6: &[(&str, &str)] = &[
        ("name", "C6"),
        ("latency", "133"),
        ("disable", "1"),
        ("usage", "7"),
        ("time", "9000"),
    ];

    #[test]
    fn a_state_is_read_from_its_folder() {
        let c6 = ("C6".to_owned(), Nanos::from_us(133));
        assert_eq!(idle_state(folder(C6)), Some((c6, false)));
        assert_eq!(idle_state(folder(&[])), None);
    }

    #[test]
    fn uses_are_summed_by_name() {
        let c6 = || idle_use(folder(C6)).unwrap();
        let poll = IdleState {
            name: "POLL".to_owned(),
            entered: 1,
            total: Nanos::from_us(2),
        };
        let mut sums = Vec::new();
        add_idle(&mut sums, [poll.clone(), c6()].into_iter());
        add_idle(&mut sums, [c6()].into_iter());
        assert_eq!(sums[0], poll);
        assert_eq!((sums[1].entered, sums[1].total), (14, Nanos::from_ms(18)));
    }

    #[test]
    fn a_battery_is_in_use_when_it_empties_and_no_plug_is_in() {
        let plug = |online: &str| Supply {
            kind: "Mains".to_owned(),
            scope: None,
            online: Some(online.to_owned()),
            status: None,
        };
        let battery = |status: &str| Supply {
            kind: "Battery".to_owned(),
            scope: None,
            online: None,
            status: Some(status.to_owned()),
        };
        let mouse = Supply {
            scope: Some("Device".to_owned()),
            ..battery("Discharging")
        };
        assert_eq!(runs_on_battery(&[]), None);
        assert_eq!(runs_on_battery(&[mouse]), None);
        assert_eq!(
            runs_on_battery(&[plug("0"), battery("Discharging")]),
            Some(true)
        );
        assert_eq!(
            runs_on_battery(&[plug("1"), battery("Discharging")]),
            Some(false)
        );
        assert_eq!(runs_on_battery(&[battery("Full")]), Some(false));
        assert_eq!(runs_on_battery(&[plug("1")]), Some(false));
    }
}
