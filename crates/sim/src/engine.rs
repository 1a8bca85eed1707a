//! The event queue.
//!
//! Tie rule: events happen in the order of (instant, order of scheduling). At a port, a transmission that ends at the instant of an
//! arrival ends first, and packets that arrive over several links come in the order of links, before what the host there sends: when
//! the simulator computes them does not matter. The order does not depend on the width of a tick or on the shape of the wheel, so any
//! event queue that keeps the rule gives the same run.

mod lane;
mod wheel;

pub(crate) use lane::Lane;
pub use wheel::{Scheduled, Wheel};
