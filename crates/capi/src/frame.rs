//! Frames that are drawn as late as is safe, or end at their slot.

use std::mem::size_of;
use std::time::Duration;

use punctual::{Cancel, Frame, FrameEnd, FramePacer, ns};

use crate::pointer::{self, Growing, Held, Out, shared, told_sized};
use crate::result::{called, punctual_result};
use crate::ticker::{punctual_period, punctual_slot_counts};
use crate::waiter::{
    as_ns, punctual_cancel, punctual_statistics, punctual_waiter_options, wait, waiter,
};

/// A frame that has begun.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_frame {
    /// `sizeof(punctual_frame)`, set by the caller.
    pub size: usize,
    /// The number of its slot: 1 is the first, and missed slots count.
    pub number: u64,
    /// The slot by which its work must be done, or at which it ends. Draw moving objects for this
    /// instant.
    pub target_ns: u64,
    /// The instant at which its work began.
    pub begun_ns: u64,
    /// The number of slots since the frame before that have no frame.
    pub missed: u64,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_frame {}

impl From<Frame> for punctual_frame {
    fn from(frame: Frame) -> Self {
        Self {
            size: size_of::<Self>(),
            number: frame.number(),
            target_ns: ns::of(frame.target()),
            begun_ns: ns::of(frame.begun()),
            missed: frame.missed(),
        }
    }
}

/// The measurements of a frame that has ended.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct punctual_frame_end {
    /// `sizeof(punctual_frame_end)`, set by the caller.
    pub size: usize,
    /// The duration of its work.
    pub work_ns: u64,
    /// The time since the end of the frame before; 0 for the first.
    pub frame_time_ns: u64,
    /// How long after its slot it ended; 0 if it was in time.
    pub lateness_ns: u64,
    /// How long after their deadlines its waits ended, in all.
    pub oversleep_ns: u64,
    /// The number of slots since the frame before that have no frame.
    pub missed: u64,
}

// SAFETY: numbers only.
unsafe impl Growing for punctual_frame_end {}

impl From<FrameEnd> for punctual_frame_end {
    fn from(end: FrameEnd) -> Self {
        Self {
            size: size_of::<Self>(),
            work_ns: as_ns(end.work()),
            frame_time_ns: end.frame_time().map_or(0, as_ns),
            lateness_ns: as_ns(end.lateness()),
            oversleep_ns: as_ns(end.oversleep()),
            missed: end.missed(),
        }
    }
}

/// Paces the frames of a game or a display.
pub struct punctual_frames(Held<FramePacer>);

/// Creates a pacer whose frames begin at once and end at their slot. `options` may be null.
///
/// `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_new_at_end(
    period: punctual_period,
    options: *const punctual_waiter_options,
    frames_out: *mut *mut punctual_frames,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe { new(period, options, frames_out, FramePacer::at_end) }
}

/// Creates a pacer whose frames begin as late as is safe for their work to be done by their slot.
/// Frames are thus as fresh as possible. They begin `safety_ns` earlier than the predicted work
/// requires; 0 selects 1.65 ms. `options` may be null.
///
/// `PUNCTUAL_RESULT_RANGE` for an invalid period or option. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_new_late(
    period: punctual_period,
    safety_ns: u64,
    options: *const punctual_waiter_options,
    frames_out: *mut *mut punctual_frames,
) -> punctual_result {
    let late = |period| match safety_ns {
        0 => FramePacer::late(period),
        ns => FramePacer::late(period).safety(Duration::from_nanos(ns)),
    };
    // SAFETY: as this header says.
    unsafe { new(period, options, frames_out, late) }
}

/// # Safety
/// As the header says of the pointers.
unsafe fn new(
    period: punctual_period,
    options: *const punctual_waiter_options,
    frames_out: *mut *mut punctual_frames,
    make: impl FnOnce(punctual::Period) -> FramePacer,
) -> punctual_result {
    called(|| {
        // SAFETY: the caller's obligation.
        let out = unsafe { Out::of(frames_out) }?;
        // SAFETY: the caller's obligation.
        let waiter = unsafe { waiter(options) }?;
        out.give(punctual_frames(Held::new(
            make(period.period()?).waiter(waiter),
        )));
        Ok(())
    })
}

/// Frees the pacer; null is ignored. Any thread, once the pacer is no longer in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_free(frames: *mut punctual_frames) {
    // SAFETY: as this header says.
    unsafe { pointer::free(frames) }
}

/// Begins a frame: at once, or as late as is safe. `cancel` and `frame` may be null.
///
/// If it is cancelled, no frame has begun. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_begin(
    frames: *mut punctual_frames,
    cancel: *const punctual_cancel,
    frame: *mut punctual_frame,
) -> punctual_result {
    let begin = |frames: &punctual_frames, cancel: Option<&Cancel>| {
        let mut pacer = frames.0.hold()?;
        Ok(match cancel {
            Some(cancel) => pacer.begin_or(cancel)?,
            None => pacer.begin(),
        })
    };
    // SAFETY: as this header says.
    unsafe { wait(frames, cancel, frame, begin) }
}

/// Ends the frame: at once, or at its slot. `cancel` and `end` may be null.
///
/// If it is cancelled, the work of the frame has ended, but not the frame. One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_end(
    frames: *mut punctual_frames,
    cancel: *const punctual_cancel,
    end: *mut punctual_frame_end,
) -> punctual_result {
    let finish = |frames: &punctual_frames, cancel: Option<&Cancel>| {
        let mut pacer = frames.0.hold()?;
        Ok(match cancel {
            Some(cancel) => pacer.end_or(cancel)?,
            None => pacer.end(),
        })
    };
    // SAFETY: as this header says.
    unsafe { wait(frames, cancel, end, finish) }
}

/// Changes the rate, like `punctual_ticker_set_period`.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_set_period(
    frames: *mut punctual_frames,
    period: punctual_period,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        let frames = unsafe { shared(frames) }?;
        let period = period.period()?;
        frames.0.hold()?.set_period(period);
        Ok(())
    })
}

/// Moves all future slots, like `punctual_ticker_nudge_ns`, to follow the refreshes of a display.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_nudge_ns(
    frames: *mut punctual_frames,
    by_ns: i64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(frames) }?.0.hold()?.nudge(by_ns);
        Ok(())
    })
}

/// Restarts the schedule: the next slot is at `at_ns`, for a frame that has enough time before it.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_reset_at_ns(
    frames: *mut punctual_frames,
    at_ns: u64,
) -> punctual_result {
    called(|| {
        // SAFETY: as this header says.
        unsafe { shared(frames) }?
            .0
            .hold()?
            .reset_at(ns::instant(at_ns));
        Ok(())
    })
}

/// The counts of all slots; a tick is a frame that has begun, plus one at the start.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_counts(
    frames: *const punctual_frames,
    counts: *mut punctual_slot_counts,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told_sized(frames, counts, |frames| {
            Ok(frames.0.hold()?.counts().into())
        })
    }
}

/// Returns the statistics of its waits; all zero unless its options keep statistics.
///
/// One thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn punctual_frames_statistics(
    frames: *const punctual_frames,
    statistics: *mut punctual_statistics,
) -> punctual_result {
    // SAFETY: as this header says.
    unsafe {
        told_sized(frames, statistics, |frames| {
            Ok(frames.0.hold()?.statistics().into())
        })
    }
}
