//! A wait of a thread from its stop to its next one.

use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, user_regs_struct};
use punctual_preload::books::{Page, Wait, WaitingThread, is_emulated};
use punctual_preload::page::{By, at};
use punctual_preload::runtime::Way;
use punctual_rules::Time;

use crate::timed::{Form, Timed, ns, pair};
use crate::tracee::{Tracee, argument, now};

/// A wait that a thread began at its last stop. It may be over.
pub(crate) struct Open<'p> {
    wait: Wait<'p>,
    waiting: WaitingThread,
    timed: Timed,
    /// The registers as the program had them.
    registers: user_regs_struct,
    /// The instant of the caller's clock that the rule ends it at, if the caller named one.
    instant: Option<u64>,
    /// The place of the length that replaced the caller's, if a register points to it.
    place: Option<u64>,
    /// Whether the kernel begins the same call again.
    begins_again: bool,
}

/// The results by which the kernel begins a call again (linux/errno.h): always, unless a handler runs, and by a call of
/// its own.
const ALWAYS_AGAIN: i64 = -513;
const AGAIN_WITHOUT_HANDLER: i64 = -514;
const GOES_ON: i64 = -516;

/// How far below the stack pointer a program may use memory (System V ABI, x86-64).
const RED_ZONE: u64 = 128;

const MS: u64 = 1_000_000;

impl<'p> Open<'p> {
    /// Begins the wait of a stopped thread and writes the length by the rule into its call. `None` if it keeps its own.
    pub(crate) fn begin(
        page: Page<'p>,
        waiting: WaitingThread,
        mut registers: user_regs_struct,
        slack: u64,
        way: impl FnOnce(punctual_preload::Call) -> Option<Way>,
        end: impl FnOnce(Way, u64, u64) -> Time,
    ) -> Option<Self> {
        let tracee = Tracee(waiting.thread as libc::pid_t);
        let timed = Timed::of(&registers)?;
        let way = way(timed.call)?;
        // This comes first: a supervisor that is preempted in between is not early.
        let begin = now(libc::CLOCK_MONOTONIC);
        let value = *argument(&mut registers, timed.argument);
        let out_of_reach = || _ = page.word(at::UNRULED).fetch_add(1, Relaxed);
        let read = || {
            let pair = tracee.read(value);
            pair.or_else(|| {
                out_of_reach();
                None
            })
        };
        let time = match timed.form {
            Form::Milliseconds(..) => u64::try_from(value as c_int).ok()? * MS,
            Form::TimevalAndLeft => ns(read()?, 1_000)?,
            _ => ns(read()?, 1)?,
        };
        let asked = match timed.form {
            Form::Instant(libc::CLOCK_MONOTONIC) => time.checked_sub(begin)?,
            Form::Instant(clock) => time.checked_sub(now(clock))?,
            _ => time,
        };
        if !is_emulated(asked) {
            return None;
        }
        let rule = |called| Some((end(way, called, asked), 0, page.next_entry()));
        let wait = Wait::begin(page, (timed.call, way), begin, asked, rule)?;
        let mut open = Self {
            wait,
            waiting,
            timed,
            registers,
            instant: matches!(timed.form, Form::Instant(_)).then(|| wait.ask().instant(time)),
            place: None,
            begins_again: false,
        };
        let (due, end) = wait.ends();
        // The slack of the kernel has it end there already.
        let is_as_asked = (due..=due.saturating_add(slack)).contains(&end);
        if !is_as_asked && !open.write(begin) {
            out_of_reach();
            return None;
        }
        wait.log(|| waiting, By::UnderWay, None);
        Some(open)
    }

    /// Writes the time that is left at `from` into the call; whether that was possible.
    fn write(&mut self, from: u64) -> bool {
        let tracee = Tracee(self.waiting.thread as libc::pid_t);
        let mut registers = self.registers;
        let (_, end) = self.wait.ends();
        let left = end.saturating_sub(from);
        let value = *argument(&mut registers, self.timed.argument);
        let is_written = match self.timed.form {
            Form::LengthAndLeft => tracee.write(value, pair(left, 1)),
            Form::TimevalAndLeft => return tracee.write(value, pair(left, 1_000)),
            _ => false,
        };
        if is_written {
            return true;
        }
        // Below what the program can use; the kernel reads it before any handler of a signal can run.
        let place = registers.rsp.wrapping_sub(RED_ZONE + 16) & !15;
        if let Form::Milliseconds(fine, signals) = self.timed.form {
            let signals = signals.map(|number| *argument(&mut registers, number));
            // A register that is no argument of the call may be in use. With a zero it means no set of signals.
            if signals.unwrap_or_default() != 0 || !has(fine) {
                let ms = left.div_ceil(MS).min(c_int::MAX as u64);
                *argument(&mut registers, self.timed.argument) = ms;
                return tracee.set_registers(registers);
            }
            registers.orig_rax = fine as u64;
        }
        if !tracee.write(place, pair(self.instant.unwrap_or(left), 1)) {
            return false;
        }
        *argument(&mut registers, self.timed.argument) = place;
        self.place = Some(place);
        tracee.set_registers(registers)
    }

    /// The thread has stopped for a signal, or for its group, in the middle of the wait or after it.
    pub(crate) fn interrupted(&mut self, has_handler: impl FnOnce() -> bool) {
        let tracee = Tracee(self.waiting.thread as libc::pid_t);
        let Some(mut registers) = tracee.registers() else {
            return;
        };
        let result = registers.rax as i64;
        let is_interrupted = [
            ALWAYS_AGAIN,
            AGAIN_WITHOUT_HANDLER,
            GOES_ON,
            -i64::from(libc::EINTR),
        ];
        let is_at_call = registers.rip == self.registers.rip && registers.orig_rax as i64 >= 0;
        if !is_at_call || !is_interrupted.contains(&result) {
            return;
        }
        self.begins_again =
            result == ALWAYS_AGAIN || result == AGAIN_WITHOUT_HANDLER && !has_handler();
        let left = self.wait.left(now(libc::CLOCK_MONOTONIC));
        let value = *argument(&mut self.registers, self.timed.argument);
        match self.timed.form {
            Form::LengthAndLeft if self.place.is_none() => _ = tracee.write(value, pair(left, 1)),
            Form::TimevalAndLeft => _ = tracee.write(value, pair(left, 1_000)),
            // The kernel has written what is left by the rule.
            _ => {
                _ = self
                    .timed
                    .left
                    .map(|place| tracee.write(place, pair(left, 1)))
            }
        }
        *argument(&mut registers, self.timed.argument) = value;
        registers.orig_rax = self.registers.orig_rax;
        tracee.set_registers(registers);
    }

    /// Goes on with this wait if the thread, with these registers, begins the same call again; else restores a register
    /// that has the place of an earlier length: the program has not loaded it again.
    pub(crate) fn continued(&mut self, registers: &mut user_regs_struct) -> bool {
        if let (Some(place), Some(timed)) = (self.place, Timed::of(registers)) {
            let value = argument(registers, timed.argument);
            // No program has a time of its own there.
            if *value == place && place < registers.rsp.wrapping_sub(RED_ZONE) {
                let meant = *argument(&mut self.registers, self.timed.argument);
                *argument(registers, timed.argument) = meant;
                Tracee(self.waiting.thread as libc::pid_t).set_registers(*registers);
            }
        }
        let is_same = registers.rip == self.registers.rip
            && registers.orig_rax == self.registers.orig_rax
            && registers.rsp == self.registers.rsp;
        if !is_same || !self.begins_again {
            return false;
        }
        self.begins_again = false;
        self.registers = *registers;
        self.write(now(libc::CLOCK_MONOTONIC));
        true
    }

    /// The thread began another wait, so this one is over: before its end by an event, and else by either.
    pub(crate) fn close(self) {
        let (_, end) = self.wait.ends();
        let by = match now(libc::CLOCK_MONOTONIC) < end {
            true => By::Event,
            false => By::Unknown,
        };
        self.wait.log(|| self.waiting, by, None);
        self.wait.count(by, None, None);
    }

    /// The thread has ended: whether its last wait was over before that is known only after the end by the rule.
    pub(crate) fn ended(self) {
        let (_, end) = self.wait.ends();
        if now(libc::CLOCK_MONOTONIC) >= end {
            self.close();
        }
    }
}

/// Whether the kernel has a call: `epoll_pwait2` is of Linux 5.11.
fn has(call: i64) -> bool {
    use std::sync::OnceLock;
    static HAS: OnceLock<bool> = OnceLock::new();
    call != libc::SYS_epoll_pwait2
        || *HAS.get_or_init(|| {
            // SAFETY: there is no such epoll, so the call fails before it looks at the rest.
            let result = unsafe { libc::syscall(call, -1, 0, 0, 0, 0, 0) };
            result == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
        })
}
