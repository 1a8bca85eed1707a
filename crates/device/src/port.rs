//! Back ends behind one burst interface.

mod capture;
mod faults;
mod loopback;
mod pcap;
mod tracer;

pub use capture::{Capture, Record, Writer};
pub use faults::{FaultConfig, FaultCounts, Faults};
pub use loopback::{loopback, Far, Loopback};
pub use pcap::{Now, Pace, Pcap};
pub use tracer::Tracer;

use crate::pool::{Frame, Pool};
use serde::Serialize;
use std::collections::VecDeque;
use std::os::fd::RawFd;

/// Most frames that a port receives or sends in one call.
pub const BURST: usize = 64;

/// A port that stopped working: the interface is gone, a ring is broken.
#[derive(Debug, thiserror::Error)]
#[error("{port}: {what}")]
pub struct PortError {
    /// Which port.
    pub port: String,
    /// What happened, with the system's reason.
    pub what: String,
}

/// What a port counts, from its start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Frames handed to the pipeline.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames that left.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that arrived and never reached the pipeline, because no frame or ring entry was free for them.
    pub missed: u64,
    /// Frames longer than a frame of the pool: received in part and dropped (jumbo, or unfinished segmentation offload).
    pub oversize: u64,
    /// Frames whose checksum the sender left unfinished (`tx` offload of a veth peer), where the port can tell.
    pub checksum_unfinished: u64,
    /// Frames that the system refused to send.
    pub send_failed: u64,
}

/// Takes frames in and lets them out, in bursts. Never blocks.
pub trait Port: Send {
    /// Its name in messages and metrics: `eth0`, `loopback a`.
    fn name(&self) -> &str;

    /// Appends at most [`BURST`] frames that arrived, in their order, to `into`. Frames come out of `pool`.
    ///
    /// # Errors
    /// The port stopped working.
    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError>;

    /// Sends frames from the front of `frames`, at most [`BURST`]; those that find no room stay. A frame returns to `pool`
    /// when it has left, perhaps at a later call. A frame that the system refuses returns and counts as `send_failed`.
    ///
    /// # Errors
    /// The port stopped working.
    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError>;

    /// What it counted. May ask the system: not for every burst.
    fn counters(&mut self) -> PortCounters;

    /// Nothing is received or sent any more: sees to it that what was sent is where it belongs.
    ///
    /// # Errors
    /// It is not: a file is full.
    fn finish(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Becomes readable when a frame arrives, for waiting while nothing is to be done; `None`: poll.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}
