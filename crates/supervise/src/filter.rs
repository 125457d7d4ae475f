//! The calls at which a thread stops: those that wait for a time. A call without a time is let through.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, c_long,
    sock_filter,
};

/// `AUDIT_ARCH_X86_64` (linux/audit.h).
const X86_64: u32 = 0xc000_003e;
/// The bit of system calls by the x32 convention.
const X32: u32 = 0x4000_0000;

/// Places in `seccomp_data` (linux/seccomp.h).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(number: u32) -> u32 {
    16 + 8 * number
}

/// When a call has a time.
#[derive(Clone, Copy)]
enum If {
    Always,
    /// The argument of this number is no null pointer.
    Pointer(u32),
    /// The argument of this number, in milliseconds, is above zero.
    Milliseconds(u32),
}

const CALLS: [(c_long, If); 12] = [
    (libc::SYS_nanosleep, If::Always),
    (libc::SYS_clock_nanosleep, If::Always),
    (libc::SYS_timerfd_settime, If::Always),
    (libc::SYS_poll, If::Milliseconds(2)),
    (libc::SYS_ppoll, If::Pointer(2)),
    (libc::SYS_select, If::Pointer(4)),
    (libc::SYS_pselect6, If::Pointer(4)),
    (libc::SYS_epoll_wait, If::Milliseconds(3)),
    (libc::SYS_epoll_pwait, If::Milliseconds(3)),
    (libc::SYS_epoll_pwait2, If::Pointer(3)),
    (libc::SYS_rt_sigtimedwait, If::Pointer(2)),
    (libc::SYS_futex, If::Pointer(3)),
];

/// The operations of a futex that wait.
pub(crate) const FUTEX_WAITS: [i32; 5] = [
    libc::FUTEX_WAIT,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_WAIT_REQUEUE_PI,
    libc::FUTEX_LOCK_PI,
    libc::FUTEX_LOCK_PI2,
];

/// The part of an operation that names it.
pub(crate) const FUTEX_OPERATION: i32 = !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);

fn load(at: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, at)
}

fn statement(code: u32, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u32, k: u32, jt: usize, jf: usize) -> sock_filter {
    let [jt, jf] = [jt, jf].map(|skip| u8::try_from(skip).expect("a filter is short"));
    let code = code as u16;
    sock_filter { code, jt, jf, k }
}

const EQUALS: u32 = BPF_JMP | BPF_JEQ | BPF_K;
const HAS_BIT: u32 = BPF_JMP | BPF_JSET | BPF_K;

/// The filter; `lets_nanosleep` as in [`Supervised`](crate::Supervised).
pub(crate) fn filter(lets_nanosleep: bool) -> Vec<sock_filter> {
    let stop = statement(BPF_RET | BPF_K, libc::SECCOMP_RET_TRACE);
    let go_on = statement(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW);
    let mut filter = vec![
        load(ARCHITECTURE),
        jump(EQUALS, X86_64, 1, 0),
        go_on,
        load(NUMBER),
        jump(HAS_BIT, X32, 0, 1),
        go_on,
    ];
    let calls = CALLS.iter();
    for &(call, when) in calls.filter(|(call, _)| !(lets_nanosleep && *call == libc::SYS_nanosleep))
    {
        let mut body = vec![];
        if call == libc::SYS_futex {
            body.push(load(argument(1)));
            body.push(statement(BPF_ALU | BPF_AND | BPF_K, FUTEX_OPERATION as u32));
            let count = FUTEX_WAITS.len();
            for (place, wait) in FUTEX_WAITS.iter().enumerate() {
                // The last one is behind the others and behind what is done of an operation that is none of them.
                body.push(jump(EQUALS, *wait as u32, count - place, 0));
            }
            body.push(go_on);
        }
        match when {
            If::Always => body.push(stop),
            If::Pointer(number) => body.extend([
                load(argument(number)),
                jump(EQUALS, 0, 0, 2),
                load(argument(number) + 4),
                jump(EQUALS, 0, 1, 0),
                stop,
                go_on,
            ]),
            If::Milliseconds(number) => body.extend([
                load(argument(number)),
                jump(EQUALS, 0, 2, 0),
                jump(HAS_BIT, 1 << 31, 1, 0),
                stop,
                go_on,
            ]),
        }
        filter.push(jump(EQUALS, call as u32, 0, body.len()));
        filter.extend(body);
    }
    filter.push(go_on);
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the filter on a call: whether the thread stops.
    fn stops(lets_nanosleep: bool, architecture: u32, number: u32, arguments: [u64; 6]) -> bool {
        let filter = filter(lets_nanosleep);
        let word = |at: u32| match at {
            NUMBER => number,
            ARCHITECTURE => architecture,
            at => {
                let argument = arguments[(at as usize - 16) / 8];
                if at.is_multiple_of(8) {
                    argument as u32
                } else {
                    (argument >> 32) as u32
                }
            }
        };
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = filter[at];
            let taken = |is: bool| usize::from(if is { jt } else { jf });
            at += 1;
            match u32::from(code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => value = word(k),
                code if code == BPF_ALU | BPF_AND | BPF_K => value &= k,
                EQUALS => at += taken(value == k),
                HAS_BIT => at += taken(value & k != 0),
                _ => return k == libc::SECCOMP_RET_TRACE,
            }
        }
    }

    #[test]
    fn only_calls_with_a_time_stop() {
        let call =
            |number: c_long, arguments: [u64; 6]| stops(false, X86_64, number as u32, arguments);
        let high = 0x7f00_0000_0000;
        for (number, at) in [
            (libc::SYS_ppoll, 2),
            (libc::SYS_select, 4),
            (libc::SYS_pselect6, 4),
            (libc::SYS_epoll_pwait2, 3),
            (libc::SYS_rt_sigtimedwait, 2),
        ] {
            let mut arguments = [1; 6];
            for (pointer, is_stop) in [(0, false), (8, true), (high, true)] {
                arguments[at] = pointer;
                assert_eq!(call(number, arguments), is_stop, "{number} {pointer:x}");
            }
        }
        for (number, at) in [
            (libc::SYS_poll, 2),
            (libc::SYS_epoll_wait, 3),
            (libc::SYS_epoll_pwait, 3),
        ] {
            let mut arguments = [1; 6];
            for (ms, is_stop) in [(0, false), (1, true), (i32::MAX, true), (-1, false)] {
                arguments[at] = u64::from(ms as u32);
                assert_eq!(call(number, arguments), is_stop, "{number} {ms}");
            }
        }
        for (operation, is_stop) in [
            (0, true),
            (128, true),
            (1, false),
            (129, false),
            (9 | 256, true),
            (6, true),
            (13 | 128, true),
            (11, true),
            (3, false),
        ] {
            let with = |time| call(libc::SYS_futex, [high, operation, 0, time, 0, 0]);
            assert_eq!(with(high), is_stop, "{operation}");
            assert!(!with(0), "{operation}");
        }
        assert!(call(libc::SYS_nanosleep, [8, 0, 0, 0, 0, 0]));
        assert!(!call(libc::SYS_read, [8; 6]));
        let nanosleep = libc::SYS_nanosleep as u32;
        assert!(!stops(true, X86_64, nanosleep, [8; 6]));
        assert!(stops(
            true,
            X86_64,
            libc::SYS_clock_nanosleep as u32,
            [8; 6]
        ));
        assert!(!stops(false, X86_64, nanosleep | X32, [8; 6]));
        // Of a program of 32 bits: AUDIT_ARCH_I386.
        assert!(!stops(false, 0x4000_0003, nanosleep, [8; 6]));
    }
}
