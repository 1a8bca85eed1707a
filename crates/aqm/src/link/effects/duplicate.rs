//! Packets that arrive twice.

use crate::link::effect::{Effect, EffectState};
use crate::Random;
use sojourn_units::Probability;

impl Effect for Probability {}

/// Copies of some packets.
#[derive(Clone, Debug)]
pub(crate) struct Doubling {
    share: Probability,
    /// Packets doubled.
    pub duplicates: u64,
}

impl Doubling {
    pub fn new(share: Probability) -> Self {
        Self { share, duplicates: 0 }
    }
}

impl EffectState for Doubling {
    fn doubles(&mut self, random: &mut impl Random) -> bool {
        let is_doubled = random.is_below(self.share.get());
        self.duplicates += u64::from(is_doubled);
        is_doubled
    }
}
