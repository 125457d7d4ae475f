//! GetProcessTimes, GetThreadTimes, GetSystemTimes, and the list of all processes.

use super::Usage;
use punctual_core::Nanos;
use std::os::windows::io::AsRawHandle;
use std::process::Child;
use windows_sys::Wdk::System::SystemInformation::{
    NtQuerySystemInformation, SystemProcessInformation,
};
use windows_sys::Win32::Foundation::{FILETIME, HANDLE, STATUS_INFO_LENGTH_MISMATCH};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetSystemTimes, GetThreadTimes,
};
use windows_sys::Win32::System::WindowsProgramming::SYSTEM_PROCESS_INFORMATION;
use windows_sys::core::BOOL;

pub(super) fn of_process() -> Option<Usage> {
    // SAFETY: returns a pseudo handle that is always valid.
    of_handle(unsafe { GetCurrentProcess() })
}

pub(super) fn of_thread() -> Option<Usage> {
    // SAFETY: returns a pseudo handle that is always valid.
    times(GetThreadTimes, unsafe { GetCurrentThread() })
}

/// The handle keeps the counts of a process that has ended.
pub(super) fn of_child(child: &Child) -> Option<Usage> {
    of_handle(child.as_raw_handle())
}

pub(super) fn of_system_process() -> Option<Nanos> {
    cpu_of(SYSTEM)
}

pub(super) fn of_computer() -> Option<Nanos> {
    let [mut idle, mut kernel, mut user] = [FILETIME::default(); 3];
    // SAFETY: three valid places.
    let told = unsafe { GetSystemTimes(&mut idle, &mut kernel, &mut user) };
    // To Windows, being idle is work of the kernel.
    (told != 0).then(|| length(&kernel) + length(&user) - length(&idle))
}

fn of_handle(process: HANDLE) -> Option<Usage> {
    Some(Usage {
        faults: faults(process),
        ..times(GetProcessTimes, process)?
    })
}

/// `GetProcessTimes` or `GetThreadTimes`: of a handle, when it was made and when
/// it ended, its time in the kernel and its own.
type Times = unsafe extern "system" fn(
    HANDLE,
    *mut FILETIME,
    *mut FILETIME,
    *mut FILETIME,
    *mut FILETIME,
) -> BOOL;

fn times(of: Times, handle: HANDLE) -> Option<Usage> {
    let mut times = [FILETIME::default(); 4];
    let [created, exited, kernel, user] = &mut times;
    // SAFETY: a handle that is open, and four valid places.
    let told = unsafe { of(handle, created, exited, kernel, user) };
    (told != 0).then(|| Usage {
        user: length(user),
        system: length(kernel),
        faults: None,
        major_faults: None,
    })
}

/// Of both kinds. No process gets so far without a fault: zero means that they
/// are not counted, as under Wine 8.
fn faults(process: HANDLE) -> Option<u64> {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let bytes = size_of_val(&counters) as u32;
    // SAFETY: a handle that is open, and a place as long as stated.
    let told = unsafe { K32GetProcessMemoryInfo(process, &mut counters, bytes) };
    (told != 0 && counters.PageFaultCount > 0).then_some(counters.PageFaultCount.into())
}

/// A count of 100 ns in its two halves.
fn length(time: &FILETIME) -> Nanos {
    in_ns(u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime))
}

fn in_ns(units: u64) -> Nanos {
    Nanos::new(100).times(units)
}

/// The number of the process `System`, on every Windows since XP.
const SYSTEM: usize = 4;

/// The CPU time of a process that this one need not be allowed to open.
fn cpu_of(pid: usize) -> Option<Nanos> {
    let list = processes()?;
    let mut offset = 0;
    while offset + size_of::<SYSTEM_PROCESS_INFORMATION>() <= size_of_val(&*list) {
        // SAFETY: the record lies within the buffer, and any bytes are a valid
        // one. Wine's records are not aligned.
        let process = unsafe {
            let record = list.as_ptr().byte_add(offset);
            record.cast::<SYSTEM_PROCESS_INFORMATION>().read_unaligned()
        };
        if process.UniqueProcessId.addr() == pid {
            return Some(cpu(&process));
        }
        if process.NextEntryOffset == 0 {
            break;
        }
        offset += process.NextEntryOffset as usize;
    }
    None
}

/// `UserTime` and `KernelTime`, which Microsoft declares as reserved and has not
/// moved since Windows NT (Wine, `include/winternl.h`).
fn cpu(process: &SYSTEM_PROCESS_INFORMATION) -> Nanos {
    let number = |at: usize| {
        let bytes = process.Reserved1[at..at + 8].try_into().unwrap_or_default();
        in_ns(u64::from_ne_bytes(bytes))
    };
    number(32) + number(40)
}

/// The system's records of all processes; each states the distance to the next. Room for one more
/// structure follows them.
fn processes() -> Option<Vec<u8>> {
    let mut bytes = 0_u32;
    // Processes come and go, so that what was enough may not be so any more.
    for _ in 0..10 {
        let room = bytes as usize + size_of::<SYSTEM_PROCESS_INFORMATION>();
        let mut list = vec![0; room];
        // SAFETY: the buffer is longer than stated.
        let status = unsafe {
            NtQuerySystemInformation(
                SystemProcessInformation,
                list.as_mut_ptr().cast(),
                bytes,
                &mut bytes,
            )
        };
        match status {
            0 => return Some(list),
            STATUS_INFO_LENGTH_MISMATCH => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_tells_of_this_process_what_its_own_call_tells() {
        let before = of_process().unwrap().cpu();
        let listed = cpu_of(std::process::id() as usize).unwrap();
        assert!(before <= listed && listed <= of_process().unwrap().cpu());
    }

    #[test]
    fn no_process_has_no_time() {
        assert_eq!(cpu_of(3), None);
    }
}
