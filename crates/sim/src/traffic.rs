//! Traffic: what a flow's application hands to its transport, and when.
//!
//! [`Traffic`] is the resolved description; [`Source`] is its generator, a pure state machine that asks a
//! random stream and says how long after the previous emission the next one comes and how large it is.
//! Bulk data and transfers have no generator: the transport always has data, or gets it once.
//!
//! Sizes are application payload: the transport's header and the link's overhead come on top.

mod distribution;
mod source;
#[cfg(test)]
mod tests;

pub use distribution::{Distribution, Measure};
pub use source::{Emission, Source};

use sojourn_units::{BitRate, Bytes, Span};

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Data without end, as fast as the transport allows.
    Bulk,
    /// So much payload once, handed over at the start.
    Transfer {
        /// Payload.
        size: Bytes,
    },
    /// Packets at a constant bit rate while ON, silence while OFF, as ns-3's `OnOffApplication`:
    /// it begins with an OFF period, the first packet comes one packet interval after ON begins, and
    /// what a packet already has of its interval when ON ends counts in the next ON period.
    OnOff {
        /// Payload bits a second while ON.
        rate: BitRate,
        /// Payload of a packet, drawn for each.
        packet_size: Distribution<Bytes>,
        /// Length of an ON period, drawn for each.
        on: Distribution<Span>,
        /// Length of an OFF period, drawn for each.
        off: Distribution<Span>,
    },
    /// A Poisson process: independent exponential inter-departures.
    Poisson {
        /// Mean number of packets a second (lambda).
        packets_per_second: f64,
        /// Payload of a packet, drawn for each.
        packet_size: Distribution<Bytes>,
    },
    /// A Poisson process whose rate switches between two values, each held for an exponential time: correlated arrivals.
    Switched {
        /// Packets a second in each phase; one of them above 0.
        rates: [f64; 2],
        /// Mean time in each phase.
        holds: [Span; 2],
        /// Payload of a packet, drawn for each.
        packet_size: Distribution<Bytes>,
    },
    /// A renewal process: independent inter-departures of any distribution (Pareto, Weibull).
    Renewal {
        /// Time between packets, drawn for each.
        gap: Distribution<Span>,
        /// Payload of a packet, drawn for each.
        packet_size: Distribution<Bytes>,
    },
}

impl Traffic {
    /// Constant bit rate: always ON.
    #[must_use]
    pub const fn cbr(rate: BitRate, packet_size: Bytes) -> Self {
        Self::OnOff {
            rate,
            packet_size: Distribution::Constant(packet_size),
            on: Distribution::Constant(Span::MAX),
            off: Distribution::Constant(Span::ZERO),
        }
    }
}
