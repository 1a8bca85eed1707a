//! TCP as state machines without clock, events or I/O: the engine brings the instants and carries the segments.
//!
//! A flow is one [`Sender`] and one [`Receiver`]. Data goes one way and acknowledgements come back.
//! The engine's whole duty towards a sender is
//!
//! ```text
//! sender.on_ack(now, &ack);                  // or write(), or on_timer()
//! while let Some(data) = sender.poll(now) { transmit(data) }
//! arm(sender.timer()); arm(sender.pacing_deadline());   // both may have moved EARLIER
//! ```
//!
//! which [`Sender::answer`] does in one call. Towards a receiver it is to send what [`Receiver::on_data`] and [`Receiver::on_timer`] return.
//! A connection opens with a handshake and closes with FINs where the sender is configured so: both are segments like others
//! to the engine. TIME-WAIT is not modelled: a sender answers a repeated FIN until the run ends.
//! Sequence numbers are byte offsets of the stream, 64 bits wide and starting at 0 (a SYN is not counted): they never wrap.
//!
//! Recovery (which segments are missing: [`sender`]) is separate from congestion control
//! (how many may be in flight: [`congestion`]).

pub mod congestion;
pub(crate) mod ranges;
pub mod receiver;
pub mod segment;
pub mod sender;

pub use congestion::{CongestionControl, EcnFeedback};
pub use receiver::{AckAction, AckPolicy, Receiver, ReceiverConfig, ReceiverStats};
pub use segment::{Ack, Control, Data, SackBlock};
pub use sender::{
    Config, Ect, EctOn, FeedbackRule, Hints, IdleRestart, Path, Recovery, RtoRule, Sender, SenderStats, WindowUnit,
};

#[cfg(test)]
mod tests;
