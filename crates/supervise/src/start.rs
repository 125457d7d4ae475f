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

/// Starts the program and serves its stops. Another thread serves them: starting returns only when the program runs, and
/// that takes a tracer.
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
        // Without a child the tracer ends now.
        drop(to_tracer);
        let ended = tracer.join().unwrap_or(Ok(None))?;
        match spawned {
            // One that was killed before it became the program.
            Ok(mut child) => ended.map_or_else(|| child.wait().map_err(Failure::Start), Ok),
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

#[cfg(test)]
mod tests {
    use std::os::fd::FromRawFd as _;

    use punctual_preload::page::Run;

    use super::*;

    /// A statement of a filter.
    fn of(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
        let code = code as u16;
        sock_filter { code, jt, jf, k }
    }

    /// Forbids a call of the kernel to this thread, and to the threads and processes that it starts: always, or with this
    /// first argument.
    fn forbid(call: libc::c_long, first: Option<c_int>) {
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let mut filter = vec![
            of(load, 0, 0, 0),
            of(is, 0, if first.is_some() { 3 } else { 1 }, call as u32),
            of(
                libc::BPF_RET,
                0,
                0,
                libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            ),
            of(libc::BPF_RET, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        if let Some(first) = first {
            filter.insert(2, of(load, 0, 0, 16));
            filter.insert(3, of(is, 0, 1, first as u32));
        }
        let program = sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: the filter is read only, and the kernel copies it.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            let mode = libc::SECCOMP_MODE_FILTER;
            assert_eq!(
                libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program),
                0
            );
        }
    }

    /// The result of a run of this program, on a thread where `policy` was called.
    fn ran(program: &str, policy: fn()) -> Result<ExitStatus, Failure> {
        let run = Run::new("linux", 0, 1);
        let words = run.page(0).unwrap();
        // SAFETY: the name is a C string, and the descriptor is new.
        let mut page = unsafe { File::from_raw_fd(libc::memfd_create(c"page".as_ptr(), 0)) };
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        page.write_all(&bytes).unwrap();
        let supervised = Supervised {
            run: &run,
            page: &page,
            lets_nanosleep: false,
        };
        thread::scope(|scope| {
            let running = scope.spawn(|| {
                policy();
                super::run(&mut Command::new(program), supervised, &|_| {})
            });
            running.join().unwrap()
        })
    }

    #[test]
    fn a_policy_that_forbids_it_is_stated() {
        let refused = |policy: fn(), words: &str| {
            let why = ran("/bin/true", policy);
            let is_stated = matches!(&why, Err(Failure::Refused(why)) if why.contains(words));
            assert!(is_stated, "{why:?}");
        };
        refused(
            || forbid(libc::SYS_ptrace, None),
            "does not permit to trace it (Operation not permitted",
        );
        refused(
            || forbid(libc::SYS_prctl, Some(libc::PR_SET_SECCOMP)),
            "permits no seccomp filter",
        );
    }

    #[test]
    fn a_program_runs_to_its_end_or_does_not_start() {
        assert!(ran("/bin/true", || {}).unwrap().success());
        assert_eq!(ran("/bin/false", || {}).unwrap().code(), Some(1));
        let missing = ran("/no/such", || {});
        let is_missing = |why: &io::Error| why.kind() == io::ErrorKind::NotFound;
        assert!(
            matches!(&missing, Err(Failure::Start(why)) if is_missing(why)),
            "{missing:?}"
        );
    }
}
