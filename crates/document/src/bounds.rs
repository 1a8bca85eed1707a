//! The most that a document may ask for, with the reason.

use crate::{Error, Path};
use sojourn_units::Span;
use std::fmt::Display;

/// What keys of one kind may be at most.
#[derive(Clone, Copy, Debug)]
pub struct Bound<T> {
    /// The greatest value.
    pub most: T,
    /// The keys, for the reference.
    pub keys: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// Refuses a value beyond its bound.
///
/// # Errors
/// The value, and what is allowed.
pub fn up_to<T: PartialOrd + Display>(value: T, bound: &Bound<T>, path: impl FnOnce() -> Path) -> Result<(), Error> {
    // Not `>`, so that NaN is refused.
    if value <= bound.most {
        return Ok(());
    }
    Err(Error::new(path(), format!("is {value}; allowed: up to {}", bound.most)))
}

/// Refuses a time of 0.
///
/// # Errors
/// What is allowed.
pub fn positive(span: Span, path: Path) -> Result<(), Error> {
    if span.is_zero() {
        return Err(Error::new(path, "is 0; allowed: a time above 0, as in \"5 ms\""));
    }
    Ok(())
}
