//! Signals that ask a process to end. A program of its own, because handlers belong to the whole
//! process.
#![cfg(unix)]

use punctual_os::signals::{self, Ask};
use std::sync::mpsc;

#[test]
fn each_ask_arrives_and_the_process_goes_on() {
    // SAFETY: nothing else of this process handles the signal.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    let (tell, asked) = mpsc::channel();
    signals::on_ask(move |ask| tell.send(ask).unwrap()).unwrap();
    for (signal, ask) in [
        (libc::SIGINT, Ask::Interrupt),
        (libc::SIGTERM, Ask::Terminate),
        (libc::SIGINT, Ask::Interrupt),
    ] {
        // SAFETY: sends a signal to the calling thread, which has a handler for it or ignores it.
        unsafe {
            libc::raise(libc::SIGHUP);
            libc::raise(signal);
        }
        assert_eq!(asked.recv().unwrap(), ask);
    }
    // Ignored as it was before.
    assert_eq!(asked.try_recv(), Err(mpsc::TryRecvError::Empty));
    assert!(signals::on_ask(|_| {}).unwrap_err().is_unsupported());
}
