//! Episodes for learning: a step is a window of time, after which the caller sees measurements and a reward, and acts.
//!
//! Observations and reward are [formulas](sojourn_aqm::formula) of metrics: what the window measured, internals of
//! the scheme, and the last action. A value that there was nothing to measure of is 0.

mod action;
mod metric;
mod pool;

pub use action::Range;
pub use pool::{Begin, Pool};

use crate::{Options, RunReport, Simulation};
use action::{Action, MOST};
use metric::Metrics;
use serde::Deserialize;
use sojourn_aqm::formula::{functions, Expression, Unit};
use sojourn_aqm::suggest::did_you_mean;
use sojourn_aqm::Config;
use sojourn_scenario::Network;
use sojourn_units::{Instant, Span};
use std::sync::Arc;

/// Characters of a formula at most.
const LONGEST: usize = 1024;

/// What an environment is, as a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The scheme at the start of an episode; without it that of the scenario.
    pub scheme: Option<String>,
    /// The queue that is observed and acted on.
    pub queue: String,
    /// Length of a step.
    pub step: String,
    /// Formulas of metrics.
    pub observations: Vec<String>,
    /// A formula of metrics.
    pub reward: String,
    /// What an action changes.
    pub action: action::Document,
}

/// An environment, checked.
pub struct Spec {
    networks: Vec<Arc<Network>>,
    scheme: Option<Config>,
    ports: Vec<usize>,
    step: Span,
    observations: Vec<Expression>,
    reward: Expression,
    action: Action,
    metrics: Metrics,
}

impl Spec {
    /// Checks a document; an episode is of one of `networks`.
    ///
    /// # Errors
    /// What is wrong, where, and what is allowed.
    pub fn new(document: &Document, networks: Vec<Arc<Network>>) -> Result<Self, String> {
        if networks.is_empty() || networks.len() > MOST {
            return Err(format!("{} networks; allowed: 1 to {MOST}", networks.len()));
        }
        if document.observations.is_empty() || document.observations.len() > MOST {
            return Err(format!("{} observations; allowed: 1 to {MOST}", document.observations.len()));
        }
        let step: Span = document.step.parse().map_err(|why| format!("step: {why}"))?;
        if step.is_zero() {
            return Err("step is 0 s; allowed: above 0".into());
        }
        let scheme = document.scheme.as_deref().map(str::parse::<Config>).transpose().map_err(|why| why.to_string())?;
        let mut ports = Vec::new();
        for network in &networks {
            network.check_tables(scheme.as_ref())?;
            network.check_changes(scheme.as_ref())?;
            ports.push(port_of(network, &document.queue)?);
            if network.duration < network.warm_up + step {
                return Err(format!("step is {step}, longer than {} lasts after its warm-up", network.name));
            }
        }
        let first = scheme.clone().or_else(|| {
            networks.first().zip(ports.first()).map(|(network, port)| Config::clone(&network.ports[*port].queue))
        });
        let first = first.ok_or("no scheme")?;
        let action = Action::new(&document.action, &first)?;
        let metrics = Metrics::of(&action.schemes(&first), action.len());
        let names: Vec<(&str, Unit)> = metrics.names().map(|name| (name, Unit::NUMBER)).collect();
        let read = |what: &str, text: &str| {
            Expression::read(text, &names, LONGEST).map_err(|why| {
                let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                format!(
                    "{what}: {why}; allowed: {}, numbers, + - * / ^ < >, {}",
                    known.join(", "),
                    functions().join(", ")
                )
            })
        };
        let number = |(index, text): (usize, &String)| read(&format!("observation {index}"), text);
        let observations: Vec<Expression> =
            document.observations.iter().enumerate().map(number).collect::<Result<_, _>>()?;
        let reward = read("reward", &document.reward)?;
        let metrics = metrics.used(observations.iter().chain([&reward]));
        Ok(Self { networks, scheme, ports, step, observations, reward, action, metrics })
    }

    /// Observations of a step.
    #[must_use]
    pub fn observations(&self) -> usize {
        self.observations.len()
    }

    /// Numbers of an action.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.action.len()
    }

    /// Networks that an episode may be of.
    #[must_use]
    pub fn networks(&self) -> usize {
        self.networks.len()
    }
}

fn port_of(network: &Network, queue: &str) -> Result<usize, String> {
    let is_it = |port: &sojourn_scenario::Port| port.name == queue && port.under_test;
    network.ports.iter().position(is_it).ok_or_else(|| {
        let tested: Vec<&str> = network.ports.iter().filter(|port| port.under_test).map(|port| &*port.name).collect();
        let hint = did_you_mean(queue, &tested);
        format!("no queue \"{queue}\" is under test in {}{hint}; allowed: {}", network.name, tested.join(", "))
    })
}

/// An environment with its present episode.
pub struct Environment {
    spec: Arc<Spec>,
    episode: Option<Episode>,
    /// The present value of every metric.
    values: Vec<f64>,
    /// Of the episode that ended last.
    report: Option<RunReport>,
}

struct Episode {
    simulation: Simulation,
    port: usize,
    /// What was done last.
    action: Vec<f64>,
}

impl Environment {
    /// Without an episode.
    #[must_use]
    pub fn new(spec: Arc<Spec>) -> Self {
        let values = vec![0.0; spec.metrics.len()];
        Self { spec, episode: None, values, report: None }
    }

    /// Begins an episode and simulates its warm-up; the last step of it is observed.
    ///
    /// # Errors
    /// No such network.
    pub fn begin(&mut self, begin: &Begin, observations: &mut [f32]) -> Result<(), String> {
        let spec = Arc::clone(&self.spec);
        let (Some(network), Some(port)) = (spec.networks.get(begin.network), spec.ports.get(begin.network)) else {
            return Err(format!("network {} of {}; allowed: from 0", begin.network, spec.networks.len()));
        };
        let options = Options {
            scheme: spec.scheme.clone(),
            seed: begin.seed,
            replication: begin.replication,
            series: None,
            packets: None,
            decisions: None,
        };
        let mut simulation = Simulation::new(Arc::clone(network), options);
        simulation.watch();
        let warm_up = Instant::ZERO + network.warm_up;
        if network.warm_up > spec.step {
            simulation.run_until(Instant::from_nanos(warm_up.nanos() - spec.step.nanos()));
            simulation.window(*port);
        }
        simulation.run_until(warm_up);
        self.episode = Some(Episode { simulation, port: *port, action: vec![f64::NAN; spec.actions()] });
        self.observe(observations);
        Ok(())
    }

    /// Acts, simulates a step, and observes: the reward, and whether the episode is at its end.
    ///
    /// # Errors
    /// No episode, an action that is refused, or a defect of the simulator.
    pub fn step(&mut self, action: &[f64], observations: &mut [f32]) -> Result<(f64, bool), String> {
        let spec = Arc::clone(&self.spec);
        let Some(episode) = &mut self.episode else {
            return Err("the episode has ended or not begun: reset first".into());
        };
        // What stays as it is, is not done again.
        if episode.action != action {
            spec.action.carry_out(action, &episode.action, &mut episode.simulation, episode.port)?;
            episode.action.clear();
            episode.action.extend_from_slice(action);
        }
        let until = (episode.simulation.now() + spec.step).min(episode.simulation.end());
        episode.simulation.run_until(until);
        let left = episode.simulation.end() - until;
        self.observe(observations);
        let reward = spec.reward.value(&self.values);
        let is_over = left < spec.step;
        if is_over {
            let episode = self.episode.take();
            // The rest of the run is shorter than a step. It also checks that no packet was lost.
            self.report =
                episode.map(|episode| episode.simulation.run()).transpose().map_err(|error| error.to_string())?;
        }
        Ok((if reward.is_finite() { reward } else { 0.0 }, is_over))
    }

    /// The report of the episode that ended last.
    #[must_use]
    pub fn report(&self) -> Option<&RunReport> {
        self.report.as_ref()
    }

    /// Instant of the present episode, in seconds; 0 without one.
    #[must_use]
    pub fn time_s(&self) -> f64 {
        self.episode.as_ref().map_or(0.0, |episode| episode.simulation.now().seconds())
    }

    fn observe(&mut self, observations: &mut [f32]) {
        let Some(episode) = &mut self.episode else { return };
        self.spec.metrics.fill(&mut episode.simulation, episode.port, &episode.action, &mut self.values);
        for (formula, place) in self.spec.observations.iter().zip(observations) {
            let value = formula.value(&self.values) as f32;
            *place = if value.is_finite() { value } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests;
