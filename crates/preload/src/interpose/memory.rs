//! The memory of the rules. No allocator of the program gives it: a wait can begin in a signal handler, or
//! while another thread holds the allocator's lock.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gives pieces of a fixed room, and takes none back: rules allocate as they are made and hardly ever after.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

/// More than ten times what 64 rules take. Pages that nothing touches take no memory.
const ROOM: usize = 1 << 22;

#[repr(align(64))]
struct Room(UnsafeCell<[u8; ROOM]>);

// SAFETY: each piece is given once.
unsafe impl Sync for Room {}

static PIECES: Room = Room(UnsafeCell::new([0; ROOM]));
static GIVEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: pieces of the room do not overlap, lie inside it, and have the alignment asked for.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // An alignment above that of the room is asked for by nothing here.
        let size = layout.size().next_multiple_of(64);
        if layout.align() > 64 || size > ROOM {
            return null_mut();
        }
        let begin = GIVEN.fetch_add(size, Ordering::Relaxed);
        if begin > ROOM - size {
            GIVEN.fetch_sub(size, Ordering::Relaxed);
            return null_mut();
        }
        // SAFETY: `begin` and `size` lie inside the room.
        unsafe { PIECES.0.get().cast::<u8>().add(begin) }
    }

    unsafe fn dealloc(&self, _piece: *mut u8, _layout: Layout) {}
}
