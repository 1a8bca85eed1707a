//! Files of captured frames: pcap and pcapng are read and written, and the IP packets within frames are found.
//!
//! The device replays and records frames, the simulator replays packets and writes what passes its queues. Both read files by
//! [`Frames`] and link layers by [`link`].

mod account;
mod frames;
mod ip;
pub mod link;
mod packets;
mod pcap;
pub mod pcapng;
mod read;
#[cfg(test)]
mod tests;

pub use account::{Account, Skip};
pub use frames::{Frame, Frames};
pub use ip::{ipv4_length, ipv6_length, Fault};
pub use link::Link;
pub use packets::{Packet, Packets};
pub use pcap::Writer;
pub use read::{Capture, Record};

use std::fmt;

/// Longest frame that is read or written: libpcap's own limit.
const LONGEST: u32 = 262_144;

/// A file that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Which file.
    pub file: String,
    /// What happened, with the system's reason.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for Error {}
