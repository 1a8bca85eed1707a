//! Every metric: name with its unit, where it applies, of what it is (its cohort), its range and sum rule, title, which direction
//! is better, how it is estimated, what it means.
//!
//! Results, tables, help and documentation are made from this list; a run that reports another name fails its test, and a run
//! that reports a value outside of its range is an error.

use sojourn_aqm::link_effects;

/// What a metric describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run as a whole; queue metrics are of the busiest queue under test.
    Run,
    /// One queue.
    Queue,
    /// All flows of one `[[flows]]` table together.
    Group,
    /// One flow.
    Flow,
}

impl Scope {
    /// `run`, `queue`, `group` or `flow`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Queue => "queue",
            Self::Group => "group",
            Self::Flow => "flow",
        }
    }
}

/// Of what a metric is. All ratios of one cohort divide by the same things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cohort {
    /// Every instant of the measured time has the same weight.
    Time,
    /// Packets that leave in the measured time: a queue, sent or dropped; for flows the network, delivered or lost.
    Left,
    /// Packets that arrive at the queue in the measured time.
    Arrived,
    /// Packets that flows send in the measured time.
    Sent,
    /// Packets that receivers get in the measured time.
    Delivered,
    /// Round trips that end in the measured time.
    Acknowledged,
    /// Loss events that begin in the measured time.
    Losses,
    /// Pages and responses that are complete in the measured time.
    Completed,
    /// Segments and frames that are due at the player in the measured time.
    Played,
    /// The whole run, warm-up included.
    Run,
}

impl Cohort {
    /// All of them, in the order of the page on metrics.
    pub const ALL: [Self; 10] = [
        Self::Time,
        Self::Left,
        Self::Arrived,
        Self::Sent,
        Self::Delivered,
        Self::Acknowledged,
        Self::Losses,
        Self::Completed,
        Self::Played,
        Self::Run,
    ];

    /// `time`, `left`, `arrived`, `sent`, `delivered`, `acknowledged`, `losses`, `completed`, `played` or `run`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Left => "left",
            Self::Arrived => "arrived",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Acknowledged => "acknowledged",
            Self::Losses => "losses",
            Self::Completed => "completed",
            Self::Played => "played",
            Self::Run => "run",
        }
    }

    /// What belongs to it.
    #[must_use]
    pub const fn definition(self) -> &'static str {
        match self {
            Self::Time => "the measured time, of which every instant has the same weight",
            Self::Left => {
                "packets that leave in the measured time: of a queue, packets that are sent or dropped; of a flow, packets \
                 that are delivered or lost"
            }
            Self::Arrived => "packets that arrive at the queue in the measured time",
            Self::Sent => "packets that the flow sends in the measured time",
            Self::Delivered => "packets that reach the receiver in the measured time",
            Self::Acknowledged => "round trips that end in the measured time",
            Self::Losses => "loss events that begin in the measured time",
            Self::Completed => "pages or responses that are complete in the measured time",
            Self::Played => "segments or frames that are due at the player in the measured time",
            Self::Run => "the whole run, warm-up included",
        }
    }
}

/// What the values of one report add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Nothing.
    Alone,
    /// Flows add up to their group, groups to the run, as far as these report the metric.
    Flows,
    /// It is the sum of these, in every scope.
    Parts(&'static [&'static str]),
}

/// Which values are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Low ones.
    Lower,
    /// High ones.
    Higher,
    /// It depends.
    Neither,
}

impl Better {
    /// `lower`, `higher` or nothing.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in results; carries the unit.
    pub name: &'static str,
    /// Its unit in data and files.
    pub unit: &'static str,
    /// Its unit in tables and pictures.
    pub shown: &'static str,
    /// Where it is reported.
    pub scopes: &'static [Scope],
    /// Of what it is.
    pub cohort: Cohort,
    /// The least value that it can have; minus infinity where there is none.
    pub least: f64,
    /// The largest value; infinity where there is none.
    pub most: f64,
    /// What its values add up to.
    pub sum: Sum,
    /// Its name in tables and pictures.
    pub title: &'static str,
    /// Which values are better.
    pub better: Better,
    /// How it is computed from one run.
    pub estimator: &'static str,
    /// What it means.
    pub definition: &'static str,
}

impl Metric {
    /// Whether only runs on real packets have it, so the simulator never reports it.
    #[must_use]
    pub fn is_of_real_packets(&self) -> bool {
        self.definition.starts_with("Real packets only: ")
    }

    /// Whether it can have this value.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        value.is_finite() && (self.least..=self.most).contains(&value)
    }

    /// A shown value is one in data times this; `None` for units without such a factor.
    #[must_use]
    pub fn scale(&self) -> Option<f64> {
        match (self.unit, self.shown) {
            (unit, shown) if unit == shown => Some(1.0),
            ("ratio", "%") => Some(100.0),
            ("bit/s", "Mbit/s") => Some(1e-6),
            _ => None,
        }
    }
}

const ALL: &[Scope] = &[Scope::Run, Scope::Queue, Scope::Flow];
const QUEUE: &[Scope] = &[Scope::Run, Scope::Queue];
const FLOW: &[Scope] = &[Scope::Flow];
const ENDS: &[Scope] = &[Scope::Run, Scope::Group, Scope::Flow];
const GROUP: &[Scope] = &[Scope::Group];
const FLOWS: &[Scope] = &[Scope::Run, Scope::Group];
const DROPPED: &[Scope] = &[Scope::Group, Scope::Flow];
const RUN: &[Scope] = &[Scope::Run];
const LOSS: &[Scope] = &[Scope::Run, Scope::Queue, Scope::Group, Scope::Flow];

/// Ranges: least and largest value.
type Range = (f64, f64);
const ANY: Range = (f64::NEG_INFINITY, f64::INFINITY);
const POSITIVE: Range = (0.0, f64::INFINITY);
const SHARE: Range = (0.0, 1.0);
/// G.107 has no least value of R. Without any impairment R is 93.2, and a wide-band codec is not modelled.
const RATING: Range = (f64::NEG_INFINITY, 100.0);
/// Annex B of G.107.
/// The formula of annex B falls below 1 between R = 0 and 6.5: its least value is 0.9888, at R = (320 - sqrt(90400)) / 6 = 3.2.
const SCORE: Range = (0.988, 4.5);

const FLOWS_ADD: Sum = Sum::Flows;
const DROPS: Sum = Sum::Parts(&["drops_overflow_packets", "drops_early_packets", "drops_flow_packets"]);

macro_rules! metrics {
    ($(
        $name:literal, $unit:literal $(as $shown:literal)?, $scopes:ident, $cohort:ident $range:ident $($sum:ident)?, $title:literal,
        $better:ident, $estimator:literal, $definition:literal;
    )+) => {
        /// Every metric, in the order of tables.
        pub static METRICS: &[Metric] = &[ $( Metric {
            name: $name, unit: $unit, shown: [$unit $(, $shown)?][[$unit $(, $shown)?].len() - 1], scopes: $scopes,
            cohort: Cohort::$cohort, least: $range.0, most: $range.1, sum: [Sum::Alone $(, $sum)?][[Sum::Alone $(, $sum)?].len() - 1],
            title: $title, better: Better::$better, estimator: $estimator, definition: $definition,
        } ),+ ];
    };
}

macro_rules! with_effects {
    ({ $($before:tt)* } { $($after:tt)* } $({
        $key:ident $reverse:ident $value:tt state $state:tt there $there:tt back $back:tt device $device:tt counted $counted:tt
        metric ($name:literal, $title:literal, $better:ident, $definition:literal) $($words:tt)*
    })*) => {
        metrics! {
            $($before)*
            $($name, "packets", QUEUE, Left POSITIVE, $title, $better, "count", $definition;)*
            $($after)*
        }
    };
}

link_effects! { with_effects {
    "queue_packets_mean", "packets", QUEUE, Time POSITIVE, "Queue length, mean", Lower, "time-weighted mean", "Number of waiting packets, without the one being sent.";
    "queue_packets_sd", "packets", QUEUE, Time POSITIVE, "Queue length sd", Lower, "time-weighted standard deviation", "Standard deviation of the number of waiting packets.";
    "queue_packets_p50", "packets", QUEUE, Time POSITIVE, "Queue length p50", Lower, "time-weighted quantile", "Median number of waiting packets.";
    "queue_packets_p99", "packets", QUEUE, Time POSITIVE, "Queue length p99", Lower, "time-weighted quantile", "Number of waiting packets that was not exceeded for 99 % of the time.";
    "system_packets_mean", "packets", QUEUE, Time POSITIVE, "System length mean", Lower, "time-weighted mean", "Number of packets that wait or are being sent; on a bus this includes a packet that contends for the channel.";
    "system_packets_sd", "packets", QUEUE, Time POSITIVE, "System length sd", Lower, "time-weighted standard deviation", "Standard deviation of the number of packets waiting or in service.";
    "sojourn_ms_mean", "ms", QUEUE, Left POSITIVE, "Queueing delay, mean", Lower, "mean over packets", "Time from entering the queue to leaving it, over packets that were sent.";
    "sojourn_ms_sd", "ms", QUEUE, Left POSITIVE, "Sojourn sd", Lower, "standard deviation over packets", "Standard deviation of the sojourn time.";
    "sojourn_ms_p50", "ms", QUEUE, Left POSITIVE, "Sojourn p50", Lower, "quantile over packets, to 0.8 %", "Median sojourn time.";
    "sojourn_ms_p99", "ms", QUEUE, Left POSITIVE, "Queueing delay, p99", Lower, "quantile over packets, to 0.8 %", "Sojourn time that 99 % of the packets did not exceed.";
    "dropped_sojourn_ms_mean", "ms", QUEUE, Left POSITIVE, "Dropped sojourn mean", Neither, "mean over dropped packets", "Time that dropped packets had waited in the queue; 0 for packets dropped on arrival.";
    "arrivals_packets", "packets", QUEUE, Left POSITIVE, "Arrivals", Neither, "count", "Packets that left the queue, sent or dropped. Packets that waited when the measurement began are included. Packets that still wait at its end are not.";
    "drops_packets", "packets", QUEUE, Left POSITIVE DROPS, "Drops", Lower, "count", "Packets dropped by the queue for any reason.";
    "drops_overflow_packets", "packets", QUEUE, Left POSITIVE, "Dropped: overflow", Lower, "count", "Packets dropped because the queue was full.";
    "drops_early_packets", "packets", QUEUE, Left POSITIVE, "Dropped: early", Lower, "count", "Packets dropped by the algorithm before the queue was full.";
    "drops_flow_packets", "packets", QUEUE, Left POSITIVE, "Dropped: flow", Lower, "count", "Packets dropped because of the flow they belong to.";
} {
    "marks_packets", "packets", QUEUE, Left POSITIVE, "Marked CE", Neither, "count", "Packets that the queue marked CE and sent. A marked packet that is dropped before it is sent counts as a drop only.";
    "mark_ratio", "ratio" as "%", QUEUE, Left SHARE, "CE marks", Neither, "marks over packets sent or dropped", "Share of the packets that left the queue with a CE mark that the queue set.";
    "loss_ratio", "ratio" as "%", LOSS, Left SHARE, "Loss", Lower, "drops over packets sent or dropped; for flows, losses at any queue and on any link over packets delivered or lost", "Share of packets dropped. For flows it is of their data packets.";
    "burst_ratio", "ratio", ALL, Left POSITIVE, "Burst ratio", Neither, "mean loss run times (1 - loss ratio); for a flow, over its data packets in order of sending", "Mean length of runs of consecutive losses (in order of arrival), divided by that of independent losses; 1 if losses are independent.";
    "loss_interval_packets_mean", "packets", ENDS, Losses POSITIVE, "Loss interval, mean", Higher, "mean over loss intervals", "Packets that a flow sends from the start of one loss event to the start of the next (RFC 5348, section 5.3). Losses within one round-trip time of the first one are one event. That time is the flow's base RTT, plus what waits in the queue divided by the link's rate or, if longer, the queue's mean sojourn time. For several flows, over the intervals of all.";
    "loss_synchronisation", "ratio" as "%", FLOWS, Losses SHARE, "Loss synchronisation", Lower, "mean over loss events", "Share of the flows that lose packets in a loss event (RFC 7928, section 2.4). An event begins with a loss of any of the flows and lasts one round-trip time, as in `loss_interval_packets_mean`. The flows are those that have sent by the end of the run; none for a single flow.";
    "utilisation", "ratio" as "%", QUEUE, Time SHARE, "Utilisation", Higher, "time sending over time", "Share of the time of its link, bus or cell that the queue spent sending. Where a token bucket shapes the link, the time is that of the measurement and of the tokens that were saved when it began, or that a lower rate made more time of: all that the link could send. Where the link follows a trace, it is the share of the bits that the trace allowed.";
    "interarrival_ms_mode", "ms", QUEUE, Arrived POSITIVE, "Interarrival mode", Neither, "mode of whole milliseconds", "Most frequent time between arrivals at a queue, rounded to milliseconds (Shu 2023, section 4.1.1).";
    "interarrival_fine_ms_mode", "ms", QUEUE, Arrived POSITIVE, "Interarrival fine mode", Neither, "mode of bins of 10 us", "Middle of the most frequent bin of the times between arrivals at a queue; times of 49.5 ms and more are left out.";
    "daqm_hit_ratio", "ratio", QUEUE, Left SHARE, "Daqm hit ratio", Neither, "hits over packets that left or were dropped at a dequeue", "dAQM only: how often a feature exceeded its threshold, which starts a dropping phase, while the queue ran dAQM.";
    "l4s_packets", "packets", QUEUE, Left POSITIVE, "L4S packets", Neither, "count", "DualPI2 only: packets that left the L4S queue.";
    "l4s_drops_packets", "packets", QUEUE, Left POSITIVE, "L4S drops", Lower, "count", "DualPI2 only: packets of the L4S queue that were dropped for any reason.";
    "l4s_sojourn_ms_mean", "ms", QUEUE, Left POSITIVE, "L4S delay, mean", Lower, "mean over packets", "DualPI2 only: sojourn time in the L4S queue.";
    "l4s_sojourn_ms_p99", "ms", QUEUE, Left POSITIVE, "L4S delay, p99", Lower, "quantile over packets, to 0.8 %", "DualPI2 only: sojourn time that 99 % of the packets of the L4S queue did not exceed.";
    "l4s_mark_ratio", "ratio" as "%", QUEUE, Left SHARE, "L4S marks", Neither, "marks over packets that left or were dropped", "DualPI2 only: share of the L4S queue's packets that were marked CE, by its own ramp or step or by the coupling.";
    "classic_packets", "packets", QUEUE, Left POSITIVE, "Classic packets", Neither, "count", "DualPI2 only: packets that left the classic queue.";
    "classic_drops_packets", "packets", QUEUE, Left POSITIVE, "Classic drops", Lower, "count", "DualPI2 only: packets of the classic queue that were dropped for any reason.";
    "classic_sojourn_ms_mean", "ms", QUEUE, Left POSITIVE, "Classic delay, mean", Lower, "mean over packets", "DualPI2 only: sojourn time in the classic queue.";
    "classic_sojourn_ms_p99", "ms", QUEUE, Left POSITIVE, "Classic delay, p99", Lower, "quantile over packets, to 0.8 %", "DualPI2 only: sojourn time that 99 % of the packets of the classic queue did not exceed.";
    "classic_signal_ratio", "ratio" as "%", QUEUE, Left SHARE, "Classic signals", Neither, "marks and early drops over packets that left or were dropped", "DualPI2 only: share of the classic queue's packets that its controller marked or dropped.";
    "coupling_ratio", "ratio", QUEUE, Left POSITIVE, "Coupling", Neither, "L4S mark ratio over the root of the classic signal ratio", "DualPI2 only: equals the coupling factor k where the coupling alone marks, because then p_CL = k p' and p_C = p'^2 (RFC 9332, section 2.1). It is larger where the L4S queue's own ramp or step marks too.";
    "goodput_bit_s", "bit/s" as "Mbit/s", ENDS, Delivered POSITIVE FLOWS_ADD, "Goodput", Higher, "bits over measured time", "Payload that reached the receiving application, each byte counted once; for TCP in order.";
    "throughput_bit_s", "bit/s" as "Mbit/s", ENDS, Delivered POSITIVE FLOWS_ADD, "Throughput", Higher, "bits over measured time", "Bytes of IP packets that reached the receiver, with headers and retransmissions.";
    "one_way_delay_ms_mean", "ms", ENDS, Delivered POSITIVE, "One-way delay, mean", Lower, "mean over packets", "Time from sending a data packet to its arrival at the receiver, over packets that arrived.";
    "one_way_delay_ms_sd", "ms", ENDS, Delivered POSITIVE, "One-way delay sd", Lower, "standard deviation over packets", "Standard deviation of the one-way delay.";
    "one_way_delay_ms_p50", "ms", ENDS, Delivered POSITIVE, "One-way delay p50", Lower, "quantile over packets, to 0.8 %", "Median one-way delay. Of single flows where there are at most 16.";
    "one_way_delay_ms_p99", "ms", ENDS, Delivered POSITIVE, "One-way delay, p99", Lower, "quantile over packets, to 0.8 %", "One-way delay that 99 % of the packets did not exceed. Of single flows where there are at most 16.";
    "delay_variation_ms_p99", "ms", ENDS, Delivered POSITIVE, "Delay variation, p99", Lower, "quantile less the least, both to 0.8 % of the delay", "Packet delay variation (RFC 5481, section 4.2) that 99 % of the packets did not exceed: the one-way delay less the least one. It is known to about 0.5 % of the delay itself, which the interval does not include. Of single flows where there are at most 16.";
    "flow_completion_s_mean", "s", FLOWS, Run POSITIVE, "Completion, mean", Lower, "mean over completed transfers", "Time from the first packet of a transfer (its SYN if there is a handshake) to the arrival of its last byte, over completed transfers.";
    "flow_completion_s_p50", "s", FLOWS, Run POSITIVE, "Flow completion p50", Lower, "quantile over completed transfers", "Median flow completion time.";
    "flow_completion_s_p99", "s", FLOWS, Run POSITIVE, "Completion, p99", Lower, "quantile over completed transfers", "99th percentile of the flow completion time.";
    "flow_completion_s", "s", FLOW, Run POSITIVE, "Flow completion", Lower, "one value", "Time from the first packet of the transfer (its SYN if there is a handshake) to the arrival of its last byte.";
    "flows_completed", "flows", FLOWS, Run POSITIVE FLOWS_ADD, "Flows completed", Neither, "count", "Transfers that completed in the run.";
    "flow_duration_s_mean", "s", FLOWS, Run POSITIVE, "Flow duration mean", Neither, "mean over flows that delivered", "Time from a flow's first packet to the arrival of its last one, over the whole run.";
    "flow_duration_s", "s", FLOW, Run POSITIVE, "Flow duration", Neither, "one value", "Time from the flow's first packet to the arrival of its last one, over the whole run.";
    "flow_start_s", "s", FLOW, Run POSITIVE, "Flow start", Neither, "one value", "Time of the flow's first packet, since the start of the run.";
    "flows_started", "flows", FLOWS, Run POSITIVE FLOWS_ADD, "Flows started", Neither, "count", "Flows that had sent a packet (which may be a SYN) by the end of the run.";
    "slow_start_s_mean", "s", FLOWS, Run POSITIVE, "Slow start mean", Neither, "mean over TCP flows that sent", "Duration of slow start: from a flow's first packet until its window first reached ssthresh (by growth, loss or mark), or until the flow or the run ended. Measured over the whole run; algorithms without ssthresh never reach it.";
    "slow_start_s", "s", FLOW, Run POSITIVE, "Slow start", Neither, "one value", "Duration of slow start: from the flow's first packet until its window first reached ssthresh (by growth, loss or mark), or until the flow or the run ended. Measured over the whole run.";
    "flow_startup_s_mean", "s", FLOWS, Run POSITIVE, "Startup, mean", Lower, "mean over TCP flows that began to deliver", "Startup time (RFC 7928, section 2.2): from a flow's first packet (its SYN if there is a handshake) to the arrival of the first payload at the receiver. Measured over the whole run.";
    "flow_startup_s_p99", "s", FLOWS, Run POSITIVE, "Startup, p99", Lower, "quantile over TCP flows that began to deliver, to 0.8 %", "Startup time that 99 % of the flows did not exceed.";
    "flow_startup_s", "s", FLOW, Run POSITIVE, "Startup", Lower, "one value", "Startup time (RFC 7928, section 2.2): from the flow's first packet (its SYN if there is a handshake) to the arrival of the first payload at the receiver. Measured over the whole run.";
    "connect_ms", "ms", FLOW, Run POSITIVE, "Connect", Lower, "one value", "Time from the flow's first packet (its SYN if there is a handshake) until the first payload that arrived was sent: of data that is ready, the time that the handshake takes.";
    "base_rtt_ms", "ms", FLOW, Run POSITIVE, "Base RTT", Neither, "one value", "Propagation delay of the way there and of the way back together, at the start of the run. Transmission times and queues come on top.";
    "cwnd_growth_segments_mean", "segments", FLOWS, Run ANY, "Cwnd growth mean", Neither, "mean over TCP flows that sent a second or more before the end", "Congestion window at the last acknowledgement of a flow's first second, minus the initial window. Measured over the whole run.";
    "cwnd_growth_segments", "segments", FLOW, Run ANY, "Cwnd growth", Neither, "one value", "Congestion window at the last acknowledgement of the flow's first second, minus the initial window; 0 without an acknowledgement.";
    "jain_index", "ratio", FLOWS, Delivered SHARE, "Jain's index", Higher, "Jain's index of goodput over flows", "Fairness of goodput among flows that have sent: 1 if all are equal, 1/n if one of n flows has everything.";
    "rtt_ms_mean", "ms", ENDS, Acknowledged POSITIVE, "Rtt mean", Lower, "mean over samples", "TCP's own round-trip time samples. Of UDP flows with `echo`: time from sending a datagram until it is back; not in run scope.";
    "rtt_ms_p50", "ms", GROUP, Acknowledged POSITIVE, "Round trip p50", Lower, "quantile over datagrams, to 0.8 %", "Median round-trip time of datagrams of flows with `echo`.";
    "rtt_ms_p99", "ms", GROUP, Acknowledged POSITIVE, "Round trip p99", Lower, "quantile over datagrams, to 0.8 %", "Round-trip time of flows with `echo` that 99 % of their datagrams did not exceed.";
    "retransmissions_segments", "segments", ENDS, Sent POSITIVE FLOWS_ADD, "Retransmissions", Lower, "count", "TCP segments that were retransmitted.";
    "timeouts", "events", ENDS, Sent POSITIVE FLOWS_ADD, "Timeouts", Neither, "count", "Expirations of TCP's retransmission timer.";
    "marked_acks_packets", "packets", ENDS, Acknowledged POSITIVE FLOWS_ADD, "Marked acknowledgements", Neither, "count", "Accurate ECN only: acknowledgements that reached the sender marked CE. The data that follows reports them to the receiver.";
    "sent_packets", "packets", ENDS, Sent POSITIVE FLOWS_ADD, "Sent", Neither, "count", "Data packets sent, that is packets with payload; SYN, FIN and window probes without payload are not counted.";
    "delivered_packets", "packets", ENDS, Delivered POSITIVE FLOWS_ADD, "Delivered", Neither, "count", "Data packets that reached the receiver.";
    "page_load_s_mean", "s", GROUP, Completed POSITIVE, "Page load time, mean", Lower, "mean over pages", "Time from the start of a page, when its first connection opens, to the arrival of the last byte of its last object. Pages that complete in the measured time count; those that are still loading at the end do not.";
    "page_load_s_p50", "s", GROUP, Completed POSITIVE, "Page load time, p50", Lower, "quantile over pages, to 0.8 %", "Median page load time.";
    "page_load_s_p99", "s", GROUP, Completed POSITIVE, "Page load time, p99", Lower, "quantile over pages, to 0.8 %", "Page load time that 99 % of the pages did not exceed.";
    "pages_completed", "pages", GROUP, Completed POSITIVE, "Pages completed", Higher, "count", "Pages that completed in the measured time.";
    "response_s_mean", "s", GROUP, Completed POSITIVE, "Response time, mean", Lower, "mean over responses", "Time from a request, or from opening the connection where it has a new one, to the arrival of the last byte of the response.";
    "response_s_p50", "s", GROUP, Completed POSITIVE, "Response time, p50", Lower, "quantile over responses, to 0.8 %", "Median response time.";
    "response_s_p99", "s", GROUP, Completed POSITIVE, "Response time, p99", Lower, "quantile over responses, to 0.8 %", "Response time that 99 % of the responses did not exceed.";
    "responses_completed", "responses", GROUP, Completed POSITIVE, "Responses", Higher, "count", "Responses that were complete in the measured time.";
    "video_bit_rate_bit_s", "bit/s" as "Mbit/s", GROUP, Played POSITIVE, "Video bit rate, mean", Higher, "mean over segments", "Bit rate of the video segments that arrived.";
    "video_rebuffer_ratio", "ratio" as "%", GROUP, Played SHARE, "Video rebuffering", Lower, "time over time", "Share of the time after the start of playback in which the player waited with an empty buffer.";
    "video_stalls", "stalls", GROUP, Played POSITIVE, "Video stalls", Lower, "count", "Number of times that the player's buffer ran empty.";
    "video_switches_per_min", "1/min", GROUP, Played POSITIVE, "Video switches", Lower, "count over time", "Changes of the bit rate from one segment to the next, per minute of playback.";
    "video_startup_s", "s", GROUP, Run POSITIVE, "Video startup", Lower, "mean over players that began", "Time from the start of a player to the start of playback, over the whole run.";
    "voip_mouth_to_ear_ms_mean", "ms", GROUP, Played POSITIVE, "Mouth-to-ear delay, mean", Lower, "mean over calls of the mean over played frames", "Length of a frame, look-ahead of the codec, and time from sending the frame to playing it.";
    "voip_loss_ratio", "ratio" as "%", GROUP, Played SHARE, "Speech lost", Lower, "frames over frames", "Share of the frames of speech that never arrived.";
    "voip_late_ratio", "ratio" as "%", GROUP, Played SHARE, "Speech too late", Lower, "frames over frames", "Share of the frames of speech that arrived after they were to be played.";
    "voip_r", "ratio", GROUP, Played RATING, "R", Higher, "mean over calls", "Transmission rating factor R of the E-model (ITU-T G.107) for G.711, from mouth-to-ear delay, frames lost or late, and their burst ratio; 93.2 without delay and losses. Long delays and many losses give values below 0, which the formula allows; MOS is 1 there.";
    "voip_mos", "ratio", GROUP, Played SCORE, "MOS", Higher, "mean over calls", "Mean opinion score that the E-model (ITU-T G.107, annex B) gives for R, from 1 (bad) to 4.5; 4.41 without delay and losses. Between R = 0 and 6.5 the formula falls to 0.989.";
    "delay_above_50_ms_ratio", "ratio" as "%", GROUP, Delivered SHARE, "Delay above 50 ms", Lower, "packets over packets", "Share of the packets of games that arrived more than 50 ms after they were sent, of those that arrived.";
    "delay_above_100_ms_ratio", "ratio" as "%", GROUP, Delivered SHARE, "Delay above 100 ms", Lower, "packets over packets", "Share of the packets of games that arrived more than 100 ms after they were sent, of those that arrived.";
    "dropped_packets", "packets", DROPPED, Left POSITIVE FLOWS_ADD, "Dropped", Neither, "count", "Data packets dropped at any queue or lost on any link.";
    "lateness_ms_mean", "ms", RUN, Left POSITIVE, "Lateness, mean", Lower, "mean over packets", "Real packets only: how much later than at their nominal instants packets left the queue under test, because the machine was busy: at most, by the clock after they left.";
    "lateness_least_ms_mean", "ms", RUN, Left POSITIVE, "Lateness, mean at least", Lower, "mean over packets", "Real packets only: the mean lateness by the clock before packets left.";
    "dated_late_ms_mean", "ms", RUN, Left POSITIVE, "Dated late, mean", Lower, "mean over packets", "Real packets only: how much later than they arrived packets count as arrived at the queue under test, at most.";
    "lateness_ms_p99", "ms", RUN, Left POSITIVE, "Lateness, p99", Lower, "quantile over packets", "Real packets only: lateness that 99 % of the packets did not exceed.";
    "lateness_ms_max", "ms", RUN, Left POSITIVE, "Lateness, longest", Lower, "maximum over packets", "Real packets only: the longest lateness of a packet.";
    "late_ratio", "ratio" as "%", RUN, Time SHARE, "Time lost", Lower, "time over time", "Real packets only: share of the time for which the queue under test had packets to send and the machine came too late to send them.";
    "marked_late_runs", "runs", RUN, Run SHARE, "Marked late", Lower, "0 or 1", "Real packets only: 1 if the run was too late to be trusted at the last attempt, 0 if not. The mean is the share of such runs.";
    "repeated_runs", "runs", RUN, Run POSITIVE, "Repeated", Neither, "count", "Real packets only: how often the run was repeated because it was marked late.";
}}

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
        assert!(METRICS.len() <= 256, "crates/sim/src/simulation/report/metrics.rs numbers metrics by one byte");
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[i + 1..].iter().all(|m| m.name != metric.name), "{}", metric.name);
            assert!(!metric.definition.is_empty() && !metric.unit.is_empty());
            assert!(metric.scale().is_some(), "{}: how many {} are a {}?", metric.name, metric.shown, metric.unit);
        }
        assert!(find("sojourn_ms_p99").is_some());
    }
}
