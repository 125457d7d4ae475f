//! Files of other programs, and odd and hostile ones.

use punctual_import::Hints;

use super::{mangohud, refusal, run, subjects, untold};

#[test]
fn other_files_are_named_for_what_they_look_like() {
    for (text, looks) in [
        ("", "it is empty"),
        ("hello\n", "plain text"),
        (
            "{\"results\": [{\"command\": \"ls\", \"mean\": 1, \"stddev\": 0}]}",
            "hyperfine, which times whole programs and not waits",
        ),
        ("command,mean,stddev,median\n", "hyperfine"),
        (
            "{\"mean\": {}, \"median\": {}, \"std_dev\": {}}",
            "criterion, which times code and not waits",
        ),
        (
            "fib 20   time:   [26.029 us 26.251 us 26.505 us]\n",
            "criterion",
        ),
        ("{\"Runs\": [], \"Info\": {}}", "CapFrameX"),
        ("{\"a\": 1", "JSON, and is cut off"),
        ("<html>", "HTML"),
        ("PERFILE2\0\0", "perf script"),
        ("\0\0", "no text"),
        (
            "name,size\na,3\n",
            "none of its columns (name, size) is known",
        ),
    ] {
        let why = refusal(text);
        assert!(
            why.contains(looks) && why.contains("cyclictest"),
            "{text}: {why}"
        );
        assert!(!why.contains('\n'), "{why}");
    }
}

#[test]
fn odd_files_are_read_or_refused_with_a_remedy() {
    let utf_16 = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(unit).collect()
    };
    let read = |bytes: &[u8]| punctual_import::read(bytes, &Hints::default());
    let late = "late_us\n1.5\n-2\n";
    let of = |bytes: &[u8]| read(bytes).unwrap().results[0].samples_late_ns.clone();
    let expected = of(late.as_bytes());
    assert_eq!(expected, [1_500, -2_000]);
    for unit in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        assert_eq!(of(&utf_16(late, unit)), expected);
        assert_eq!(of(&utf_16(&late.replace('\n', "\r\n"), unit)), expected);
    }
    assert_eq!(of(format!("\u{feff}{late}").as_bytes()), expected);
    assert_eq!(of(late.replace('\n', "\r\n").as_bytes()), expected);
    // A last line that is cut off; a name that its owner cut within a character.
    let cut = run(&format!("{late}1e"));
    assert_eq!(cut.results[0].samples_late_ns, expected);
    assert!(untold(&cut).contains("last line is cut off"));
    let name = b"\xe3\x83 11 [-01] 5.000000: PERF_RECORD_SWITCH OUT\n\xe3\x83 11 [-01] 5.002000: PERF_RECORD_SWITCH IN\n";
    assert_eq!(subjects(&read(name).unwrap()), ["\u{fffd} 11"]);
    // Times may go backwards.
    let back = run("late_us,ended_us\n1,5000\n1,200\n");
    assert_eq!(back.results[0].samples_woke_ns, [4_800_000, 0]);
    let back = run(
        "x 1 [-01] 9.0: PERF_RECORD_SWITCH OUT\nx 1 [-01] 5.0: PERF_RECORD_SWITCH IN\nx 1 [-01] 5.1: PERF_RECORD_SWITCH OUT\nx 1 [-01] 5.2: PERF_RECORD_SWITCH IN\n",
    );
    assert_eq!(back.results[0].samples_slept_ns, [100_000_000]);
    let long = |line: &str| line.repeat((5 << 20) / line.len());
    for (bytes, why) in [
        (
            b"frame_ms\n16,6\n17,1\n".to_vec(),
            "line 2: it has 2 cells, and there are 1 columns; decimals need a point",
        ),
        (
            b"frame_ms;x\n16,6;1\n".to_vec(),
            "line 2: `16,6` is not a number; decimals need a point",
        ),
        (
            mangohud("60,16,666,1,1,1\n").into_bytes(),
            "decimals need a point",
        ),
        (
            b"Application,ProcessID,MsBetweenPresents\nx,1,16,5\n".to_vec(),
            "decimals need a point",
        ),
        (
            b"late_us\n1e308\n".to_vec(),
            "line 2: `1e308` us is more than 11 days",
        ),
        (b"late_us\ninf\n".to_vec(), "line 2: `inf` is not a number"),
        (
            b"late_us\n-NaN\n".to_vec(),
            "line 2: `-NaN` is not a number",
        ),
        (
            b"late_us\n1\n\0\0\n".to_vec(),
            "line 3: `\\0\\0` is not a number",
        ),
        (b"late_us".to_vec(), "has no waits"),
        (b"\xfd7zXZ\0 late_us\n".to_vec(), "uncompress it first"),
        (b"BZh91AY".to_vec(), "uncompress it first"),
        (b"\x1f\x8b\x08late_us".to_vec(), "uncompress it first"),
        (
            b"late_us\n1\n\0\0".iter().rev().copied().collect(),
            "bytes of zero",
        ),
        (long("x").into_bytes(), "its line 1 is longer than 4 MiB"),
        (
            format!("late_us\n1\n{}", long("1,")).into_bytes(),
            "its line 3 is longer than 4 MiB",
        ),
        (
            format!("[{}", long("1,")).into_bytes(),
            "JSON, and is cut off or not correct",
        ),
        (
            long("[").into_bytes(),
            "JSON, and is cut off or not correct",
        ),
        (
            long("{\"rt_test_version\": ").into_bytes(),
            "cut off or not correct",
        ),
    ] {
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let refused = read(&bytes).unwrap_err();
        assert!(refused.contains(why), "{begin}: {refused}");
        assert!(!refused.contains('\n') && refused.len() < 600, "{refused}");
    }
}

#[test]
fn nothing_that_a_file_says_is_obeyed() {
    let hostile = "\u{1b}]52;c;x\u{7}\u{202e}";
    let head = "Application,ProcessID,MsBetweenPresents";
    let run = run(&format!("{head}\n{hostile}.exe,1,2\n"));
    assert_eq!(subjects(&run), [r"\u{1b}]52;c;x\u{7}\u{202e}.exe"]);
    let why = refusal(&format!("{hostile},b\n1,2\n"));
    assert!(!why.contains('\u{1b}') && why.contains(r"\u{1b}"), "{why}");
    let run = self::run(&mangohud("60,16.6,1,1,1\n").replace("A CPU", hostile));
    assert!(!run.to_json().contains("\\u001b"), "{}", run.to_json());
}
