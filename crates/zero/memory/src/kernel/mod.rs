//! The ways to fill pages with zeros that operating systems use.
//!
//! Each has a file with its routine. All of them hold to the invariant of
//! `mapping.rs`: they write where the compiler cannot see it.

use punctual_os::Error;
use std::fmt;
use std::ptr::NonNull;
use std::str::FromStr;
use std::sync::OnceLock;

mod memset;

#[cfg(target_arch = "x86_64")]
mod clzero;
#[cfg(target_arch = "aarch64")]
mod dc_zva;
#[cfg(target_arch = "aarch64")]
#[path = "non_temporal_aarch64.rs"]
mod non_temporal;
#[cfg(target_arch = "x86_64")]
#[path = "non_temporal_x86_64.rs"]
mod non_temporal;
#[cfg(target_arch = "x86_64")]
mod rep_stosb;

pub(super) use memset::fill;

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
            Self::Memset => Some(memset::zero),
            #[cfg(target_arch = "x86_64")]
            Self::RepStosb => Some(rep_stosb::zero),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            Self::NonTemporal => Some(non_temporal::detect()),
            #[cfg(target_arch = "x86_64")]
            Self::Clzero => clzero::detect(),
            #[cfg(target_arch = "aarch64")]
            Self::DcZva => dc_zva::detect(),
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
