//! Which CPUs of a Windows computer are of which kind.

use std::ptr;
use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformationEx, RelationProcessorCore,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::Win32::System::Threading::GetActiveProcessorCount;

/// Nothing when all are of one efficiency class. A higher class is faster and
/// less efficient.
pub(super) fn types() -> Vec<(usize, String)> {
    named(classes().unwrap_or_default())
}

fn named(mut classes: Vec<(usize, u8)>) -> Vec<(usize, String)> {
    classes.sort_unstable();
    if classes.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return Vec::new();
    }
    let name = |(cpu, class)| (cpu, format!("efficiency class {class}"));
    classes.into_iter().map(name).collect()
}

/// Each CPU, numbered through all processor groups, and its class.
fn classes() -> Option<Vec<(usize, u8)>> {
    let (buffer, length) = information()?;
    let mut classes = Vec::new();
    let mut offset = 0;
    while offset < length {
        // SAFETY: the system wrote records one after the other, each of which
        // states its size, and `offset` is the sum of those before this one. It
        // is a multiple of 8, so the record is aligned as the buffer is. The
        // structure, which is longer than the record of a core, ends within the
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
        // SAFETY: only cores were asked for, and this is the part of a core,
        // which is in one group.
        let core = unsafe { record.Anonymous.Processor };
        let [mask] = core.GroupMask;
        let first = first_cpu(mask.Group);
        classes.extend(
            (0..usize::BITS as usize)
                .filter(|bit| mask.Mask >> bit & 1 == 1)
                .map(|bit| (first + bit, core.EfficiencyClass)),
        );
    }
    Some(classes)
}

/// What the system says of all cores, in words of 8 bytes, and how many bytes it
/// is. Behind it is room for one more structure.
fn information() -> Option<(Vec<u64>, usize)> {
    let mut length = 0;
    // SAFETY: a null pointer asks for the length alone.
    unsafe {
        GetLogicalProcessorInformationEx(RelationProcessorCore, ptr::null_mut(), &mut length)
    };
    let bytes = length as usize + size_of::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX>();
    let mut buffer = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
    // SAFETY: the buffer is longer than stated.
    let told = unsafe {
        GetLogicalProcessorInformationEx(
            RelationProcessorCore,
            buffer.as_mut_ptr().cast(),
            &mut length,
        )
    };
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
    fn every_cpu_has_a_class_where_the_system_tells() {
        if let Some(classes) = classes() {
            let mut cpus: Vec<usize> = classes.iter().map(|class| class.0).collect();
            cpus.sort_unstable();
            cpus.dedup();
            assert_eq!(cpus.len(), classes.len());
        }
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
