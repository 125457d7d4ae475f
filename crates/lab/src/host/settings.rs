//! What programs change about how this OS treats them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use punctual_core::Nanos;
use punctual_os::{Error, priority, resolution, slack, thread, throttling};
use punctual_program::Setting;
use punctual_program::setting::{Requester, Throttling};

/// What this process has asked of the OS in an experiment; when this is dropped,
/// the process asks for no more than before it. Threads take with them what they
/// changed about themselves.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requests: Vec<(Nanos, resolution::Guard)>,
    is_throttling_said: bool,
}

impl Held {
    /// Changes a setting of the calling thread or of its process. Whether the OS
    /// accepted it: it may deny it to this user, or have no such value.
    ///
    /// # Errors
    /// The OS has no such setting, or failed otherwise.
    pub(super) fn set(&self, setting: Setting) -> Result<bool, Error> {
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
            Setting::Release { interval, .. } => return Ok(self.release(interval)),
            Setting::Throttling(wanted) => {
                self.lock().is_throttling_said = true;
                throttling::set(wanted)
            }
            // The machine has refused these.
            Setting::Window { .. } | Setting::Power(_) | Setting::Quota { .. } => Ok(()),
        };
        match answer {
            Err(error) if error.is_permission() || error.is_range() => Ok(false),
            answer => answer.map(|()| true),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, interval: Nanos, on_battery: Option<Nanos>) -> Result<(), Error> {
        let guard = resolution::hold_with(interval, on_battery)?;
        self.lock().requests.push((interval, guard));
        Ok(())
    }

    /// Withdraws the last request for this interval; whether there was one.
    fn release(&self, interval: Nanos) -> bool {
        let requests = &mut self.lock().requests;
        let found = requests.iter().rposition(|(asked, _)| *asked == interval);
        found.map(|nth| requests.remove(nth)).is_some()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.lock().is_throttling_said {
            // It was set before, so it can be set again; what is left else ends
            // with the process.
            let _ = throttling::set(Throttling::BySystem);
        }
    }
}

/// Why programs on this host cannot change a setting; `None` if they can, or if
/// only this user cannot.
pub(super) fn refusal(setting: &Setting) -> Option<String> {
    let in_words = |error: Error| error.to_string();
    match setting {
        Setting::Slack(_) => slack::current()
            .is_none()
            .then(|| "this system has no timer slack to set; only Linux has".to_owned()),
        Setting::Nice(_) if !cfg!(any(target_os = "linux", target_os = "android")) => {
            Some("threads have nice values of their own on Linux only".to_owned())
        }
        Setting::Nice(_) => None,
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
        Setting::Window { .. } | Setting::Power(_) | Setting::Quota { .. } => {
            let name = setting.name();
            Some(format!(
                "programs on this host cannot set `{name}`; run this one on a model"
            ))
        }
    }
}
