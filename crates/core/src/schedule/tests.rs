use super::MissedTickBehavior::{Burst, BurstOf, Delay, Skip};
use super::*;
use crate::time::Clock;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Virtual;
impl Clock for Virtual {}
type Virtually = Schedule<Virtual>;

fn ms(ms: u64) -> Tick<Virtual> {
    Tick::from_ns(ms * 1_000_000)
}

fn hz(cycles: u64) -> Period {
    Period::of_cycles(cycles, 1).unwrap()
}

/// 100 Hz from 1 s on.
fn schedule(behavior: MissedTickBehavior) -> Virtually {
    Schedule::starting_at(ms(1_000), hz(100), behavior)
}

/// Waits for the next slot, for nothing if it is over, and is late by so much.
fn tick(schedule: &mut Virtually, now: &mut Tick<Virtual>, late: Nanos) -> Served<Virtual> {
    *now = (*now).max(schedule.next_at()) + late;
    let served = schedule.serve(*now);
    assert!(served.at <= *now, "{schedule:?}");
    served
}

#[test]
fn ntsc_is_in_phase_after_a_day() {
    let ntsc = Period::of_cycles(60_000, 1_001).unwrap();
    let mut schedule = Schedule::starting_at(ms(0), ntsc, Skip);
    let mut now = ms(0);
    let day = 60_000 * 86_400 / 1_001;
    for number in 0..=day {
        let served = tick(&mut schedule, &mut now, Nanos::new(number % 997));
        let exact = u128::from(number) * 1_001 * 1_000_000_000 / 60_000;
        assert_eq!(
            (served.number, u128::from(served.at.as_ns())),
            (number, exact)
        );
    }
    let whole_days = Schedule::starting_at(ms(0), ntsc, Skip).next_after(ms(1_001 * 86_400_000));
    assert_eq!(whole_days.number, 60_000 * 86_400 + 1);
    assert_eq!(whole_days.at.since(ms(1_001 * 86_400_000)), ntsc.whole());
}

/// The slots of the ticks after a stall of 5 s, and the number missed. A suspend during which
/// the clock runs is the same; if the clock stands still there is nothing to catch up with.
fn after_a_stall(behavior: MissedTickBehavior) -> (Vec<(u64, u64, u64)>, SlotCounts) {
    let mut schedule = schedule(behavior);
    let mut now = ms(0);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    let stalled = tick(&mut schedule, &mut now, Nanos::from_secs(5));
    assert_eq!((stalled.number, stalled.at), (1, ms(1_010)));
    let counts = schedule.counts();
    let mut ticks = vec![(stalled.number, 1_010, stalled.missed)];
    for _ in 0..3 {
        let served = tick(&mut schedule, &mut now, Nanos::ZERO);
        ticks.push((served.number, served.at.as_ns() / 1_000_000, served.missed));
    }
    (ticks, counts)
}

#[test]
fn skip_gives_up_what_a_stall_was_too_late_for_and_keeps_the_phase() {
    let (ticks, counts) = after_a_stall(Skip);
    let expected = [
        (1, 1_010, 500),
        (502, 6_020, 0),
        (503, 6_030, 0),
        (504, 6_040, 0),
    ];
    assert_eq!(ticks, expected);
    assert_eq!((counts.due, counts.ticks, counts.missed), (502, 2, 500));
}

#[test]
fn burst_owes_all_and_burst_of_the_youngest() {
    let (ticks, counts) = after_a_stall(Burst);
    assert_eq!(
        ticks,
        [(1, 1_010, 0), (2, 1_020, 0), (3, 1_030, 0), (4, 1_040, 0)]
    );
    assert_eq!((counts.due, counts.ticks, counts.owed), (502, 2, 500));
    let (ticks, counts) = after_a_stall(BurstOf(2));
    let expected = [
        (1, 1_010, 498),
        (500, 6_000, 0),
        (501, 6_010, 0),
        (502, 6_020, 0),
    ];
    assert_eq!(ticks, expected);
    assert_eq!(
        (counts.due, counts.ticks, counts.missed, counts.owed),
        (502, 2, 498, 2)
    );
}

#[test]
fn delay_begins_anew_at_a_tick_that_is_a_period_late() {
    let (ticks, counts) = after_a_stall(Delay);
    assert_eq!(
        ticks,
        [(1, 1_010, 0), (2, 6_020, 0), (3, 6_030, 0), (4, 6_040, 0)]
    );
    assert_eq!(
        (counts.due, counts.shifts, counts.shift_ns),
        (2, 1, 5_000_000_000)
    );
    // And at none that is less late, or the loop would run slower than asked.
    let mut schedule = schedule(Delay);
    for k in 0..100 {
        let served = tick(&mut schedule, &mut ms(0), Nanos::new(9_999_999));
        assert_eq!(served.at, ms(1_000 + 10 * k));
    }
    assert_eq!(schedule.counts().shifts, 0);
}

#[test]
fn a_change_of_rate_is_in_phase_with_the_last_slot() {
    let mut schedule = schedule(Skip);
    let mut now = ms(0);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    // Slower, then faster: many slots of the new rate would be over by now, of
    // which none was ever due.
    schedule.set_period(hz(10), ms(1_004));
    assert_eq!(schedule.next_at(), ms(1_100));
    schedule.set_period(hz(1_000), ms(1_050) + Nanos::from_us(300));
    now = ms(1_050) + Nanos::from_us(300);
    let served = tick(&mut schedule, &mut now, Nanos::ZERO);
    assert_eq!((served.number, served.at, served.missed), (1, ms(1_050), 0));
    let counts = schedule.counts();
    assert_eq!((counts.shifts, counts.shift_ns), (2, 40_000_000));
    // Before the first slot only the period changes.
    let mut unbegun = self::schedule(Skip);
    unbegun.set_period(hz(10), ms(5));
    assert_eq!(unbegun.next_at(), ms(1_000));
}

#[test]
fn a_change_of_rate_keeps_the_slot_that_is_due_and_carries_no_debt() {
    let mut schedule = schedule(Burst);
    let mut now = ms(1_000);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    schedule.set_period(hz(50), ms(1_035));
    let served = tick(&mut schedule, &mut ms(1_035), Nanos::ZERO);
    assert_eq!((served.number, served.at, served.missed), (3, ms(1_030), 2));
    assert_eq!(schedule.next_at(), ms(1_050));
}

#[test]
fn a_nudge_moves_all_that_is_to_come() {
    let mut schedule = schedule(Skip);
    let mut now = ms(0);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    schedule.nudge(200_000);
    schedule.nudge(-1_200_000);
    let served = tick(&mut schedule, &mut now, Nanos::ZERO);
    assert_eq!((served.number, served.at), (1, ms(1_009)));
    assert_eq!(schedule.next_at(), ms(1_019));
    let counts = schedule.counts();
    assert_eq!(
        (counts.shifts, counts.shift_ns, counts.due),
        (2, -1_000_000, 2)
    );
    for by in [i64::MIN, i64::MAX, i64::MAX] {
        schedule.nudge(by);
    }
    assert_eq!(schedule.counts().due, 2);
}

#[test]
fn a_reset_gives_up_what_was_due() {
    let mut schedule = schedule(Burst);
    schedule.reset_at(ms(2_000), ms(1_025));
    let served = tick(&mut schedule, &mut ms(1_025), Nanos::ZERO);
    assert_eq!((served.number, served.at, served.missed), (3, ms(2_000), 3));
}

/// Takes a batch after 10 ms of linger: the numbers of its slots, and how many were missed.
/// The caller comes at `now`, and the wait ends `late` ms after its deadline.
fn batch(
    schedule: &mut Virtually,
    most: usize,
    now: &mut Tick<Virtual>,
    late: u64,
) -> (Vec<u64>, u64) {
    let until = schedule.next_at() + Nanos::from_ms(10);
    let has_waited = *now < until;
    *now = (*now).max(until) + Nanos::from_ms(late);
    let now = *now;
    let linger = Linger {
        until,
        has_waited,
        now,
    };
    let (mut numbers, mut missed) = (vec![], 0);
    while numbers.is_empty() || numbers.len() < most && schedule.next_at() <= now {
        let is_last = numbers.len() + 1 == most;
        let served = schedule.serve_lingered(&linger, is_last);
        numbers.push(served.number);
        missed += served.missed;
    }
    (numbers, missed)
}

fn at_1_khz(behavior: MissedTickBehavior) -> Virtually {
    Schedule::starting_at(ms(1_000), hz(1_000), behavior)
}

#[test]
fn slots_of_a_linger_are_never_missed() {
    for behavior in [Burst, BurstOf(3), Delay, Skip] {
        for seed in [None, Some(7)] {
            let (mut schedule, mut now) = (at_1_khz(behavior), ms(0));
            seed.into_iter().for_each(|seed| schedule.set_random(seed));
            let mut taken = vec![];
            for _ in 0..10 {
                let (numbers, missed) = batch(&mut schedule, 64, &mut now, 0);
                assert_eq!(missed, 0, "{behavior:?}");
                // One each millisecond, and both ends of the linger count.
                assert!(seed.is_some() || numbers.len() == 11, "{numbers:?}");
                taken.extend(numbers);
            }
            let in_order: Vec<u64> = (0..taken.len() as u64).collect();
            assert_eq!(taken, in_order, "{behavior:?}");
            let counts = schedule.counts();
            assert_eq!(
                (counts.due, counts.ticks),
                (counts.ticks, taken.len() as u64)
            );
            assert_eq!((counts.missed, counts.owed, counts.shifts), (0, 0, 0));
        }
    }
}

#[test]
fn slots_of_a_linger_that_do_not_fit_into_a_batch_come_with_the_next() {
    for behavior in [Burst, BurstOf(3), Delay, Skip] {
        for most in [1, 4] {
            let (mut schedule, mut now) = (at_1_khz(behavior), ms(0));
            let mut next = 0;
            for _ in 0..10 {
                let (numbers, missed) = batch(&mut schedule, most, &mut now, 0);
                let expected: Vec<u64> = (next..next + most as u64).collect();
                assert_eq!((numbers, missed), (expected, 0), "{behavior:?}");
                next += most as u64;
            }
            let counts = schedule.counts();
            assert_eq!((counts.ticks, counts.owed), (next, 11 - most as u64));
            assert_eq!((counts.missed, counts.shifts), (0, 0));
        }
    }
}

/// Slots 0 to 10 are due at the deadline, 11 to 15 when the wait ends.
#[test]
fn a_late_wait_takes_what_fits_and_is_late_for_the_rest() {
    for (behavior, missed, next, shift_ms) in [
        (Burst, 0, (4, 1_004), 0),
        (BurstOf(3), 2, (6, 1_006), 0),
        (Skip, 5, (9, 1_009), 0),
        (Delay, 0, (4, 1_009), 5),
    ] {
        let mut wide = at_1_khz(behavior);
        let (numbers, none) = batch(&mut wide, 64, &mut ms(0), 5);
        assert_eq!((numbers, none), ((0..16).collect(), 0), "{behavior:?}");
        assert_eq!((wide.counts().missed, wide.counts().shifts), (0, 0));

        let mut schedule = at_1_khz(behavior);
        let full = batch(&mut schedule, 4, &mut ms(0), 5);
        assert_eq!(full, (vec![0, 1, 2, 3], missed), "{behavior:?}");
        assert_eq!((schedule.number, schedule.next_at()), (next.0, ms(next.1)));
        assert_eq!(schedule.counts().shift_ns, shift_ms * 1_000_000);
    }
}

/// It comes at 100 ms for slots of which the linger ended at 21 ms.
#[test]
fn a_late_caller_gets_its_linger_and_the_behavior_for_the_rest() {
    for (behavior, beyond, missed, next) in [
        (Burst, (22..75).collect(), 0, 1_075),
        (BurstOf(3), vec![98, 99, 100], 76, 1_101),
        (Skip, vec![], 79, 1_101),
        (Delay, vec![], 0, 1_101),
    ] {
        let (mut schedule, mut now) = (at_1_khz(behavior), ms(0));
        batch(&mut schedule, 64, &mut now, 0);
        let late = batch(&mut schedule, 64, &mut ms(1_100), 0);
        let mut expected: Vec<u64> = (11..22).collect();
        expected.extend::<Vec<u64>>(beyond);
        assert_eq!(late, (expected, missed), "{behavior:?}");
        assert_eq!(schedule.next_at(), ms(next));
    }
}

#[test]
fn slots_given_out_beforehand_skip_what_is_over() {
    let mut schedule = Schedule::begun_at(ms(7), hz(100));
    let mut next = |now| {
        let served = schedule.next_after(ms(now));
        (served.at.as_ns() / 1_000_000, served.missed)
    };
    assert_eq!(next(7), (17, 0));
    assert_eq!(next(18), (27, 0));
    assert_eq!(next(49), (57, 2));
    assert_eq!(next(67), (77, 1));
    assert_eq!(next(70), (87, 0));
    assert_eq!(next(1), (97, 0));
}

#[test]
fn random_slots_have_the_rate_and_are_counted_too() {
    for behavior in [Burst, BurstOf(3), Delay, Skip] {
        let mut schedule = schedule(behavior);
        schedule.set_random(5);
        let mut now = ms(0);
        let mut told = 0;
        for late in 0..20_000_u64 {
            let late = Nanos::from_ms(if late % 100 == 0 { 70 } else { 0 });
            told += tick(&mut schedule, &mut now, late).missed;
            assert_eq!(told, schedule.counts().missed);
        }
        let counts = schedule.counts();
        let moved_ns = counts.shift_ns.unsigned_abs();
        let seconds = (now.since(ms(1_000)).as_ns() - moved_ns) as f64 / 1e9;
        let rate = counts.due as f64 / seconds;
        // Six standard deviations of a count of 20,000.
        assert!(
            (rate / 100.0 - 1.0).abs() < 6.0 / 20_000_f64.sqrt(),
            "{behavior:?}: {rate}"
        );
    }
}

#[test]
fn random_slots_of_another_rate_begin_now() {
    let mut schedule = schedule(Burst);
    schedule.set_random(5);
    let mut now = ms(0);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    schedule.set_period(hz(1_000_000), ms(1_000));
    let soon = schedule.next_at();
    assert!(soon > ms(1_000) && soon < ms(1_001), "{soon:?}");
    // Not all owed slots are examined, and yet no debt is carried to another rate.
    now = ms(100_000);
    tick(&mut schedule, &mut now, Nanos::ZERO);
    assert_eq!(schedule.counts().owed, LOOK);
    schedule.set_period(hz(1_000), now);
    assert!(schedule.owed_at(now) <= 1);
}

/// After a stall, with nudges and pauses while it catches up.
#[test]
fn random_slots_that_are_owed_are_looked_at_once() {
    let mut schedule = schedule(BurstOf(500));
    schedule.set_random(5);
    let mut recounts = schedule;
    let mut now = ms(20_000);
    for turn in 0..2_000_u64 {
        if turn % 100 == 50 {
            schedule.nudge(-300_000);
            recounts.nudge(-300_000);
        }
        let served = tick(&mut schedule, &mut now, Nanos::ZERO);
        recounts.ahead.due = 0;
        assert_eq!(served, recounts.serve(now));
        let owed = recounts.owed_at(now);
        assert_eq!(schedule.counts().owed, owed);
        // Nothing is left to be looked at: the next count begins where this one ended.
        assert!(owed == 0 || schedule.ahead.at > now, "{schedule:?}");
        assert!(owed == 0 || schedule.ahead.due == owed, "{schedule:?}");
        if turn % 400 == 399 {
            now = now + Nanos::from_secs(3);
        }
    }
    // Slots ahead of a clock that goes back are counted anew.
    tick(&mut schedule, &mut (now + Nanos::from_secs(1)), Nanos::ZERO);
    recounts = schedule;
    recounts.ahead.due = 0;
    let before = schedule.next_at() + Nanos::from_ms(20);
    assert_eq!(schedule.owed_at(before), recounts.owed_at(before));
}

#[test]
fn under_burst_what_is_owed_is_counted_once() {
    let mut schedule = schedule(Burst);
    schedule.set_random(5);
    let mut now = ms(20_000);
    for _ in 0..500 {
        tick(&mut schedule, &mut now, Nanos::ZERO);
        let uncounted = schedule;
        schedule.count_owed();
        assert_eq!(schedule.counts(), uncounted.counts());
        // The next count begins where this one ended.
        let owed = schedule.counts().owed;
        assert!(owed == 0 || schedule.ahead.due == owed && schedule.ahead.at > now);
        now = now + Nanos::from_ms(9);
    }
    assert!(schedule.counts().owed > 1_000);
}

#[test]
fn at_the_end_of_time_nothing_overflows() {
    for behavior in [Burst, BurstOf(1), Delay, Skip] {
        let mut schedule = Schedule::starting_at(ms(0), hz(1_000_000_000), behavior);
        schedule.serve(Tick::<Virtual>::NEVER);
        schedule.set_period(hz(1), Tick::NEVER);
        schedule.serve(Tick::NEVER);
        assert_eq!(schedule.counts().ticks, 2, "{schedule:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Tick { work: u64, late: u64 },
    SetPeriod(u64, u64),
    Nudge(i64),
    ResetAt(i64),
    Behavior(MissedTickBehavior),
}

fn ops() -> impl Strategy<Value = Op> {
    let stall = || prop_oneof![4 => 0_u64..50_000, 1 => 0_u64..40_000_000];
    prop_oneof![
        20 => (stall(), stall()).prop_map(|(work, late)| Op::Tick { work, late }),
        1 => (100_u64..100_000, 1_u64..1_002).prop_map(|(c, s)| Op::SetPeriod(c, s)),
        1 => (-3_000_000_i64..3_000_000).prop_map(Op::Nudge),
        1 => (-50_000_000_i64..50_000_000).prop_map(Op::ResetAt),
        1 => prop_oneof![Just(Burst), (0_u64..5).prop_map(BurstOf), Just(Delay), Just(Skip)]
            .prop_map(Op::Behavior),
    ]
}

proptest! {
    /// Each slot is found one by one, as fractions, and counted by hand.
    #[test]
    fn the_books_are_right_whatever_happens(ops in proptest::collection::vec(ops(), 1..200)) {
        let mut period = (1_001_000_000_000_u128, 60_000_u128);
        let mut now = ms(10_000);
        let first = Period::of_cycles(60_000, 1_001).unwrap();
        let mut schedule = Schedule::starting_at(now, first, Skip);
        // Where the grid last changed, and which slot that was.
        let mut origin: Option<(u128, u64)> = Some((u128::from(now.as_ns()), 0));
        let (mut ticks, mut told, mut next_number) = (0, 0, 0);
        for op in ops {
            match op {
                Op::Tick { work, late } => {
                    let shifts = schedule.counts().shifts;
                    now = now + Nanos::new(work);
                    let early = now < schedule.next_at();
                    let served = tick(&mut schedule, &mut now, Nanos::new(late));
                    ticks += 1;
                    told += served.missed;
                    prop_assert!(served.number >= next_number);
                    next_number = served.number + 1;
                    prop_assert!(!early || now.since(served.at) == Nanos::new(late));
                    let (origin_ns, base) = *origin.get_or_insert((served.at.as_ns().into(), served.number));
                    // The first slot of a grid that was moved lies up to 1 ns later.
                    let slot = |k: u128| origin_ns + k * period.0 / period.1;
                    let exact = slot((served.number - base).into());
                    prop_assert!((exact..=exact + 1).contains(&served.at.as_ns().into()));
                    let counts = schedule.counts();
                    prop_assert_eq!((counts.ticks, counts.missed), (ticks, told));
                    if counts.shifts > shifts {
                        origin = None;
                    } else {
                        let by = |now| (1..).find(|k| slot(*k) > now).unwrap().max((next_number - base).into());
                        let now = u128::from(now.as_ns());
                        prop_assert!((by(now - 1)..=by(now)).contains(&(counts.due - base).into()));
                    }
                }
                Op::SetPeriod(cycles, seconds) => {
                    let Some(new) = Period::of_cycles(cycles, seconds) else { continue };
                    schedule.set_period(new, now);
                    prop_assert!(schedule.owed_at(now) <= 1);
                    period = (u128::from(seconds) * 1_000_000_000, cycles.into());
                    origin = None;
                }
                Op::Nudge(by) => {
                    schedule.nudge(by);
                    origin = None;
                }
                Op::ResetAt(after) => {
                    let at = Tick::from_ns(now.as_ns().saturating_add_signed(after));
                    schedule.reset_at(at, now);
                    prop_assert_eq!(schedule.next_at(), at);
                    origin = None;
                }
                Op::Behavior(behavior) => schedule.set_behavior(behavior),
            }
            let counts = schedule.counts();
            prop_assert_eq!(counts.ticks, ticks, "{:?} after {:?}", counts, op);
        }
    }
}
