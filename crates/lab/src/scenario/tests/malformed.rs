//! Whatever a file contains, it is read or refused.

use proptest::prelude::*;

use super::{read, shipped_files};

/// Reads it; an error is one line and names a line there is.
fn survives(text: &str) {
    if let Err(error) = read("mutant", text) {
        let shown = error.to_string();
        assert!(!shown.contains('\n') && shown.len() < 2_000, "{shown}");
        assert!(error.line() <= 1 + text.lines().count(), "{shown}");
    }
}

/// Bits that mean something to a scenario or to TOML.
const BITS: [&str; 38] = [
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "\"",
    "\"\"\"",
    "'",
    ",",
    "=",
    "\n",
    "#",
    ".",
    "0",
    "-1",
    "18446744073709551615",
    "1e999",
    "nan",
    "\"1ms\"",
    "\"0ns\"",
    "loop",
    "\"cycle\"",
    "pace",
    "uniform",
    "exponential",
    "recorded",
    "min",
    "nice",
    "slice",
    "quota",
    "period",
    "spawn",
    "until",
    "times",
    "do",
    "name",
    "\\",
];

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_bits_never_panic(bits in proptest::collection::vec(0..BITS.len(), 0..60)) {
        let text: Vec<_> = bits.iter().map(|bit| BITS[*bit]).collect();
        survives(&text.join(" "));
    }

    #[test]
    fn mutated_scenarios_never_panic(
        file in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0_usize..30, 0..BITS.len(), any::<bool>()), 1..6,
        ),
    ) {
        let files = shipped_files();
        let mut text: Vec<char> = file.get(&files).1.chars().collect();
        for (at, length, bit, is_replaced) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            let bit = if is_replaced { BITS[bit] } else { "" };
            text.splice(at..end, bit.chars());
        }
        survives(&text.into_iter().collect::<String>());
    }
}

#[test]
fn deep_files_are_refused() {
    let keys = vec!["a"; 79].join(".");
    for text in [
        "[".repeat(100_000),
        format!("a={}", "[".repeat(100_000)),
        format!("a={}", "{a=".repeat(80_000)),
        format!(
            "{keys}={}1{}",
            format!("{{{keys}=").repeat(80),
            "}".repeat(80)
        ),
        format!("[{}]", vec!["a"; 100_000].join(".")),
        "a.".repeat(100_000),
        "{ loop = [".repeat(20_000),
    ] {
        survives(&text);
        assert!(read("deep", &text).is_err());
    }
}
