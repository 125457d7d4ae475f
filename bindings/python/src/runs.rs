use punctual_record::{Run, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Raises a `ValueError` if the command `punctual` would refuse this file.
#[pyfunction]
pub(crate) fn check_run(py: Python<'_>, text: &str) -> PyResult<()> {
    py.detach(|| checked(text)).map_err(PyValueError::new_err)
}

fn checked(text: &str) -> Result<(), String> {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
        return Run::from_json(text).map(|_: Run| ());
    };
    // The rows of `zero` and their accompanying data have types of their own, which would bring
    // the code that zeroes memory with them. Only the head of these Runs is checked.
    let is_of_zeroing = match fields.get("results") {
        Some(Value::Array(rows)) if !rows.is_empty() => rows.iter().all(is_of_zeroing),
        _ => {
            (fields.get("command").and_then(Value::as_str)).is_some_and(|it| it.contains(" zero "))
        }
    };
    if !is_of_zeroing {
        return Run::from_json(text).map(|_: Run| ());
    }
    if let Some(Value::Array(rows)) = fields.get_mut("results") {
        rows.clear();
    }
    fields.retain(|name, _| HEAD.contains(&name.as_str()));
    let head = Value::Object(fields).to_string();
    Run::from_json(&head).map(|_: Run| ())
}

/// The fields of a Run that do not depend on its product.
const HEAD: [&str; 10] = [
    "schema",
    "punctual_version",
    "started_at",
    "command",
    "interrupted",
    "failed",
    "machine",
    "warnings",
    "disturbance",
    "results",
];

fn is_of_zeroing(row: &Value) -> bool {
    let experiment = row.get("experiment").and_then(Value::as_str);
    experiment.is_some_and(|experiment| experiment.starts_with("zero-"))
}
