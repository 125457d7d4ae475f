//! Calls on sockets, which can have a timeout of their own (SO_RCVTIMEO, SO_SNDTIMEO).
//!
//! Neither `emulate` nor `exec --accurate` changes them; `trace` logs those on sockets that have one. Programs that were
//! compiled with `_FORTIFY_SOURCE` call `__recv_chk` and `__recvfrom_chk`; the others have no such name. `read` is not
//! logged, so `__read_chk` is not either.

#![allow(clippy::undocumented_unsafe_blocks)]

use libc::{c_int, c_void, msghdr, sockaddr, socklen_t, ssize_t, timeval};

use super::real;
use super::traced::{self, Asked, Wait};
use super::wait::{errno, set_errno};
use crate::traced::System;

/// The length of a timeout of a socket; `None` without one.
fn timeout(socket: c_int, option: c_int) -> Option<u64> {
    let mut time = timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let mut len = size_of::<timeval>() as socklen_t;
    let error = errno();
    let place = (&raw mut time).cast::<c_void>();
    let done = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, option, place, &raw mut len) };
    set_errno(error);
    let ns = (time.tv_sec as u64)
        .checked_mul(1_000_000_000)?
        .checked_add((time.tv_usec as u64).checked_mul(1_000)?)?;
    (done == 0 && ns > 0).then_some(ns)
}

/// Whether a call with these flags returns at once, ready or not.
fn does_not_wait(socket: c_int, flags: c_int) -> bool {
    if flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) != 0 {
        return true;
    }
    let error = errno();
    let of_file = unsafe { libc::fcntl(socket, libc::F_GETFL) };
    set_errno(error);
    of_file >= 0 && of_file & libc::O_NONBLOCK != 0
}

/// Makes the call, and logs it if its socket has a timeout.
fn logged<T: Copy + Default + PartialOrd>(
    call: System,
    (socket, option, flags): (c_int, c_int, c_int),
    real: impl FnOnce() -> T,
) -> T {
    let timeout = timeout(socket, option).filter(|_| !does_not_wait(socket, flags));
    let wait = timeout.and_then(|ns| Wait::begin(call, Asked::Length(ns)));
    let result = real();
    if let Some(wait) = wait {
        let error = errno();
        let has_failed = result < T::default();
        // Other things have the same errors.
        let is_timer =
            has_failed && [libc::EAGAIN, libc::EINPROGRESS].contains(&error) && wait.is_over();
        wait.finish(is_timer, has_failed && error == libc::EINTR);
        set_errno(error);
    }
    result
}

macro_rules! sockets {
    ($($name:ident = $call:ident, $option:ident, $flags:expr; fn($socket:ident: c_int $(, $arg:ident: $kind:ty)*) -> $out:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($socket: c_int $(, $arg: $kind)*) -> $out {
                let Some(real) = real::$name() else {
                    set_errno(libc::ENOSYS);
                    return -1;
                };
                let real = || unsafe { real($socket $(, $arg)*) };
                match traced::takes_part() {
                    true => logged(System::$call, ($socket, libc::$option, $flags), real),
                    false => real(),
                }
            }
        )*
    };
}

sockets! {
    recv = Recvfrom, SO_RCVTIMEO, flags; fn(socket: c_int, buffer: *mut c_void, len: usize, flags: c_int) -> ssize_t;
    recvfrom = Recvfrom, SO_RCVTIMEO, flags; fn(socket: c_int, buffer: *mut c_void, len: usize, flags: c_int, from: *mut sockaddr, room: *mut socklen_t) -> ssize_t;
    __recv_chk = Recvfrom, SO_RCVTIMEO, flags; fn(socket: c_int, buffer: *mut c_void, len: usize, room: usize, flags: c_int) -> ssize_t;
    __recvfrom_chk = Recvfrom, SO_RCVTIMEO, flags; fn(socket: c_int, buffer: *mut c_void, len: usize, room: usize, flags: c_int, from: *mut sockaddr, room_of_from: *mut socklen_t) -> ssize_t;
    recvmsg = Recvmsg, SO_RCVTIMEO, flags; fn(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    send = Sendto, SO_SNDTIMEO, flags; fn(socket: c_int, buffer: *const c_void, len: usize, flags: c_int) -> ssize_t;
    sendto = Sendto, SO_SNDTIMEO, flags; fn(socket: c_int, buffer: *const c_void, len: usize, flags: c_int, to: *const sockaddr, len_to: socklen_t) -> ssize_t;
    sendmsg = Sendmsg, SO_SNDTIMEO, flags; fn(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    accept = Accept, SO_RCVTIMEO, 0; fn(socket: c_int, from: *mut sockaddr, room: *mut socklen_t) -> c_int;
    accept4 = Accept4, SO_RCVTIMEO, 0; fn(socket: c_int, from: *mut sockaddr, room: *mut socklen_t, flags: c_int) -> c_int;
    connect = Connect, SO_SNDTIMEO, 0; fn(socket: c_int, to: *const sockaddr, len: socklen_t) -> c_int;
}
