//! TPAUSE and MWAITX. Both wait on the time stamp counter, whose rate no instruction states
//! reliably. It is therefore timed against the clock once: by a reading at one spin, and another
//! at a later one.

use super::SpinInstruction;
use crate::clock;
use punctual_core::Nanos;
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, _rdtsc, CpuidResult};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn detect() -> SpinInstruction {
    if has_waitpkg() {
        SpinInstruction::Tpause
    } else if has_monitorx() {
        SpinInstruction::Mwaitx
    } else {
        SpinInstruction::Pause
    }
}

/// TPAUSE, UMONITOR and UMWAIT: leaf 7.0, ECX bit 5 (Intel SDM). A hypervisor or a
/// kernel without support hides a feature by clearing its bit.
fn has_waitpkg() -> bool {
    cpuid(0).eax >= 7 && cpuid(7).ecx >> 5 & 1 == 1
}

/// MONITORX and MWAITX: leaf 8000_0001, ECX bit 29 (AMD APM volume 3).
fn has_monitorx() -> bool {
    const EXTENDED: u32 = 0x8000_0000;
    cpuid(EXTENDED).eax > EXTENDED && cpuid(EXTENDED + 1).ecx >> 29 & 1 == 1
}

#[allow(unused_unsafe, reason = "safe since Rust 1.94")]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 CPU has the instruction.
    unsafe { __cpuid_count(leaf, 0) }
}

/// Waits for about `length`, rather less: until the counter has advanced, an
/// interrupt, or the cap of the system. `false`, at once, as long as the rate of
/// the counter is not known.
pub(super) fn wait(kind: SpinInstruction, length: Nanos) -> bool {
    let Some(rate) = Rate::known().or_else(time_the_counter) else {
        return false;
    };
    let cycles = rate.cycles(length);
    match kind {
        SpinInstruction::Tpause => tpause(cycles),
        _ => mwaitx(cycles),
    }
    true
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

/// Watches a cache line that is never written, so that only time or an interrupt ends the wait.
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

/// Counts of the time stamp counter in 2^32 ns; a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate(u64);

/// That of this CPU; 0 until it is known.
static RATE: AtomicU64 = AtomicU64::new(0);

impl Rate {
    fn known() -> Option<Self> {
        let rate = RATE.load(Ordering::Relaxed);
        (rate > 0).then_some(Self(rate))
    }

    /// The counts in `length`, rounded down.
    fn cycles(self, length: Nanos) -> u64 {
        let cycles = (u128::from(length.as_ns()) * u128::from(self.0)) >> 32;
        u64::try_from(cycles).unwrap_or(u64::MAX)
    }

    /// The lower bound of the rate: the counts over the longest time that can
    /// have passed. It must not be more than 1 % below the upper bound.
    fn between(start: Reading, end: Reading) -> Option<Self> {
        let longest = end.after.since(start.before);
        let shortest = end.before.since(start.after);
        let cycles = end.counter.checked_sub(start.counter)?;
        let certain = (longest - shortest).times(100) <= longest;
        if !certain || longest.is_zero() {
            return None;
        }
        let rate = (u128::from(cycles) << 32) / u128::from(longest.as_ns());
        u64::try_from(rate).ok().filter(|rate| *rate > 0).map(Self)
    }
}

/// The distance of the two readings. A microsecond of doubt does not matter then. A suspend
/// between them, in which the clock stops but not the counter, is unlikely.
const APART: Range<Nanos> = Nanos::from_ms(1)..Nanos::from_secs(1);

/// Takes the first reading, or some time after it the second.
#[cold]
fn time_the_counter() -> Option<Rate> {
    static FIRST: Mutex<Option<Reading>> = Mutex::new(None);
    // Another thread, or the one that this signal handler interrupts, does it.
    let mut first = FIRST.try_lock().ok()?;
    if first.is_some_and(|first| clock::now().since(first.after) < APART.start) {
        return None;
    }
    let second = Reading::best();
    let rate = first.and_then(|first| timed(first, second));
    // A measurement that failed begins anew.
    *first = Some(second);
    RATE.store(rate?.0, Ordering::Relaxed);
    rate
}

/// The rate by two readings, if they are good enough.
fn timed(first: Reading, second: Reading) -> Option<Rate> {
    let apart = second.before.since(first.after);
    if !APART.contains(&apart) {
        return None;
    }
    Rate::between(first, second)
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
        assert_eq!(Rate(u64::MAX).cycles(Nanos::MAX), u64::MAX);
    }

    #[test]
    fn an_uncertain_rate_is_no_rate() {
        let interrupted = reading(900_000, 3_000_000, 1_000_000);
        assert_eq!(Rate::between(reading(0, 0, 10), interrupted), None);
        let backwards = reading(1_000_000, 5, 1_000_010);
        assert_eq!(Rate::between(reading(0, 10, 10), backwards), None);
    }

    #[test]
    fn readings_too_near_or_too_far_apart_are_no_rate() {
        let at = |ms: u64| reading(ms * 1_000_000, ms * 3_000_000, ms * 1_000_000 + 50);
        for (first, second, good) in [
            (5, 5, false),
            (5, 7, true),
            (5, 900, true),
            (5, 1_900, false),
        ] {
            assert_eq!(timed(at(first), at(second)).is_some(), good, "{second}");
        }
    }

    /// A host that is busy just then may take more than two readings.
    #[test]
    fn the_counter_of_this_host_is_timed_by_the_time_that_passes() {
        let end = clock::now() + Nanos::from_ms(50);
        while Rate::known().is_none() && clock::now() < end {
            time_the_counter();
        }
        if let Some(rate) = Rate::known() {
            assert!(rate.cycles(Nanos::from_ms(1)) > 0);
        }
    }

    /// Where the CPU has an instruction, one wait with it comes back.
    #[test]
    fn a_detected_instruction_comes_back() {
        let kind = detect();
        let end = clock::now() + Nanos::from_ms(50);
        while kind != SpinInstruction::Pause
            && !wait(kind, Nanos::from_us(20))
            && clock::now() < end
        {}
    }
}
