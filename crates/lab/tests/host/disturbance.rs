//! The other users of the CPUs, as this computer shows them.

use std::process::{Command, Stdio};

use punctual_core::Nanos;
use punctual_lab::host::{Stop, usual_cpu};
use punctual_program::program::Op;

use super::{HostMachine, Machine, plain};

/// A process that computes, which no tested process has started: its parent has ended. It ends
/// when this is dropped.
struct Hog(u32);

impl Hog {
    fn start() -> Self {
        // Its own output is not waited for.
        let script = "(exec >/dev/null; while :; do :; done) & echo $!";
        let started = Command::new("sh")
            .args(["-c", script])
            .stderr(Stdio::null())
            .output();
        let text = String::from_utf8(started.unwrap().stdout).unwrap();
        Self(text.trim().parse().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .args(["-9", &self.0.to_string()])
            .status();
    }
}

#[test]
fn who_else_ran_is_seen_with_name_and_number_and_what_is_our_own_is_not() {
    let hog = Hog::start();
    let mut own = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let mut machine = HostMachine::new(Stop::new());
    let nap = Op::Work(Nanos::from_ms(20));
    // However long it takes until the hog had a turn.
    let seen = loop {
        machine.run(&plain(vec![nap.clone()])).unwrap();
        let seen = machine.witness().disturbance().unwrap();
        if seen.processes.iter().any(|other| other.pid == hog.0) {
            break seen;
        }
    };
    let ours = [own.id(), std::process::id()];
    own.kill().unwrap();
    own.wait().unwrap();
    assert!(seen.elapsed_ns >= 20_000_000);
    assert!(
        seen.processes
            .iter()
            .all(|other| !ours.contains(&other.pid))
    );
    let found = seen
        .processes
        .iter()
        .find(|other| other.pid == hog.0)
        .unwrap();
    assert!(found.fraction > 0.0 && !found.name.is_empty());
    let others = seen.others_fraction.unwrap();
    assert!((0.0..=1.0).contains(&others));
}

/// Where it is pinned, only that CPU counts.
#[test]
fn what_is_looked_at_is_where_it_was_measured() {
    let Some(cpu) = usual_cpu() else {
        return;
    };
    let mut machine = HostMachine::new(Stop::new());
    assert_eq!(machine.witness().disturbance(), None);
    let ops = vec![Op::Pin(cpu), Op::Work(Nanos::from_ms(1))];
    machine.run(&plain(ops)).unwrap();
    let seen = machine.witness().disturbance().unwrap();
    assert_eq!(seen.cpus, [cpu]);
    assert!(seen.own_stops.is_empty());
}
