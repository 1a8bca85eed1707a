//! Summaries of traces and captures.

use crate::refuse;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use sojourn_aqm::link::rates::Totals;
use sojourn_sim::summary;
use sojourn_units::Span;
use std::path::PathBuf;

/// Kind, seconds of the whole, bit/s of the mean, bits of each window as floating-point numbers in memory's order, seconds of a
/// window, seconds of the longest gap, and of a capture what became of its frames as JSON.
type Found<'py> = (&'static str, f64, u64, Bound<'py, PyBytes>, f64, f64, Option<String>);

fn found<'py>(py: Python<'py>, kind: &'static str, totals: &Totals, account: Option<String>) -> Found<'py> {
    let bits: Vec<u8> = totals.bits.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
    let bits = PyBytes::new(py, &bits);
    let (length, window, gap) = (totals.length.seconds(), totals.window.seconds(), totals.gap.seconds());
    (kind, length, totals.mean.bit_s(), bits, window, gap, account)
}

/// Sums up the text of a trace.
#[pyfunction]
pub fn summary_of_text<'py>(py: Python<'py>, text: &str, hold: bool, window_ns: u64) -> PyResult<Found<'py>> {
    let sum = || summary::of_text(text, hold, Span::from_nanos(window_ns));
    let (kind, totals) = py.detach(sum).map_err(refuse)?;
    Ok(found(py, kind, &totals, None))
}

/// Sums up a trace in a file.
#[pyfunction]
pub fn summary_of_file(py: Python<'_>, path: PathBuf, hold: bool, window_ns: u64) -> PyResult<Found<'_>> {
    let sum = || summary::of_file(&path, hold, Span::from_nanos(window_ns));
    let (kind, totals) = py.detach(sum).map_err(refuse)?;
    Ok(found(py, kind, &totals, None))
}

/// Sums up the IP packets of a capture.
#[pyfunction]
pub fn summary_of_capture(py: Python<'_>, path: PathBuf, window_ns: u64) -> PyResult<Found<'_>> {
    let sum = || summary::of_capture(&path, Span::from_nanos(window_ns));
    let (totals, account) = py.detach(sum).map_err(refuse)?;
    Ok(found(py, "packets", &totals, Some(json!(account).to_string())))
}
