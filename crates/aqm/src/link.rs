//! What a link does to packets besides queueing them: framing, loss, delay that varies, and rates that change.

mod channel;
mod effect;
pub mod effects;
pub(crate) mod framing;
pub mod rates;

pub use channel::{Arrival, Channel, ChannelCounts, Impairments};
pub use effect::Effect;
pub use effects::{EffectAbout, Jitter, Loss, EFFECTS};
