//! What a packet takes on the link below, and when the next may go.

use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};
use sojourn_units::{BitRate, Bytes, Instant, Span};

/// Bytes that the link below adds to each packet; negative where the host counts more than the link has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead(pub i32);

/// tc's bounds.
const OVERHEADS: core::ops::RangeInclusive<i32> = -64..=256;

impl Value for Overhead {
    const KIND: &'static str = "bytes";

    fn read(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('B').unwrap_or(text).trim();
        let read = number.parse().ok().filter(|n| OVERHEADS.contains(n)).map(Self);
        read.ok_or_else(|| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        self.0.to_string()
    }

    fn allowed() -> String {
        "a whole number of bytes from -64 to 256, as in \"44\"".to_string()
    }
}

crate::choice! {
    /// Framing of the link below.
    pub enum Framing {
        /// No framing in cells.
        Noatm = "noatm",
        /// In cells of 53 bytes that carry 48 (ADSL).
        Atm = "atm",
        /// With one byte more for every 64 or part of 64 (VDSL2).
        Ptm = "ptm",
    }
}

impl Framing {
    /// Bytes of a packet on the link below.
    pub(super) fn size(self, bytes: u32, overhead: Overhead, mpu: Bytes) -> u64 {
        let size = i64::from(bytes) + i64::from(overhead.0);
        let size = (size.max(0) as u64).max(mpu.get());
        match self {
            Self::Noatm => size,
            Self::Atm => size.div_ceil(48).saturating_mul(53),
            Self::Ptm => size.saturating_add(size.div_ceil(64)),
        }
    }
}

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
    pub(super) fn holds_until(&self, now: Instant) -> Option<Instant> {
        Some(self.next.min(self.failsafe)).filter(|until| *until > now)
    }
}
