//! Every metric: name with its unit, where it applies, how it is estimated, what it means.
//! Results, tables, help and documentation are made from this list; a run that reports another name fails its test.

/// What a metric describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run as a whole; queue metrics are of the queues under test together.
    Run,
    /// One queue.
    Queue,
    /// One flow.
    Flow,
}

impl Scope {
    /// `run`, `queue` or `flow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Queue => "queue",
            Self::Flow => "flow",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in results; carries the unit.
    pub name: &'static str,
    /// Its unit, for axes and tables.
    pub unit: &'static str,
    /// Where it is reported.
    pub scopes: &'static [Scope],
    /// How it is computed from one run.
    pub estimator: &'static str,
    /// What it means.
    pub definition: &'static str,
}

const ALL: &[Scope] = &[Scope::Run, Scope::Queue, Scope::Flow];
const QUEUE: &[Scope] = &[Scope::Run, Scope::Queue];
const RUN: &[Scope] = &[Scope::Run];
const FLOW: &[Scope] = &[Scope::Flow];
const BOTH_ENDS: &[Scope] = &[Scope::Run, Scope::Flow];

macro_rules! metrics {
    ($( $name:literal, $unit:literal, $scopes:ident, $estimator:literal, $definition:literal; )+) => {
        /// Every metric, in the order of tables.
        pub static METRICS: &[Metric] = &[ $( Metric {
            name: $name, unit: $unit, scopes: $scopes, estimator: $estimator, definition: $definition,
        } ),+ ];
    };
}

metrics! {
    "queue_packets_mean", "packets", QUEUE, "time-weighted mean", "Packets waiting, without the one being sent; over all queues under test together in run scope.";
    "queue_packets_sd", "packets", QUEUE, "time-weighted standard deviation", "Standard deviation of the number of waiting packets.";
    "queue_packets_p50", "packets", QUEUE, "time-weighted quantile", "Median number of waiting packets.";
    "queue_packets_p99", "packets", QUEUE, "time-weighted quantile", "The number of waiting packets that was not exceeded for 99 % of the time.";
    "system_packets_mean", "packets", QUEUE, "time-weighted mean", "Packets waiting and the one being sent (on a bus also: the one that contends).";
    "system_packets_sd", "packets", QUEUE, "time-weighted standard deviation", "Standard deviation of the number of packets waiting or in service.";
    "sojourn_ms_mean", "ms", QUEUE, "mean over packets", "Time from joining the queue to leaving it, of packets that left it to be sent.";
    "sojourn_ms_sd", "ms", QUEUE, "standard deviation over packets", "Standard deviation of the sojourn time.";
    "sojourn_ms_p50", "ms", QUEUE, "quantile over packets, to 0.8 %", "Median sojourn time.";
    "sojourn_ms_p99", "ms", QUEUE, "quantile over packets, to 0.8 %", "Sojourn time that 99 % of the packets did not exceed.";
    "dropped_sojourn_ms_mean", "ms", QUEUE, "mean over dropped packets", "Time that dropped packets had waited in the queue; 0 for those dropped on arrival.";
    "arrivals_packets", "packets", QUEUE, "count", "Packets offered to the queue.";
    "drops_packets", "packets", QUEUE, "count", "Packets dropped by the queue for any reason.";
    "drops_overflow_packets", "packets", QUEUE, "count", "Packets dropped because the queue was full.";
    "drops_early_packets", "packets", QUEUE, "count", "Packets dropped by the algorithm before the queue was full.";
    "drops_flow_packets", "packets", QUEUE, "count", "Packets dropped because of the flow they belong to.";
    "marks_packets", "packets", QUEUE, "count", "Packets marked CE by the queue.";
    "mark_ratio", "ratio", QUEUE, "marks over arrivals", "Share of arrivals marked CE here.";
    "loss_ratio", "ratio", ALL, "drops over arrivals; for a flow, its drops at any queue over packets sent", "Share of packets dropped.";
    "burst_ratio", "ratio", ALL, "mean loss run times (1 - loss ratio); for a flow, over its data packets in order of sending", "Mean length of runs of consecutive losses (in order of arrival) over that of independent losses; 1 when losses are independent.";
    "utilisation", "ratio", QUEUE, "time sending over time", "Share of the link's (or bus's) time that the queues under test spent sending.";
    "interarrival_ms_mode", "ms", QUEUE, "mode of whole milliseconds", "Most frequent spacing of arrivals at a queue, rounded to milliseconds (Shu 2023, section 4.1.1).";
    "interarrival_fine_ms_mode", "ms", QUEUE, "mode of bins of 10 us", "Middle of the most frequent bin of spacings of arrivals at a queue, of those below 49.5 ms.";
    "daqm_hit_ratio", "ratio", QUEUE, "hits over packets that left or were dropped at a dequeue", "dAQM only: how often a feature was found above its threshold, which opens a dropping phase.";
    "goodput_bit_s", "bit/s", BOTH_ENDS, "bits over measured time", "Payload that reached the receiving application in order (TCP) or at all (UDP), each byte once.";
    "throughput_bit_s", "bit/s", BOTH_ENDS, "bits over measured time", "IP bytes that reached the receiver, retransmissions and headers included.";
    "one_way_delay_ms_mean", "ms", BOTH_ENDS, "mean over packets", "Time from sending a data packet to its arrival at the receiver, of packets that arrived.";
    "one_way_delay_ms_sd", "ms", BOTH_ENDS, "standard deviation over packets", "Standard deviation of the one-way delay.";
    "one_way_delay_ms_p50", "ms", RUN, "quantile over packets, to 0.8 %", "Median one-way delay.";
    "one_way_delay_ms_p99", "ms", RUN, "quantile over packets, to 0.8 %", "One-way delay that 99 % of the packets did not exceed.";
    "flow_completion_s_mean", "s", RUN, "mean over completed transfers", "Time from the first packet of a transfer, its SYN where there is a handshake, to the arrival of its last byte; transfers that completed only.";
    "flow_completion_s_p50", "s", RUN, "quantile over completed transfers", "Median flow completion time.";
    "flow_completion_s_p99", "s", RUN, "quantile over completed transfers", "99th percentile of the flow completion time.";
    "flow_completion_s", "s", FLOW, "one value", "Time from the first packet of the transfer, its SYN where there is a handshake, to the arrival of its last byte.";
    "flows_completed", "flows", RUN, "count", "Transfers that completed in the run.";
    "flow_duration_s_mean", "s", RUN, "mean over flows that delivered", "Time from a flow's first packet to the last packet of it that arrived, over the whole run.";
    "flow_duration_s", "s", FLOW, "one value", "Time from the flow's first packet to the last packet of it that arrived, over the whole run.";
    "flow_start_s", "s", FLOW, "one value", "Time of the flow's first packet, since the start of the run.";
    "flows_started", "flows", RUN, "count", "Flows that had sent a packet, a SYN included, by the end of the run.";
    "slow_start_s_mean", "s", RUN, "mean over TCP flows that sent", "Time from a flow's first packet until its window first reached ssthresh, by growth, loss or mark, or until the flow or the run ended, over the whole run; algorithms without ssthresh never do.";
    "slow_start_s", "s", FLOW, "one value", "Time from the flow's first packet until its window first reached ssthresh, by growth, loss or mark, or until the flow or the run ended, over the whole run.";
    "cwnd_growth_segments_mean", "segments", RUN, "mean over TCP flows that sent a second or more before the end", "Window at the last acknowledgement of a flow's first second, less the initial window, over the whole run.";
    "cwnd_growth_segments", "segments", FLOW, "one value", "Window at the last acknowledgement of the flow's first second, less the initial window; 0 without one.";
    "jain_index", "ratio", RUN, "Jain's index of goodput over flows", "Fairness: 1 when all flows that have sent have the same goodput, 1/n when one of n has all.";
    "rtt_ms_mean", "ms", BOTH_ENDS, "mean over samples", "TCP's own round-trip time samples.";
    "retransmissions_segments", "segments", BOTH_ENDS, "count", "TCP segments sent again.";
    "timeouts", "events", BOTH_ENDS, "count", "Expirations of TCP's retransmission timer.";
    "sent_packets", "packets", BOTH_ENDS, "count", "Data packets sent: those with payload, not SYN, FIN or window probes without.";
    "delivered_packets", "packets", BOTH_ENDS, "count", "Data packets that reached the receiver.";
    "dropped_packets", "packets", FLOW, "count", "Data packets of the flow dropped at any queue.";
}

/// The metric called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_documented() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[i + 1..].iter().all(|m| m.name != metric.name), "{}", metric.name);
            assert!(!metric.definition.is_empty() && !metric.unit.is_empty());
        }
        assert!(find("sojourn_ms_p99").is_some());
    }
}
