//! Files of captured frames: pcap and pcapng are read and written.
//!
//! The device replays and records them, the simulator writes what passes its queues.

mod pcap;
pub mod pcapng;
mod read;

pub use pcap::Writer;
pub use read::{Capture, Record};

use pcap_file::PcapError;
use std::fmt;

/// Longest frame that is read or written.
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

fn said(error: &PcapError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
