use punctual_core::Nanos;

use crate::description::Values;

/// The parameters of the timers of a Mac.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The latency tier of an ordinary thread, from 0 to 5, if it has one.
    pub tier: Option<usize>,
    /// How far its user is idle, of 128.
    pub idle_level: u64,
    /// Interrupts of a CPU by others, a second on average; up to 100000.
    pub interrupts: u64,
    /// The timers of processes that are neither visible nor audible.
    pub app_nap: AppNap,
    /// How often something looks at those timers on average; zero stands for never.
    pub nap_look: Nanos,
}

/// The class of the timers of a process that naps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppNap {
    /// No process naps.
    Off,
    /// As late as another interrupt is, up to 10 s.
    Deep,
    /// This latency tier, from 0 to 5.
    Tier(usize),
}

impl Options {
    pub(crate) fn read(values: &Values<'_>) -> Result<Self, String> {
        let tier = |tier| (["0", "1", "2", "3", "4", "5"][tier], Some(tier));
        let tiers = [
            tier(0),
            tier(1),
            tier(2),
            tier(3),
            tier(4),
            tier(5),
            ("none", None),
        ];
        let app_nap = [
            ("off", AppNap::Off),
            ("deep", AppNap::Deep),
            ("3", AppNap::Tier(3)),
            ("5", AppNap::Tier(5)),
        ];
        Ok(Self {
            tier: values.choice("tier", &tiers)?,
            idle_level: values.count("idle_level", 0..=128)?,
            interrupts: values.count("interrupts", 0..=100_000)?,
            app_nap: values.choice("app_nap", &app_nap)?,
            nap_look: values.length("nap_look")?,
        })
    }
}
