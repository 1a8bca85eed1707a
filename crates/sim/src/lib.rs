//! A packet-level simulator for queues and the transports that fill them.
//!
//! Integer nanoseconds; one seed gives one result, bit for bit, on any machine and any number of threads.

pub mod application;
pub mod batch;
pub mod engine;
pub mod environment;
pub mod keys;
mod packet;
mod port;
mod random;
pub mod scenario;
pub mod simulation;
pub mod summary;
pub mod traces;
pub mod traffic;
pub mod transport;
mod wlan;

pub use batch::{run_all, run_one, Progress};
pub use random::Stream;
pub use simulation::{Options, RunError, RunReport, Simulation};
