//! Events of made-up computers, and the waits that come of them.

mod any;
mod replay;
mod unseen;
mod waits;

use punctual_record::experiment::Experiment;
use punctual_record::{Measurement, Traced};
use punctual_trace::{Call, Clock, Engine, Event, Left, Name, Offsets, Timeout, What};

const TICK: Option<u64> = Some(4_000_000);

const CLOCKS: What = What::Clocks(Offsets {
    realtime: Some(1_000_000_000_000),
    boottime: Some(0),
    tai: None,
});

const THREAD: u32 = 7;
const TIMER: u64 = 0xf00;

fn traced(row: &Measurement) -> &Traced {
    match &row.experiment {
        Experiment::Trace(of) => of,
        other => panic!("{other:?}"),
    }
}

/// Feeds events of a CPU, each with the thread that runs there.
fn feed(engine: &mut Engine, cpu: u32, events: impl IntoIterator<Item = (u64, u32, What)>) {
    for (time, thread, what) in events {
        engine.feed(&Event {
            time,
            cpu,
            thread,
            what,
        });
    }
}

/// The rows of these events on CPU 0.
fn rows(events: impl IntoIterator<Item = (u64, u32, What)>) -> Vec<Measurement> {
    let mut engine = Engine::new(TICK);
    feed(&mut engine, 0, events);
    engine.close();
    engine.rows()
}

fn enter(call: Call, timeout: Timeout) -> What {
    What::Enter {
        process: THREAD,
        call,
        timeout,
    }
}

fn switch(left: Left, next: u32) -> What {
    let name = Name::new(format!("thread-{next}").as_bytes());
    What::Switch {
        left,
        next,
        name,
        is_real_time: false,
    }
}

const WAKING: What = What::Waking {
    thread: THREAD,
    by_interrupt: true,
};
/// The same by a thread.
const NUDGED: What = What::Waking {
    thread: THREAD,
    by_interrupt: false,
};
const READY: What = What::Ready {
    thread: THREAD,
    on: 0,
};
const EXPIRE: What = What::Expire { timer: TIMER };
const DONE: What = What::Exit { result: 0 };

/// A sleep of 1 ms that begins at 1 us, with 50 us of slack.
fn sleep() -> Vec<(u64, u32, What)> {
    let arm = What::Arm {
        timer: TIMER,
        soft: 1_001_400,
        hard: 1_051_400,
        is_relative: true,
    };
    vec![
        (0, 0, switch(Left::Ready, THREAD)),
        (1_000, THREAD, enter(Call::Nanosleep, Timeout::Relative)),
        (1_400, THREAD, arm),
        (2_000, THREAD, switch(Left::Asleep, 9)),
    ]
}

/// Sleeps of a loop: each begins `work` after the last returned, and is 60 us late.
fn sleeps(
    n: u64,
    work: impl Fn(u64) -> u64,
    length: impl Fn(u64) -> u64,
    timeout: Timeout,
) -> Vec<(u64, u32, What)> {
    let mut now = 1_000_000;
    let mut all = vec![(500_000, 0, switch(Left::Asleep, THREAD))];
    for at in 0..n {
        let due = now + length(at);
        let arm = What::Arm {
            timer: TIMER,
            soft: due,
            hard: due + 50_000,
            is_relative: false,
        };
        all.extend([
            (now, THREAD, enter(Call::ClockNanosleep, timeout)),
            (now, THREAD, arm),
            (now + 1_000, THREAD, switch(Left::Asleep, 0)),
            (due + 50_000, 0, What::Expire { timer: TIMER }),
            (due + 52_000, 0, WAKING),
            (
                due + 53_000,
                0,
                What::Ready {
                    thread: THREAD,
                    on: 0,
                },
            ),
            (due + 55_000, 0, switch(Left::Asleep, THREAD)),
            (due + 60_000, THREAD, What::Exit { result: 0 }),
        ]);
        now = due + 60_000 + work(at);
    }
    all
}
