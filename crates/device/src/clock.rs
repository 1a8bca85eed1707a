//! Time of the host, read once a burst.

use sojourn_units::{Instant, Span};
use std::time::Instant as Monotonic;

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
