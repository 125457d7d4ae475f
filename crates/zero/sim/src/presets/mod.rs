//! Computers with their figures, one per file.
//!
//! Line transfers are medians of core-to-core-latency's tables
//! (github.com/nviennot/core-to-core-latency, `results/`), a whole round trip
//! divided by two, unless their source says something else. Where a figure is an
//! effective one, it was fitted to what its source names and to nothing that the
//! simulator is later held against, unless it says so.

mod cascade_lake_96;
mod common;
mod ice_lake_128;
mod milan_192;
mod opteron_48;
mod opteron_64;
mod rome_256;
mod ryzen_7950x_32;
mod xeon_48;
mod xeon_phi_272;

use super::machine::Machine;
use super::quantity::{Figure, Quantity};
use super::topology::Topology;

pub(super) use common::COMMON;

/// A computer as its file has it.
#[derive(Debug)]
pub struct Preset {
    /// What the user types.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Its CPUs.
    pub(super) topology: Topology,
    /// What is known of it, besides what is common to all.
    pub(super) figures: &'static [(Quantity, Figure)],
}

/// All there are.
pub const PRESETS: &[&Preset] = &[
    &cascade_lake_96::PRESET,
    &ice_lake_128::PRESET,
    &milan_192::PRESET,
    &rome_256::PRESET,
    &xeon_phi_272::PRESET,
    &ryzen_7950x_32::PRESET,
    &opteron_48::PRESET,
    &opteron_64::PRESET,
    &xeon_48::PRESET,
];

impl Preset {
    /// The computer.
    pub fn machine(&self) -> Machine {
        let machine = Machine::new(self.name, self.what, self.topology);
        self.figures
            .iter()
            .fold(machine, |machine, (quantity, figure)| {
                machine.with(*quantity, figure.clone())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_computer_has_the_cpus_of_its_name() {
        for preset in PRESETS {
            let (_, cpus) = preset.name.rsplit_once('-').unwrap();
            assert_eq!(preset.machine().topology().cpus().to_string(), cpus);
        }
    }

    #[test]
    fn every_figure_is_known_that_a_simulation_needs_and_none_that_it_cannot_use() {
        for preset in PRESETS {
            let machine = preset.machine();
            machine.check().unwrap();
            let topology = machine.topology();
            for (quantity, occurs) in topology.distances() {
                let is_known = machine.figure(quantity).is_some();
                assert_eq!(is_known, occurs, "{}: {}", preset.name, quantity.key());
            }
            for (quantity, figure) in machine.figures() {
                assert!(!figure.source.is_empty(), "{}", quantity.key());
            }
        }
    }
}
