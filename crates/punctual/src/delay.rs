//! [`DelayNs`] of embedded-hal, for drivers that run on a computer too.

use std::time::Duration;

use embedded_hal::delay::DelayNs;

use crate::waiter::Waiter;

/// Never shorter than asked. Each call is one wait.
///
/// # Examples
///
/// ```
/// use embedded_hal::delay::DelayNs;
/// use punctual::Waiter;
///
/// fn reset(delay: &mut impl DelayNs) {
///     delay.delay_us(150);
/// }
/// reset(&mut Waiter::new());
/// ```
impl DelayNs for Waiter {
    fn delay_ns(&mut self, ns: u32) {
        self.sleep(Duration::from_nanos(ns.into()));
    }

    fn delay_us(&mut self, us: u32) {
        self.sleep(Duration::from_micros(us.into()));
    }

    fn delay_ms(&mut self, ms: u32) {
        self.sleep(Duration::from_millis(ms.into()));
    }
}
