//! Events of a library in the program, which needs no privilege.
//!
//! The library logs each timed wait as it begins and as it returns. The kernel lets this process see when threads of the
//! program lose and get a CPU. The reason of a wait is not seen.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::anyhow;
use punctual_os::clock;
use punctual_os::perf::{Switches, tick_ns};
use punctual_preload::traced::{self, Ended, RECORD, ROOM, Record, Timer, at, place};
use punctual_rules::linux::{poll_slack_ns, wheel_rounding_ns};
use punctual_trace::{Call, Clock, Event, Merge, Name, Timeout, What};

use super::program::Program;
use super::{Failure as Refusal, UNSEEN_BY_LIBRARY};
use crate::emulate::{By, Stage};

/// A record is in the ring at most so long after its time, unless its thread lost its CPU meanwhile: nanoseconds.
const LATEST: u64 = 10_000_000;

/// A record that is not there after so many readings will not come: its process was killed. Where the ring is half full the
/// reader does not wait for it.
const PATIENCE: u32 = 20;

/// The number of processes that are looked at, whether they are stopped.
const MOST_PROCESSES: usize = 256;

/// The number of threads whose names and calls are kept.
const MOST_THREADS: usize = 65_536;

/// An open source.
pub(super) struct Library<'a> {
    _stage: Stage<'a>,
    command: Command,
    page: File,
    /// `None` where the system refuses them.
    switches: Option<Switches>,
    tick_ns: Option<u64>,
    merge: Merge,
    /// The number of records that were read, and that were lost before.
    read: u64,
    lost: u64,
    /// How often the next record was not there yet.
    tries: u32,
    threads: HashMap<u32, Thread>,
    /// When each process was last seen stopped, if it was the last time.
    processes: HashMap<u32, Option<u64>>,
}

/// The last that is known of a thread.
struct Thread {
    name: Name,
    call: Call,
}

impl<'a> Library<'a> {
    /// Prepares the program to load the library.
    ///
    /// # Errors
    /// There is no such program, or it loads no library.
    pub(super) fn open(command: &'a [OsString]) -> Result<Self, Refusal> {
        let failed = |why: crate::emulate::Failure| (why.code, anyhow!(why.why));
        let stage = Stage::new(command, None, Some(By::Preload)).map_err(failed)?;
        let room = ROOM * RECORD as u64;
        let (command, page) = stage.with_page(&traced::page(), room).map_err(failed)?;
        Ok(Self {
            _stage: stage,
            command,
            page,
            switches: Switches::open().ok(),
            tick_ns: tick_ns(),
            merge: Merge::default(),
            read: 0,
            lost: 0,
            tries: 0,
            threads: HashMap::new(),
            processes: HashMap::new(),
        })
    }

    pub(super) fn tick_ns(&self) -> Option<u64> {
        self.tick_ns
    }

    pub(super) fn start(&mut self) -> io::Result<Program> {
        self.mark(clock::now().as_ns());
        Program::start(&mut self.command)
    }

    /// The facts that it does not show.
    pub(super) fn unseen(&self) -> Vec<String> {
        let mut unseen = UNSEEN_BY_LIBRARY.to_vec();
        if self.switches.is_none() {
            unseen.push(
                "The system refuses switches of own threads (kernel.perf_event_paranoid above 2): the return of a call is \
                 unknown.",
            );
        }
        if !Path::new("/proc/self/schedstat").exists() {
            unseen.push(
                "The kernel does not count for how long a thread waited for a CPU: it is unknown.",
            );
        }
        let mut unseen: Vec<String> = unseen.into_iter().map(str::to_owned).collect();
        if self.word(at::PROCESSES).unwrap_or(0) == 0 {
            unseen.insert(0, "No process loaded the library.".to_owned());
        }
        unseen
    }

    /// Waits for events.
    pub(super) fn wait(&self, ms: u16) {
        match &self.switches {
            Some(switches) => switches.wait(ms),
            None => std::thread::sleep(std::time::Duration::from_millis(ms.into())),
        }
    }

    /// Gives the events so far to `take`, in the order of time; of the last instants only if it is the `last` time.
    pub(super) fn read(&mut self, last: bool, take: impl FnMut(&Event)) {
        let now = clock::now().as_ns();
        if let Some(switches) = &mut self.switches {
            switches.read(|event| self.merge.push(event));
        }
        // A page that cannot be read has nothing more to say.
        let is_whole = self.records(last, now).unwrap_or(true);
        self.look_for_stops(now);
        if last {
            self.mark(now);
        }
        let until = match (last, is_whole) {
            (true, _) => u64::MAX,
            (false, true) => now.saturating_sub(LATEST),
            // A thread is about to write one.
            (false, false) => return,
        };
        let mut take = take;
        self.merge.take(until, |event| take(&event));
    }

    /// An event that says nothing, for the time that the trace took.
    fn mark(&mut self, now: u64) {
        self.push(now, 0, What::Clocks(punctual_trace::Offsets::default()));
    }

    fn push(&mut self, time: u64, thread: u32, what: What) {
        self.merge.push(Event {
            time,
            cpu: 0,
            thread,
            what,
        });
    }

    fn word(&self, at: usize) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.page.read_exact_at(&mut bytes, 8 * at as u64)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Reads the new records. Returns whether all that were begun were there.
    fn records(&mut self, last: bool, now: u64) -> io::Result<bool> {
        let lost = self.word(at::LOST)?;
        let more = lost.wrapping_sub(self.lost);
        self.lost = lost;
        if more > 0 {
            self.push(now, 0, What::Lost { n: more });
        }
        let taken = self.word(at::TAKEN)?;
        // A program that writes to the page may say anything.
        let end = self.read + taken.wrapping_sub(self.read).min(ROOM);
        while self.read < end {
            let part = end.min((self.read / ROOM + 1) * ROOM);
            if self.part(part)? > 0 {
                self.tries = 0;
            }
            if self.read == part {
                continue;
            }
            // One that was begun is not there. A process that was killed never writes it.
            if !traced::is_passed_by(self.read, self.word(place(self.read))?) {
                let is_roomy = taken.wrapping_sub(self.read) < ROOM / 2;
                if !last && is_roomy && self.tries < PATIENCE {
                    self.tries += 1;
                    break;
                }
                self.push(now, 0, What::Lost { n: 1 });
            }
            self.read += 1;
            self.tries = 0;
        }
        let is_whole = self.read == end;
        let read = self.read.to_ne_bytes();
        self.page.write_all_at(&read, 8 * at::READ as u64)?;
        Ok(is_whole)
    }

    /// Reads the records up to a number, which lie one after the other. Returns how many were there.
    fn part(&mut self, end: u64) -> io::Result<u64> {
        let n = (end - self.read) as usize;
        let mut bytes = vec![0; 8 * RECORD * n];
        let from = 8 * place(self.read) as u64;
        let is_there = |number: u64, record: &[u8]| {
            let first = record.first_chunk().copied().map(u64::from_ne_bytes);
            first == Some(number.wrapping_add(1))
        };
        self.page.read_exact_at(&mut bytes, from)?;
        let records = (self.read..).zip(bytes.chunks_exact(8 * RECORD));
        let n = records.take_while(|of| is_there(of.0, of.1)).count();
        // A record was written before the word that says so; read after that word, it is whole.
        bytes.truncate(8 * RECORD * n);
        self.page.read_exact_at(&mut bytes, from)?;
        for record in bytes.chunks_exact(8 * RECORD) {
            let (words, _) = record.as_chunks();
            let words: [u64; RECORD] = std::array::from_fn(|at| u64::from_ne_bytes(words[at]));
            // A spoilt record says nothing.
            if let Some(Ok(record)) = Record::of(self.read, &words) {
                self.take(record);
            }
            self.read += 1;
        }
        Ok(n as u64)
    }

    fn take(&mut self, record: Record) {
        let Record {
            time,
            process,
            thread,
            what,
        } = record;
        match what {
            traced::What::Begin {
                call,
                due,
                is_instant,
                slack,
                is_real_time,
                is_nice,
                name,
            } => {
                if self.processes.len() < MOST_PROCESSES {
                    self.processes.entry(process).or_default();
                }
                let length = due.saturating_sub(time);
                let leeway = match call.timer() {
                    Timer::Sleep | Timer::Poll if is_real_time || slack == 0 => Some(0),
                    Timer::Sleep | Timer::Lock => Some(slack),
                    Timer::Poll => Some(slack.max(poll_slack_ns(length, is_nice))),
                    Timer::Wheel => self.tick_ns.map(|ns| {
                        let hz = (1_000_000_000 / ns.max(1)).clamp(1, 10_000);
                        wheel_rounding_ns(hz, length)
                    }),
                };
                let in_wheel = call.timer() == Timer::Wheel;
                let call = Call::named(call.name()).unwrap_or(Call::Futex);
                let name = Name::new(&name);
                self.name(thread, Thread { name, call }, time);
                let timeout = match is_instant {
                    true => Timeout::Until(Clock::Monotonic),
                    false => Timeout::Length(length),
                };
                let begin = What::Enter {
                    process,
                    call,
                    timeout,
                };
                self.push(time, thread, begin);
                let due = What::Due {
                    deadline: due,
                    leeway,
                    in_wheel,
                };
                self.push(time, thread, due);
            }
            traced::What::End { ended, delay } => {
                if let Some(ns) = delay {
                    self.push(time, thread, What::Waited { ns });
                }
                let ended = match ended {
                    Ended::ByTime => punctual_trace::Ended::ByTime,
                    Ended::ByEvent => punctual_trace::Ended::ByEvent,
                    Ended::BySignal => punctual_trace::Ended::BySignal,
                };
                if let Some(of) = self.threads.get(&thread) {
                    let result = of.call.result_of(ended);
                    self.push(time, thread, What::Exit { result });
                }
            }
        }
    }

    /// Notes the name of a thread, and its call.
    fn name(&mut self, number: u32, thread: Thread, time: u64) {
        if self.threads.len() >= MOST_THREADS {
            self.threads.clear();
        }
        let name = thread.name;
        let before = self.threads.insert(number, thread);
        if before.is_none_or(|before| before.name != name) {
            self.push(time, number, What::Named(name));
        }
    }

    /// Looks which processes are stopped.
    fn look_for_stops(&mut self, now: u64) {
        let mut seen = Vec::new();
        self.processes.retain(|process, last| {
            let Some(state) = state(*process) else {
                return false;
            };
            *last = match (state, *last) {
                (b'T' | b't', before) => {
                    seen.extend(before.map(|since| (*process, since)));
                    Some(now)
                }
                _ => None,
            };
            true
        });
        for (process, since) in seen {
            self.push(now, process, What::SeenStopped { since });
        }
    }
}

/// The state of a process (proc(5)); `None` if there is none.
fn state(process: u32) -> Option<u8> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    // Its name may have anything in it, and ends with the last bracket.
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end + 2).copied()
}
