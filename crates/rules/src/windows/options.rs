use punctual_core::Nanos;

use super::default_scan::Cycles;
use super::generations::Generation;
use super::interval::Hardware;
use crate::description::Values;

/// The generation of a Windows, its hardware, and what is not known for sure of its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The generation.
    pub generation: &'static Generation,
    /// The timer interval without any request; not zero.
    pub interval: Nanos,
    /// No request gets less than this.
    pub finest: Nanos,
    /// Whether a length counts from the call, and not from the last tick before it.
    pub counts_from_call: bool,
    /// The counter of the time between two ticks.
    pub hardware: Hardware,
    /// How many ticks go into a default scan.
    pub cycles: Cycles,
    /// In how many of a hundred cases a default scan comes a tick late.
    pub slip: u64,
    /// Whether the ticks that look at a timer are settled as it is armed.
    pub is_class_fixed: bool,
    /// Whether requests count for all processes, by the registry key of Windows 11.
    pub is_global: bool,
    /// Whether timers expire on the CPU that armed them.
    pub expires_where_armed: bool,
    /// The amount that is added to the length of a high-resolution timer.
    pub high_resolution_late: Nanos,
}

impl Options {
    pub(crate) fn read(
        generation: &'static Generation,
        values: &Values<'_>,
    ) -> Result<Self, String> {
        let hardware = [
            ("exact", Hardware::Exact),
            ("intel", Hardware::Intel),
            ("amd", Hardware::Amd),
            ("rtc", Hardware::Rtc),
        ];
        let has = |key| generation.has(key);
        Ok(Self {
            generation,
            interval: values.some_length("interval")?,
            finest: values.length("finest")?,
            counts_from_call: values.is("base", ["tick", "now"])?,
            hardware: values.choice("hardware", &hardware)?,
            cycles: match has("cycles") && values.is("cycles", ["floor", "nearest"])? {
                true => Cycles::Nearest {
                    cap: values.length("cap")?.into(),
                },
                false => Cycles::Floor,
            },
            slip: if has("slip") {
                values.count("slip", 0..=100)?
            } else {
                0
            },
            is_class_fixed: has("class") && values.is("class", ["expiry", "arming"])?,
            is_global: generation.honours_global_key && values.count("global", 0..=1)? == 1,
            expires_where_armed: values.is("expiry", ["owner", "arming"])?,
            high_resolution_late: if has("hires_late") {
                values.length("hires_late")?
            } else {
                Nanos::ZERO
            },
        })
    }
}
