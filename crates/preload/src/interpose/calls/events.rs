//! Waits for events of file descriptors.

use std::ptr::null;

use libc::{c_int, epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval};

use super::super::wait::Wait;
use super::super::{on_time, real};
use super::{SECOND, length, missing, or_coarser, time};
use crate::Call;

/// Polls for so many nanoseconds, by `ppoll`; where that is refused, by `coarse` with a length.
unsafe fn polls(
    call: Call,
    (fds, count): (*mut pollfd, nfds_t),
    ns: Option<u64>,
    mask: *const sigset_t,
    native: impl Fn() -> c_int,
    coarse: impl Fn(u64) -> c_int,
) -> c_int {
    let Some(fine) = real::ppoll() else {
        return native();
    };
    let Some(wait) = ns.and_then(|ns| Wait::begin(call, ns)) else {
        return native();
    };
    let fine = |length| unsafe { fine(fds, count, &time(length), mask) };
    wait.by(
        native,
        |ask| or_coarser(|| fine(ask.length), || coarse(ask.length)),
        |result| result == 0,
    )
}

fn of_ms(ms: c_int) -> Option<u64> {
    Some(u64::try_from(ms).ok()? * 1_000_000)
}

/// In milliseconds, rounded up.
fn to_ms(ns: u64) -> c_int {
    ns.div_ceil(1_000_000).min(c_int::MAX as u64) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, ms: c_int) -> c_int {
    unsafe {
        let plain = |ms| real::poll().map_or_else(|| missing(), |real| real(fds, count, ms));
        polls(
            Call::Poll,
            (fds, count),
            of_ms(ms),
            null(),
            || plain(ms),
            |ns| plain(to_ms(ns)),
        )
    }
}

/// `poll` under `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    ms: c_int,
    room: usize,
) -> c_int {
    unsafe {
        if room / size_of::<pollfd>() < count as usize {
            let real = real::__poll_chk();
            return real.map_or_else(|| missing(), |real| real(fds, count, ms, room));
        }
        poll(fds, count, ms)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let native =
            || real::ppoll().map_or_else(|| missing(), |real| real(fds, count, asked, mask));
        let ns = length(asked);
        polls(Call::Ppoll, (fds, count), ns, mask, native, |_| native())
    }
}

/// `ppoll` under `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    asked: *const timespec,
    mask: *const sigset_t,
    room: usize,
) -> c_int {
    unsafe {
        if room / size_of::<pollfd>() < count as usize {
            let real = real::__ppoll_chk();
            return real.map_or_else(|| missing(), |real| real(fds, count, asked, mask, room));
        }
        ppoll(fds, count, asked, mask)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    asked: *mut timeval,
) -> c_int {
    unsafe {
        let native = || {
            let real = real::select();
            real.map_or_else(
                || missing(),
                |real| real(count, reads, writes, others, asked),
            )
        };
        let length = asked.as_ref().and_then(|asked| {
            let seconds = u64::try_from(asked.tv_sec).ok()?;
            let us = u64::try_from(asked.tv_usec).ok()?;
            seconds
                .checked_mul(SECOND)?
                .checked_add(us.checked_mul(1_000)?)
        });
        let Some(real) = real::pselect() else {
            return native();
        };
        // Without any sets it is a sleep.
        let call = match reads.is_null() && writes.is_null() && others.is_null() {
            true => Call::SelectNothing,
            false => Call::Select,
        };
        let wait = length.and_then(|ns| Wait::begin(call, ns));
        let (Some(wait), Some(sets)) = (wait, Sets::of(count, [reads, writes, others])) else {
            return native();
        };
        let fine = |ns| {
            sets.restore();
            real(count, reads, writes, others, &time(ns), null())
        };
        let coarse = |ns: u64| {
            let us = ns.div_ceil(1_000);
            (*asked).tv_sec = (us / 1_000_000) as libc::time_t;
            (*asked).tv_usec = (us % 1_000_000) as libc::suseconds_t;
            native()
        };
        let result = wait.by(
            native,
            |ask| or_coarser(|| fine(ask.length), || coarse(ask.length)),
            |result| result == 0,
        );
        // Linux says what is left.
        if let Some(left) = wait.left() {
            let left = if result == 0 { 0 } else { left };
            (*asked).tv_sec = (left / SECOND) as libc::time_t;
            (*asked).tv_usec = (left % SECOND / 1_000) as libc::suseconds_t;
        }
        result
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    reads: *mut fd_set,
    writes: *mut fd_set,
    others: *mut fd_set,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let Some(real) = real::pselect() else {
            return missing();
        };
        let wait = length(asked).and_then(|ns| Wait::begin(Call::Pselect, ns));
        let (Some(wait), Some(sets)) = (wait, Sets::of(count, [reads, writes, others])) else {
            return real(count, reads, writes, others, asked, mask);
        };
        wait.by(
            || real(count, reads, writes, others, asked, mask),
            |ask| {
                sets.restore();
                real(count, reads, writes, others, &time(ask.length), mask)
            },
            |result| result == 0,
        )
    }
}

/// The sets of descriptors of a `select`, which each call writes to.
#[derive(Clone, Copy)]
struct Sets {
    places: [*mut fd_set; 3],
    kept: [fd_set; 3],
    bytes: usize,
}

impl Sets {
    /// Keeps what is in the sets; `None` if they are larger than sets mostly are.
    unsafe fn of(count: c_int, places: [*mut fd_set; 3]) -> Option<Self> {
        let words = usize::try_from(count).ok()?.div_ceil(64);
        let bytes = (words <= size_of::<fd_set>() / 8).then_some(8 * words)?;
        // SAFETY: a set is a mask of bits, for which zeros are a value.
        let mut kept: [fd_set; 3] = unsafe { std::mem::zeroed() };
        for (kept, place) in kept.iter_mut().zip(places).filter(|(_, it)| !it.is_null()) {
            // SAFETY: the kernel reads and writes so many bytes of each set.
            unsafe { (place.cast::<u8>()).copy_to_nonoverlapping((&raw mut *kept).cast(), bytes) };
        }
        Some(Self {
            places,
            kept,
            bytes,
        })
    }

    unsafe fn restore(&self) {
        for (kept, place) in (self.kept.iter().zip(self.places)).filter(|(_, it)| !it.is_null()) {
            // SAFETY: as above.
            unsafe { (place.cast::<u8>()).copy_from((&raw const *kept).cast(), self.bytes) };
        }
    }
}

/// Waits for events of an epoll for so many milliseconds by `plain`, the call of the program. A wait of another length is one
/// of `epoll_pwait2`, where libc and the kernel have it (glibc 2.35, Linux 5.11).
unsafe fn epolls(
    call: Call,
    (epoll, events, most): (c_int, *mut epoll_event, c_int),
    ms: c_int,
    mask: *const sigset_t,
    plain: impl Fn(c_int) -> c_int,
) -> c_int {
    let fine = real::epoll_pwait2();
    if fine.is_none() && on_time::takes_part() {
        // Whole milliseconds are what the caller asks for.
        return plain(ms);
    }
    let Some(wait) = of_ms(ms).and_then(|ns| Wait::begin(call, ns)) else {
        return plain(ms);
    };
    let coarse = |length| plain(to_ms(length));
    let real = |length: u64| match fine {
        None => coarse(length),
        Some(fine) => or_coarser(
            || unsafe { fine(epoll, events, most, &time(length), mask) },
            || coarse(length),
        ),
    };
    wait.by(|| plain(ms), |ask| real(ask.length), |result| result == 0)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ms: c_int,
) -> c_int {
    unsafe {
        let plain = |ms| {
            let real = real::epoll_wait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms))
        };
        epolls(Call::EpollWait, (epoll, events, most), ms, null(), plain)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    ms: c_int,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let plain = |ms| {
            let real = real::epoll_pwait();
            real.map_or_else(|| missing(), |real| real(epoll, events, most, ms, mask))
        };
        epolls(Call::EpollPwait, (epoll, events, most), ms, mask, plain)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    asked: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    unsafe {
        let Some(real) = real::epoll_pwait2() else {
            return missing();
        };
        let Some(wait) = length(asked).and_then(|ns| Wait::begin(Call::EpollPwait2, ns)) else {
            return real(epoll, events, most, asked, mask);
        };
        wait.by(
            || real(epoll, events, most, asked, mask),
            |ask| real(epoll, events, most, &time(ask.length), mask),
            |result| result == 0,
        )
    }
}
