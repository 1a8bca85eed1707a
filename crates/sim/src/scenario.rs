//! Scenarios.

mod network;

pub use network::{Bus, Flow, Network, Port, PortKind, Start, Transport};
