//! What the kernel counts for the whole computer: proc_stat(5),
//! proc_interrupts(5).

use super::{IDLE, IOWAIT, idle, tick};
use crate::facts::{Counters, CpuUse};
use punctual_core::Nanos;
use std::fs;

pub(in crate::facts) fn counters() -> Option<Counters> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let interrupts = fs::read_to_string("/proc/interrupts").ok();
    let cpus = cpu_uses(&stat, tick()?);
    Some(Counters {
        timer_interrupts: interrupts.and_then(|text| timer_interrupts(&text)),
        interrupts: total(&stat, "intr "),
        context_switches: total(&stat, "ctxt "),
        idle_states: idle::uses(cpus.iter().map(|usage| usage.cpu)),
        cpus,
    })
}

/// What all CPUs did together, without the rest of the counters.
pub(crate) fn busy() -> Option<Nanos> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let cpus = cpu_uses(&stat, tick()?);
    Some(cpus.iter().fold(Nanos::ZERO, |sum, cpu| sum + cpu.busy))
}

/// Columns of a CPU in which it did something, besides [`IDLE`] and
/// [`IOWAIT`]: user, nice, system, irq, softirq. What a guest used is in user.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
