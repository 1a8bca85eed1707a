//! A run as a front end in another language asks for it, in JSON.

use crate::batch::{run_one, Progress};
use crate::simulation::Options;
use crate::traces::{self, DecisionLogs, PacketTraces, GREATEST_SNAPLEN, LEAST_SNAPLEN};
use serde::Deserialize;
use sojourn_aqm::Config;
use sojourn_scenario::Network;
use sojourn_units::Span;
use std::path::PathBuf;
use std::sync::Arc;

/// What varies from run to run, as [`Options`] have it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    scheme: Option<String>,
    seed: u64,
    replication: u64,
    #[serde(default)]
    series: Option<String>,
    #[serde(default)]
    packets: Option<Packets>,
    #[serde(default)]
    decisions: Option<Decisions>,
}

/// Packets that a task writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packets {
    folder: PathBuf,
    at: Vec<String>,
    snaplen_bytes: u32,
    departures: bool,
}

/// Decisions that a task writes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    folder: PathBuf,
    at: Vec<String>,
}

impl Packets {
    fn traces(&self, network: &Network) -> Result<PacketTraces, String> {
        let Self { folder, snaplen_bytes: snaplen, departures, .. } = self;
        if !(LEAST_SNAPLEN..=GREATEST_SNAPLEN).contains(snaplen) {
            let allowed = format!("allowed: {LEAST_SNAPLEN} to {GREATEST_SNAPLEN} bytes");
            return Err(format!("packet traces: the snap length is {snaplen} bytes; {allowed}"));
        }
        let ports = traces::ports(network, &self.at).map_err(|what| format!("packet traces: {what}"))?;
        Ok(PacketTraces { folder: folder.clone(), ports, snaplen: *snaplen, departures: *departures })
    }
}

impl Decisions {
    fn logs(&self, network: &Network) -> Result<DecisionLogs, String> {
        let ports = traces::ports(network, &self.at).map_err(|what| format!("decision logs: {what}"))?;
        Ok(DecisionLogs { folder: self.folder.clone(), ports })
    }
}

impl Task {
    /// Reads a task.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(task: &str) -> Result<Self, String> {
        serde_json::from_str(task).map_err(text)
    }

    /// The options of a run in `network`.
    ///
    /// # Errors
    /// A scheme, an interval or a trace that this network cannot have.
    pub fn options(&self, network: &Network) -> Result<Options, String> {
        let scheme = self.scheme.as_deref().map(str::parse::<Config>).transpose().map_err(text)?;
        let series = self.series.as_deref().map(str::parse::<Span>).transpose().map_err(text)?;
        network.check_tables(scheme.as_ref()).map_err(text)?;
        network.check_changes(scheme.as_ref()).map_err(text)?;
        if let Some(interval) = series {
            network.check_series(interval).map_err(|what| format!("series: the interval {what}"))?;
        }
        let packets = self.packets.as_ref().map(|it| it.traces(network)).transpose()?;
        let decisions = self.decisions.as_ref().map(|it| it.logs(network)).transpose()?;
        Ok(Options { scheme, seed: self.seed, replication: self.replication, series, packets, decisions })
    }

    /// Runs it, and returns the report as JSON.
    ///
    /// # Errors
    /// What [`Task::options`] refuses, a run that fails, and one that was stopped.
    pub fn run(&self, network: &Arc<Network>, progress: &Progress) -> Result<String, String> {
        let report = run_one(network, &self.options(network)?, progress).ok_or("stopped")?.map_err(text)?;
        serde_json::to_string(&report).map_err(text)
    }
}

/// The network of a scenario, which is TOML or JSON.
///
/// # Errors
/// What is wrong with the scenario.
pub fn network(scenario: &str) -> Result<Arc<Network>, String> {
    let document = sojourn_scenario::load(scenario, "scenario", &[]).map_err(text)?;
    document.resolve().map(Arc::new).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
