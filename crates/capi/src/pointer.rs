//! Pointers from C and back: each is checked before use.

use std::ffi::{CStr, c_char};
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::result::{called, punctual_result};

/// The contents of a handle. One thread at a time uses it: a second one gets an error.
pub(crate) struct Held<T>(Mutex<T>);

impl<T> Held<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn hold(&self) -> Result<MutexGuard<'_, T>, punctual_result> {
        self.0.try_lock().map_err(|why| match why {
            TryLockError::WouldBlock => punctual_result::Busy,
            TryLockError::Poisoned(_) => punctual_result::Internal,
        })
    }
}

/// The value that `pointer` points to.
///
/// # Safety
/// Null, or to a `T` that is neither changed nor freed meanwhile.
pub(crate) unsafe fn shared<'a, T>(pointer: *const T) -> Result<&'a T, punctual_result> {
    // SAFETY: the caller's obligation.
    unsafe { pointer.as_ref() }.ok_or(punctual_result::Null)
}

/// A place for something that a call returns.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// Null, or room for a `T` until the call returns.
    pub(crate) unsafe fn of(pointer: *mut T) -> Result<Self, punctual_result> {
        match pointer.is_null() {
            true => Err(punctual_result::Null),
            false => Ok(Self(pointer)),
        }
    }

    pub(crate) fn set(self, value: T) {
        // SAFETY: `of` was promised room, and it is not null.
        unsafe { self.0.write(value) }
    }
}

impl<T> Out<*mut T> {
    /// A handle, which the caller frees.
    pub(crate) fn give(self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}

/// Frees a handle.
///
/// # Safety
/// Null, or a pointer from [`Out::give`] that is neither freed nor in use.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: the caller's obligation.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// Structures that begin with their size, so that they can grow at their end.
///
/// # Safety
/// `repr(C)`, of numbers and pointers, of which all patterns of bits are values; the first
/// is a `usize`.
pub(crate) unsafe trait Growing: Copy {
    /// How large the first one was that there ever was; to be said of one that has grown.
    const FIRST: usize = size_of::<Self>();
}

/// A place for a structure of the size that its first field says.
pub(crate) struct OutSized<T> {
    place: *mut u8,
    size: usize,
    what: std::marker::PhantomData<T>,
}

impl<T: Growing> OutSized<T> {
    /// # Safety
    /// Null, or to as many bytes as its first field says, until the call returns.
    pub(crate) unsafe fn of(pointer: *mut T) -> Result<Self, punctual_result> {
        // SAFETY: as above.
        let size = unsafe { size_of_known(pointer) }?;
        Ok(Self {
            place: pointer.cast(),
            size: size.min(size_of::<T>()),
            what: std::marker::PhantomData,
        })
    }

    /// As [`of`](Self::of), but null means that it is not wanted.
    ///
    /// # Safety
    /// As [`of`](Self::of).
    pub(crate) unsafe fn wanted(pointer: *mut T) -> Result<Option<Self>, punctual_result> {
        match pointer.is_null() {
            true => Ok(None),
            // SAFETY: as above.
            false => unsafe { Self::of(pointer) }.map(Some),
        }
    }

    pub(crate) fn set(self, value: T) {
        let head = size_of::<usize>();
        let from = (&raw const value).cast::<u8>();
        // SAFETY: `of` was promised so many bytes there, and `value` has as many. The
        // size stays what the caller has set.
        unsafe {
            self.place
                .add(head)
                .copy_from_nonoverlapping(from.add(head), self.size - head);
        }
    }
}

/// Writes what a handle has to say.
///
/// # Safety
/// As of [`shared`] and of [`Out::of`].
pub(crate) unsafe fn told<H, T>(
    handle: *const H,
    place: *mut T,
    say: impl FnOnce(&H) -> Result<T, punctual_result>,
) -> punctual_result {
    called(|| {
        // SAFETY: the caller's obligation.
        let (handle, out) = unsafe { (shared(handle)?, Out::of(place)?) };
        out.set(say(handle)?);
        Ok(())
    })
}

/// The same of a structure.
///
/// # Safety
/// As of [`shared`] and of [`OutSized::of`].
pub(crate) unsafe fn told_sized<H, T: Growing>(
    handle: *const H,
    place: *mut T,
    say: impl FnOnce(&H) -> Result<T, punctual_result>,
) -> punctual_result {
    called(|| {
        // SAFETY: the caller's obligation.
        let (handle, out) = unsafe { (shared(handle)?, OutSized::of(place)?) };
        out.set(say(handle)?);
        Ok(())
    })
}

/// A structure as the caller knows it, the rest zeroes, as all of it where there is none.
///
/// # Safety
/// Null, or to as many bytes as its first field says.
pub(crate) unsafe fn read_sized<T: Growing>(pointer: *const T) -> Result<T, punctual_result> {
    // SAFETY: all patterns of bits are values (`Growing`).
    let mut read: T = unsafe { std::mem::zeroed() };
    if pointer.is_null() {
        return Ok(read);
    }
    // SAFETY: as above.
    let size = unsafe { size_of_known(pointer) }?.min(size_of::<T>());
    // SAFETY: so many bytes are there, and all patterns of bits are values (`Growing`).
    unsafe {
        let to = (&raw mut read).cast::<u8>();
        to.copy_from_nonoverlapping(pointer.cast(), size);
    }
    Ok(read)
}

/// # Safety
/// Null, or to a `usize` at least.
unsafe fn size_of_known<T: Growing>(pointer: *const T) -> Result<usize, punctual_result> {
    if pointer.is_null() {
        return Err(punctual_result::Null);
    }
    // SAFETY: a `usize` is the first that there is (`Growing`).
    let size = unsafe { pointer.cast::<usize>().read() };
    match size >= T::FIRST {
        true => Ok(size),
        false => Err(punctual_result::Range),
    }
}

/// A text, if there is one.
///
/// # Safety
/// Null, or to bytes that end with a zero.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Result<Option<&'a str>, punctual_result> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's obligation.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| punctual_result::Range)
}
