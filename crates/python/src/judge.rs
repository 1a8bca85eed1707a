//! The process of `sojourn check aqm` that judges an algorithm: from its first instruction on, it runs confined.

use crate::{batch, refuse};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{json, Map, Value};
use sojourn_aqm::Config;
use sojourn_plugin::add_library;
use sojourn_plugin::confine::{confine, end, forget_time, processor_ns, say, Stage};
use sojourn_plugin::contract::{check, decisions};
use sojourn_sim::Progress;
use std::path::PathBuf;

const PACKETS: u64 = 200_000;
const ROUNDS: usize = 3;
const REFERENCES: [&str; 2] = ["pfifo", "codel"];

/// What is judged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// In front of the answer, so that an algorithm cannot answer in its place by chance.
    token: String,
    subject: Source,
    model: Option<Source>,
    /// A run that is compared with one outside.
    scenario: String,
    seed: u64,
}

/// Where algorithms come from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    /// As the user named it.
    file: String,
    /// Those that were added already.
    names: Vec<String>,
    /// A library that is loaded here, and its version.
    library: Option<(PathBuf, String)>,
}

impl Source {
    fn load(&mut self, report: i32) -> Result<String, String> {
        let Some((path, version)) = &self.library else { return Ok(String::new()) };
        let lacking = confine(Stage::Load, report).err().unwrap_or_default();
        self.names.push(format!("{}@{version}", add_library(path, version)?));
        Ok(lacking)
    }
}

/// Leaves this process less to ask of the system: `import` for the text of a module, `load` for a library, `run` for the rest.
#[pyfunction]
pub fn plugin_confine(stage: &str, report: i32) -> PyResult<()> {
    let stage = match stage {
        "import" => Stage::Import,
        "load" => Stage::Load,
        "run" => Stage::Run,
        _ => return Err(refuse(format!("there is no stage {stage:?}; allowed: import, load, run"))),
    };
    confine(stage, report).map_err(refuse)
}

/// Judges algorithms, writes to the descriptor `report`, and ends the process: the parts as they begin, and the answer.
#[pyfunction]
pub fn plugin_judge(py: Python<'_>, request: &str, report: i32) -> PyResult<()> {
    let request: Request = serde_json::from_str(request).map_err(refuse)?;
    py.detach(|| {
        std::panic::set_hook(Box::new(|_| {}));
        let token = request.token.clone();
        match judge(request, report) {
            Ok(answer) => say(&format!("{token} {answer}\n")),
            Err(why) => say(&format!("refused: {}\n", Value::from(why))),
        }
        end(0)
    })
}

fn judge(mut request: Request, report: i32) -> Result<Value, String> {
    // What is done once in a process asks for the time and for chance.
    let _ = run(&request, "pfifo");
    let trapped = forget_time();
    let mut lacking = request.model.as_mut().map_or_else(|| Ok(String::new()), |model| model.load(report))?;
    lacking += &request.subject.load(report)?;
    lacking += &confine(Stage::Cost, report).err().unwrap_or_default();
    say("begins: cost\n");
    let costs = request.subject.names.iter().map(|name| cost(name)).collect::<Result<Vec<_>, _>>()?;
    lacking += &confine(Stage::Run, report).err().unwrap_or_default();
    let mut found = Vec::new();
    for (name, cost) in request.subject.names.iter().zip(costs) {
        say("begins: the contract\n");
        let mut findings: Vec<Value> = check(name)?.iter().map(crate::plugin::finding).collect();
        if let Some((model, file)) = request.model.as_ref().and_then(|model| Some((model.names.last()?, &model.file))) {
            say("begins: the model\n");
            findings.push(beside(name, model, file)?);
        }
        say("begins: a run\n");
        found.push(json!({"name": name, "findings": findings, "cost": cost, "run": run(&request, name)}));
    }
    let lacking = if lacking.is_empty() && !trapped { "counter".to_owned() } else { lacking };
    Ok(json!({"found": found, "lacking": lacking}))
}

fn parsed(scheme: &str) -> Result<Config, String> {
    scheme.parse().map_err(|error: sojourn_aqm::ConfigError| error.to_string())
}

/// Nanoseconds of processor time that a packet takes, the least of some rounds by turns.
fn cost(name: &str) -> Result<Map<String, Value>, String> {
    let schemes = [name, REFERENCES[0], REFERENCES[1]];
    let mut least = [f64::MAX; 3];
    for _ in 0..ROUNDS {
        for (least, scheme) in least.iter_mut().zip(schemes) {
            let config = parsed(scheme)?;
            let start = processor_ns();
            let _ = decisions(&config, PACKETS, 1, 0);
            *least = least.min(processor_ns().saturating_sub(start) as f64 / PACKETS as f64);
        }
    }
    let shown = |scheme: &str| scheme.split('@').next().unwrap_or_default().to_owned();
    Ok(schemes.into_iter().map(shown).zip(least.map(Value::from)).collect())
}

fn beside(name: &str, model: &str, file: &str) -> Result<Value, String> {
    let own = decisions(&parsed(name)?, PACKETS, 1, 20_000);
    let other = decisions(&parsed(model)?, PACKETS, 1, 20_000);
    let violation = (own.digest != other.digest).then(|| {
        let first = own.first.iter().zip(&other.first).find(|(own, other)| own != other);
        let (own, other) = first.map_or(("later", "later"), |(own, other)| (own, other));
        format!("decides otherwise than the model: {own}; the model: {other}")
    });
    let scope = format!("{file}, {PACKETS} packets");
    Ok(json!({"name": "the same decisions as the model", "scope": scope, "violation": violation}))
}

fn run(request: &Request, scheme: &str) -> (bool, String) {
    let task = json!({"scheme": scheme, "seed": request.seed, "replication": 0});
    let found = batch(std::slice::from_ref(&request.scenario), &[(0, task.to_string())], &Progress::default());
    found.into_iter().next().unwrap_or_default()
}
