//! Threads whose operations come from outside, one by one.

use std::sync::{Arc, LazyLock};

use punctual_core::{Event, Limit, Method, Nanos, Tick};
use punctual_program::program::{Op, SpawnKind};
use punctual_program::{Program, Refusal};
use punctual_rules::{Random, ThreadId, Time};

use super::ops::Then;
use super::{Limits, World};
use crate::clock::SimClock;
use crate::machine::somewhere;
use crate::model::Model;
use crate::thread::{self, Burst, Place};

/// The next action of a thread of a [`Hosted`] computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Reads the clock once.
    Read,
    /// Keeps its CPU busy for so long.
    Work(Nanos),
    /// Blocks with a call of the OS, or until it is [notified](Hosted::notify).
    Block(Method, Limit<SimClock>),
    /// Reads the clock until that shows this, or until it is notified.
    Spin(Tick<SimClock>),
    /// Offers its CPU to another thread once.
    Yield,
    /// Waits until another thread has ended.
    Join(ThreadId),
    /// Ends.
    Exit,
}

/// A simulated computer whose threads are code elsewhere: it says whose turn it is, and
/// is told what that thread does next.
///
/// The time between two turns is that between two operations of a program. A turn takes no time. A
/// call that a signal or spurious wake ends looks like one that ends in its time. A caller that
/// needs the time reads the clock.
///
/// # Examples
///
/// ```
/// use punctual_core::{Limit, Method, Nanos};
/// use punctual_sim::{Doing, Hosted, Model};
///
/// let mut computer = Hosted::new(Model::parse("windows-7")?, 1);
/// let first = computer.turn()?;
/// let began = computer.now();
/// for _ in 0..2 {
///     computer.does(first, Doing::Block(Method::Sleep, Limit::For(Nanos::from_ms(1))));
///     assert_eq!(computer.turn()?, first);
/// }
/// assert!(computer.now().since(began) > Nanos::from_ms(15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hosted {
    world: World<'static>,
    model: Arc<Model>,
    /// The threads that are code elsewhere, and whom each of them waits for to end.
    hosted: Vec<(ThreadId, Option<ThreadId>)>,
}

/// The program of a thread from outside: nothing.
static NOTHING: Program = Program {
    subjects: Vec::new(),
    ops: Vec::new(),
};

/// Wants a CPU for ever.
static HOG: LazyLock<Program> = LazyLock::new(|| {
    Program::from(vec![Op::repeat(
        u64::MAX,
        [Op::Work(Nanos::from_secs(3_600))],
    )])
});

/// The event that ends the blocks and spins of a thread.
fn notice(thread: ThreadId) -> Event {
    Event(2 * thread as u32)
}

/// The event that tells of the end of a thread.
fn end(thread: ThreadId) -> Event {
    Event(2 * thread as u32 + 1)
}

impl Hosted {
    /// A computer after `model`, whose chances are drawn from `seed`, with a first
    /// thread.
    pub fn new(model: Model, seed: u64) -> Self {
        let (model, mut random) = (Arc::new(model), Random::new(seed));
        let start = somewhere(&mut random);
        let mut world = World::new(Arc::clone(&model), random, Limits::default(), start);
        world.plan_stalls();
        world.plan_steal(start);
        let mut computer = Self {
            world,
            model,
            hosted: Vec::new(),
        };
        computer.create("", None);
        computer
    }

    /// The model of this computer.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Lets things happen until a thread asks what it is to do next, which has to be
    /// [told](Self::does) before anything else happens.
    ///
    /// # Errors
    /// When nothing can happen any more, as all threads wait for each other's end, and
    /// at the end of virtual time, after 195 years.
    pub fn turn(&mut self) -> Result<ThreadId, Refusal> {
        if self.hosted.iter().all(|(_, joins)| joins.is_some()) {
            return Err(Refusal::new(
                "every thread waits for another to end: a deadlock",
            ));
        }
        self.world.happen_all()?;
        let asking = self.world.asking.ok_or_else(|| {
            Refusal::new("the first thread has ended, and with it what the others could do")
        })?;
        self.joins(asking, None);
        Ok(asking)
    }

    /// The action of the thread whose turn it is.
    pub fn does(&mut self, id: ThreadId, what: Doing) {
        if let Doing::Join(other) = what {
            if self.has_ended(other) {
                return self.world.does(id, Doing::Work(Nanos::ZERO));
            }
            self.joins(id, Some(other));
        }
        if what == Doing::Exit {
            self.hosted.retain(|(hosted, _)| *hosted != id);
            for (_, joins) in &mut self.hosted {
                *joins = joins.filter(|joined| *joined != id);
            }
        }
        self.world.does(id, what);
    }

    /// Starts another thread of the process; it has its first turn when there is a CPU
    /// for it.
    pub fn spawn(&mut self, name: &'static str) -> ThreadId {
        self.create(name, Some((0, SpawnKind::Thread)))
    }

    /// Starts a process that wants a CPU for ever, at normal priority.
    pub fn spawn_hog(&mut self) {
        let hog = Some((0, SpawnKind::Process));
        self.world.create("hog", &HOG, hog);
    }

    /// Ends what a thread blocks or spins in; nothing where it does neither.
    pub fn notify(&mut self, id: ThreadId) {
        if self
            .world
            .waiters
            .get(&notice(id))
            .is_some_and(|waiters| !waiters.is_empty())
        {
            let by = self.world.asking.unwrap_or(id);
            self.world.signal(notice(id), self.world.threads[by].cpu);
        }
    }

    /// Whether a thread has ended.
    pub fn has_ended(&self, id: ThreadId) -> bool {
        self.world.threads[id].place == Place::Ended
    }

    /// The time of the clock, without the time to read it.
    pub fn now(&self) -> Tick<SimClock> {
        self.world.show()
    }

    /// The CPU time that a thread has used.
    pub fn cpu_time(&mut self, id: ThreadId) -> Nanos {
        let thread = &self.world.threads[id];
        if thread.place == Place::Running {
            let cpu = thread.cpu;
            self.world.account(cpu);
        }
        Nanos::new(self.world.threads[id].used.floor_ns())
    }

    fn create(&mut self, name: &'static str, by: Option<(ThreadId, SpawnKind)>) -> ThreadId {
        let id = self.world.threads.len();
        self.world.create(name, &NOTHING, by);
        if let Some(thread) = self.world.threads.get_mut(id) {
            thread.doing = thread::Doing::Asking(None);
            self.hosted.push((id, None));
        }
        id
    }

    fn joins(&mut self, id: ThreadId, other: Option<ThreadId>) {
        let mut hosted = self.hosted.iter_mut();
        if let Some((_, joins)) = hosted.find(|(hosted, _)| *hosted == id) {
            *joins = other;
        }
    }
}

impl std::fmt::Debug for Hosted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosted")
            .field("model", &self.model.name())
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

impl World<'_> {
    /// A thread has done what it was told to do, which `event` might have ended.
    pub(super) fn ask(&mut self, id: ThreadId, event: Option<Event>) -> Then {
        if let Some(event) = event {
            self.unlisten(id, event);
        }
        self.asking = Some(id);
        Then::Gone
    }

    /// Goes on with the thread that asks.
    fn does(&mut self, id: ThreadId, what: Doing) {
        self.asking = None;
        let event = match what {
            Doing::Block(..) | Doing::Spin(_) => Some(notice(id)),
            Doing::Join(other) => Some(end(other)),
            _ => None,
        };
        if let Some(event) = event {
            self.listen(id, event);
        }
        self.threads[id].doing = thread::Doing::Asking(event);
        let then = match what {
            Doing::Read => self.on(id, Burst::Work(self.face.read)),
            Doing::Work(length) => self.on(id, Burst::Work(length.into())),
            Doing::Block(method, limit) => self.arm(id, method, limit, Nanos::ZERO),
            Doing::Spin(until) => self.on(id, Burst::Spin(until)),
            Doing::Yield => self.on(id, Burst::Yield(self.costs.yielding, Time::ZERO)),
            Doing::Join(_) => {
                self.sleep(id);
                Then::Gone
            }
            Doing::Exit => {
                let gone = self.exit(id);
                while self
                    .waiters
                    .get(&end(id))
                    .is_some_and(|waiters| !waiters.is_empty())
                {
                    self.signal(end(id), self.threads[id].cpu);
                }
                gone
            }
        };
        if let Then::On = then {
            self.go(id);
        }
    }
}
