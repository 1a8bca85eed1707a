//! What flows measured.

use super::super::Simulation;
use sojourn_measure::{Histogram, Moments};
use sojourn_traffic::application::Measured;
use sojourn_transport::SenderStats;
use sojourn_units::{Instant, Span};

impl Simulation {
    /// Payload delivered to the application of flow `index` since the measurement began.
    pub(super) fn payload(&self, index: usize) -> u64 {
        self.hosts.ends[index].meter.payload + self.hosts.tcp_counts(index).delivered
            - self.hosts.before[index].delivered
    }

    /// Payload delivered by all flows since the measurement began.
    pub(in crate::simulation) fn payload_all(&self) -> u64 {
        (0..self.hosts.flows.len()).map(|index| self.payload(index)).sum()
    }

    /// What the applications of each group measured.
    pub(super) fn applications(&self) -> Vec<Vec<Measured>> {
        let mut all: Vec<Vec<Measured>> = vec![Vec::new(); self.network.groups.len()];
        for (flow, spec) in self.hosts.flows.iter().zip(&self.network.flows) {
            all[spec.group].extend(flow.listener.iter().map(|listener| listener.measured()));
        }
        let now = self.net.now;
        for (group, heard) in all.iter_mut().enumerate() {
            heard.extend(self.hosts.clients.measured(group, now));
        }
        all
    }

    /// One-way delays of the data packets of each group.
    pub(super) fn delays_of_groups(&self) -> Vec<Histogram> {
        if !self.network.are_apart() {
            return self.hosts.delays.clone();
        }
        let mut all = vec![Histogram::default(); self.network.groups.len()];
        let flows = self.network.flows.iter().zip(&self.hosts.delays);
        flows.for_each(|(flow, delays)| all[flow.group].merge(delays));
        all
    }

    /// One-way delays of the data packets of all flows.
    pub(super) fn delay_of_all(&self) -> Histogram {
        let mut all = Histogram::default();
        self.hosts.delays.iter().for_each(|group| all.merge(group));
        all
    }
}

/// What packets of flows did, of one flow or of several together.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// For so long it was measured.
    pub measured: Span,
    pub payload: u64,
    pub ip_bytes: u64,
    pub sent: u64,
    pub dropped: u64,
    pub delay: Moments,
    /// One-way delays, where they are known.
    pub delays: Histogram,
    /// Packets in loss intervals, and their number.
    pub loss_intervals: (u64, u64),
    pub rtt_ns: u128,
    pub rtt_samples: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub marked_acks: u64,
    /// Round-trip times of datagrams that came back.
    pub echo: Option<Moments>,
}

impl Traffic {
    /// Of a flow since the measurement began, without the distribution of its delays.
    pub fn of(simulation: &Simulation, index: usize) -> Self {
        let (meter, losses) = (&simulation.hosts.ends[index].meter, &simulation.net.losses[index]);
        let (tcp, before) = (simulation.hosts.tcp_counts(index), simulation.hosts.before[index]);
        Self {
            measured: Span::ZERO,
            payload: simulation.payload(index),
            ip_bytes: meter.delivered_ip_bytes,
            sent: meter.sent_packets + tcp.sent - before.sent,
            dropped: losses.packets,
            delay: meter.delay,
            delays: Histogram::default(),
            loss_intervals: losses.events.intervals(),
            rtt_ns: tcp.rtt_ns - before.rtt_ns,
            rtt_samples: tcp.rtt_samples - before.rtt_samples,
            retransmitted: tcp.retransmitted - before.retransmitted,
            timeouts: tcp.timeouts - before.timeouts,
            marked_acks: tcp.marked_acks - before.marked_acks,
            echo: simulation.hosts.flows[index].echo.as_ref().map(|echo| echo.times),
        }
    }

    /// What was added since this was as `earlier`; of loss intervals and round-trip times nothing.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            payload: self.payload - earlier.payload,
            ip_bytes: self.ip_bytes - earlier.ip_bytes,
            sent: self.sent - earlier.sent,
            dropped: self.dropped - earlier.dropped,
            delay: self.delay.since(&earlier.delay),
            delays: self.delays.since(&earlier.delays),
            retransmitted: self.retransmitted - earlier.retransmitted,
            timeouts: self.timeouts - earlier.timeouts,
            ..Self::default()
        }
    }

    /// Adds what others did, or the same ones at another time.
    pub fn merge(&mut self, other: &Self) {
        self.payload += other.payload;
        self.ip_bytes += other.ip_bytes;
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.delay.merge(&other.delay);
        self.delays.merge(&other.delays);
        self.loss_intervals.0 += other.loss_intervals.0;
        self.loss_intervals.1 += other.loss_intervals.1;
        self.rtt_ns += other.rtt_ns;
        self.rtt_samples += other.rtt_samples;
        self.retransmitted += other.retransmitted;
        self.timeouts += other.timeouts;
        self.marked_acks += other.marked_acks;
        if let Some(times) = &other.echo {
            self.echo.get_or_insert_default().merge(times);
        }
    }

    /// Packets that were delivered or lost.
    pub fn left(&self) -> u64 {
        self.delay.count() + self.dropped
    }

    /// Bits of so many bytes in a second.
    pub fn rate(&self, bytes: u64) -> Option<f64> {
        (!self.measured.is_zero()).then(|| bytes as f64 * 8.0 / self.measured.seconds())
    }

    /// Of datagrams with echo, or TCP's own.
    pub fn rtt_ms(&self) -> Option<f64> {
        match &self.echo {
            Some(times) => times.mean_ms(),
            None => (self.rtt_samples > 0).then(|| self.rtt_ns as f64 / self.rtt_samples as f64 / 1e6),
        }
    }
}

/// One flow since the measurement began.
pub(super) struct OneFlow {
    pub traffic: Traffic,
    pub drop_runs: u64,
    pub base_rtt: Span,
    pub opening: Opening,
    pub started: Option<Instant>,
    pub duration: Option<f64>,
    pub completion: Option<Span>,
    pub slow_start: SlowStart,
    echoes: Histogram,
}

impl OneFlow {
    pub fn of(simulation: &Simulation, index: usize) -> Self {
        let meter = &simulation.hosts.ends[index].meter;
        let tcp = simulation.hosts.tcp_of(index);
        let first_sent = simulation.hosts.clients.past(index).1.or(meter.first_sent);
        let started = first_sent.or_else(|| tcp.and_then(|tcp| tcp.sender.stats().first_sent));
        let echo = simulation.hosts.flows[index].echo.as_ref();
        Self {
            traffic: Traffic::of(simulation, index),
            drop_runs: simulation.net.losses[index].runs,
            base_rtt: simulation.network.base_rtt(&simulation.network.flows[index]),
            opening: Opening::of(simulation, index),
            started,
            duration: started.zip(meter.last_delivered).map(|(first, last)| (last - first).seconds()),
            completion: started.zip(meter.completed).map(|(first, last)| last - first),
            slow_start: SlowStart::of(simulation, index),
            echoes: echo.map(|echo| echo.distribution.clone()).unwrap_or_default(),
        }
    }
}

/// Several flows together: those of a group, or of the run.
#[derive(Clone, Default)]
pub(super) struct Sums {
    pub traffic: Traffic,
    pub started: u64,
    /// Share of the flows that lose packets in a loss event.
    pub synchronisation: Option<f64>,
    pub startup: Moments,
    pub startups: Histogram,
    pub completions: Histogram,
    pub completed: Moments,
    /// Bytes of each flow that sent.
    pub goodputs: Vec<f64>,
    pub durations: Vec<f64>,
    pub slow_starts: Vec<f64>,
    pub growths: Vec<f64>,
    /// Round-trip times of datagrams that came back.
    pub echoes: Histogram,
}

impl Sums {
    pub fn add(&mut self, flow: &OneFlow) {
        self.traffic.merge(&flow.traffic);
        self.echoes.merge(&flow.echoes);
        if let Some(startup) = flow.opening.startup {
            self.startup.add(startup);
            self.startups.add(startup);
        }
        if flow.started.is_some() {
            self.started += 1;
            self.goodputs.push(flow.traffic.payload as f64);
        }
        if let Some(completion) = flow.completion {
            self.completions.add(completion);
            self.completed.add(completion);
        }
        self.durations.extend(flow.duration);
        self.slow_starts.extend(flow.slow_start.seconds);
        self.growths.extend(flow.slow_start.growth);
    }
}

/// How long the parts of a TCP flow took since its first segment; nothing of other flows.
#[derive(Default)]
pub(super) struct Opening {
    /// Until the first payload arrived.
    pub startup: Option<Span>,
    /// Until that was sent.
    pub connect: Option<Span>,
}

impl Opening {
    fn of(simulation: &Simulation, index: usize) -> Self {
        let Some(tcp) = simulation.hosts.ends[index].tcp.as_ref() else { return Self::default() };
        let Some(first) = tcp.sender.stats().first_sent else { return Self::default() };
        let meter = &simulation.hosts.ends[index].meter;
        if meter.begun == Instant::ZERO {
            return Self::default();
        }
        Self { startup: Some(meter.begun.since(first)), connect: Some(meter.opened.since(first)) }
    }
}

/// How a TCP flow began; nothing of a flow that sent nothing.
#[derive(Default)]
pub(super) struct SlowStart {
    pub seconds: Option<f64>,
    /// Segments in the first second; none of a flow that began later than that before the end.
    pub growth: Option<f64>,
}

impl SlowStart {
    fn of(simulation: &Simulation, index: usize) -> Self {
        let Some(sender) = simulation.hosts.tcp_of(index).map(|tcp| &tcp.sender) else { return Self::default() };
        let stats = sender.stats();
        let Some(first) = stats.first_sent else { return Self::default() };
        let end = simulation.hosts.ends[index].meter.completed.unwrap_or(simulation.end);
        let initial = sender.config().initial_window.get() as f64;
        let segments = stats.cwnd_after_second.get() as f64 / sender.config().mss.get() as f64;
        let is_over = simulation.end.since(first) >= SenderStats::FIRST;
        Self {
            seconds: Some(stats.left_slow_start.unwrap_or(end).since(first).seconds()),
            growth: is_over.then_some(if segments > 0.0 { segments - initial } else { 0.0 }),
        }
    }
}
