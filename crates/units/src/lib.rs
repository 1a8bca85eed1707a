//! Quantities with their unit in the type.
//!
//! Time is integer nanoseconds, data integer bytes or packets, rate integer bit/s.
//! Arithmetic exists only where it makes sense: an [`Instant`] plus a [`Span`] is an
//! [`Instant`], two instants have a difference, and two instants cannot be added.
//!
//! Text is read in the field's two habits, `10 Mbit/s` and tc's `10mbit`, and printed
//! so that it reads back to the same value. `kbit` is 1000 bit, `KiB` is 1024 B.
#![no_std]

extern crate alloc;

mod data;
mod error;
mod rate;
mod text;
mod time;
mod wire;

pub use data::{Bytes, Packets};
pub use error::UnitError;
pub use rate::{BitRate, Probability};
pub use time::{Instant, Span};
pub use wire::Wire;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
