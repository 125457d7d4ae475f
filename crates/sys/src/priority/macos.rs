//! Quality of service, the Darwin background state, and the time-constraint
//! policy (`sys/qos.h`, setpriority(2), Apple's "Mach Scheduling and Thread
//! Interfaces").

use crate::{Error, clock};
use libc::{c_int, pthread_self, qos_class_t};
use mach2::kern_return::KERN_SUCCESS;
use mach2::mach_init::mach_thread_self;
use mach2::mach_port::mach_port_deallocate;
use mach2::thread_policy::{
    THREAD_EXTENDED_POLICY, THREAD_TIME_CONSTRAINT_POLICY, thread_extended_policy,
    thread_policy_flavor_t, thread_policy_set, thread_time_constraint_policy,
};
use mach2::traps::mach_task_self;
use punctual_core::Nanos;
use punctual_core::setting::Priority;
use std::io;

pub(super) fn current() -> Option<String> {
    let before = Before::of_thread().ok()?;
    if before.background {
        return Some("Darwin background".to_owned());
    }
    let name = match before.class? {
        qos_class_t::QOS_CLASS_USER_INTERACTIVE => "user-interactive",
        qos_class_t::QOS_CLASS_USER_INITIATED => "user-initiated",
        qos_class_t::QOS_CLASS_DEFAULT => "default",
        qos_class_t::QOS_CLASS_UTILITY => "utility",
        qos_class_t::QOS_CLASS_BACKGROUND => "background",
        _ => "unspecified",
    };
    Some(format!("QoS {name}"))
}

pub(super) fn set(priority: Priority) -> Result<(), Error> {
    if priority == Priority::Background {
        return put_background(true);
    }
    put_background(false)?;
    match priority {
        Priority::Utility => put_class(qos_class_t::QOS_CLASS_UTILITY),
        Priority::Interactive => put_class(qos_class_t::QOS_CLASS_USER_INTERACTIVE),
        Priority::RealTime => put_time_constraint(),
        Priority::Normal | Priority::Background => put_class(qos_class_t::QOS_CLASS_DEFAULT),
    }
}

/// The previous settings of a thread.
#[derive(Debug)]
pub(super) struct Before {
    /// `None` for a thread that has left the classes for good.
    class: Option<qos_class_t>,
    background: bool,
}

impl Before {
    pub(super) fn of_thread() -> Result<Self, Error> {
        let mut class = qos_class_t::QOS_CLASS_UNSPECIFIED;
        let mut relative = 0;
        // SAFETY: this thread, and two valid places.
        let told =
            unsafe { libc::pthread_get_qos_class_np(pthread_self(), &mut class, &mut relative) };
        // SAFETY: takes numbers; 0 names the calling thread.
        let background = unsafe { libc::getpriority(libc::PRIO_DARWIN_THREAD, 0) };
        Ok(Self {
            class: (told == 0).then_some(class),
            background: background == 1,
        })
    }

    /// A thread that takes a time constraint leaves the classes for good
    /// (`pthread/qos.h`).
    pub(super) fn can_come_back(&self, priority: Priority) -> Result<(), Error> {
        if priority == Priority::RealTime && self.class.is_some() {
            return Err(Error::unsupported(
                "a thread that was real-time cannot go back to its QoS class on macOS: set it \
                 for good, in a thread of its own",
            ));
        }
        Ok(())
    }

    pub(super) fn restore(&self) -> Result<(), Error> {
        put_background(self.background)?;
        match self.class {
            Some(qos_class_t::QOS_CLASS_UNSPECIFIED) => put_class(qos_class_t::QOS_CLASS_DEFAULT),
            Some(class) => put_class(class),
            None => put_timeshare(),
        }
    }
}

/// Refused for a thread that has left the classes.
fn put_class(class: qos_class_t) -> Result<(), Error> {
    // SAFETY: takes numbers, for the calling thread.
    let answer = unsafe { libc::pthread_set_qos_class_self_np(class, 0) };
    refuse_unless(answer == 0, answer, "setting the QoS class of this thread")
}

fn put_background(on: bool) -> Result<(), Error> {
    let state = if on { libc::PRIO_DARWIN_BG } else { 0 };
    // SAFETY: takes numbers; 0 names the calling thread.
    if unsafe { libc::setpriority(libc::PRIO_DARWIN_THREAD, 0, state) } == 0 {
        return Ok(());
    }
    Err(Error::last_os("setting the Darwin background state"))
}

/// A millisecond of work in every ten, done within five: what audio threads ask
/// for.
fn put_time_constraint() -> Result<(), Error> {
    let count =
        |length: Nanos| u32::try_from(clock::counter_at(length.as_ns())).unwrap_or(u32::MAX);
    let mut policy = thread_time_constraint_policy {
        period: count(Nanos::from_ms(10)),
        computation: count(Nanos::from_ms(1)),
        constraint: count(Nanos::from_ms(5)),
        preemptible: 1,
    };
    put_policy(THREAD_TIME_CONSTRAINT_POLICY, &mut policy)
}

/// Ends a time constraint.
fn put_timeshare() -> Result<(), Error> {
    let mut policy = thread_extended_policy { timeshare: 1 };
    put_policy(THREAD_EXTENDED_POLICY, &mut policy)
}

/// `policy` is a structure of 32-bit words, as each flavor defines it.
fn put_policy<T>(flavor: thread_policy_flavor_t, policy: &mut T) -> Result<(), Error> {
    let words = (size_of::<T>() / size_of::<c_int>()) as u32;
    // SAFETY: returns a right to the calling thread, given back below.
    let thread = unsafe { mach_thread_self() };
    // SAFETY: the thread is this one, and `policy` is as long as stated.
    let answer =
        unsafe { thread_policy_set(thread, flavor, std::ptr::from_mut(policy).cast(), words) };
    // SAFETY: the right came from the call above and is not used again.
    unsafe { mach_port_deallocate(mach_task_self(), thread) };
    if answer == KERN_SUCCESS {
        return Ok(());
    }
    Err(Error::range(format!(
        "setting the scheduling policy of this thread: Mach refused it with {answer}"
    )))
}

fn refuse_unless(fine: bool, errno: c_int, what: &str) -> Result<(), Error> {
    if fine {
        return Ok(());
    }
    Err(Error::io(what, &io::Error::from_raw_os_error(errno)))
}
