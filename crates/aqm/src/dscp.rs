//! Differentiated services codepoints by their names.

use crate::suggest::did_you_mean;
use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use sojourn_units::UnitError;

/// A differentiated services codepoint (RFC 2474), 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

/// RFC 2474 (class selectors), RFC 2597 (assured forwarding), RFC 3246 (EF), RFC 5865 (VOICE-ADMIT), RFC 8622 (LE),
/// RFC 9956 (NQB).
const NAMES: &[(&str, u8)] = &[
    ("CS0", 0),
    ("LE", 1),
    ("CS1", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// Non-queue-building traffic (RFC 9956).
    pub const NQB: Self = Self(45);

    /// What [`FromStr`] accepts.
    pub const ALLOWED: &'static str =
        "a codepoint: CS0 to CS7, AF11 to AF43, EF, VA, LE or NQB, or its number from 0 to 63 as text, as in \"EF\" or \"46\"";

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Dscp {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, number)| *number);
        let number = named.or_else(|| text.parse().ok().filter(|number| *number < 64));
        number.map(Self).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            let why: String = format!("is no codepoint{}", did_you_mean(text, &names));
            UnitError { given: text.into(), why, allowed: Self::ALLOWED }
        })
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

impl Value for Dscp {
    const KIND: &'static str = "codepoint";
    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: UnitError| error.to_string())
    }
    fn print(&self) -> String {
        self.to_string()
    }
    fn allowed() -> String {
        Self::ALLOWED.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_have_names_and_numbers() {
        let read = |text: &str| text.parse::<Dscp>().map(|dscp| (dscp.get(), format!("{dscp}"))).map_err(|e| e.why);
        assert_eq!(read("EF"), Ok((46, "EF".into())));
        assert_eq!((read("46"), read("cs1")), (Ok((46, "EF".into())), Ok((8, "CS1".into()))));
        // RFC 2597: class 4, drop precedence 2.
        assert_eq!((read("AF42"), read("3")), (Ok((36, "AF42".into())), Ok((3, "3".into()))));
        assert_eq!(read("64"), Err("is no codepoint".into()));
        assert_eq!(read("AF14"), Err("is no codepoint (did you mean \"AF11\"?)".into()));
    }
}
