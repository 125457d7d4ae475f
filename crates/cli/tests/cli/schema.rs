//! The JSON Schema of the Run file: what documents have, and what is written.

use std::path::Path;
use std::sync::OnceLock;

use jsonschema::Validator;
use punctual_record::{Run, schema};

/// Reads a Run of waits that the command wrote, which must be as the schema says.
pub(crate) fn read(json: &str) -> Run {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| jsonschema::validator_for(&schema()).unwrap());
    let value = serde_json::from_str(json).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error:.200}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Run::from_json(json).unwrap()
}

/// With PUNCTUAL_WRITE_SCHEMA=1 in the environment it writes the document.
#[test]
fn the_document_has_the_schema_of_the_types() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/run.schema.json");
    let mut text = serde_json::to_string_pretty(&schema()).unwrap();
    text.push('\n');
    if std::env::var_os("PUNCTUAL_WRITE_SCHEMA").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap().replace('\r', "");
    assert!(
        kept == text,
        "write docs/run.schema.json anew: PUNCTUAL_WRITE_SCHEMA=1 cargo test -p punctual-cli schema"
    );
}

#[test]
fn what_is_no_run_does_not_pass() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let mut run = serde_json::to_value(Run::<punctual_record::Measurement>::default()).unwrap();
    assert!(validator.is_valid(&run));
    run["results"] = serde_json::json!([{ "experiment": "sleep", "subject": "poll" }]);
    assert!(!validator.is_valid(&run), "it says no method and no length");
}
