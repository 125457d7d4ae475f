//! The result of the parsers, and the Run that it becomes.

use punctual_record::{
    Beyond, Binned, Experiment, Findings, HostFacts, Imported, Late, Logged, LoggedKind,
    MachineFacts, Measurement, Run, Stated, Warning, visible,
};

/// The content of a file.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Which format.
    pub(crate) format: &'static str,
    /// The logged values, one at least.
    pub(crate) series: Vec<Series>,
    /// The facts that the file cannot tell, a sentence each.
    pub(crate) untold: Vec<String>,
    /// The command line, where the file has it.
    pub(crate) command: Option<String>,
    /// When it began, in UTC after RFC 3339.
    pub(crate) started_at: Option<String>,
    /// The operating system.
    pub(crate) os: String,
    /// Its kernel.
    pub(crate) kernel: Option<String>,
    /// The CPU.
    pub(crate) cpu_model: Option<String>,
}

/// Waits or frames of one kind.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) subject: String,
    pub(crate) of: LoggedKind,
    pub(crate) period_ns: Option<u64>,
    /// Whether another series has all of it.
    pub(crate) is_part: bool,
    pub(crate) values: Values,
}

/// The values of a series.
#[derive(Debug)]
pub(crate) enum Values {
    /// One by one: each wait or frame.
    Each(Vec<Wait>),
    /// Counted in bins.
    Bins {
        bins: Vec<(u64, u64)>,
        beyond: Option<Beyond>,
        stated: Stated,
    },
}

/// A wait, a frame or a length, in nanoseconds; `None` is what the file does not say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    pub(crate) late: Option<i64>,
    pub(crate) length: Option<u64>,
    /// When it ended, from any instant.
    pub(crate) at: Option<u64>,
}

impl Series {
    /// Of values that the file has one by one.
    pub(crate) fn of(subject: impl Into<String>, of: LoggedKind, each: Vec<Wait>) -> Self {
        Self {
            subject: subject.into(),
            of,
            period_ns: None,
            is_part: false,
            values: Values::Each(each),
        }
    }

    /// How many values it has.
    pub(crate) fn n(&self) -> u64 {
        match &self.values {
            Values::Each(each) => each.len() as u64,
            Values::Bins { bins, beyond, .. } => Binned {
                bins,
                beyond: *beyond,
            }
            .n(),
        }
    }

    fn measurement(self, usual_period_ns: Option<u64>) -> Measurement {
        let is_late = matches!(self.of, LoggedKind::Deadlines | LoggedKind::Waits);
        let mut log = Logged {
            of: self.of,
            period_ns: self.period_ns.or(usual_period_ns.filter(|_| is_late)),
            is_part: self.is_part,
            ..Logged::default()
        };
        let mut m = Measurement::default();
        match self.values {
            Values::Bins {
                bins,
                beyond,
                stated,
            } => {
                let all = Binned {
                    bins: &bins,
                    beyond,
                };
                let late = all.late(stated);
                log.p9999_ns = all.percentile(9_999);
                *(if is_late {
                    &mut m.late_ns
                } else {
                    &mut log.lengths_ns
                }) = late;
                log.beyond = beyond.filter(|beyond| beyond.n > 0);
                log.histogram_ns = bins;
            }
            Values::Each(each) => {
                m.samples_late_ns = each.iter().filter_map(|wait| wait.late).collect();
                m.samples_slept_ns = each.iter().filter_map(|wait| wait.length).collect();
                let ends: Option<Vec<u64>> = each.iter().map(|wait| wait.at).collect();
                let ends = ends.unwrap_or_default();
                let begin = ends.iter().copied().min().unwrap_or(0);
                m.samples_woke_ns = ends.into_iter().map(|at| at - begin).collect();
                m.late_ns = Late::of(&m.samples_late_ns);
                let lengths: Vec<i64> = m.samples_slept_ns.iter().map(|ns| *ns as i64).collect();
                log.lengths_ns = Late::of(&lengths);
                log.p9999_ns = p9999(if m.late_ns.n > 0 {
                    &m.samples_late_ns
                } else {
                    &lengths
                });
            }
        }
        Measurement {
            experiment: Experiment::Log(Box::new(log)),
            subject: visible(&self.subject).into_owned(),
            ..m
        }
    }
}

/// 99.99 % of the samples are at most this, if ten lie above it.
fn p9999(samples: &[i64]) -> Option<i64> {
    let n = samples.len();
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    (n >= 100_000).then(|| sorted[(n * 9_999).div_ceil(10_000) - 1])
}

impl Log {
    /// Of a format, with nothing yet.
    pub(crate) fn new(format: &'static str) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }

    /// Adds a sentence on what the file cannot tell.
    pub(crate) fn cannot_tell(&mut self, what: impl Into<String>) {
        self.untold.push(what.into());
    }

    /// As a Run.
    pub(crate) fn run(self, period_ns: Option<u64>) -> Run {
        let seen = |text: String| visible(&text).into_owned();
        let untold: Vec<String> = self.untold.into_iter().map(seen).collect();
        let warning = |what: &String| Warning::new(what.clone(), "");
        let series = self.series.into_iter().filter(|series| series.n() > 0);
        Run {
            started_at: self.started_at.map(seen),
            punctual_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.map_or_else(|| self.format.to_owned(), seen),
            machine: MachineFacts {
                name: "another program's log".to_owned(),
                os: seen(self.os),
                host: HostFacts {
                    kernel: self.kernel.map(seen),
                    cpu_model: self.cpu_model.map(seen),
                    ..HostFacts::default()
                },
                ..MachineFacts::default()
            },
            warnings: untold.iter().map(warning).collect(),
            results: series.map(|series| series.measurement(period_ns)).collect(),
            beside: Findings {
                imported: Some(Imported {
                    format: self.format.to_owned(),
                    untold,
                }),
                ..Findings::default()
            },
            ..Run::default()
        }
    }
}
