//! What a run reports.

use super::state::{Counts, Internals};
use super::{Place, RunError, Simulation, What};
use crate::port::{Line, LineQueue, Medium, Station};
use crate::scenario::{PortKind, Transport};
use crate::wlan::Fate;
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Counters, Tally};
use sojourn_measure::{jain, Histogram, Level, ModeMs, Moments, Sampled};
use sojourn_units::{Instant, Span};
use std::collections::BTreeMap;

mod cells;
mod metrics;

pub use cells::{CellReport, StationReport};
pub use metrics::Metrics;

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
    /// Metrics of run scope.
    pub metrics: Metrics,
    /// One entry a queue.
    pub queues: Vec<QueueReport>,
    /// One entry a flow.
    pub flows: Vec<FlowReport>,
    /// One entry an 802.11 cell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellReport>,
    /// Distribution functions.
    pub distributions: BTreeMap<&'static str, Distribution>,
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
    /// Canonical text of its scheme.
    pub scheme: String,
    /// Metrics of queue scope.
    pub metrics: Metrics,
    /// Counts since the start of the run; of a queue under test only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<Counts>,
    /// The algorithm's internals at the end of the run; of a queue under test only.
    #[serde(skip_serializing_if = "Internals::is_empty")]
    pub internals: Internals,
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

/// Packets of the whole run: sent = delivered + dropped + in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Conservation {
    /// Packets that hosts sent, acknowledgements included.
    pub sent: u64,
    /// Packets that reached their hosts.
    pub delivered: u64,
    /// Packets dropped on the way.
    pub dropped: u64,
    /// Packets queued, in transmission or in propagation at the end.
    pub in_flight: u64,
}

/// Collects the points of time series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    pub(super) interval: Span,
    t_s: Vec<f64>,
    values: [Vec<Option<f64>>; 4],
    last: Snapshot,
}

impl Recorder {
    pub(super) fn new(interval: Span) -> Self {
        Self { interval, ..Self::default() }
    }
}

/// Running totals at the last point.
#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    at: Instant,
    queue_integral: u128,
    sojourn: (u64, u128),
    payload: u64,
    drops: u64,
}

const SERIES: [(&str, &str); 4] =
    [("queue_packets", "packets"), ("sojourn_ms", "ms"), ("goodput_bit_s", "bit/s"), ("drops_packets_s", "packets/s")];

/// Points of a distribution function that a report holds at most.
const POINTS: usize = 400;

fn distribution(points: &[(f64, f64)]) -> Distribution {
    let step = points.len().div_ceil(POINTS).max(1);
    // Every step-th point and the last, so the function still ends in 1.
    let kept = points.iter().enumerate().filter(|(i, _)| (points.len() - 1 - i) % step == 0);
    let (value, cumulative) = kept.map(|(_, p)| *p).unzip();
    Distribution { value, cumulative }
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// What several queues, or one, measured.
#[derive(Default)]
struct Merged {
    waiting: Level,
    system: Level,
    sojourn: Sampled,
    dropped: Moments,
    spacing: ModeMs,
    counters: Counters,
    lost: u64,
    runs: u64,
    busy: Span,
    /// Time that the links (each bus once) had.
    capacity: Span,
}

fn since(now: &Counters, before: &Counters) -> Counters {
    let mut left = *now;
    let less = |a: &mut Tally, b: &Tally| {
        a.packets -= b.packets;
        a.bytes -= b.bytes;
    };
    less(&mut left.arrived, &before.arrived);
    less(&mut left.forwarded, &before.forwarded);
    less(&mut left.marked, &before.marked);
    less(&mut left.ce_on_arrival, &before.ce_on_arrival);
    for (mine, theirs) in left.dropped.iter_mut().zip(&before.dropped) {
        less(mine, theirs);
    }
    left
}

fn add(sum: &mut Counters, more: &Counters) {
    let plus = |a: &mut Tally, b: &Tally| {
        a.packets += b.packets;
        a.bytes += b.bytes;
    };
    plus(&mut sum.arrived, &more.arrived);
    plus(&mut sum.forwarded, &more.forwarded);
    plus(&mut sum.marked, &more.marked);
    for (mine, theirs) in sum.dropped.iter_mut().zip(&more.dropped) {
        plus(mine, theirs);
    }
}

fn merged_line(line: &Line, queue: &LineQueue, end: Instant, measured: Span) -> Merged {
    let [packets, bytes, dropped_packets, dropped_bytes] = line.counted(queue);
    let mut counters = Counters {
        arrived: Tally { packets, bytes },
        forwarded: Tally { packets: packets - dropped_packets, bytes: bytes - dropped_bytes },
        ..Counters::default()
    };
    counters.dropped[0] = Tally { packets: dropped_packets, bytes: dropped_bytes };
    let mut sojourn = queue.sojourn();
    let (lost, runs) = queue.losses();
    sojourn.add_zeros((packets - dropped_packets).saturating_sub(sojourn.moments.count()));
    let mut dropped = Moments::default();
    dropped.add_zeros(dropped_packets);
    Merged {
        waiting: queue.level(end),
        sojourn,
        dropped,
        counters,
        lost,
        runs,
        busy: line.busy(queue, end),
        capacity: measured,
        ..Merged::default()
    }
}

impl Merged {
    fn metrics(&self, metrics: &mut Metrics, with_system: bool) {
        let counters = &self.counters;
        let drops = counters.dropped_total().packets;
        let arrived = counters.arrived.packets;
        let busy = (self.capacity > Span::ZERO).then(|| self.busy.seconds() / self.capacity.seconds());
        metrics.insert("queue_packets_mean", self.waiting.mean());
        metrics.insert("queue_packets_sd", self.waiting.sd());
        metrics.insert("queue_packets_p50", self.waiting.quantile(0.5));
        metrics.insert("queue_packets_p99", self.waiting.quantile(0.99));
        if with_system {
            metrics.insert("system_packets_mean", self.system.mean());
            metrics.insert("system_packets_sd", self.system.sd());
            metrics.insert("interarrival_ms_mode", self.spacing.mode_ms());
        }
        metrics.insert("sojourn_ms_mean", self.sojourn.moments.mean_ms());
        metrics.insert("sojourn_ms_sd", self.sojourn.moments.sd_ms());
        metrics.insert("sojourn_ms_p50", self.sojourn.histogram.quantile_ms(0.5));
        metrics.insert("sojourn_ms_p99", self.sojourn.histogram.quantile_ms(0.99));
        metrics.insert("dropped_sojourn_ms_mean", self.dropped.mean_ms());
        metrics.insert("arrivals_packets", Some(arrived as f64));
        metrics.insert("drops_packets", Some(drops as f64));
        metrics.insert("drops_overflow_packets", Some(counters.dropped[0].packets as f64));
        metrics.insert("drops_early_packets", Some(counters.dropped[1].packets as f64));
        metrics.insert("drops_flow_packets", Some(counters.dropped[2].packets as f64));
        metrics.insert("marks_packets", Some(counters.marked.packets as f64));
        metrics.insert("mark_ratio", ratio(counters.marked.packets, arrived));
        metrics.insert("loss_ratio", ratio(drops, arrived));
        metrics.insert("burst_ratio", sojourn_measure::burst_ratio(self.lost, self.runs, arrived));
        metrics.insert("utilisation", busy);
        metrics.finish();
    }
}

impl Simulation {
    /// The warm-up is over: measures begin.
    pub(super) fn begin_measurement(&mut self) {
        let now = self.now;
        for index in 0..self.ports.len() {
            self.ask_late(index as u32);
            let port = &mut self.ports[index];
            port.meter.restart(now, &port.counters, port.busy_until);
        }
        for (line, queue) in self.lines.iter_mut().zip(&mut self.line_queues) {
            line.restart(queue, now);
        }
        self.cells.iter_mut().for_each(|cell| cell.restart(now));
        if let Some((waiting, system)) = &mut self.total {
            waiting.restart(now);
            system.restart(now);
        }
        self.delay.clear();
        for index in 0..self.flows.len() {
            self.before[index] = self.tcp_counts(index);
            let meter = &mut self.meters[index];
            let (first_sent, last_delivered, completed) = (meter.first_sent, meter.last_delivered, meter.completed);
            *meter = super::FlowMeter { first_sent, last_delivered, completed, ..super::FlowMeter::default() };
        }
        let snapshot = self.snapshot();
        if let Some(recorder) = &mut self.recorder {
            recorder.last = snapshot;
        }
    }

    /// Time series: running totals now, over queues under test and all flows.
    fn snapshot(&mut self) -> Snapshot {
        if self.recorder.is_none() {
            return Snapshot::default();
        }
        let mut snapshot = Snapshot { at: self.now, ..Snapshot::default() };
        for index in 0..self.ports.len() {
            if !self.ports[index].under_test {
                continue;
            }
            self.ask_late(index as u32);
            let now = self.now;
            let port = &mut self.ports[index];
            port.meter.waiting.settle(now);
            snapshot.queue_integral += port.meter.waiting.integral();
            snapshot.sojourn.0 += port.meter.sojourn.moments.count();
            snapshot.sojourn.1 += port.meter.sojourn.moments.sum_ns();
            snapshot.drops += port.counters.dropped_total().packets;
        }
        snapshot.payload = (0..self.flows.len()).map(|i| self.payload(i)).sum();
        snapshot
    }

    /// Payload delivered to the application of flow `index` since the measurement began.
    fn payload(&self, index: usize) -> u64 {
        self.meters[index].payload + self.tcp_counts(index).delivered - self.before[index].delivered
    }

    /// A point of the time series.
    pub(super) fn sample(&mut self) {
        let snapshot = self.snapshot();
        let now = self.now;
        let Some(recorder) = &mut self.recorder else { return };
        let last = std::mem::replace(&mut recorder.last, snapshot);
        let (interval, elapsed) = (recorder.interval, now - last.at);
        let count = snapshot.sojourn.0.saturating_sub(last.sojourn.0);
        let sum = snapshot.sojourn.1.saturating_sub(last.sojourn.1);
        let waited = snapshot.queue_integral.saturating_sub(last.queue_integral);
        recorder.t_s.push(now.seconds());
        recorder.values[0].push(Some(waited as f64 / elapsed.nanos() as f64));
        recorder.values[1].push((count > 0).then(|| sum as f64 / count as f64 / 1e6));
        recorder.values[2].push(Some(snapshot.payload.saturating_sub(last.payload) as f64 * 8.0 / elapsed.seconds()));
        recorder.values[3].push(Some(snapshot.drops.saturating_sub(last.drops) as f64 / elapsed.seconds()));
        self.wheel.push(now + interval, What::Sample);
    }

    /// Closes the books.
    pub(super) fn finish(mut self) -> Result<RunReport, RunError> {
        self.now = self.end;
        for index in 0..self.ports.len() {
            self.ask_late(index as u32);
            let port = &mut self.ports[index];
            port.meter.finish(self.end, port.busy_until);
        }
        for (line, queue) in self.lines.iter_mut().zip(&mut self.line_queues) {
            line.finish(queue, self.end);
        }
        if let Some((waiting, system)) = &mut self.total {
            waiting.settle(self.end);
            system.settle(self.end);
        }
        let conservation = self.audit()?;
        let measured = self.end - (Instant::ZERO + self.network.warm_up);
        let mut metrics = Metrics::new();
        let tested = self.merge_tested(measured);
        tested.metrics(&mut metrics, true);
        let flows = self.flow_reports(measured, &mut metrics);
        let cells = self.cell_reports(measured);
        let events = self.wheel.scheduled() - self.wheel.len() as u64;
        // What is left is about queues: room for a report of each, where flows are many.
        (self.tcp, self.flows, self.slab) = Default::default();
        let queues = (0..self.places.len()).map(|i| self.queue_report(i, measured)).collect();
        let mut distributions = BTreeMap::new();
        distributions.insert("sojourn_ms", distribution(&tested.sojourn.histogram.cdf_ms()));
        distributions.insert("queue_packets", distribution(&tested.waiting.cdf()));
        distributions.insert("one_way_delay_ms", distribution(&self.delay.cdf_ms()));
        let series = self.recorder.take().map(|recorder| {
            let named = SERIES.iter().zip(recorder.values);
            named
                .map(|((name, unit), value)| Series {
                    name: (*name).into(),
                    unit: (*unit).into(),
                    t_s: recorder.t_s.clone(),
                    value,
                })
                .collect()
        });
        Ok(RunReport {
            scenario: self.network.name.clone(),
            scheme: self.options.scheme.as_ref().map(sojourn_aqm::Config::text),
            seed: self.options.seed,
            replication: self.options.replication,
            duration_s: self.end.seconds(),
            warm_up_s: self.network.warm_up.seconds(),
            measured_s: measured.seconds(),
            events,
            metrics,
            queues,
            flows,
            cells,
            distributions,
            series: series.unwrap_or_default(),
            conservation,
        })
    }

    /// Counts what is where, by three independent ways, and compares.
    fn audit(&self) -> Result<Conservation, RunError> {
        let mut queued = 0;
        let mut flaws = Vec::new();
        for (place, spec) in self.places.iter().zip(&self.network.ports) {
            // What waits in a line is on its way already: its arrival is scheduled.
            let Place::Port(index) = *place else { continue };
            let port = &self.ports[index as usize];
            queued += port.device.as_ref().map_or(0, |device| device.handles.len() as u64);
            if let Medium::Bus { station: Station::Contending { .. }, .. } = port.medium {
                queued += 1;
            }
            if let Medium::Cell { cell, station } = port.medium {
                let held = &self.cells[cell as usize].stations[station as usize].held;
                queued += held.iter().filter(|frame| frame.fate != Fate::Delivered).count() as u64;
            }
            let backlog = port.discipline.backlog().packets;
            queued += backlog;
            let out = port.counters.forwarded.packets + port.counters.dropped_total().packets;
            if port.counters.arrived.packets != out + backlog || port.meter.waiting.get() != backlog {
                flaws.push(format!("the queue {} lost count of its packets", spec.name));
            }
        }
        let audit = &self.audit;
        let conservation = Conservation {
            sent: audit.sent,
            delivered: audit.delivered,
            dropped: audit.dropped,
            in_flight: queued + audit.on_wire,
        };
        if audit.sent != audit.delivered + audit.dropped + conservation.in_flight {
            flaws.push(format!("sent is not delivered + dropped + in flight: {conservation:?}"));
        }
        if self.slab.len() as u64 != conservation.in_flight {
            flaws.push(format!("{} packets are held, {} are in flight", self.slab.len(), conservation.in_flight));
        }
        if flaws.is_empty() {
            Ok(conservation)
        } else {
            Err(RunError(format!("packets are not conserved: {}", flaws.join("; "))))
        }
    }

    /// What the port of the network's number `index` measured.
    fn merged(&self, index: usize, measured: Span) -> Merged {
        let port = match self.places[index] {
            Place::Port(port) => &self.ports[port as usize],
            Place::Line(line) => {
                return merged_line(&self.lines[line as usize], &self.line_queues[line as usize], self.end, measured)
            }
        };
        Merged {
            waiting: port.meter.waiting.clone(),
            system: port.meter.system.clone(),
            sojourn: port.meter.sojourn.clone(),
            dropped: port.meter.dropped,
            spacing: port.meter.spacing.clone(),
            counters: since(&port.counters, &port.meter.before),
            lost: port.meter.losses.lost(),
            runs: port.meter.losses.runs(),
            busy: port.meter.busy,
            capacity: measured,
        }
    }

    /// All queues under test together.
    fn merge_tested(&self, measured: Span) -> Merged {
        let mut all = Merged::default();
        let (mut buses, mut cells) = (Vec::new(), Vec::new());
        for (index, spec) in self.network.ports.iter().enumerate().filter(|(_, spec)| spec.under_test) {
            let one = self.merged(index, measured);
            all.sojourn.merge(&one.sojourn);
            all.dropped.merge(&one.dropped);
            all.spacing.merge(&one.spacing);
            add(&mut all.counters, &one.counters);
            all.lost += one.lost;
            all.runs += one.runs;
            all.busy += one.busy;
            match spec.kind {
                PortKind::Bus { bus, .. } if buses.contains(&bus) => {}
                PortKind::Bus { bus, .. } => {
                    buses.push(bus);
                    all.capacity += measured;
                }
                PortKind::Cell { cell, .. } if cells.contains(&cell) => {}
                PortKind::Cell { cell, .. } => {
                    cells.push(cell);
                    all.capacity += measured;
                }
                PortKind::Link { .. } => all.capacity += measured,
            }
            if self.total.is_none() {
                (all.waiting, all.system) = (one.waiting, one.system);
            }
        }
        if let Some((waiting, system)) = &self.total {
            (all.waiting, all.system) = (waiting.clone(), system.clone());
        }
        all
    }

    fn queue_report(&mut self, index: usize, measured: Span) -> QueueReport {
        let under_test = self.network.ports[index].under_test;
        let (counts, internals) = if under_test { self.state(index) } else { Default::default() };
        let spec = &self.network.ports[index];
        let scheme = match &self.options.scheme {
            Some(scheme) if spec.under_test => scheme,
            _ => &spec.queue,
        };
        let mut metrics = Metrics::new();
        self.merged(index, measured).metrics(&mut metrics, spec.under_test);
        QueueReport { name: spec.name.clone(), under_test, scheme: scheme.text(), metrics, counts, internals }
    }

    fn flow_reports(&self, measured: Span, run: &mut Metrics) -> Vec<FlowReport> {
        let seconds = measured.seconds();
        let mut reports = Vec::with_capacity(self.flows.len());
        let (mut goodputs, mut durations) = (Vec::new(), Vec::new());
        let (mut payload_all, mut ip_all, mut sent, mut delivered) = (0, 0, 0, 0);
        let (mut delay, mut completions) = (Moments::default(), Histogram::default());
        let mut completed = Moments::default();
        let mut tcp_all = TcpSums::default();
        for (index, spec) in self.network.flows.iter().enumerate() {
            let meter = &self.meters[index];
            let sent_packets = meter.sent_packets + self.tcp_counts(index).sent - self.before[index].sent;
            let delivered_packets = meter.delay.count();
            let first_sent = self.tcp[index].as_ref().map_or(meter.first_sent, |tcp| tcp.sender.stats().first_sent);
            let payload = self.payload(index);
            let tcp = TcpSums::of(self, index);
            let duration = first_sent.zip(meter.last_delivered).map(|(first, last)| (last - first).seconds());
            let completion = first_sent.zip(meter.completed).map(|(first, last)| last - first);
            let mut metrics = Metrics::new();
            metrics.insert("goodput_bit_s", Some(payload as f64 * 8.0 / seconds));
            metrics.insert("throughput_bit_s", Some(meter.delivered_ip_bytes as f64 * 8.0 / seconds));
            metrics.insert("sent_packets", Some(sent_packets as f64));
            metrics.insert("delivered_packets", Some(delivered_packets as f64));
            metrics.insert("dropped_packets", Some(meter.dropped_packets as f64));
            metrics.insert("loss_ratio", ratio(meter.dropped_packets, sent_packets));
            metrics.insert("one_way_delay_ms_mean", meter.delay.mean_ms());
            metrics.insert("one_way_delay_ms_sd", meter.delay.sd_ms());
            metrics.insert("flow_duration_s", duration);
            metrics.insert("flow_completion_s", completion.map(Span::seconds));
            tcp.metrics(&mut metrics);
            if first_sent.is_some() {
                goodputs.push(payload as f64);
            }
            durations.extend(duration);
            payload_all += payload;
            ip_all += meter.delivered_ip_bytes;
            sent += sent_packets;
            delivered += delivered_packets;
            delay.merge(&meter.delay);
            if let Some(completion) = completion {
                completions.add(completion);
                completed.add(completion);
            }
            tcp_all.add(&tcp);
            let node = |n: usize| self.network.nodes[n].clone();
            reports.push(FlowReport {
                name: spec.name.clone(),
                group: self.network.groups[spec.group].clone(),
                from: node(spec.from),
                to: node(spec.to),
                transport: if matches!(spec.transport, Transport::Tcp { .. }) { "tcp" } else { "udp" },
                metrics,
            });
        }
        let mean = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        run.insert("goodput_bit_s", Some(payload_all as f64 * 8.0 / seconds));
        run.insert("throughput_bit_s", Some(ip_all as f64 * 8.0 / seconds));
        run.insert("one_way_delay_ms_mean", delay.mean_ms());
        run.insert("one_way_delay_ms_sd", delay.sd_ms());
        run.insert("one_way_delay_ms_p50", self.delay.quantile_ms(0.5));
        run.insert("one_way_delay_ms_p99", self.delay.quantile_ms(0.99));
        run.insert("flow_completion_s_mean", completed.mean_ms().map(|ms| ms / 1e3));
        run.insert("flow_completion_s_p50", completions.quantile_ms(0.5).map(|ms| ms / 1e3));
        run.insert("flow_completion_s_p99", completions.quantile_ms(0.99).map(|ms| ms / 1e3));
        run.insert("flows_completed", Some(completions.count() as f64));
        run.insert("flow_duration_s_mean", mean(&durations));
        run.insert("jain_index", jain(goodputs));
        run.insert("sent_packets", Some(sent as f64));
        run.insert("delivered_packets", Some(delivered as f64));
        tcp_all.metrics(run);
        reports
    }
}

/// TCP's own counts since the measurement began.
#[derive(Default)]
struct TcpSums {
    rtt_ns: u128,
    rtt_samples: u64,
    retransmitted: u64,
    timeouts: u64,
}

impl TcpSums {
    fn of(simulation: &Simulation, index: usize) -> Self {
        let (now, before) = (simulation.tcp_counts(index), simulation.before[index]);
        Self {
            rtt_ns: now.rtt_ns - before.rtt_ns,
            rtt_samples: now.rtt_samples - before.rtt_samples,
            retransmitted: now.retransmitted - before.retransmitted,
            timeouts: now.timeouts - before.timeouts,
        }
    }

    fn add(&mut self, other: &Self) {
        self.rtt_ns += other.rtt_ns;
        self.rtt_samples += other.rtt_samples;
        self.retransmitted += other.retransmitted;
        self.timeouts += other.timeouts;
    }

    fn metrics(&self, metrics: &mut Metrics) {
        let rtt = (self.rtt_samples > 0).then(|| self.rtt_ns as f64 / self.rtt_samples as f64 / 1e6);
        metrics.insert("rtt_ms_mean", rtt);
        metrics.insert("retransmissions_segments", Some(self.retransmitted as f64));
        metrics.insert("timeouts", Some(self.timeouts as f64));
    }
}
