//! Events of the kernel, where this process may have them.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

use std::process::Command;

use punctual_os::perf::{Perf, Scope};
use punctual_trace::{Call, Event, What};

/// The events of a program; none where this process may not trace.
fn events(of: &[&str]) -> Option<Vec<Event>> {
    let mut perf = match Perf::open(Scope::Children) {
        Ok(perf) => perf,
        Err(why) => {
            assert!(why.is_permission() || why.is_unsupported(), "{why}");
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let status = Command::new(of[0]).args(&of[1..]).status().unwrap();
    assert!(status.success());
    let mut events = Vec::new();
    perf.read(true, |event| events.push(*event));
    Some(events)
}

#[test]
fn a_sleep_is_entered_armed_and_left_by_a_child_only() {
    std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    let Some(events) = events(&["sh", "-c", "sleep 0.01; sleep 0.01"]) else {
        return;
    };
    assert!(events.is_sorted_by_key(|event| event.time));
    let is_sleep = |event: &&Event| {
        matches!(
            event.what,
            What::Enter {
                call: Call::ClockNanosleep | Call::Nanosleep,
                ..
            }
        )
    };
    let sleeps: Vec<_> = events.iter().filter(is_sleep).collect();
    assert_eq!(sleeps.len(), 2, "{sleeps:?}");
    for sleep in sleeps {
        let after = events.iter().filter(|event| event.time > sleep.time);
        let own: Vec<What> = after
            .filter(|event| event.thread == sleep.thread)
            .map(|event| event.what)
            .collect();
        let arms = |what: &What| matches!(what, What::Arm { soft, hard, .. } if hard >= soft);
        assert!(own.iter().any(arms), "{own:?}");
        assert!(
            own.iter()
                .any(|what| matches!(what, What::Exit { result: 0 }))
        );
    }
    // Calls of this process are not among them.
    let own = std::process::id();
    let is_own =
        |event: &Event| matches!(event.what, What::Enter { process, .. } if process == own);
    assert!(!events.iter().any(is_own));
}

/// As when two people trace at once.
#[test]
fn two_sources_do_not_disturb_each_other() {
    let Ok(mut first) = Perf::open(Scope::All) else {
        return;
    };
    let Some(second) = events(&["sleep", "0.01"]) else {
        return;
    };
    let mut seen = 0;
    first.read(true, |event| {
        seen += u32::from(matches!(event.what, What::Enter { .. }))
    });
    assert!(seen > 0 && !second.is_empty());
}
