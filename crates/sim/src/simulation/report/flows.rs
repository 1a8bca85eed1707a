//! What flows measured.

use super::super::Simulation;
use super::metrics::ratio;
use super::{FlowReport, GroupReport, Metrics};
use sojourn_measure::{burst_ratio, jain, Histogram, Moments};
use sojourn_scenario::Transport;
use sojourn_traffic::application::{Measured, Named};
use sojourn_transport::SenderStats;
use sojourn_units::{Instant, Span};
use std::sync::Arc;

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

    /// Every flow and every group of flows, and of all flows together what `run` says.
    ///
    /// A flow's TCP goes when it has been reported: the reports take its room.
    pub(super) fn flow_reports(&mut self, measured: Span, run: &mut Metrics) -> (Vec<FlowReport>, Vec<GroupReport>) {
        let network = Arc::clone(&self.network);
        let mut reports = Vec::with_capacity(self.hosts.flows.len());
        let (mut all, mut groups) = (Sums::default(), vec![Sums::default(); self.network.groups.len()]);
        for (index, spec) in network.flows.iter().enumerate() {
            let own = OneFlow::of(self, index);
            self.hosts.ends[index].tcp = None;
            all.add(&own);
            groups[spec.group].add(&own);
            let node = |n: usize| self.network.nodes[n].clone();
            reports.push(FlowReport {
                name: spec.name.clone(),
                group: self.network.groups[spec.group].clone(),
                from: node(spec.from),
                to: node(spec.to),
                transport: if matches!(*spec.transport, Transport::Tcp { .. }) { "tcp" } else { "udp" },
                metrics: own.metrics(measured, self.network.are_apart().then(|| &self.hosts.delays[index])),
            });
        }
        let delays = self.delay_of_all();
        all.metrics(measured, &delays, run);
        let together = &self.net.synchronisation;
        run.insert("loss_synchronisation", together.last().and_then(|all_flows| all_flows.share(all.started)));
        let applications: Vec<Named> = self.applications().iter().map(|all| Measured::metrics(all)).collect();
        let named = self.network.groups.iter().zip(&applications).zip(groups);
        let groups = named.zip(self.delays_of_groups().into_iter().zip(together));
        let groups = groups.map(|(((name, application), sums), (delays, together))| {
            let mut metrics = Metrics::new();
            sums.metrics(measured, &delays, &mut metrics);
            metrics.insert("dropped_packets", Some(sums.dropped as f64));
            metrics.insert("loss_ratio", ratio(sums.dropped, sums.delivered + sums.dropped));
            metrics.insert("loss_synchronisation", together.share(sums.started));
            if let Some((times, _)) = &sums.echo {
                metrics.insert("rtt_ms_mean", times.mean_ms());
            }
            let quantile = |share| sums.echo.as_ref().and_then(|(_, times)| times.quantile_ms(share));
            metrics.insert("rtt_ms_p50", quantile(0.5));
            metrics.insert("rtt_ms_p99", quantile(0.99));
            for (name, value) in application {
                metrics.insert(name, *value);
            }
            GroupReport { name: name.clone(), metrics }
        });
        (reports, groups.collect())
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

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// One flow since the measurement began.
struct OneFlow {
    payload: u64,
    ip_bytes: u64,
    sent: u64,
    dropped: u64,
    drop_runs: u64,
    /// Packets in loss intervals, and their number.
    loss_intervals: (u64, u64),
    base_rtt: Span,
    opening: Opening,
    delay: Moments,
    started: Option<Instant>,
    duration: Option<f64>,
    completion: Option<Span>,
    slow_start: SlowStart,
    tcp: TcpSums,
    echo: Option<(Moments, Histogram)>,
}

impl OneFlow {
    fn of(simulation: &Simulation, index: usize) -> Self {
        let (meter, losses) = (&simulation.hosts.ends[index].meter, &simulation.net.losses[index]);
        let tcp = simulation.hosts.tcp_of(index);
        let first_sent = simulation.hosts.clients.past(index).1.or(meter.first_sent);
        let started = first_sent.or_else(|| tcp.and_then(|tcp| tcp.sender.stats().first_sent));
        Self {
            payload: simulation.payload(index),
            ip_bytes: meter.delivered_ip_bytes,
            sent: meter.sent_packets + simulation.hosts.tcp_counts(index).sent - simulation.hosts.before[index].sent,
            dropped: losses.packets,
            drop_runs: losses.runs,
            loss_intervals: losses.events.intervals(),
            base_rtt: simulation.network.base_rtt(&simulation.network.flows[index]),
            opening: Opening::of(simulation, index),
            delay: meter.delay,
            started,
            duration: started.zip(meter.last_delivered).map(|(first, last)| (last - first).seconds()),
            completion: started.zip(meter.completed).map(|(first, last)| last - first),
            slow_start: SlowStart::of(simulation, index),
            tcp: TcpSums::of(simulation, index),
            echo: simulation.hosts.flows[index].echo.as_ref().map(|echo| (echo.times, echo.distribution.clone())),
        }
    }

    /// `delays` are its own, where they are known.
    fn metrics(&self, measured: Span, delays: Option<&Histogram>) -> Metrics {
        let seconds = measured.seconds();
        let mut metrics = Metrics::new();
        metrics.insert("goodput_bit_s", Some(self.payload as f64 * 8.0 / seconds));
        metrics.insert("throughput_bit_s", Some(self.ip_bytes as f64 * 8.0 / seconds));
        metrics.insert("sent_packets", Some(self.sent as f64));
        metrics.insert("delivered_packets", Some(self.delay.count() as f64));
        metrics.insert("dropped_packets", Some(self.dropped as f64));
        let left = self.delay.count() + self.dropped;
        metrics.insert("loss_ratio", ratio(self.dropped, left));
        metrics.insert("burst_ratio", burst_ratio(self.dropped, self.drop_runs, left));
        metrics.insert("one_way_delay_ms_mean", self.delay.mean_ms());
        metrics.insert("one_way_delay_ms_sd", self.delay.sd_ms());
        metrics.insert("one_way_delay_ms_p50", delays.and_then(|delays| delays.quantile_ms(0.5)));
        metrics.insert("one_way_delay_ms_p99", delays.and_then(|delays| delays.quantile_ms(0.99)));
        metrics.insert("delay_variation_ms_p99", delays.and_then(|delays| delays.variation_ms(0.99)));
        metrics.insert("flow_duration_s", self.duration);
        metrics.insert("flow_start_s", self.started.map(|first| (first - Instant::ZERO).seconds()));
        metrics.insert("flow_completion_s", self.completion.map(Span::seconds));
        metrics.insert("loss_interval_packets_mean", ratio(self.loss_intervals.0, self.loss_intervals.1));
        metrics.insert("base_rtt_ms", Some(self.base_rtt.millis()));
        self.opening.metrics(&mut metrics);
        metrics.insert("slow_start_s", self.slow_start.seconds);
        metrics.insert("cwnd_growth_segments", self.slow_start.growth);
        self.tcp.metrics(&mut metrics);
        if let Some((times, _)) = &self.echo {
            metrics.insert("rtt_ms_mean", times.mean_ms());
        }
        metrics.finish();
        metrics
    }
}

/// Several flows together: those of a group, or of the run.
#[derive(Clone, Default)]
struct Sums {
    payload: u64,
    ip_bytes: u64,
    sent: u64,
    delivered: u64,
    dropped: u64,
    started: u64,
    loss_intervals: (u64, u64),
    startup: Moments,
    startups: Histogram,
    delay: Moments,
    completions: Histogram,
    completed: Moments,
    /// Bytes of each flow that sent.
    goodputs: Vec<f64>,
    durations: Vec<f64>,
    slow_starts: Vec<f64>,
    growths: Vec<f64>,
    tcp: TcpSums,
    /// Round-trip times of datagrams that came back.
    echo: Option<(Moments, Histogram)>,
}

impl Sums {
    fn add(&mut self, flow: &OneFlow) {
        if let Some((times, distribution)) = &flow.echo {
            let (all, all_distribution) = self.echo.get_or_insert_default();
            all.merge(times);
            all_distribution.merge(distribution);
        }
        self.payload += flow.payload;
        self.ip_bytes += flow.ip_bytes;
        self.sent += flow.sent;
        self.delivered += flow.delay.count();
        self.dropped += flow.dropped;
        self.loss_intervals.0 += flow.loss_intervals.0;
        self.loss_intervals.1 += flow.loss_intervals.1;
        if let Some(startup) = flow.opening.startup {
            self.startup.add(startup);
            self.startups.add(startup);
        }
        self.delay.merge(&flow.delay);
        if flow.started.is_some() {
            self.started += 1;
            self.goodputs.push(flow.payload as f64);
        }
        if let Some(completion) = flow.completion {
            self.completions.add(completion);
            self.completed.add(completion);
        }
        self.durations.extend(flow.duration);
        self.slow_starts.extend(flow.slow_start.seconds);
        self.growths.extend(flow.slow_start.growth);
        self.tcp.add(&flow.tcp);
    }

    fn metrics(&self, measured: Span, delays: &Histogram, metrics: &mut Metrics) {
        let seconds = measured.seconds();
        metrics.insert("goodput_bit_s", Some(self.payload as f64 * 8.0 / seconds));
        metrics.insert("throughput_bit_s", Some(self.ip_bytes as f64 * 8.0 / seconds));
        metrics.insert("one_way_delay_ms_mean", self.delay.mean_ms());
        metrics.insert("one_way_delay_ms_sd", self.delay.sd_ms());
        metrics.insert("one_way_delay_ms_p50", delays.quantile_ms(0.5));
        metrics.insert("one_way_delay_ms_p99", delays.quantile_ms(0.99));
        metrics.insert("delay_variation_ms_p99", delays.variation_ms(0.99));
        metrics.insert("flow_completion_s_mean", self.completed.mean_ms().map(|ms| ms / 1e3));
        metrics.insert("flow_completion_s_p50", self.completions.quantile_ms(0.5).map(|ms| ms / 1e3));
        metrics.insert("flow_completion_s_p99", self.completions.quantile_ms(0.99).map(|ms| ms / 1e3));
        metrics.insert("flows_completed", Some(self.completions.count() as f64));
        metrics.insert("flow_duration_s_mean", mean(&self.durations));
        metrics.insert("flows_started", Some(self.started as f64));
        metrics.insert("flow_startup_s_mean", self.startup.mean_ms().map(|ms| ms / 1e3));
        metrics.insert("flow_startup_s_p99", self.startups.quantile_ms(0.99).map(|ms| ms / 1e3));
        metrics.insert("loss_interval_packets_mean", ratio(self.loss_intervals.0, self.loss_intervals.1));
        metrics.insert("slow_start_s_mean", mean(&self.slow_starts));
        metrics.insert("cwnd_growth_segments_mean", mean(&self.growths));
        metrics.insert("jain_index", jain(self.goodputs.iter().copied()));
        metrics.insert("sent_packets", Some(self.sent as f64));
        metrics.insert("delivered_packets", Some(self.delivered as f64));
        self.tcp.metrics(metrics);
    }
}

/// How long the parts of a TCP flow took since its first segment; nothing of other flows.
#[derive(Default)]
struct Opening {
    /// Until the first payload arrived.
    startup: Option<Span>,
    /// Until that was sent.
    connect: Option<Span>,
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

    fn metrics(&self, metrics: &mut Metrics) {
        metrics.insert("flow_startup_s", self.startup.map(Span::seconds));
        metrics.insert("connect_ms", self.connect.map(Span::millis));
    }
}

/// How a TCP flow began; nothing of a flow that sent nothing.
#[derive(Default)]
struct SlowStart {
    seconds: Option<f64>,
    /// Segments in the first second; none of a flow that began later than that before the end.
    growth: Option<f64>,
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

/// TCP's own counts since the measurement began.
#[derive(Clone, Default)]
struct TcpSums {
    rtt_ns: u128,
    rtt_samples: u64,
    retransmitted: u64,
    timeouts: u64,
    marked_acks: u64,
}

impl TcpSums {
    fn of(simulation: &Simulation, index: usize) -> Self {
        let (now, before) = (simulation.hosts.tcp_counts(index), simulation.hosts.before[index]);
        Self {
            rtt_ns: now.rtt_ns - before.rtt_ns,
            rtt_samples: now.rtt_samples - before.rtt_samples,
            retransmitted: now.retransmitted - before.retransmitted,
            timeouts: now.timeouts - before.timeouts,
            marked_acks: now.marked_acks - before.marked_acks,
        }
    }

    fn add(&mut self, other: &Self) {
        self.rtt_ns += other.rtt_ns;
        self.rtt_samples += other.rtt_samples;
        self.retransmitted += other.retransmitted;
        self.timeouts += other.timeouts;
        self.marked_acks += other.marked_acks;
    }

    fn metrics(&self, metrics: &mut Metrics) {
        let rtt = (self.rtt_samples > 0).then(|| self.rtt_ns as f64 / self.rtt_samples as f64 / 1e6);
        metrics.insert("rtt_ms_mean", rtt);
        metrics.insert("retransmissions_segments", Some(self.retransmitted as f64));
        metrics.insert("timeouts", Some(self.timeouts as f64));
        metrics.insert("marked_acks_packets", Some(self.marked_acks as f64));
    }
}
