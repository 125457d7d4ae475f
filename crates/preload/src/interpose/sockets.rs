//! Calls on sockets, which can have a timeout of their own (SO_RCVTIMEO, SO_SNDTIMEO).
//!
//! Neither `emulate` nor `exec --accurate` changes them; `trace` logs those on sockets that have one.

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

/// Makes the call, and logs it if its socket has a timeout.
fn logged<T: Copy + Default + PartialOrd>(
    call: System,
    (socket, option): (c_int, c_int),
    real: impl FnOnce() -> T,
) -> T {
    let wait = timeout(socket, option).and_then(|ns| Wait::begin(call, Asked::Length(ns)));
    let result = real();
    if let Some(wait) = wait {
        let error = errno();
        let has_failed = result < T::default();
        // A socket that does not block has the same error at once.
        let is_timer =
            has_failed && [libc::EAGAIN, libc::EINPROGRESS].contains(&error) && wait.left() == 0;
        wait.finish(is_timer, has_failed && error == libc::EINTR);
        set_errno(error);
    }
    result
}

macro_rules! sockets {
    ($($name:ident = $call:ident, $option:ident: fn($socket:ident: c_int $(, $arg:ident: $kind:ty)*) -> $out:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C-unwind" fn $name($socket: c_int $(, $arg: $kind)*) -> $out {
                let Some(real) = real::$name() else {
                    set_errno(libc::ENOSYS);
                    return -1;
                };
                let real = || unsafe { real($socket $(, $arg)*) };
                match traced::takes_part() {
                    true => logged(System::$call, ($socket, libc::$option), real),
                    false => real(),
                }
            }
        )*
    };
}

sockets! {
    recv = Recvfrom, SO_RCVTIMEO: fn(socket: c_int, buffer: *mut c_void, len: usize, flags: c_int) -> ssize_t;
    recvfrom = Recvfrom, SO_RCVTIMEO: fn(socket: c_int, buffer: *mut c_void, len: usize, flags: c_int, from: *mut sockaddr, room: *mut socklen_t) -> ssize_t;
    recvmsg = Recvmsg, SO_RCVTIMEO: fn(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    send = Sendto, SO_SNDTIMEO: fn(socket: c_int, buffer: *const c_void, len: usize, flags: c_int) -> ssize_t;
    sendto = Sendto, SO_SNDTIMEO: fn(socket: c_int, buffer: *const c_void, len: usize, flags: c_int, to: *const sockaddr, len_to: socklen_t) -> ssize_t;
    sendmsg = Sendmsg, SO_SNDTIMEO: fn(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    accept = Accept, SO_RCVTIMEO: fn(socket: c_int, from: *mut sockaddr, room: *mut socklen_t) -> c_int;
    accept4 = Accept4, SO_RCVTIMEO: fn(socket: c_int, from: *mut sockaddr, room: *mut socklen_t, flags: c_int) -> c_int;
    connect = Connect, SO_SNDTIMEO: fn(socket: c_int, to: *const sockaddr, len: socklen_t) -> c_int;
}
