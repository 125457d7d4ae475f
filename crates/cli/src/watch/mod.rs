//! `punctual watch`.

mod live;
mod metrics;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::Args;
use punctual_core::{Method, Nanos, Rate};
use punctual_lab::host::{Stop, Witness, keep_off, usual_cpu};
use punctual_lab::wall_clock::WallClock;
use punctual_lab::watch::{Settings, Tally, Watcher, measurement, usual_threshold};
use punctual_os::thread::allowed_cpus;
use punctual_record::compare::{Comparison, Metric, RuleOutcome};
use punctual_record::{Disturbance, Experiment, Measurement, OwnStops, Run, StealDoubt};
use punctual_report::{Report, Setting, clock_step, hiccup, warnings};

use crate::compare::judge::judge;
use crate::compare::rule::{Judged, Limit, Rule};
use crate::console::columns;
use crate::host::refuse_a_faked_clock;
use crate::options::Output;
use crate::session::Outputs;
use crate::values::{cpu, length};
use crate::{Done, print, say, session, stop};
use live::{Printer, Teller};
use metrics::{Info, PATH, Server};

/// Runs the command.
pub(crate) fn run(args: &WatchArgs) -> Result<Done> {
    refuse_a_faked_clock()?;
    let stop = stop::on_ctrl_c()?;
    let settings = settings(args)?;
    let outputs = Outputs::new(&args.output)?;
    let server = args.listen.map(Server::bind).transpose()?;
    // Reading the facts takes milliseconds, so not during a watch.
    let facts = session::host_facts();
    let usual = || usual_threshold(args.method);
    let threshold = args.threshold.unwrap_or_else(usual);

    let witness = Witness::default();
    let mut watch = Watch::start(settings, threshold, args.fail_over, &stop)?;
    announce(args, &watch, server.as_ref())?;
    if let Some(server) = server {
        watch.serve(server);
    }
    let mut printer = Printer::start(watch.settings.cpu);
    let on = watch.settings.cpu;
    let cpus = on.map_or_else(allowed_cpus, |cpu| vec![cpu]);
    let over = witness.during(&cpus, || watch.follow(args, &stop, &mut printer));
    stop.end();
    let disturbance = witness.disturbance().map(|seen| watch.with_own(seen));

    let result = watch.result(args.fail_over);
    let setting = Setting {
        // A watch has one round, and no intervals that would need more.
        rounds: u32::MAX,
        simulated: false,
    };
    let run = Run {
        started_at: Some(session::date(instant(&watch.wall_clock, Nanos::ZERO))),
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
    let done = Done::by(judged.iter().map(|(outcome, _)| *outcome));
    if !judged.is_empty() {
        let failed = matches!(done, Done::Differs);
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
    args.output
        .refuse_unknown_tables(|| Measurement::sections(&run))?;
    Ok(match done {
        Done::Differs => done,
        _ if run.interrupted => Done::Interrupted,
        done => done,
    })
}

/// Whether a deadline was served or given up later than it may be, and how many were.
fn too_late(tally: &Tally, limit: Nanos) -> (RuleOutcome, String) {
    let (over, whole) = (tally.over_limit, &tally.whole);
    let outcome = match over {
        0 => RuleOutcome::Passes,
        _ => RuleOutcome::Fails,
    };
    let worst = Nanos::new(whole.max_ns());
    let why = format!(
        "{over} of {} deadlines later than the {limit} of --fail-over, the worst {worst}",
        whole.n()
    );
    (outcome, why)
}

/// The outcome of a rule.
fn of_rule(rule: &Rule, run: &Run) -> (RuleOutcome, String) {
    let compared = Comparison::of(&[("watch", run)]);
    match judge(rule, &compared) {
        Ok(judged) => (judged[0].outcome, format!("{rule}: {}", judged[0].why)),
        Err(why) => (RuleOutcome::Inconclusive, format!("{why:#}")),
    }
}

/// How often what was seen is collected.
const COLLECT: Nanos = Nanos::from_ms(100);

/// How often it is shown.
const SHOW: Nanos = Nanos::from_secs(1);

/// The width of what is shown where there is no terminal.
const WIDTH: usize = 80;

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
    let until = match args.length {
        Some(length) => format!("for {length}"),
        None => "until Ctrl-C".to_owned(),
    };
    let on = watch.settings.cpu;
    let on = on.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    say!(
        "watching {} every {}{on}, {until}; later than {} is a hiccup",
        watch.watcher.begun.method,
        args.period.period(),
        watch.tally().threshold,
    );
    if let Some(server) = server {
        let address = server.address()?;
        let port = address.port();
        let whom = match address.ip() {
            ip if ip.is_loopback() => {
                format!("for this machine only; --listen 0.0.0.0:{port} serves others too")
            }
            ip if ip.is_unspecified() => "for every machine that reaches this one".to_owned(),
            _ => "for machines that reach this address".to_owned(),
        };
        say!("metrics at http://{address}{PATH}, {whom}");
    }
    Ok(())
}

/// A watch under way.
struct Watch {
    settings: Settings,
    watcher: Watcher,
    /// Shared with those who scrape.
    tally: Arc<Mutex<Tally>>,
    wall_clock: WallClock,
}

impl Watch {
    fn start(
        settings: Settings,
        threshold: Nanos,
        fail_over: Option<Nanos>,
        stop: &Stop,
    ) -> Result<Self> {
        let mut watcher = Watcher::start(&settings, stop)?;
        let mut wall_clock = WallClock::default();
        wall_clock.read(watcher.clocks());
        if let Some(cpu) = settings.cpu {
            keep_off(cpu);
        }
        let mut tally = Tally::new(threshold, settings.rate.period(), watcher.begun.counts);
        tally.limit = fail_over;
        // Reads what was stolen before the first wait ends.
        watcher.collect(&mut tally);
        Ok(Self {
            settings,
            watcher,
            tally: Arc::new(Mutex::new(tally)),
            wall_clock,
        })
    }

    /// Serves the metrics on a thread of its own.
    fn serve(&self, server: Server) {
        let info = Info {
            method: self.watcher.begun.method.name(),
            period: self.settings.rate.period(),
            cpu: self.settings.cpu,
        };
        let (tally, cpu) = (Arc::clone(&self.tally), self.settings.cpu);
        std::thread::spawn(move || {
            cpu.inspect(|cpu| keep_off(*cpu));
            server.serve(move || metrics::exposition(&lock(&tally), &info))
        });
    }

    /// Collects and shows until the watch is over, its output is closed, or it is stopped. Returns
    /// whether that was its end.
    fn follow(&mut self, args: &WatchArgs, stop: &Stop, printer: &mut Printer) -> bool {
        let width = columns().unwrap_or(WIDTH);
        if !args.quiet {
            printer.line(live::head(width));
        }
        let mut show_at = SHOW;
        let mut teller = Teller::new(width);
        let (mut news, mut missed) = (vec![], 0);
        loop {
            let left = show_at - self.watcher.elapsed();
            self.watcher.wait(left.min(COLLECT));
            // Asked before what was seen is collected, so that nothing is left.
            let unread = printer.reader_has_gone() && args.ends_with_its_reader();
            let over = self.watcher.is_over() || unread;
            let last = over || stop.is_requested();
            if let Some(step) = self.wall_clock.read(self.watcher.clocks())
                && !args.quiet
            {
                let at = self.time_of_day(self.watcher.elapsed());
                let by = clock_step(&step);
                printer.line(format!("clock  {at}  the time of day was set by {by}"));
            }
            let mut tally = lock(&self.tally);
            self.watcher.collect(&mut tally);
            if last {
                tally.finish();
            }
            news.extend(tally.take_news());
            let elapsed = self.watcher.elapsed();
            if !args.quiet && (elapsed >= show_at || last) {
                let date = |at| time_of_day(&self.wall_clock, at);
                let lines = teller.lines(elapsed, std::mem::take(&mut news), date);
                let sum = last.then(|| teller.sum()).flatten();
                lines
                    .into_iter()
                    .chain(sum)
                    .for_each(|line| printer.line(line));
            }
            if elapsed >= show_at {
                let late = tally.take_window();
                if !args.quiet {
                    let lately = tally.missed - missed;
                    printer.line(live::second(elapsed, &late, lately, &tally, width));
                }
                missed = tally.missed;
                news.clear();
                show_at = SHOW.times(elapsed.as_ns() / SHOW.as_ns() + 1);
            }
            if last {
                return over;
            }
        }
    }

    /// With its own observations, which are more frequent than a witness's. They are waits during
    /// stops of punctual, steps of the wall clock, and counters that fell.
    fn with_own(&self, seen: Disturbance) -> Disturbance {
        let tally = self.tally();
        let stopped = tally.stopped;
        let [steal_fell, throttled_fell] = tally.have_fallen();
        let throttled_fell = seen.throttled_fell || throttled_fell;
        let steal_doubt = steal_fell.then_some(StealDoubt::Fell).or(seen.steal_doubt);
        Disturbance {
            clock_steps: self.wall_clock.steps(),
            throttled: seen.throttled.filter(|_| !throttled_fell),
            throttled_fell,
            stolen_ns: seen.stolen_ns.filter(|_| steal_doubt.is_none()),
            unseen_fraction: seen.unseen_fraction.filter(|_| steal_doubt.is_none()),
            steal_doubt,
            own_stops: OwnStops {
                waits: stopped.waits,
                late_ns: stopped.late.as_ns(),
                missed: stopped.missed,
            },
            ..seen
        }
    }

    fn result(&self, fail_over: Option<Nanos>) -> Measurement {
        let date = |at| self.date(at);
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

    /// The date so long after the watch began, in UTC.
    fn date(&self, after: Nanos) -> String {
        date(&self.wall_clock, after)
    }

    /// The same without the day.
    fn time_of_day(&self, after: Nanos) -> String {
        time_of_day(&self.wall_clock, after)
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        lock(&self.tally)
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The date so long after the watch began, in UTC.
fn date(wall_clock: &WallClock, after: Nanos) -> String {
    humantime::format_rfc3339_millis(instant(wall_clock, after)).to_string()
}

fn instant(wall_clock: &WallClock, after: Nanos) -> SystemTime {
    let since_1970 = wall_clock.date_ns(after).try_into().unwrap_or(0);
    UNIX_EPOCH + Duration::from_nanos(since_1970)
}

/// The same without the day.
fn time_of_day(wall_clock: &WallClock, after: Nanos) -> String {
    date(wall_clock, after).split_off("2026-11-25T".len())
}

/// The start of its help.
pub(crate) const ABOUT: &str = "\
Watch how late this computer's timers are, live: percentiles every second, and every hiccup with what the OS \
counted around it.

One thread on one CPU waits for absolute deadlines, 1 ms apart by default, with one OS call. A hiccup is a wait that ended \
later than --threshold. A deadline that passes before its wait begins is missed: one stall is one hiccup, and the deadlines \
during the stall are missed. The lateness of a missed deadline is the time until the thread was ready to wait again. \
Percentiles are of all deadlines, missed ones included. A cause is named only if its counter covers at least half of the \
lateness; else it is unknown. The watch lasts until Ctrl-C or the end of --for; then come the summary and the Run, also \
after SIGTERM.";

/// The end of its help.
pub(crate) const AFTER: &str = "\
Counters, where the OS has them: the time the thread waited for a CPU (schedstat), how often it was preempted and \
its page faults (getrusage), read after each wait (about 1 us). Ten times a second another thread on another CPU \
reads how long the hypervisor took its CPU (/proc/stat), how long the quota of a cgroup stopped it (cpu.stat), and which \
processes ran on its CPU (schedstat of every thread; less often if there are many). /proc/stat counts in steps of 10 ms, so \
it explains only hiccups of 5 ms or more. A wait in which punctual itself was stopped, as by Ctrl-Z, has the cause own_stop. \
This wait, and the deadlines that were missed by it, are in no other number.

Each second prints a line. The first ten hiccups are printed one by one; of the others there is a sum every ten seconds, with \
the worst. The Run has the first 10,000 one by one, and the number of all.

When the reader of the lines has gone, as after `| head -3`, the watch ends. It goes on with --listen, and with --for if \
--json, --plots, --fail-over or --fail-if needs the rest.

--fail-if takes the rules of `punctual compare` on lateness, missed deadlines, hiccups and CPU time: `p99.9 > 5ms`, \
`missed > 0`, `hiccups > 0.1 %` (of the deadlines), or `late > 1ms at most 1 %`, which fails if more than 1 % of the \
deadlines were later than 1 ms. A rule on a percentile is inconclusive if there are too few deadlines for it.

--listen serves /metrics to Prometheus: the histogram punctual_lateness_seconds, the counters \
punctual_hiccups_total{cause}, punctual_missed_deadlines_total, punctual_own_stops_total (waits in which punctual itself was \
stopped) and punctual_lost_waits_total (deadlines that were not collected in time, and are in no other metric), and \
punctual_watch_info. \
The histogram is of all deadlines, missed ones included.

Exit codes: 0 done (without --for, Ctrl-C is the end), 1 a deadline was later than --fail-over or a rule of --fail-if \
fails, 2 could not run, 3 a rule is inconclusive, or ended by Ctrl-C before the end of --for (what was seen is kept).

Examples:
  punctual watch
  punctual watch --for 60s --json watch.json
  punctual watch --for 10s --method timerfd --period 200us --threshold 100us
  punctual watch --for 30s --quiet --fail-over 5ms
  punctual watch --for 30s --quiet --fail-if 'missed > 0.1 %'
  punctual watch --for 30s --quiet --fail-if 'late > 1ms at most 1 %'
  punctual watch --listen 127.0.0.1:9464";

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// How long to watch, such as 60s or 8h [default: until Ctrl-C]
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) length: Option<Nanos>,

    /// The time between two deadlines, 50us to 60s
    #[arg(long, value_name = "LENGTH", default_value = "1ms", allow_hyphen_values = true, value_parser = period)]
    pub(crate) period: Rate,

    /// The OS call: sleep (the ordinary one), timer (the most exact one), or its name, as timerfd
    ///
    /// `punctual measure sleep` shows the names of all.
    #[arg(long, value_name = "CALL", default_value = "sleep")]
    pub(crate) method: Method,

    /// The CPU to watch [default: the last one]
    #[arg(short, long, value_name = "K", allow_hyphen_values = true, value_parser = cpu)]
    pub(crate) cpu: Option<usize>,

    /// A later wait is a hiccup [default: 500us, plus what the timer rule adds if that is 500us or more]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) threshold: Option<Nanos>,

    /// Exit with 1 if any deadline was later than this, missed ones included
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) fail_over: Option<Nanos>,

    /// Exit with 1 if a number of all deadlines is beyond a value: `p99 > 1ms`, `missed > 0`, `late > 1ms at most 1 %`. Can
    /// be repeated
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) fail_if: Vec<Rule>,

    /// Serve metrics to Prometheus: PORT for this computer only, ADDRESS:PORT on that address
    ///
    /// :PORT is the same as PORT. 0.0.0.0:PORT serves every computer that reaches this one.
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true, value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Print the summary at the end and nothing every second
    #[arg(long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

impl WatchArgs {
    /// Whether there is nothing left to do for it when its lines have no reader.
    pub(super) fn ends_with_its_reader(&self) -> bool {
        let Output { json, plots, .. } = &self.output;
        let is_kept = json.is_some() || plots.is_some();
        let wants_all = is_kept || self.fail_over.is_some() || !self.fail_if.is_empty();
        self.listen.is_none() && !(self.length.is_some() && wants_all)
    }
}

fn period(text: &str) -> Result<Rate, String> {
    let length = length(text)?;
    let watchable = punctual_lab::watch::PERIODS.contains(&length);
    Rate::from_period(length)
        .ok()
        .filter(|_| watchable)
        .ok_or_else(|| "choose a length from 50us to 60s".to_owned())
}

/// A rule on something that a watch measures.
fn rule(text: &str) -> Result<Rule, String> {
    const MEASURED: [Metric; 9] = [
        Metric::LATE_P50,
        Metric::LATE_P90,
        Metric::LATE_P99,
        Metric::LATE_P999,
        Metric::LATE_MAX,
        Metric::LATE_MEAN,
        Metric::CPU,
        Metric::MISSED,
        Metric::HICCUPS,
    ];
    let rule: Rule = text.parse()?;
    if matches!(rule.of, Judged::Metric(metric) if !MEASURED.contains(&metric)) {
        let names = MEASURED.map(|metric| metric.name).join(", ");
        return Err(format!(
            "a watch does not measure that; it measures {names}, and late > LENGTH"
        ));
    }
    match rule.limit {
        Limit::Value(_) | Limit::Count(_) => Ok(rule),
        Limit::Factor(_) => {
            Err("there is nothing that a watch is compared with; give a value".to_owned())
        }
    }
}

/// Where only programs of this machine can read, unless an address is named.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:").or(text.strip_prefix(':'));
    if let Ok(port) = local.unwrap_or(text).parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        "write it like 9464 (this machine only), [::1]:9464 or 0.0.0.0:9464 (every machine)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_this_machine_unless_another_is_named() {
        for (text, meant) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:0", "127.0.0.1:0"),
            ("127.0.0.1:9464", "127.0.0.1:9464"),
            ("[::1]:9464", "[::1]:9464"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), meant);
        }
        for wrong in ["", ":", "70000", "-1", "here:80", "127.0.0.1", "1.2.3.4:x"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
