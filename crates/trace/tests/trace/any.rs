//! Any events, and any text.

use proptest::prelude::*;
use punctual_trace::text;

use super::*;

/// Any event.
fn what() -> impl Strategy<Value = What> {
    let calls = prop::sample::select(Call::ALL.map(|(call, _)| call).to_vec());
    let timeouts = prop_oneof![
        Just(Timeout::Never),
        Just(Timeout::Zero),
        Just(Timeout::Relative),
        Just(Timeout::OfFile),
        Just(Timeout::Until(Clock::Monotonic)),
        Just(Timeout::Until(Clock::Realtime)),
        Just(Timeout::Until(Clock::Tai)),
        any::<u64>().prop_map(Timeout::Length),
        (0..9_000_000_u64).prop_map(Timeout::Length),
    ];
    let left = prop::sample::select(vec![Left::Ready, Left::Asleep, Left::Stopped]);
    let result = prop::sample::select(vec![0, 1, -4, -11, -110, -512, -516]);
    let near = prop_oneof![4 => 0..40_000_000_u64, 1 => any::<u64>()];
    prop_oneof![
        (0..3_u32, calls, timeouts).prop_map(|(process, call, timeout)| What::Enter {
            process,
            call,
            timeout
        }),
        result.prop_map(|result| What::Exit { result }),
        (near.clone(), prop::option::of(near.clone()), any::<bool>()).prop_map(
            |(deadline, leeway, in_wheel)| What::Due {
                deadline,
                leeway,
                in_wheel,
            }
        ),
        near.clone().prop_map(|ns| What::Waited { ns }),
        left.clone().prop_map(|left| What::Off { left }),
        Just(What::On),
        near.clone().prop_map(|since| What::SeenStopped { since }),
        "[ -~]{1,15}".prop_map(|name| What::Named(Name::new(name.as_bytes()))),
        (0..4_u64, near.clone(), near, any::<bool>()).prop_map(
            |(timer, soft, hard, is_relative)| {
                What::Arm {
                    timer,
                    soft,
                    hard,
                    is_relative,
                }
            }
        ),
        (0..4_u64, any::<[u64; 3]>()).prop_map(|(timer, [now, expires, slot])| {
            What::ArmWheel {
                timer,
                now,
                expires,
                slot,
            }
        }),
        (0..4_u64).prop_map(|timer| What::Expire { timer }),
        (0..4_u32, any::<bool>()).prop_map(|(thread, by_interrupt)| What::Waking {
            thread,
            by_interrupt
        }),
        (0..4_u32, 0..3_u32).prop_map(|(thread, on)| What::Ready { thread, on }),
        (0..4_u32, 0..3_u32).prop_map(|(thread, to)| What::Migrate { thread, to }),
        (left, 0..4_u32, "[ -~]{1,15}", any::<bool>()).prop_map(
            |(left, next, name, is_real_time)| {
                What::Switch {
                    left,
                    next,
                    name: Name::new(name.as_bytes()),
                    is_real_time,
                }
            }
        ),
        Just(What::End),
        (any::<Option<i64>>(), any::<Option<i64>>()).prop_map(|(realtime, boottime)| {
            What::Clocks(Offsets {
                realtime,
                boottime,
                tai: None,
            })
        }),
        (0..9_u64).prop_map(|n| What::Lost { n }),
        any::<u64>().prop_map(|ns| What::Throttled { ns }),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = (0..500_000_u64, 0..3_u32, 0..4_u32, what());
    let all = prop::collection::vec(event, 0..300);
    all.prop_map(|all| {
        let mut time = 0;
        let of = |(took, cpu, thread, what)| {
            time += took;
            Event {
                time,
                cpu,
                thread,
                what,
            }
        };
        all.into_iter().map(of).collect()
    })
}

proptest! {
    /// The parts of all waits sum to their lateness, for any events.
    #[test]
    fn any_events_make_waits_whose_parts_sum(events in events()) {
        let mut engine = Engine::new(TICK);
        events.iter().for_each(|event| engine.feed(event));
        engine.close();
        for row in engine.rows() {
            let of = traced(&row);
            prop_assert_eq!(of.all.n, row.late_ns.n);
            if row.late_ns.early == 0 && row.late_ns.mean < 1e12 {
                let sum = row.late_ns.mean * row.late_ns.n as f64;
                prop_assert!((sum - of.all.parts_ns.sum() as f64).abs() < 1.0, "{:?}", of);
            }
            prop_assert!(of.middle.n <= of.all.n && of.latest.n <= of.all.n);
        }
        engine.wake_ups();
    }

    #[test]
    fn events_read_back_from_text(events in events()) {
        for event in events {
            let line = text::line(&event);
            prop_assert_eq!(text::event(line.trim_end_matches('\n')), Some(event));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_in_one_line(file in "(punctual-events 1\n)?(tick_ns=4\n)?([a-z0-9 \u{1b}-]{0,40}\n){0,5}") {
        if let Err(why) = text::read(&file) {
            prop_assert!(!why.contains(['\n', '\u{1b}']), "{}", why);
        }
    }
}
