//! Time of the host, read once a burst.

use sojourn_units::{Instant, Span};
use std::time::{Instant as Monotonic, SystemTime, UNIX_EPOCH};

/// Nanoseconds since it was made, never going back.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Monotonic);

impl Clock {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self(Monotonic::now())
    }

    /// Now.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::ZERO + Span::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A clock and the UTC time at which it began: windows and slots are dated on it, so a step of the host's date in between
/// does not tear them apart.
#[derive(Clone, Copy, Debug)]
pub struct Dated {
    clock: Clock,
    began_unix_ns: u64,
}

impl Dated {
    /// Dates a clock that runs.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let date = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let date_ns = u64::try_from(date.as_nanos()).unwrap_or(u64::MAX);
        Self { clock, began_unix_ns: date_ns.saturating_sub(clock.now().nanos()) }
    }

    /// Now, in nanoseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn now_unix_ns(&self) -> u64 {
        self.unix_ns(self.clock.now().nanos())
    }

    /// An instant of the clock, in nanoseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn unix_ns(&self, instant_ns: u64) -> u64 {
        self.began_unix_ns.saturating_add(instant_ns)
    }
}
