//! What became of the frames of a file.

use crate::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Why no IP packet is taken of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skip {
    /// The link is of a type that is not read.
    LinkType(u16),
    /// It carries a protocol that is not read, which includes ARP and other protocols without IP.
    EtherType(u16),
    /// PPP carries a protocol that is not IP.
    Ppp(u16),
    /// A loopback interface says that it is of this address family.
    Family(u32),
    /// IEEE 802.2 logical link control, as of spanning trees.
    Llc,
    /// More VLAN tags or MPLS labels than are stepped over, or a label stack that carries no IP.
    Nested,
    /// A header, or the length that the IP header states, goes beyond the end of the frame or beyond what was captured.
    Truncated,
    /// A version or header length that its protocol does not have.
    Malformed,
    /// It has no time: a simple packet block.
    NoTime,
    /// Its time is before 1970 or after January 2105.
    Time,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinkType(number) => write!(f, "link_type_{number}"),
            Self::EtherType(number) => write!(f, "ether_type_{number:#06x}"),
            Self::Ppp(number) => write!(f, "ppp_protocol_{number:#06x}"),
            Self::Family(number) => write!(f, "address_family_{number}"),
            Self::Llc => f.write_str("llc"),
            Self::Nested => f.write_str("nested"),
            Self::Truncated => f.write_str("truncated"),
            Self::Malformed => f.write_str("malformed"),
            Self::NoTime => f.write_str("no_time"),
            Self::Time => f.write_str("time"),
        }
    }
}

impl From<Fault> for Skip {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Runt | Fault::Truncated => Self::Truncated,
            Fault::Malformed => Self::Malformed,
        }
    }
}

/// What became of the frames of a file: `frames` is `taken` plus all that is `skipped`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Account {
    /// Frames that the file has.
    pub frames: u64,
    /// Those that were taken.
    pub taken: u64,
    /// Bytes of IP in what was taken.
    pub ip_bytes: u64,
    /// Frames that were left out, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<String, u64>,
    /// Frames that were taken with a time before that of a frame above them.
    #[serde(default, skip_serializing_if = "none")]
    pub out_of_order: u64,
    /// The file ends in the middle of a frame, which is not counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

fn none(count: &u64) -> bool {
    *count == 0
}

impl Account {
    /// More reasons than these are counted together.
    const REASONS: usize = 50;

    /// Counts a frame that is left out.
    pub(crate) fn skip(&mut self, why: Skip) {
        self.frames += 1;
        let name = why.to_string();
        let room = self.skipped.len() < Self::REASONS || self.skipped.contains_key(&name);
        *self.skipped.entry(if room { name } else { "other".to_owned() }).or_default() += 1;
    }

    /// Counts a frame that is taken, with so many bytes of IP.
    pub(crate) fn take(&mut self, ip_bytes: u64) {
        self.frames += 1;
        self.taken += 1;
        self.ip_bytes += ip_bytes;
    }
}
