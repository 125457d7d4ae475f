use punctual_lab::doctor::{Examined, Pace, ROUNDS, diagnose, examine};
use punctual_lab::host::{HostMachine, Stop};
use punctual_record::Run;
use punctual_report::Verdict;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// A Run as JSON, and its answer in words.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, quick: bool) -> PyResult<(String, String)> {
    py.detach(|| {
        let stop = Stop::default();
        let mut raised = None;
        let mut machine = HostMachine::new(stop.clone());
        let examined = Examined::here(None);
        let pace = if quick { Pace::Quick } else { Pace::Usual };
        let cases = examined.cases(&machine, pace);
        // Between what it measures, signal handlers run; what they raise ends it.
        let results = examine(&examined, &mut machine, &cases, ROUNDS, &mut |_| {
            if let Err(why) = Python::attach(|py| py.check_signals()) {
                raised = Some(why);
                stop.request();
            }
        });
        if let Some(why) = raised {
            return Err(why);
        }
        let results = results.map_err(|why| PyOSError::new_err(why.to_string()))?;
        if let Some(refusal) = &results.end.failed {
            return Err(PyOSError::new_err(refusal.to_string()));
        }
        let disturbance = machine.witness().disturbance();
        let mut run = Run {
            command: "punctual_time.doctor()".to_owned(),
            results: results.measurements,
            ..Run::default()
        };
        let findings = diagnose(&examined, &mut run.results, disturbance.as_ref());
        let said = punctual_report::doctor::in_words(&findings, &mut run.results);
        run.beside.doctor = Some(said);
        run.disturbance = disturbance;
        let verdict = punctual_report::verdict(&run).map(|verdict| Verdict {
            next: "Next: punctual_time.sleep(0.001) waits so; --full is all of it.".to_owned(),
            ..verdict
        });
        let words = verdict.map_or_else(|| punctual_report::text(&run), |it| it.text(80));
        // The option that the command names there.
        let words = words.replace("--full", ".data");
        Ok((run.to_json(), words))
    })
}
