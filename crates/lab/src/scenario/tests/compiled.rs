//! A small scenario compiled, operation by operation.

use punctual_core::{Event, Method, Nanos, Rate, StrategySpec};
use punctual_program::probe::{OsClock, Probe};
use punctual_program::program::{Due, Op, Program, SpawnKind, Subject};
use punctual_program::setting::{
    Policy, Power, Priority, Requester, Reservation, Setting, Throttling,
};

use punctual_sim::Model;

use super::read;
use crate::scenario::{Expect, Figure, Phase, Scenario, Series, Stat, Target};

const SMALL: &str = r#"
title = "Small"
source = "nobody"
on = ["linux", "linux, slack=1ns"]

[[phase]]
name = "first"
for = "2s"

[[phase]]
name = "second"
for = "1s"

[[process]]
name = "A"
do = [
    { pace = 60 },
    { loop = [{ work = "4ms" }, { wait = "cycle", with = "precise" }, { wait = "1ms" }], times = 3 },
    { wait = "1s", with = "precise", or = "job" },
    { hold = "2ms", until = "second", by = "driver", on_battery = "8ms" },
    { spawn = "B", as = "thread", do = ["yield", { wait = "5us", with = "spin" }] },
    { signal = "done" },
    { until = "1.5s" },
]

[[process]]
name = "C"
count = 7
do = [
    { loop = [{ sleep = "1ms", method = "timerfd", tolerance = "2ms" }, { signal = "job" }] },
    { await = "done" },
    "exit",
]

[[expect]]
of = "B"
what = "slept_p50"
is = "1ms"
within = "10%"

[[expect]]
phase = ["second", "first"]
on = "linux,slack=1ns"
what = "busy"
at_most = 0.5
source = "somebody"
"#;

fn ms(ms: u64) -> Nanos {
    Nanos::from_ms(ms)
}

fn spawn(name: &str, kind: SpawnKind, subjects: &[&str], ops: Vec<Op>) -> Op {
    let spec = |text: &&str| {
        Subject::Strategy(
            StrategySpec::parse(text, punctual_core::strategies::Defaults::ELSEWHERE).unwrap(),
        )
    };
    Op::spawn(
        kind,
        name,
        Program {
            subjects: subjects.iter().map(spec).collect(),
            ops,
        },
    )
}

fn wait(with: usize, due: Due, or: Option<u32>) -> Op {
    Op::Wait {
        with,
        due,
        or: or.map(Event),
    }
}

/// The program of [`SMALL`] when it lasts `k` times as long, in halves.
fn expected(halves: u64) -> Program {
    let at = |ms: u64| Nanos::from_ms(ms * halves / 2);
    let b = spawn(
        "B",
        SpawnKind::Thread,
        &["spin"],
        vec![Op::Yield, wait(0, Due::After(Nanos::from_us(5)), None)],
    );
    let by = Requester::Driver;
    let a = vec![
        Op::Pace(Rate::from_hz(60).unwrap()),
        Op::repeat(
            3,
            vec![
                Op::Work(ms(4)),
                wait(0, Due::NextCycle, None),
                wait(1, Due::After(ms(1)), None),
            ],
        ),
        wait(0, Due::After(ms(1_000)), Some(0)),
        Op::Set(Setting::Request {
            interval: ms(2),
            on_battery: Some(ms(8)),
            by,
        }),
        Op::Until(at(2_000)),
        Op::Set(Setting::Release {
            interval: ms(2),
            by,
        }),
        b,
        Op::Signal(Event(1)),
        Op::Until(at(1_500)),
    ];
    let block = Op::Block {
        method: Method::Timerfd,
        length: ms(1),
        tolerance: ms(2),
    };
    let c = vec![
        Op::repeat(u64::MAX, vec![block, Op::Signal(Event(0))]),
        Op::Await(Event(1)),
        Op::Exit,
    ];
    Program::from(vec![
        spawn("A", SpawnKind::Process, &["precise", "system"], a),
        Op::repeat(7, vec![spawn("C", SpawnKind::Process, &[], c)]),
        Op::Until(at(2_000)),
        Op::Phase,
        Op::Until(at(3_000)),
        Op::Exit,
    ])
}

#[test]
fn a_scenario_becomes_one_program() {
    let scenario = Scenario::read("small", SMALL).unwrap();
    assert_eq!(scenario.program, expected(2));
    assert_eq!(scenario.names, ["A", "B", "C"]);
    assert_eq!(scenario.on, ["linux", "linux,slack=1ns"]);
    assert_eq!(scenario.about, "");
    assert_eq!(scenario.length(), ms(3_000));
    let phase = |name: &str, length| Phase {
        name: name.to_owned(),
        length,
    };
    assert_eq!(
        scenario.phases,
        [phase("first", ms(2_000)), phase("second", ms(1_000))]
    );
}

#[test]
fn expectations_are_taken_apart() {
    let busy = |phase| Expect {
        phase: Some(phase),
        on: Some("linux,slack=1ns".to_owned()),
        of: None,
        what: Figure::Busy,
        target: Target::AtMost(0.5),
        source: "somebody".to_owned(),
        line: 41,
    };
    let slept = Expect {
        phase: None,
        on: None,
        of: Some("B".to_owned()),
        what: Figure::Of(Series::Slept, Stat::P50),
        target: Target::Near {
            value: 1e6,
            within: 1e5,
        },
        source: "nobody".to_owned(),
        line: 35,
    };
    let scenario = Scenario::read("small", SMALL).unwrap();
    assert_eq!(scenario.expects, [slept, busy(1), busy(0)]);
}

#[test]
fn what_is_written_once_stands_for_several() {
    const LONG: &str = r#"
        title = "t"
        on = ["linux"]
        phase = [{ name = "1 ms asked", for = "1s" }, { name = "2 ms asked", for = "1s" }]
        process = [
            { name = "P1", do = [{ until = "1 ms asked" }, { sleep = "1ms" }] },
            { name = "P2", do = [{ until = "2 ms asked" }, { sleep = "2ms" }] },
        ]
        expect = [
            { phase = ["1 ms asked"], of = "P1", what = "slept_min", at_least = "1ms", source = "$s" },
            { phase = ["2 ms asked"], of = "P2", what = "slept_min", at_least = "2ms", source = "$s" },
        ]"#;
    const SHORT: &str = r#"
        title = "t"
        on = ["linux"]
        phase = [{ name = ["1 ms asked", "2 ms asked"], for = "1s" }]
        process = [{ for = [1, 2], name = "P$1", do = [{ until = "$1 ms asked" }, { sleep = "$1ms" }] }]
        expect = [
            { for = [["1 ms", "P1"], ["2 ms", "P2"]],
            phase = ["$1 asked"], of = "$2", what = "slept_min", at_least = "$1", source = "$s" },
        ]"#;
    let [long, mut short] = [LONG, SHORT].map(|text| Scenario::read("t", text).unwrap());
    assert_eq!(short.phases, long.phases);
    assert_eq!(short.program, long.program);
    for (short, long) in short.expects.iter_mut().zip(&long.expects) {
        short.line = long.line;
    }
    assert_eq!(short.expects, long.expects);
}

#[test]
fn a_scenario_can_be_stretched() {
    let scenario = Scenario::read("small", SMALL).unwrap();
    for halves in [1, 3, 2_400] {
        let other = scenario.with_length(ms(3_000 * halves / 2)).unwrap();
        assert_eq!(other.program, expected(halves));
        assert_eq!(other.length(), ms(3_000 * halves / 2));
        assert_eq!(other.expects, scenario.expects);
    }
    let too_short = scenario.with_length(Nanos::new(1)).unwrap_err();
    assert_eq!(
        too_short,
        "1 ns is too short: nothing would be left of the phase `first`"
    );
    let too_long = scenario.with_length(Nanos::from_secs(604_801)).unwrap_err();
    assert_eq!(
        too_long,
        "604801 s is too long: a scenario lasts at most 604800 s"
    );
}

#[test]
fn every_verb_is_its_operation() {
    let request = |interval, by| Setting::Request {
        interval,
        on_battery: None,
        by,
    };
    let steps = [
        (r#"{ sleep = "1ms" }"#, Op::nap(Method::Sleep, ms(1))),
        (r#"{ work = "0ns" }"#, Op::Work(Nanos::ZERO)),
        (r#""yield""#, Op::Yield),
        (r#""exit""#, Op::Exit),
        (
            r#"{ pace = 59.94 }"#,
            Op::Pace(Rate::from_fraction(5_994, 100).unwrap()),
        ),
        (
            r#"{ pace = "60000/1001" }"#,
            Op::Pace(Rate::from_fraction(60_000, 1_001).unwrap()),
        ),
        (
            r#"{ request = "2ms" }"#,
            Op::Set(request(ms(2), Requester::Process)),
        ),
        (
            r#"{ request = "2ms", by = "driver" }"#,
            Op::Set(request(ms(2), Requester::Driver)),
        ),
        (r#"{ release = "2ms" }"#, Op::Set(Setting::release(ms(2)))),
        (r#"{ slack = "0ns" }"#, Op::Set(Setting::Slack(Nanos::ZERO))),
        (
            r#"{ priority = "real-time" }"#,
            Op::Set(Setting::Priority(Priority::RealTime)),
        ),
        (r#"{ nice = -5 }"#, Op::Set(Setting::Nice(-5))),
        (r#"{ slice = "3ms" }"#, Op::Set(Setting::Slice(ms(3)))),
        (
            r#"{ quota = "20ms" }"#,
            Op::Set(Setting::Quota {
                time: ms(20),
                period: ms(100),
                burst: Nanos::ZERO,
            }),
        ),
        (r#"{ weight = 200 }"#, Op::Set(Setting::Weight(200))),
        (
            r#"{ policy = "batch" }"#,
            Op::Set(Setting::Policy(Policy::Batch)),
        ),
        (
            r#"{ policy = "fifo" }"#,
            Op::Set(Setting::Policy(Policy::Fifo(1))),
        ),
        (
            r#"{ policy = "round-robin", at = 7 }"#,
            Op::Set(Setting::Policy(Policy::RoundRobin(7))),
        ),
        (
            r#"{ policy = "deadline", runtime = "10ms", period = "100ms" }"#,
            Op::Set(Setting::Policy(Policy::Deadline(Reservation {
                runtime: ms(10),
                deadline: ms(100),
                period: ms(100),
            }))),
        ),
        (
            r#"{ quota = "5ms", period = "10ms", burst = "2ms" }"#,
            Op::Set(Setting::Quota {
                time: ms(5),
                period: ms(10),
                burst: ms(2),
            }),
        ),
        (
            r#"{ window = "hidden", audible = true }"#,
            Op::Set(Setting::Window {
                visible: false,
                foreground: false,
                audible: true,
            }),
        ),
        (
            r#"{ window = "foreground" }"#,
            Op::Set(Setting::Window {
                visible: true,
                foreground: true,
                audible: false,
            }),
        ),
        (
            r#"{ throttling = "on" }"#,
            Op::Set(Setting::Throttling(Throttling::IgnoreRequests)),
        ),
        (
            r#"{ power = "battery" }"#,
            Op::Set(Setting::Power(Power::Battery)),
        ),
        (r#"{ pin = 3 }"#, Op::Pin(3)),
        (
            r#"{ read = "timeGetTime" }"#,
            Op::Read(Probe::Step(OsClock::TimeGetTime)),
        ),
        (r#"{ read = "slack" }"#, Op::Read(Probe::Slack)),
        (r#"{ until = "p" }"#, Op::Until(Nanos::ZERO)),
        // Braces may go over several lines.
        ("{\n until = \"9ms\",\n}", Op::Until(ms(9))),
    ];
    let text: Vec<_> = steps.iter().map(|(text, _)| *text).collect();
    let text = format!(
        "title = \"t\"\non = [\"linux\"]\nphase = [{{ name = \"p\", for = \"9ms\" }}]\n\
         process = [{{ name = \"P\", do = [{}] }}]",
        text.join(", ")
    );
    let scenario = read("verbs", &text).unwrap();
    let [Op::Spawn { program, .. }, ..] = &scenario.program.ops[..] else {
        panic!("{:?}", scenario.program.ops);
    };
    assert_eq!(program.ops, steps.map(|(_, op)| op));
}

#[test]
fn of_several_calls_the_first_is_made_that_the_model_has() {
    let text = "title = \"t\"\non = [\"linux\"]\nphase = [{ name = \"p\", for = \"1s\" }]\n\
         process = [{ name = \"P\", do = [{ pace = \"9ms\" }, { loop = [\
         { sleep = \"5ms\", method = [\"epoll_wait\", \"WaitForMultipleObjects\", \"sleep\"] }, \
         { sleep = \"cycle\", method = [\"timerfd\", \"sleep\"] }] }] }]";
    let scenario = read("calls", text).unwrap();
    let calls = |program: &Program| {
        let [Op::Spawn { program, .. }, ..] = &program.ops[..] else {
            panic!("{program:?}");
        };
        let [_, Op::Loop { body, .. }] = &program.ops[..] else {
            panic!("{program:?}");
        };
        let [Op::Block { method, .. }, _] = body[..] else {
            panic!("{body:?}");
        };
        (method, program.subjects[0].spec())
    };
    let system = |method| Some(StrategySpec::System { method });
    let on = |model: &str| calls(&scenario.program_on(&Model::parse(model).unwrap()));
    let linux = (Method::Epoll, system(Method::Timerfd));
    assert_eq!(calls(&scenario.program), linux);
    assert_eq!(on("linux"), linux);
    assert_eq!(
        on("windows-11"),
        (Method::WaitForMultipleObjects, system(Method::Sleep))
    );
    assert_eq!(on("macos"), (Method::Sleep, system(Method::Sleep)));
    let none = text.replace("[\"timerfd\", \"sleep\"]", "[]");
    let why = read("calls", &none).unwrap_err().to_string();
    assert!(why.contains("from 1 to"), "{why}");
}
