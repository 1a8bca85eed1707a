//! Time of the host, read once a burst.

use rustix::time::{clock_gettime, ClockId};
use sojourn_units::Instant;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the packet path reads the time. An instant is a time that stands still.
pub trait Time {
    /// Now.
    fn now(&self) -> Instant;

    /// The instant at which the host's monotonic clock showed so many nanoseconds.
    fn when(&self, monotonic_ns: u64) -> Instant;
}

impl Time for Instant {
    #[inline]
    fn now(&self) -> Instant {
        *self
    }

    #[inline]
    fn when(&self, monotonic_ns: u64) -> Instant {
        Self::from_nanos(monotonic_ns)
    }
}

/// What the host's monotonic clock shows (`CLOCK_MONOTONIC`), in nanoseconds.
#[must_use]
#[inline]
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since it was made, never going back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    began_ns: u64,
}

impl Clock {
    /// Begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { began_ns: monotonic_ns() }
    }

    /// Now.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Instant {
        self.when(monotonic_ns())
    }
}

impl Time for Clock {
    #[inline]
    fn now(&self) -> Instant {
        Self::now(self)
    }

    #[inline]
    fn when(&self, monotonic_ns: u64) -> Instant {
        Instant::from_nanos(monotonic_ns.saturating_sub(self.began_ns))
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

    /// How far the host's date has moved away from the dates that this clock gives: what it was stepped by since the start.
    #[must_use]
    pub fn step(&self, host: SystemTime) -> Step {
        let host_ns = host.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Step(i128::try_from(host_ns).unwrap_or_default() - i128::from(self.now_unix_ns()))
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

/// Nanoseconds by which the host's date is ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step(i128);

impl Step {
    /// Less is drift, which a time service corrects.
    const LEAST_NS: u128 = 1_000_000_000;

    /// Whether the host's date was stepped since it was `before` ahead.
    #[must_use]
    pub fn since(self, before: Self) -> bool {
        (self.0 - before.0).unsigned_abs() >= Self::LEAST_NS
    }

    /// In seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A date as `20261122T195510Z`, for names of files and messages.
#[must_use]
pub fn utc(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    // The Gregorian calendar repeats every 400 years of 146097 days. Its years begin in March here, so that the day of a leap
    // year is the last; 719468 days lie between 0000-03-01 and 1970-01-01.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // `date -u -d @N +%Y%m%dT%H%M%SZ`
        for (seconds, date) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_795_377_310, "20261122T195510Z"),
            (1_798_761_599, "20261231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (18_446_744_073, "25540721T233433Z"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), date);
        }
    }

    #[test]
    fn a_step_of_the_hosts_date_is_noticed_once_and_moves_no_date_of_a_run() {
        let dated = Dated::new(Clock::start());
        let host = |seconds: f64| {
            let date = UNIX_EPOCH + Duration::from_nanos(dated.now_unix_ns());
            dated.step(if seconds < 0.0 {
                date - Duration::from_secs_f64(-seconds)
            } else {
                date + Duration::from_secs_f64(seconds)
            })
        };
        let (none, forth, back) = (host(0.0), host(3600.0), host(-86_400.0));
        assert!(!none.since(Step::default()));
        assert!(forth.since(Step::default()) && back.since(Step::default()) && back.since(forth));
        // Said once.
        assert!(!host(3600.0).since(forth));
        assert!((forth.seconds() - 3600.0).abs() < 0.5 && (back.seconds() + 86_400.0).abs() < 0.5);
        let (first, second) = (dated.now_unix_ns(), dated.now_unix_ns());
        assert!(second >= first);
    }
}
