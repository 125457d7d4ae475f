//! A program is started under the filter.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::thread;

use libc::{c_int, pid_t, sock_filter, sock_fprog};
use punctual_preload::books::Page;

use crate::tracee::Tracee;
use crate::tracer::{Tracer, of_status};
use crate::{Event, Failure, Supervised, filter};

/// The error of a child whose supervisor cannot trace it, and of one that gets no filter. No call that starts a program
/// fails by these.
const NOT_TRACED: c_int = libc::ECANCELED;
const NOT_FILTERED: c_int = libc::EOPNOTSUPP;

/// Starts the program and serves its stops, on a thread of their own: starting waits until the program runs, and it runs
/// only as its stops are served.
pub(crate) fn run(
    command: &mut Command,
    supervised: Supervised<'_>,
    report: &(dyn Fn(Event) + Sync),
) -> Result<ExitStatus, Failure> {
    let mapping = Mapping::of(supervised.page).map_err(Failure::Start)?;
    let page = Page::new(mapping.words());
    let page = page.ok_or_else(|| Failure::Refused("the page is no page of a run".to_owned()))?;
    let (from_child, to_tracer) = io::pipe().map_err(Failure::Start)?;
    let (from_tracer, to_child) = io::pipe().map_err(Failure::Start)?;
    prepare(
        command,
        filter::filter(supervised.lets_nanosleep),
        [&to_tracer, &to_child].map(PipeWriter::as_raw_fd),
        from_tracer.as_raw_fd(),
    );
    thread::scope(|scope| {
        let tracer = scope.spawn(move || -> Result<Option<ExitStatus>, Failure> {
            let Some(child) = traced(from_child, to_child)? else {
                return Ok(None);
            };
            Ok(Tracer::new(supervised.run, page).serve(child, report))
        });
        let spawned = command.spawn();
        // Without a child the tracer has nobody to wait for.
        drop(to_tracer);
        if let Ok(child) = &spawned {
            report(Event::Started(child.id()));
        }
        let ended = tracer.join().unwrap_or(Ok(None))?;
        match spawned {
            Ok(_) => ended.ok_or_else(|| Failure::Start(io::Error::other("its end was not seen"))),
            Err(why) if why.raw_os_error() == Some(NOT_FILTERED) => Err(Failure::Refused(
                "this system permits no seccomp filter here".to_owned(),
            )),
            Err(why) => Err(Failure::Start(why)),
        }
    })
}

/// Has the child wait until it is traced, and take the filter, before it becomes the program.
fn prepare(command: &mut Command, filter: Vec<sock_filter>, writers: [c_int; 2], answer: c_int) {
    let [to_tracer, to_child] = writers;
    let before = move || {
        // SAFETY: these calls may be made between a fork and an exec. The buffers are of this function, and the filter
        // is read only.
        unsafe {
            // The end of the tracer must be the only one.
            libc::close(to_child);
            let own = libc::getpid().to_ne_bytes();
            libc::write(to_tracer, own.as_ptr().cast(), own.len());
            libc::close(to_tracer);
            let mut is_traced = 0_u8;
            if libc::read(answer, (&raw mut is_traced).cast(), 1) != 1 || is_traced == 0 {
                return Err(io::Error::from_raw_os_error(NOT_TRACED));
            }
            let program = sock_fprog {
                len: filter.len() as u16,
                filter: filter.as_ptr().cast_mut(),
            };
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const program,
                ) != 0
            {
                return Err(io::Error::from_raw_os_error(NOT_FILTERED));
            }
        }
        Ok(())
    };
    // SAFETY: it allocates nothing and takes no lock.
    unsafe { command.pre_exec(before) };
}

/// Waits for the child and traces it; `None` if there is none.
fn traced(mut child: PipeReader, mut answer: PipeWriter) -> Result<Option<pid_t>, Failure> {
    let mut number = [0; 4];
    if child.read_exact(&mut number).is_err() {
        return Ok(None);
    }
    let number = pid_t::from_ne_bytes(number);
    match Tracee(number).seize() {
        Ok(()) => {
            // The child waits for it.
            let _ = answer.write_all(&[1]);
            Ok(Some(number))
        }
        Err(why) => {
            let tracer = of_status(number, "TracerPid:").filter(|tracer| tracer != "0");
            let why = match tracer {
                Some(tracer) => format!(
                    "it is traced already, by process {tracer}, such as strace or a debugger: start without that one"
                ),
                None => format!(
                    "this system does not permit to trace it ({why}): see kernel.yama.ptrace_scope, or the policy of the \
                     container"
                ),
            };
            let _ = answer.write_all(&[0]);
            Err(Failure::Refused(why))
        }
    }
}

/// The page, mapped.
struct Mapping {
    begin: *mut AtomicU64,
    words: usize,
}

impl Mapping {
    fn of(page: &File) -> io::Result<Self> {
        let words = usize::try_from(page.metadata()?.len()).unwrap_or_default() / 8;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the place, and checks the file and the length.
        let begin = unsafe {
            libc::mmap(
                null_mut(),
                words * 8,
                rights,
                libc::MAP_SHARED,
                page.as_raw_fd(),
                0,
            )
        };
        match begin == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(Self {
                begin: begin.cast(),
                words,
            }),
        }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has so many words until it is dropped. Nothing shortens the file.
        unsafe { std::slice::from_raw_parts(self.begin, self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any more.
        unsafe { libc::munmap(self.begin.cast(), self.words * 8) };
    }
}
