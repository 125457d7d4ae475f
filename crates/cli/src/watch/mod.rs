//! `punctual watch`.

pub(crate) mod args;
mod live;
mod metrics;
mod server;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, bail};
use jiff::{SignedDuration, Timestamp};
use punctual_core::Nanos;
use punctual_lab::host::{Stop, Witness, keep_off, usual_cpu};
use punctual_lab::watch::{Settings, Tally, Watcher, measurement, usual_threshold};
use punctual_record::compare::{Comparison, RuleOutcome};
use punctual_record::{Disturbance, Experiment, Measurement, OwnStops, Run};
use punctual_report::{Setting, hiccup, warnings};

use crate::compare::judge;
use crate::compare::rule::Rule;
use punctual_os::thread::allowed_cpus;

use crate::session::Outputs;
use crate::{Done, print, say, session, stop};
use args::WatchArgs;
use live::Printer;
use metrics::Info;
use server::{PATH, Server};

/// Runs the command.
pub(crate) fn run(args: &WatchArgs) -> Result<Done> {
    let stop = stop::on_ctrl_c()?;
    let settings = settings(args)?;
    let outputs = Outputs::new(&args.output)?;
    let server = args.listen.map(Server::bind).transpose()?;
    // Reading the facts takes milliseconds, so not while somebody is watched.
    let facts = session::host_facts();
    let threshold = args
        .threshold
        .unwrap_or_else(|| usual_threshold(args.method));

    let witness = Witness::new();
    let mut watch = Watch::start(settings, threshold, args.fail_over, &stop)?;
    announce(args, &watch, server.as_ref())?;
    if let Some(server) = server {
        watch.serve(server);
    }
    let mut printer = Printer::start(watch.settings.cpu);
    let cpus = watch
        .settings
        .cpu
        .map_or_else(allowed_cpus, |cpu| vec![cpu]);
    let over = witness.during(&cpus, || watch.follow(args, &stop, &mut printer));
    let disturbance = witness.disturbance().map(|seen| watch.with_own_stops(seen));

    let result = watch.result(args.fail_over);
    let setting = Setting {
        // A watch has one round, and no intervals that would need more.
        rounds: u32::MAX,
        simulated: false,
    };
    let run = Run {
        started_at: Some(watch.began.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        // Without an end in view, Ctrl-C is the end.
        interrupted: args.length.is_some() && !over,
        warnings: warnings(&facts, std::slice::from_ref(&result), setting),
        machine: facts,
        results: vec![result],
        ..session::run()
    };
    let mut run = session::disturbed(run, disturbance);
    let mut judged: Vec<(RuleOutcome, String)> = Vec::new();
    judged.extend(args.fail_over.map(|limit| too_late(&watch.tally(), limit)));
    judged.extend(args.fail_if.iter().map(|rule| of_rule(rule, &run)));
    let any = |outcome| judged.iter().any(|(of, _)| *of == outcome);
    if !judged.is_empty() {
        let failed = any(RuleOutcome::Fails);
        if let Experiment::Watch(watch) = &mut run.results[0].experiment {
            watch.failed = Some(failed);
        }
    }
    // Before anything is printed, which may take as long as its reader likes.
    outputs.write(&run)?;
    if let dropped @ 1.. = printer.finish() {
        say!("{dropped} lines were not printed: the output was not read in time");
    }
    let gap = if args.quiet { "" } else { "\n" };
    print(&format!("{gap}{}", args.output.of(&run)))?;
    for (outcome, why) in &judged {
        say!("{}: {why}", outcome.name());
    }
    Ok(if any(RuleOutcome::Fails) {
        Done::Differs
    } else if run.interrupted {
        Done::Interrupted
    } else if any(RuleOutcome::Inconclusive) {
        Done::Inconclusive
    } else {
        Done::Whole
    })
}

/// Whether a wait was later than it may be, and how many were.
fn too_late(tally: &Tally, limit: Nanos) -> (RuleOutcome, String) {
    let outcome = match tally.over_limit() {
        0 => RuleOutcome::Passes,
        _ => RuleOutcome::Fails,
    };
    let (over, whole) = (tally.over_limit(), tally.whole());
    let worst = Nanos::new(whole.max_ns());
    let why = format!(
        "{over} of {} waits later than the {limit} of --fail-over, the worst {worst}",
        whole.n()
    );
    (outcome, why)
}

/// What comes of a rule.
fn of_rule(rule: &Rule, run: &Run) -> (RuleOutcome, String) {
    let compared = Comparison::of(&[("watch", run)]);
    match judge::judge(rule, &compared) {
        Ok(judged) => (judged[0].outcome, format!("{rule}: {}", judged[0].why)),
        Err(why) => (RuleOutcome::Inconclusive, format!("{why:#}")),
    }
}

/// How often what was seen is collected.
const COLLECT: Nanos = Nanos::from_ms(100);

/// How often it is shown.
const SHOW: Nanos = Nanos::from_secs(1);

fn settings(args: &WatchArgs) -> Result<Settings> {
    let mut settings = Settings {
        rate: args.period,
        method: args.method,
        cpu: args.cpu.or_else(usual_cpu),
        deadlines: None,
    };
    if let Some(length) = args.length {
        let deadlines = settings.deadlines_within(length);
        if deadlines == 0 {
            let period = args.period.period();
            bail!("--for {length} is shorter than one period of {period}: watch for longer");
        }
        settings.deadlines = Some(deadlines);
    }
    Ok(settings)
}

/// Says what is watched, and where to scrape it.
fn announce(args: &WatchArgs, watch: &Watch, server: Option<&Server>) -> Result<()> {
    let until = args.length.map_or_else(
        || "until Ctrl-C".to_owned(),
        |length| format!("for {length}"),
    );
    let on = watch
        .settings
        .cpu
        .map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    say!(
        "watching {} every {}{on}, {until}; later than {} is a hiccup",
        watch.watcher.method(),
        args.period.period(),
        watch.tally().threshold(),
    );
    if let Some(server) = server {
        say!("metrics at http://{}{PATH}", server.address()?);
    }
    Ok(())
}

/// A watch under way.
struct Watch {
    settings: Settings,
    watcher: Watcher,
    /// Shared with those who scrape.
    tally: Arc<Mutex<Tally>>,
    began: Timestamp,
}

impl Watch {
    fn start(
        settings: Settings,
        threshold: Nanos,
        fail_over: Option<Nanos>,
        stop: &Stop,
    ) -> Result<Self> {
        let mut watcher = Watcher::start(&settings, stop)?;
        let began = Timestamp::now();
        if let Some(cpu) = settings.cpu {
            keep_off(cpu);
        }
        let tally = Tally::new(threshold, settings.rate.period(), watcher.first_counts());
        let mut tally = tally.with_limit(fail_over);
        // Reads what was stolen before the first wait ends.
        watcher.collect(&mut tally);
        Ok(Self {
            settings,
            watcher,
            tally: Arc::new(Mutex::new(tally)),
            began,
        })
    }

    /// Serves the metrics on a thread of its own.
    fn serve(&self, server: Server) {
        let info = Info {
            method: self.watcher.method().name(),
            period: self.settings.rate.period(),
            cpu: self.settings.cpu,
        };
        let (tally, cpu) = (Arc::clone(&self.tally), self.settings.cpu);
        std::thread::spawn(move || {
            cpu.inspect(|cpu| keep_off(*cpu));
            server.serve(move || metrics::exposition(&lock(&tally), &info))
        });
    }

    /// Collects and shows until the watch is over, nobody reads it any more, or
    /// it is stopped, and returns whether that was its end.
    fn follow(&mut self, args: &WatchArgs, stop: &Stop, printer: &mut Printer) -> bool {
        if !args.quiet {
            printer.line(live::head());
        }
        let mut show_at = SHOW;
        let (mut news, mut missed) = (vec![], 0);
        loop {
            let left = show_at - self.watcher.elapsed();
            self.watcher.wait(left.min(COLLECT));
            // Asked before what was seen is collected, so that nothing is left.
            let unread = printer.reader_has_gone() && args.ends_with_its_reader();
            let over = self.watcher.is_over() || unread;
            let last = over || stop.is_requested();
            let mut tally = lock(&self.tally);
            self.watcher.collect(&mut tally);
            if last {
                tally.finish();
            }
            news.extend(tally.take_news());
            let elapsed = self.watcher.elapsed();
            if !args.quiet && (elapsed >= show_at || last) {
                let date = |at| date(self.began, at, "%H:%M:%S%.3fZ");
                for line in live::hiccups(&std::mem::take(&mut news), date) {
                    printer.line(line);
                }
            }
            if elapsed >= show_at {
                let late = tally.take_window();
                if !args.quiet {
                    let skipped = tally.missed() - missed;
                    printer.line(live::second(elapsed, &late, skipped, &tally));
                }
                missed = tally.missed();
                news.clear();
                show_at = SHOW.times(elapsed.as_ns() / SHOW.as_ns() + 1);
            }
            if last {
                return over;
            }
        }
    }

    /// With the waits that are left out, as punctual itself was stopped in them.
    fn with_own_stops(&self, seen: Disturbance) -> Disturbance {
        let stopped = self.tally().stopped();
        Disturbance {
            own_stops: OwnStops {
                waits: stopped.waits,
                late_ns: stopped.late.as_ns(),
                missed: stopped.missed,
            },
            ..seen
        }
    }

    fn result(&self, fail_over: Option<Nanos>) -> Measurement {
        let date = |at| date(self.began, at, "%Y-%m-%dT%H:%M:%S%.3fZ");
        let tally = self.tally();
        let mut result = measurement(&self.settings, &self.watcher, &tally, date);
        if let Experiment::Watch(watch) = &mut result.experiment {
            watch.fail_over_ns = fail_over.map(Nanos::as_ns);
            for late in &mut watch.hiccups {
                late.in_words = hiccup(late);
            }
        }
        result
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        lock(&self.tally)
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The date so long after `began`, in UTC.
fn date(began: Timestamp, after: Nanos, format: &str) -> String {
    let ns = i64::try_from(after.as_ns()).unwrap_or(i64::MAX);
    let date = began.saturating_add(SignedDuration::from_nanos(ns));
    date.unwrap_or(began).strftime(format).to_string()
}
