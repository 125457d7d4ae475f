//! What `punctual watch` takes.

use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;
use punctual_core::{Method, Nanos, Rate};
use punctual_record::compare::Metric;

use crate::compare::rule::{Limit, Rule};
use crate::options::Output;
use crate::values::{cpu, length};

/// What its help begins with.
pub(crate) const ABOUT: &str = "\
Watch how late this machine's timers are, live: percentiles every second, and every hiccup with what the OS \
counted around it.

One thread waits for absolute deadlines, 1 ms apart unless you say otherwise, with one OS call on one CPU. A cause is \
named only where its counter covers at least half of the lateness; otherwise it is unknown. Takes until Ctrl-C, or as \
long as --for says; the summary and the Run come at the end, also after Ctrl-C or SIGTERM.";

/// What its help ends with.
pub(crate) const AFTER: &str = "\
Counters, where the OS has them: the time the thread waited for a CPU (schedstat), how often it was preempted and \
its page faults (getrusage), read after each wait (about 1 us). Ten times a second another thread on another CPU \
reads the time the hypervisor took its CPU (/proc/stat, in steps of 10 ms, so it is the cause of nothing shorter than \
5 ms), for how long the quota of a cgroup stopped it (cpu.stat), and who else ran on its CPU (schedstat of every \
thread; less often where there are many). A wait in which punctual itself was stopped, as by Ctrl-Z, is told as \
own_stop and counts in no lateness.

When what reads the lines has gone, as after `| head -3`, the watch ends: at once, unless --listen serves others, or \
--for says how long and --json, --fail-over or --fail-if is about all of it.

--fail-if takes the rules of `punctual compare` on lateness and CPU time. A percentile that too few waits back is \
inconclusive.

--listen serves /metrics to Prometheus: the histogram punctual_lateness_seconds, the counters \
punctual_hiccups_total{cause}, punctual_missed_deadlines_total and punctual_lost_waits_total, and punctual_watch_info.

Exit codes: 0 done (without --for, Ctrl-C is the end), 1 a wait was later than --fail-over or a rule of --fail-if \
fails, 2 could not run, 3 a rule is inconclusive, or ended by Ctrl-C before the end of --for (what was seen is kept).

Examples:
  punctual watch
  punctual watch --for 60s --json watch.json
  punctual watch --for 10s --method timerfd --period 200us --threshold 100us
  punctual watch --for 30s --quiet --fail-over 5ms
  punctual watch --for 30s --quiet --fail-if 'p99 > 1ms'
  punctual watch --listen 127.0.0.1:9464";

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// How long to watch, such as 60s [default: until Ctrl-C]
    #[arg(long = "for", value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) length: Option<Nanos>,

    /// How far deadlines are apart, 50us to 60s
    #[arg(long, value_name = "LENGTH", default_value = "1ms", allow_hyphen_values = true, value_parser = period)]
    pub(crate) period: Rate,

    /// The OS call to wait with: sleep, timer, or one by its name
    #[arg(long, value_name = "CALL", default_value = "sleep")]
    pub(crate) method: Method,

    /// The CPU to watch [default: the last one]
    #[arg(short, long, value_name = "K", allow_hyphen_values = true, value_parser = cpu)]
    pub(crate) cpu: Option<usize>,

    /// Later than this is a hiccup [default: 500us, and what the timer rule in force adds by itself if that is more]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) threshold: Option<Nanos>,

    /// Exit with 1 if any wait was later than this
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = length)]
    pub(crate) fail_over: Option<Nanos>,

    /// Exit with 1 if a number of all waits is beyond a value: `p99 > 1ms`, `mean > 200us`, `cpu > 5%`; can be given often
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) fail_if: Vec<Rule>,

    /// Serve metrics to Prometheus here: PORT (of 127.0.0.1), or ADDRESS:PORT
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true, value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Print the summary at the end and nothing every second
    #[arg(long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) output: Output,
}

impl WatchArgs {
    /// Whether there is nothing left to do for it when nobody reads its lines.
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
    const MEASURED: [Metric; 6] = [
        Metric::LATE_P50,
        Metric::LATE_P90,
        Metric::LATE_P99,
        Metric::LATE_MAX,
        Metric::LATE_MEAN,
        Metric::CPU,
    ];
    let rule: Rule = text.parse()?;
    if !MEASURED.contains(&rule.metric) {
        let names = MEASURED.map(Metric::name).join(", ");
        return Err(format!(
            "a watch does not measure that; it measures {names}"
        ));
    }
    match rule.limit {
        Limit::Value(_) => Ok(rule),
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
    text.parse()
        .map_err(|_| "write it like 9464, 127.0.0.1:9464 or [::1]:9464".to_owned())
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
