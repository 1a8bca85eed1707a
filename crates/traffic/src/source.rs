//! The generator of a flow's packets: sizes of a distribution, spaced by a process; or a list of packets.

use super::emission::{Emission, Listed};
use super::{Distribution, Process};
use sojourn_aqm::Random;
use sojourn_units::{Bytes, Span};

/// The generator of a flow's packets.
#[derive(Clone, Debug)]
pub struct Source(Packets);

#[derive(Clone, Debug)]
enum Packets {
    Drawn { packet_size: Distribution<Bytes>, process: Box<dyn Process> },
    Listed(Listed),
}

impl Source {
    pub(super) fn new(packet_size: Distribution<Bytes>, process: Box<dyn Process>) -> Self {
        Self(Packets::Drawn { packet_size, process })
    }

    pub(super) fn listed(packets: Listed) -> Self {
        Self(Packets::Listed(packets))
    }

    /// The next emission. A gap too long for a [`Span`] is [`Span::MAX`]: after any run.
    pub fn next(&mut self, random: &mut dyn Random) -> Emission {
        match &mut self.0 {
            Packets::Drawn { packet_size, process } => {
                // At least one byte: an exponential size may round to none. At most the largest write, to which headers and
                // framing can be added: a Pareto tail knows no end.
                let bytes = libm::round(packet_size.draw(random)).clamp(1.0, f64::from(LARGEST)) as u32;
                let gap = process.gap(bytes, random);
                Emission { gap, bytes }
            }
            Packets::Listed(packets) => packets.next(),
        }
    }

    /// As [`Process::packets_per_second`].
    #[must_use]
    pub fn packets_per_second(&self) -> f64 {
        match &self.0 {
            Packets::Drawn { packet_size, process } => process.packets_per_second(packet_size.mean()),
            Packets::Listed(packets) => packets.packets_per_second(),
        }
    }
}

/// Largest payload that is handed to the transport at once.
const LARGEST: u32 = 1 << 30;

/// -mean ln(1 - u), exact for small u.
pub(super) fn exponential(mean: f64, random: &mut dyn Random) -> f64 {
    -mean * libm::log1p(-random.uniform())
}

/// Whole nanoseconds, with the rest carried.
pub(super) fn whole(exact: f64, carry: &mut f64) -> Span {
    let exact = exact + *carry;
    let whole = libm::round(exact).max(0.0);
    *carry = if whole < 1e18 { exact - whole } else { 0.0 };
    Span::from_nanos(whole as u64)
}
