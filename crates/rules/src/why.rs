use std::fmt;

use crate::Time;

/// Why a timer went off when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The rule drew a random overshoot: this much after it was due.
    Chance {
        /// The end asked for.
        due: Time,
    },
    /// A script, or a recording, says so.
    Script {
        /// The end asked for.
        due: Time,
    },
    /// A timer with a window, from its soft to its hard expiry.
    Window {
        /// The end asked for.
        soft: Time,
        /// When it would have had an interrupt of its own.
        hard: Time,
    },
    /// A timer that is looked at in the ticks of the jiffies wheel.
    Wheel {
        /// The end asked for.
        due: Time,
        /// The jiffy.
        jiffy: Time,
        /// The step of the wheel's level it was on.
        granule: Time,
    },
    /// There was nothing to wait for: a length of zero.
    AtOnce {
        /// The instant of the call.
        called: Time,
    },
    /// A high-resolution timer, which has an interrupt of its own.
    OwnInterrupt {
        /// The end asked for.
        due: Time,
        /// When the thread called.
        called: Time,
        /// The amount that the system adds to the length.
        late: Time,
    },
    /// A timer that is looked at in clock interrupts.
    Tick {
        /// The instant from which the interrupt counts it as over.
        due: Time,
        /// When the thread called.
        called: Time,
        /// The instant from which the length asked for was counted: that of
        /// the call, or of the last tick before it.
        base: Time,
        /// Until when the thread said it could be late; `due` if it did not.
        until: Time,
        /// The timer interval.
        interval: Time,
        /// The timer is looked at in one of so many ticks.
        every: u64,
        /// The tick is one after that.
        slipped: bool,
    },
}

/// Why a wake happened when it did. Displays as a sentence, with instants in
/// milliseconds since the beginning of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The reason that its rule gives.
    pub why: Why,
    /// When it was.
    pub at: Time,
    /// The beginning of the experiment.
    pub origin: Time,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        explain(f, self.why, self.at, self.origin)
    }
}

/// Says why a timer went off at `at`; instants are milliseconds since `origin`.
fn explain(f: &mut fmt::Formatter<'_>, why: Why, at: Time, origin: Time) -> fmt::Result {
    let ms = |time: Time| Ms(time - origin);
    let shown = ms(at);
    match why {
        Why::Chance { due } => write!(
            f,
            "due {}, at {shown}: the fake OS drew {} ms of overshoot",
            ms(due),
            Ms(at - due)
        ),
        Why::Script { due } if at >= due => write!(
            f,
            "due {}, at {shown}: the recording is {} ms late here",
            ms(due),
            Ms(at - due)
        ),
        Why::Script { due } => write!(
            f,
            "due {}, at {shown}: the script is {} ms early here",
            ms(due),
            Ms(due - at)
        ),
        Why::Window { soft, hard } if at >= hard => write!(
            f,
            "due {}, at {shown}: no other timer of its CPU went off in its window of {} ms, so it had an \
                 interrupt of its own at the late edge",
            ms(soft),
            Ms(hard - soft)
        ),
        Why::Window { soft, hard } => write!(
            f,
            "due {}, at {shown}: its window lasts to {}, and the interrupt of another timer came inside it",
            ms(soft),
            ms(hard)
        ),
        Why::Wheel {
            due,
            jiffy,
            granule,
        } => write!(
            f,
            "due {}, at {shown}: the wheel counts jiffies of {} ms, and rounds a timeout this long up to a \
                 multiple of {} ms",
            ms(due),
            Ms(jiffy),
            Ms(granule)
        ),
        Why::AtOnce { called } => write!(
            f,
            "due {}, at {shown}: a length of zero is over at once",
            ms(called)
        ),
        Why::OwnInterrupt { due, called, late } => {
            write!(
                f,
                "due {}, at {shown}: the system raises the clock for this timer alone",
                ms(due)
            )?;
            if late > Time::ZERO {
                write!(f, "; it adds {} ms to the length", Ms(late))?;
            }
            write!(
                f,
                ", and the first interrupt after that comes {} ms after the call",
                Ms(at - called)
            )
        }
        Why::Tick {
            due,
            called,
            base,
            until,
            interval,
            every,
            slipped,
        } => {
            write!(f, "due {}", ms(due))?;
            if base == Time::ZERO {
                // Nothing is known of ticks before it, and this one is the last of them.
                write!(f, " (counted from the last tick before the experiment)")?;
            } else if base < called {
                write!(
                    f,
                    " (counted from the tick at {}, before the call at {})",
                    ms(base),
                    ms(called)
                )?;
            }
            write!(f, ", at tick {shown}: ticks come every {} ms", Ms(interval))?;
            match every {
                0 | 1 => write!(f, ", and each looks at this timer"),
                n => write!(
                    f,
                    "; this process has asked for no interval that counts (class D), and its timers are \
                         looked at every {n} ticks"
                ),
            }?;
            if slipped {
                write!(f, "; this time the look came a tick late")?;
            }
            if until > due && at <= until {
                write!(
                    f,
                    "; it may be up to {} ms late, and timers that may be late meet at this tick",
                    Ms(until - due)
                )?;
            }
            Ok(())
        }
    }
}

/// Milliseconds to a tenth of a microsecond.
#[derive(Clone, Copy, Debug)]
pub struct Ms(pub Time);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths_of_us = (self.0.floor_ns() + 50) / 100;
        write!(f, "{}.{:04}", tenths_of_us / 10_000, tenths_of_us % 10_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(why: Why, at_us: u64) -> String {
        let at = Time::from_ns(at_us * 1_000);
        let origin = Time::ZERO;
        Explanation { why, at, origin }.to_string()
    }

    #[test]
    fn a_tick_is_explained_by_its_base_its_tolerance_and_its_class() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let plain = Why::Tick {
            due: ms(3),
            called: ms(1),
            base: ms(1),
            until: ms(3),
            interval: ms(2),
            every: 1,
            slipped: false,
        };
        assert_eq!(
            explained(plain, 4_000),
            "due 3.0000, at tick 4.0000: ticks come every 2.0000 ms, and each looks at this timer"
        );
        let all = Why::Tick {
            due: ms(3),
            called: ms(2),
            base: ms(1),
            until: ms(20),
            interval: ms(2),
            every: 8,
            slipped: false,
        };
        assert_eq!(
            explained(all, 16_000),
            "due 3.0000 (counted from the tick at 1.0000, before the call at 2.0000), at tick 16.0000: \
             ticks come every 2.0000 ms; this process has asked for no interval that counts (class D), \
             and its timers are looked at every 8 ticks; it may be up to 17.0000 ms late, and timers that \
             may be late meet at this tick"
        );
        let first = Why::Tick {
            due: ms(1),
            called: ms(2),
            base: ms(0),
            until: ms(1),
            interval: ms(2),
            every: 1,
            slipped: false,
        };
        assert_eq!(
            explained(first, 4_000),
            "due 1.0000 (counted from the last tick before the experiment), at tick 4.0000: ticks come every \
             2.0000 ms, and each looks at this timer"
        );
        assert_eq!(
            explained(Why::AtOnce { called: ms(5) }, 5_000),
            "due 5.0000, at 5.0000: a length of zero is over at once"
        );
    }

    #[test]
    fn a_default_scan_that_slipped_says_so() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let slipped = Why::Tick {
            due: ms(3),
            called: ms(1),
            base: ms(1),
            until: ms(3),
            interval: ms(2),
            every: 8,
            slipped: true,
        };
        assert_eq!(
            explained(slipped, 18_000),
            "due 3.0000, at tick 18.0000: ticks come every 2.0000 ms; this process has asked for no \
             interval that counts (class D), and its timers are looked at every 8 ticks; this time the \
             look came a tick late"
        );
    }

    #[test]
    fn a_high_resolution_timer_has_no_tick() {
        let us = |us: u64| Time::from_ns(us * 1_000);
        let own = Why::OwnInterrupt {
            due: us(2_000),
            called: us(1_000),
            late: us(5),
        };
        assert_eq!(
            explained(own, 2_500),
            "due 2.0000, at 2.5000: the system raises the clock for this timer alone; it adds 0.0050 ms \
             to the length, and the first interrupt after that comes 1.5000 ms after the call"
        );
        let at_once = Why::OwnInterrupt {
            due: us(1_500),
            called: us(1_000),
            late: Time::ZERO,
        };
        assert_eq!(
            explained(at_once, 1_500),
            "due 1.5000, at 1.5000: the system raises the clock for this timer alone, and the first \
             interrupt after that comes 0.5000 ms after the call"
        );
    }
}
