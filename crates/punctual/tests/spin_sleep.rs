//! A program written for the crate spin_sleep 1.3.3 compiles and runs with either crate: all
//! public names, as code uses them.

#![allow(deprecated)] // Of spin_sleep, `LoopHelper` is.

macro_rules! program {
    ($name:ident, $from:path) => {
        mod $name {
            use std::collections::HashSet;
            use std::fmt::Debug;
            use std::hash::Hash;
            use std::time::{Duration, Instant};

            use spin_sleep::{
                LoopHelper, LoopHelperBuilder, Nanoseconds, RatePerSecond, Seconds, SpinSleeper,
                SpinStrategy, SubsecondNanoseconds,
            };
            use $from;

            fn plain<T: Copy + Debug + Eq + Hash>(_: T) {}

            #[test]
            fn sleeps() {
                let begin = Instant::now();
                let ms = Duration::from_millis(1);
                spin_sleep::sleep(ms);
                spin_sleep::sleep_until(begin + 2 * ms);
                spin_sleep::native_sleep(Duration::ZERO);
                let sleeper = SpinSleeper::default().with_spin_strategy(SpinStrategy::SpinLoopHint);
                sleeper.sleep(ms);
                let ns: Nanoseconds = 1_000;
                sleeper.sleep_ns(ns);
                let seconds: Seconds = 0.001;
                sleeper.sleep_s(seconds);
                sleeper.sleep_s(-1.0);
                sleeper.sleep_s(f64::NAN);
                sleeper.sleep_until(begin);
                assert!(begin.elapsed() >= 4 * ms);
                let accuracy: SubsecondNanoseconds = 7;
                let kept = SpinSleeper::new(accuracy);
                assert_eq!(kept.native_accuracy_ns(), 7);
                assert_eq!(kept.spin_strategy(), SpinStrategy::default());
                assert_eq!(sleeper.spin_strategy(), SpinStrategy::SpinLoopHint);
                plain(sleeper);
                plain(SpinStrategy::YieldThread);
                assert_eq!(HashSet::from([sleeper, kept]).len(), 2);
                #[cfg(not(windows))]
                assert_eq!(SpinSleeper::default(), SpinSleeper::new(125_000));
            }

            #[test]
            fn yields() {
                let sleeper =
                    SpinSleeper::new(100_000).with_spin_strategy(SpinStrategy::YieldThread);
                for us in [0, 1, 30, 400] {
                    let begin = Instant::now();
                    let length = Duration::from_micros(us);
                    sleeper.sleep(length);
                    assert!(begin.elapsed() >= length);
                }
            }

            #[test]
            fn a_loop_is_limited_and_reports_its_rate() {
                let builder: LoopHelperBuilder = LoopHelper::builder()
                    .native_accuracy_ns(100_000)
                    .report_interval(Duration::from_secs(1))
                    .report_interval_s(0.0);
                let mut helper: LoopHelper = builder.build_with_target_rate(2_000.0);
                let (begin, mut deltas) = (Instant::now(), Vec::new());
                for _ in 0..10 {
                    deltas.push(helper.loop_start());
                    helper.loop_sleep();
                }
                assert!(begin.elapsed() >= Duration::from_millis(5));
                let rate: RatePerSecond = helper.report_rate().unwrap();
                let expected = 10.0 / deltas.iter().sum::<Duration>().as_secs_f64();
                assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} {expected}");
                assert_eq!(helper.report_rate(), None, "no loop has begun since");

                helper.set_target_rate(4_000_f32);
                assert!((helper.target_rate() - 4_000.0).abs() < 1e-3);
                let begin = Instant::now();
                let _: Seconds = helper.loop_start_s();
                helper.loop_sleep_no_spin();
                assert!(begin.elapsed() >= Duration::from_micros(250));
                assert_eq!(helper.clone(), helper);
            }

            #[test]
            fn without_a_target_only_the_rate_is_reported() {
                let mut helper = LoopHelper::builder().build_without_target_rate();
                assert_eq!(helper.target_rate(), f64::INFINITY);
                helper.loop_start();
                helper.loop_sleep();
                helper.loop_sleep_no_spin();
                assert_eq!(helper.report_rate(), None, "once in a second");
            }

            #[test]
            #[should_panic]
            fn no_rate_is_negative() {
                LoopHelper::builder().build_with_target_rate(-60.0);
            }
        }
    };
}

program!(with_spin_sleep, ::spin_sleep);
program!(with_punctual, ::punctual::spin_sleep);
