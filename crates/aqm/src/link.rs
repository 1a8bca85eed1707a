//! What a link does to packets besides queueing them: framing, loss, delay that varies, and rates that change.

mod channel;
pub(crate) mod framing;
mod jitter;
mod loss;
pub mod rates;

pub use channel::{Arrival, Channel, ChannelCounts, Impairments};
pub use jitter::{Jitter, Jittery};
pub use loss::{Loss, Lossy};
