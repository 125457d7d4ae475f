//! The doctor as a call. What it finds depends on the machine; what it has tried does not.

use punctual_lab::doctor::{Pace, doctor};
use punctual_record::System;

#[test]
fn it_measures_judges_and_tries() {
    let findings = doctor(Pace::Quick).unwrap();
    assert!(!findings.judgements.is_empty() || findings.no_prediction.is_some());
    let is_linux = findings.situation.system == System::Linux;
    assert_eq!(findings.situation.real_time.is_some(), is_linux);
    if let Some(Err(why)) = findings.situation.real_time {
        assert!(!why.is_empty());
    }
}
