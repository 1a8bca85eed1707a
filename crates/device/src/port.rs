//! Back ends behind one burst interface.

mod about;
mod af_packet;
mod af_xdp;
mod back_ends;
mod checksum;
#[cfg(feature = "dpdk")]
pub mod dpdk;
mod dpdk_about;
pub mod eal;
mod faults;
mod generated;
mod loopback;
mod pcap;
mod system;
mod tracer;

pub use about::{About, Attachment, Open, Opened, INTERFACE};
pub use af_packet::AfPacket;
pub use af_xdp::{af_xdp_pair, AfXdp, XdpMode, XdpOptions, ZeroCopy, MOST_QUEUES};
pub use back_ends::BackEnd;
#[cfg(feature = "dpdk")]
pub use dpdk::Dpdk;
pub use faults::{FaultConfig, FaultCounts, Faults};
pub use generated::Generated;
pub use loopback::{loopback, FarEnd, Loopback};
pub use pcap::{Pace, Pcap, TimeSource};
pub use sojourn_capture::{Account, Capture, Record, Writer};
pub use tracer::Tracer;

use crate::pool::{Frame, Pool};
use serde::Serialize;
use sojourn_aqm::Backlog;
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

impl From<sojourn_capture::Error> for PortError {
    fn from(sojourn_capture::Error { file, what }: sojourn_capture::Error) -> Self {
        Self { port: file, what }
    }
}

/// What a port counts, from its start on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PortCounters {
    /// Frames handed to the pipeline.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Frames that left.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that the pipeline handed over and that have not left yet, where the port knows: in the kernel (`af_xdp`), or
    /// between two cores (`dpdk`).
    pub leaving: u64,
    /// Frames that arrived and never reached the pipeline, because no frame or ring entry was free for them.
    pub missed: u64,
    /// Frames longer than a frame of the pool: received in part and dropped (jumbo, or unfinished segmentation offload).
    pub oversize: u64,
    /// Frames whose checksum the sender left unfinished (`tx` offload of a veth peer), where the port can tell.
    pub checksum_unfinished: u64,
    /// Frames that the system refused to send, or gave back unsent: the link is down.
    pub send_failed: u64,
    /// Frames that the interface dropped instead of sending them, by its own count (`tx_dropped`), of whatever program.
    /// Those that the port was not told of are among `sent`.
    pub link_dropped: u64,
}

impl PortCounters {
    /// What to do about frames that the port at `interface` should not get, if it got some.
    #[must_use]
    pub fn advice(&self, interface: &str) -> Option<String> {
        let what = match (self.checksum_unfinished, self.oversize) {
            (0, 0) => return None,
            (0, oversize) => format!("{oversize} frames were longer than a frame of the pool"),
            (unfinished, _) => format!("checksums were left unfinished (seen {unfinished} times)"),
        };
        Some(format!(
            "{interface}: {what}; at the interface that sends to it: `ethtool -K IF tx off tso off gso off`, and the same MTU"
        ))
    }
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

    /// What it took by [`Port::send`] and what has not left yet, as far as it knows. Asked at every turn.
    fn leaving(&self) -> Backlog {
        Backlog::default()
    }

    /// About as much may wait in it to be sent, so that frames wait in the queue before it. It keeps to that as far as it can.
    fn set_room(&mut self, room: Backlog) {
        let _ = room;
    }

    /// Frames of the pool that it keeps for arrivals. Asked at every turn.
    fn standby(&self) -> usize {
        0
    }

    /// What it counted. May ask the system: not for every burst.
    fn counters(&mut self) -> PortCounters;

    /// Whether it has a carrier, where its driver tells; `None` where it does not. May ask the system: not for every burst.
    fn carrier(&mut self) -> Option<bool> {
        None
    }

    /// How it works, for status and logs: `af_xdp, native, copy`.
    fn mode(&self) -> &str {
        ""
    }

    /// What became of the frames of the file that it reads, and the longest that the pool had no room for.
    fn file(&self) -> Option<(&Account, usize)> {
        None
    }

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
