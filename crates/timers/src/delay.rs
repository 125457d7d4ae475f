use std::time::Duration;

use embedded_hal_async::delay::DelayNs;

use crate::sleep::sleep;

/// A delay for drivers that are written for embedded-hal-async 1, under any async runtime. Each
/// call is one [`Sleep`](crate::Sleep), never shorter than asked.
///
/// # Examples
///
/// ```
/// use embedded_hal_async::delay::DelayNs;
/// use punctual_timers::Delay;
///
/// async fn reset(delay: &mut impl DelayNs) {
///     delay.delay_us(150).await;
/// }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// reset(&mut Delay).await;
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay;

impl DelayNs for Delay {
    async fn delay_ns(&mut self, ns: u32) {
        sleep(Duration::from_nanos(ns.into())).await;
    }

    async fn delay_us(&mut self, us: u32) {
        sleep(Duration::from_micros(us.into())).await;
    }

    async fn delay_ms(&mut self, ms: u32) {
        sleep(Duration::from_millis(ms.into())).await;
    }
}
