//! A stopped thread: its registers and its memory.

use std::io;
use std::ptr::{null_mut, without_provenance_mut};

use libc::{c_int, c_void, iovec, pid_t, user_regs_struct};

/// A thread that this one traces. It can be killed at any time; then all requests fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tracee(pub(crate) pid_t);

/// The type that the C library has for requests.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
#[cfg(not(target_env = "gnu"))]
type Request = c_int;

/// The registers of arguments, in their order.
pub(crate) fn argument(registers: &mut user_regs_struct, number: usize) -> &mut u64 {
    match number {
        0 => &mut registers.rdi,
        1 => &mut registers.rsi,
        2 => &mut registers.rdx,
        3 => &mut registers.r10,
        4 => &mut registers.r8,
        _ => &mut registers.r9,
    }
}

impl Tracee {
    /// Traces a thread that is not stopped, and all that it starts.
    pub(crate) fn seize(self) -> io::Result<()> {
        let options = libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_EXITKILL;
        self.request(libc::PTRACE_SEIZE, without_provenance_mut(options as usize))
    }

    /// Lets it go on, with a signal if that is not zero.
    pub(crate) fn go_on(self, signal: c_int) {
        // One that was killed goes nowhere.
        let _ = self.request(libc::PTRACE_CONT, without_provenance_mut(signal as usize));
    }

    /// Leaves it in its group stop, until a signal continues it.
    pub(crate) fn listen(self) {
        let _ = self.request(libc::PTRACE_LISTEN, null_mut());
    }

    pub(crate) fn registers(self) -> Option<user_regs_struct> {
        // SAFETY: all fields are numbers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, (&raw mut registers).cast())
            .ok()?;
        Some(registers)
    }

    /// Whether the registers are now these.
    pub(crate) fn set_registers(self, mut registers: user_regs_struct) -> bool {
        self.request(libc::PTRACE_SETREGS, (&raw mut registers).cast())
            .is_ok()
    }

    fn request(self, request: Request, data: *mut c_void) -> io::Result<()> {
        // SAFETY: each request of this file writes at most a `user_regs_struct` through `data`, which then points to one.
        match unsafe { libc::ptrace(request, self.0, null_mut::<c_void>(), data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// Two whole numbers of its memory: a `timespec` or a `timeval`.
    pub(crate) fn read(self, at: u64) -> Option<[i64; 2]> {
        let mut pair = [0_i64; 2];
        self.copy(&mut pair, at, libc::process_vm_readv)
            .then_some(pair)
    }

    /// Whether the two numbers are written. Memory that the program cannot write to is left as it is.
    pub(crate) fn write(self, at: u64, mut pair: [i64; 2]) -> bool {
        self.copy(&mut pair, at, libc::process_vm_writev)
    }

    fn copy(self, pair: &mut [i64; 2], at: u64, how: Copy) -> bool {
        let len = size_of_val(pair);
        let here = iovec {
            iov_base: pair.as_mut_ptr().cast(),
            iov_len: len,
        };
        let there = iovec {
            iov_base: without_provenance_mut(at as usize),
            iov_len: len,
        };
        // SAFETY: `here` is the pair. `there` is memory of the other process, which the kernel checks.
        let copied = unsafe { how(self.0, &here, 1, &there, 1, 0) };
        copied == len as isize
    }
}

type Copy = unsafe extern "C" fn(
    pid_t,
    *const iovec,
    libc::c_ulong,
    *const iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

/// Nanoseconds of a clock now.
pub(crate) fn now(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock writes to a time of this function.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}
