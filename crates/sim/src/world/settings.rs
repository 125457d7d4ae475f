//! Settings by which threads change how the OS treats them and their processes.

use std::collections::btree_map::Entry;

use punctual_core::Nanos;
use punctual_program::Setting;
use punctual_program::setting::{Policy, Priority};
use punctual_rules::{Answer, ProcessId, ThreadId, Time};

use super::ops::Then;
use super::{OwnGroup, World};
use crate::model::Quota;
use crate::scheduler::{self, nice};
use crate::thread::Burst;

/// The default of a control group (Documentation/admin-guide/cgroup-v2.rst).
const USUAL_WEIGHT: u16 = 100;

impl World<'_> {
    pub(super) fn set(&mut self, id: ThreadId, setting: Setting) -> Then {
        let policy = match setting {
            Setting::Policy(policy) => Some(policy),
            Setting::Priority(_) => Some(Policy::Other),
            _ => None,
        };
        if policy.is_some_and(|policy| !self.reserve(id, policy)) {
            self.threads[id].recorder.denied();
            return Then::Again;
        }
        self.settle_ticks();
        let before = self.rule.interval();
        let process = self.threads[id].process;
        if self.rule.set(id, process, setting, self.now) == Answer::Denied {
            self.threads[id].recorder.denied();
        }
        self.look_at_timers();
        self.note_interval(before);
        let nice = nice(&self.candidate(id));
        let thread = &mut self.threads[id];
        match setting {
            Setting::Priority(priority) => {
                thread.priority = priority;
                thread.share.policy = scheduler::Policy::Other;
                if priority != Priority::RealTime {
                    thread.share.nice = None;
                }
            }
            Setting::Nice(nice) => thread.share.nice = Some(nice),
            Setting::Slice(slice) => {
                thread.share.slice = (!slice.is_zero()).then(|| slice.into());
            }
            Setting::Policy(policy) => {
                // The nice value stays, and counts when the policy is an ordinary one.
                thread.share.nice = Some(nice);
                (thread.priority, thread.share.policy) = match policy {
                    Policy::Other => (Priority::Normal, scheduler::Policy::Other),
                    Policy::Batch => (Priority::Normal, scheduler::Policy::Batch),
                    Policy::Idle => (Priority::Normal, scheduler::Policy::Idle),
                    Policy::Fifo(at) => (Priority::RealTime, scheduler::Policy::Fifo(at)),
                    Policy::RoundRobin(at) => {
                        (Priority::RealTime, scheduler::Policy::RoundRobin(at))
                    }
                    Policy::Deadline(_) => (Priority::RealTime, scheduler::Policy::Deadline),
                };
            }
            Setting::Quota { .. } | Setting::Weight(_) => {
                self.set_of_group(process, setting);
                return Then::Again;
            }
            Setting::Window { foreground, .. } => {
                self.focus(process, foreground);
                return Then::Again;
            }
            _ => return Then::Again,
        }
        thread.burst = Burst::Work(Time::ZERO);
        match self.reprioritise(id) {
            true => Then::Gone,
            false => Then::Again,
        }
    }

    /// Whether a thread has reserved CPU time, and there are several CPUs on which it may get it.
    pub(super) fn has_reservation(&self, id: ThreadId) -> bool {
        let reserves = self.threads[id].share.policy == scheduler::Policy::Deadline;
        reserves && self.computer.cpus.len() > 1
    }

    /// Reserves CPU time for a thread that is to be at this policy, or none. Whether that is granted; one that is
    /// kept on one CPU of several gets none (`__sched_setscheduler`, kernel/sched/syscalls.c).
    fn reserve(&mut self, id: ThreadId, policy: Policy) -> bool {
        let cpus = self.computer.cpus.len();
        let wanted = match policy {
            Policy::Deadline(_) if self.threads[id].pinned.is_some() && cpus > 1 => return false,
            Policy::Deadline(wanted) => Some(wanted),
            _ => None,
        };
        self.scheduler.reserve(id, wanted)
    }

    /// Gives the group of a process a quota or a weight, or none of its own; without either it is
    /// in the group of its parent.
    fn set_of_group(&mut self, process: ProcessId, setting: Setting) {
        (0..self.computer.cpus.len()).for_each(|cpu| self.account(cpu));
        let around = self.groups[process];
        let own = match self.own_groups.entry(process) {
            Entry::Occupied(own) => own.into_mut(),
            Entry::Vacant(none) => none.insert(OwnGroup {
                group: self.scheduler.own_group(around),
                has_quota: false,
                has_weight: false,
            }),
        };
        match setting {
            Setting::Quota {
                time,
                period,
                burst,
            } => {
                own.has_quota = !time.is_zero();
                let quota = Quota {
                    time: time.into(),
                    period: period.max(Nanos::new(1)).into(),
                    burst: burst.into(),
                };
                self.scheduler
                    .limit(own.group, own.has_quota.then_some(quota));
            }
            Setting::Weight(weight) => {
                own.has_weight = weight > 0;
                let weight = if weight > 0 { weight } else { USUAL_WEIGHT };
                self.scheduler.weigh(own.group, weight);
            }
            _ => {}
        }
        let group = match own.has_quota || own.has_weight {
            true => own.group,
            false => around,
        };
        for thread in self.processes[process].clone() {
            self.threads[thread].share.group = group;
            self.scheduler.regroup(thread, group);
        }
        self.look_at_turns();
    }
}
