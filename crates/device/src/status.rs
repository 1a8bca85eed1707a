//! What the packet thread tells the rest of the process, a few times a second.

use crate::engine::Direction;
use crate::frame::Fault;
use crate::port::PortCounters;
use serde::Serialize;
use sojourn_aqm::{Counters, Tally};
use sojourn_measure::window::ClassCounts;

/// Packets and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes, overhead included where a queue counted them.
    pub bytes: u64,
}

impl From<Tally> for Count {
    fn from(tally: Tally) -> Self {
        Self { packets: tally.packets, bytes: tally.bytes }
    }
}

/// A queue's counters. `arrived = forwarded + dropped + backlog`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounts {
    /// Offered to the queue.
    pub arrived: Count,
    /// Left it to be sent.
    pub forwarded: Count,
    /// Dropped because the queue was full.
    pub dropped_overflow: Count,
    /// Dropped by the algorithm before it was full.
    pub dropped_early: Count,
    /// Dropped because of their flow.
    pub dropped_flow: Count,
    /// Marked CE here.
    pub marked: Count,
    /// Arrived with CE.
    pub ce_on_arrival: Count,
}

impl From<Counters> for QueueCounts {
    fn from(counters: Counters) -> Self {
        let [overflow, early, flow] = counters.dropped;
        Self {
            arrived: counters.arrived.into(),
            forwarded: counters.forwarded.into(),
            dropped_overflow: overflow.into(),
            dropped_early: early.into(),
            dropped_flow: flow.into(),
            marked: counters.marked.into(),
            ce_on_arrival: counters.ce_on_arrival.into(),
        }
    }
}

/// Sojourn times of the last publishing interval, in seconds; `None` when nothing left the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LiveSojourn {
    /// Packets that left.
    pub packets: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median.
    pub p50_s: Option<f64>,
    /// 95 % quantile.
    pub p95_s: Option<f64>,
    /// 99 % quantile.
    pub p99_s: Option<f64>,
}

/// One direction.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionStatus {
    /// `a_to_b` or `b_to_a`.
    pub direction: &'static str,
    /// The scheme in force, as tc writes it; `None`: forwarded at once.
    pub scheme: Option<String>,
    /// Its name in schedule or configuration.
    pub label: String,
    /// Slot of the schedule.
    pub slot: Option<u64>,
    /// The shaped rate; `None` without a queue.
    pub rate_bit_s: Option<u64>,
    /// The delay line.
    pub delay_s: f64,
    /// Time that the rate lost because the packet thread came late while frames waited: the machine is too busy.
    pub late_s: f64,
    /// Waits now.
    pub backlog: Count,
    /// Frames on the delay line.
    pub delayed: u64,
    /// Frames that wait for room at the port.
    pub ready: u64,
    /// Frames forwarded without a queue.
    pub passed: u64,
    /// Since the start.
    pub counts: QueueCounts,
    /// Since the start, in the order of [`sojourn_measure::window::Class::ALL`].
    pub classes: [ClassCounts; 4],
    /// Frames with a fault since the start, in the order of [`Fault::ALL`]; runts were dropped.
    pub faults: [u64; Fault::ALL.len()],
    /// Sojourn times of the last interval.
    pub sojourn: LiveSojourn,
    /// Bits offered in the last interval, overhead included, over what the rate could carry; 0 without a queue.
    pub load: f64,
    /// Bits that left in the last interval, a second.
    pub throughput_bit_s: f64,
    /// Named internals of the scheme.
    pub internals: Vec<(&'static str, f64)>,
}

/// One port.
#[derive(Clone, Debug, Serialize)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// What it counts.
    pub counters: PortCounters,
}

/// The whole device at one instant, consistent to the packet.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Seconds since the packet thread began.
    pub uptime_s: f64,
    /// A to B, then B to A.
    pub directions: [DirectionStatus; Direction::ALL.len()],
    /// A, then B.
    pub ports: [PortStatus; 2],
    /// Free frames of the pool.
    pub frames_free: u64,
    /// All frames of the pool.
    pub frames: u64,
}
