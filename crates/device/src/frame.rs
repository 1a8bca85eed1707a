//! What the pipeline reads off a frame, and the ECN mark and the codepoint that it writes.
//!
//! Ethernet II with VLAN tags, PPPoE and MPLS before IP, which [`sojourn_capture`] reads for the simulator, too; IPv4 (RFC 791),
//! IPv6 with extension headers (RFC 8200), TCP, UDP, ICMP. Bound: a fixed number of tags, labels, extension headers and TCP options. A frame that cannot be read is
//! class `other`, hashed by its Ethernet addresses, and forwarded as a bridge would; only what is wrong with it is counted.

mod headers;
mod key;
#[cfg(test)]
mod link_tests;
mod mark;
#[cfg(test)]
mod tests;

pub use headers::parse;
pub use key::Key;
pub use mark::{set_ce, set_dscp};

use sojourn_aqm::AckFields;
pub use sojourn_capture::Fault;
pub use sojourn_measure::window::Class;

/// What was read off a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Class of traffic.
    pub class: Class,
    /// Hash of addresses, protocol and ports; of addresses and protocol for every fragment of a datagram.
    pub flow: u32,
    /// Hash of the source address.
    pub source: u32,
    /// Hash of the destination address.
    pub destination: u32,
    /// The ECN field, 0 without IP.
    pub ecn: u8,
    /// Differentiated services codepoint, 0 without IP.
    pub dscp: u8,
    /// For ACK filters.
    pub ack: AckFields,
    /// Where the IP header begins; 0 without one.
    pub ip: u16,
    /// What is wrong with it.
    pub fault: Option<Fault>,
}
