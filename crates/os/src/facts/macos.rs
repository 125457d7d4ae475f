//! sysctl names, see sysctl(3).

use super::HostFacts;
use std::ffi::CStr;
use std::ptr;

pub(super) fn host() -> HostFacts {
    HostFacts {
        os_version: text(c"kern.osproductversion").map(|version| format!("macOS {version}")),
        kernel: text(c"kern.osrelease"),
        cpu_model: text(c"machdep.cpu.brand_string"),
        virtual_machine: number(c"kern.hv_vmm_present").map(|number| number != 0),
        ..HostFacts::default()
    }
}

/// A string; `None` when there is no such name, or it is empty.
fn text(name: &CStr) -> Option<String> {
    let mut buffer = [0_u8; 256];
    let length = read(name, &mut buffer)?;
    let text = CStr::from_bytes_until_nul(&buffer[..length])
        .ok()?
        .to_str()
        .ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

fn number(name: &CStr) -> Option<i32> {
    let mut buffer = [0_u8; 4];
    (read(name, &mut buffer)? == buffer.len()).then_some(i32::from_ne_bytes(buffer))
}

/// A number that may be of 4 or of 8 bytes, as those of <sys/sysctl.h> are.
pub fn long_number(name: &CStr) -> Option<u64> {
    let mut buffer = [0_u8; 8];
    match read(name, &mut buffer)? {
        4 => number(name).and_then(|number| u64::try_from(number).ok()),
        8 => Some(u64::from_ne_bytes(buffer)),
        _ => None,
    }
}

/// Reads the value into `buffer`, and returns its length.
fn read(name: &CStr, buffer: &mut [u8]) -> Option<usize> {
    let mut length = buffer.len();
    // SAFETY: the name ends with a zero, the buffer is as long as stated, and
    // the null pointer says that nothing is to be set.
    let answer = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            buffer.as_mut_ptr().cast(),
            &mut length,
            ptr::null_mut(),
            0,
        )
    };
    (answer == 0).then_some(length)
}
