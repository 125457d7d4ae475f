//! Facts from the CPUID instruction of x86-64; nothing elsewhere.
//!
//! A hypervisor or a kernel without support hides a feature by clearing its
//! bit, so a set bit means that the instruction may be used.

/// Whether the time-stamp counter runs at one rate, whatever the CPU does: leaf
/// 8000_0007, EDX bit 8 (Intel SDM; AMD APM volume 3).
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_invariant_counter() -> bool {
    highest(EXTENDED) >= EXTENDED + 7 && bit(__cpuid(EXTENDED + 7).edx, 8)
}

/// Whether this is a virtual machine: leaf 1, ECX bit 31. `None` where nothing
/// tells.
///
/// A Windows host that runs Hyper-V for its own protection sets the bit as well;
/// what tells it from its guests is the right to create partitions (leaf
/// 4000_0003, EBX bit 0; Microsoft, Hypervisor Top-Level Functional
/// Specification).
pub(crate) fn virtual_machine() -> Option<bool> {
    #[cfg(target_arch = "x86_64")]
    return Some(hypervisor_present() && !is_hyper_v_root());
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The name that the hypervisor gives itself, such as `KVMKVMKVM`: leaf
/// 4000_0000.
pub(crate) fn hypervisor_name() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if hypervisor_present() {
        let leaf = __cpuid(0x4000_0000);
        return text([leaf.ebx, leaf.ecx, leaf.edx]);
    }
    None
}

/// The name of the CPU: leaves 8000_0002 to 8000_0004.
pub(crate) fn model() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if highest(EXTENDED) >= EXTENDED + 4 {
        let words = (2..=4)
            .map(|leaf| __cpuid(EXTENDED + leaf))
            .flat_map(|leaf| [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx]);
        return text(words);
    }
    None
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__cpuid;

#[cfg(target_arch = "x86_64")]
const EXTENDED: u32 = 0x8000_0000;

#[cfg(target_arch = "x86_64")]
fn hypervisor_present() -> bool {
    bit(__cpuid(1).ecx, 31)
}

#[cfg(target_arch = "x86_64")]
fn is_hyper_v_root() -> bool {
    let leaf = __cpuid(0x4000_0000);
    leaf.eax >= 0x4000_0003
        && text([leaf.ebx, leaf.ecx, leaf.edx]).as_deref() == Some("Microsoft Hv")
        && bit(__cpuid(0x4000_0003).ebx, 0)
}

/// The highest leaf of the range that starts at `base`.
#[cfg(target_arch = "x86_64")]
fn highest(base: u32) -> u32 {
    __cpuid(base).eax
}

#[cfg(target_arch = "x86_64")]
fn bit(register: u32, bit: u32) -> bool {
    register >> bit & 1 == 1
}

/// The characters in registers, without padding; `None` when there are none.
#[cfg(target_arch = "x86_64")]
fn text(registers: impl IntoIterator<Item = u32>) -> Option<String> {
    let bytes: Vec<u8> = registers.into_iter().flat_map(u32::to_le_bytes).collect();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    (!text.is_empty()).then(|| text.to_owned())
}
