use crate::text::{self, Units};
use crate::{Bytes, Span, UnitError};
use alloc::format;
use alloc::string::ToString;
use core::fmt;
use core::ops::Mul;
use core::str::FromStr;

/// A rate in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str =
        "a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\"";

    /// As [`FromStr`], and a number without unit is bit/s, as tc reads rates.
    ///
    /// # Errors
    /// Unknown unit, negative, or not a whole number of bit/s.
    pub fn from_tc(text: &str) -> Result<Self, UnitError> {
        refuse_ambiguous(text)?;
        text::read(text, &Units { bare: Some(1), ..RATE }).map(Self)
    }

    /// `bit_s` bit/s.
    #[must_use]
    pub const fn from_bit_s(bit_s: u64) -> Self {
        Self(bit_s)
    }

    /// bit/s.
    #[must_use]
    pub const fn bit_s(self) -> u64 {
        self.0
    }

    /// bytes/s.
    #[must_use]
    pub fn bytes_s(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// True when nothing moves.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Time to send `bytes`, rounded down to whole nanoseconds; [`Span::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        let ns = u128::from(bytes.get()) * 8_000_000_000 / u128::from(self.0);
        Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl Mul<Span> for BitRate {
    type Output = Bytes;
    /// Whole bytes sent in `span`.
    fn mul(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.nanos()) / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

const RATE: Units = Units {
    table: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        // tc's "bps" is bytes a second, and so is its "mbps".
        ("bps", 8),
        ("kbps", 8_000),
        ("mbps", 8_000_000),
        ("gbps", 8_000_000_000),
        ("tbps", 8_000_000_000_000),
        ("kibit", 1 << 10),
        ("mibit", 1 << 20),
        ("gibit", 1 << 30),
        ("tibit", 1 << 40),
        ("kibps", 8 << 10),
        ("mibps", 8 << 20),
        ("gibps", 8 << 30),
        ("tibps", 8 << 40),
    ],
    exact: false,
    bare: None,
    allowed: BitRate::ALLOWED,
};

impl FromStr for BitRate {
    type Err = UnitError;

    /// Reads `10 Mbit/s` and tc's `10mbit`; `mbps` is tc's megabytes a second, and refused with capitals (`Mbps`), which others read as megabits.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        refuse_ambiguous(text)?;
        text::read(text, &RATE).map(Self)
    }
}

fn refuse_ambiguous(text: &str) -> Result<(), UnitError> {
    if text.trim_end().ends_with("bps") && text.contains(['M', 'G', 'K', 'T']) {
        return Err(text::error(text, "is ambiguous (tc's mbps is megabytes a second)", BitRate::ALLOWED));
    }
    Ok(())
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TABLE: &[(&str, u64)] =
            &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];
        f.pad(&text::print(self.0, TABLE))
    }
}

/// A probability, always within 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Self = Self(0.0);
    /// Always.
    pub const ONE: Self = Self(1.0);

    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str = "a probability between 0 and 1, as in \"0.1\", \"10%\" or \"1/256\"";

    /// `p`, if it lies within 0 and 1.
    #[must_use]
    pub fn new(p: f64) -> Option<Self> {
        // -0.0 lies within 0 and 1 and would print as "-0"; adding 0.0 makes it 0.0.
        (0.0..=1.0).contains(&p).then_some(Self(p + 0.0))
    }

    /// `p` brought within 0 and 1; not-a-number becomes 0.
    #[must_use]
    pub fn clamped(p: f64) -> Self {
        if p > 0.0 {
            Self(if p < 1.0 { p } else { 1.0 })
        } else {
            Self(0.0)
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    /// Reads `0.1`, `10%`, `1/256`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        let number = |t: &str| t.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        let value = if let Some(percent) = trimmed.strip_suffix('%') {
            number(percent).map(|v| v / 100.0)
        } else if let Some((a, b)) = trimmed.split_once('/') {
            number(a).zip(number(b)).filter(|(_, b)| *b != 0.0).map(|(a, b)| a / b)
        } else {
            number(trimmed)
        };
        let Some(value) = value else {
            return Err(text::error(text, "is not a number".to_string(), Self::ALLOWED));
        };
        Self::new(value).ok_or_else(|| text::error(text, format!("is {value}, outside 0 to 1"), Self::ALLOWED))
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}", self.0))
    }
}
