//! Is a wait of 1 ms the same on every CPU?
//!
//! It need not be where some cores are slower, where one takes most interrupts, or where another
//! program computes on one.

use punctual_core::Nanos;
use punctual_program::program::Op;
use punctual_record::Experiment;
use punctual_record::experiment::Cores;

use super::{Call, Conditions, Effort, naps};
use crate::rounds::Case;

/// A CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// Its number.
    pub cpu: usize,
    /// The kind of core, where the OS tells kinds apart.
    pub kind: Option<String>,
}

const LENGTH: Nanos = Nanos::from_ms(1);

/// Naps in a batch, where even short ones take long.
const NAPS_MIN: u64 = 5;

/// Each CPU in turn. Many of them share the time: about 20 s in all rounds.
pub fn cases(call: Call, cores: &[Core], effort: Effort) -> Vec<Case> {
    let all = match effort {
        Effort::Quick => Nanos::from_ms(80),
        Effort::Shared | Effort::Whole => Nanos::from_ms(3_300),
    };
    let each = Nanos::new(all.as_ns() / cores.len().max(1) as u64);
    let times = call.fit(each, LENGTH, 170).max(NAPS_MIN);
    cores.iter().map(|core| case(call, core, times)).collect()
}

fn case(call: Call, core: &Core, times: u64) -> Case {
    const WARM_UP: u64 = 3;
    let conditions = Conditions {
        cpu: Some(core.cpu),
        hogs: 0,
        ..Conditions::default()
    };
    let naps = |times| naps(times, call.method, LENGTH);
    let mut ops = conditions.set_up();
    ops.extend([naps(WARM_UP), Op::Record, naps(times)]);
    let cell = Cores {
        on_cpu: core.cpu as u64,
        asked_ns: LENGTH.as_ns(),
        core_type: core.kind.clone(),
    };
    let length = call.takes(LENGTH).times(WARM_UP + times);
    let cells = vec![Experiment::Cores(cell)];
    Case::new(format!("CPU {}", core.cpu), ops.into(), cells, length)
}
