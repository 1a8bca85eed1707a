//! What is stored.

use crate::engine::Direction;
use crate::record::Closed;

/// A process that measures.
#[derive(Clone, Debug)]
pub struct Run {
    /// Of the program.
    pub version: String,
    /// The configuration, as read.
    pub config: String,
    /// Of its random numbers.
    pub seed: u64,
    /// Shaped rate from A to B at its start, bit/s; 0 without a queue.
    pub rate_bit_s: u64,
    /// Framing a packet, bytes.
    pub overhead_bytes: u64,
}

/// A slot of the schedule as carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number.
    pub slot: u64,
    /// Where the scheme is in force.
    pub direction: &'static str,
    /// Name of the scheme.
    pub label: String,
    /// The scheme, as tc writes it.
    pub scheme: String,
    /// When it was due, nanoseconds since 1970-01-01 UTC.
    pub due_ns: u64,
    /// When the packet thread said that it is in force.
    pub began_ns: u64,
    /// Seed of the schedule.
    pub seed: u64,
    /// `random` or `blocks`.
    pub design: &'static str,
}

/// A window or a slot.
pub(super) enum Entry {
    Window(Direction, Box<Closed>),
    Slot(Slot),
}
