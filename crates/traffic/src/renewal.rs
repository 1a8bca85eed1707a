//! Renewal processes: independent inter-departures of any distribution.

use super::source::{exponential, whole};
use super::{Check, Distribution, Process, Traffic};
use crate::check::possible;
use crate::Amount;
use sojourn_aqm::Random;
use sojourn_document::bounds::TIME;
use sojourn_document::Error;
use sojourn_units::{Bytes, Span};

/// Gaps of a distribution.
pub(super) fn tail(gap: Distribution<Span>, size: &Amount<Bytes>, check: &Check<'_>) -> Result<Traffic, Error> {
    possible(&gap, Some(&TIME), check.path)?;
    Ok(Traffic::packets(check.packet_size(size)?, Renewal::new(Gap::Drawn(gap))))
}

/// The time between packets.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gap {
    /// The mean in ns, which need not be whole.
    Exponential(f64),
    Drawn(Distribution<Span>),
}

/// The process.
#[derive(Clone, Debug)]
pub(super) struct Renewal {
    gap: Gap,
    /// Nanoseconds, within half of one, by which emissions so far lie before their exact instants.
    carry: f64,
}

impl Renewal {
    pub(super) const fn new(gap: Gap) -> Self {
        Self { gap, carry: 0.0 }
    }
}

impl Process for Renewal {
    fn gap(&mut self, _bytes: u32, random: &mut dyn Random) -> Span {
        let drawn = match self.gap {
            Gap::Exponential(mean) => exponential(mean, random),
            Gap::Drawn(gap) => gap.draw(random),
        };
        whole(drawn, &mut self.carry)
    }

    fn packets_per_second(&self, _bytes: f64) -> f64 {
        match self.gap {
            Gap::Exponential(mean) => 1e9 / mean,
            Gap::Drawn(gap) => 1e9 / gap.mean().max(1e-9),
        }
    }
}
