//! ON and OFF: a constant bit rate while ON, silence while OFF, as ns-3's `OnOffApplication`.
//!
//! It begins with an OFF period, the first packet comes one packet interval after ON begins, and what a packet already has of its
//! interval when ON ends counts in the next ON period.

use super::{Check, Distribution, Kind, Process, Traffic};
use crate::Amount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_aqm::Random;
use sojourn_document::bounds::positive_rate;
use sojourn_document::{Error, Quantity};
use sojourn_units::{BitRate, Bytes, Span};

/// ON and OFF periods of given lengths, with a constant bit rate while ON, as ns-3's `OnOffApplication`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct OnOff {
    /// Payload rate while ON.
    pub rate: Quantity<BitRate>,
    /// Payload of a packet: a size, or a random size.
    pub packet_size: Amount<Bytes>,
    /// Length of an ON period: a time, or a random time.
    pub on: Amount<Span>,
    /// Length of an OFF period: a time, or a random time. The flow begins with an OFF period.
    pub off: Amount<Span>,
}

impl Kind for OnOff {
    const TITLE: &'static str = "ON and OFF";
    const EXAMPLE: &'static str =
        "rate = \"5 Mbit/s\", packet_size = \"1000 B\", on = { exponential = { mean = \"500 ms\" } }, \
                                   off = { pareto = { scale = \"1 s\", shape = 1.5 } }";

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let size = check.packet_size(&self.packet_size)?;
        on_off(self.rate.0, size, check.time("on", &self.on)?, check.time("off", &self.off)?, check)
    }
}

/// A packet takes at most so many ON periods: more would cost as many draws for one packet.
pub(super) const PERIODS_MAX: f64 = 1e6;

pub(super) fn on_off(
    rate: BitRate,
    packet_size: Distribution<Bytes>,
    on: Distribution<Span>,
    off: Distribution<Span>,
    check: &Check<'_>,
) -> Result<Traffic, Error> {
    positive_rate(rate, check.path.then("rate"))?;
    let packet_ns = packet_size.mean() * 8e9 / rate.bit_s() as f64;
    check.spaced(rate, &packet_size)?;
    if on.mean() * PERIODS_MAX < packet_ns {
        let what = format!(
            "is {} on average, while a packet takes {}; allowed: at least a millionth of that",
            Span::from_nanos(on.mean() as u64),
            Span::from_nanos(packet_ns as u64)
        );
        return Err(check.refuse("on", what));
    }
    Ok(Traffic::packets(packet_size, Periods::new(rate, on, off)))
}

/// The process.
#[derive(Clone, Debug)]
pub(super) struct Periods {
    rate: BitRate,
    on: Distribution<Span>,
    off: Distribution<Span>,
    /// What remains of the present ON period; `None` before the first.
    left: Option<Span>,
    /// Bit-nanoseconds (numerator over `rate`) by which emissions so far lie before their exact instants.
    carry: u64,
}

impl Periods {
    pub(super) const fn new(rate: BitRate, on: Distribution<Span>, off: Distribution<Span>) -> Self {
        Self { rate, on, off, left: None, carry: 0 }
    }
}

impl Process for Periods {
    fn gap(&mut self, bytes: u32, random: &mut dyn Random) -> Span {
        let mut gap = Span::ZERO;
        let mut rest = interval(self.rate, bytes, &mut self.carry);
        let mut available = match self.left {
            Some(left) => left,
            None => {
                gap += period(self.off, random);
                period(self.on, random)
            }
        };
        while rest > available && gap < Span::MAX {
            rest = rest.saturating_sub(available);
            gap += available + period(self.off, random);
            // Never 0, so that the loop ends.
            available = period(self.on, random).max(Span::from_nanos(1));
        }
        // A source that is always ON has no end of its period to come nearer to.
        self.left = Some(if available == Span::MAX { available } else { available.saturating_sub(rest) });
        gap + rest
    }

    fn packets_per_second(&self, bytes: f64) -> f64 {
        self.rate.bit_s() as f64 / 8.0 / bytes
    }
}

/// Time in which `rate` makes `bytes`, rounded down with the remainder carried, so that the sum is exact.
fn interval(rate: BitRate, bytes: u32, carry: &mut u64) -> Span {
    let rate = u128::from(rate.bit_s().max(1));
    let numerator = u128::from(bytes) * 8_000_000_000 + u128::from(*carry);
    // The remainder is below a rate that fits 64 bits.
    *carry = (numerator % rate) as u64;
    Span::from_nanos(u64::try_from(numerator / rate).unwrap_or(u64::MAX))
}

fn period(distribution: Distribution<Span>, random: &mut dyn Random) -> Span {
    match distribution {
        Distribution::Constant(span) => span,
        drawn => Span::from_nanos(libm::round(drawn.draw(random)) as u64),
    }
}
