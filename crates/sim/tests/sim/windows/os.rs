use punctual_core::{Method, Nanos};
use punctual_program::Setting;
use punctual_program::setting::Requester;
use punctual_sim::{Model, Random, Time};

use punctual_sim::rules::{Answer, Expired, Request, Rule, ThreadId};

pub(super) const SLEEP: Method = Method::WindowsSleep;
pub(super) const DEFAULT: Time = Time::from_ns(15_625_000);

/// A system with some processes of one thread each, of the same numbers.
pub(super) struct Os {
    pub(super) rule: Box<dyn Rule>,
    pub(super) random: Random,
}

impl Os {
    pub(super) fn new(model: &str, processes: usize) -> Self {
        let mut rule = Model::parse(model).unwrap().build_rule();
        (0..processes).for_each(|number| rule.created(number, number, None));
        Self {
            rule,
            random: Random::new(1),
        }
    }

    pub(super) fn set(&mut self, process: usize, setting: Setting, now: Time) -> Answer {
        assert_eq!(self.rule.refuses(&setting), None);
        self.rule.set(process, process, setting, now)
    }

    pub(super) fn request(&mut self, process: usize, interval: Nanos, now: Time) {
        let answer = self.set(process, Setting::request(interval), now);
        assert_eq!(answer, Answer::Accepted);
    }

    pub(super) fn release(&mut self, process: usize, interval: Nanos, now: Time) {
        let answer = self.set(process, Setting::release(interval), now);
        assert_eq!(answer, Answer::Accepted);
    }

    pub(super) fn driver(&mut self, process: usize, interval: Nanos, now: Time) {
        let setting = Setting::Request {
            interval,
            on_battery: None,
            by: Requester::Driver,
        };
        self.set(process, setting, now);
    }

    pub(super) fn see(&mut self, process: usize, visible: bool, audible: bool, now: Time) {
        let window = Setting::Window {
            visible,
            foreground: false,
            audible,
        };
        self.set(process, window, now);
    }

    pub(super) fn arm(
        &mut self,
        thread: ThreadId,
        method: Method,
        now: Time,
        length: Time,
        tolerance: Time,
    ) {
        let request = Request {
            thread,
            cpu: thread,
            method,
            now,
            due: now + length,
            tolerance,
        };
        self.rule.arm(&request, &mut self.random);
    }

    /// The next interrupt: when, on which CPU, and what it expires.
    pub(super) fn interrupt(&mut self) -> (Time, usize, Vec<Expired>) {
        let (now, cpu) = self.rule.next_interrupt().unwrap();
        assert_eq!(self.rule.next_interrupt_on(cpu), Some(now));
        let mut expired = vec![];
        self.rule
            .interrupt(cpu, now, &mut self.random, &mut expired);
        (now, cpu, expired)
    }

    /// When a wait is over that a thread begins, the only one that waits.
    pub(super) fn wait(
        &mut self,
        thread: ThreadId,
        method: Method,
        now: Time,
        length: Time,
    ) -> Time {
        self.arm(thread, method, now, length, Time::ZERO);
        loop {
            let (at, _, expired) = self.interrupt();
            if !expired.is_empty() {
                assert_eq!(self.rule.next_interrupt(), None);
                return at;
            }
        }
    }

    /// The times between two wake-ups of a thread that sleeps in a loop, with 3 us from a wake-up
    /// to the next call. The thread has just been woken. The first two times are left out.
    pub(super) fn loop_of(&mut self, thread: ThreadId, from: Time, length: Time) -> Vec<Time> {
        let work = Time::from_ns(3_000);
        let mut now = from;
        let mut gaps = vec![];
        for _ in 0..12 {
            let woken = self.wait(thread, SLEEP, now + work, length);
            gaps.push(woken - now);
            now = woken;
        }
        gaps.split_off(2)
    }

    pub(super) fn expect_loop(&mut self, thread: ThreadId, from: Time, length: Time, gap: Time) {
        assert_eq!(self.loop_of(thread, from, length), [gap; 10]);
    }

    pub(super) fn interval_100ns(&self) -> u64 {
        self.rule.interval().unwrap().as_ns() / 100
    }
}

pub(super) fn ms(ms: u64) -> Time {
    us(ms * 1_000)
}

pub(super) fn us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}
