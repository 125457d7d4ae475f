//! The waits of a trace for a trace viewer, such as Perfetto. A thread has a track with its calls and how late each was,
//! and a CPU has one with the threads that it ran.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use punctual_core::Nanos;
use punctual_lab::viewer::{HEAD, TAIL, Viewer, quoted};
use punctual_record::Warning;
use punctual_report::part_names;
use punctual_trace::{Ended, EndedWait, Engine, Event, Name, What};

/// A viewer has no use for more slices, of about 150 bytes each.
const MOST: u64 = 2_000_000;

const CPUS: usize = 1;
/// The numbers of tracks of threads come after this, and those of CPUs before.
const THREADS: usize = 1_000_000_000;

/// A file for a viewer.
pub(super) struct ForViewer {
    file: BufWriter<File>,
    viewer: Viewer,
    /// Times count from the first event.
    first: Option<u64>,
    slices: u64,
    cut: u64,
    /// The last event.
    last: u64,
    /// The CPUs whose tracks have names.
    cpus: HashSet<u32>,
    /// The thread that each CPU runs, since when, and its name.
    running: HashMap<u32, (u64, u32, Name)>,
    names: HashMap<u32, Name>,
    /// The names of the tracks of threads.
    tracks: HashMap<u32, Name>,
    /// The first failure to write.
    failed: Option<io::Error>,
}

impl ForViewer {
    /// A new file.
    pub(super) fn create(file: &Path) -> Result<Self> {
        let create = || {
            let mut created = BufWriter::new(File::create(file)?);
            created.write_all(HEAD.as_bytes())?;
            Ok::<_, io::Error>(created)
        };
        let created = create().with_context(|| format!("cannot write `{}`", file.display()))?;
        let mut viewer = Viewer::default();
        viewer.name_process(CPUS, "CPUs", 1);
        Ok(Self {
            file: created,
            viewer,
            first: None,
            slices: 0,
            cut: 0,
            last: 0,
            cpus: HashSet::new(),
            running: HashMap::new(),
            names: HashMap::new(),
            tracks: HashMap::new(),
            failed: None,
        })
    }

    /// Takes an event that the engine has taken, and the waits that it ended.
    pub(super) fn take(&mut self, event: &Event, engine: &mut Engine) {
        self.first.get_or_insert(event.time);
        self.last = event.time;
        match event.what {
            What::Switch { next, name, .. } => self.runs(event.cpu, event.time, Some((next, name))),
            What::On => {
                let name = self.names.get(&event.thread).copied().unwrap_or_default();
                self.runs(event.cpu, event.time, Some((event.thread, name)));
            }
            What::Off { .. } => self.runs(event.cpu, event.time, None),
            // It is not known what ran.
            What::Lost { .. } => _ = self.running.remove(&event.cpu),
            What::Named(name) => _ = self.names.insert(event.thread, name),
            What::End => {
                self.names.remove(&event.thread);
                self.tracks.remove(&event.thread);
            }
            _ => {}
        }
        engine.take_ended().iter().for_each(|wait| self.add(wait));
        self.write();
    }

    /// Writes the end of the file, with the waits that ended last. Returns what is missing in it.
    ///
    /// # Errors
    /// A part of it could not be written.
    pub(super) fn finish(mut self, engine: &mut Engine) -> Result<Option<Warning>> {
        engine.take_ended().iter().for_each(|wait| self.add(wait));
        for cpu in self.running.keys().copied().collect::<Vec<_>>() {
            self.runs(cpu, self.last, None);
        }
        self.write();
        let written = match self.failed {
            Some(why) => Err(why),
            None => (self.file.write_all(TAIL.as_bytes())).and_then(|()| self.file.flush()),
        };
        written.context("cannot write the trace")?;
        Ok((self.cut > 0).then(|| Warning {
            what: format!(
                "The file for a trace viewer has the first {MOST} slices; {} more are not in it.",
                self.cut
            ),
            remedy: "Trace for a shorter time with --for.".to_owned(),
        }))
    }

    /// A CPU runs another thread from now on, or one that is not seen.
    fn runs(&mut self, cpu: u32, now: u64, next: Option<(u32, Name)>) {
        let next = next.map(|(thread, name)| (now, thread, name));
        let before = match next {
            Some(next) => self.running.insert(cpu, next),
            None => self.running.remove(&cpu),
        };
        // Zero is the idle thread.
        let Some((from, thread @ 1.., name)) = before else {
            return;
        };
        let track = CPUS + 1 + cpu as usize;
        if now > from && self.is_room() {
            if self.cpus.insert(cpu) {
                self.viewer.name_thread(CPUS, track, &format!("CPU {cpu}"));
            }
            let args = format!("\"thread\":{thread}");
            let span = self.span(from, now);
            self.viewer
                .slice((CPUS, track), &name.in_words(), span, &args);
        }
    }

    fn add(&mut self, wait: &EndedWait) {
        let (process, track) = (
            THREADS + wait.process as usize,
            THREADS + wait.thread as usize,
        );
        if !self.is_room() {
            return;
        }
        if self.tracks.insert(wait.thread, wait.name) != Some(wait.name) {
            let name = format!("{} ({})", wait.name.in_words(), wait.thread);
            self.viewer.name_thread(process, track, &name);
            if wait.process == wait.thread {
                self.viewer
                    .name_process(process, &wait.name.in_words(), process);
            }
        }
        let ended = match wait.ended {
            Ended::ByTime => "its time",
            Ended::ByEvent => "an event",
            Ended::BySignal | Ended::Interrupted => "a signal",
        };
        let length = wait
            .deadline
            .map(|at| Nanos::new(at.saturating_sub(wait.began)));
        let asked = length.map_or_else(String::new, |length| format!(" {length}"));
        let call = format!("{}{asked}", wait.call.name());
        let args = format!("\"ended by\":{}", quoted(ended));
        let span = self.span(wait.began, wait.returned);
        self.viewer.slice((process, track), &call, span, &args);
        let late = wait
            .deadline
            .filter(|at| wait.ended == Ended::ByTime && (wait.began..wait.returned).contains(at));
        if let Some(deadline) = late.filter(|_| self.is_room()) {
            let parts = part_names()
                .zip(wait.parts.each())
                .filter(|(_, ns)| *ns > 0);
            let parts = parts.map(|(name, ns)| format!("{}:{ns}", quoted(&format!("{name}_ns"))));
            let args = parts.collect::<Vec<_>>().join(",");
            let span = self.span(deadline, wait.returned);
            self.viewer.slice((process, track), "late", span, &args);
        }
    }

    /// Whether another slice has room; counts it.
    fn is_room(&mut self) -> bool {
        let is_room = self.slices < MOST;
        match is_room {
            true => self.slices += 1,
            false => self.cut += 1,
        }
        is_room
    }

    /// A time from the first event on, and its length.
    fn span(&self, from: u64, to: u64) -> (Nanos, Nanos) {
        let first = self.first.unwrap_or(from);
        let length = to.saturating_sub(from);
        (Nanos::new(from.saturating_sub(first)), Nanos::new(length))
    }

    fn write(&mut self) {
        let text = self.viewer.take();
        if self.failed.is_none()
            && let Err(why) = self.file.write_all(text.as_bytes())
        {
            self.failed = Some(why);
        }
    }
}
