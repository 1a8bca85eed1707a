//! Units of the values in a formula: powers of a byte and of a second.

use alloc::format;
use alloc::string::String;

/// A product of powers of a byte and a second. A packet is a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The power of a byte.
    pub bytes: i8,
    /// The power of a second.
    pub seconds: i8,
}

impl Unit {
    /// A plain number.
    pub const NUMBER: Self = Self { bytes: 0, seconds: 0 };
    /// Bytes.
    pub const DATA: Self = Self { bytes: 1, seconds: 0 };
    /// Seconds.
    pub const TIME: Self = Self { bytes: 0, seconds: 1 };
    /// Bytes a second.
    pub const RATE: Self = Self { bytes: 1, seconds: -1 };

    // At most 128 factors fit into a text, so no power leaves an i8 but one that saturates far from any other.
    pub(super) fn times(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), seconds: self.seconds.saturating_add(other.seconds) }
    }

    pub(super) fn over(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_sub(other.bytes), seconds: self.seconds.saturating_sub(other.seconds) }
    }

    /// In words, for errors.
    pub(super) fn words(self) -> String {
        match self {
            Self::NUMBER => "a number".into(),
            Self::DATA => "an amount of data".into(),
            Self::TIME => "a time".into(),
            Self::RATE => "a rate".into(),
            Self { bytes, seconds } => format!("in B^{bytes} s^{seconds}"),
        }
    }
}

/// Units of numbers, each with its size in bytes and seconds. Names are those of the other parameters.
pub(super) const UNITS: &[(&str, f64, Unit)] = &[
    ("p", 1.0, Unit::NUMBER),
    ("packets", 1.0, Unit::NUMBER),
    ("%", 1e-2, Unit::NUMBER),
    ("ns", 1e-9, Unit::TIME),
    ("us", 1e-6, Unit::TIME),
    ("ms", 1e-3, Unit::TIME),
    ("s", 1.0, Unit::TIME),
    ("B", 1.0, Unit::DATA),
    ("kB", 1e3, Unit::DATA),
    ("MB", 1e6, Unit::DATA),
    ("KiB", 1024.0, Unit::DATA),
    ("MiB", 1_048_576.0, Unit::DATA),
    ("bit/s", 0.125, Unit::RATE),
    ("kbit/s", 125.0, Unit::RATE),
    ("Mbit/s", 125e3, Unit::RATE),
    ("Gbit/s", 125e6, Unit::RATE),
    ("bit", 0.125, Unit::RATE),
    ("kbit", 125.0, Unit::RATE),
    ("mbit", 125e3, Unit::RATE),
    ("gbit", 125e6, Unit::RATE),
];
