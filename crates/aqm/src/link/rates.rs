//! Links whose rate changes over time, as a trace or a model says: when they can send, and which rate schemes are shown.
//!
//! What a link can send by each instant is known beforehand, so every answer is exact and the same for every scheme.

mod read;
mod steps;
mod summary;

pub use read::{Entry, Lines};
pub use steps::Steps;
pub use summary::{Summary, Totals};

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_units::{BitRate, Instant, Span};

/// Nanoseconds of a millisecond, the unit of Mahimahi's traces.
const MS: u64 = 1_000_000;
/// Bit nanoseconds of a byte; divided by a rate in bit/s, its time.
const BYTE: u128 = 8_000_000_000;

/// What a link can send over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    /// Single opportunities.
    Opportunities(Opportunities),
    /// A rate that holds for some time, then another.
    Steps(Steps),
}

/// A trace of delivery opportunities as Mahimahi reads it (Netravali et al., "Mahimahi: accurate record-and-replay for HTTP",
/// USENIX ATC 2015; `mm-link(1)`): each instant can carry [`Opportunities::BYTES`] of IP. Small packets share an
/// opportunity, a packet may span several, and bytes that find no packet are lost. The trace repeats; its period is its last
/// instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    /// In milliseconds since the start; never falling, the last above 0.
    at: Vec<u64>,
}

impl Opportunities {
    /// Bytes of IP that one carries.
    pub const BYTES: u32 = 1500;

    /// From instants in whole milliseconds.
    ///
    /// # Errors
    /// None, all at 0, falling ones with the number (from 1) of the first that falls, or more than a year.
    pub fn new(at: Vec<u64>) -> Result<Self, String> {
        if let Some(n) = at.windows(2).position(|pair| matches!(pair, [a, b] if a > b)) {
            return Err(format!("opportunity {} comes before the one above it; allowed: times that never fall", n + 2));
        }
        Self::ends(at.last().copied())?;
        Ok(Self { at })
    }

    /// Whether opportunities may end with this one, in milliseconds.
    fn ends(last: Option<u64>) -> Result<(), String> {
        const YEAR: u64 = 366 * 86_400_000;
        match last {
            None => Err("has no delivery opportunity; allowed: at least one".into()),
            Some(0) => {
                Err("has delivery opportunities at 0 only, so that its period is 0; allowed: a last time above 0"
                    .into())
            }
            Some(last) if last > YEAR => Err(format!("lasts {last} ms; allowed: up to a year, {YEAR} ms")),
            Some(_) => Ok(()),
        }
    }

    /// The instants, in milliseconds.
    #[must_use]
    pub fn at_ms(&self) -> &[u64] {
        &self.at
    }

    /// After this time it begins again.
    #[must_use]
    pub fn period(&self) -> Span {
        Span::from_millis(self.at.last().copied().unwrap_or(1))
    }

    /// The instant of opportunity `number`, counted from 0 over all periods.
    fn instant(&self, number: u64) -> Instant {
        let count = self.at.len().max(1) as u64;
        let at = self.at.get((number % count) as usize).copied().unwrap_or_default();
        Instant::from_nanos((number / count).saturating_mul(self.period().nanos()).saturating_add(at * MS))
    }

    /// How many lie between the start and `until`, both included.
    fn count(&self, until: u64) -> u64 {
        let period = self.period().nanos();
        let within = self.at.partition_point(|at| at * MS <= until % period);
        until / period * self.at.len() as u64 + within as u64
    }
}

impl Rates {
    /// How long it lasts: the period, or the time of the last change where that holds.
    #[must_use]
    pub fn length(&self) -> Span {
        match self {
            Self::Opportunities(trace) => trace.period(),
            Self::Steps(steps) => steps.length(),
        }
    }

    /// Bit nanoseconds that it can send between the start and `until`.
    fn offered(&self, until: u64) -> u128 {
        match self {
            Self::Opportunities(trace) => u128::from(trace.count(until)) * u128::from(Opportunities::BYTES) * BYTE,
            Self::Steps(steps) => steps.offered(until),
        }
    }

    /// Bits that it can send between the start and `until`.
    #[must_use]
    pub fn offered_bits(&self, until: Instant) -> f64 {
        self.offered(until.nanos()) as f64 / 1e9
    }

    /// The mean rate over a period; of a trace whose last rate holds, up to the last change.
    #[must_use]
    pub fn mean(&self) -> BitRate {
        match self {
            Self::Steps(steps) if steps.length().is_zero() => steps.first(),
            _ => self.mean_before(Instant::ZERO + self.length(), self.length()),
        }
    }

    /// The mean rate over the time `window` before `now`. What lies before the start is as if the trace had run before; where
    /// its last rate holds, as if the first had.
    #[must_use]
    pub fn mean_before(&self, now: Instant, window: Span) -> BitRate {
        let (now, window) = (now.nanos(), window.nanos().max(1));
        let sent = match now.checked_sub(window) {
            Some(from) => self.offered(now) - self.offered(from),
            None => self.offered(now) + self.offered_before_start(window - now),
        };
        BitRate::from_bit_s(u64::try_from(sent / u128::from(window)).unwrap_or(u64::MAX))
    }

    /// As [`Self::offered`], for the last `span` before the start.
    fn offered_before_start(&self, span: u64) -> u128 {
        if let Self::Steps(steps) = self {
            if !steps.repeats() {
                return u128::from(steps.first().bit_s()) * u128::from(span);
            }
        }
        let period = self.length().nanos().max(1);
        let end = span.div_ceil(period).saturating_mul(period);
        self.offered(end) - self.offered(end - span)
    }
}

/// How far a link has come with its [`Rates`]: one packet after another.
#[derive(Clone, Debug)]
pub struct Traced {
    rates: Arc<Rates>,
    window: Span,
    /// The number of the opportunity that is used next, or in use.
    number: u64,
    /// Bytes of it that are left; all of them before it is begun.
    left: u32,
    /// Of a packet that was out after part of a nanosecond, in bit nanoseconds: it goes to the next.
    remainder: u128,
    sent: u64,
}

impl Traced {
    /// The time over which schemes are shown the mean rate, unless another is given.
    pub const WINDOW: Span = Span::from_millis(100);

    /// A link at the start of `rates`, whose schemes see the mean rate over the last `window`.
    #[must_use]
    pub fn new(rates: Arc<Rates>, window: Span) -> Self {
        Self { rates, window, number: 0, left: Opportunities::BYTES, remainder: 0, sent: 0 }
    }

    /// What it follows.
    #[must_use]
    pub fn rates(&self) -> &Arc<Rates> {
        &self.rates
    }

    /// The rate that schemes see at `now`: the mean over the window that ends there.
    #[must_use]
    pub fn shown(&self, now: Instant) -> BitRate {
        self.rates.mean_before(now, self.window)
    }

    /// Bytes sent so far.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// When the next packet can begin to be sent, at `now` or later; never where the rate stays 0. `idle`: the link had nothing
    /// to send at `now`, so an opportunity of this very instant has passed.
    pub fn ready(&mut self, now: Instant, idle: bool) -> Instant {
        let trace = match &*self.rates {
            Rates::Steps(steps) => return steps.moving(now),
            Rates::Opportunities(trace) => trace,
        };
        if idle {
            let next = trace.count(now.nanos());
            if next > self.number {
                (self.number, self.left) = (next, Opportunities::BYTES);
            }
            // In the middle of this instant's opportunity: the rest of it is lost.
            if trace.instant(self.number) <= now {
                (self.number, self.left) = (self.number + 1, Opportunities::BYTES);
            }
        } else if trace.instant(self.number) < now {
            (self.number, self.left) = (trace.count(now.nanos().saturating_sub(1)), Opportunities::BYTES);
        }
        trace.instant(self.number).max(now)
    }

    /// Sends a packet of `bytes` that begins at `now`, where [`Self::ready`] said that it can: when it is out.
    pub fn send(&mut self, now: Instant, bytes: u32) -> Instant {
        self.sent += u64::from(bytes);
        match &*self.rates {
            Rates::Steps(steps) => {
                let end = steps.offered(now.nanos()) + self.remainder + u128::from(bytes) * BYTE;
                let out = steps.reached(end);
                if out != Instant::NEVER {
                    self.remainder = end.saturating_sub(steps.offered(out.nanos()));
                }
                out.max(now)
            }
            Rates::Opportunities(trace) => {
                // Whole opportunities are passed at once, however long the packet is.
                let beyond = bytes.saturating_sub(self.left);
                if beyond == 0 {
                    self.left -= bytes;
                } else {
                    let more = beyond.div_ceil(Opportunities::BYTES);
                    self.number += u64::from(more);
                    self.left = more * Opportunities::BYTES - beyond;
                }
                let out = trace.instant(self.number).max(now);
                if self.left == 0 {
                    (self.number, self.left) = (self.number + 1, Opportunities::BYTES);
                }
                out
            }
        }
    }
}

#[cfg(test)]
mod tests;
