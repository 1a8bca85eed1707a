//! Amounts that `dualpi2` takes in more than one unit.

use crate::Value;
use alloc::string::{String, ToString};
use sojourn_units::{Bytes, Packets, Probability, Span};

/// Size of the buffer that both queues share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferLimit {
    /// Waiting packets.
    Packets(Packets),
    /// Waiting bytes on the wire.
    Bytes(Bytes),
    /// What the link sends in this time at the highest rate that it has had.
    Time(Span),
}

/// From where on the L4S queue's step marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepThreshold {
    /// Sojourn time of the departing packet.
    Time(Span),
    /// Packets that it leaves behind in the L4S queue.
    Packets(Packets),
}

/// A share of the link. A whole number is per cent, as in tc; a fraction has a point, `0.1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(Probability);

impl Share {
    /// `share` of 1.
    #[must_use]
    pub fn new(share: f64) -> Self {
        Self(Probability::clamped(share))
    }

    /// The share, 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0.get()
    }
}

impl Value for Share {
    const KIND: &'static str = Probability::KIND;
    fn read(text: &str) -> Result<Self, String> {
        let per_cent = text.bytes().all(|b| b.is_ascii_digit());
        let share = if per_cent { alloc::format!("{text}%").parse() } else { text.parse() };
        share.map(Self).map_err(|_| refusal(text, &Self::allowed()))
    }
    fn print(&self) -> String {
        // Debug keeps the point of a whole number: "1.0".
        alloc::format!("{:?}", self.get())
    }
    fn allowed() -> String {
        "a share as in \"10%\", \"1/16\" or \"0.1\"; a whole number is per cent, as in tc".to_string()
    }
}

impl Value for BufferLimit {
    const KIND: &'static str = "packets, bytes or time";
    fn read(text: &str) -> Result<Self, String> {
        let packets = Packets::from_tc(text).ok().map(Self::Packets);
        let bytes = || text.parse().ok().map(Self::Bytes);
        let time = || text.parse().ok().map(Self::Time);
        packets.or_else(bytes).or_else(time).ok_or_else(|| refusal(text, &Self::allowed()))
    }
    fn print(&self) -> String {
        match self {
            Self::Packets(packets) => packets.print(),
            Self::Bytes(bytes) => bytes.print(),
            Self::Time(time) => time.print(),
        }
    }
    fn allowed() -> String {
        "packets, as in \"10000p\" (a bare number is packets), bytes, as in \"1MB\", or what the link sends in a time, as in \"250ms\"".to_string()
    }
}

impl Value for StepThreshold {
    const KIND: &'static str = "time or packets";
    fn read(text: &str) -> Result<Self, String> {
        let time = text.parse().ok().map(Self::Time);
        let packets = || text.parse().ok().map(Self::Packets);
        time.or_else(packets).ok_or_else(|| refusal(text, &Self::allowed()))
    }
    fn print(&self) -> String {
        match self {
            Self::Time(time) => time.print(),
            Self::Packets(packets) => packets.print(),
        }
    }
    fn allowed() -> String {
        "a time, as in \"1ms\", or packets, as in \"5p\" (a bare number, which tc reads as microseconds, is refused)"
            .to_string()
    }
}

fn refusal(text: &str, allowed: &str) -> String {
    alloc::format!("\"{text}\" is refused; allowed: {allowed}")
}
