//! The books of runs: what their waits asked for, and what they took.

use std::cmp::Reverse;
use std::fs::File;
use std::io;

use punctual_core::Nanos;
use punctual_lab::timer_rule;
use punctual_preload::Call;
use punctual_preload::page::{self, Kind, at};
use punctual_preload::runtime::TakenFor;
use punctual_record::{EmulatedWaits, visible};
use punctual_rules::Host;
use punctual_sim::Time;

/// The books of one or more runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    waits: Vec<Waits>,
    pub(super) processes: u64,
    pub(super) unruled: u64,
    pub(super) timers: u64,
    pub(super) others: u64,
    pub(super) unlogged: u64,
    pub(super) logged: u64,
    pub(super) runtimes: Vec<String>,
    /// The ports as which processes of runtimes were emulated.
    pub(super) ports: Vec<TakenFor>,
    /// In how many processes there were clocks to replace, and in how many they were replaced.
    pub(super) clocks: [u64; 2],
}

/// Waits by one call for about one length, from one line of the program where that is known.
#[derive(Clone, Debug, PartialEq)]
struct Waits {
    call: Call,
    length: Nanos,
    line: Option<String>,
    by_timer: u64,
    by_event: u64,
    /// The number of waits whose return was not observed.
    unobserved: u64,
    /// The lengths of all but those that an event ended: asked for, by the rule, measured, and asked for by the line of
    /// the program. A length that was not observed is not in the sum of the measured ones.
    sums: [u64; 4],
}

impl Waits {
    fn in_a_run(&self) -> EmulatedWaits {
        let mean = |sum: u64| sum.checked_div(self.by_timer + self.unobserved);
        let [asked, by_rule, _, line_asked] = self.sums.map(mean);
        let took = self.sums[2].checked_div(self.by_timer);
        let asked_ns = asked.unwrap_or(self.length.as_ns());
        EmulatedWaits {
            call: self.call.name().to_owned(),
            line: self.line.clone(),
            line_asked_ns: line_asked.filter(|length| *length > 0),
            ended_by_timer: self.by_timer,
            ended_by_event: self.by_event,
            ended_unobserved: self.unobserved,
            asked_ns,
            native_ns: native(self.call, asked_ns),
            by_rule_ns: by_rule,
            took_ns: took,
        }
    }
}

/// The length of such a wait on this computer by the rule in force here, without its wake-up.
fn native(call: Call, asked: u64) -> Option<u64> {
    let rule = timer_rule::rule_in_force()?;
    let mut host = Host::new(&rule.model().description()?, 1);
    let method = call.method(host.rule().methods());
    let end = host.end(method, Time::ZERO, Time::from_ns(asked));
    Some(end.floor_ns())
}

impl Books {
    /// Reads the books of a page.
    pub(super) fn read(page: &File) -> io::Result<Self> {
        super::run::read(page, page::WORDS).map(|words| Self::of(&words))
    }

    fn of(words: &[u64]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or_default();
        let text = |words: std::ops::Range<usize>| {
            let bytes = words.flat_map(|at| word(at).to_ne_bytes());
            let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let here = std::env::current_dir().unwrap_or_default();
        let line = |number: u16| {
            let begin = at::LINES + page::LINE_WORDS * usize::from(number.checked_sub(1)?);
            let file = text(begin + 2..begin + page::LINE_WORDS);
            let file = match std::path::Path::new(&file).strip_prefix(&here) {
                Ok(file) => file.to_string_lossy().into_owned(),
                Err(_) => file,
            };
            Some(format!("{}:{}", visible(&file), word(begin + 1)))
        };
        let waits = (0..page::BOOKS).filter_map(|entry| {
            let entry = at::BOOKS + 8 * entry;
            let kind = Kind::of(word(entry))?;
            Some(Waits {
                call: kind.call,
                length: kind.asked,
                line: line(kind.line),
                by_timer: word(entry + 1),
                by_event: word(entry + 2),
                unobserved: word(entry + 7),
                sums: [3, 4, 5, 6].map(|sum| word(entry + sum)),
            })
        });
        let names = (0..page::RUNTIMES).map(|place| {
            let begin = at::RUNTIMES + 4 * place;
            text(begin..begin + 4)
        });
        let bits = |at: usize| (0..64_u8).filter(move |bit| word(at) >> bit & 1 == 1);
        let pythons = bits(at::PYTHONS).map(TakenFor::Python);
        let rusts = bits(at::RUSTS).chain(bits(at::RUSTS + 1).map(|bit| bit + 64));
        let rusts = rusts.map(TakenFor::Rust);
        let nodes = bits(at::NODES).map(TakenFor::Node);
        let gos = bits(at::GOS).map(TakenFor::Go);
        let javas = bits(at::JAVAS).map(TakenFor::Java);
        let mut books = Self {
            waits: waits.collect(),
            processes: word(at::PROCESSES),
            unruled: word(at::UNRULED),
            timers: word(at::TIMERS),
            others: word(at::OTHERS),
            unlogged: word(at::UNLOGGED),
            logged: word(at::LOGGED),
            ports: pythons
                .chain(rusts)
                .chain(nodes)
                .chain(gos)
                .chain(javas)
                .collect(),
            clocks: [word(at::CLOCKS_WANTED), word(at::CLOCKS_REPLACED)],
            runtimes: names.filter(|name| !name.is_empty()).collect(),
        };
        books.sort();
        books
    }

    /// The most frequent waits come first.
    fn sort(&mut self) {
        self.waits.sort_by_key(|waits| {
            (
                Reverse(waits.by_timer + waits.unobserved),
                waits.call,
                waits.length,
            )
        });
    }

    /// The waits, most frequent first.
    pub(super) fn waits(&self) -> Vec<EmulatedWaits> {
        self.waits.iter().map(Waits::in_a_run).collect()
    }

    /// The number of waits whose return was not observed.
    pub(super) fn unobserved(&self) -> u64 {
        // Of a timer that is set only its length is known.
        let waits = self.waits.iter();
        let traced = waits.filter(|waits| waits.call != Call::TimerfdSettime);
        traced.map(|waits| waits.unobserved).sum()
    }

    /// Adds those of another run.
    pub(super) fn add(&mut self, other: Self) {
        for waits in other.waits {
            let is_same = |one: &&mut Waits| {
                (one.call, one.length, &one.line) == (waits.call, waits.length, &waits.line)
            };
            let Some(same) = self.waits.iter_mut().find(is_same) else {
                self.waits.push(waits);
                continue;
            };
            same.by_timer += waits.by_timer;
            same.by_event += waits.by_event;
            same.unobserved += waits.unobserved;
            for (sum, more) in same.sums.iter_mut().zip(waits.sums) {
                *sum += more;
            }
        }
        self.sort();
        for (sum, more) in [
            (&mut self.processes, other.processes),
            (&mut self.unruled, other.unruled),
            (&mut self.timers, other.timers),
            (&mut self.others, other.others),
            (&mut self.unlogged, other.unlogged),
            (&mut self.logged, other.logged),
        ] {
            *sum += more;
        }
        let clocks = self.clocks.iter_mut().zip(other.clocks);
        clocks.for_each(|(sum, more)| *sum += more);
        self.runtimes.extend(other.runtimes);
        self.runtimes.sort();
        self.runtimes.dedup();
        self.ports.extend(other.ports);
        self.ports.sort_unstable();
        self.ports.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with one wait of 1 ms in a line, and one wait without a line.
    fn words(file: &[u8]) -> Vec<u64> {
        let mut words = vec![0; page::WORDS];
        let kind = |call, asked, line| Kind {
            call,
            asked: Nanos::from_ms(asked),
            line,
        };
        let mut put = |entry: usize, kind: Kind, rest: [u64; 6]| {
            words[at::BOOKS + 8 * entry] = kind.word();
            words[at::BOOKS + 8 * entry + 1..][..6].copy_from_slice(&rest);
        };
        let ms = 1_000_000;
        put(
            9,
            kind(Call::ClockNanosleep, 1, 3),
            [2, 1, 2 * ms - 10, 31 * ms, 32 * ms, 2 * ms],
        );
        put(
            11,
            kind(Call::Poll, 10, 0),
            [1, 0, 10 * ms, 15 * ms, 16 * ms, 0],
        );
        let line = at::LINES + 2 * page::LINE_WORDS;
        words[line + 1] = 41;
        for (word, bytes) in words[line + 2..].iter_mut().zip(file.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(whole);
        }
        words
    }

    #[test]
    fn a_wait_is_named_by_its_line_and_else_by_its_call() {
        let books = Books::of(&words(b"tests/test_rate.py"));
        let waits = books.waits();
        let names: Vec<String> = waits.iter().map(EmulatedWaits::name).collect();
        assert_eq!(
            names,
            ["time.sleep(0.001) in tests/test_rate.py:41", "poll"]
        );
        let here = std::env::current_dir().unwrap().join("a.py");
        let books = Books::of(&words(here.as_os_str().as_encoded_bytes()));
        assert!(books.waits()[0].name().ends_with(" in a.py:41"));
    }

    #[test]
    fn books_of_several_runs_add_up() {
        let one = Books::of(&words(b"a.py"));
        let mut both = one.clone();
        both.add(one.clone());
        both.add(Books::of(&words(b"b.py")));
        let sums = both.waits();
        let sums = sums
            .iter()
            .map(|one| (one.ended_by_timer, one.ended_by_event, one.took_ns));
        let expected =
            [(4, 2), (3, 0), (2, 1)].map(|(timer, event)| (timer, event, Some(16_000_000)));
        assert_eq!(sums.collect::<Vec<_>>(), expected);
    }
}
