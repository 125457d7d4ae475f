//! The stops of all threads, and what the supervisor does at each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::atomic::Ordering::Relaxed;

use libc::{c_int, pid_t};
use punctual_preload::books::{Page, WaitingThread};
use punctual_preload::page::{Found, Run, at};
use punctual_preload::runtime::{Port, TakenFor, program};
use punctual_rules::Host;

use crate::Event;
use crate::tracee::Tracee;
use crate::waits::Open;

/// The threads and processes of a run.
pub(crate) struct Tracer<'p> {
    run: &'p Run,
    page: Page<'p>,
    /// The slack of the threads, in nanoseconds. They have it from this one.
    slack: u64,
    threads: HashMap<pid_t, Thread<'p>>,
    processes: HashMap<u32, Process>,
    /// The programs that processes ran: by their files and when those were changed.
    programs: HashMap<(u64, u64, i64, i64), Program>,
}

struct Thread<'p> {
    process: u32,
    wait: Option<Open<'p>>,
}

/// A process, as far as it is known.
enum Process {
    /// It is emulated. All its threads have the same rule: it is asked for one of them at a time.
    Ruled(Port, Host),
    /// Its runtime is not emulated, and has been named.
    Named,
    /// Its program cannot be read.
    Unknown,
}

#[derive(Clone, Debug)]
struct Program {
    found: Found,
    name: Vec<u8>,
}

impl<'p> Tracer<'p> {
    pub(crate) fn new(run: &'p Run, page: Page<'p>) -> Self {
        // SAFETY: it has no arguments.
        let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        Self {
            run,
            page,
            slack: u64::try_from(slack).unwrap_or_default(),
            threads: HashMap::new(),
            processes: HashMap::new(),
            programs: HashMap::new(),
        }
    }

    /// Serves all stops until the last thread has ended; how the first process ended. `None` if it did not become the
    /// program: then it is still there, and its parent waits for it.
    pub(crate) fn serve(mut self, first: pid_t, report: &dyn Fn(Event)) -> Option<ExitStatus> {
        while !self.processes.contains_key(&(first as u32)) {
            if has_ended(first) {
                return None;
            }
            self.next(first)?;
        }
        report(Event::Started(first as u32));
        let mut ended = None;
        while let Some((thread, status)) = self.next(-1) {
            if thread == first && !libc::WIFSTOPPED(status) {
                ended = Some(ExitStatus::from_raw(status));
                report(Event::Ended);
            }
        }
        ended
    }

    /// Serves the next stop or end of one thread, or of any if that is -1; the thread and its status. `None` if there is
    /// none any more.
    fn next(&mut self, of: pid_t) -> Option<(pid_t, c_int)> {
        let mut status = 0;
        let thread = loop {
            // SAFETY: the status is of this function.
            let thread =
                unsafe { libc::waitpid(of, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
            let is_interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            if thread >= 0 || !is_interrupted() {
                break thread;
            }
        };
        match (thread >= 0, libc::WIFSTOPPED(status)) {
            (false, _) => return None,
            (_, true) => self.stopped(Tracee(thread), libc::WSTOPSIG(status), status >> 16),
            (_, false) => self.gone(thread),
        }
        Some((thread, status))
    }

    fn stopped(&mut self, tracee: Tracee, signal: c_int, event: c_int) {
        match event {
            libc::PTRACE_EVENT_SECCOMP => self.called(tracee),
            libc::PTRACE_EVENT_EXEC => self.executed(tracee),
            libc::PTRACE_EVENT_STOP => {
                self.interrupted(tracee, None);
                let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
                if stops.contains(&signal) {
                    return tracee.listen();
                }
            }
            0 => {
                self.interrupted(tracee, Some(signal));
                return tracee.go_on(signal);
            }
            // Another thread or process has begun. It is traced, and stops by itself.
            _ => {}
        }
        tracee.go_on(0);
    }

    /// A thread begins a timed wait.
    fn called(&mut self, tracee: Tracee) {
        let Some(mut registers) = tracee.registers() else {
            return;
        };
        if registers.orig_rax as i64 == libc::SYS_timerfd_settime {
            self.page.word(at::TIMERS).fetch_add(1, Relaxed);
            return;
        }
        let Some(process) = self.process_of(tracee) else {
            return;
        };
        let before = self.threads.get_mut(&tracee.0);
        if let Some(mut before) = before.and_then(|thread| thread.wait.take()) {
            if before.continued(&mut registers) {
                self.begun(tracee, before);
                return;
            }
            before.close();
        }
        let (port, host) = match self.processes.get_mut(&process) {
            Some(Process::Ruled(port, host)) => (port, host),
            Some(Process::Named) => return,
            _ => {
                self.page.word(at::UNRULED).fetch_add(1, Relaxed);
                return;
            }
        };
        let waiting = WaitingThread {
            process,
            thread: tracee.0 as u32,
        };
        let begun = Open::begin(
            self.page,
            waiting,
            registers,
            self.slack,
            |call| port.way(call),
            |way, called, asked| way.end(host, called, asked),
        );
        if let Some(begun) = begun {
            self.begun(tracee, begun);
        }
    }

    fn begun(&mut self, tracee: Tracee, wait: Open<'p>) {
        if let Some(thread) = self.threads.get_mut(&tracee.0) {
            thread.wait = Some(wait);
        }
    }

    /// A thread stops for a signal or for its group. A call that it is in is interrupted.
    fn interrupted(&mut self, tracee: Tracee, signal: Option<c_int>) {
        let thread = self.threads.get_mut(&tracee.0);
        if let Some(wait) = thread.and_then(|thread| thread.wait.as_mut()) {
            wait.interrupted(|| signal.is_some_and(|signal| has_handler(tracee.0, signal)));
        }
    }

    /// A process runs another program. Its other threads have gone, and the one that did it has the number of the process.
    fn executed(&mut self, tracee: Tracee) {
        let process = tracee.0 as u32;
        let gone: Vec<pid_t> = (self.threads.iter())
            .filter(|(_, thread)| thread.process == process)
            .map(|(number, _)| *number)
            .collect();
        gone.into_iter().for_each(|thread| self.gone(thread));
        let (begun, taken_for) = self.begin_process(process);
        if let Some(taken_for) = taken_for {
            self.page.count(taken_for);
        }
        self.processes.insert(process, begun);
    }

    fn gone(&mut self, thread: pid_t) {
        let gone = self.threads.remove(&thread);
        if let Some(wait) = gone.and_then(|thread| thread.wait) {
            wait.ended();
        }
        // A process has the number of its first thread, which ends last.
        self.processes.remove(&(thread as u32));
    }

    /// The process of a thread. A process that was forked has the program of the other, and a rule of its own.
    fn process_of(&mut self, tracee: Tracee) -> Option<u32> {
        let process = match self.threads.entry(tracee.0) {
            Entry::Occupied(known) => known.get().process,
            Entry::Vacant(new) => {
                let process = u32::try_from(of_status(tracee.0, "Tgid:")?.parse::<u64>().ok()?);
                let process = process.ok()?;
                new.insert(Thread {
                    process,
                    wait: None,
                });
                process
            }
        };
        if !self.processes.contains_key(&process) {
            let (begun, _) = self.begin_process(process);
            self.processes.insert(process, begun);
        }
        Some(process)
    }

    /// The rule of a process by its program, and what the program is taken for.
    fn begin_process(&mut self, process: u32) -> (Process, Option<TakenFor>) {
        let Some(program) = self.program(process) else {
            return (Process::Unknown, None);
        };
        let taken_for = self.run.taken_for(program.found);
        // The locks of CPython look alike to a tracer, and so do waits of Java; clocks are out of reach.
        let is_alike =
            |taken_for: &TakenFor| matches!(taken_for, TakenFor::Python(_) | TakenFor::Java(_));
        let taken_for = taken_for.filter(|taken_for| !is_alike(taken_for));
        let Some(taken_for) = taken_for else {
            self.page.note_runtime(&program.name);
            return (Process::Named, None);
        };
        let ruled = |host: Host| Process::Ruled(Port::new(taken_for, host.rule().methods()), host);
        let begun = self.run.host(0, taken_for).map_or(Process::Unknown, ruled);
        (begun, Some(taken_for))
    }

    /// The program of a process; `None` if its file cannot be read.
    fn program(&mut self, process: u32) -> Option<Program> {
        let file = format!("/proc/{process}/exe");
        let key = fs::metadata(&file).ok()?;
        let key = (key.dev(), key.ino(), key.mtime(), key.mtime_nsec());
        if let Some(known) = self.programs.get(&key) {
            return Some(known.clone());
        }
        let path = fs::read_link(&file).ok()?;
        let name = path.file_name()?.as_bytes().to_vec();
        let mut bytes = vec![];
        let mut read = fs::File::open(&file).ok()?.take(LARGEST);
        read.read_to_end(&mut bytes).ok()?;
        let (found, _) = program::runtime(&path, &bytes);
        let program = Program { found, name };
        self.programs.insert(key, program.clone());
        Some(program)
    }
}

/// Waits until a process stops or ends, and leaves that to be waited for again; whether it ended.
fn has_ended(process: pid_t) -> bool {
    let how = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
    // SAFETY: all fields are numbers, and the kernel writes to this one only.
    let (result, info) = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let process = process as libc::id_t;
        (libc::waitid(libc::P_PID, process, &raw mut info, how), info)
    };
    result == 0 && [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&info.si_code)
}

/// As much of a program is looked at.
const LARGEST: u64 = 512 << 20;

/// Whether the process of a thread has a handler of a signal.
fn has_handler(thread: pid_t, signal: c_int) -> bool {
    let caught = of_status(thread, "SigCgt:");
    let caught = caught.and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    caught.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The value of a line of the status of a thread.
pub(crate) fn of_status(thread: pid_t, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().to_owned())
}
