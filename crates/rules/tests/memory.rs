//! Threads and processes come and go. The memory of a rule stays what it was, except for less than a byte for each
//! thread number.

use allocation_counter::measure;
use punctual_core::{Method, Nanos};
use punctual_rules::setting::Priority;
use punctual_rules::{Description, Random, Request, Rule, Setting, Time};

const MODELS: [(&str, Method); 5] = [
    (
        "linux slack=50us rt_slack=none hz=250 nohz=idle highres=on slices=own timer_migration=off",
        Method::ClockNanosleep,
    ),
    (
        "linux slack=50us rt_slack=none hz=250 nohz=idle highres=off slices=own timer_migration=off",
        Method::SocketTimeout,
    ),
    (
        "wine slack=50us rt_slack=none hz=250 nohz=idle highres=on slices=own timer_migration=off",
        Method::WindowsSleep,
    ),
    (
        "macos tier=1 idle_level=0 interrupts=250 app_nap=deep nap_look=5s",
        Method::MachWaitUntil,
    ),
    (
        "windows-11 interval=15.625ms finest=500us base=now hardware=exact cycles=nearest cap=500us slip=5 \
         class=expiry global=0 expiry=owner hires_late=5us",
        Method::WindowsSleep,
    ),
];

/// How many are there at once.
const AT_ONCE: usize = 50;

/// Threads `from` to `to`, of a process each, whose numbers are not used again. Each sets what it can, and
/// waits; some are disarmed.
fn come_and_go(rule: &mut dyn Rule, method: Method, from: usize, to: usize) {
    let mut random = Random::new(1);
    let mut expired = Vec::with_capacity(AT_ONCE);
    for number in from..to {
        let now = Time::from_ns(number as u64 * 200_000);
        let by = number.checked_sub(1).filter(|by| *by >= from);
        rule.created(number, number, by);
        for setting in [
            Setting::Priority(Priority::Utility),
            Setting::Slack(Nanos::from_us(10)),
            Setting::request(Nanos::from_ms(1)),
        ] {
            if rule.refuses(&setting).is_none() {
                rule.set(number, number, setting, now);
            }
        }
        let request = Request {
            thread: number,
            cpu: number % 3,
            method,
            now,
            due: now + Time::from_ns(1_000_000 + number as u64 % 9 * 100_000),
            tolerance: Time::ZERO,
        };
        rule.arm(&request, &mut random);
        while let Some((at, cpu)) = rule.next_interrupt().filter(|(at, _)| *at <= now) {
            rule.interrupt(cpu, at, &mut random, &mut expired);
            expired.clear();
        }
        if let Some(gone) = number.checked_sub(AT_ONCE).filter(|gone| *gone >= from) {
            rule.disarm(gone);
            rule.left(gone);
            rule.ended(gone, now);
        }
    }
    for gone in to.saturating_sub(AT_ONCE).max(from)..to {
        rule.disarm(gone);
        rule.left(gone);
        rule.ended(gone, Time::from_ns(to as u64 * 200_000));
    }
}

#[test]
fn a_million_threads_that_come_and_go_take_no_more_memory_than_some() {
    for (model, method) in MODELS {
        let description: Description = model.parse().unwrap();
        let peak = |threads| {
            let mut rule = description.build();
            let peak = measure(|| come_and_go(&mut *rule, method, 0, threads)).bytes_max;
            drop(rule);
            peak
        };
        let (some, million) = (peak(2_000), peak(1_000_000));
        assert!(
            million <= some + 1_000_000,
            "{model}: {some} and {million} bytes"
        );
        assert!(some < 50_000, "{model}: {some} bytes");
    }
}
