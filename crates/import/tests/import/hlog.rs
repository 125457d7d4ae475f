//! Logs of HdrHistogram.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use punctual_import::{Hints, Unit};
use punctual_record::{Late, LoggedKind};

use super::{log, refusal, run, subjects, untold, with};

/// A histogram of two digits as HdrHistogram encodes it, from its counts by bin.
fn encoded(counts: &[i64], compressed: bool) -> String {
    let mut payload = Vec::new();
    for count in counts {
        let mut left = ((count << 1) ^ (count >> 63)) as u64;
        loop {
            let more = left > 0x7f;
            payload.push((left & 0x7f) as u8 | if more { 0x80 } else { 0 });
            left >>= 7;
            if !more {
                break;
            }
        }
    }
    let mut plain = 0x1c84_9313_u32.to_be_bytes().to_vec();
    plain.extend((payload.len() as u32).to_be_bytes());
    plain.extend([0; 4]);
    plain.extend(2_u32.to_be_bytes());
    plain.extend(1_u64.to_be_bytes());
    plain.extend(3_600_000_000_000_u64.to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(payload);
    if !compressed {
        return STANDARD.encode(plain);
    }
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&plain, 6);
    let mut all = 0x1c84_9314_u32.to_be_bytes().to_vec();
    all.extend((packed.len() as u32).to_be_bytes());
    all.extend(packed);
    STANDARD.encode(all)
}

fn hlog(rows: &[String]) -> String {
    let head = "#[Histogram log format version 1.3]\n#[StartTime: 1441812279.474 (seconds since epoch), x]\n\
                \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    head.to_owned() + &rows.join("\n")
}

#[test]
fn a_log_of_hdr_histogram_adds_its_intervals_up() {
    // 3 values of 1, none from 2 to 255, 2 of 256 and 257.
    let first = encoded(&[0, 3, -254, 2], true);
    let second = encoded(&[0, 0, 5], false);
    let text = hlog(&[
        format!("0.127,1.007,0.000,{first}"),
        format!("1.134,0.999,0.000,{second}"),
        format!("Tag=other,0.1,1.0,0.000,{first}"),
    ]);
    let all = run(&text);
    assert_eq!(subjects(&all), ["values", "other"]);
    let values = log(&all.results[0]);
    assert_eq!(values.histogram_ns, [(1, 3), (2, 5), (257, 2)]);
    assert_eq!(
        (values.of, values.lengths_ns.n, values.lengths_ns.max),
        (LoggedKind::Lengths, 10, 257)
    );
    assert_eq!(all.results[0].late_ns, Late::default());
    let hiccups = run(&format!("#[Logged with jHiccup version 2.0.7S]\n{text}"));
    assert_eq!(
        (hiccups.results[0].late_ns.n, subjects(&hiccups)[0]),
        (10, "jHiccup")
    );
    let in_us = with(
        &text,
        &Hints {
            unit: Some(Unit::Us),
            ..Hints::default()
        },
    );
    assert_eq!(log(&in_us.results[0]).lengths_ns.max, 257_000);
    // A log that a killed program left.
    let cut = run(&text[..text.len() - 9]);
    assert_eq!(subjects(&cut), ["values"]);
    assert!(untold(&cut).contains("last line is cut off"));
    let run_of_none = encoded(&[i64::MIN, i64::MIN, 0, 0], false);
    assert_eq!(
        run(&hlog(&[
            format!("0,1,0,{run_of_none}"),
            format!("0,1,0,{first}")
        ]))
        .results
        .len(),
        1
    );
    let wrong = hlog(&["0,1,0,HISTFAAA!".to_owned(), format!("0,1,0,{first}")]);
    assert!(refusal(&wrong).contains("line 4: `HISTFAAA!` is no histogram"));
}

#[test]
fn a_histogram_never_grows_beyond_its_limit() {
    let zeros = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 64 << 20], 9);
    let mut all = 0x1c84_9314_u32.to_be_bytes().to_vec();
    all.extend((zeros.len() as u32).to_be_bytes());
    all.extend(zeros);
    let rows = [
        format!("0,1,0,{}", STANDARD.encode(all)),
        format!("0,1,0,{}", encoded(&[1], true)),
    ];
    assert!(refusal(&hlog(&rows)).contains("cannot be decompressed"));
}
