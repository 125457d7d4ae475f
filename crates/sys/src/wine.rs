//! Whether this is Wine and not Windows: then the timer rule is that of the system
//! underneath.

use std::ffi::{CStr, c_char};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::core::s;

/// Wine's version, from the function that only Wine's ntdll has (Wine wiki,
/// "Developer FAQ: how can I detect Wine?").
pub fn version() -> Option<String> {
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

    /// The runner script of the tests under Wine says so, in this variable.
    #[test]
    fn wine_is_recognised() {
        if std::env::var_os("PUNCTUAL_UNDER_WINE").is_some() {
            assert!(version().unwrap().starts_with(|c: char| c.is_ascii_digit()));
        }
    }
}
