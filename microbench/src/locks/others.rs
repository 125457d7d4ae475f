//! The locks of other libraries.

use super::Guards;

/// The one of the standard library.
#[derive(Default)]
pub(super) struct Std(std::sync::Mutex<()>);

impl Guards for Std {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        let _held = self.0.lock().expect("nobody panics under the lock");
        inside();
    }
}

#[derive(Default)]
pub(super) struct ParkingLot(parking_lot::Mutex<()>);

impl Guards for ParkingLot {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        let _held = self.0.lock();
        inside();
    }
}

/// Test, and test-and-set, without backoff.
#[derive(Default)]
pub(super) struct Spin(spin::mutex::SpinMutex<()>);

impl Guards for Spin {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        let _held = self.0.lock();
        inside();
    }
}

#[derive(Default)]
pub(super) struct SpinTicket(spin::mutex::TicketMutex<()>);

impl Guards for SpinTicket {
    #[inline]
    fn section(&self, _worker: usize, inside: impl FnOnce()) {
        let _held = self.0.lock();
        inside();
    }
}
