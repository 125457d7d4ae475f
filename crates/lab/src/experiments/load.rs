//! How late is a wait of 1 ms when the CPUs are busy, and how much does a raised priority help?
//!
//! The threads that compute have normal priority. Lateness is split by the counters of the OS. One
//! part is the time that the thread could have run but waited for a CPU. The other is the time
//! that a hypervisor gave the CPU to another guest.

use punctual_core::Nanos;
use punctual_program::program::Op;
use punctual_program::setting::Priority;
use punctual_program::{Machine, Setting};
use punctual_record::experiment::Load;
use punctual_record::{Experiment, NotDone};

use super::{Call, Conditions, Effort, naps};
use crate::rounds::Case;

/// Threads that compute, per CPU.
pub const LOADS: [f64; 4] = [0.0, 0.5, 1.0, 2.0];

const LENGTH: Nanos = Nanos::from_ms(1);

/// Naps in a batch, where even short ones take long.
const NAPS_MIN: u64 = 5;

/// The longest turn of another thread on a CPU. It is only for the estimate of the duration.
const TURN: Nanos = Nanos::from_ms(3);

/// The priorities that a thread gets on `machine`, and the others.
pub fn priorities(machine: &mut dyn Machine) -> (Vec<Priority>, Vec<NotDone>) {
    let (mut permitted, mut refused) = (vec![Priority::Normal], Vec::new());
    for priority in [Priority::Interactive, Priority::RealTime] {
        let set = Op::Set(Setting::Priority(priority));
        let why = match machine.run(&vec![set].into()) {
            Ok(observed) => {
                let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
                if sections.map(|section| section.denied).sum::<u64>() == 0 {
                    permitted.push(priority);
                    continue;
                }
                None
            }
            Err(refusal) => Some(refusal.to_string()),
        };
        refused.push(NotDone::Priority {
            name: priority.to_string(),
            why,
        });
    }
    (permitted, refused)
}

/// Each call under each load, at each priority, on a computer with so many
/// `cpus`.
pub fn cases(
    calls: &[Call],
    priorities: &[Priority],
    cpus: usize,
    effort: Effort,
    cpu: Option<usize>,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for load in LOADS {
        let conditions = Conditions {
            cpu,
            hogs: (load * cpus as f64).ceil() as usize,
            ..Conditions::default()
        };
        for call in calls {
            for priority in priorities {
                cases.push(case(call, load, *priority, effort, conditions));
            }
        }
    }
    cases
}

fn case(
    call: &Call,
    load: f64,
    priority: Priority,
    effort: Effort,
    conditions: Conditions,
) -> Case {
    const WARM_UP: u64 = 3;
    let part = match effort {
        Effort::Quick => Nanos::from_ms(5),
        Effort::Shared | Effort::Whole => Nanos::from_ms(107),
    };
    let times = call.fit(part, LENGTH, 100).max(NAPS_MIN);
    let naps = |times| naps(times, call.method, LENGTH);
    let mut ops = conditions.set_up();
    if priority != Priority::Normal {
        // After the threads that compute: they would inherit it.
        ops.push(Op::Set(Setting::Priority(priority)));
    }
    ops.extend([naps(WARM_UP), Op::Record, naps(times)]);
    let waits_for_others = TURN.times(u64::from(load >= 1.0 && priority == Priority::Normal));
    let cell = Experiment::Load(Load {
        asked_ns: LENGTH.as_ns(),
        load_per_cpu: load,
        priority: priority.name().to_owned(),
    });
    let length = (call.takes(LENGTH) + waits_for_others).times(WARM_UP + times);
    Case::new(call.method, ops.into(), vec![cell], length)
}
