//! The JSON Schemas of Run files: what documents have, and what is written.

use std::path::Path;
use std::sync::OnceLock;

use jsonschema::Validator;
use punctual_record::{Measurement, Run, RunRow, Value, schema};
use punctual_zero::rows::{self, ZeroRow};

/// Reads a Run of waits that the command wrote, which must be as the schema says.
pub(crate) fn read(json: &str) -> Run {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    checked(json, VALIDATOR.get_or_init(|| validator(&schema())))
}

/// The same for a Run of page zeroing.
pub(crate) fn read_zero(json: &str) -> Run<ZeroRow> {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    checked(json, VALIDATOR.get_or_init(|| validator(&rows::schema())))
}

/// The same of files.
pub(crate) fn read_file(file: impl AsRef<Path>) -> Run {
    read(&std::fs::read_to_string(file).unwrap())
}

pub(crate) fn read_zero_file(file: impl AsRef<Path>) -> Run<ZeroRow> {
    read_zero(&std::fs::read_to_string(file).unwrap())
}

fn validator(schema: &Value) -> Validator {
    jsonschema::validator_for(schema).unwrap()
}

fn checked<R: RunRow>(json: &str, validator: &Validator) -> Run<R> {
    let value = serde_json::from_str(json).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&value)
        .map(|error| format!("{}: {error:.200}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Run::from_json(json).unwrap()
}

/// With PUNCTUAL_WRITE_SCHEMA=1 in the environment it writes the documents.
#[test]
fn the_documents_have_the_schemas_of_the_types() {
    for (name, schema) in [
        ("run.schema.json", schema()),
        ("zero-run.schema.json", rows::schema()),
    ] {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let file = docs.join(name);
        let mut text = serde_json::to_string_pretty(&schema).unwrap();
        text.push('\n');
        if std::env::var_os("PUNCTUAL_WRITE_SCHEMA").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(file).unwrap().replace('\r', "");
        assert!(
            kept == text,
            "write docs/{name} anew: PUNCTUAL_WRITE_SCHEMA=1 cargo test -p punctual-cli schema"
        );
    }
}

/// The Runs that documents refer to.
#[test]
fn kept_runs_of_zeroing_are_as_the_schema_says() {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runs/2026-11-22-xeon-kvm-2cpu");
    for name in ["run", "probe"] {
        let json = std::fs::read_to_string(runs.join(format!("zero-{name}.json"))).unwrap();
        assert!(read_zero(&json).results.len() > 70, "{name}");
    }
}

#[test]
fn what_is_no_run_does_not_pass() {
    let validators = [validator(&schema()), validator(&rows::schema())];
    let runs = [
        serde_json::to_value(Run::<Measurement>::default()).unwrap(),
        serde_json::to_value(Run::<ZeroRow>::default()).unwrap(),
    ];
    let rows = [
        serde_json::json!({ "experiment": "sleep", "subject": "poll" }),
        serde_json::json!({ "experiment": "zero-pool", "subject": "tas" }),
    ];
    for ((validator, mut run), row) in validators.iter().zip(runs).zip(rows) {
        assert!(validator.is_valid(&run));
        run["results"] = serde_json::json!([row]);
        assert!(!validator.is_valid(&run), "it says no parameters");
    }
}
