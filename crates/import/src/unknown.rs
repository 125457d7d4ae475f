//! Files that are not read, and what they look like.

use punctual_record::Value;

/// The formats that are read.
pub const FORMATS: &str = "Runs of punctual, and logs of cyclictest, MangoHud, PresentMon, strace -f -ttt -T, perf script of \
                           switches, HdrHistogram (.hlog), and CSV with columns such as asked_us,got_us or late_us or frame_ms";

/// One line on a file that is in no known format.
pub(crate) fn refusal(looks: &str) -> String {
    format!("this is no Run file and no log that is read: {looks}. Read are {FORMATS}")
}

/// The look of a file that is no text, by its first bytes.
pub(crate) fn binary(bytes: &[u8]) -> Option<&'static str> {
    const COMPRESSED: &str = "it is compressed; uncompress it first";
    let binary: [(&[u8], &str); 8] = [
        (
            b"PERFILE2",
            "it is a perf.data, of which `perf script` makes text",
        ),
        (b"\x1f\x8b", COMPRESSED),
        (b"\x28\xb5\x2f\xfd", COMPRESSED),
        (b"\xfd7zXZ\0", COMPRESSED),
        (b"BZh", COMPRESSED),
        (b"PK\x03\x04", "it is a zip archive; unpack it first"),
        (b"FLR\0", "it is a recording of Java Flight Recorder"),
        (b"\x7fELF", "it is a program"),
    ];
    let mut known = binary.iter();
    let known = known.find(|(magic, _)| bytes.starts_with(magic));
    known.map(|(_, looks)| *looks)
}

/// Whether a text begins as JSON does.
pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The look of a text.
pub(crate) fn looks_like(text: &str) -> String {
    let begin = text.trim_start();
    if begin.is_empty() {
        return "it is empty".to_owned();
    }
    if text.contains('\0') {
        return "it has bytes of zero, so it is no text or was not written to its end".to_owned();
    }
    if is_json(text) {
        return json(begin);
    }
    let first = begin.lines().next().unwrap_or_default();
    if first.starts_with("command,mean,stddev") {
        return HYPERFINE.to_owned();
    }
    if text.lines().take(50).any(|line| line.contains("time:   [")) {
        return CRITERION.to_owned();
    }
    if begin.starts_with('<') {
        return "it looks like HTML or XML".to_owned();
    }
    if text
        .lines()
        .take(50)
        .any(|line| line.contains("ms_to_") || line.contains("RTLA"))
    {
        return "it looks like output of rtla, which has no format for programs".to_owned();
    }
    if first.split([',', ';', '\t']).count() > 1 {
        let names: Vec<&str> = first
            .split([',', ';', '\t'])
            .take(6)
            .map(str::trim)
            .collect();
        let names: String = names.join(", ").chars().take(80).collect();
        return format!(
            "it looks like CSV, and none of its columns ({names}) is known; --columns of punctual import names them"
        );
    }
    "it looks like plain text".to_owned()
}

const HYPERFINE: &str = "it is of hyperfine, which times whole programs and not waits";
const CRITERION: &str = "it is of criterion, which times code and not waits";

/// Nothing longer is parsed, in bytes: the values of JSON need many times the memory of its text.
pub(crate) const LONGEST_JSON: usize = 64 << 20;

fn json(text: &str) -> String {
    if text.len() > LONGEST_JSON {
        return "it looks like JSON, and is longer than 64 MiB".to_owned();
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return "it looks like JSON, and is cut off or not correct".to_owned();
    };
    let has = |value: &Value, keys: &[&str]| keys.iter().all(|key| value.get(key).is_some());
    let first = value.get("results").and_then(|results| results.get(0));
    if first.is_some_and(|first| has(first, &["command", "mean", "stddev"])) {
        return HYPERFINE.to_owned();
    }
    let is_criterion = has(&value, &["mean", "median", "std_dev"])
        || has(&value, &["sampling_mode", "iters", "times"]);
    if is_criterion
        || value
            .get("reason")
            .is_some_and(|reason| reason == "benchmark-complete")
    {
        return CRITERION.to_owned();
    }
    if has(&value, &["Runs", "Info"]) {
        return "it is of CapFrameX, which also writes CSV of PresentMon".to_owned();
    }
    if has(&value, &["traceEvents"]) {
        return "it is a trace for Perfetto or Chrome".to_owned();
    }
    "it is JSON of another program".to_owned()
}
