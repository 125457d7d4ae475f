//! The kernel's version, what the registry says, whether this is Wine, and which processors there
//! are.

use super::HostFacts;
pub(super) use crate::resolution::on_battery;
use std::ptr;
use windows_sys::Wdk::System::SystemServices::RtlGetVersion;
use windows_sys::Win32::Foundation::ERROR_SUCCESS;
use windows_sys::Win32::System::Registry::{HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RegGetValueW};
use windows_sys::Win32::System::SystemInformation::{
    GROUP_AFFINITY, GetLogicalProcessorInformationEx, LOGICAL_PROCESSOR_RELATIONSHIP,
    OSVERSIONINFOW, RelationProcessorCore, SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::Win32::System::Threading::GetActiveProcessorCount;
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
            ptr::null_mut(),
            (&raw mut value).cast(),
            &mut length,
        )
    };
    (status == ERROR_SUCCESS).then_some(value != 0)
}

/// Which CPUs are of which kind: nothing when all are of one efficiency class. A higher class is faster and
/// less efficient.
pub(super) fn core_types() -> Vec<(usize, String)> {
    named(classes())
}

fn named(mut classes: Vec<(usize, u8)>) -> Vec<(usize, String)> {
    classes.sort_unstable();
    if classes.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return Vec::new();
    }
    let name = |(cpu, class)| (cpu, format!("efficiency class {class}"));
    classes.into_iter().map(name).collect()
}

/// Each CPU, numbered through all processor groups, and its class; none when the
/// system does not tell.
fn classes() -> Vec<(usize, u8)> {
    let mut classes = Vec::new();
    processor_records(RelationProcessorCore, |record| {
        // SAFETY: only cores were asked for, and this is the part of a core,
        // which is in one group.
        let core = unsafe { record.Anonymous.Processor };
        let [mask] = core.GroupMask;
        classes.extend(cpus_of(&mask).map(|cpu| (cpu, core.EfficiencyClass)));
    });
    classes
}

/// Shows every record of one kind; none when the system does not tell.
pub fn processor_records(
    kind: LOGICAL_PROCESSOR_RELATIONSHIP,
    mut seen: impl FnMut(&SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX),
) {
    let Some((buffer, length)) = information(kind) else {
        return;
    };
    let mut offset = 0;
    while offset < length {
        // SAFETY: the system wrote records one after the other, each of which
        // states its size, and `offset` is the sum of those before this one. It
        // is a multiple of 8, so the record is aligned as the buffer is. The
        // structure, which is as long as the longest record, ends within the
        // buffer, which has room for one more.
        let record = unsafe {
            &*buffer
                .as_ptr()
                .byte_add(offset)
                .cast::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX>()
        };
        if record.Size == 0 {
            break;
        }
        offset += record.Size as usize;
        seen(record);
    }
}

/// The CPUs of a mask, numbered through all processor groups.
pub fn cpus_of(mask: &GROUP_AFFINITY) -> impl Iterator<Item = usize> + use<> {
    let (mask, first) = (mask.Mask, first_cpu(mask.Group));
    (0..usize::BITS as usize)
        .filter(move |bit| mask >> bit & 1 == 1)
        .map(move |bit| first + bit)
}

/// The system's answer in words of 8 bytes, and its length in bytes. Room for one more structure
/// follows it.
fn information(kind: LOGICAL_PROCESSOR_RELATIONSHIP) -> Option<(Vec<u64>, usize)> {
    let mut length = 0;
    // SAFETY: a null pointer asks for the length alone.
    unsafe { GetLogicalProcessorInformationEx(kind, ptr::null_mut(), &mut length) };
    let bytes = length as usize + size_of::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX>();
    let mut buffer = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
    // SAFETY: the buffer is longer than stated.
    let told =
        unsafe { GetLogicalProcessorInformationEx(kind, buffer.as_mut_ptr().cast(), &mut length) };
    (told != 0).then_some((buffer, length as usize))
}

/// The number of the first CPU of a processor group.
fn first_cpu(group: u16) -> usize {
    // SAFETY: takes and returns numbers.
    let size = |group| unsafe { GetActiveProcessorCount(group) } as usize;
    (0..group).map(size).sum()
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

    #[test]
    fn every_cpu_has_one_class_where_the_system_tells() {
        let classes = classes();
        let mut cpus: Vec<usize> = classes.iter().map(|class| class.0).collect();
        cpus.sort_unstable();
        cpus.dedup();
        assert_eq!(cpus.len(), classes.len());
    }

    #[test]
    fn classes_are_named_when_they_differ() {
        assert_eq!(named(vec![(1, 0), (0, 0)]), []);
        assert_eq!(
            named(vec![(1, 0), (0, 1)]),
            [
                (0, "efficiency class 1".to_owned()),
                (1, "efficiency class 0".to_owned())
            ]
        );
    }
}
