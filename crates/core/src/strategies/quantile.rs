use crate::method::Method;
use crate::time::{Clock, Nanos};
use crate::wait::{Goal, Limit, Step, Strategy, Turn};

/// One absolute nap that ends a margin before the deadline, then a spin. The
/// margin is the `w / (1 + w)` quantile of the last overshoots: what costs least
/// at the weight `w`, were the next overshoot one of them.
///
/// The half page that anybody would write, kept as what more has to be better
/// than. It knows nothing of what naps cost, nor that spins can end late too.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    method: Method,
    quantile: f64,
    overshoots: Box<[Nanos; Self::KEPT]>,
    naps: usize,
    margin: Nanos,
    spins: u32,
}

impl Quantile {
    const KEPT: usize = 64;
    /// An overshoot beyond it is a stall, and counts as this.
    const OVERSHOOT_MAX: Nanos = Nanos::from_ms(2);
    /// The margin before the first nap.
    const MARGIN_FIRST: Nanos = Nanos::from_us(60);
    /// The shortest nap worth a system call.
    const NAP_MIN: Nanos = Nanos::from_us(12);
    /// The number of waits that may be spun through before the next tries a nap.
    const SPINS_MAX: u32 = 32;

    pub(super) fn new(weight: f64, method: Method) -> Self {
        Self {
            method,
            quantile: weight / (1.0 + weight),
            overshoots: Box::new([Nanos::ZERO; Self::KEPT]),
            naps: 0,
            margin: Self::MARGIN_FIRST,
            spins: 0,
        }
    }

    fn learn(&mut self, overshoot: Nanos) {
        self.overshoots[self.naps % Self::KEPT] = overshoot.min(Self::OVERSHOOT_MAX);
        self.naps += 1;
        if self.naps < 16 || self.naps % 4 == 0 {
            let known = self.naps.min(Self::KEPT);
            let rank = ((known - 1) as f64 * self.quantile + 0.5) as usize;
            let mut overshoots = *self.overshoots;
            self.margin = *overshoots[..known].select_nth_unstable(rank).1;
        }
    }
}

impl<C: Clock> Strategy<C> for Quantile {
    fn next(&mut self, goal: &Goal<C>, turn: &Turn<C>) -> Step<C> {
        let &Turn::Begin(now) = turn else {
            if let Some(nap) = turn.nap() {
                self.learn(nap.slept - nap.asked);
            }
            return Step::Spin;
        };
        let left = goal.left(now);
        let nap = if left > self.margin + Self::NAP_MIN {
            left - self.margin
        } else if left > Self::NAP_MIN {
            self.spins += 1;
            if self.spins < Self::SPINS_MAX {
                return Step::Spin;
            }
            Nanos::new(left.as_ns() / 2)
        } else {
            return Step::Spin;
        };
        self.spins = 0;
        Step::block(self.method, Limit::Until(now + nap))
    }
}
