//! When the next packet may go.

use sojourn_units::{BitRate, Instant, Span};

/// When the next packet may go: a clock that each packet moves on by its time on the link, without loss by rounding.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    bit_s: u64,
    next: Instant,
    /// Part of a nanosecond, in units of 1/bit_s, that `next` is too early.
    remainder: u64,
    /// When a packet may go although dropped ones hold `next` back: at two thirds of the rate.
    failsafe: Instant,
}

/// Bits of a byte, nanoseconds of a second.
const BIT_NS: u64 = 8_000_000_000;

impl Shaper {
    /// This rate from when the packet sent under `old` is out.
    pub fn after(self, old: &Self) -> Self {
        Self { next: old.next, failsafe: old.failsafe, ..self }
    }

    pub(super) fn new(rate: BitRate) -> Self {
        Self { bit_s: rate.bit_s().max(1), next: Instant::ZERO, remainder: 0, failsafe: Instant::ZERO }
    }

    /// A packet arrives and nothing waits: time that has passed is not made up for.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.next < now {
            (self.next, self.remainder, self.failsafe) = (now, 0, now);
        }
    }

    /// A packet of `size` bytes goes, or (`sent` false) has used the bottleneck before it was dropped.
    pub(super) fn charge(&mut self, size: u64, sent: bool) {
        let parts = size.saturating_mul(BIT_NS).saturating_add(self.remainder);
        let time = Span::from_nanos(parts / self.bit_s);
        self.remainder = parts % self.bit_s;
        self.next += time;
        if sent {
            self.failsafe = self.failsafe + time + time / 2;
        }
    }

    /// Until when no packet may go.
    pub(super) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        Some(self.next.min(self.failsafe)).filter(|until| *until > now)
    }
}
