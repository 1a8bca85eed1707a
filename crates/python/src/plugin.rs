//! Algorithms from outside: adding them, and the suite that checks them.

use crate::refuse;
use pyo3::prelude::*;
use serde_json::{json, Value};
use sojourn_aqm::Config;
use sojourn_plugin::abi::Table;
use sojourn_plugin::{add_library, contract, host_functions};
use std::path::PathBuf;

/// Loads a shared library and adds its algorithm; returns its name.
#[pyfunction]
pub fn plugin_add_library(path: PathBuf, version: &str) -> PyResult<&'static str> {
    add_library(&path, version).map_err(refuse)
}

/// Adds the algorithm of a table in memory that stays for the rest of the process; returns its name.
#[pyfunction]
pub fn plugin_add_table(address: usize, version: &str) -> PyResult<&'static str> {
    #[allow(unsafe_code)]
    // SAFETY: `sojourn.plugins.table` makes the table as the header says, and keeps it and all that it points to.
    unsafe { sojourn_plugin::add_table(address as *const Table, version) }.map_err(refuse)
}

/// Addresses of what the host does for an algorithm, by name.
#[pyfunction]
pub fn plugin_host() -> Vec<(&'static str, usize)> {
    host_functions().to_vec()
}

/// The contract suite for an algorithm that was added, as JSON: what was checked, and the first violation.
#[pyfunction]
pub fn plugin_check(py: Python<'_>, name: &str) -> PyResult<String> {
    let parts = py.detach(|| {
        // A violation is a panic of the suite, which is reported and not printed.
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let parts = contract::check(name);
        std::panic::set_hook(shown);
        parts
    });
    Ok(Value::Array(parts.map_err(refuse)?.iter().map(finding).collect()).to_string())
}

pub fn finding(part: &contract::Part) -> Value {
    json!({"name": part.name, "scope": part.scope, "violation": part.violation})
}

/// What a scheme decides on the suite's workload, as JSON, with the first `keep` decisions in words.
#[pyfunction]
pub fn plugin_decisions(py: Python<'_>, scheme: &str, packets: u64, seed: u64, keep: usize) -> PyResult<String> {
    let config: Config = scheme.parse().map_err(refuse)?;
    let seen = py.detach(|| contract::decisions(&config, packets, seed, keep));
    let internals: serde_json::Map<String, Value> =
        seen.internals.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    Ok(json!({
        "digest": format!("{:016x}", seen.digest),
        "dropped": seen.dropped,
        "marked": seen.marked,
        "sent": seen.sent,
        "first": seen.first,
        "fault": seen.fault,
        "internals": internals,
    })
    .to_string())
}
