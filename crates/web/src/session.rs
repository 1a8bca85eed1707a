//! Requests of a page, and their answers.

use crate::queue::Watched;
use serde::Deserialize;
use serde_json::{json, Value};
use sojourn_scenario::Content;
use sojourn_sim::{describe, task, Progress, Simulation, Task};
use sojourn_units::{Instant, Span};
use std::collections::BTreeMap;

/// What a page may ask.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What there is: version, schemes, congestion controls and metrics.
    About,
    /// Reads a scenario: its canonical JSON, its warnings, queues, groups and times.
    Scenario {
        /// TOML or JSON.
        text: String,
        /// Its name in messages.
        source: String,
        /// Overrides, as `links.bottleneck.rate=5 Mbit/s`.
        #[serde(default)]
        sets: Vec<String>,
        /// Texts of the files that it names.
        #[serde(default)]
        files: BTreeMap<String, String>,
    },
    /// The canonical text of a scheme.
    Scheme {
        /// As tc writes it.
        text: String,
    },
    /// Runs a task to its end: the report.
    Run {
        /// Canonical JSON.
        scenario: String,
        /// As [`Task`] has it.
        task: Value,
    },
    /// Begins a run that the page steps through; `watch` names a queue whose packets are looked at. Ends one of this number.
    Open {
        /// Chosen by the page.
        run: u32,
        /// Canonical JSON.
        scenario: String,
        /// As [`Task`] has it.
        task: Value,
        /// Name of a queue under test.
        #[serde(default)]
        watch: Option<String>,
    },
    /// Goes on to an instant, and returns the points of the time series from number `from` on.
    Advance {
        /// Of [`Request::Open`].
        run: u32,
        /// Stops at the end of the scenario.
        until_ns: u64,
        /// First point.
        from: usize,
    },
    /// The report of a run, whose rest is run. It ends.
    Report {
        /// Of [`Request::Open`].
        run: u32,
    },
    /// Goes on by up to `steps` instants at which the watched queue had an event. Without steps: the queue as it is.
    Watch {
        /// Of [`Request::Open`].
        run: u32,
        /// At most 1000.
        steps: usize,
        /// The first is at this instant or later.
        #[serde(default)]
        from_ns: u64,
    },
    /// Ends a run.
    Close {
        /// Of [`Request::Open`].
        run: u32,
    },
}

/// The most steps of one request.
const MOST_STEPS: usize = 1000;

struct Open {
    simulation: Simulation,
    watched: Option<Watched>,
}

/// The runs of a page.
#[derive(Default)]
pub struct Session {
    runs: BTreeMap<u32, Open>,
}

impl Session {
    /// The answer to a request, as JSON.
    ///
    /// # Errors
    /// What is wrong with the request.
    pub fn answer(&mut self, request: &str) -> Result<String, String> {
        let request: Request = serde_json::from_str(request).map_err(|error| format!("the request: {error}"))?;
        let answer = match request {
            Request::About => json!({
                "version": env!("CARGO_PKG_VERSION"),
                "aqms": describe::aqms(),
                "congestion_controls": describe::congestion_controls(),
                "metrics": describe::metrics(),
            }),
            Request::Scenario { text, source, sets, files } => scenario(&text, &source, &sets, &files)?,
            Request::Scheme { text } => {
                let config: sojourn_aqm::Config = text.parse().map_err(said)?;
                json!({"text": config.text(), "warning": config.warning()})
            }
            Request::Run { scenario, task } => {
                return read(task)?.run(&task::network(&scenario)?, &Progress::default());
            }
            Request::Open { run, scenario, task, watch } => self.open(run, &scenario, task, watch.as_deref())?,
            Request::Advance { run, until_ns, from } => {
                let Open { simulation, .. } = self.find(run)?;
                simulation.run_until(at(until_ns));
                simulation.check_schemes().map_err(said)?;
                json!({"now_ns": simulation.now().nanos(), "series": simulation.series_from(from)})
            }
            Request::Report { run } => {
                let open = self.runs.remove(&run).ok_or_else(|| unknown(run))?;
                return serde_json::to_string(&open.simulation.run().map_err(said)?).map_err(said);
            }
            Request::Watch { run, steps, from_ns } => {
                if steps > MOST_STEPS {
                    return Err(format!("{steps} steps; allowed: up to {MOST_STEPS}"));
                }
                let Open { simulation, watched } = self.find(run)?;
                let watched = watched.as_mut().ok_or("this run watches no queue")?;
                watched.go_to(simulation, at(from_ns));
                let taken = watched.steps(simulation, steps);
                json!({"now_ns": simulation.now().nanos(), "steps": taken, "queue": watched.state(simulation)})
            }
            Request::Close { run } => json!(self.runs.remove(&run).is_some()),
        };
        Ok(answer.to_string())
    }

    fn find(&mut self, run: u32) -> Result<&mut Open, String> {
        self.runs.get_mut(&run).ok_or_else(|| unknown(run))
    }

    fn open(&mut self, run: u32, scenario: &str, task: Value, watch: Option<&str>) -> Result<Value, String> {
        let network = task::network(scenario)?;
        let options = read(task)?.options(&network)?;
        let mut simulation = Simulation::new(network.clone(), options);
        let watched = watch.map(|name| Watched::new(&mut simulation, &network, name)).transpose()?;
        let end_ns = simulation.end().nanos();
        self.runs.insert(run, Open { simulation, watched });
        Ok(json!({"end_ns": end_ns}))
    }
}

fn scenario(text: &str, source: &str, sets: &[String], files: &BTreeMap<String, String>) -> Result<Value, String> {
    let read = |name: &str| match files.get(name) {
        Some(text) => Ok(Content::from(text.as_str())),
        None => {
            let known: Vec<&str> = files.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none; drop a file into the page".to_owned() } else { known.join(", ") };
            Err(format!("is not a file that this page has; it has {known}"))
        }
    };
    let document = sojourn_scenario::load_with(text, source, sets, &read).map_err(said)?;
    let network = document.resolve().map_err(said)?;
    let queues: Vec<_> = network.ports.iter().filter(|port| port.under_test).map(|port| &port.name).collect();
    let group = |flow: &sojourn_scenario::Flow| network.groups.get(flow.group);
    let flows: Vec<_> = network.flows.iter().map(|flow| json!({"name": flow.name, "group": group(flow)})).collect();
    let schemes = network.ports.iter().filter(|port| port.under_test).map(|port| port.queue.text());
    Ok(json!({
        "json": document.to_json(),
        "name": network.name,
        "warnings": document.warnings(),
        "queues": queues,
        "schemes": schemes.collect::<Vec<_>>(),
        "groups": network.groups,
        "flows": flows,
        "duration_s": network.duration.seconds(),
        "warm_up_s": network.warm_up.seconds(),
    }))
}

fn read(task: Value) -> Result<Task, String> {
    serde_json::from_value(task).map_err(|error| format!("the task: {error}"))
}

fn at(ns: u64) -> Instant {
    Instant::ZERO + Span::from_nanos(ns)
}

fn unknown(run: u32) -> String {
    format!("there is no run {run}")
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
