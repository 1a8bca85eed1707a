//! What flows measured.

use super::super::Simulation;
use super::metrics::ratio;
use super::{FlowReport, Metrics};
use crate::scenario::Transport;
use crate::transport::SenderStats;
use sojourn_measure::{burst_ratio, jain, Histogram, Moments};
use sojourn_units::{Instant, Span};

impl Simulation {
    /// Payload delivered to the application of flow `index` since the measurement began.
    pub(super) fn payload(&self, index: usize) -> u64 {
        self.meters[index].payload + self.tcp_counts(index).delivered - self.before[index].delivered
    }

    /// Payload delivered by all flows since the measurement began.
    pub(in crate::simulation) fn payload_all(&self) -> u64 {
        (0..self.flows.len()).map(|index| self.payload(index)).sum()
    }

    pub(super) fn flow_reports(&self, measured: Span, run: &mut Metrics) -> Vec<FlowReport> {
        let seconds = measured.seconds();
        let mut reports = Vec::with_capacity(self.flows.len());
        let (mut goodputs, mut durations) = (Vec::new(), Vec::new());
        let (mut slow_starts, mut growths, mut started) = (Vec::new(), Vec::new(), 0_u64);
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
            let slow_start = SlowStart::of(self, index);
            let completion = first_sent.zip(meter.completed).map(|(first, last)| last - first);
            let mut metrics = Metrics::new();
            metrics.insert("goodput_bit_s", Some(payload as f64 * 8.0 / seconds));
            metrics.insert("throughput_bit_s", Some(meter.delivered_ip_bytes as f64 * 8.0 / seconds));
            metrics.insert("sent_packets", Some(sent_packets as f64));
            metrics.insert("delivered_packets", Some(delivered_packets as f64));
            metrics.insert("dropped_packets", Some(meter.dropped_packets as f64));
            metrics.insert("loss_ratio", ratio(meter.dropped_packets, sent_packets));
            let burst = burst_ratio(meter.dropped_packets, meter.drop_runs, sent_packets);
            metrics.insert("burst_ratio", burst);
            metrics.insert("one_way_delay_ms_mean", meter.delay.mean_ms());
            metrics.insert("one_way_delay_ms_sd", meter.delay.sd_ms());
            metrics.insert("flow_duration_s", duration);
            metrics.insert("flow_start_s", first_sent.map(|first| (first - Instant::ZERO).seconds()));
            metrics.insert("flow_completion_s", completion.map(Span::seconds));
            metrics.insert("slow_start_s", slow_start.seconds);
            metrics.insert("cwnd_growth_segments", slow_start.growth);
            tcp.metrics(&mut metrics);
            if first_sent.is_some() {
                goodputs.push(payload as f64);
            }
            started += u64::from(first_sent.is_some());
            slow_starts.extend(slow_start.seconds);
            growths.extend(slow_start.growth);
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
        run.insert("flows_started", Some(started as f64));
        run.insert("slow_start_s_mean", mean(&slow_starts));
        run.insert("cwnd_growth_segments_mean", mean(&growths));
        run.insert("jain_index", jain(goodputs));
        run.insert("sent_packets", Some(sent as f64));
        run.insert("delivered_packets", Some(delivered as f64));
        tcp_all.metrics(run);
        reports
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
        let Some(sender) = simulation.tcp[index].as_ref().map(|tcp| &tcp.sender) else { return Self::default() };
        let stats = sender.stats();
        let Some(first) = stats.first_sent else { return Self::default() };
        let end = simulation.meters[index].completed.unwrap_or(simulation.end);
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
