//! What a person writes: documents in TOML or JSON, read with the place of every value, so that a mistake is answered with
//! `FILE:LINE:COLUMN: key ...: why; allowed: ...`; quantities with their unit and schemes as text.
//!
//! A scenario of the simulator and the configuration of the device are such documents.

pub mod bounds;
mod content;
mod directed;
mod error;
pub mod keys;
mod quantity;
mod read;
mod trace;
pub mod tree;

pub use bounds::{positive, up_to, Bound};
pub use content::Content;
pub use directed::Directed;
pub use error::{Error, Path, Step};
pub use quantity::{OrNone, Quantity, Scheme, Unit};
pub use read::{read, Refused};
pub use sojourn_aqm::suggest::did_you_mean;
pub use trace::{StateTable, TraceBounds, TraceTable, Written};

/// Line and column of a byte of `text`, both from 1; the column in characters.
#[must_use]
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    // serde_json counts bytes and may point into a character.
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
