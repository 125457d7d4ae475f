//! What Windows tells of its processors, and how it counts them.

use std::ptr;
use windows_sys::Win32::System::SystemInformation::{
    GROUP_AFFINITY, GetLogicalProcessorInformationEx, LOGICAL_PROCESSOR_RELATIONSHIP,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::Win32::System::Threading::GetActiveProcessorCount;

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

/// What the system says, in words of 8 bytes, and how many bytes it is. Behind
/// it is room for one more structure.
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
