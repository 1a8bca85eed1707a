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
mod channel;
mod config;
mod context;
mod discipline;
mod dscp;
pub mod effects;
pub mod fair;
mod fattest;
mod flow_table;
pub mod formula;
mod framing;
pub mod inert;
mod jitter;
mod loss;
mod packet;
mod params;
mod pool;
mod queue;
pub mod rates;
pub mod registry;
mod replace;
mod server;
pub mod suggest;
mod tc;
#[cfg(test)]
mod test_host;
mod ticks;

pub mod ared;
pub mod avq;
pub mod black;
pub mod blue;
pub mod cake;
pub mod care;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod daqm;
pub mod dropping_function;
pub mod drr;
pub mod dualpi2;
pub mod fred;
pub mod green;
pub mod nlred;
pub mod pfifo;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod sfb;
pub mod sfq;
pub mod shred;
pub mod sred;
pub mod threshold;

pub use channel::{Arrival, Channel, ChannelCounts, Impairments};
pub use config::{Config, ConfigError, FORMER_PRESETS, NEWEST_KERNEL};
pub use context::{Counters, Cx, Observer, Random, Reason, Tally};
pub use discipline::{
    About, Algorithm, Aqm, Backlog, Dequeued, Discipline, DropsAt, Excess, Fifo, Internal, Order, Standalone,
};
pub use dscp::Dscp;
pub use effects::{Effect, EffectAbout, EFFECTS};
pub use fair::FairQueue;
pub use framing::Framing;
pub use jitter::{Jitter, Jittery};
pub use loss::{Loss, Lossy};
pub use packet::{AckFields, Ecn, Packet, Reads};
pub use params::{Choice, Limit, Param, Parameters, Value, KERNELS};
pub use queue::Queue;
pub use rates::{Opportunities, Rates, Steps, Traced};
pub use replace::replace;
pub use server::{Opened, Server, Session};
pub use ticks::Ticks;

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
