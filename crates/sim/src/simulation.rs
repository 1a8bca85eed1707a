//! A run: events in, packets along their routes, measures out.
//!
//! `Net` is all that lies between hosts: packets, queues and links. `Hosts` are the ends: applications, TCP, and what is
//! measured of flows. Both are driven by the events of one queue.

mod build;
mod cells;
mod clients;
mod event;
mod flows;
mod lazy;
mod net;
mod ports;
mod probes;
mod report;
mod shaped;
mod state;
mod step;
mod taps;
mod tcp;
mod traced;

pub use report::catalogue;
pub use report::{
    CellReport, Conservation, Distribution, FlowReport, Metrics, PhaseReport, QueueReport, QueueWindow, RunReport,
    Series, StationReport, Switched,
};
pub use state::{Count, Counts, Internals};
pub use step::WindowReport;

use crate::traces::{DecisionLogs, PacketTraces};
use clients::Clients;
use event::Event;
use net::{Egress, Net};
use sojourn_aqm::{Config, Ecn};
use sojourn_measure::{Histogram, Moments};
use sojourn_scenario::Network;
use sojourn_traffic::application::Listener;
use sojourn_traffic::Source;
use sojourn_units::{Instant, Span};
use std::collections::BTreeMap;
use std::fmt;
use tcp::{Tcp, TcpCounts};

/// What varies from run to run of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The algorithm for every queue under test; `None` leaves each as the scenario has it.
    pub scheme: Option<Config>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of the replication; another replication draws other numbers from the same seed.
    pub replication: u64,
    /// Spacing of time series; `None` for none.
    pub series: Option<Span>,
    /// Packets that are written. The queues are simulated, also where a plain tail drop would be computed.
    pub packets: Option<PacketTraces>,
    /// Decisions that are written, likewise.
    pub decisions: Option<DecisionLogs>,
}

/// A run that cannot be trusted, because the engine's own books do not balance, or whose traces cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError(pub(crate) String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

/// The two ends of a flow.
#[derive(Clone, Debug)]
#[repr(C)]
struct Ends {
    /// Of a flow that is not a client's.
    tcp: Option<Box<Tcp>>,
    meter: FlowMeter,
}

/// What is measured of a flow besides what its TCP and the network count themselves. What each packet changes comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct FlowMeter {
    delivered_ip_bytes: u64,
    last_delivered: Option<Instant>,
    /// Index into [`Hosts::delays`].
    place: u32,
    /// Of delivered packets: their number is that of the flow's.
    delay: Moments,
    completed: Option<Instant>,
    /// TCP: the first payload that came, when it was sent and when it was here; zero before.
    opened: Instant,
    begun: Instant,
    /// UDP: packets sent, when first, and payload delivered.
    sent_packets: u64,
    first_sent: Option<Instant>,
    payload: u64,
}

impl FlowMeter {
    /// Forgets what was counted; instants are of the whole run.
    fn restart(&mut self) {
        let Self { place, first_sent, last_delivered, completed, opened, begun, .. } = *self;
        *self = Self { place, first_sent, last_delivered, completed, opened, begun, ..Self::default() };
    }
}

/// Datagrams that a receiver returns.
#[derive(Clone, Debug)]
struct Echo {
    way: Egress,
    /// Round-trip times since the measurement began.
    times: Moments,
    distribution: Histogram,
    /// Number and sum of the round-trip times at the last point of the time series.
    last: (u64, u128),
}

impl Echo {
    fn new(way: Egress) -> Self {
        Self { way, times: Moments::default(), distribution: Histogram::default(), last: (0, 0) }
    }

    /// The measurement begins.
    fn restart(&mut self) {
        *self = Self::new(self.way);
    }

    /// Mean round-trip time since the last point, in ms.
    fn since_last(&mut self) -> Option<f64> {
        let now = (self.times.count(), self.times.sum_ns());
        let (count, sum) = (now.0 - self.last.0, now.1 - self.last.1);
        self.last = now;
        (count > 0).then(|| sum as f64 / count as f64 / 1e6)
    }
}

/// A flow's application.
#[derive(Clone, Debug)]
struct Flow {
    /// Of the data.
    way: Egress,
    /// UDP: what a datagram carries besides its payload.
    header: u32,
    /// UDP: the ECN field.
    ecn: Ecn,
    stop: Option<Instant>,
    source: Option<Source>,
    /// UDP: the receiver returns datagrams.
    echo: Option<Box<Echo>>,
    /// UDP: what the receiver makes of datagrams.
    listener: Option<Box<Listener>>,
    /// UDP: datagrams since the start of the run.
    emitted: u32,
    /// Payload of the emission that is scheduled.
    next_bytes: u32,
    /// It has started.
    begun: bool,
    random: sojourn_random::Stream,
}

/// All hosts; the vectors of flows have one entry each, apart, because a packet needs few of them.
#[derive(Clone, Debug, Default)]
struct Hosts {
    flows: Vec<Flow>,
    ends: Vec<Ends>,
    /// What TCP had counted when the measurement began.
    before: Vec<TcpCounts>,
    /// One-way delays of data packets, by flow where those are few, else by group of flows; see [`FlowMeter::place`].
    delays: Vec<Histogram>,
    /// Flows that a change has stopped.
    paused: BTreeMap<u32, Paused>,
    /// Applications over TCP, and the connections of their flows.
    clients: Clients,
    /// Flows with self probes.
    probes: BTreeMap<u32, Box<probes::SelfProbes>>,
}

/// What a flow needs to go on.
#[derive(Clone, Debug, Default)]
struct Paused {
    source: Option<Source>,
    /// What a finite transfer had yet to write.
    unwritten: u64,
    /// Its emission is still scheduled.
    pending: bool,
    /// It would have started in the meantime.
    due: bool,
}

/// A simulation of one network under one scheme, seed and replication.
#[derive(Clone)]
pub struct Simulation {
    network: std::sync::Arc<Network>,
    options: Options,
    end: Instant,
    net: Net,
    hosts: Hosts,
    recorder: Option<report::Recorder>,
    /// Statistics of phases, where there are any.
    phases: Option<Box<report::PhaseBook>>,
    /// Payload delivered before the last restart of its measurement, for windows that reach over one.
    payload_before: u64,
}

impl Simulation {
    /// Runs to the end of the scenario.
    ///
    /// # Errors
    /// Packets are not conserved: a defect of the engine or of an algorithm, never of the input. Or a trace cannot be written.
    pub fn run(mut self) -> Result<RunReport, RunError> {
        self.run_until(self.end);
        self.check_schemes()?;
        self.finish()
    }

    /// Handles every event up to and including `until`.
    pub fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end);
        while let Some((now, what)) = self.net.wheel.pop_until(until) {
            self.net.now = now;
            match what {
                Event::Deliver(handle) => self.deliver(handle),
                _ => self.handle(what),
            }
        }
        self.net.now = until;
    }

    /// Stops a run whose results are of no use: a plug-in gave an answer that is none.
    ///
    /// # Errors
    /// What a scheme did that none may.
    pub fn check_schemes(&self) -> Result<(), RunError> {
        let fault = self.net.ports.iter().find_map(|port| port.server.fault());
        fault.map_or(Ok(()), |fault| Err(RunError(fault)))
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.net.now
    }

    /// How much of the scenario's time has passed, from 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        if self.end == Instant::ZERO {
            1.0
        } else {
            self.now().seconds() / self.end.seconds()
        }
    }

    /// Apart from the frequent case, which then is short.
    #[inline(never)]
    fn handle(&mut self, what: Event) {
        match what {
            // Handled before.
            Event::Deliver(_) => {}
            Event::Enqueue(handle) => self.net.reach_port(handle),
            Event::Approach(port) => self.net.reach_port_in_turn(port),
            Event::Cross(handle) => self.net.reach_line(handle),
            Event::Lose(handle) => self.net.lose_now(handle),
            Event::Tell => self.net.report_losses(),
            Event::Look(line) => self.net.look(line),
            Event::Free(port) => self.net.port_free(port),
            Event::Retransmit(flow) => self.retransmit_timer(flow),
            Event::RetransmitNow(flow) => self.retransmit_now(flow),
            Event::Acknowledge(flow) => self.acknowledge_timer(flow),
            Event::AcknowledgeNow(flow) => self.acknowledge_now(flow),
            Event::Pace(flow) => self.pace_timer(flow),
            Event::PaceNow(flow) => self.pace_now(flow),
            Event::Emit(flow) => self.emit(flow),
            Event::Probe(flow) => self.probe(flow),
            Event::Retry(port) => self.net.attempt(port, false),
            Event::Access(cell) => self.net.cell_access(cell),
            Event::Release(port) => self.net.release(port),
            Event::Start(flow) => self.start(flow),
            Event::Stop(flow) => self.stop(flow),
            Event::Measure => self.begin_measurement(),
            Event::Sample => self.sample(),
            Event::Phase(number) => self.begin_phase(number),
            Event::Change(index) => self.change(index),
            Event::Client(flow) => self.hosts.clients.on_time(&mut self.net, flow),
        }
    }
}

#[cfg(test)]
mod tests;
