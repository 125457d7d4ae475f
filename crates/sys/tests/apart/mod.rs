//! Tests in processes of their own, and calls that are refused in them.

use libc::{c_int, c_long};
use punctual_core::Nanos;
use punctual_sys::slack;
use std::env;
use std::process::Command;

pub(crate) const FUTEX: c_long = libc::SYS_futex;
pub(crate) const NANOSLEEP: c_long = libc::SYS_clock_nanosleep;
pub(crate) const PPOLL: c_long = libc::SYS_ppoll;
pub(crate) const PRCTL: c_long = libc::SYS_prctl;

/// The slack of a thread of these tests before it naps.
pub(crate) const OWN_SLACK: Nanos = Nanos::from_us(40);

/// Runs this test, by its name, in a process of its own. A wait that does not end
/// is ended by an alarm.
pub(crate) fn apart(name: &str, test: impl FnOnce()) {
    const WHICH: &str = "PUNCTUAL_TEST_OF_ITS_OWN";
    if env::var_os(WHICH).is_some() {
        // SAFETY: takes a number.
        unsafe { libc::alarm(120) };
        slack::set(OWN_SLACK).unwrap();
        return test();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(WHICH, name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains("1 passed"), "{said}");
}

/// Calls that the system refuses to this thread and those that it starts, by their
/// numbers. Of futex only the operation that naps wait with: threads end, and tell
/// so, by others.
pub(crate) fn refuse(calls: &[c_long], errno: c_int) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // Of `struct seccomp_data`; the lower half of the second argument.
    const NUMBER: u32 = 0;
    const OPERATION: u32 = if cfg!(target_endian = "little") {
        24
    } else {
        28
    };
    let step = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
    let refused = step(RETURN, libc::SECCOMP_RET_ERRNO | errno as u32, 0);
    let allowed = step(RETURN, libc::SECCOMP_RET_ALLOW, 0);
    let mut steps = vec![step(LOAD, NUMBER, 0)];
    for call in calls {
        if *call == libc::SYS_futex {
            let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
            steps.extend([
                step(IF_EQUAL, *call as u32, 4),
                step(LOAD, OPERATION, 0),
                step(IF_EQUAL, operation as u32, 1),
                refused,
                allowed,
            ]);
        } else {
            steps.extend([step(IF_EQUAL, *call as u32, 1), refused]);
        }
    }
    steps.push(allowed);
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program and its steps live until the calls return.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let answer = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        );
        assert_eq!(answer, 0);
    }
}
