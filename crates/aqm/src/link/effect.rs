//! What an effect of a link is: its value, and its state in one direction.

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

/// The state of an effect, in one direction of a link. Also has `new(value, random)`, and its count as a field.
pub(crate) trait EffectState {
    /// The packet that has been sent at `sent` is lost.
    fn loses(&mut self, sent: Instant) -> bool {
        let _ = sent;
        false
    }

    /// When a packet arrives that has been sent at `sent`, without this effect after `delay`.
    fn arrival(&mut self, sent: Instant, delay: Span) -> Instant {
        sent + delay
    }

    /// The packet arrives twice.
    fn doubles(&mut self) -> bool {
        false
    }

    /// The longest by which it may shorten a delay.
    fn most_delay(&self) -> Span {
        Span::ZERO
    }
}
