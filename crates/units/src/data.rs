use crate::text::{self, Units};
use crate::UnitError;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::str::FromStr;

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(u64);

macro_rules! amount {
    ($name:ident, $what:literal) => {
        impl $name {
            /// None.
            pub const ZERO: Self = Self(0);

            #[doc = concat!("`n` ", $what, ".")]
            #[must_use]
            pub const fn new(n: u64) -> Self {
                Self(n)
            }

            #[doc = concat!("The number of ", $what, ".")]
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// This less `other`; zero when `other` is more.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::ZERO, Add::add)
            }
        }
    };
}

amount!(Bytes, "bytes");
amount!(Packets, "packets");

impl Bytes {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str =
        "an amount of data with its unit: B, kB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024), as in \"1500 B\"";

    /// As [`FromStr`], and as tc reads sizes: a number without unit is bytes, `k` and `kb` are 1024 bytes, `kbit` 1024 bits, and so on.
    ///
    /// # Errors
    /// Unknown unit, negative, or not a whole number of bytes.
    pub fn from_tc(text: &str) -> Result<Self, UnitError> {
        text::read(text, &TC_BYTES).map(Self)
    }
}

const BYTES: Units = Units {
    table: &[
        ("B", 1),
        ("byte", 1),
        ("bytes", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    exact: true,
    bare: None,
    allowed: Bytes::ALLOWED,
};

const TC_BYTES: Units = Units {
    table: &[
        ("B", 1),
        ("b", 1),
        ("byte", 1),
        ("bytes", 1),
        ("k", 1 << 10),
        ("kb", 1 << 10),
        ("Kb", 1 << 10),
        ("K", 1 << 10),
        ("m", 1 << 20),
        ("mb", 1 << 20),
        ("Mb", 1 << 20),
        ("g", 1 << 30),
        ("gb", 1 << 30),
        ("Gb", 1 << 30),
        ("kbit", (1 << 10) / 8),
        ("mbit", (1 << 20) / 8),
        ("gbit", (1 << 30) / 8),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    exact: true,
    bare: Some(1),
    allowed: Bytes::ALLOWED,
};

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `1500 B`, `64KiB`, `2 MB`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::read(text, &BYTES).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table: &[(&str, u64)] = if self.0.is_multiple_of(1000) {
            &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)]
        } else {
            &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)]
        };
        // Only whole multiples: `1.5 kB` would read, but `1500 B` is what the field writes.
        let (unit, scale) = table
            .iter()
            .find(|(_, scale)| {
                self.0 >= *scale
                    && self.0.is_multiple_of(*scale)
                    && (self.0 >= 1_000_000 || *scale == 1 || *scale % 1024 == 0)
            })
            .copied()
            .unwrap_or(("B", 1));
        f.pad(&alloc::format!("{} {unit}", self.0 / scale))
    }
}

impl Packets {
    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str = "a number of packets, as in \"1000 p\"";

    /// As [`FromStr`], and a number without unit is packets, as tc reads `limit 1000`.
    ///
    /// # Errors
    /// Unknown unit, negative, or not a whole number.
    pub fn from_tc(text: &str) -> Result<Self, UnitError> {
        text::read(text, &Units { bare: Some(1), ..PACKETS }).map(Self)
    }
}

const PACKETS: Units = Units {
    table: &[("p", 1), ("packet", 1), ("packets", 1), ("pkt", 1), ("pkts", 1)],
    exact: false,
    bare: None,
    allowed: Packets::ALLOWED,
};

impl FromStr for Packets {
    type Err = UnitError;

    /// Reads `1000p`, `1000 packets`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::read(text, &PACKETS).map(Self)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&alloc::format!("{} p", self.0))
    }
}
