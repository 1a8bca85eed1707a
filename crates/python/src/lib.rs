//! `sojourn._native`: the library for Python. Conversion only; documents cross as JSON text.

mod driver;
mod gym;
mod judge;
mod plugin;
mod reports;
mod stepper;
mod summary;
mod users;

use pyo3::create_exception;
use pyo3::exceptions::{PyFutureWarning, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use sojourn_aqm::{Config, Rates};
use sojourn_scenario::Content;
use sojourn_sim::{describe, run_all, task, Progress, Task};
use sojourn_units::{Instant, Span};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

create_exception!(
    _native,
    SojournError,
    PyValueError,
    "Input that is refused: what is wrong, where, and what is allowed."
);

fn refuse(error: impl std::fmt::Display) -> PyErr {
    SojournError::new_err(error.to_string())
}

/// The version of the compiled library.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The version and a hash of the sources: equal where results are comparable bit for bit.
#[pyfunction]
fn build() -> &'static str {
    concat!(env!("CARGO_PKG_VERSION"), "+", env!("SOJOURN_SOURCES"))
}

/// Every algorithm with its parameters, as a JSON list; of those that were added, the newest of each name.
#[pyfunction]
fn aqms() -> String {
    describe::aqms().to_string()
}

/// The warnings that this process has given.
static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Warns of what is accepted and should be changed, once in a process. Python's own list of what it has shown does not
/// serve: it is emptied when any code changes a filter of warnings.
fn warn(py: Python<'_>, what: &str) -> PyResult<()> {
    let text = CString::new(what).map_err(refuse)?;
    // The lock is not held while Python runs. A warning that a filter turned into an error is given again.
    if WARNED.lock().map_err(refuse)?.contains(what) {
        return Ok(());
    }
    PyErr::warn(py, &py.get_type::<PyFutureWarning>(), &text, 1)?;
    WARNED.lock().map_err(refuse)?.insert(what.to_owned());
    Ok(())
}

/// The canonical text of an algorithm given in tc's syntax.
#[pyfunction]
fn parse_aqm(py: Python<'_>, text: &str) -> PyResult<String> {
    let config: Config = text.parse().map_err(refuse)?;
    config.warning().map_or(Ok(()), |what| warn(py, &what))?;
    Ok(config.text())
}

/// Every congestion control with its own keys of the TCP table, as a JSON list.
#[pyfunction]
fn congestion_controls() -> String {
    describe::congestion_controls().to_string()
}

/// Every kind of traffic, as a JSON list; the schema has their keys.
#[pyfunction]
fn traffic_kinds() -> String {
    describe::traffic_kinds().to_string()
}

/// Every metric, as a JSON list.
#[pyfunction]
fn metrics() -> String {
    describe::metrics().to_string()
}

/// The answer of queueing theory to a question; both are JSON.
#[pyfunction]
fn theory(py: Python<'_>, question: &str) -> PyResult<String> {
    py.detach(|| sojourn_theory::answer(question)).map_err(refuse)
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn schema() -> String {
    sojourn_scenario::schema().to_string()
}

/// What a link may do to packets besides carrying them, as a JSON list: keys, count, metric, words and the shell's options.
#[pyfunction]
fn link_effects() -> String {
    describe::link_effects().to_string()
}

/// What keys of a scenario may be at most, as a JSON list of keys, bound and reason.
#[pyfunction]
fn bounds() -> String {
    json!(sojourn_scenario::bounds()).to_string()
}

/// The canonical JSON of a scenario, after the overrides `sets` ("key=value"). `read` gives the text of a file that the scenario
/// names, or the path of a capture, or raises a `SojournError`.
#[pyfunction]
#[pyo3(signature = (text, source, sets, read=None))]
fn load(py: Python<'_>, text: &str, source: &str, sets: Vec<String>, read: Option<Py<PyAny>>) -> PyResult<String> {
    let document = match read {
        None => sojourn_scenario::load(text, source, &sets),
        Some(read) => sojourn_scenario::load_with(text, source, &sets, &|file| {
            let content = read.call1(py, (file,)).and_then(|content| match content.extract::<String>(py) {
                Ok(text) => Ok(Content::from(text.as_str())),
                Err(_) => Ok(Content::Capture(content.extract(py)?)),
            });
            content.map_err(|error| error.value(py).to_string())
        }),
    };
    let document = document.map_err(refuse)?;
    document.resolve().map_err(refuse)?;
    document.warnings().iter().try_for_each(|what| warn(py, &format!("{source}: {what}")))?;
    Ok(document.to_json())
}

/// Settings that have no effect where these schemes, each a label and a text, are in the queues under test of a scenario, as a
/// JSON list. A scheme without a text stands for the queues as they are written. `on_device`: a device has the link.
#[pyfunction]
fn inert(scenario: &str, schemes: Vec<(String, String)>, on_device: bool) -> PyResult<String> {
    let document = sojourn_scenario::load(scenario, "the scenario", &[]).map_err(refuse)?;
    let (written, tested): (Vec<_>, Vec<_>) = schemes.into_iter().partition(|(_, text)| text.is_empty());
    let read = |(label, text): (String, String)| Ok((label, text.parse::<Config>().map_err(refuse)?));
    let tested = tested.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
    let found = document.inert(&tested, !written.is_empty(), on_device).map_err(refuse)?;
    Ok(json!(found).to_string())
}

/// The IP packets of a capture as traffic of the kind `replay` has them, and what became of its frames as JSON.
#[pyfunction]
fn captured(py: Python<'_>, path: PathBuf) -> PyResult<(String, String)> {
    let found = py.detach(|| sojourn_traffic::replay::captured(&path));
    let (packets, capture) = found.map_err(|why| refuse(format!("{}: {why}", path.display())))?;
    Ok((packets, json!(capture).to_string()))
}

/// The packets of a table of times and sizes, likewise.
#[pyfunction]
fn listed(text: &str) -> PyResult<String> {
    sojourn_traffic::replay::listed(text).map_err(refuse)
}

/// The bits that a link can send by a trace from the start to each of the times.
#[pyfunction]
fn trace(text: &str, hold: bool, times_s: Vec<f64>) -> PyResult<Vec<f64>> {
    let rates = Rates::read(text, !hold, None).map_err(refuse)?;
    Ok(times_s.iter().map(|at| rates.offered_bits(Instant::ZERO + Span::from_seconds(*at))).collect())
}

/// Runs every task of a scenario on `jobs` threads, with the interpreter released; report `k` is of task `k`.
/// `progress(finished, done)` is called about ten times a second with the number of finished runs and the share of all work done.
#[pyfunction]
#[pyo3(signature = (scenario_json, tasks, jobs, progress=None))]
fn run_many(
    py: Python<'_>,
    scenario_json: &str,
    tasks: Vec<String>,
    jobs: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<reports::Reports> {
    let network = task::network(scenario_json).map_err(refuse)?;
    let tasks = tasks.iter().map(|task| Task::read(task)?.options(&network)).collect::<Result<Vec<_>, _>>();
    let tasks = tasks.map_err(refuse)?;
    let state = Progress::default();
    let results = std::thread::scope(|scope| {
        let (running, ended) = mpsc::channel::<()>();
        let worker = scope.spawn(|| {
            let _running = running;
            run_all(&network, &tasks, jobs, &state)
        });
        // A receiver may not be shared with the closure that runs without the interpreter; one behind a lock may.
        let ended = Mutex::new(ended);
        let wait = || {
            // Early at first: a bar that appears late looks like a program that hangs.
            let span = Duration::from_millis(if state.finished() == 0 { 10 } else { 100 });
            ended.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(span)
        };
        let mut interrupted = None;
        while py.detach(wait) == Err(RecvTimeoutError::Timeout) {
            let told = progress.as_ref().map_or(Ok(()), |call| {
                let done = state.runs() / tasks.len().max(1) as f64;
                call.call1(py, (state.finished(), done)).map(drop)
            });
            // Ctrl-C, or an error in the callback: the runs under way end at their next slice.
            if let Err(error) = py.check_signals().and(told) {
                state.stop();
                interrupted.get_or_insert(error);
            }
        }
        let results = py.detach(|| worker.join());
        match interrupted {
            Some(error) => Err(error),
            None => results
                .map_err(|_| refuse("a run ended by a defect of the program; please report it with the scenario")),
        }
    })?;
    let reports = results.into_iter().map(|result| match result {
        Some(Ok(report)) => Ok(report),
        Some(Err(error)) => Err(refuse(error)),
        None => Err(refuse("stopped")),
    });
    Ok(reports::Reports(reports.collect::<PyResult<_>>()?))
}

/// A stop sign for runs in other threads.
#[pyclass(frozen)]
#[derive(Default)]
struct Stop(Progress);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the runs that were given this sign at their next slice, a hundredth of a run.
    fn set(&self) {
        self.0.stop();
    }
}

/// Runs tasks `(scenario, task)` one after the other in this thread, with the interpreter released; the first is an index into
/// `scenarios`. Result `k` is of task `k`: whether it went well, and its report or what went wrong. A failing run stops no other.
#[pyfunction]
#[pyo3(signature = (scenarios, tasks, stop=None))]
fn run_batch(
    py: Python<'_>,
    scenarios: Vec<String>,
    tasks: Vec<(usize, String)>,
    stop: Option<Py<Stop>>,
) -> Vec<(bool, String)> {
    let never = Progress::default();
    let sign = stop.as_ref().map_or(&never, |stop| &stop.get().0);
    py.detach(|| batch(&scenarios, &tasks, sign))
}

/// See [`run_batch`].
fn batch(scenarios: &[String], tasks: &[(usize, String)], sign: &Progress) -> Vec<(bool, String)> {
    let networks: Vec<_> = scenarios.iter().map(|text| task::network(text)).collect();
    let one = |(scenario, task): &(usize, String)| -> Result<String, String> {
        let network = networks.get(*scenario).ok_or("no such scenario")?.as_ref().map_err(Clone::clone)?;
        let task = Task::read(task)?;
        catch_unwind(AssertUnwindSafe(|| task.run(network, sign)))
            .map_err(|_| "the run ended by a defect of the program; please report it with the scenario")?
    };
    tasks.iter().map(|task| one(task).map_or_else(|why| (false, why), |report| (true, report))).collect()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SojournError", module.py().get_type::<SojournError>())?;
    module.add_class::<driver::Driver>()?;
    module.add_class::<gym::Environments>()?;
    module.add_class::<stepper::Stepper>()?;
    module.add_class::<users::Users>()?;
    module.add_class::<Stop>()?;
    module.add_class::<reports::Reports>()?;
    module.add_class::<reports::Table>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(aqms, module)?)?;
    module.add_function(wrap_pyfunction!(parse_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(congestion_controls, module)?)?;
    module.add_function(wrap_pyfunction!(traffic_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(captured, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(theory, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(link_effects, module)?)?;
    module.add_function(wrap_pyfunction!(bounds, module)?)?;
    module.add_function(wrap_pyfunction!(load, module)?)?;
    module.add_function(wrap_pyfunction!(inert, module)?)?;
    module.add_function(wrap_pyfunction!(listed, module)?)?;
    module.add_function(wrap_pyfunction!(trace, module)?)?;
    module.add_function(wrap_pyfunction!(summary::summary_of_text, module)?)?;
    module.add_function(wrap_pyfunction!(summary::summary_of_file, module)?)?;
    module.add_function(wrap_pyfunction!(summary::summary_of_capture, module)?)?;
    module.add_function(wrap_pyfunction!(run_many, module)?)?;
    module.add_function(wrap_pyfunction!(run_batch, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::plugin_add_library, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::plugin_add_table, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::plugin_host, module)?)?;
    module.add_function(wrap_pyfunction!(judge::plugin_confine, module)?)?;
    module.add_function(wrap_pyfunction!(judge::plugin_judge, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::plugin_check, module)?)?;
    module.add_function(wrap_pyfunction!(plugin::plugin_decisions, module)?)?;
    Ok(())
}
