//! Packets that arrive twice.

use crate::link::effect::{Effect, EffectState};
use crate::Random;
use sojourn_units::Probability;

impl Effect for Probability {}

/// Copies of some packets.
#[derive(Clone, Debug)]
pub(crate) struct Doubling<R> {
    share: Probability,
    random: R,
    /// Packets doubled.
    pub duplicates: u64,
}

impl<R> Doubling<R> {
    pub fn new(share: Probability, random: R) -> Self {
        Self { share, random, duplicates: 0 }
    }
}

impl<R: Random> EffectState for Doubling<R> {
    fn doubles(&mut self) -> bool {
        let is_doubled = self.random.is_below(self.share.get());
        self.duplicates += u64::from(is_doubled);
        is_doubled
    }
}
