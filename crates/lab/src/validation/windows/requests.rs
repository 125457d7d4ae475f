//! Who asks for which interval, and who gets it.

use punctual_core::Nanos;
use punctual_program::Probe;
use punctual_program::program::{Op, SpawnKind};
use punctual_program::setting::{Power, Requester};
use punctual_program::{Refusal, Setting};
use punctual_sim::Model;

use super::background::{
    ONE, asks, in_step, is_about, other_asks, per_second, sleeper, wakes, wakes_in_ten_seconds,
};
use crate::validation::probe::{Lengths, exact, is_close, list, program, run, sleeps, spawn};
use crate::validation::{Kind, Outcome, Row};

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            id: "V01",
            rule: "Windows to 10 1909: default interval",
            input: "loop of Sleep(1), no request",
            expected: "15.625 ms, 64 wakes/s",
            tolerance: "0.5 %",
            kind: Kind::Documented,
            source: "RULE",
            run: without_requests_there_are_64_wakes,
        },
        Row {
            id: "V04",
            rule: "Windows to 10 1909: the lowest wins",
            input: "A loops Sleep(1), B requests 2 ms, then C 4 ms",
            expected: "A wakes 500/s, before and after C comes",
            tolerance: "1 %",
            kind: Kind::Documented,
            source: "RULE",
            run: the_lowest_request_counts,
        },
        Row {
            id: "V06",
            rule: "Windows to 10 1909: release",
            input: "as V04; B ends, C's 4 ms stay",
            expected: "A wakes 250/s",
            tolerance: "1 %",
            kind: Kind::Documented,
            source: "RULE",
            run: then_the_next_lowest_counts,
        },
        Row {
            id: "V07",
            rule: "Windows to 10 1909: exit",
            input: "as V06; C ends without a release",
            expected: "A wakes 64/s",
            tolerance: "1 %",
            kind: Kind::Documented,
            source: "RULE",
            run: an_exit_drops_the_request,
        },
        Row {
            id: "V08",
            rule: "Windows: nested requests",
            input: "begin 5, 1, 1, end 5, 1, 1; hardware=exact",
            expected: "156250, 50000, 10000, 10000, 10000, 10000, 156250",
            tolerance: "exact",
            kind: Kind::Measured,
            source: "DAW-src",
            run: every_outstanding_request_counts,
        },
        Row {
            id: "V09",
            rule: "Windows to 10 1909: a sleep takes the interval",
            input: "another process requests 2, 3, ... 15 ms",
            expected: "Sleep(1) takes 2, 3, ... 15 ms",
            tolerance: "1 %",
            kind: Kind::Documented,
            source: "RULE",
            run: a_sleep_takes_the_interval,
        },
        Row {
            id: "V12",
            rule: "Windows: an AMD clock rounds down to 1.28 us",
            input: "request 0.500, 0.507, 1.000 ms",
            expected: "0.4992, 0.5068, 0.9996 ms reported",
            tolerance: "exact",
            kind: Kind::Measured,
            source: "PCT",
            run: the_clock_rounds_down,
        },
        Row {
            id: "V68",
            rule: "Windows and Wine: release without a request",
            input: "release 1 ms first; request, release, release",
            expected: "an error for the first release and for the last, none for the others",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "ROS, WINE",
            run: a_release_needs_a_request,
        },
        Row {
            id: "V72",
            rule: "Chromium's rule on battery",
            input: "request 1 ms, 8 ms on battery; the mains fail and come back",
            expected: "1, 8, 1 ms in force; 125 Hz on battery",
            tolerance: "exact",
            kind: Kind::Documented,
            source: "RULE",
            run: on_battery_chromium_asks_for_less,
        },
    ]
}

fn without_requests_there_are_64_wakes() -> Result<Outcome, Refusal> {
    let model = "windows-10-1909";
    let count = wakes_in_ten_seconds(model, vec![])?;
    let mean = in_step(model, vec![], vec![sleeps(ONE, 640)])?.mean();
    Ok(Outcome {
        got: format!("{}, {}", exact(mean), per_second(count)),
        holds: is_about(count, 640, 5) && is_close(mean, Nanos::from_us(15_625), 5),
        note: "the reading of the clock between two sleeps is missing from what they last",
    })
}

fn the_lowest_request_counts() -> Result<Outcome, Refusal> {
    let [_, alone, both, ..] = one_after_the_other()?;
    Ok(Outcome {
        got: list([alone, both].map(per_two_seconds)),
        holds: [alone, both].into_iter().all(|n| is_about(n, 1_000, 10)),
        note: "V04, V06 and V07 are one run, of which each has its phases of two seconds",
    })
}

fn then_the_next_lowest_counts() -> Result<Outcome, Refusal> {
    let [.., next, _] = one_after_the_other()?;
    Ok(Outcome {
        got: per_two_seconds(next),
        holds: is_about(next, 500, 10),
        note: "the phase of V04's run in which B has ended",
    })
}

fn an_exit_drops_the_request() -> Result<Outcome, Refusal> {
    let [before, .., after] = one_after_the_other()?;
    Ok(Outcome {
        got: format!(
            "{}; before B came {}",
            per_two_seconds(after),
            per_two_seconds(before)
        ),
        holds: [before, after].into_iter().all(|n| is_about(n, 128, 10)),
        note: "the last phase of V04's run; the interval goes back to the default as it was before",
    })
}

/// How often A wakes in two seconds: with nobody, with B, with B and C, with C,
/// with nobody.
fn one_after_the_other() -> Result<[u64; 5], Refusal> {
    let second = Nanos::from_secs;
    let asks_until = |name, interval, end| {
        let ops = vec![asks(Nanos::from_ms(interval)), Op::Until(second(end))];
        spawn(name, SpawnKind::Process, ops)
    };
    let mut ops = vec![sleeper(vec![])];
    // Each phase of two seconds is followed by one of a second in which
    // somebody comes or goes.
    for phase in 0..5 {
        ops.extend([
            Op::Until(second(3 * phase + 1)),
            Op::Phase,
            Op::Until(second(3 * phase + 3)),
            Op::Phase,
        ]);
        match phase {
            0 => ops.push(asks_until("B", 2, 9)),
            1 => ops.push(asks_until("C", 4, 12)),
            _ => {}
        }
    }
    let observed = run("windows-10-1909", &program(ops))?;
    let mut counts = [0; 5];
    for (count, phase) in counts.iter_mut().zip((1..).step_by(2)) {
        *count = wakes(&observed, phase)?;
    }
    Ok(counts)
}

fn per_two_seconds(count: u64) -> String {
    per_second(5 * count)
}

fn every_outstanding_request_counts() -> Result<Outcome, Refusal> {
    let (one, five) = (Nanos::from_ms(1), Nanos::from_ms(5));
    let got = resolutions(
        "windows-10-1909,hardware=exact",
        &[
            Setting::request(five),
            Setting::request(one),
            Setting::request(one),
            Setting::release(five),
            Setting::release(one),
            Setting::release(one),
        ],
    )?;
    let units: Vec<_> = got.iter().map(|each| each.as_ns() / 100).collect();
    Ok(Outcome {
        got: list(&units),
        holds: units == [156_250, 50_000, 10_000, 10_000, 10_000, 10_000, 156_250],
        note: "in units of 100 ns, read before the first call and after each",
    })
}

/// What a process reads before and after each of these settings.
fn resolutions(text: &str, settings: &[Setting]) -> Result<Vec<Nanos>, Refusal> {
    let read = Op::Read(Probe::Resolution);
    let set = |setting: &Setting| [Op::Set(*setting), read.clone()];
    let ops = [read.clone()]
        .into_iter()
        .chain(settings.iter().flat_map(set));
    let observed = run(text, &program(ops.collect()))?;
    let sections = observed.threads.iter().flat_map(|thread| &thread.sections);
    let readings = sections.flat_map(|section| &section.readings);
    Ok(readings.map(|reading| reading.value).collect())
}

fn a_sleep_takes_the_interval() -> Result<Outcome, Refusal> {
    let mut got = Vec::new();
    let mut holds = true;
    for interval in (2..=15).map(Nanos::from_ms) {
        let sleeps = vec![sleeps(ONE, 100)];
        let lasted = in_step("windows-10-1909", vec![other_asks(interval)], sleeps)?;
        holds &= [lasted.least(), lasted.most()]
            .into_iter()
            .all(|each| is_close(each, interval, 10));
        got.push(lasted.mean());
    }
    Ok(Outcome {
        got: list(got.into_iter().map(exact)),
        holds,
        note: "means, of an AMD clock, which grants up to 1.28 us less; each single sleep is held to the tolerance",
    })
}

fn the_clock_rounds_down() -> Result<Outcome, Refusal> {
    let asked = [500, 507, 1_000].map(Nanos::from_us);
    let settings = asked.map(|interval| [Setting::request(interval), Setting::release(interval)]);
    let read = resolutions("windows-10-2004,hardware=amd", settings.as_flattened())?;
    // The first is that before any request; then request and release in turn.
    let granted: Vec<_> = read.iter().skip(1).step_by(2).copied().collect();
    Ok(Outcome {
        got: list(granted.iter().copied().map(exact)),
        holds: granted == [499_200, 506_800, 999_600].map(Nanos::new),
        note: "",
    })
}

fn a_release_needs_a_request() -> Result<Outcome, Refusal> {
    let one = Nanos::from_ms(1);
    let (request, release) = (Setting::request(one), Setting::release(one));
    let named: Vec<_> = Model::known().iter().map(|known| known.name).collect();
    let models = named
        .into_iter()
        .filter(|name| name.starts_with("windows") || *name == "wine");
    let mut got = Vec::new();
    let mut holds = true;
    for name in models {
        // A section for each setting, so that it shows which one was denied.
        let settings = [release, request, release, release];
        let ops = settings
            .into_iter()
            .flat_map(|it| [Op::Set(it), Op::Record]);
        let observed = run(name, &program(ops.collect()))?;
        let sections = observed.threads[0].sections.iter();
        let denied: Vec<_> = sections.map(|section| section.denied).collect();
        holds &= denied.get(..4) == Some(&[1, 0, 0, 1]);
        got.push(format!("{name} {}", list(denied.iter().take(4))));
    }
    Ok(Outcome {
        holds: holds && got.len() > 1,
        got: got.join("; "),
        note: "errors of the four calls in order",
    })
}

fn on_battery_chromium_asks_for_less() -> Result<Outcome, Refusal> {
    let model = "windows-10-1909,hardware=exact";
    let (one, eight) = (Nanos::from_ms(1), Nanos::from_ms(8));
    let chromium = Setting::Request {
        interval: one,
        on_battery: Some(eight),
        by: Requester::Process,
    };
    let [battery, mains] = [Power::Battery, Power::Mains].map(Setting::Power);
    let read = resolutions(model, &[chromium, battery, mains])?;
    let asks = spawn(
        "chromium",
        SpawnKind::Process,
        vec![
            Op::Set(chromium),
            Op::Set(battery),
            Op::Until(Nanos::from_secs(60)),
        ],
    );
    let count = wakes_in_ten_seconds(model, vec![asks])?;
    let in_force = Lengths::new(read.iter().skip(1).copied())?;
    Ok(Outcome {
        got: format!(
            "{} in force; {} on battery",
            list(in_force.as_slice().iter().copied().map(exact)),
            per_second(count)
        ),
        holds: in_force.as_slice() == [one, eight, one] && count == 1_250,
        note: "another process that sleeps for 1 ms shows the 125 Hz",
    })
}
