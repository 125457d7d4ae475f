//! A watch for Prometheus: its text format, version 0.0.4
//! (prometheus.io/docs/instrumenting/exposition_formats), and the few lines of HTTP/1.1 that a
//! scrape needs: GET, one answer per connection.
//!
//! This server is our own, because a silent client must cost nothing: every connection has a
//! deadline, and there are never more than a few. tiny_http, the usual choice, sets no timeouts on
//! its connections. It gives each silent one a thread for as long as it likes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use punctual_core::Nanos;
use punctual_lab::watch::Tally;
use punctual_record::experiment::Cause;

/// The labels of `punctual_watch_info`.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub(super) method: &'static str,
    pub(super) period: Nanos,
    pub(super) cpu: Option<usize>,
}

/// All metrics, each with what it means and its type.
pub(super) fn exposition(tally: &Tally, info: &Info) -> String {
    let bucket = |(bound, count): (Nanos, u64)| {
        let seconds = bound.as_secs_f64();
        format!("punctual_lateness_seconds_bucket{{le=\"{seconds}\"}} {count}\n")
    };
    let hiccups = |cause: Cause| {
        let (name, count) = (cause.name(), tally.hiccups_by(cause));
        format!("punctual_hiccups_total{{cause=\"{name}\"}} {count}\n")
    };
    let causes = Cause::ALL.into_iter();
    let causes = causes.filter(|cause| *cause != Cause::OwnStop);
    format!(
        "\
# HELP punctual_lateness_seconds How late each deadline was served, or given up if it was missed.
# TYPE punctual_lateness_seconds histogram
{buckets}\
punctual_lateness_seconds_bucket{{le=\"+Inf\"}} {count}
punctual_lateness_seconds_sum {sum}
punctual_lateness_seconds_count {count}
# HELP punctual_hiccups_total Waits that ended later than the threshold, by cause.
# TYPE punctual_hiccups_total counter
{hiccups}\
# HELP punctual_missed_deadlines_total Deadlines that had passed before their wait began; the histogram has them too.
# TYPE punctual_missed_deadlines_total counter
punctual_missed_deadlines_total {missed}
# HELP punctual_own_stops_total Waits in which punctual itself was stopped; they and what they missed are in no other metric.
# TYPE punctual_own_stops_total counter
punctual_own_stops_total {own_stops}
# HELP punctual_lost_waits_total Deadlines that were not collected in time and are in no other metric.
# TYPE punctual_lost_waits_total counter
punctual_lost_waits_total {lost}
# HELP punctual_watch_info What is watched: the OS call, the period and the threshold in seconds, the CPU.
# TYPE punctual_watch_info gauge
punctual_watch_info{{version=\"{version}\",method=\"{method}\",period_seconds=\"{period}\",\
threshold_seconds=\"{threshold}\",cpu=\"{cpu}\"}} 1
",
        buckets = tally.cumulative().map(bucket).collect::<String>(),
        count = tally.whole.n(),
        sum = tally.whole.sum_ns() as f64 / 1e9,
        hiccups = causes.map(hiccups).collect::<String>(),
        missed = tally.missed,
        own_stops = tally.stopped.waits,
        lost = tally.lost,
        version = env!("CARGO_PKG_VERSION"),
        method = info.method,
        period = info.period.as_secs_f64(),
        threshold = tally.threshold.as_secs_f64(),
        cpu = info.cpu.map_or_else(String::new, |cpu| cpu.to_string()),
    )
}

/// The path that is served.
pub(super) const PATH: &str = "/metrics";

/// A port that is taken, before anybody is served.
pub(super) struct Server(TcpListener);

impl Server {
    /// Takes the port; 0 stands for any that is free.
    pub(super) fn bind(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).with_context(|| {
            format!("cannot listen on {address}; choose another port with --listen, or 0 for any")
        })?;
        Ok(Self(listener))
    }

    /// Where it listens.
    pub(super) fn address(&self) -> Result<SocketAddr> {
        self.0.local_addr().context("cannot find the port")
    }

    /// Serves what `page` gives, until the process ends.
    pub(super) fn serve(self, page: impl Fn() -> String + Send + Sync + 'static) -> ! {
        let (page, busy) = (Arc::new(page), Arc::new(AtomicUsize::new(0)));
        loop {
            let Ok((stream, _)) = self.0.accept() else {
                // No descriptor is free, or the client has gone: not at once again.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            if busy.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
                busy.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (page, busy) = (Arc::clone(&page), Arc::clone(&busy));
            let for_thread = Arc::clone(&busy);
            let answering = std::thread::Builder::new().spawn(move || {
                // A client that went away wants no answer.
                let _ = answer(stream, &*page);
                for_thread.fetch_sub(1, Ordering::Relaxed);
            });
            // Without a thread the connection is closed, as those beyond the limit are.
            if answering.is_err() {
                busy.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

/// Connections beyond this are closed.
const MOST_AT_ONCE: usize = 16;

/// The time limit for a request and its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The size limit for a request line and its headers.
const LONGEST: usize = 8 << 10;

fn answer(mut stream: TcpStream, page: &dyn Fn() -> String) -> std::io::Result<()> {
    let head = read_head(&mut stream)?;
    let request = Request::of(&head);
    let (status, allow, body) = match request {
        None => (
            "400 Bad Request",
            "",
            "This is no HTTP request.\n".to_owned(),
        ),
        Some(Request::Page { .. }) => ("200 OK", "", page()),
        Some(Request::Nothing { .. }) => {
            ("404 Not Found", "", format!("There is only {PATH} here.\n"))
        }
        Some(Request::Write) => (
            "405 Method Not Allowed",
            "Allow: GET, HEAD\r\n",
            "This is to be read only.\n".to_owned(),
        ),
    };
    let mut text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        body.len()
    );
    let only_the_head = matches!(
        request,
        Some(Request::Page { body: false } | Request::Nothing { body: false })
    );
    if !only_the_head {
        text += &body;
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// Reads up to the empty line. A request that is too long or too slow is cut off, and is then
/// invalid.
fn read_head(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < LONGEST {
        let left = end.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let read = stream.read(&mut part)?;
        if read == 0 || left.is_zero() {
            break;
        }
        head.extend_from_slice(&part[..read]);
    }
    Ok(head)
}

/// A client's request. The answer to HEAD never has a body.
#[derive(Debug, PartialEq)]
enum Request {
    /// The page, or only what it would come with.
    Page { body: bool },
    /// Something that is not here.
    Nothing { body: bool },
    /// Something else than reading.
    Write,
}

impl Request {
    /// Of a request line as RFC 9112 has it, and headers; `None` for anything
    /// else.
    fn of(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let line = head.split_once("\r\n\r\n")?.0.lines().next()?;
        let [method, target, version] = line.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        if !version.starts_with("HTTP/1.") || !target.starts_with('/') {
            return None;
        }
        let path = target.split('?').next();
        let body = method == "GET";
        Some(match method {
            "GET" | "HEAD" if path == Some(PATH) => Self::Page { body },
            "GET" | "HEAD" => Self::Nothing { body },
            _ => Self::Write,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_lab::watch::{Missed, Seen, Wake};

    #[test]
    fn a_watch_reads_as_the_format_says() {
        let mut tally = Tally::new(Nanos::from_us(500), Nanos::from_ms(1), Default::default());
        for late in [900, 1_000, 55_000, 700_000, 250_000_000] {
            tally.add(&Seen::Wake(Wake {
                due: Nanos::from_ms(1),
                late: Nanos::new(late),
                counts: Default::default(),
            }));
        }
        tally.add(&Seen::Missed(Missed {
            first: Nanos::from_ms(2),
            count: 3,
            given_up: Nanos::from_us(4_500),
        }));
        tally.finish();
        let info = Info {
            method: "clock_nanosleep+slack=1ns",
            period: Nanos::from_us(1_500),
            cpu: Some(3),
        };
        let text = exposition(&tally, &info);
        let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        assert_eq!(text, EXPECTED);
    }

    const EXPECTED: &str = r#"# HELP punctual_lateness_seconds How late each deadline was served, or given up if it was missed.
# TYPE punctual_lateness_seconds histogram
punctual_lateness_seconds_bucket{le="0.000001"} 2
punctual_lateness_seconds_bucket{le="0.000002"} 2
punctual_lateness_seconds_bucket{le="0.000005"} 2
punctual_lateness_seconds_bucket{le="0.00001"} 2
punctual_lateness_seconds_bucket{le="0.00002"} 2
punctual_lateness_seconds_bucket{le="0.00005"} 2
punctual_lateness_seconds_bucket{le="0.0001"} 3
punctual_lateness_seconds_bucket{le="0.0002"} 3
punctual_lateness_seconds_bucket{le="0.0005"} 4
punctual_lateness_seconds_bucket{le="0.001"} 5
punctual_lateness_seconds_bucket{le="0.002"} 6
punctual_lateness_seconds_bucket{le="0.005"} 7
punctual_lateness_seconds_bucket{le="0.01"} 7
punctual_lateness_seconds_bucket{le="0.02"} 7
punctual_lateness_seconds_bucket{le="0.05"} 7
punctual_lateness_seconds_bucket{le="0.1"} 7
punctual_lateness_seconds_bucket{le="+Inf"} 8
punctual_lateness_seconds_sum 0.2552569
punctual_lateness_seconds_count 8
# HELP punctual_hiccups_total Waits that ended later than the threshold, by cause.
# TYPE punctual_hiccups_total counter
punctual_hiccups_total{cause="throttled"} 0
punctual_hiccups_total{cause="queued"} 0
punctual_hiccups_total{cause="stolen"} 0
punctual_hiccups_total{cause="unknown"} 2
# HELP punctual_missed_deadlines_total Deadlines that had passed before their wait began; the histogram has them too.
# TYPE punctual_missed_deadlines_total counter
punctual_missed_deadlines_total 3
# HELP punctual_own_stops_total Waits in which punctual itself was stopped; they and what they missed are in no other metric.
# TYPE punctual_own_stops_total counter
punctual_own_stops_total 0
# HELP punctual_lost_waits_total Deadlines that were not collected in time and are in no other metric.
# TYPE punctual_lost_waits_total counter
punctual_lost_waits_total 0
# HELP punctual_watch_info What is watched: the OS call, the period and the threshold in seconds, the CPU.
# TYPE punctual_watch_info gauge
punctual_watch_info{version="VERSION",method="clock_nanosleep+slack=1ns",period_seconds="0.0015",threshold_seconds="0.0005",cpu="3"} 1
"#;

    #[test]
    fn requests_are_told_apart() {
        let page = |body| Some(Request::Page { body });
        let nothing = |body| Some(Request::Nothing { body });
        for (head, request) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", page(true)),
            ("GET /metrics?a=b HTTP/1.0\r\n\r\n", page(true)),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", page(false)),
            ("GET / HTTP/1.1\r\n\r\n", nothing(true)),
            ("HEAD / HTTP/1.1\r\n\r\n", nothing(false)),
            ("GET /metrics/ HTTP/1.1\r\n\r\n", nothing(true)),
            ("POST /metrics HTTP/1.1\r\n\r\n", Some(Request::Write)),
            ("GET /metrics HTTP/1.1\r\n", None),
            ("GET /metrics\r\n\r\n", None),
            ("GET metrics HTTP/1.1\r\n\r\n", None),
            ("GET /metrics HTTP/2\r\n\r\n", None),
            ("\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(Request::of(head.as_bytes()), request, "{head}");
        }
        assert_eq!(Request::of(b"GET /\xff HTTP/1.1\r\n\r\n"), None);
    }
}
