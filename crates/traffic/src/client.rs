//! Keys that tables of clients have in common.

use super::Check;
use crate::Amount;
use sojourn_document::{Error, Quantity};
use sojourn_units::{Bytes, Span};

/// A request is one packet with this payload at the most.
const REQUEST: u64 = 1400;

/// No pause.
pub(super) fn pause() -> Amount<Span> {
    Amount::Constant(Quantity(Span::ZERO))
}

/// A number of things.
pub(super) fn count(check: &Check<'_>, key: &'static str, count: u32, most: u32) -> Result<(), Error> {
    if (1..=most).contains(&count) {
        return Ok(());
    }
    Err(check.refuse(key, format!("is {count}; allowed: 1 to {most}")))
}

/// A request that one packet holds.
pub(super) fn one_packet(check: &Check<'_>, key: &'static str, size: Bytes) -> Result<u32, Error> {
    if (1..=REQUEST).contains(&size.get()) {
        return Ok(size.get() as u32);
    }
    Err(check.refuse(key, format!("is {size}; allowed: 1 B to {REQUEST} B, one packet")))
}
