use punctual_os::{ClockSets, Tick, clock, stops};

use crate::wall_clock::Reading;

/// Reads the steady clock and the time of day.
#[derive(Debug)]
pub struct Clocks(ClockSets);

impl Default for Clocks {
    fn default() -> Self {
        Self(ClockSets::listen())
    }
}

impl Clocks {
    /// Reads both clocks; the steady one as the time since `beginning`.
    pub fn read(&self, beginning: Tick) -> Reading {
        // Asked first: a change after that is told with the next reading.
        let was_set = self.0.any();
        let before = clock::now().since(beginning);
        let wall_ns = stops::time_of_day_ns();
        Reading {
            before,
            wall_ns,
            after: clock::now().since(beginning),
            suspended: stops::suspended(),
            was_set,
        }
    }
}
