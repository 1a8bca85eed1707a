use crate::text::{self, Units};
use crate::UnitError;
use alloc::string::String;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

/// A point in time: whole nanoseconds since the start of the run (or of the device).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Instant(u64);

/// A length of time: whole nanoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Instant {
    /// The start of time.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `span` later, of times whose bounds keep the sum far below [`NEVER`](Self::NEVER): `+` looks at each sum, and stops there.
    #[must_use]
    #[inline(always)]
    pub const fn later(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }

    /// `span` before this instant; the start of time at the earliest.
    #[must_use]
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// `us` microseconds.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// `ms` milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// `s` seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// `s` seconds, rounded to the nearest nanosecond; zero when negative or not a number.
    #[must_use]
    pub fn from_seconds(s: f64) -> Self {
        Self(rounded(s * 1e9))
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds.
    #[must_use]
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True for no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// This span less `other`; zero when `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `factor` times this span, rounded to the nearest nanosecond; zero for a negative factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self(rounded(self.0 as f64 * factor))
    }
}

/// The nearest whole number, a half up; 0 for a negative number or none. A third of the instructions of `libm::round`.
#[inline]
fn rounded(x: f64) -> u64 {
    // Signed, because that converts in one instruction. What the cast cuts off is exact.
    let whole = x as i64;
    if whole == i64::MAX {
        return x as u64;
    }
    whole.max(0).unsigned_abs() + u64::from(x - whole as f64 >= 0.5)
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Span;
    /// [`Instant::since`].
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    /// Whole nanoseconds; division by zero gives the span itself.
    fn div(self, n: u64) -> Self {
        Self(self.0 / n.max(1))
    }
}

const ALLOWED: &str = "a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\"";

const TIME: Units = Units {
    table: &[
        ("ns", 1),
        ("nsec", 1),
        ("nsecs", 1),
        ("us", 1_000),
        ("usec", 1_000),
        ("usecs", 1_000),
        ("\u{b5}s", 1_000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("msecs", 1_000_000),
        ("s", 1_000_000_000),
        ("sec", 1_000_000_000),
        ("secs", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    exact: false,
    bare: None,
    allowed: ALLOWED,
};

impl Span {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str = ALLOWED;
}

impl FromStr for Span {
    type Err = UnitError;

    /// Reads `5ms`, `5 ms`, `0.2 s`, `1h`.
    ///
    /// ```
    /// use sojourn_units::Span;
    /// assert_eq!("5 ms".parse(), Ok(Span::from_millis(5)));
    /// assert_eq!("1.5s".parse(), Ok(Span::from_millis(1500)));
    /// // tc would read a bare number as microseconds: refused rather than guessed.
    /// assert!("5".parse::<Span>().is_err());
    /// assert!("0.3 ns".parse::<Span>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text::read(text, &TIME) {
            Err(mut e) if e.why == "has no unit" => {
                e.why = String::from("has no unit (tc would read microseconds)");
                Err(e)
            }
            other => other.map(Span),
        }
    }
}

const PRINT: &[(&str, u64)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::print(self.0, PRINT))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&text::print(self.0, PRINT))
    }
}
