//! What is to be had.

/// What a pool is to be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// To zero much per second of CPU time.
    Cpu,
    /// To zero much per second that passes.
    Wall,
    /// To take little of both: the least product of the CPU time and of the time
    /// of a GB. Who halves one for twice the other has gained nothing.
    Balanced,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Wall, Self::Balanced];

    /// What the user types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Balanced => "balanced",
        }
    }

    /// How good a pool is that zeroes so many GB per second of CPU time and per
    /// second that passes: the more the better. For `Balanced` the geometric mean
    /// of both, so that a percent of it means as much as for the other goals.
    pub fn score(self, gb_per_cpu_s: f64, wall_gb_per_s: f64) -> f64 {
        match self {
            Self::Cpu => gb_per_cpu_s,
            Self::Wall => wall_gb_per_s,
            Self::Balanced => (gb_per_cpu_s * wall_gb_per_s).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_is_in_the_middle() {
        let of = |goal: Goal| goal.score(4.0, 9.0);
        assert_eq!(Goal::ALL.map(of), [4.0, 9.0, 6.0]);
    }
}
