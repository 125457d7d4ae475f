//! The Chrome trace event format (Google, "Trace Event Format", 2016), which <https://ui.perfetto.dev> opens.
//!
//! Times are microseconds with as many decimals as make them exact.

use punctual_core::Nanos;

/// The beginning of a file.
pub const HEAD: &str = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

/// The end of a file.
pub const TAIL: &str = "\n]}\n";

/// Events as text. A track is a process and a thread; no two tracks may have the same thread, whatever their
/// process: viewers mix them up.
#[derive(Debug, Default)]
pub struct Viewer {
    json: String,
    has_any: bool,
}

impl Viewer {
    /// The events since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.json)
    }

    /// Names a process, and says where it is.
    pub fn name_process(&mut self, pid: usize, name: &str, order: usize) {
        for (what, args) in [
            ("process_name", format!("\"name\":{}", quoted(name))),
            ("process_sort_index", format!("\"sort_index\":{order}")),
        ] {
            self.push("M", (pid, 0), what, Nanos::ZERO, "", &args);
        }
    }

    /// Names a track.
    pub fn name_thread(&mut self, pid: usize, tid: usize, name: &str) {
        let args = format!("\"name\":{}", quoted(name));
        self.push("M", (pid, tid), "thread_name", Nanos::ZERO, "", &args);
    }

    /// Something that took a time. `args` are members of a JSON object.
    pub fn slice(
        &mut self,
        track: (usize, usize),
        name: &str,
        (from, length): (Nanos, Nanos),
        args: &str,
    ) {
        let duration = format!(",\"dur\":{}", us(length));
        self.push("X", track, name, from, &duration, args);
    }

    /// An event of any kind. `more` are further members of it, each behind a comma.
    pub fn push(
        &mut self,
        phase: &str,
        (pid, tid): (usize, usize),
        name: &str,
        at: Nanos,
        more: &str,
        args: &str,
    ) {
        let before = if self.has_any { ",\n" } else { "" };
        self.has_any = true;
        let name = quoted(name);
        let at = us(at);
        self.json += &format!(
            "{before}{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}{more},\
             \"name\":{name},\"args\":{{{args}}}}}"
        );
    }
}

/// A string in JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Microseconds, exactly: what is written of such a number is the least that tells it from
/// others.
pub fn us(time: Nanos) -> f64 {
    time.as_ns() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact() {
        for (ns, text) in [
            (0, "0"),
            (1, "0.001"),
            (1_500, "1.5"),
            (20_000, "20"),
            (86_399_999_999_999, "86399999999.999"),
        ] {
            assert_eq!(us(Nanos::new(ns)).to_string(), text);
        }
    }
}
