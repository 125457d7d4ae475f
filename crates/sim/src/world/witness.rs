//! A rule without the world gives what the simulator gives.

use std::sync::{Arc, Mutex};

use punctual_core::{Method, Nanos};
use punctual_program::program::Op;
use punctual_program::setting::Priority;
use punctual_program::{Program, Setting};
use punctual_rules::{
    Answer, Description, Expired, Grid, Host, ProcessId, Random, Request, Rule, ThreadId, Time,
};

use super::{Limits, World};
use crate::model::Model;

/// A call of the world to its rule, or the end of a wait.
#[derive(Clone, Copy, Debug)]
enum Seen {
    Set(Setting, Time),
    Armed(Request),
    Ended(Time),
}

/// A rule that keeps what it sees of the only thread.
#[derive(Debug)]
struct Witness {
    rule: Box<dyn Rule>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Witness {
    fn note(&self, what: Seen) {
        self.seen.lock().unwrap().push(what);
    }
}

impl Rule for Witness {
    fn methods(&self) -> &[Method] {
        self.rule.methods()
    }

    fn yields_for_nothing(&self, method: Method) -> bool {
        self.rule.yields_for_nothing(method)
    }

    fn arm(&mut self, request: &Request, random: &mut Random) {
        self.note(Seen::Armed(*request));
        self.rule.arm(request, random);
    }

    fn disarm(&mut self, thread: ThreadId) {
        self.rule.disarm(thread);
    }

    fn next_interrupt(&self) -> Option<(Time, usize)> {
        self.rule.next_interrupt()
    }

    fn next_interrupt_on(&self, cpu: usize) -> Option<Time> {
        self.rule.next_interrupt_on(cpu)
    }

    fn interrupt(&mut self, cpu: usize, now: Time, random: &mut Random, all: &mut Vec<Expired>) {
        self.rule.interrupt(cpu, now, random, all);
        all.iter().for_each(|_| self.note(Seen::Ended(now)));
    }

    fn refuses(&self, setting: &Setting) -> Option<&'static str> {
        self.rule.refuses(setting)
    }

    fn set(&mut self, id: ThreadId, process: ProcessId, setting: Setting, now: Time) -> Answer {
        self.note(Seen::Set(setting, now));
        self.rule.set(id, process, setting, now)
    }

    fn created(&mut self, thread: ThreadId, process: ProcessId, by: Option<ThreadId>) {
        self.rule.created(thread, process, by);
    }

    fn ticks(&self, cpu: usize, is_idle: bool) -> Option<Grid> {
        self.rule.ticks(cpu, is_idle)
    }
}

/// The calls of one thread of this model. It sets something, and waits for many lengths with some work
/// in between.
fn seen(model: &Model, setting: Option<Setting>, methods: &[Method]) -> Vec<Seen> {
    let mut ops: Vec<Op> = setting.map(Op::Set).into_iter().collect();
    for us in [1, 700, 1_000, 5_300, 16_000, 20_001, 130_000] {
        for &method in methods {
            ops.push(Op::nap(method, Nanos::from_us(us)));
            ops.push(Op::Work(Nanos::new(123_457)));
        }
    }
    let program = Program::from(vec![Op::repeat(20, ops)]);
    let seen = Arc::default();
    let start = Time::from_thirds(1_234_567_891);
    let random = Random::new(5);
    let mut world = World::new(Arc::new(model.clone()), random, Limits::default(), start);
    world.rule = Box::new(Witness {
        rule: model.build_rule(),
        seen: Arc::clone(&seen),
    });
    world.run(&program).unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn each_wait_ends_without_the_world_when_it_ends_in_it() {
    let request = Setting::request(Nanos::from_ms(1));
    let mac = "macos,interrupts=0,nap_look=0ns,app_nap=off";
    let windows = [
        Method::WindowsSleep,
        Method::WaitForSingleObject,
        Method::HighResolutionTimer,
    ];
    let unix = [Method::Nanosleep, Method::Usleep, Method::Poll];
    let cases: [(&str, Option<Setting>, &[Method]); 8] = [
        ("windows-11", None, &windows),
        ("windows-11", Some(request), &windows),
        ("windows-10-2004", None, &windows),
        ("windows-10-2004", Some(request), &windows),
        ("linux,slack=2ms", None, &unix),
        (
            "linux,nohz=full",
            Some(Setting::Slack(Nanos::new(1))),
            &unix,
        ),
        (mac, None, &unix),
        (mac, Some(Setting::Priority(Priority::Utility)), &unix),
    ];
    for (name, setting, methods) in cases {
        let model = Model::parse(name).unwrap();
        let mut host = Host::new(&model.description().unwrap(), 0);
        let mut end = None;
        let mut waits = 0;
        for seen in seen(&model, setting, methods) {
            match seen {
                Seen::Set(setting, now) => {
                    assert_eq!(host.set(setting, now), Answer::Accepted, "{name}");
                }
                Seen::Armed(request) => {
                    end = Some(host.end(request.method, request.now, request.due));
                }
                Seen::Ended(at) => {
                    assert_eq!(end.take(), Some(at), "{name}");
                    waits += 1;
                }
            }
        }
        assert_eq!(waits, 20 * 7 * methods.len(), "{name}");
    }
}

/// A description that crosses to another program as text is the same there.
#[test]
fn the_text_of_a_models_rule_describes_it() {
    for known in Model::known() {
        for given in ["", ",cpus=3", ",wake=20us"] {
            let model = Model::parse(&format!("{}{given}", known.name)).unwrap();
            let text = model.rule_as_text().unwrap();
            assert_eq!(text.parse::<Description>().ok(), model.description());
        }
    }
    let slack = Model::parse("linux,slack=3us").unwrap();
    assert!(slack.rule_as_text().unwrap().contains("slack=3us"));
    assert_eq!(Model::parse("fake-5ms").unwrap().rule_as_text(), None);
}
