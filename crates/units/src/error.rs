use alloc::string::String;
use core::fmt;

/// A text that is not a quantity of the wanted kind: what was given, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The text as given.
    pub given: String,
    /// Why it is refused.
    pub why: String,
    /// What is allowed, with an example.
    pub allowed: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}; allowed: {}", self.given, self.why, self.allowed)
    }
}

impl core::error::Error for UnitError {}
