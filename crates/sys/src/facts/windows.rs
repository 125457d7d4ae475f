//! The kernel's version, and whether this is Wine.

use super::{CpuTimes, Host};
use std::ffi::{CStr, c_char};
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::core::s;

pub(super) fn host() -> Host {
    let version = version();
    Host {
        os_version: version.as_ref().map(|version| format!("Windows {version}")),
        kernel: version,
        wine: wine(),
        ..Host::default()
    }
}

/// Only `NtQuerySystemInformation` tells it, which Microsoft reserves the right
/// to change ("may be altered or unavailable in future versions of Windows").
pub(super) fn cpu_times(_cpu: usize) -> Option<CpuTimes> {
    None
}

/// Major, minor and build number. Not `GetVersionEx`, which tells programs
/// without a manifest that they run on Windows 8.
fn version() -> Option<String> {
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the structure is valid and states its own size.
    let status = unsafe { RtlGetVersion(&mut version) };
    (status == 0).then(|| {
        format!(
            "{}.{}.{}",
            version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber
        )
    })
}

/// Wine's version, from the function that only Wine's ntdll has (Wine wiki,
/// "Developer FAQ: how can I detect Wine?").
fn wine() -> Option<String> {
    // SAFETY: a constant name with its zero; ntdll is in every process and is
    // never unloaded.
    let ntdll = unsafe { GetModuleHandleA(s!("ntdll.dll")) };
    if ntdll.is_null() {
        return None;
    }
    // SAFETY: the module stays loaded, and the name ends with a zero.
    let function = unsafe { GetProcAddress(ntdll, s!("wine_get_version")) }?;
    // SAFETY: Wine exports it as `const char * CDECL wine_get_version(void)`.
    let function: extern "C" fn() -> *const c_char = unsafe { std::mem::transmute(function) };
    let text = function();
    if text.is_null() {
        return None;
    }
    // SAFETY: Wine returns a constant string that ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_has_three_numbers() {
        let version = version().unwrap();
        assert_eq!(
            version
                .split('.')
                .filter(|part| part.parse::<u32>().is_ok())
                .count(),
            3
        );
    }

    /// The runner script of the tests under Wine says so, in this variable.
    #[test]
    fn wine_is_recognised() {
        if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
            assert!(wine().unwrap().starts_with(|c: char| c.is_ascii_digit()));
        }
    }
}
