//! The kernel's version, what the registry says, and whether this is Wine.

mod cores;
mod processors;

pub use self::processors::{cpus_of, processor_records};

use super::{Counters, CpuTimes, Host};
use std::ffi::{CStr, c_char};
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::core::{s, w};

pub(super) fn host() -> Host {
    let version = version();
    let text = version.map(|[major, minor, build]| format!("{major}.{minor}.{build}"));
    Host {
        os_version: text.as_ref().map(|version| format!("Windows {version}")),
        kernel: text,
        wine: wine(),
        core_types: cores::types(),
        windows_build: version.map(|[_, _, build]| build),
        global_timer_requests: global_timer_requests(),
        ..Host::default()
    }
}

/// Only `NtQuerySystemInformation` tells it, which Microsoft reserves the right
/// to change ("may be altered or unavailable in future versions of Windows").
pub(super) fn cpu_times(_cpus: &[usize]) -> Option<CpuTimes> {
    None
}

pub(super) fn counters() -> Option<Counters> {
    None
}

pub(super) fn on_battery() -> Option<bool> {
    let mut status = SYSTEM_POWER_STATUS::default();
    // SAFETY: `status` is a valid place for the answer.
    let told = unsafe { GetSystemPowerStatus(&mut status) };
    match status.ACLineStatus {
        OFFLINE if told != 0 => Some(true),
        ONLINE if told != 0 => Some(false),
        _ => None,
    }
}

/// Values of `ACLineStatus`; 255 is unknown.
const OFFLINE: u8 = 0;
const ONLINE: u8 = 1;

/// Major, minor and build number. Not `GetVersionEx`, which tells programs
/// without a manifest that they run on Windows 8.
fn version() -> Option<[u32; 3]> {
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: size_of::<OSVERSIONINFOW>() as u32,
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the structure is valid and states its own size.
    let status = unsafe { RtlGetVersion(&mut version) };
    (status == 0).then_some([
        version.dwMajorVersion,
        version.dwMinorVersion,
        version.dwBuildNumber,
    ])
}

/// The value that brings back the timer rule of before Windows 10 2004, where
/// it is set at all.
fn global_timer_requests() -> Option<bool> {
    let mut value = 0_u32;
    let mut length = size_of_val(&value) as u32;
    // SAFETY: constant names with their zeros, a null pointer for the type that
    // is not wanted, and a place as long as stated.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            w!(r"SYSTEM\CurrentControlSet\Control\Session Manager\kernel"),
            w!("GlobalTimerResolutionRequests"),
            RRF_RT_REG_DWORD,
            std::ptr::null_mut(),
            (&raw mut value).cast(),
            &mut length,
        )
    };
    (status == ERROR_SUCCESS).then_some(value != 0)
}

/// Wine's version, from the function that only Wine's ntdll has (Wine wiki,
/// "Developer FAQ: how can I detect Wine?").
pub(crate) fn wine() -> Option<String> {
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
    fn the_version_and_the_build_are_told() {
        let [major, _, build] = version().unwrap();
        assert!(major >= 6);
        assert_eq!(host().windows_build, Some(build));
    }

    /// The runner script of the tests under Wine says so, in this variable.
    #[test]
    fn wine_is_recognised() {
        if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
            assert!(wine().unwrap().starts_with(|c: char| c.is_ascii_digit()));
        }
    }
}
