//! Settings by which programs change how this OS treats them.

use std::sync::Mutex;

use punctual_core::Nanos;
use punctual_os::cgroups::{ProcessGroup, Terms};
use punctual_os::{Error, priority, resolution, slack, thread, throttling};
use punctual_program::Setting;
use punctual_program::setting::{Requester, Throttling};
use punctual_record::CpuQuota;

use super::lock;

/// The requests of this process to the OS in an experiment; dropping this withdraws them. Changes
/// that threads made to themselves end with the threads.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requests: Vec<(Nanos, resolution::Guard)>,
    is_throttling_said: bool,
    group: Option<ProcessGroup>,
    terms: Terms,
}

impl Held {
    /// Changes a setting of the calling thread or of its process. Where the OS denies it
    /// to this user, or has no such value, why.
    ///
    /// # Errors
    /// The OS has no such setting, or failed otherwise.
    pub(super) fn set(&self, setting: Setting) -> Result<Option<Error>, Error> {
        let answer = match setting {
            Setting::Slack(length) if length.is_zero() => slack::reset().map(drop),
            Setting::Slack(length) => slack::set(length).map(drop),
            Setting::Priority(wanted) => priority::set(wanted),
            Setting::Nice(nice) => thread::set_nice(nice),
            Setting::Slice(slice) => thread::set_slice(slice),
            Setting::Request {
                interval,
                on_battery,
                ..
            } => self.request(interval, on_battery),
            Setting::Release { interval, .. } => self.release(interval),
            Setting::Policy(policy) => thread::set_policy(policy),
            // Obstacles to these are of this user or this system.
            Setting::Quota {
                time,
                period,
                burst,
            } => {
                let quota = (!time.is_zero()).then(|| CpuQuota::new(time, period));
                return Ok(self.agree(|terms| (terms.quota, terms.burst) = (quota, burst)));
            }
            Setting::Weight(weight) => {
                let weight = (weight > 0).then_some(weight);
                return Ok(self.agree(|terms| terms.weight = weight));
            }
            Setting::Throttling(wanted) => {
                lock(&self.0).is_throttling_said = true;
                throttling::set(wanted)
            }
            // The machine has refused these.
            Setting::Window { .. } | Setting::Power(_) => Ok(()),
        };
        match answer {
            Err(error) if error.is_permission() || error.is_range() => Ok(Some(error)),
            answer => answer.map(|()| None),
        }
    }

    fn request(&self, interval: Nanos, on_battery: Option<Nanos>) -> Result<(), Error> {
        let guard = resolution::hold_with(interval, on_battery)?;
        lock(&self.0).requests.push((interval, guard));
        Ok(())
    }

    /// Withdraws the last request for this interval.
    fn release(&self, interval: Nanos) -> Result<(), Error> {
        let requests = &mut lock(&self.0).requests;
        let found = requests.iter().rposition(|(asked, _)| *asked == interval);
        let found = found.ok_or_else(|| {
            Error::range(format!(
                "no request for {interval} is there to be withdrawn"
            ))
        })?;
        drop(requests.remove(found));
        Ok(())
    }

    /// Changes the terms of the group of this process, which has one while they are not the usual
    /// ones. Returns the obstacles.
    fn agree(&self, change: impl FnOnce(&mut Terms)) -> Option<Error> {
        let mut inner = lock(&self.0);
        let mut terms = inner.terms;
        change(&mut terms);
        let agreed = match &inner.group {
            _ if (terms.quota, terms.weight) == (None, None) => {
                inner.group = None;
                Ok(())
            }
            Some(process) => process.set(terms),
            None => ProcessGroup::new(terms).map(|process| inner.group = Some(process)),
        };
        if agreed.is_ok() {
            inner.terms = terms;
        }
        agreed.err()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if lock(&self.0).is_throttling_said {
            // It was set before, so it can be set again; what is left else ends
            // with the process.
            let _ = throttling::set(Throttling::BySystem);
        }
    }
}

const IS_LINUX: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Why programs on this host cannot change a setting; `None` if they can, or if
/// only this user cannot.
pub(super) fn refusal(setting: &Setting) -> Option<String> {
    let in_words = |error: Error| error.to_string();
    match setting {
        Setting::Slack(_) => slack::current()
            .is_none()
            .then(|| "this system has no timer slack to set; only Linux has".to_owned()),
        Setting::Nice(_) if !IS_LINUX => {
            Some("threads have nice values of their own on Linux only".to_owned())
        }
        Setting::Slice(_) => thread::slice()
            .is_none()
            .then(|| "slices of threads take Linux 6.12 and an ordinary policy".to_owned()),
        Setting::Priority(_) => priority::current()
            .is_none()
            .then(|| "this system has no priority of threads to set".to_owned()),
        Setting::Request { by, .. } | Setting::Release { by, .. } if *by == Requester::Driver => {
            Some(format!(
                "programs on this host cannot have a driver `{}`; run this one on a model",
                setting.name()
            ))
        }
        Setting::Request { .. } | Setting::Release { .. } => {
            let why = resolution::query().err().map(in_words)?;
            Some(format!("`{}` has no meaning here: {why}", setting.name()))
        }
        Setting::Throttling(_) => throttling::state().err().map(in_words),
        Setting::Quota { .. } | Setting::Weight(_) if !IS_LINUX => {
            Some("processes have control groups on Linux only".to_owned())
        }
        Setting::Policy(_) if !IS_LINUX => {
            Some("scheduling policies are those of Linux: set a priority".to_owned())
        }
        Setting::Nice(_) | Setting::Policy(_) | Setting::Quota { .. } | Setting::Weight(_) => None,
        Setting::Window { .. } | Setting::Power(_) => {
            let name = setting.name();
            Some(format!(
                "programs on this host cannot set `{name}`; run this one on a model"
            ))
        }
    }
}
