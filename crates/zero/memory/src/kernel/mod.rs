//! The ways to fill pages with zeros that operating systems use.
//!
//! Each architecture has a file. All kernels hold to the invariant of `mapping.rs`: they write
//! where the compiler cannot see it.

use punctual_os::Error;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::{self, NonNull};
use std::str::FromStr;
use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

/// A way to fill pages with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    /// C's `memset`, whatever it picks on this CPU.
    Memset,
    /// `rep stosb` of x86-64: the CPU's own loop, which Linux clears pages with
    /// where it is fast (ERMS).
    RepStosb,
    /// Stores that do not leave the page in the caches: `vmovntdq` or `movntdq`
    /// on x86-64, `stnp` on 64-bit ARM.
    NonTemporal,
    /// `clzero` of AMD: zeroes a cache line without reading it.
    Clzero,
    /// `dc zva` of 64-bit ARM: zeroes a block without reading it.
    DcZva,
}

impl Kernel {
    /// All kernels; few of them are supported in one place.
    pub const ALL: [Self; 5] = [
        Self::Memset,
        Self::RepStosb,
        Self::NonTemporal,
        Self::Clzero,
        Self::DcZva,
    ];

    /// The name the user reads and gives.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memset => "memset",
            Self::RepStosb => "rep-stosb",
            Self::NonTemporal => "non-temporal",
            Self::Clzero => "clzero",
            Self::DcZva => "dc-zva",
        }
    }

    /// Whether this CPU has what it takes, and lets programs use it.
    pub fn is_supported(self) -> bool {
        self.routine().is_some()
    }

    /// Whether [`Mapping::zero`](super::Mapping::zero) takes it.
    ///
    /// # Errors
    /// Unsupported, with the names of those that are, when it does not.
    pub fn check(self) -> Result<(), Error> {
        if self.is_supported() {
            return Ok(());
        }
        let here = Self::ALL.into_iter().filter(|kernel| kernel.is_supported());
        Err(Error::unsupported(format!(
            "this CPU has no {self}: it has {}",
            names(here)
        )))
    }

    /// Asked once in a process, and looked up after that.
    pub(super) fn routine(self) -> Option<Routine> {
        static ROUTINES: OnceLock<[Option<Routine>; Kernel::ALL.len()]> = OnceLock::new();
        ROUTINES.get_or_init(|| Self::ALL.map(Self::detect))[self as usize]
    }

    fn detect(self) -> Option<Routine> {
        match self {
            Self::Memset => Some(memset_to_zero),
            #[cfg(target_arch = "x86_64")]
            Self::RepStosb => Some(x86_64::rep_stosb),
            #[cfg(target_arch = "x86_64")]
            Self::NonTemporal => Some(x86_64::detect_non_temporal()),
            #[cfg(target_arch = "x86_64")]
            Self::Clzero => x86_64::detect_clzero(),
            #[cfg(target_arch = "aarch64")]
            Self::NonTemporal => Some(aarch64::stnp),
            #[cfg(target_arch = "aarch64")]
            Self::DcZva => aarch64::detect_dc_zva(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::RepStosb | Self::Clzero => None,
            #[cfg(not(target_arch = "aarch64"))]
            Self::DcZva => None,
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            Self::NonTemporal => None,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Reads a [name](Kernel::name).
    fn from_str(name: &str) -> Result<Self, Error> {
        let named = Self::ALL.into_iter().find(|kernel| kernel.name() == name);
        named.ok_or_else(|| {
            Error::range(format!(
                "no way to zero is called `{name}`: there are {}",
                names(Self::ALL)
            ))
        })
    }
}

/// Fills so many bytes from there on with zeros, and sees to it that a release
/// after it covers them.
///
/// # Safety
/// The bytes are whole pages of a mapping, and the CPU has what it takes.
pub(super) type Routine = unsafe fn(NonNull<u8>, usize);

/// C's `memset`.
unsafe fn memset_to_zero(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { fill(start, bytes, 0) };
}

/// # Safety
/// The bytes are whole pages of a mapping.
pub(crate) unsafe fn fill(start: NonNull<u8>, bytes: usize, byte: u8) {
    // A volatile read may return anything as far as the compiler knows, so it
    // cannot tell what is called here.
    // SAFETY: reads a static.
    let memset = unsafe { ptr::read_volatile(&raw const MEMSET) };
    // SAFETY: the caller says that the bytes are pages of a mapping, which may be
    // written where the compiler cannot see it (`mapping.rs`).
    unsafe { memset(start.as_ptr().cast(), byte.into(), bytes) };
}

static MEMSET: unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void = memset;

// SAFETY: as C declares it. Rust itself needs it on every target (the
// documentation of `core`).
unsafe extern "C" {
    fn memset(start: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

fn names(kernels: impl IntoIterator<Item = Kernel>) -> String {
    let names: Vec<&str> = kernels.into_iter().map(Kernel::name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
        }
        let error = "bzero".parse::<Kernel>().unwrap_err();
        assert!(error.is_range());
        assert_eq!(
            error.to_string(),
            "no way to zero is called `bzero`: there are memset, rep-stosb, non-temporal, clzero, \
             dc-zva"
        );
    }

    #[test]
    fn what_is_not_supported_says_what_is() {
        for kernel in Kernel::ALL {
            match kernel.check() {
                Ok(()) => assert!(kernel.is_supported()),
                Err(error) => {
                    assert!(error.is_unsupported() && !kernel.is_supported());
                    assert!(error.to_string().contains(": it has memset"), "{error}");
                }
            }
        }
    }

    #[test]
    fn the_kernels_of_an_architecture_are_where_it_is() {
        assert!(Kernel::Memset.is_supported());
        let x86_64 = cfg!(target_arch = "x86_64");
        assert_eq!(Kernel::RepStosb.is_supported(), x86_64);
        assert!(x86_64 || !Kernel::Clzero.is_supported());
        assert!(cfg!(target_arch = "aarch64") || !Kernel::DcZva.is_supported());
    }
}
