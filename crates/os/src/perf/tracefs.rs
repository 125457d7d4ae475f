//! The files that say which events the kernel has: tracefs.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::PathBuf;

use crate::Error;

/// Where systems mount it (kernel documentation, "ftrace - Function Tracer").
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracefs.
#[derive(Debug)]
pub(super) struct TraceFs {
    events: PathBuf,
    /// A mount of our own, in no folder, which ends with its descriptor.
    _mount: Option<OwnedFd>,
}

impl TraceFs {
    /// The one that is mounted, or else one that only this process has.
    pub(super) fn open() -> Result<Self, Error> {
        let mut refusal = None;
        for place in PLACES {
            let events = PathBuf::from(place).join("events");
            match fs::read_dir(&events) {
                Ok(_) => {
                    return Ok(Self {
                        events,
                        _mount: None,
                    });
                }
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
                    refusal.get_or_insert(why);
                }
                Err(_) => {}
            }
        }
        match private_mount() {
            Ok(mount) => Ok(Self {
                events: format!("/proc/self/fd/{}/events", mount.as_raw_fd()).into(),
                _mount: Some(mount),
            }),
            Err(why) => Err(Error::io(
                "cannot read the events of the kernel in tracefs",
                &refusal.unwrap_or(why),
            )),
        }
    }

    /// The file `name` of an event such as `sched/sched_switch`.
    pub(super) fn file(&self, event: &str, name: &str) -> io::Result<String> {
        fs::read_to_string(self.events.join(event).join(name))
    }
}

/// A tracefs that is mounted nowhere (fsopen(2), fsmount(2); Linux 5.2).
fn private_mount() -> io::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_uint = 1;
    const FSMOUNT_CLOEXEC: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    let owned = |done: libc::c_long| match done {
        // SAFETY: the call returned a new descriptor, which nothing else owns.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(done as i32) }),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: the name ends in a zero; the other arguments are numbers.
    let context =
        owned(unsafe { libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), FSOPEN_CLOEXEC) })?;
    let (none, of) = (std::ptr::null::<u8>(), context.as_raw_fd());
    // SAFETY: the command takes no key and no value.
    let done = unsafe { libc::syscall(libc::SYS_fsconfig, of, FSCONFIG_CMD_CREATE, none, none, 0) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the arguments are numbers.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, of, FSMOUNT_CLOEXEC, 0) })
}
