//! Node, as its process has it.

use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;

use crate::runtime::node;

/// The major version of Node that this process is, if it has lines.
pub(super) fn version() -> Option<u8> {
    let v8 = text(c"_ZN2v82V810GetVersionEv")?;
    let libuv = text(c"uv_version_string")?;
    node::of_parts(v8.to_str().ok()?, libuv.to_str().ok()?)
}

/// The text that a function of this name returns, if there is one.
fn text(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: both functions take nothing, return a constant C string, and may be called before the program begins.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        let get = transmute::<*mut c_void, Option<unsafe extern "C" fn() -> *const c_char>>(found)?;
        let text = get();
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}
