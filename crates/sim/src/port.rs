//! Where packets wait for a link or a bus.

mod line;
mod meter;
mod record;
mod window;

pub(crate) use line::{Line, LineQueue};
pub(crate) use meter::Meter;
pub(crate) use record::{class, Record};
pub(crate) use window::Window;

use crate::random::Stream;
use sojourn_aqm::{Config, Counters, Discipline, Observer, Packet, Reason};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::collections::VecDeque;

/// Time on the wire, exact over any number of packets: the part of a nanosecond that is left over goes to the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    rate: u64,
    remainder: u64,
    /// Framing added to every packet, in bytes.
    pub overhead: u32,
    /// The last size, framing included, and its whole nanoseconds: most packets are as long as the one before.
    bytes: u32,
    whole: u64,
}

/// Bit nanoseconds of a byte; divided by a rate, its time.
const BYTE: u64 = 8_000_000_000;

impl Wire {
    pub fn new(rate: BitRate, overhead: Bytes) -> Self {
        Self { rate: rate.bit_s().max(1), remainder: 0, overhead: overhead.get() as u32, bytes: 0, whole: 0 }
    }

    pub fn rate(&self) -> BitRate {
        BitRate::from_bit_s(self.rate)
    }

    /// How long the next packet, of `bytes` without its framing, takes.
    #[inline]
    pub fn take(&mut self, bytes: u32) -> Span {
        let bytes = bytes + self.overhead;
        if bytes != self.bytes {
            self.bytes = bytes;
            self.whole = u64::from(bytes).saturating_mul(BYTE) / self.rate;
        }
        self.remainder += u64::from(bytes).saturating_mul(BYTE) - self.whole * self.rate;
        let carry = self.remainder >= self.rate;
        self.remainder -= if carry { self.rate } else { 0 };
        Span::from_nanos(self.whole + u64::from(carry))
    }

    /// How long a packet like the last takes, rounded up.
    pub fn last(&self) -> Span {
        Span::from_nanos(self.whole + 1)
    }

    /// How long all packets so far took, `bytes` together with their framing.
    pub fn taken(&self, bytes: u64) -> Span {
        let whole = (u128::from(bytes) * u128::from(BYTE)).saturating_sub(u128::from(self.remainder));
        Span::from_nanos(u64::try_from(whole / u128::from(self.rate)).unwrap_or(u64::MAX))
    }
}

/// A FIFO below the discipline, as a driver or a network card has it.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub limit: usize,
    pub handles: VecDeque<u32>,
}

/// What a station on a bus is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Station {
    /// No frame to send.
    Idle,
    /// Holding a frame, waiting for the channel; `retries` found it busy so far.
    Contending { handle: u32, retries: u32 },
    /// A frame is on the wire.
    Sending,
}

/// How the port sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Medium {
    /// Full duplex point to point.
    Link,
    /// A station of this bus.
    Bus { bus: u32, station: Station },
    /// This station of an 802.11 cell.
    Cell { cell: u32, station: u32 },
}

/// One direction of a link, or one station's interface on a bus, under a discipline of the algorithm library.
#[derive(Clone)]
pub(crate) struct Port {
    pub discipline: Box<dyn Discipline>,
    pub device: Option<Device>,
    pub medium: Medium,
    pub wire: Wire,
    pub delay: Span,
    /// The packet being sent is out at this instant.
    pub busy_until: Instant,
    /// The discipline has not been asked since the last packet went out, because nothing waited.
    pub unasked: bool,
    /// A `Free` event is pending.
    pub waking: bool,
    /// Ask at every end of transmission by an event, not when convenient.
    pub eager: bool,
    pub random: Stream,
    pub counters: Counters,
    /// Number of the next arrival.
    pub serial: u64,
    pub meter: Meter,
    pub under_test: bool,
    /// The discipline is dAQM, whose hits are measured.
    pub is_daqm: bool,
    /// Frames given up by the channel access after too many retries.
    pub abandoned: u64,
    /// Other schemes that it was given during the run, and when.
    pub switched: Vec<(Instant, Config)>,
    /// What someone who steps through the run looks at.
    pub window: Option<Box<Window>>,
    /// Windows of so many packets, where the scenario asks for them.
    pub record: Option<Box<Record>>,
}

/// Takes what a discipline drops until the simulation looks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped(pub Vec<(Packet, Reason)>);

impl Observer for Dropped {
    fn dropped(&mut self, _now: Instant, packet: Packet, reason: Reason) {
        self.0.push((packet, reason));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_is_exact_in_the_long_run() {
        // 1500 B at 7 Mbit/s take 12,000/7 us = 1,714,285.714... ns; 7000 packets take 12 s exactly.
        let mut wire = Wire::new(BitRate::from_bit_s(7_000_000), Bytes::new(0));
        let total: u64 = (0..7000).map(|_| wire.take(1500).nanos()).sum();
        assert_eq!(total, 12_000_000_000);
        assert_eq!(wire.taken(7000 * 1500).nanos(), total);
        assert_eq!(wire.take(1500).nanos(), 1_714_285);
    }
}
