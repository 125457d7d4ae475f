//! Small programs in the manner of others that were ported to this library, with the calls that
//! they needed. Each runs for some ticks, and asserts no durations but "never early".

use std::sync::mpsc;
use std::time::{Duration, Instant};

use punctual::{
    Budget, Cancel, FramePacer, MissedTickBehavior, Pacer, Period, Strategy, Tick, Ticker, Waiter,
    interval,
};

/// A loop whose owner only has `&mut` of it, as a resource of an engine or a field.
struct Clockwork {
    ticker: Ticker,
    frames: FramePacer,
    reports: Vec<f64>,
    /// When the last report was, and of how many ticks.
    reported: (Instant, u64),
}

impl Clockwork {
    fn configure(&mut self, settings: &Settings) -> Result<(), punctual::Error> {
        let waiter = |budget| Waiter::builder().budget(budget).build();
        if self.ticker.period() != settings.period {
            self.ticker.set_period(settings.period);
            self.frames.set_period(settings.period);
        }
        self.ticker.set_missed_tick_behavior(settings.behavior);
        self.ticker.set_waiter(waiter(settings.budget)?);
        self.frames.set_waiter(waiter(settings.budget)?);
        self.frames.set_safety(settings.safety);
        self.ticker.reset();
        Ok(())
    }

    /// Does the same as `RateReporter::increment_and_report` of spin_sleep_util.
    fn report(&mut self, period: Duration) {
        let (since, before) = self.reported;
        let (now, ticks) = (Instant::now(), self.ticker.counts().ticks);
        let elapsed = now.saturating_duration_since(since);
        if elapsed >= period {
            self.reports
                .push((ticks - before) as f64 / elapsed.as_secs_f64());
            self.reported = (now, ticks);
        }
    }
}

struct Settings {
    period: Period,
    behavior: MissedTickBehavior,
    budget: Budget,
    safety: Duration,
}

#[test]
fn a_loop_is_configured_while_it_runs_and_reports_its_rate() {
    let mut clockwork = Clockwork {
        ticker: interval(Period::const_hz::<1_000>()),
        frames: FramePacer::at_end(Period::const_hz::<1_000>()),
        reports: Vec::new(),
        reported: (Instant::now(), 0),
    };
    // No tick of it spins, as with `tick_no_spin` of spin_sleep_util.
    let settings = Settings {
        period: Period::const_hz::<2_000>(),
        behavior: MissedTickBehavior::Burst,
        budget: Budget::NeverSpin,
        safety: Duration::from_micros(200),
    };
    clockwork.configure(&settings).unwrap();
    let start = clockwork.ticker.next_at();
    for number in 0..10 {
        let tick: Tick = clockwork.ticker.tick();
        assert!(Instant::now() >= tick.scheduled());
        assert_eq!(tick.scheduled(), start + number * settings.period.times(1));
        assert_eq!(tick.outcome().spun(), Duration::ZERO);
        clockwork.frames.begin();
        clockwork.frames.end();
        clockwork.report(Duration::ZERO);
    }
    // At least the slot before `reset`.
    assert!(clockwork.ticker.counts().missed >= 1);
    assert_eq!(clockwork.reports.len(), 10);
    assert!(clockwork.reports.iter().all(|rate| *rate > 0.0));
}

/// A player that waits for lengths, and stops in the middle of one.
#[test]
fn a_player_sleeps_for_lengths_until_it_is_stopped() {
    let (stop, played) = (Cancel::new(), mpsc::channel());
    let player = std::thread::spawn({
        let stop = stop.clone();
        move || {
            let (mut waiter, rest) = (Waiter::new(), Duration::from_micros(200));
            let begin = Instant::now();
            assert!(waiter.sleep_or(rest, &stop).is_ok() && begin.elapsed() >= rest);
            played.0.send(()).unwrap();
            assert!(waiter.sleep_or(Duration::from_secs(3_600), &stop).is_err());
        }
    });
    played.1.recv().unwrap();
    stop.cancel();
    player.join().unwrap();
}

/// An event loop that waits for input until the next slot, and takes what is due.
#[test]
fn an_event_loop_takes_the_ticks_that_are_due() {
    let mut ticker = interval(Period::const_hz::<2_000>());
    let mut sends = Pacer::new(ticker.period());
    sends.set_missed_tick_behavior(MissedTickBehavior::Skip);
    sends.set_waiter(
        Waiter::builder()
            .strategy(Strategy::system())
            .build()
            .unwrap(),
    );
    let (mut ticks, mut sent) = (0, 0);
    while ticks < 5 || sent < 5 {
        if let Some(tick) = ticker.try_tick() {
            assert!(Instant::now() >= tick.scheduled());
            ticks += 1;
        }
        sent += u32::from(sends.try_next_slot().is_some());
        std::thread::yield_now();
    }
}
