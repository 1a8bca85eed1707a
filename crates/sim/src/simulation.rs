//! A run: events in, packets along their routes, measures out.

mod build;
mod cells;
mod flows;
mod ports;
mod report;
mod state;
mod step;

pub use report::{
    CellReport, Conservation, Distribution, FlowReport, Metrics, QueueReport, QueueWindow, RunReport, Series,
    StationReport, Switched,
};
pub use state::{Count, Counts, Internals};
pub use step::WindowReport;

use crate::engine::Wheel;
use crate::packet::Slab;
use crate::port::{Dropped, Line, LineQueue, Port};
use crate::random::Stream;
use crate::scenario::Network;
use crate::traffic::Source;
use crate::transport::{Receiver, Sender};
use crate::wlan::Cell;
use sojourn_aqm::{Config, Ecn};
use sojourn_measure::{Histogram, Level, Moments};
use sojourn_units::{Instant, Span};
use std::fmt;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hop {
    /// To its receiver.
    End,
    /// Into a port that runs a discipline.
    Port(u32),
    /// Into a line.
    Line(u32),
    /// Into a line whose packets all come from one other port of constant delay. They arrive in the order in which
    /// that port sends, so the line is computed when it sends, without an event.
    Fused(u32),
}

/// Where one of the network's ports is found.
#[derive(Clone, Copy, Debug)]
enum Place {
    Port(u32),
    Line(u32),
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A packet reaches the port at its hop, or its receiver.
    Arrive(u32),
    /// A port has finished sending and may have more.
    Free(u32),
    /// A station looks at the channel again.
    Retry(u32),
    /// A back-off of a cell may have ended.
    Access(u32),
    /// A shaper's packet may go.
    Release(u32),
    /// A flow begins.
    Start(u32),
    /// A flow's application ends.
    Stop(u32),
    /// A source hands over its next packet.
    Emit(u32),
    /// A sender's retransmission timer may have expired.
    Retransmit(u32),
    /// A sender's pacing gap is over.
    Pace(u32),
    /// A receiver's delayed acknowledgement may be due.
    Acknowledge(u32),
    /// The warm-up is over.
    Measure,
    /// A point of the time series.
    Sample,
    /// A change of the scenario's timeline.
    Change(u32),
}

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
}

/// A run that cannot be trusted: the engine's own books do not balance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError(pub(crate) String);

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

/// A flow's TCP, and what its two hosts need besides.
#[derive(Clone, Debug)]
struct Tcp {
    sender: Sender,
    receiver: Receiver,
    /// Segments carry no timestamps.
    unstamped: bool,
    /// First port of the data's route in `routes`.
    route: u32,
    /// First port of the acknowledgements' route.
    ack_route: u32,
    /// What the application of a finite transfer has yet to write.
    unwritten: u64,
    /// Bytes of a finite transfer.
    transfer: Option<u64>,
    /// When the pending event of each timer fires; a timer that moved later is looked at again then.
    retransmit_at: Instant,
    pace_at: Instant,
    acknowledge_at: Instant,
}

/// What is measured of a flow besides what its TCP counts itself.
#[derive(Clone, Debug, Default)]
struct FlowMeter {
    /// Index into `Simulation::delays`.
    group: u32,
    /// Of delivered packets: their number is that of the flow's.
    delay: Moments,
    delivered_ip_bytes: u64,
    last_delivered: Option<Instant>,
    dropped_packets: u64,
    /// Runs of drops of packets that the flow sent one after another, and the last one dropped.
    drop_runs: u64,
    last_dropped: Option<u32>,
    completed: Option<Instant>,
    /// UDP: packets sent, when first, and payload delivered.
    sent_packets: u64,
    first_sent: Option<Instant>,
    payload: u64,
}

impl FlowMeter {
    /// Forgets what was counted; instants are of the whole run.
    fn restart(&mut self) {
        let Self { group, first_sent, last_delivered, completed, .. } = *self;
        *self = Self { group, first_sent, last_delivered, completed, ..Self::default() };
    }
}

/// TCP's own counters that are measured as differences.
#[derive(Clone, Copy, Debug, Default)]
struct TcpCounts {
    sent: u64,
    rtt_ns: u128,
    rtt_samples: u64,
    retransmitted: u64,
    timeouts: u64,
    delivered: u64,
}

/// A flow's application.
#[derive(Clone, Debug)]
struct Flow {
    /// First port of the data's route in `routes`.
    route: u32,
    /// UDP: what a datagram carries besides its payload.
    header: u32,
    /// UDP: the ECN field.
    ecn: Ecn,
    stop: Option<Instant>,
    source: Option<Source>,
    /// Payload of the emission that is scheduled.
    next_bytes: u32,
    random: Stream,
}

/// What disciplines tell flows and hosts apart by.
#[derive(Clone, Copy, Debug)]
struct Hashes {
    flow: u32,
    source: u32,
    destination: u32,
    /// Differentiated services codepoint.
    dscp: u8,
}

/// Counts that never restart, for the final audit.
#[derive(Clone, Copy, Debug, Default)]
struct Audit {
    sent: u64,
    delivered: u64,
    dropped: u64,
    on_wire: u64,
}

/// A simulation of one network under one scheme, seed and replication.
#[derive(Clone)]
pub struct Simulation {
    network: std::sync::Arc<Network>,
    options: Options,
    now: Instant,
    end: Instant,
    wheel: Wheel<What>,
    slab: Slab,
    /// Where each of the network's ports is found.
    places: Vec<Place>,
    /// Ports that run a discipline.
    ports: Vec<Port>,
    /// Ports that are computed.
    lines: Vec<Line>,
    line_queues: Vec<LineQueue>,
    /// For each bus: the instant at which the channel is idle again.
    bus_idle: Vec<Instant>,
    /// The 802.11 cells.
    cells: Vec<Cell>,
    /// All routes one after another.
    routes: Vec<Hop>,
    /// Of each entry of `routes` at an access point: the station that the packet is for. Empty where there is no cell.
    receivers: Vec<u32>,
    flows: Vec<Flow>,
    /// Of each flow, as are the next three; apart, because a packet needs one or two of them at a time.
    tcp: Vec<Option<Box<Tcp>>>,
    hashes: Vec<Hashes>,
    meters: Vec<FlowMeter>,
    /// What TCP had counted when the measurement began.
    before: Vec<TcpCounts>,
    dropped: Dropped,
    backoff: Stream,
    /// Waiting in all queues under test together, where there are several.
    total: Option<(Level, Level)>,
    /// One-way delays of data packets, by group of flows.
    delays: Vec<Histogram>,
    audit: Audit,
    recorder: Option<report::Recorder>,
    /// Payload delivered before the last restart of its measurement, for windows that reach over one.
    payload_before: u64,
}

impl Simulation {
    /// Runs to the end of the scenario.
    ///
    /// # Errors
    /// Packets are not conserved: a defect of the engine or of an algorithm, never of the input.
    pub fn run(mut self) -> Result<RunReport, RunError> {
        self.run_until(self.end);
        self.finish()
    }

    /// Handles every event up to and including `until`.
    pub fn run_until(&mut self, until: Instant) {
        let until = until.min(self.end);
        while let Some(event) = self.wheel.pop_until(until) {
            self.now = event.time;
            self.handle(event.what);
        }
        self.now = until;
    }

    /// The present instant.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How much of the scenario's time has passed, from 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        if self.end == Instant::ZERO {
            1.0
        } else {
            self.now.seconds() / self.end.seconds()
        }
    }

    #[inline]
    fn handle(&mut self, what: What) {
        match what {
            What::Arrive(handle) => self.arrive(handle),
            What::Free(port) => self.port_free(port),
            What::Retry(port) => self.attempt(port, false),
            What::Access(cell) => self.cell_access(cell),
            What::Release(port) => self.release(port),
            What::Start(flow) => self.start(flow),
            What::Stop(flow) => self.stop(flow),
            What::Emit(flow) => self.emit(flow),
            What::Retransmit(flow) => self.retransmit_timer(flow),
            What::Pace(flow) => self.pace_timer(flow),
            What::Acknowledge(flow) => self.acknowledge_timer(flow),
            What::Measure => self.begin_measurement(),
            What::Sample => self.sample(),
            What::Change(index) => self.change(index),
        }
    }
}

#[cfg(test)]
mod tests;
