//! A receive with `SO_RCVTIMEO`, from a socket that nobody sends to.

use super::handle::Call;
use super::posix::whole_us;
use crate::clock::{self, Host};
use crate::wait::sleeper::common::refused;
use punctual_core::{Limit, Reason};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// A pair of sockets: what is to come from the second to the first. Local ones,
/// which need no network and count their timeouts like those of the network.
#[derive(Debug)]
pub(super) struct SocketTimeout {
    receiver: UnixDatagram,
    /// Sends nothing, but keeps the pair connected.
    _sender: UnixDatagram,
}

impl Call for SocketTimeout {
    const MAKING: &'static str = "making a pair of sockets";

    fn make() -> io::Result<Self> {
        let (receiver, sender) = UnixDatagram::pair()?;
        Ok(Self {
            receiver,
            _sender: sender,
        })
    }

    fn block(&mut self, limit: Limit<Host>) -> Reason {
        // Zero would be no timeout at all.
        let us = whole_us(limit.length(clock::now())).max(1);
        let timeout = Some(Duration::from_micros(us));
        let received = self
            .receiver
            .set_read_timeout(timeout)
            .and_then(|()| self.receiver.recv(&mut [0]));
        match received.map_err(|error| error.kind()) {
            Err(io::ErrorKind::WouldBlock) => Reason::Timer,
            Err(io::ErrorKind::Interrupted) => Reason::Interrupted,
            _ => refused(limit),
        }
    }
}
