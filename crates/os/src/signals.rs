//! Requests to end this process.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a process is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// By its user: Ctrl-C.
    Interrupt,
    /// By another program or the system, which may not wait for long.
    Terminate,
}

/// From now on, the process does not end when it is asked to: `answer` is called instead, each time,
/// on a thread of its own.
///
/// # Errors
/// It is not the first call in this process, or the system refuses.
///
/// # Platform notes
/// Unix: SIGINT, and SIGTERM and SIGHUP. A SIGHUP that is ignored, as by nohup, stays so. Windows:
/// Ctrl-C and Ctrl-Break, and the end of the console or the session.
pub fn on_ask(answer: impl FnMut(Ask) + Send + 'static) -> Result<(), Error> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(Error::unsupported("this process listens already"));
    }
    platform::on_ask(Box::new(answer))
}

/// The function that is called.
type Answer = Box<dyn FnMut(Ask) + Send>;

#[cfg(unix)]
mod platform {
    //! The handler writes to a pipe, which is all that is safe in one; a thread reads from it.

    use super::{Answer, Ask};
    use crate::Error;
    use std::io::{ErrorKind, PipeReader, Read as _};
    use std::os::fd::IntoRawFd as _;
    use std::sync::atomic::{AtomicI32, Ordering};

    static PIPE: AtomicI32 = AtomicI32::new(-1);

    pub(super) fn on_ask(answer: Answer) -> Result<(), Error> {
        let refused = |why: std::io::Error| Error::io("cannot listen for Ctrl-C", &why);
        let (asked, asks) = std::io::pipe().map_err(refused)?;
        // Stays open until the process ends.
        PIPE.store(asks.into_raw_fd(), Ordering::Release);
        let listening = std::thread::Builder::new().spawn(move || listen(asked, answer));
        listening.map_err(refused)?;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            handle(signal).map_err(refused)?;
        }
        Ok(())
    }

    fn handle(signal: libc::c_int) -> std::io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = note;
        // SAFETY: all fields of a sigaction may be zero, and the places for the old and the new one
        // are valid; the handler makes only calls that are safe in one, and touches only an atomic.
        let done = unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut old);
            if signal == libc::SIGHUP && old.sa_sigaction == libc::SIG_IGN {
                return Ok(());
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as libc::sighandler_t;
            new.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &raw const new, std::ptr::null_mut())
        };
        match done {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }

    /// The handler, signal-safety(7).
    extern "C" fn note(signal: libc::c_int) {
        let ask = signal as u8;
        // SAFETY: one byte that lives during the call. The pipe never fills with thousands of
        // unread signals: the thread reads them at once.
        unsafe { libc::write(PIPE.load(Ordering::Acquire), (&raw const ask).cast(), 1) };
    }

    fn listen(mut asked: PipeReader, mut answer: Answer) {
        let mut signal = [0];
        loop {
            match asked.read(&mut signal) {
                Ok(1..) => answer(match libc::c_int::from(signal[0]) {
                    libc::SIGINT => Ask::Interrupt,
                    _ => Ask::Terminate,
                }),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

#[cfg(windows)]
mod platform {
    //! The system calls the handler on a thread that it makes for that.

    use super::{Answer, Ask};
    use crate::Error;
    use std::sync::{Mutex, PoisonError};
    use windows_sys::Win32::System::Console::{
        CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler,
    };
    use windows_sys::core::BOOL;

    static ANSWER: Mutex<Option<Answer>> = Mutex::new(None);

    pub(super) fn on_ask(answer: Answer) -> Result<(), Error> {
        *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        // SAFETY: the handler has the signature that the call is documented with.
        match unsafe { SetConsoleCtrlHandler(Some(note), 1) } {
            0 => Err(Error::last_os("cannot listen for Ctrl-C")),
            _ => Ok(()),
        }
    }

    unsafe extern "system" fn note(event: u32) -> BOOL {
        let mut answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = &mut *answer {
            answer(match event {
                CTRL_C_EVENT | CTRL_BREAK_EVENT => Ask::Interrupt,
                _ => Ask::Terminate,
            });
        }
        1
    }
}

#[cfg(not(any(unix, windows)))]
mod platform {
    use super::Answer;
    use crate::Error;

    pub(super) fn on_ask(_answer: Answer) -> Result<(), Error> {
        Err(Error::unsupported("this system has no Ctrl-C"))
    }
}
