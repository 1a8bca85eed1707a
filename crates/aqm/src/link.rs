//! What a link does to packets besides queueing them: framing, loss, delay that varies, and rates that change.

mod channel;
mod duplicate;
mod effect;
pub(crate) mod effects;
pub(crate) mod framing;
mod jitter;
mod loss;
pub mod rates;

pub use channel::{Arrival, Channel, ChannelCounts, Impairments};
pub use effect::Effect;
pub use effects::{EffectAbout, EFFECTS};
pub use jitter::{Jitter, Jittery};
pub use loss::{Loss, Lossy};
