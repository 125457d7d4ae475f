//! Pacers of work and of frames on this machine. Nothing is asserted of real time but
//! "never early".

use std::time::{Duration, Instant};

use punctual::{Cancel, FramePacer, MissedTickBehavior, Pacer, Period};

fn hz(rate: u64) -> Period {
    Period::hz(rate).unwrap()
}

#[test]
fn slots_keep_their_intended_start_however_late_they_come() {
    let period = hz(20_000);
    let mut pacer = Pacer::new(period);
    let first = pacer.next_slot().scheduled();
    std::thread::sleep(Duration::from_millis(5));
    for n in 1..200 {
        let slot = pacer.next_slot();
        assert_eq!((slot.number(), slot.missed()), (n, 0));
        assert_eq!(slot.scheduled(), first + period.times(n));
        assert!(Instant::now() >= slot.actual());
    }
    let counts = pacer.counts();
    assert_eq!((counts.ticks, counts.missed), (200, 0));
}

#[test]
fn batches_take_what_is_over_and_nothing_else() {
    let mut pacer = Pacer::new(hz(20_000));
    let mut expected = 0;
    for _ in 0..10 {
        let before = pacer.next_at();
        let batch = pacer.next_batch(30, Duration::from_micros(500));
        let now = Instant::now();
        assert!(now >= before + Duration::from_micros(500));
        assert!((10..=30).contains(&batch.len()), "{batch:?}");
        for slot in batch {
            assert_eq!(slot.number(), expected);
            assert!(slot.actual() <= now && slot.scheduled() <= slot.actual());
            expected += 1;
        }
    }
    assert_eq!(pacer.counts().ticks, expected);
    // At least one, and none before its time.
    let batch = pacer.next_batch(0, Duration::ZERO);
    assert_eq!(batch.len(), 1);
    let stop = Cancel::new();
    stop.cancel();
    let hour = Duration::from_secs(3_600);
    assert!(pacer.next_batch_or(1, hour, &stop).is_err());
    assert_eq!(pacer.counts().ticks, expected + 1);
}

#[test]
fn without_waiting_there_is_a_slot_only_when_it_is_over() {
    let hourly = Period::hz_ratio(1, 3_600).unwrap();
    let mut pacer = Pacer::new(hourly).with_missed_tick_behavior(MissedTickBehavior::Delay);
    assert_eq!(pacer.try_next_slot().unwrap().number(), 0);
    assert!(pacer.try_next_slot().is_none());
    pacer.set_period(hz(1_000_000));
    assert_eq!(pacer.next_slot().number(), 1);
}

#[test]
fn pacers_begin_when_they_are_told() {
    let start = Instant::now() + Duration::from_millis(2);
    let mut pacer = Pacer::starting_at(start, hz(1));
    assert_eq!(pacer.next_slot().scheduled(), start);
    pacer.nudge(-1_000);
    let second = Duration::from_secs(1) - Duration::from_micros(1);
    assert_eq!(pacer.next_at(), start + second);
    pacer.reset_at(start);
    assert_eq!(pacer.next_slot().scheduled(), start);
    let mut frames = FramePacer::at_end(hz(1));
    let slot = Instant::now() + Duration::from_secs(3_600);
    frames.reset_at(slot);
    assert_eq!(frames.begin().target(), slot);
}

#[test]
fn a_seed_has_its_arrivals() {
    let arrivals = |seed| {
        let mut pacer = Pacer::new(hz(50_000)).poisson(seed);
        let start = pacer.next_at();
        (0..50)
            .map(|_| pacer.next_slot().scheduled() - start)
            .collect::<Vec<_>>()
    };
    assert_eq!(arrivals(3), arrivals(3));
    assert_ne!(arrivals(3), arrivals(4));
}

fn work(length: Duration) {
    let end = Instant::now() + length;
    while Instant::now() < end {}
}

#[test]
fn late_frames_begin_when_the_work_is_to_be_safe() {
    let safety = Duration::from_millis(1);
    let mut pacer = FramePacer::late(hz(250)).safety(safety);
    let mut number = 0;
    for _ in 0..20 {
        let predicted = pacer.predicted_work();
        let frame = pacer.begin();
        let lead = (predicted + safety).min(Duration::from_millis(4));
        assert!(frame.begun() >= frame.target() - lead);
        assert_eq!(frame.number(), number + 1 + frame.missed());
        number = frame.number();
        work(Duration::from_micros(500));
        let now = Instant::now();
        let done = pacer.end();
        assert!(done.work() >= Duration::from_micros(500));
        let most = Duration::from_millis(4);
        assert!(pacer.predicted_work() >= done.work().min(most));
        assert!(now <= frame.target() + done.lateness());
    }
    assert_eq!(pacer.counts().due, number + 1);
}

#[test]
fn frames_that_end_at_their_slot_end_no_sooner() {
    let mut pacer = FramePacer::at_end(hz(500));
    for n in 0..20 {
        let frame = pacer.begin();
        assert_eq!(frame.outcome().naps(), 0);
        // Some are far too long.
        work(Duration::from_micros(if n % 5 == 4 { 5_000 } else { 300 }));
        let done = pacer.end();
        assert!(Instant::now() >= frame.target() + done.lateness());
        assert_eq!(done.frame_time().is_none(), n == 0);
        assert!(done.oversleep() <= done.lateness());
    }
    let counts = pacer.counts();
    assert!(counts.missed >= 3, "{counts:?}");
    // An end without a begin is one of a frame without work.
    assert_eq!(pacer.end().work(), Duration::ZERO);
}

#[test]
fn cancelled_frames_have_not_begun_and_not_ended() {
    let stop = Cancel::new();
    stop.cancel();
    let hourly = Period::every(Duration::from_secs(3_600)).unwrap();
    let mut pacer = FramePacer::late(hourly);
    let ticks = pacer.counts().ticks;
    assert!(pacer.begin_or(&stop).is_err());
    assert_eq!(pacer.counts().ticks, ticks);
    let mut pacer = FramePacer::at_end(hourly);
    assert!(pacer.end_or(&stop).is_err());
    assert_eq!(pacer.counts().ticks, ticks);
    pacer.begin();
    assert!(pacer.end_or(&stop).is_err());
    assert_eq!(pacer.counts().ticks, ticks + 1);
}

/// Every slot has passed when the loop reaches it.
#[test]
fn loops_that_are_always_late_can_be_stopped() {
    let stop = Cancel::new();
    stop.cancel();
    let period = hz(1_000_000);
    let mut pacer = Pacer::new(period);
    assert!(pacer.next_slot_or(&stop).is_err());
    assert!(pacer.next_batch_or(64, Duration::ZERO, &stop).is_err());
    assert_eq!(pacer.counts().ticks, 0);
    for mut pacer in [FramePacer::late(period), FramePacer::at_end(period)] {
        assert!(pacer.begin_or(&stop).is_err());
        let frame = pacer.begin();
        while Instant::now() < frame.target() {}
        assert!(pacer.end_or(&stop).is_err());
    }
}

#[test]
fn a_linger_that_never_ends_waits_for_the_cancel() {
    let (stop, mut pacer) = (Cancel::new(), Pacer::new(hz(1)));
    let theirs = stop.clone();
    let batch = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(2));
            theirs.cancel();
        });
        pacer.next_batch_or(1, Duration::MAX, &stop)
    });
    assert!(batch.is_err());
}

#[test]
fn the_wait_for_a_cancelled_end_is_no_work() {
    let stop = Cancel::new();
    stop.cancel();
    let mut pacer = FramePacer::at_end(hz(250));
    let frame = pacer.begin();
    assert!(pacer.end_or(&stop).is_err());
    let most = frame.begun().elapsed();
    work(Duration::from_micros(200));
    assert!(pacer.end().work() <= most);
}
