//! TPAUSE and MWAITX. Both wait on the time stamp counter, whose rate no
//! instruction states reliably, so it is timed against the clock once.

use super::Kind;
use crate::clock;
use crate::cpuid;
use punctual_core::Nanos;
use std::arch::asm;
use std::arch::x86_64::_rdtsc;

/// The instruction of this CPU, and the rate of its counter.
#[derive(Debug)]
pub(super) struct LowPower {
    kind: Kind,
    rate: Rate,
}

impl LowPower {
    pub(super) fn detect() -> Option<Self> {
        let kind = if cpuid::has_waitpkg() {
            Kind::Tpause
        } else if cpuid::has_monitorx() {
            Kind::Mwaitx
        } else {
            return None;
        };
        // A host that was busy just then gets two more chances.
        let rate = (0..3).find_map(|_| Rate::measure())?;
        Some(Self { kind, rate })
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Waits for about `length`, rather less: until the counter has advanced,
    /// an interrupt, or the cap of the system.
    pub(super) fn wait(&self, length: Nanos) {
        let cycles = self.rate.cycles(length);
        match self.kind {
            Kind::Tpause => tpause(cycles),
            _ => mwaitx(cycles),
        }
    }
}

/// Waits in C0.2, the deeper of the two states; the system may forbid it, and
/// then the CPU takes C0.1 (Intel SDM, TPAUSE).
fn tpause(cycles: u64) {
    // SAFETY: reads a counter.
    let deadline = unsafe { _rdtsc() }.saturating_add(cycles);
    // SAFETY: only reached when CPUID states WAITPKG. The instruction takes the
    // state in a register and the deadline in EDX:EAX, and changes flags only.
    unsafe {
        asm!(
            "tpause {state:e}",
            state = in(reg) 0_u32,
            in("edx") (deadline >> 32) as u32,
            in("eax") deadline as u32,
            options(nomem, nostack),
        );
    }
}

/// Watches a cache line that nobody writes, so that only time or an interrupt
/// ends the wait.
fn mwaitx(cycles: u64) {
    /// A line of its own: a neighbour that is written would end each wait.
    #[repr(align(128))]
    struct Line([u8; 128]);
    static LINE: Line = Line([0; 128]);

    let timeout = u32::try_from(cycles).unwrap_or(u32::MAX);
    // SAFETY: only reached when CPUID states MONITORX. MONITORX takes an address
    // that may be read (RAX) and no extensions or hints. MWAITX takes bit 1 of
    // ECX for "stop after EBX counts" and hint 0 (C1) in EAX (AMD APM volume 3).
    // RBX belongs to the compiler, so it is put back.
    unsafe {
        asm!(
            "monitorx",
            in("rax") LINE.0.as_ptr(),
            in("ecx") 0_u32,
            in("edx") 0_u32,
            options(readonly, nostack),
        );
        asm!(
            "xchg {timeout}, rbx",
            "mwaitx",
            "xchg {timeout}, rbx",
            timeout = inout(reg) u64::from(timeout) => _,
            in("eax") 0_u32,
            in("ecx") 2_u32,
            options(nomem, nostack, preserves_flags),
        );
    }
}

/// Counts of the time stamp counter in a length of time; a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    cycles: u64,
    ns: u64,
}

impl Rate {
    /// The counts in `length`, rounded down.
    fn cycles(self, length: Nanos) -> u64 {
        let cycles = u128::from(length.as_ns()) * u128::from(self.cycles) / u128::from(self.ns);
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// Times the counter against the clock for a millisecond. `None` when the
    /// two readings were too uncertain, as on a host that was busy just then.
    fn measure() -> Option<Self> {
        let start = Reading::best();
        while clock::now().since(start.after) < Nanos::from_ms(1) {
            std::hint::spin_loop();
        }
        Self::between(start, Reading::best())
    }

    /// The lower bound of the rate: the counts over the longest time that can
    /// have passed. It must not be more than 1 % below the upper bound.
    fn between(start: Reading, end: Reading) -> Option<Self> {
        let longest = end.after.since(start.before);
        let shortest = end.before.since(start.after);
        let cycles = end.counter.checked_sub(start.counter)?;
        let certain = (longest - shortest).times(100) <= longest;
        (certain && cycles > 0 && !longest.is_zero()).then_some(Self {
            cycles,
            ns: longest.as_ns(),
        })
    }
}

/// The counter read between two readings of the clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before: clock::Tick,
    counter: u64,
    after: clock::Tick,
}

impl Reading {
    /// The one whose readings of the clock lie closest together.
    fn best() -> Self {
        let mut best = Self::take();
        for _ in 0..8 {
            let next = Self::take();
            if next.after.since(next.before) < best.after.since(best.before) {
                best = next;
            }
        }
        best
    }

    fn take() -> Self {
        Self {
            before: clock::now(),
            // SAFETY: reads a counter.
            counter: unsafe { _rdtsc() },
            after: clock::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Tick;

    fn reading(before: u64, counter: u64, after: u64) -> Reading {
        Reading {
            before: Tick::from_ns(before),
            counter,
            after: Tick::from_ns(after),
        }
    }

    #[test]
    fn the_rate_is_a_lower_bound() {
        let rate = Rate::between(
            reading(0, 1_000, 100),
            reading(999_900, 3_001_000, 1_000_000),
        );
        let rate = rate.unwrap();
        assert_eq!(rate.cycles(Nanos::from_us(100)), 300_000);
        assert_eq!(rate.cycles(Nanos::MAX), u64::MAX);
    }

    #[test]
    fn an_uncertain_rate_is_no_rate() {
        let interrupted = reading(900_000, 3_000_000, 1_000_000);
        assert_eq!(Rate::between(reading(0, 0, 10), interrupted), None);
        let backwards = reading(1_000_000, 5, 1_000_010);
        assert_eq!(Rate::between(reading(0, 10, 10), backwards), None);
    }

    #[test]
    fn the_counter_of_this_host_can_be_timed_or_says_that_it_cannot() {
        if let Some(rate) = Rate::measure() {
            assert!(rate.cycles(Nanos::from_ms(1)) > 0);
        }
    }

    /// Where the CPU has an instruction, one wait with it comes back.
    #[test]
    fn a_detected_instruction_comes_back() {
        if let Some(low_power) = LowPower::detect() {
            low_power.wait(Nanos::from_us(20));
        }
    }
}
