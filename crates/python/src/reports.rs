//! Results of runs: sections of a report as JSON text, and tables over all reports as Arrow.
//!
//! A table leaves as a stream of the Arrow C data interface (`__arrow_c_stream__`), which pyarrow, polars, DuckDB and
//! pandas read without a copy in Python. Python says which columns there are, and with which units.

use crate::refuse;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde::Serialize;
use serde_json::json;
use sojourn_sim::simulation::Metrics;
use sojourn_sim::RunReport;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The reports of a batch; report `k` is of task `k`.
#[pyclass(frozen)]
pub struct Reports(pub(crate) Vec<RunReport>);

/// Where the row of a table is: in which report, which entry of its list, and of that which sample.
#[derive(Clone, Copy)]
struct Place {
    /// Among the rows' labels.
    label: usize,
    run: usize,
    entry: usize,
    sample: usize,
}

/// What stands in a row.
enum Cell<'a> {
    Text(&'a str),
    Whole(u64),
    Flag(bool),
    Number(Option<f64>),
}

fn text<T: Serialize + ?Sized>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(refuse)
}

impl Reports {
    /// The rows of a table over the reports in `order`.
    fn places(&self, table: &str, order: &[usize]) -> PyResult<Vec<Place>> {
        let mut places = Vec::new();
        for (label, &run) in order.iter().enumerate() {
            let report = self.0.get(run).ok_or_else(|| refuse("no such report"))?;
            let entries: Vec<usize> = match table {
                "runs" => vec![1],
                "queues" => vec![1; report.queues.len()],
                "flows" => vec![1; report.flows.len()],
                "groups" => vec![1; report.groups.len()],
                "phases" => vec![1; report.phases.len()],
                "stations" => report.cells.iter().map(|cell| cell.stations.len()).collect(),
                "distributions" => report.distributions.values().map(|curve| curve.value.len()).collect(),
                "series" => report.series.iter().map(|series| series.t_s.len()).collect(),
                _ => return Err(refuse(format!("there is no table {table}"))),
            };
            for (entry, samples) in entries.into_iter().enumerate() {
                places.extend((0..samples).map(|sample| Place { label, run, entry, sample }));
            }
        }
        Ok(places)
    }

    /// What the column `name` of `table` has in a row.
    fn cell<'a>(
        &'a self,
        table: &str,
        name: &str,
        at: Place,
        labels: &'a [String],
        queue: Option<&'a str>,
    ) -> Option<Cell<'a>> {
        let report = self.0.get(at.run)?;
        match name {
            "scheme" => return Some(Cell::Text(labels.get(at.label)?)),
            "seed" => return Some(Cell::Whole(report.seed)),
            "replication" => return Some(Cell::Whole(report.replication)),
            _ => {}
        }
        match table {
            "runs" => Some(run_cell(report, name, queue)),
            "queues" => {
                let queue = report.queues.get(at.entry)?;
                Some(match name {
                    "queue" => Cell::Text(&queue.name),
                    "under_test" => Cell::Flag(queue.under_test),
                    "configured" => Cell::Text(&queue.scheme),
                    _ => metric(&queue.metrics, name),
                })
            }
            "flows" => {
                let flow = report.flows.get(at.entry)?;
                Some(match name {
                    "flow" => Cell::Text(&flow.name),
                    "group" => Cell::Text(&flow.group),
                    "from" => Cell::Text(&flow.from),
                    "to" => Cell::Text(&flow.to),
                    "transport" => Cell::Text(flow.transport),
                    _ => metric(&flow.metrics, name),
                })
            }
            "groups" => {
                let group = report.groups.get(at.entry)?;
                Some(if name == "group" { Cell::Text(&group.name) } else { metric(&group.metrics, name) })
            }
            "phases" => {
                let phase = report.phases.get(at.entry)?;
                Some(match name {
                    "phase" => Cell::Text(&phase.phase),
                    "occurrence" => Cell::Whole(phase.occurrence),
                    "group" => Cell::Text(&phase.group),
                    "queue" => Cell::Text(&phase.queue),
                    "from_s" => Cell::Number(Some(phase.from_s)),
                    "to_s" => Cell::Number(Some(phase.to_s)),
                    "measured_s" => Cell::Number(Some(phase.measured_s)),
                    _ => metric(&phase.metrics, name),
                })
            }
            "stations" => {
                let cell = report.cells.get(at.entry)?;
                let station = cell.stations.get(at.sample)?;
                match name {
                    "cell" => Some(Cell::Text(&cell.name)),
                    "node" => Some(Cell::Text(&station.node)),
                    "attempts" => Some(Cell::Whole(station.attempts)),
                    "retries" => Some(Cell::Whole(station.retries)),
                    "collisions" => Some(Cell::Whole(station.collisions)),
                    "frame_errors" => Some(Cell::Whole(station.frame_errors)),
                    "retry_drops" => Some(Cell::Whole(station.retry_drops)),
                    "air_time_share" => Some(Cell::Number(Some(station.air_time_share))),
                    "air_time_both_share" => Some(Cell::Number(Some(station.air_time_both_share))),
                    _ => None,
                }
            }
            "distributions" => {
                let (quantity, curve) = report.distributions.iter().nth(at.entry)?;
                match name {
                    "quantity" => Some(Cell::Text(quantity)),
                    "value" => Some(Cell::Number(curve.value.get(at.sample).copied())),
                    "cumulative" => Some(Cell::Number(curve.cumulative.get(at.sample).copied())),
                    _ => None,
                }
            }
            "series" => {
                let series = report.series.get(at.entry)?;
                match name {
                    "name" => Some(Cell::Text(&series.name)),
                    "unit" => Some(Cell::Text(&series.unit)),
                    "t_s" => Some(Cell::Number(series.t_s.get(at.sample).copied())),
                    "value" => Some(Cell::Number(series.value.get(at.sample).copied().flatten())),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// A column; `kind` is "text", "whole", "flag" or "number".
    fn column(
        &self,
        table: &str,
        (name, kind): (&str, &str),
        places: &[Place],
        labels: &[String],
        queue: Option<&str>,
    ) -> PyResult<ArrayRef> {
        let cells = || places.iter().map(|place| self.cell(table, name, *place, labels, queue));
        Ok(match kind {
            "text" => Arc::new(StringArray::from_iter(cells().map(|cell| match cell {
                Some(Cell::Text(text)) => Some(text),
                _ => None,
            }))),
            "whole" => Arc::new(Int64Array::from_iter(cells().map(|cell| match cell {
                Some(Cell::Whole(number)) => i64::try_from(number).ok(),
                _ => None,
            }))),
            "flag" => Arc::new(BooleanArray::from_iter(cells().map(|cell| match cell {
                Some(Cell::Flag(flag)) => Some(flag),
                _ => None,
            }))),
            "number" => Arc::new(Float64Array::from_iter(cells().map(|cell| match cell {
                Some(Cell::Number(number)) => number.filter(|number| !number.is_nan()),
                _ => None,
            }))),
            _ => return Err(refuse(format!("there is no kind of column {kind}"))),
        })
    }
}

/// A column of the table `runs`; of queues those of `queue` where given, in place of the run's own first.
fn run_cell<'a>(report: &'a RunReport, name: &str, queue: Option<&'a str>) -> Cell<'a> {
    let own = || report.queues.iter().find(|one| Some(&*one.name) == queue && one.under_test);
    match name {
        "queue" => Cell::Text(queue.or(report.queue.as_deref()).unwrap_or_default()),
        "duration_s" => Cell::Number(Some(report.duration_s)),
        "warm_up_s" => Cell::Number(Some(report.warm_up_s)),
        "measured_s" => Cell::Number(Some(report.measured_s)),
        "events" => Cell::Whole(report.events),
        "packets_sent" => Cell::Whole(report.conservation.sent),
        "packets_delivered" => Cell::Whole(report.conservation.delivered),
        "packets_dropped" => Cell::Whole(report.conservation.dropped),
        "packets_in_flight" => Cell::Whole(report.conservation.in_flight),
        _ => match own().and_then(|queue| queue.metrics.get(name)) {
            Some(value) => Cell::Number(value),
            None => metric(&report.metrics, name),
        },
    }
}

fn metric<'a>(metrics: &Metrics, name: &str) -> Cell<'a> {
    Cell::Number(metrics.get(name).flatten())
}

#[pymethods]
impl Reports {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A section of report `index` as JSON: `run` has what is of the run as a whole.
    fn section(&self, index: usize, name: &str) -> PyResult<String> {
        let report = self.0.get(index).ok_or_else(|| refuse("no such report"))?;
        match name {
            "run" => Ok(json!({
                "scenario": report.scenario,
                "scheme": report.scheme,
                "seed": report.seed,
                "replication": report.replication,
                "duration_s": report.duration_s,
                "warm_up_s": report.warm_up_s,
                "measured_s": report.measured_s,
                "events": report.events,
                "queue": report.queue,
                "metrics": report.metrics,
                "conservation": report.conservation,
            })
            .to_string()),
            "queues" => text(&report.queues),
            "flows" => text(&report.flows),
            "groups" => text(&report.groups),
            "phases" => text(&report.phases),
            "cells" => text(&report.cells),
            "distributions" => text(&report.distributions),
            "series" => text(&report.series),
            _ => Err(refuse(format!("a report has no section {name}"))),
        }
    }

    /// The schemes of the queues under test in report `index`.
    fn under_test(&self, index: usize) -> PyResult<BTreeSet<&str>> {
        let report = self.0.get(index).ok_or_else(|| refuse("no such report"))?;
        Ok(report.queues.iter().filter(|queue| queue.under_test).map(|queue| queue.scheme.as_str()).collect())
    }

    /// The metrics that entries of `table` have in any report.
    fn metric_names(&self, table: &str) -> Vec<&'static str> {
        let mut names = BTreeSet::new();
        for report in &self.0 {
            match table {
                "runs" => names.extend(report.metrics.keys()),
                "queues" => names.extend(report.queues.iter().flat_map(|queue| queue.metrics.keys())),
                "flows" => names.extend(report.flows.iter().flat_map(|flow| flow.metrics.keys())),
                "groups" => names.extend(report.groups.iter().flat_map(|group| group.metrics.keys())),
                "phases" => names.extend(report.phases.iter().flat_map(|phase| phase.metrics.keys())),
                _ => {}
            }
        }
        names.into_iter().collect()
    }

    /// A table with a row for each entry of the reports in `order`, whose schemes are `labels`; `columns` has name, kind
    /// and unit of each (none: empty). Metrics of queues in `runs` are those of `queue`.
    #[pyo3(signature = (name, order, labels, columns, queue=None))]
    fn table(
        &self,
        py: Python<'_>,
        name: &str,
        order: Vec<usize>,
        labels: Vec<String>,
        columns: Vec<(String, String, String)>,
        queue: Option<String>,
    ) -> PyResult<Table> {
        py.detach(|| {
            let places = self.places(name, &order)?;
            let mut fields = Vec::with_capacity(columns.len());
            let mut arrays = Vec::with_capacity(columns.len());
            for (column, kind, unit) in &columns {
                let array = self.column(name, (column, kind), &places, &labels, queue.as_deref())?;
                let field = Field::new(column, array.data_type().clone(), true);
                let unit = (!unit.is_empty()).then(|| HashMap::from([("unit".to_owned(), unit.clone())]));
                fields.push(field.with_metadata(unit.unwrap_or_default()));
                arrays.push(array);
            }
            let facts = HashMap::from([("table".to_owned(), name.to_owned())]);
            let schema = Arc::new(Schema::new_with_metadata(fields, facts));
            let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(refuse)?;
            Ok(Table { schema, batch })
        })
    }
}

/// A table in Arrow's memory format.
#[pyclass(frozen)]
pub struct Table {
    schema: SchemaRef,
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    /// The Arrow PyCapsule interface. Another schema than the table's own is not made; the consumer casts.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
