//! The kernel's version, what the registry says, and whether this is Wine.

mod cores;
mod processors;

pub(super) use self::cores::types as core_types;
pub use self::processors::{cpus_of, processor_records};

use super::{Counters, CpuTimes, HostFacts};
pub(super) use crate::resolution::on_battery;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::OSVERSIONINFOW;
use windows_sys::core::w;

pub(super) fn host() -> HostFacts {
    let version = version();
    let text = version.map(|[major, minor, build]| format!("{major}.{minor}.{build}"));
    HostFacts {
        os_version: text.as_ref().map(|version| format!("Windows {version}")),
        kernel: text,
        wine: crate::wine::version(),
        ..HostFacts::default()
    }
}

/// Only `NtQuerySystemInformation` tells it, which Microsoft reserves the right
/// to change ("may be altered or unavailable in future versions of Windows").
pub(super) fn cpu_times(_cpus: &[usize]) -> Option<CpuTimes> {
    None
}

/// No hypervisor tells it here.
pub(super) fn stolen_fraction() -> Option<f64> {
    None
}

pub(super) fn counters() -> Option<Counters> {
    None
}

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
pub(super) fn global_timer_requests() -> Option<bool> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_and_the_build_are_told() {
        let [major, _, build] = version().unwrap();
        assert!(major >= 6);
        let kernel = host().kernel.unwrap();
        assert!(kernel.ends_with(&format!(".{build}")), "{kernel}");
    }
}
