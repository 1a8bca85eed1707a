//! Environments for learning, many at a time: a step fills buffers of the caller.

use crate::refuse;
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use sojourn_sim::environment::{Begin, Document, Pool, Spec};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Environments of one kind.
#[pyclass(frozen)]
pub struct Environments {
    pool: Mutex<Pool>,
}

impl Environments {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Copies `from` into a buffer of NumPy's.
fn fill<T: pyo3::buffer::Element + Copy>(
    py: Python<'_>,
    buffer: &PyBuffer<T>,
    from: impl Iterator<Item = T>,
) -> PyResult<()> {
    buffer.copy_from_slice(py, &from.collect::<Vec<T>>())
}

#[pymethods]
impl Environments {
    /// From a document and the scenarios that an episode may be of.
    #[new]
    fn new(document: &str, scenarios: Vec<String>, count: usize, threads: usize) -> PyResult<Self> {
        let document: Document = serde_json::from_str(document).map_err(refuse)?;
        let networks = scenarios.iter().map(|text| sojourn_sim::task::network(text).map_err(refuse));
        let networks = networks.collect::<PyResult<Vec<_>>>()?;
        let spec = Spec::new(&document, networks).map_err(refuse)?;
        Ok(Self { pool: Mutex::new(Pool::new(spec, count, threads).map_err(refuse)?) })
    }

    /// Begins episodes: (environment, scenario, seed, replication) of each.
    fn begin(
        &self,
        py: Python<'_>,
        episodes: Vec<(usize, usize, u64, u64)>,
        observations: PyBuffer<f32>,
    ) -> PyResult<()> {
        let begin = |(environment, network, seed, replication)| Begin { environment, network, seed, replication };
        let begins: Vec<Begin> = episodes.into_iter().map(begin).collect();
        py.detach(|| self.pool().begin(&begins)).map_err(refuse)?;
        let pool = self.pool();
        fill(py, &observations, pool.observations().copied())
    }

    /// A step of all: reads `actions`, and fills the others. `ended` is 1 where an episode is at its end.
    fn step(
        &self,
        py: Python<'_>,
        actions: PyBuffer<f64>,
        observations: PyBuffer<f32>,
        rewards: PyBuffer<f64>,
        ended: PyBuffer<u8>,
    ) -> PyResult<()> {
        let actions: Vec<f64> = actions.to_vec(py)?;
        py.detach(|| self.pool().step(&actions)).map_err(refuse)?;
        let pool = self.pool();
        fill(py, &observations, pool.observations().copied())?;
        fill(py, &rewards, pool.rewards())?;
        fill(py, &ended, pool.ended())
    }

    /// The report of the episode of an environment that ended last, as JSON.
    fn report(&self, environment: usize) -> PyResult<String> {
        self.pool().report(environment).map_err(refuse)
    }
}
