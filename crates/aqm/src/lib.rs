//! Algorithms of active queue management.
//!
//! This crate decides and nothing else: it has no clock, no random source, no I/O and no logging.
//! A host (the simulator, the device, a test) holds a [`Discipline`], tells it the time, the service
//! rate and where random numbers come from through a [`Cx`], and takes back every packet that it gave.
//!
//! * [`Discipline`] is what a host sees: it owns its queues.
//! * [`Aqm`] is what an algorithm writes: it borrows one [`Queue`] and decides.
//! * [`Fifo`] puts one algorithm over one queue; [`FairQueue`] puts any algorithm over many.
//! * [`Standalone`] is a discipline whose queues belong together, as DualPI2's two do.
//! * [`registry`] lists every algorithm by its tc-style name.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod acts;
mod config;
mod context;
mod discipline;
mod dscp;
pub mod formula;
pub mod inert;
pub mod link;
mod packet;
mod params;
mod queue;
pub mod queues;
pub mod registry;
mod replace;
pub mod schemes;
mod server;
pub mod suggest;
mod tc;
#[cfg(test)]
mod test_host;
mod ticks;

pub use config::{Config, ConfigError, FORMER_PRESETS, NEWEST_KERNEL};
pub use context::{Counters, Cx, Observer, Random, Reason, Tally};
pub use discipline::{
    About, Algorithm, Aqm, Backlog, Dequeued, Discipline, DropsAt, Excess, Fifo, Internal, ListedQueue, Order,
    Standalone,
};
pub use dscp::Dscp;
pub use link::framing::Framing;
pub use link::rates::{Opportunities, Rates, Steps, Traced};
pub use link::{Arrival, Channel, ChannelCounts, Effect, EffectAbout, Impairments, Jitter, Loss, EFFECTS};
pub use packet::{AckFields, Ecn, Packet, Reads};
pub use params::{Choice, Limit, Param, Parameters, Value, KERNELS};
pub use queue::Queue;
pub use queues::fair::FairQueue;
pub use replace::replace;
pub use server::{Opened, Server, Session};
pub use ticks::Ticks;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
