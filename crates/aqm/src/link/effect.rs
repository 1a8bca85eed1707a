//! What an effect of a link is: its value, and its state in one direction.

use crate::Random;
use sojourn_units::{Instant, Span};

/// The value of an effect's key.
pub trait Effect: Copy + PartialEq {
    /// The longest by which it changes a delay.
    fn most_delay(self) -> Span {
        Span::ZERO
    }

    /// Packets may overtake each other.
    fn reorders(self) -> bool {
        false
    }
}

/// The state of an effect, in one direction of a link. Also has `new(value)`, and its count as a field. `random` is a stream that
/// this effect alone draws from.
pub(crate) trait EffectState {
    /// The packet that has been sent at `sent` is lost.
    fn loses(&mut self, sent: Instant, random: &mut impl Random) -> bool {
        let _ = (sent, random);
        false
    }

    /// When a packet arrives that has been sent at `sent`, without this effect after `delay`.
    fn arrival(&mut self, sent: Instant, delay: Span, random: &mut impl Random) -> Instant {
        let _ = random;
        sent + delay
    }

    /// The packet arrives twice.
    fn doubles(&mut self, random: &mut impl Random) -> bool {
        let _ = random;
        false
    }

    /// The longest by which it may shorten a delay.
    fn most_delay(&self) -> Span {
        Span::ZERO
    }
}
