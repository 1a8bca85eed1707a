//! What a run reports.

use super::net::PortRef;
use super::state::{Counts, Internals};
use super::{RunError, Simulation};
use crate::engine::Wheel;
use crate::port::{Medium, Station};
use crate::wlan::Fate;
use catalogue::Scope;
use serde::{Deserialize, Serialize};
use sojourn_measure::{Histogram, Synchronisation, WindowRow};
use sojourn_units::Instant;
use std::borrow::Cow;
use std::collections::BTreeMap;

pub mod catalogue;
mod cells;
mod check;
mod entries;
mod flows;
mod metrics;
mod phases;
mod queues;
mod series;

pub use cells::{CellReport, StationReport};
pub use metrics::Metrics;
pub(crate) use phases::PhaseBook;
pub use phases::PhaseReport;
pub(crate) use series::Recorder;

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The scenario's name.
    pub scenario: String,
    /// Canonical text of the scheme under test; `null` for the queues as written.
    pub scheme: Option<String>,
    /// Seed.
    pub seed: u64,
    /// Number of the replication.
    pub replication: u64,
    /// Length of the run in seconds.
    pub duration_s: f64,
    /// Start of the measurement in seconds.
    pub warm_up_s: f64,
    /// Length of the measurement in seconds.
    pub measured_s: f64,
    /// Events handled.
    pub events: u64,
    /// The queue under test that the run's metrics of queues are of: the busiest, of equal ones the first in the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Metrics of run scope.
    pub metrics: Metrics,
    /// One entry a queue.
    pub queues: Vec<QueueReport>,
    /// One entry a flow.
    pub flows: Vec<FlowReport>,
    /// One entry a group of flows, in the scenario's order.
    pub groups: Vec<GroupReport>,
    /// One entry a phase, and one for all phases of one name together; none without changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseReport>,
    /// One entry an 802.11 cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellReport>,
    /// Distribution functions.
    pub distributions: BTreeMap<Cow<'static, str>, Distribution>,
    /// Time series, where asked for.
    pub series: Vec<Series>,
    /// The final audit.
    pub conservation: Conservation,
}

/// One queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueueReport {
    /// `left->right`.
    pub name: String,
    /// A comparison replaces it.
    pub under_test: bool,
    /// Canonical text of its scheme, at the start of the run where it was switched.
    pub scheme: String,
    /// Schemes that it was switched to during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<Switched>,
    /// Metrics of queue scope.
    pub metrics: Metrics,
    /// Windows of as many packets as the scenario says, whole ones of one scheme each; none where it asks for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<QueueWindow>,
    /// Counts since the start of the run; of a queue under test only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Box<Counts>>,
    /// The algorithm's internals at the end of the run; of a queue under test only.
    #[serde(skip_serializing_if = "Internals::is_empty")]
    pub internals: Internals,
}

/// One window of a queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueWindow {
    /// Canonical text of the scheme that the queue had.
    pub scheme: String,
    /// What was measured.
    #[serde(flatten)]
    pub row: WindowRow,
}

/// A change of scheme during the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Switched {
    /// When, in seconds.
    pub at_s: f64,
    /// Canonical text of the new scheme.
    pub scheme: String,
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// `bulk[0]`.
    pub name: String,
    /// `bulk`.
    pub group: String,
    /// Node that sends the data.
    pub from: String,
    /// Node that receives it.
    pub to: String,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// Metrics of flow scope.
    pub metrics: Metrics,
}

/// All flows of one `[[flows]]` table together.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReport {
    /// `bulk`.
    pub name: String,
    /// Metrics of group scope.
    pub metrics: Metrics,
}

/// A distribution function: the share `cumulative[i]` lies at or below `value[i]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Ascending values, in the unit that the name says.
    pub value: Vec<f64>,
    /// Shares, ending in 1.
    pub cumulative: Vec<f64>,
}

/// A time series; each value is of the interval that ends at its instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Name of what is shown.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Ends of the intervals, in seconds.
    pub t_s: Vec<f64>,
    /// One value an interval; `null` where nothing was seen.
    pub value: Vec<Option<f64>>,
}

/// Packets of the whole run: sent + duplicated = delivered + dropped + in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Conservation {
    /// Packets that hosts sent, acknowledgements included.
    pub sent: u64,
    /// Copies that links made.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicated: u64,
    /// Packets that reached their hosts.
    pub delivered: u64,
    /// Packets dropped on the way.
    pub dropped: u64,
    /// Packets queued, in transmission or in propagation at the end.
    pub in_flight: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Points of a distribution function that a report holds at most.
const POINTS: usize = 400;

fn distribution(points: &[(f64, f64)]) -> Distribution {
    let step = points.len().div_ceil(POINTS).max(1);
    // Every step-th point and the last, so the function still ends in 1.
    let kept = points.iter().enumerate().filter(|(i, _)| (points.len() - 1 - i).is_multiple_of(step));
    let (value, cumulative) = kept.map(|(_, p)| *p).unzip();
    Distribution { value, cumulative }
}

/// What a curve is called: of one queue under test, `quantity` alone.
fn of_queue(quantity: &'static str, queue: &str, tested: usize) -> Cow<'static, str> {
    if tested == 1 {
        quantity.into()
    } else {
        format!("{quantity}:{queue}").into()
    }
}

/// Groups of flows whose delays are reported by distribution, at the most.
const COMPARED_GROUPS: usize = 16;

/// Queues under test that have distributions, time series and phases of their own, at the most: the busiest.
const COMPARED_QUEUES: usize = 16;

/// Name of all queues under test together, where they are measured so; no queue has it.
pub(super) const ALL: &str = "all";

impl Simulation {
    /// The warm-up is over: measures begin.
    pub(super) fn begin_measurement(&mut self) {
        self.net.report_losses();
        self.sample_warm_up();
        let now = self.net.now;
        for index in 0..self.net.ports.len() {
            let port = &mut self.net.ports[index];
            port.probe.restart(now, port.server.counters());
            port.channel_before = port.channel.as_ref().map(|channel| channel.counts()).unwrap_or_default();
            port.restart_trace(now);
            port.saved_before = port.saved(now);
            port.restart_hits(now);
        }
        (0..self.net.lines.len()).for_each(|line| self.net.begin_line(line));
        self.net.ahead_to = self.end;
        self.net.cells.iter_mut().for_each(|cell| cell.restart(now));
        if let Some((waiting, system)) = &mut self.net.total {
            waiting.restart(now);
            system.restart(now);
        }
        self.hosts.delays.iter_mut().for_each(Histogram::clear);
        self.payload_before += self.payload_all();
        for index in 0..self.hosts.flows.len() {
            self.hosts.before[index] = self.hosts.tcp_counts(index);
            self.hosts.ends[index].meter.restart();
            if let Some(echo) = &mut self.hosts.flows[index].echo {
                echo.restart();
            }
            if let Some(listener) = &mut self.hosts.flows[index].listener {
                listener.restart();
            }
            self.net.losses[index].restart();
        }
        self.net.synchronisation.fill(Synchronisation::default());
        self.hosts.clients.restart(now);
        let (snapshot, totals) = self.snapshot();
        if let Some(recorder) = &mut self.recorder {
            recorder.begin(snapshot, &totals);
        }
        self.measure_phases();
    }

    /// Closes the books.
    pub(super) fn finish(mut self) -> Result<RunReport, RunError> {
        self.net.now = self.end;
        self.net.settle_all(self.end);
        self.net.report_losses_before(Instant::NEVER);
        for index in 0..self.net.ports.len() {
            let port = &mut self.net.ports[index];
            port.probe.finish(self.end);
            port.close_hits(self.end);
        }
        for (line, queue) in self.net.lines.iter_mut().zip(&mut self.net.line_queues) {
            line.finish(queue, self.end);
        }
        if let Some((waiting, system)) = &mut self.net.total {
            waiting.settle(self.end);
            system.settle(self.end);
        }
        self.finish_traces()?;
        let conservation = self.audit()?;
        let measured = self.end - (Instant::ZERO + self.network.warm_up);
        let tested = self.busiest(self.end, measured);
        let first = tested.first().map(|index| self.merged(*index, self.end, measured)).unwrap_or_default();
        let mut metrics = Metrics::collect(Scope::Run, &first.accumulators(true));
        let queue = tested.first().map(|index| self.network.ports[*index].name.clone());
        let compared = &tested[..tested.len().min(COMPARED_QUEUES)];
        let mut distributions = BTreeMap::new();
        for index in compared {
            let one = self.merged(*index, self.end, measured);
            let name = |quantity| of_queue(quantity, &self.network.ports[*index].name, tested.len());
            distributions.insert(name("sojourn_ms"), distribution(&one.sojourn.histogram.cdf_ms()));
            distributions.insert(name("queue_packets"), distribution(&one.waiting.cdf()));
        }
        let all = (self.network.pooled && tested.len() > 1).then(|| self.merge_tested(self.end, measured));
        if let Some(all) = &all {
            let name = |quantity| of_queue(quantity, ALL, tested.len());
            distributions.insert(name("sojourn_ms"), distribution(&all.sojourn.histogram.cdf_ms()));
            distributions.insert(name("queue_packets"), distribution(&all.waiting.cdf()));
        }
        let phases = self.phase_reports(compared);
        let events = self.net.wheel.scheduled() - self.net.wheel.len() as u64;
        // What is not reported makes room for the reports.
        (self.net.slab, self.net.routes, self.net.hashes) = Default::default();
        self.net.wheel = Wheel::new(0);
        let (flows, groups, of_flows) = self.flow_reports(measured);
        metrics.extend(&of_flows);
        let cells = self.cell_reports(measured);
        // What is left is about queues: room for a report of each, where flows are many.
        let delays = self.delay_of_all();
        let own_delays = self.delays_of_groups();
        self.hosts.delays = Vec::new();
        let probes = std::mem::take(&mut self.hosts.probes);
        (self.hosts, self.net.losses) = Default::default();
        let mut queues: Vec<QueueReport> = (0..self.net.places.len()).map(|i| self.queue_report(i, measured)).collect();
        queues.extend(all.map(|all| all.report()));
        distributions.insert("one_way_delay_ms".into(), distribution(&delays.cdf_ms()));
        // Several groups of flows are compared with each other; many are not, and would fill the tables.
        if (2..=COMPARED_GROUPS).contains(&own_delays.len()) {
            for (name, delays) in self.network.groups.iter().zip(&own_delays) {
                distributions.insert(format!("one_way_delay_ms:{name}").into(), distribution(&delays.cdf_ms()));
            }
        }
        let series = self.recorder.take();
        let names = || flows.iter().map(|flow| flow.name.as_str());
        let series = series.map(|it| it.series(&self.network, compared, names()));
        let mut series = series.unwrap_or_default();
        // Of whole runs, like times of flows, and whether series are kept or not.
        series.extend(probes.iter().map(|(flow, probes)| probes.series(&self.network.flows[*flow as usize].name)));
        let report = RunReport {
            scenario: self.network.name.clone(),
            scheme: self.options.scheme.as_ref().map(sojourn_aqm::Config::text),
            seed: self.options.seed,
            replication: self.options.replication,
            duration_s: self.end.seconds(),
            warm_up_s: self.network.warm_up.seconds(),
            measured_s: measured.seconds(),
            events,
            queue,
            metrics,
            queues,
            flows,
            groups,
            phases,
            cells,
            distributions,
            series,
            conservation,
        };
        check::check(&report)?;
        Ok(report)
    }

    /// Counts what is where, by three independent ways, and compares.
    fn audit(&self) -> Result<Conservation, RunError> {
        let mut queued = 0;
        let mut flaws = Vec::new();
        for (place, spec) in self.net.places.iter().zip(&self.network.ports) {
            // What waits in a line is on its way already: its arrival is scheduled.
            let PortRef::Port(index) = *place else { continue };
            let port = &self.net.ports[index as usize];
            queued += port.device.as_ref().map_or(0, |device| device.handles.len() as u64);
            if let Medium::Bus { station: Station::Contending { .. }, .. } = port.medium {
                queued += 1;
            }
            if let Medium::Cell { cell, station } = port.medium {
                let interface = &self.net.cells[cell as usize].stations[station as usize];
                // An access point may have several ports; what it holds is from one of them.
                let held = interface.held.iter().filter(|_| interface.port == index);
                queued += held.filter(|frame| frame.fate != Fate::Delivered).count() as u64;
            }
            let backlog = port.server.backlog().packets;
            queued += backlog;
            let out = port.server.counters().forwarded.packets + port.server.counters().dropped_total().packets;
            if port.server.counters().arrived.packets != out + backlog || port.probe.waiting.get() != backlog {
                flaws.push(format!("the queue {} lost count of its packets", spec.name));
            }
        }
        let audit = &self.net.audit;
        let conservation = Conservation {
            sent: audit.sent,
            duplicated: audit.duplicated,
            delivered: audit.delivered,
            dropped: audit.dropped,
            in_flight: queued + self.net.on_wire(),
        };
        if audit.sent + audit.duplicated != audit.delivered + audit.dropped + conservation.in_flight {
            flaws.push(format!("sent + duplicated is not delivered + dropped + in flight: {conservation:?}"));
        }
        if self.net.slab.len() as u64 != conservation.in_flight {
            flaws.push(format!("{} packets are held, {} are in flight", self.net.slab.len(), conservation.in_flight));
        }
        if flaws.is_empty() {
            Ok(conservation)
        } else {
            Err(RunError(format!("packets are not conserved: {}", flaws.join("; "))))
        }
    }
}
