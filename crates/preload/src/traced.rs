//! Waits that are only logged: what the processes of a run of `punctual trace` share.
//!
//! A wait makes two records in a ring: one as it begins, one as it returns. The command reads the ring about ten
//! times a second and says how far. A record that finds no room is counted and not written.
//!
//! A thread takes a number, claims the place of that number, writes the record and then marks it as there. It may be
//! stopped or killed in between. Its place then stays claimed, and other records pass it by: a record that is there is
//! whole, whenever the thread continues.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Call;

/// The first word of a page of this kind.
const MAGIC: u64 = u64::from_le_bytes(*b"pnctltr1");

/// Places of words.
pub mod at {
    /// It says what page this is.
    pub const MAGIC: usize = 0;
    /// How many records were begun.
    pub const TAKEN: usize = 1;
    /// How many of them the command has read.
    pub const READ: usize = 2;
    /// How many records found no room.
    pub const LOST: usize = 3;
    /// How many processes loaded the library.
    pub const PROCESSES: usize = 4;
    /// The ring: [`ROOM`](super::ROOM) records of [`RECORD`](super::RECORD) words.
    pub const RING: usize = 64;
}

/// How many records the ring has room for: at 100,000 a second, those of half a second.
pub const ROOM: u64 = 1 << 16;

/// The number of words of a record.
pub const RECORD: usize = 8;

/// The words of a page.
pub const WORDS: usize = at::RING + ROOM as usize * RECORD;

/// The words of a page before the ring, which begins as zeros.
pub fn page() -> Vec<u64> {
    let mut words = vec![0; at::RING];
    words[at::MAGIC] = MAGIC;
    words
}

/// The place of a record in the page.
pub const fn place(number: u64) -> usize {
    at::RING + (number % ROOM) as usize * RECORD
}

/// The bit of the first word of a record that says that a thread has claimed its place. The other bits are the number of the
/// record, and one.
const CLAIMED: u64 = 1 << 63;

/// Whether record number `number` will not come, as a thread holds its place that was to write an earlier one. `first` is the
/// first word of the place.
pub const fn is_passed_by(number: u64, first: u64) -> bool {
    first & CLAIMED != 0 && first != number.wrapping_add(1) | CLAIMED
}

/// The timer that ends a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// One with the slack of the thread; real-time threads have none.
    Sleep,
    /// One with the slack of the thread.
    Lock,
    /// One with a slack that depends on the length too.
    Poll,
    /// One of the timer wheel.
    Wheel,
}

macro_rules! calls {
    ($($call:ident = $name:literal: $timer:ident,)*) => {
        /// A call of the kernel that a logged wait makes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum System {
            $(#[doc = concat!("`", $name, "`")] $call,)*
        }

        impl System {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$call),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$call => $name,)*
                }
            }

            /// Its timer.
            pub const fn timer(self) -> Timer {
                match self {
                    $(Self::$call => Timer::$timer,)*
                }
            }
        }
    };
}

calls! {
    Nanosleep = "nanosleep": Sleep,
    ClockNanosleep = "clock_nanosleep": Sleep,
    Select = "select": Poll,
    Pselect6 = "pselect6": Poll,
    Poll = "poll": Poll,
    Ppoll = "ppoll": Poll,
    EpollWait = "epoll_wait": Poll,
    EpollPwait = "epoll_pwait": Poll,
    EpollPwait2 = "epoll_pwait2": Poll,
    Futex = "futex": Lock,
    RtSigtimedwait = "rt_sigtimedwait": Lock,
    Recvfrom = "recvfrom": Wheel,
    Recvmsg = "recvmsg": Wheel,
    Sendto = "sendto": Wheel,
    Sendmsg = "sendmsg": Wheel,
    Accept = "accept": Wheel,
    Accept4 = "accept4": Wheel,
    Connect = "connect": Wheel,
}

impl System {
    /// The call that a function of libc waits by; `None` of one that only sets a timer.
    pub const fn of(call: Call) -> Option<Self> {
        Some(match call {
            Call::Nanosleep => Self::Nanosleep,
            Call::ClockNanosleep | Call::Usleep | Call::Sleep | Call::ThrdSleep => {
                Self::ClockNanosleep
            }
            Call::Select | Call::SelectNothing => Self::Select,
            Call::Pselect => Self::Pselect6,
            Call::Poll => Self::Poll,
            Call::Ppoll => Self::Ppoll,
            Call::EpollWait => Self::EpollWait,
            Call::EpollPwait => Self::EpollPwait,
            Call::EpollPwait2 => Self::EpollPwait2,
            Call::Sigtimedwait => Self::RtSigtimedwait,
            Call::CondTimedwait
            | Call::CondTimedwaitEvent
            | Call::CondClockwait
            | Call::MutexTimedlock
            | Call::SemTimedwait
            | Call::SemClockwait
            | Call::Futex => Self::Futex,
            Call::TimerfdSettime => return None,
        })
    }

    /// Whether the kernel arms a timer even for no time at all, as it does for an instant that has passed. Others then look
    /// for their event and return.
    pub const fn arms_for_no_time(self) -> bool {
        matches!(self, Self::Nanosleep | Self::ClockNanosleep | Self::Futex)
    }

    /// The call with this number.
    fn numbered(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ended {
    /// Its time was over.
    ByTime,
    /// By what it waited for.
    ByEvent,
    /// By a signal.
    BySignal,
}

/// A record of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, in nanoseconds of CLOCK_MONOTONIC.
    pub time: u64,
    /// The process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
    /// The begin of a wait, or its end.
    pub what: What,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A wait begins.
    Begin {
        /// Its call.
        call: System,
        /// The instant that it asks for, in nanoseconds of CLOCK_MONOTONIC.
        due: u64,
        /// Whether the program asked for an instant, and not for a length.
        is_instant: bool,
        /// The slack of the thread, in nanoseconds (`PR_GET_TIMERSLACK`).
        slack: u64,
        /// Whether the thread has a real-time priority.
        is_real_time: bool,
        /// Whether its nice value is above 0; known of calls with a [`Timer::Poll`].
        is_nice: bool,
        /// The name of the thread.
        name: [u8; 16],
    },
    /// It ended.
    End {
        /// How.
        ended: Ended,
        /// For how long the thread waited for a CPU meanwhile, in nanoseconds (`/proc/thread-self/schedstat`).
        delay: Option<u64>,
    },
}

impl Record {
    /// Its words after the first, which says that it is there.
    fn words(self) -> [u64; RECORD - 1] {
        let who = u64::from(self.process) << 32 | u64::from(self.thread);
        match self.what {
            What::Begin {
                call,
                due,
                is_instant,
                slack,
                is_real_time,
                is_nice,
                name,
            } => {
                let flags =
                    u64::from(is_instant) | u64::from(is_real_time) << 1 | u64::from(is_nice) << 2;
                let (halves, _) = name.as_chunks();
                let half = |at: usize| halves.get(at).map_or(0, |half| u64::from_ne_bytes(*half));
                let kind = 1 | (call as u64) << 8 | flags << 16;
                [self.time, who, kind, due, slack, half(0), half(1)]
            }
            What::End { ended, delay } => {
                let kind = 2 | (ended as u64) << 8 | u64::from(delay.is_some()) << 16;
                [self.time, who, kind, delay.unwrap_or(0), 0, 0, 0]
            }
        }
    }

    /// Reads the words of record number `number`; `None` if it is not there (yet). A page that something else has written
    /// to gives an error.
    pub fn of(number: u64, words: &[u64; RECORD]) -> Option<Result<Self, Spoilt>> {
        let &[there, time, who, kind, first, second, name, rest] = words;
        if there != number.wrapping_add(1) {
            return None;
        }
        let flag = |bit: u32| kind >> (16 + bit) & 1 == 1;
        let what = match kind & 0xff {
            1 => System::numbered(kind >> 8 & 0xff).map(|call| {
                let mut whole = [0; 16];
                whole[..8].copy_from_slice(&name.to_ne_bytes());
                whole[8..].copy_from_slice(&rest.to_ne_bytes());
                What::Begin {
                    call,
                    due: first,
                    is_instant: flag(0),
                    slack: second,
                    is_real_time: flag(1),
                    is_nice: flag(2),
                    name: whole,
                }
            }),
            2 => {
                let ended = match kind >> 8 & 0xff {
                    0 => Some(Ended::ByTime),
                    1 => Some(Ended::ByEvent),
                    2 => Some(Ended::BySignal),
                    _ => None,
                };
                ended.map(|ended| What::End {
                    ended,
                    delay: flag(0).then_some(first),
                })
            }
            _ => None,
        };
        Some(what.ok_or(Spoilt).map(|what| Self {
            time,
            process: (who >> 32) as u32,
            thread: who as u32,
            what,
        }))
    }
}

/// The words of a record that none wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoilt;

/// The page, as processes write to it.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'p>(&'p [AtomicU64]);

impl<'p> Ring<'p> {
    /// A page with these words; `None` if they are those of another.
    pub fn new(words: &'p [AtomicU64]) -> Option<Self> {
        let magic = words.first()?.load(Ordering::Relaxed);
        (magic == MAGIC && words.len() >= WORDS).then_some(Self(words))
    }

    /// Counts a process.
    pub fn count(self) {
        self.0[at::PROCESSES].fetch_add(1, Ordering::Relaxed);
    }

    /// Writes a record, if there is room.
    pub fn write(self, record: Record) {
        match self.claim() {
            Some(claim) => claim.write(record),
            None => _ = self.0[at::LOST].fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Claims the place of a new record; `None` without room.
    fn claim(self) -> Option<Claim<'p>> {
        /// Places in a row that threads hold which were stopped or killed: in a page that is not spoilt, hardly any.
        const MOST_HELD: usize = 64;
        for _ in 0..MOST_HELD {
            let number = self.take()?;
            let words = &self.0[place(number)..][..RECORD];
            let before = words[0].load(Ordering::Relaxed);
            let claimed = number.wrapping_add(1) | CLAIMED;
            // Else it is claimed, or a later record is there: this thread was stopped meanwhile.
            if before <= number
                && (words[0])
                    .compare_exchange(before, claimed, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Some(Claim { words, number });
            }
        }
        None
    }

    /// Takes the next number, if there is room for it.
    fn take(self) -> Option<u64> {
        let (taken, read) = (&self.0[at::TAKEN], &self.0[at::READ]);
        loop {
            // In this order: no more are read than were taken.
            let before = read.load(Ordering::Acquire);
            let number = taken.load(Ordering::Relaxed);
            // A spoilt page may say anything.
            let is_full = number.wrapping_sub(before) >= ROOM;
            if is_full && read.load(Ordering::Relaxed) == before {
                return None;
            }
            let next = number.wrapping_add(1);
            if !is_full
                && taken
                    .compare_exchange_weak(number, next, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                return Some(number);
            }
        }
    }
}

/// A place that is this thread's until it has written its record.
struct Claim<'p> {
    words: &'p [AtomicU64],
    number: u64,
}

impl Claim<'_> {
    fn write(self, record: Record) {
        for (word, value) in self.words[1..].iter().zip(record.words()) {
            word.store(value, Ordering::Relaxed);
        }
        self.words[0].store(self.number.wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: What = What::Begin {
        call: System::EpollWait,
        due: 9,
        is_instant: true,
        slack: 50_000,
        is_real_time: false,
        is_nice: true,
        name: *b"render\0\0\0\0\0\0\0\0\0\0",
    };

    fn record(what: What) -> Record {
        Record {
            time: 5,
            process: 3,
            thread: 4,
            what,
        }
    }

    fn words() -> Vec<AtomicU64> {
        let mut words = page();
        words.resize(WORDS, 0);
        words.into_iter().map(AtomicU64::new).collect()
    }

    fn read(words: &[AtomicU64], number: u64) -> Option<Result<Record, Spoilt>> {
        let place = place(number);
        let of = std::array::from_fn(|at| words[place + at].load(Ordering::Relaxed));
        Record::of(number, &of)
    }

    #[test]
    fn records_cross_the_ring_in_their_order() {
        let words = words();
        let ring = Ring::new(&words).unwrap();
        let end = |ended, delay| What::End { ended, delay };
        let all = [
            BEGIN,
            end(Ended::ByTime, Some(7)),
            end(Ended::ByEvent, None),
            end(Ended::BySignal, Some(0)),
        ];
        for what in all {
            ring.write(record(what));
        }
        for (number, what) in (0..).zip(all) {
            assert_eq!(read(&words, number), Some(Ok(record(what))));
        }
        assert_eq!(read(&words, 4), None);
    }

    #[test]
    fn a_full_ring_loses_records_until_it_is_read() {
        let words = words();
        let ring = Ring::new(&words).unwrap();
        for _ in 0..ROOM + 3 {
            ring.write(record(BEGIN));
        }
        let word = |at: usize| words[at].load(Ordering::Relaxed);
        assert_eq!((word(at::TAKEN), word(at::LOST)), (ROOM, 3));
        words[at::READ].store(1, Ordering::Relaxed);
        ring.write(record(BEGIN));
        assert_eq!(read(&words, ROOM), Some(Ok(record(BEGIN))));
        assert_eq!(read(&words, 0), None);
    }

    /// As where a signal handler waits in the middle of a record, and where its thread is stopped or killed there.
    #[test]
    fn a_record_under_way_is_passed_by_and_harms_no_other() {
        let words = words();
        let ring = Ring::new(&words).unwrap();
        let [stopped, killed] = [(); 2].map(|()| ring.claim().unwrap());
        assert_eq!((stopped.number, killed.number), (0, 1));
        for n in 0..2 * ROOM {
            words[at::READ].store(n, Ordering::Relaxed);
            ring.write(record(BEGIN));
        }
        let first = |number| words[place(number)].load(Ordering::Relaxed);
        for number in [0, 1] {
            assert_eq!(read(&words, number), None);
            assert!(!is_passed_by(number, first(number)));
            for later in [number + ROOM, number + 2 * ROOM] {
                assert_eq!(read(&words, later), None);
                assert!(is_passed_by(later, first(later)));
            }
        }
        // Four were passed by: number 2 * ROOM + 5 is the last.
        for number in ROOM + 6..=2 * ROOM + 5 {
            let is_held = place(number) <= place(1);
            assert_eq!(read(&words, number).is_none(), is_held, "{number}");
        }
        // It continues, long after its number was given up. Its place is then free again.
        stopped.write(record(BEGIN));
        assert_eq!(read(&words, 2 * ROOM), None);
        assert!(!is_passed_by(3 * ROOM, first(3 * ROOM)));
        for n in 2 * ROOM..3 * ROOM {
            words[at::READ].store(n, Ordering::Relaxed);
            ring.write(record(BEGIN));
        }
        assert_eq!(read(&words, 3 * ROOM), Some(Ok(record(BEGIN))));
        assert_eq!(words[at::LOST].load(Ordering::Relaxed), 0);
    }

    /// A thread that took a number and was stopped before it claimed its place comes too late.
    #[test]
    fn a_later_record_is_not_replaced_by_an_earlier_one() {
        let words = words();
        let ring = Ring::new(&words).unwrap();
        words[place(0)].store(ROOM + 1, Ordering::Relaxed);
        ring.write(record(BEGIN));
        assert_eq!(words[place(0)].load(Ordering::Relaxed), ROOM + 1);
        assert_eq!(read(&words, 1), Some(Ok(record(BEGIN))));
    }

    #[test]
    fn records_of_many_threads_are_whole_and_none_is_lost() {
        const EACH: u64 = ROOM / 2;
        const WRITERS: u64 = 4;
        let words = words();
        let ring = Ring::new(&words).unwrap();
        let word = |at: usize| words[at].load(Ordering::Acquire);
        // All words of a record follow from its time.
        let numbered = |time: u64| Record {
            time,
            what: What::Begin {
                call: System::Poll,
                due: !time,
                is_instant: false,
                slack: time.rotate_left(32),
                is_real_time: false,
                is_nice: false,
                name: [time as u8; 16],
            },
            ..record(BEGIN)
        };
        let mut seen = vec![false; (EACH * WRITERS) as usize];
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    for n in 0..EACH {
                        while word(at::TAKEN).wrapping_sub(word(at::READ)) > ROOM / 2 {
                            std::thread::yield_now();
                        }
                        ring.write(numbered(writer * EACH + n));
                    }
                });
            }
            for number in 0..EACH * WRITERS {
                while word(place(number)) != number + 1 {
                    std::thread::yield_now();
                }
                let record = read(&words, number).unwrap().unwrap();
                assert_eq!(record, numbered(record.time));
                assert!(!std::mem::replace(&mut seen[record.time as usize], true));
                words[at::READ].store(number + 1, Ordering::Release);
            }
        });
        assert_eq!(word(at::LOST), 0);
    }

    #[test]
    fn a_spoilt_record_is_told_from_one_that_is_not_there() {
        assert_eq!(Record::of(7, &[7; RECORD]), None);
        assert_eq!(Record::of(7, &[8, 0, 0, 99, 0, 0, 0, 0]), Some(Err(Spoilt)));
        assert_eq!(
            Record::of(7, &[8, 0, 0, 0xff01, 0, 0, 0, 0]),
            Some(Err(Spoilt))
        );
        assert_eq!(
            Record::of(7, &[8, 0, 0, 0x902, 0, 0, 0, 0]),
            Some(Err(Spoilt))
        );
        assert!(Ring::new(&[]).is_none());
        let others: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(1)).collect();
        assert!(Ring::new(&others).is_none());
    }

    #[test]
    fn each_function_makes_a_call_that_has_a_number() {
        for &call in Call::ALL {
            let Some(system) = System::of(call) else {
                assert_eq!(call, Call::TimerfdSettime);
                continue;
            };
            assert_eq!(System::numbered(system as u64), Some(system));
        }
        assert_eq!(System::numbered(99), None);
    }
}
