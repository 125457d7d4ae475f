//! A system that does nothing with memory on its own that it could be asked for.

pub(super) fn huge_pages() -> Option<String> {
    None
}

pub(super) fn huge_page_bytes() -> Option<usize> {
    None
}

pub(super) fn init_on_alloc() -> Option<bool> {
    None
}

pub(super) fn init_on_free() -> Option<bool> {
    None
}
