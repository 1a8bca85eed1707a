//! A run that the caller steps through: looks at its queues on the way, and gives them other schemes.

use crate::refuse;
use pyo3::prelude::*;
use sojourn_aqm::suggest::did_you_mean;
use sojourn_aqm::Config;
use sojourn_sim::{task, Simulation, Task};
use sojourn_units::{Instant, Span};

/// A run under way.
#[pyclass(unsendable)]
pub struct Stepper {
    simulation: Simulation,
    /// Names of all queues, and whether they are under test.
    queues: Vec<(String, bool)>,
}

impl Stepper {
    fn find(&self, queue: &str) -> PyResult<usize> {
        self.queues.iter().position(|(name, _)| name == queue).ok_or_else(|| {
            let known: Vec<&str> = self.queues.iter().take(8).map(|(name, _)| name.as_str()).collect();
            let more = self.queues.len().saturating_sub(known.len());
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let all: Vec<&str> = self.queues.iter().map(|(name, _)| name.as_str()).collect();
            let hint = did_you_mean(queue, &all);
            refuse(format!("there is no queue \"{queue}\"{hint}; allowed: {}{rest}", known.join(", ")))
        })
    }
}

#[pymethods]
impl Stepper {
    /// At the start of a task of a scenario.
    #[new]
    fn new(scenario_json: &str, task: &str) -> PyResult<Self> {
        let network = task::network(scenario_json).map_err(refuse)?;
        let options = Task::read(task).and_then(|task| task.options(&network)).map_err(refuse)?;
        let queues = network.ports.iter().map(|port| (port.name.clone(), port.under_test)).collect();
        let mut simulation = Simulation::new(network, options);
        simulation.watch();
        Ok(Self { simulation, queues })
    }

    /// Names of all queues, and whether they are under test.
    fn queues(&self) -> Vec<(String, bool)> {
        self.queues.clone()
    }

    /// The present instant, and the end of the scenario.
    fn times_ns(&self) -> (u64, u64) {
        (self.simulation.now().nanos(), self.simulation.end().nanos())
    }

    /// Handles every event up to and including this instant; stops at the end of the scenario.
    fn run_until(&mut self, until_ns: u64) {
        self.simulation.run_until(Instant::ZERO + Span::from_nanos(until_ns));
    }

    /// What a queue under test did since its last window, as JSON.
    fn window(&mut self, queue: &str) -> PyResult<String> {
        let index = self.find(queue)?;
        let window = self.simulation.window(index).ok_or_else(|| {
            let tested: Vec<&str> = self.queues.iter().filter(|(_, tested)| *tested).map(|(name, _)| &**name).collect();
            refuse(format!("queue \"{queue}\" is not under test; allowed: {}", tested.join(", ")))
        })?;
        serde_json::to_string(&window).map_err(refuse)
    }

    /// Gives a queue another scheme now.
    fn switch(&mut self, queue: &str, scheme: &str) -> PyResult<()> {
        let config: Config = scheme.parse().map_err(refuse)?;
        let index = self.find(queue)?;
        if self.simulation.switch(index, &config) {
            Ok(())
        } else {
            Err(refuse(format!(
                "queue \"{queue}\" is a tail drop outside the test, which is computed rather than simulated; allowed: \
                 a queue under test, or one whose scheme is another"
            )))
        }
    }

    /// The report of the whole run, as JSON: what is left of it is run with the schemes of now, in a copy.
    fn report(&self) -> PyResult<String> {
        let report = self.simulation.clone().run().map_err(refuse)?;
        serde_json::to_string(&report).map_err(refuse)
    }
}
