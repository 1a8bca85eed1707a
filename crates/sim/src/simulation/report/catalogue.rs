//! Every metric: name with its unit, where it applies, of what it is (its cohort), its range and sum rule, title, which direction
//! is better, how it is estimated, what it means.
//!
//! A metric is declared once, here: behind its words stand the accumulators that it is computed from, the scopes in which each
//! gives it, and the function. Reports, results, tables, help and documentation are made from this list. A value outside of its
//! range is an error of the run.

use super::flows::{OneFlow, Sums, Traffic};
use super::queues::{ratio, Merged};
use sojourn_aqm::link_effects;
use sojourn_measure::{burst_ratio, jain};
use sojourn_traffic::application::{Calls, Late, Times, Together, Videos};
use sojourn_units::{Instant, Span};

/// An enumeration whose variants have names in data, and sentences that documentation shows.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[doc = $text:literal])+ $variant:ident $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[doc = $text])+ $variant),+
        }

        impl $type {
            /// Its name in data.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// What it says, as documentation shows it.
            #[must_use]
            pub fn definition(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($text),+).trim_start()),+
                }
            }
        }
    };
}

named! {
    /// What a metric describes.
    Scope {
        /// the run as a whole; queue metrics are of the busiest queue under test
        Run "run",
        /// one queue
        Queue "queue",
        /// all flows of one `[[flows]]` table together
        Group "group",
        /// one flow
        Flow "flow",
        /// a phase between changes: all flows, a group or a queue in it
        Phase "phase",
    }
}

named! {
    /// Of what a metric is. All ratios of one cohort divide by the same things.
    Cohort {
        /// the measured time, of which every instant has the same weight
        Time "time",
        /// packets that leave in the measured time: of a queue, packets that are sent or dropped; of a flow, packets that are delivered or lost
        Left "left",
        /// packets that arrive at the queue in the measured time
        Arrived "arrived",
        /// packets that the flow sends in the measured time
        Sent "sent",
        /// packets that reach the receiver in the measured time
        Delivered "delivered",
        /// round trips that end in the measured time
        Acknowledged "acknowledged",
        /// loss events that begin in the measured time
        Losses "losses",
        /// pages or responses that are complete in the measured time
        Completed "completed",
        /// segments or frames that are due at the player in the measured time
        Played "played",
        /// the whole run, warm-up included
        Run "run",
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

named! {
    /// Which values are better.
    Better {
        /// low ones
        Lower "lower",
        /// high ones
        Higher "higher",
        /// it depends
        Neither "",
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
    /// Where runs on real packets report it (`python/sojourn/real/shell`).
    pub real: &'static [Scope],
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
    /// Where the simulator reports it, and its value there; empty if only runs on real packets have it.
    pub(super) values: &'static [(&'static [Scope], Value)],
}

impl Metric {
    /// Whether the simulator reports it in this scope.
    #[must_use]
    pub fn is_simulated(&self, scope: Scope) -> bool {
        self.values.iter().any(|(scopes, _)| scopes.contains(&scope))
    }

    /// Where runs report it, phases left out.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> + '_ {
        let all = [Scope::Run, Scope::Queue, Scope::Group, Scope::Flow];
        all.into_iter().filter(|scope| self.is_simulated(*scope) || self.real.contains(scope))
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

macro_rules! accumulators {
    ($($(#[$doc:meta])* $name:ident $field:ident $of:ty;)+) => {
        /// How a metric follows from an accumulator.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Value {
            $($(#[$doc])* $name(fn(&$of) -> Option<f64>)),+
        }

        /// What an entry of a report is made from; it has the metrics of the accumulators that are there.
        #[derive(Clone, Copy, Default)]
        pub(super) struct Accumulators<'a> {
            $($(#[$doc])* pub $field: Option<&'a $of>),+
        }

        impl Accumulators<'_> {
            /// A value, which may be undefined; none where its accumulator is not there.
            pub fn value(&self, value: Value) -> Option<Option<f64>> {
                match value {
                    $(Value::$name(of) => self.$field.map(of)),+
                }
            }
        }
    };
}

accumulators! {
    /// Of a queue.
    Queue queue Merged;
    /// Of a queue under test, in the whole run.
    Tested tested Merged;
    /// Of a queue under test, and of every DualPI2.
    Classes classes Merged;
    /// Of the packets of flows: of one, of a group or of all.
    Traffic traffic Traffic;
    /// Of one flow.
    Flow flow OneFlow;
    /// Of several flows.
    Flows flows Sums;
    /// Of browsers.
    Pages pages Times;
    /// Of requests.
    Responses responses Times;
    /// Of players of videos.
    Video video Videos;
    /// Of calls.
    Calls calls Calls;
    /// Of games.
    Games games Late;
}

impl<'a> Accumulators<'a> {
    /// And those of an application.
    pub fn with(self, application: Option<&'a Together>) -> Self {
        match application {
            None => self,
            Some(Together::Pages(it)) => Self { pages: Some(it), ..self },
            Some(Together::Responses(it)) => Self { responses: Some(it), ..self },
            Some(Together::Video(it)) => Self { video: Some(it), ..self },
            Some(Together::Calls(it)) => Self { calls: Some(it), ..self },
            Some(Together::Games(it)) => Self { games: Some(it), ..self },
        }
    }
}

const QUEUE: &[Scope] = &[Scope::Run, Scope::Queue];
const EVERY_QUEUE: &[Scope] = &[Scope::Run, Scope::Queue, Scope::Phase];
const ENDS: &[Scope] = &[Scope::Run, Scope::Group, Scope::Flow];
const ENDS_AND_PHASES: &[Scope] = &[Scope::Run, Scope::Group, Scope::Flow, Scope::Phase];
const APPLICATION: &[Scope] = &[Scope::Group, Scope::Phase];
const FLOWS: &[Scope] = &[Scope::Run, Scope::Group];
const RUN: &[Scope] = &[Scope::Run];
const GROUP: &[Scope] = &[Scope::Group];
const FLOW: &[Scope] = &[Scope::Flow];
/// The run's loss ratio is that of its queue.
const PARTS: &[Scope] = &[Scope::Group, Scope::Flow, Scope::Phase];
const DROPPED: &[Scope] = &[Scope::Group, Scope::Flow];
const QUEUE_AND_FLOW: &[Scope] = &[Scope::Run, Scope::Queue, Scope::Flow];

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

#[allow(clippy::unnecessary_wraps, reason = "the values of a table have one type")]
fn count(number: u64) -> Option<f64> {
    Some(number as f64)
}

fn seconds(ms: Option<f64>) -> Option<f64> {
    ms.map(|ms| ms / 1e3)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

macro_rules! real {
    (simulated) => {
        &[]
    };
    (real $scopes:ident) => {
        $scopes
    };
}

// Name; accumulator, scopes and function, of one accumulator or several; `simulated`, or `real` and where real packets have it; unit,
// cohort, range and sum rule, title, better direction, estimator, definition.
macro_rules! metrics {
    ($(
        $name:literal [$($from:ident $scopes:ident $value:expr);*] $($world:ident)+, $unit:literal $(as $shown:literal)?,
        $cohort:ident $range:ident $($sum:ident)?, $title:literal, $better:ident, $estimator:literal, $definition:literal;
    )+) => {
        /// Every metric, in the order of tables.
        pub static METRICS: &[Metric] = &[ $( Metric {
            name: $name, unit: $unit, shown: [$unit $(, $shown)?][[$unit $(, $shown)?].len() - 1], real: real!($($world)+),
            cohort: Cohort::$cohort, least: $range.0, most: $range.1, sum: [Sum::Alone $(, $sum)?][[Sum::Alone $(, $sum)?].len() - 1],
            title: $title, better: Better::$better, estimator: $estimator, definition: $definition,
            values: &[$(($scopes, Value::$from($value))),*],
        } ),+ ];
    };
}

macro_rules! with_effects {
    ({ $($before:tt)* } { $($after:tt)* } $({
        $key:ident $reverse:ident $value:tt state ($state:ident $stream:literal $count:ident) there $there:tt back $back:tt
        device $device:tt counted $counted:tt
        metric ($name:literal, $title:literal, $better:ident, $definition:literal) $($words:tt)*
    })*) => {
        metrics! {
            $($before)*
            $($name [Queue EVERY_QUEUE |it| it.on_link.$count.map(|packets| packets as f64)] real QUEUE,
                "packets", Left POSITIVE, $title, $better, "count", $definition;)*
            $($after)*
        }
    };
}

link_effects! { with_effects {
    "queue_packets_mean" [Queue EVERY_QUEUE |it| it.waiting.mean()] real QUEUE, "packets", Time POSITIVE, "Queue length, mean", Lower, "time-weighted mean", "Number of waiting packets, without the one being sent.";
    "queue_packets_sd" [Queue EVERY_QUEUE |it| it.waiting.sd()] simulated, "packets", Time POSITIVE, "Queue length sd", Lower, "time-weighted standard deviation", "Standard deviation of the number of waiting packets.";
    "queue_packets_p50" [Queue EVERY_QUEUE |it| it.waiting.quantile(0.5)] simulated, "packets", Time POSITIVE, "Queue length p50", Lower, "time-weighted quantile", "Median number of waiting packets.";
    "queue_packets_p99" [Queue EVERY_QUEUE |it| it.waiting.quantile(0.99)] simulated, "packets", Time POSITIVE, "Queue length p99", Lower, "time-weighted quantile", "Number of waiting packets that was not exceeded for 99 % of the time.";
    "system_packets_mean" [Tested QUEUE |it| it.system.mean()] simulated, "packets", Time POSITIVE, "System length mean", Lower, "time-weighted mean", "Number of packets that wait or are being sent; on a bus this includes a packet that contends for the channel.";
    "system_packets_sd" [Tested QUEUE |it| it.system.sd()] simulated, "packets", Time POSITIVE, "System length sd", Lower, "time-weighted standard deviation", "Standard deviation of the number of packets waiting or in service.";
    "sojourn_ms_mean" [Queue EVERY_QUEUE |it| it.sojourn.moments.mean_ms()] real QUEUE, "ms", Left POSITIVE, "Queueing delay, mean", Lower, "mean over packets", "Time from entering the queue to leaving it, over packets that were sent.";
    "sojourn_ms_sd" [Queue EVERY_QUEUE |it| it.sojourn.moments.sd_ms()] simulated, "ms", Left POSITIVE, "Sojourn sd", Lower, "standard deviation over packets", "Standard deviation of the sojourn time.";
    "sojourn_ms_p50" [Queue EVERY_QUEUE |it| it.sojourn.histogram.quantile_ms(0.5)] real QUEUE, "ms", Left POSITIVE, "Sojourn p50", Lower, "quantile over packets, to 0.8 %", "Median sojourn time.";
    "sojourn_ms_p99" [Queue EVERY_QUEUE |it| it.sojourn.histogram.quantile_ms(0.99)] real QUEUE, "ms", Left POSITIVE, "Queueing delay, p99", Lower, "quantile over packets, to 0.8 %", "Sojourn time that 99 % of the packets did not exceed.";
    "dropped_sojourn_ms_mean" [Queue EVERY_QUEUE |it| it.dropped.mean_ms()] simulated, "ms", Left POSITIVE, "Dropped sojourn mean", Neither, "mean over dropped packets", "Time that dropped packets had waited in the queue; 0 for packets dropped on arrival.";
    "arrivals_packets" [Queue EVERY_QUEUE |it| count(it.left())] real QUEUE, "packets", Left POSITIVE, "Arrivals", Neither, "count", "Packets that left the queue, sent or dropped. Packets that waited when the measurement began are included. Packets that still wait at its end are not.";
    "drops_packets" [Queue EVERY_QUEUE |it| count(it.drops.iter().sum())] real QUEUE, "packets", Left POSITIVE DROPS, "Drops", Lower, "count", "Packets dropped by the queue for any reason.";
    "drops_overflow_packets" [Queue EVERY_QUEUE |it| count(it.drops[0])] real QUEUE, "packets", Left POSITIVE, "Dropped: overflow", Lower, "count", "Packets dropped because the queue was full.";
    "drops_early_packets" [Queue EVERY_QUEUE |it| count(it.drops[1])] real QUEUE, "packets", Left POSITIVE, "Dropped: early", Lower, "count", "Packets dropped by the algorithm before the queue was full.";
    "drops_flow_packets" [Queue EVERY_QUEUE |it| count(it.drops[2])] real QUEUE, "packets", Left POSITIVE, "Dropped: flow", Lower, "count", "Packets dropped because of the flow they belong to.";
} {
    "marks_packets" [Queue EVERY_QUEUE |it| count(it.marked)] real QUEUE, "packets", Left POSITIVE, "Marked CE", Neither, "count", "Packets that the queue marked CE and sent. A marked packet that is dropped before it is sent counts as a drop only.";
    "mark_ratio" [Queue EVERY_QUEUE |it| ratio(it.marked, it.left())] real QUEUE, "ratio" as "%", Left SHARE, "CE marks", Neither, "marks over packets sent or dropped", "Share of the packets that left the queue with a CE mark that the queue set.";
    "loss_ratio" [Queue EVERY_QUEUE |it| ratio(it.drops.iter().sum(), it.left()); Traffic PARTS |it| ratio(it.dropped, it.left())] real QUEUE_AND_FLOW, "ratio" as "%", Left SHARE, "Loss", Lower, "drops over packets sent or dropped; for flows, losses at any queue and on any link over packets delivered or lost", "Share of packets dropped. For flows it is of their data packets.";
    "burst_ratio" [Queue EVERY_QUEUE |it| burst_ratio(it.lost, it.runs, it.left()); Flow FLOW |it| burst_ratio(it.traffic.dropped, it.drop_runs, it.traffic.left())] simulated, "ratio", Left POSITIVE, "Burst ratio", Neither, "mean loss run times (1 - loss ratio); for a flow, over its data packets in order of sending", "Mean length of runs of consecutive losses (in order of arrival), divided by that of independent losses; 1 if losses are independent.";
    "loss_interval_packets_mean" [Traffic ENDS |it| ratio(it.loss_intervals.0, it.loss_intervals.1)] simulated, "packets", Losses POSITIVE, "Loss interval, mean", Higher, "mean over loss intervals", "Packets that a flow sends from the start of one loss event to the start of the next (RFC 5348, section 5.3). Losses within one round-trip time of the first one are one event. That time is the flow's base RTT, plus what waits in the queue divided by the link's rate or, if longer, the queue's mean sojourn time. For several flows, over the intervals of all.";
    "loss_synchronisation" [Flows FLOWS |it| it.synchronisation] simulated, "ratio" as "%", Losses SHARE, "Loss synchronisation", Lower, "mean over loss events", "Share of the flows that lose packets in a loss event (RFC 7928, section 2.4). An event begins with a loss of any of the flows and lasts one round-trip time, as in `loss_interval_packets_mean`. The flows are those that have sent by the end of the run; none for a single flow.";
    "utilisation" [Queue EVERY_QUEUE |it| it.utilisation()] simulated, "ratio" as "%", Time SHARE, "Utilisation", Higher, "time sending over time", "Share of the time of its link, bus or cell that the queue spent sending. Where a token bucket shapes the link, the time is that of the measurement and of the tokens that were saved when it began, or that a lower rate made more time of: all that the link could send. Where the link follows a trace, it is the share of the bits that the trace allowed.";
    "interarrival_ms_mode" [Tested QUEUE |it| it.spacing.mode_ms()] simulated, "ms", Arrived POSITIVE, "Interarrival mode", Neither, "mode of whole milliseconds", "Most frequent time between arrivals at a queue, rounded to milliseconds (Shu 2023, section 4.1.1).";
    "interarrival_fine_ms_mode" [Tested QUEUE |it| it.spacing.mode_fine_ms()] simulated, "ms", Arrived POSITIVE, "Interarrival fine mode", Neither, "mode of bins of 10 us", "Middle of the most frequent bin of the times between arrivals at a queue; times of 49.5 ms and more are left out.";
    "daqm_hit_ratio" [Tested QUEUE |it| it.daqm.and_then(|[hits, left]| ratio(hits, left))] simulated, "ratio", Left SHARE, "Daqm hit ratio", Neither, "hits over packets that left or were dropped at a dequeue", "dAQM only: how often a feature exceeded its threshold, which starts a dropping phase, while the queue ran dAQM.";
    "l4s_packets" [Classes EVERY_QUEUE |it| count(it.l4s()?.sojourn.moments.count())] simulated, "packets", Left POSITIVE, "L4S packets", Neither, "count", "DualPI2 only: packets that left the L4S queue.";
    "l4s_drops_packets" [Classes EVERY_QUEUE |it| count(it.l4s()?.drops)] simulated, "packets", Left POSITIVE, "L4S drops", Lower, "count", "DualPI2 only: packets of the L4S queue that were dropped for any reason.";
    "l4s_sojourn_ms_mean" [Classes EVERY_QUEUE |it| it.l4s()?.sojourn.moments.mean_ms()] simulated, "ms", Left POSITIVE, "L4S delay, mean", Lower, "mean over packets", "DualPI2 only: sojourn time in the L4S queue.";
    "l4s_sojourn_ms_p99" [Classes EVERY_QUEUE |it| it.l4s()?.sojourn.histogram.quantile_ms(0.99)] simulated, "ms", Left POSITIVE, "L4S delay, p99", Lower, "quantile over packets, to 0.8 %", "DualPI2 only: sojourn time that 99 % of the packets of the L4S queue did not exceed.";
    "l4s_mark_ratio" [Classes EVERY_QUEUE |it| it.l4s_marked()] simulated, "ratio" as "%", Left SHARE, "L4S marks", Neither, "marks over packets that left or were dropped", "DualPI2 only: share of the L4S queue's packets that were marked CE, by its own ramp or step or by the coupling.";
    "classic_packets" [Classes EVERY_QUEUE |it| count(it.classic()?.sojourn.moments.count())] simulated, "packets", Left POSITIVE, "Classic packets", Neither, "count", "DualPI2 only: packets that left the classic queue.";
    "classic_drops_packets" [Classes EVERY_QUEUE |it| count(it.classic()?.drops)] simulated, "packets", Left POSITIVE, "Classic drops", Lower, "count", "DualPI2 only: packets of the classic queue that were dropped for any reason.";
    "classic_sojourn_ms_mean" [Classes EVERY_QUEUE |it| it.classic()?.sojourn.moments.mean_ms()] simulated, "ms", Left POSITIVE, "Classic delay, mean", Lower, "mean over packets", "DualPI2 only: sojourn time in the classic queue.";
    "classic_sojourn_ms_p99" [Classes EVERY_QUEUE |it| it.classic()?.sojourn.histogram.quantile_ms(0.99)] simulated, "ms", Left POSITIVE, "Classic delay, p99", Lower, "quantile over packets, to 0.8 %", "DualPI2 only: sojourn time that 99 % of the packets of the classic queue did not exceed.";
    "classic_signal_ratio" [Classes EVERY_QUEUE |it| it.classic_signalled()] simulated, "ratio" as "%", Left SHARE, "Classic signals", Neither, "marks and early drops over packets that left or were dropped", "DualPI2 only: share of the classic queue's packets that its controller marked or dropped.";
    "coupling_ratio" [Classes EVERY_QUEUE |it| it.coupling()] simulated, "ratio", Left POSITIVE, "Coupling", Neither, "L4S mark ratio over the root of the classic signal ratio", "DualPI2 only: equals the coupling factor k where the coupling alone marks, because then p_CL = k p' and p_C = p'^2 (RFC 9332, section 2.1). It is larger where the L4S queue's own ramp or step marks too.";
    "goodput_bit_s" [Traffic ENDS_AND_PHASES |it| it.rate(it.payload)] real ENDS, "bit/s" as "Mbit/s", Delivered POSITIVE FLOWS_ADD, "Goodput", Higher, "bits over measured time", "Payload that reached the receiving application, each byte counted once; for TCP in order.";
    "throughput_bit_s" [Traffic ENDS_AND_PHASES |it| it.rate(it.ip_bytes)] simulated, "bit/s" as "Mbit/s", Delivered POSITIVE FLOWS_ADD, "Throughput", Higher, "bits over measured time", "Bytes of IP packets that reached the receiver, with headers and retransmissions.";
    "one_way_delay_ms_mean" [Traffic ENDS_AND_PHASES |it| it.delay.mean_ms()] real ENDS, "ms", Delivered POSITIVE, "One-way delay, mean", Lower, "mean over packets", "Time from sending a data packet to its arrival at the receiver, over packets that arrived.";
    "one_way_delay_ms_sd" [Traffic ENDS |it| it.delay.sd_ms()] real ENDS, "ms", Delivered POSITIVE, "One-way delay sd", Lower, "standard deviation over packets", "Standard deviation of the one-way delay.";
    "one_way_delay_ms_p50" [Traffic ENDS_AND_PHASES |it| it.delays.quantile_ms(0.5)] real ENDS, "ms", Delivered POSITIVE, "One-way delay p50", Lower, "quantile over packets, to 0.8 %", "Median one-way delay. Of single flows where there are at most 16.";
    "one_way_delay_ms_p99" [Traffic ENDS_AND_PHASES |it| it.delays.quantile_ms(0.99)] real ENDS, "ms", Delivered POSITIVE, "One-way delay, p99", Lower, "quantile over packets, to 0.8 %", "One-way delay that 99 % of the packets did not exceed. Of single flows where there are at most 16.";
    "delay_variation_ms_p99" [Traffic ENDS_AND_PHASES |it| it.delays.variation_ms(0.99)] real ENDS, "ms", Delivered POSITIVE, "Delay variation, p99", Lower, "quantile less the least, both to 0.8 % of the delay", "Packet delay variation (RFC 5481, section 4.2) that 99 % of the packets did not exceed: the one-way delay less the least one. It is known to about 0.5 % of the delay itself, which the interval does not include. Of single flows where there are at most 16.";
    "flow_completion_s_mean" [Flows FLOWS |it| seconds(it.completed.mean_ms())] real FLOWS, "s", Run POSITIVE, "Completion, mean", Lower, "mean over completed transfers", "Time from the first packet of a transfer (its SYN if there is a handshake) to the arrival of its last byte, over completed transfers.";
    "flow_completion_s_p50" [Flows FLOWS |it| seconds(it.completions.quantile_ms(0.5))] real FLOWS, "s", Run POSITIVE, "Flow completion p50", Lower, "quantile over completed transfers", "Median flow completion time.";
    "flow_completion_s_p99" [Flows FLOWS |it| seconds(it.completions.quantile_ms(0.99))] real FLOWS, "s", Run POSITIVE, "Completion, p99", Lower, "quantile over completed transfers", "99th percentile of the flow completion time.";
    "flow_completion_s" [Flow FLOW |it| it.completion.map(Span::seconds)] real FLOW, "s", Run POSITIVE, "Flow completion", Lower, "one value", "Time from the first packet of the transfer (its SYN if there is a handshake) to the arrival of its last byte.";
    "flows_completed" [Flows FLOWS |it| count(it.completions.count())] real FLOWS, "flows", Run POSITIVE FLOWS_ADD, "Flows completed", Neither, "count", "Transfers that completed in the run.";
    "flow_duration_s_mean" [Flows FLOWS |it| mean(&it.durations)] simulated, "s", Run POSITIVE, "Flow duration mean", Neither, "mean over flows that delivered", "Time from a flow's first packet to the arrival of its last one, over the whole run.";
    "flow_duration_s" [Flow FLOW |it| it.duration] simulated, "s", Run POSITIVE, "Flow duration", Neither, "one value", "Time from the flow's first packet to the arrival of its last one, over the whole run.";
    "flow_start_s" [Flow FLOW |it| it.started.map(|first| (first - Instant::ZERO).seconds())] real FLOW, "s", Run POSITIVE, "Flow start", Neither, "one value", "Time of the flow's first packet, since the start of the run.";
    "flows_started" [Flows FLOWS |it| count(it.started)] real FLOWS, "flows", Run POSITIVE FLOWS_ADD, "Flows started", Neither, "count", "Flows that had sent a packet (which may be a SYN) by the end of the run.";
    "slow_start_s_mean" [Flows FLOWS |it| mean(&it.slow_starts)] simulated, "s", Run POSITIVE, "Slow start mean", Neither, "mean over TCP flows that sent", "Duration of slow start: from a flow's first packet until its window first reached ssthresh (by growth, loss or mark), or until the flow or the run ended. Measured over the whole run; algorithms without ssthresh never reach it.";
    "slow_start_s" [Flow FLOW |it| it.slow_start.seconds] simulated, "s", Run POSITIVE, "Slow start", Neither, "one value", "Duration of slow start: from the flow's first packet until its window first reached ssthresh (by growth, loss or mark), or until the flow or the run ended. Measured over the whole run.";
    "flow_startup_s_mean" [Flows FLOWS |it| seconds(it.startup.mean_ms())] real FLOWS, "s", Run POSITIVE, "Startup, mean", Lower, "mean over TCP flows that began to deliver", "Startup time (RFC 7928, section 2.2): from a flow's first packet (its SYN if there is a handshake) to the arrival of the first payload at the receiver. Measured over the whole run.";
    "flow_startup_s_p99" [Flows FLOWS |it| seconds(it.startups.quantile_ms(0.99))] simulated, "s", Run POSITIVE, "Startup, p99", Lower, "quantile over TCP flows that began to deliver, to 0.8 %", "Startup time that 99 % of the flows did not exceed.";
    "flow_startup_s" [Flow FLOW |it| it.opening.startup.map(Span::seconds)] real FLOW, "s", Run POSITIVE, "Startup", Lower, "one value", "Startup time (RFC 7928, section 2.2): from the flow's first packet (its SYN if there is a handshake) to the arrival of the first payload at the receiver. Measured over the whole run.";
    "connect_ms" [Flow FLOW |it| it.opening.connect.map(Span::millis)] simulated, "ms", Run POSITIVE, "Connect", Lower, "one value", "Time from the flow's first packet (its SYN if there is a handshake) until the first payload that arrived was sent: of data that is ready, the time that the handshake takes.";
    "base_rtt_ms" [Flow FLOW |it| Some(it.base_rtt.millis())] simulated, "ms", Run POSITIVE, "Base RTT", Neither, "one value", "Propagation delay of the way there and of the way back together, at the start of the run. Transmission times and queues come on top.";
    "cwnd_growth_segments_mean" [Flows FLOWS |it| mean(&it.growths)] simulated, "segments", Run ANY, "Cwnd growth mean", Neither, "mean over TCP flows that sent a second or more before the end", "Congestion window at the last acknowledgement of a flow's first second, minus the initial window. Measured over the whole run.";
    "cwnd_growth_segments" [Flow FLOW |it| it.slow_start.growth] simulated, "segments", Run ANY, "Cwnd growth", Neither, "one value", "Congestion window at the last acknowledgement of the flow's first second, minus the initial window; 0 without an acknowledgement.";
    "jain_index" [Flows FLOWS |it| jain(it.goodputs.iter().copied())] real FLOWS, "ratio", Delivered SHARE, "Jain's index", Higher, "Jain's index of goodput over flows", "Fairness of goodput among flows that have sent: 1 if all are equal, 1/n if one of n flows has everything.";
    "rtt_ms_mean" [Traffic ENDS |it| it.rtt_ms()] simulated, "ms", Acknowledged POSITIVE, "Rtt mean", Lower, "mean over samples", "TCP's own round-trip time samples. Of UDP flows with `echo`: time from sending a datagram until it is back; not in run scope.";
    "rtt_ms_p50" [Flows GROUP |it| it.echoes.quantile_ms(0.5)] simulated, "ms", Acknowledged POSITIVE, "Round trip p50", Lower, "quantile over datagrams, to 0.8 %", "Median round-trip time of datagrams of flows with `echo`.";
    "rtt_ms_p99" [Flows GROUP |it| it.echoes.quantile_ms(0.99)] simulated, "ms", Acknowledged POSITIVE, "Round trip p99", Lower, "quantile over datagrams, to 0.8 %", "Round-trip time of flows with `echo` that 99 % of their datagrams did not exceed.";
    "retransmissions_segments" [Traffic ENDS_AND_PHASES |it| count(it.retransmitted)] real ENDS, "segments", Sent POSITIVE FLOWS_ADD, "Retransmissions", Lower, "count", "TCP segments that were retransmitted.";
    "timeouts" [Traffic ENDS_AND_PHASES |it| count(it.timeouts)] simulated, "events", Sent POSITIVE FLOWS_ADD, "Timeouts", Neither, "count", "Expirations of TCP's retransmission timer.";
    "marked_acks_packets" [Traffic ENDS |it| count(it.marked_acks)] simulated, "packets", Acknowledged POSITIVE FLOWS_ADD, "Marked acknowledgements", Neither, "count", "Accurate ECN only: acknowledgements that reached the sender marked CE. The data that follows reports them to the receiver.";
    "sent_packets" [Traffic ENDS_AND_PHASES |it| count(it.sent)] real FLOW, "packets", Sent POSITIVE FLOWS_ADD, "Sent", Neither, "count", "Data packets sent, that is packets with payload; SYN, FIN and window probes without payload are not counted.";
    "delivered_packets" [Traffic ENDS_AND_PHASES |it| count(it.delay.count())] real FLOW, "packets", Delivered POSITIVE FLOWS_ADD, "Delivered", Neither, "count", "Data packets that reached the receiver.";
    "page_load_s_mean" [Pages APPLICATION |it| it.mean()] real GROUP, "s", Completed POSITIVE, "Page load time, mean", Lower, "mean over pages", "Time from the start of a page, when its first connection opens, to the arrival of the last byte of its last object. Pages that complete in the measured time count; those that are still loading at the end do not.";
    "page_load_s_p50" [Pages APPLICATION |it| it.quantile(0.5)] real GROUP, "s", Completed POSITIVE, "Page load time, p50", Lower, "quantile over pages, to 0.8 %", "Median page load time.";
    "page_load_s_p99" [Pages APPLICATION |it| it.quantile(0.99)] real GROUP, "s", Completed POSITIVE, "Page load time, p99", Lower, "quantile over pages, to 0.8 %", "Page load time that 99 % of the pages did not exceed.";
    "pages_completed" [Pages APPLICATION |it| count(it.count())] real GROUP, "pages", Completed POSITIVE, "Pages completed", Higher, "count", "Pages that completed in the measured time.";
    "response_s_mean" [Responses APPLICATION |it| it.mean()] real GROUP, "s", Completed POSITIVE, "Response time, mean", Lower, "mean over responses", "Time from a request, or from opening the connection where it has a new one, to the arrival of the last byte of the response.";
    "response_s_p50" [Responses APPLICATION |it| it.quantile(0.5)] real GROUP, "s", Completed POSITIVE, "Response time, p50", Lower, "quantile over responses, to 0.8 %", "Median response time.";
    "response_s_p99" [Responses APPLICATION |it| it.quantile(0.99)] real GROUP, "s", Completed POSITIVE, "Response time, p99", Lower, "quantile over responses, to 0.8 %", "Response time that 99 % of the responses did not exceed.";
    "responses_completed" [Responses APPLICATION |it| count(it.count())] real GROUP, "responses", Completed POSITIVE, "Responses", Higher, "count", "Responses that were complete in the measured time.";
    "video_bit_rate_bit_s" [Video APPLICATION |it| it.bit_rate()] real GROUP, "bit/s" as "Mbit/s", Played POSITIVE, "Video bit rate, mean", Higher, "mean over segments", "Bit rate of the video segments that arrived.";
    "video_rebuffer_ratio" [Video APPLICATION |it| it.rebuffered()] real GROUP, "ratio" as "%", Played SHARE, "Video rebuffering", Lower, "time over time", "Share of the time after the start of playback in which the player waited with an empty buffer.";
    "video_stalls" [Video APPLICATION |it| count(it.sum.stalls)] real GROUP, "stalls", Played POSITIVE, "Video stalls", Lower, "count", "Number of times that the player's buffer ran empty.";
    "video_switches_per_min" [Video APPLICATION |it| it.switches_per_min()] real GROUP, "1/min", Played POSITIVE, "Video switches", Lower, "count over time", "Changes of the bit rate from one segment to the next, per minute of playback.";
    "video_startup_s" [Video APPLICATION |it| it.startup_s] real GROUP, "s", Run POSITIVE, "Video startup", Lower, "mean over players that began", "Time from the start of a player to the start of playback, over the whole run.";
    "voip_mouth_to_ear_ms_mean" [Calls APPLICATION |it| it.mouth_to_ear_ms] real GROUP, "ms", Played POSITIVE, "Mouth-to-ear delay, mean", Lower, "mean over calls of the mean over played frames", "Length of a frame, look-ahead of the codec, and time from sending the frame to playing it.";
    "voip_loss_ratio" [Calls APPLICATION |it| ratio(it.lost, it.expected)] real GROUP, "ratio" as "%", Played SHARE, "Speech lost", Lower, "frames over frames", "Share of the frames of speech that never arrived.";
    "voip_late_ratio" [Calls APPLICATION |it| ratio(it.late, it.expected)] real GROUP, "ratio" as "%", Played SHARE, "Speech too late", Lower, "frames over frames", "Share of the frames of speech that arrived after they were to be played.";
    "voip_r" [Calls APPLICATION |it| it.rating] real GROUP, "ratio", Played RATING, "R", Higher, "mean over calls", "Transmission rating factor R of the E-model (ITU-T G.107) for G.711, from mouth-to-ear delay, frames lost or late, and their burst ratio; 93.2 without delay and losses. Long delays and many losses give values below 0, which the formula allows; MOS is 1 there.";
    "voip_mos" [Calls APPLICATION |it| it.mos] real GROUP, "ratio", Played SCORE, "MOS", Higher, "mean over calls", "Mean opinion score that the E-model (ITU-T G.107, annex B) gives for R, from 1 (bad) to 4.5; 4.41 without delay and losses. Between R = 0 and 6.5 the formula falls to 0.989.";
    "delay_above_50_ms_ratio" [Games APPLICATION |it| ratio(it.above_50_ms, it.heard)] real GROUP, "ratio" as "%", Delivered SHARE, "Delay above 50 ms", Lower, "packets over packets", "Share of the packets of games that arrived more than 50 ms after they were sent, of those that arrived.";
    "delay_above_100_ms_ratio" [Games APPLICATION |it| ratio(it.above_100_ms, it.heard)] real GROUP, "ratio" as "%", Delivered SHARE, "Delay above 100 ms", Lower, "packets over packets", "Share of the packets of games that arrived more than 100 ms after they were sent, of those that arrived.";
    "dropped_packets" [Traffic DROPPED |it| count(it.dropped)] simulated, "packets", Left POSITIVE FLOWS_ADD, "Dropped", Neither, "count", "Data packets dropped at any queue or lost on any link.";
    "lateness_ms_mean" [] real RUN, "ms", Left POSITIVE, "Lateness, mean", Lower, "mean over packets", "Real packets only: how much later than at their nominal instants packets left the queue under test, because the machine was busy: at most, by the clock after they left.";
    "lateness_least_ms_mean" [] real RUN, "ms", Left POSITIVE, "Lateness, mean at least", Lower, "mean over packets", "Real packets only: the mean lateness by the clock before packets left.";
    "dated_late_ms_mean" [] real RUN, "ms", Left POSITIVE, "Dated late, mean", Lower, "mean over packets", "Real packets only: how much later than they arrived packets count as arrived at the queue under test, at most.";
    "lateness_ms_p99" [] real RUN, "ms", Left POSITIVE, "Lateness, p99", Lower, "quantile over packets", "Real packets only: lateness that 99 % of the packets did not exceed.";
    "lateness_ms_max" [] real RUN, "ms", Left POSITIVE, "Lateness, longest", Lower, "maximum over packets", "Real packets only: the longest lateness of a packet.";
    "late_ratio" [] real RUN, "ratio" as "%", Time SHARE, "Time lost", Lower, "time over time", "Real packets only: share of the time for which the queue under test had packets to send and the machine came too late to send them.";
    "marked_late_runs" [] real RUN, "runs", Run SHARE, "Marked late", Lower, "0 or 1", "Real packets only: 1 if the run was too late to be trusted at the last attempt, 0 if not. The mean is the share of such runs.";
    "repeated_runs" [] real RUN, "runs", Run POSITIVE, "Repeated", Neither, "count", "Real packets only: how often the run was repeated because it was marked late.";
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
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[i + 1..].iter().all(|m| m.name != metric.name), "{}", metric.name);
            assert!(!metric.definition.is_empty() && !metric.unit.is_empty());
            assert!(metric.scale().is_some(), "{}: how many {} are a {}?", metric.name, metric.shown, metric.unit);
        }
        assert!(find("sojourn_ms_p99").is_some());
    }
}
