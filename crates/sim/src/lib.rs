//! A packet-level simulator for queues and the transports that fill them.
//!
//! Integer nanoseconds; one seed gives one result, bit for bit, on any machine and any number of threads.

pub mod batch;
pub mod describe;
pub mod engine;
pub mod environment;
mod packet;
mod port;
pub mod simulation;
pub mod summary;
pub mod task;
pub mod traces;
mod wlan;

pub use batch::{run_all, run_one, Progress};
pub use simulation::{Options, RunError, RunReport, Simulation};
pub use task::Task;
