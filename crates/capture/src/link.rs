//! What lies before the IP header: link layers of captures and of the wire, VLAN tags, PPPoE sessions and MPLS label stacks.
//!
//! Not read: tunnels within IP (GRE, IP in IP), PPPoE with a compressed protocol field, MPLS within PPPoE, PBB and MACsec.
//! Their frames are known by the outer IP header, or by their Ethernet addresses where there is none.

use crate::ip::LEAST;
use crate::Skip;

#[inline]
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

/// EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;
/// With a label that the sender of the frame did not assign (RFC 5332).
const MPLS_UPSTREAM: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
/// From here on it is a type; below it is a length, and logical link control follows (IEEE 802.3 section 3.2.6).
const LEAST_TYPE: u16 = 0x0600;
/// Tags that are stepped over.
const TAGS: usize = 4;
/// Entries of a label stack that are stepped over.
const LABELS: usize = 8;

/// What a captured frame begins with: the link types of pcap and pcapng that are read, by their registered numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet.
    Ethernet,
    /// IPv4 or IPv6 without a header before it.
    Raw,
    /// IPv4 alone.
    Ipv4,
    /// IPv6 alone.
    Ipv6,
    /// An address family in four bytes of either order: BSD's loopback interfaces.
    Loopback,
    /// PPP (RFC 1661), with or without address and control, or Cisco's HDLC.
    Ppp,
    /// A PPPoE session (RFC 2516).
    PppEther,
    /// Linux's cooked header.
    Sll,
    /// Linux's second cooked header.
    Sll2,
    /// Any other.
    Unread(u16),
}

impl Link {
    /// The link of a registered number.
    #[must_use]
    pub fn of(number: u16) -> Self {
        match number {
            1 => Self::Ethernet,
            // What systems call raw IP.
            12 | 14 | 101 => Self::Raw,
            228 => Self::Ipv4,
            229 => Self::Ipv6,
            0 | 108 => Self::Loopback,
            9 | 50 | 104 => Self::Ppp,
            51 => Self::PppEther,
            113 => Self::Sll,
            276 => Self::Sll2,
            number => Self::Unread(number),
        }
    }

    /// What a frame that begins with `data` and has `wire` bytes carries.
    ///
    /// # Errors
    /// Why it cannot be said.
    pub fn payload(self, data: &[u8], wire: usize) -> Result<Payload, Skip> {
        match self {
            Self::Ethernet => ethernet(data, wire),
            Self::Raw => match data.first().ok_or(Skip::Truncated)? >> 4 {
                4 => Ok(bare(IPV4, wire)),
                6 => Ok(bare(IPV6, wire)),
                _ => Err(Skip::Malformed),
            },
            Self::Ipv4 => Ok(bare(IPV4, wire)),
            Self::Ipv6 => Ok(bare(IPV6, wire)),
            Self::Loopback => loopback(data, wire),
            Self::Ppp => ppp(data, wire),
            Self::PppEther => pppoe(data, 0, wire).ok_or(Skip::EtherType(PPPOE_SESSION)),
            Self::Sll => {
                // Address type, address length, address; then an EtherType, unless the device has a protocol of its own.
                let kind = be16(data, 2).ok_or(Skip::Truncated)?;
                cooked(data, kind, 14, 16, wire)
            }
            Self::Sll2 => {
                let kind = be16(data, 8).ok_or(Skip::Truncated)?;
                cooked(data, kind, 0, 20, wire)
            }
            Self::Unread(number) => Err(Skip::LinkType(number)),
        }
    }
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Its EtherType; [`IPV4`] or [`IPV6`] also where PPP or MPLS carries it.
    pub ether_type: u16,
    /// Where it begins.
    pub start: usize,
    /// Where the frame ends, or the payload where the header before it says so.
    pub end: usize,
    /// PPP or MPLS carries it: what cannot be read of it is another protocol's, not a fault of the frame.
    pub carried: bool,
}

/// Steps over the headers of an Ethernet frame before the payload. `frame` is what is known of its `wire` bytes.
///
/// # Errors
/// It ends within its tags, or they carry something that is not read.
#[inline]
pub fn ethernet(frame: &[u8], wire: usize) -> Result<Payload, Skip> {
    let ether_type = be16(frame, 12).ok_or(Skip::Truncated)?;
    if ether_type == IPV4 || ether_type == IPV6 {
        return Ok(Payload { ether_type, start: 14, end: wire, carried: false });
    }
    behind(frame, ether_type, 14, wire)
}

/// Where the first EtherType is not that of IP, and what follows it begins at `start`.
fn behind(frame: &[u8], mut ether_type: u16, mut start: usize, wire: usize) -> Result<Payload, Skip> {
    // IEEE 802.1Q customer and service tags; 0x9100 before there was a standard for two.
    let is_tag = |ether_type| matches!(ether_type, 0x8100 | 0x88a8 | 0x9100);
    for _ in 0..TAGS {
        if !is_tag(ether_type) {
            break;
        }
        ether_type = be16(frame, start + 2).ok_or(Skip::Truncated)?;
        start += 4;
    }
    match ether_type {
        IPV4 | IPV6 => Ok(Payload { ether_type, start, end: wire, carried: false }),
        PPPOE_SESSION => pppoe(frame, start, wire).ok_or(Skip::EtherType(ether_type)),
        MPLS | MPLS_UPSTREAM => mpls(frame, start, wire).ok_or(Skip::Nested),
        tag if is_tag(tag) => Err(Skip::Nested),
        length if length < LEAST_TYPE => Err(Skip::Llc),
        other => Err(Skip::EtherType(other)),
    }
}

/// RFC 2516 section 4: version and type, code, session, length; then PPP's protocol (RFC 1661 section 2) in two bytes.
#[cold]
fn pppoe(frame: &[u8], start: usize, wire: usize) -> Option<Payload> {
    const VERSION_AND_TYPE: u8 = 0x11;
    const SESSION_DATA: u8 = 0;
    let header = frame.get(start..start + 8)?;
    if header[0] != VERSION_AND_TYPE || header[1] != SESSION_DATA {
        return None;
    }
    let ether_type = by_protocol(be16(header, 6)?)?;
    // The length is that of protocol and packet; what follows is padding.
    let end = start + 6 + usize::from(be16(header, 4)?);
    (start + 8 <= end && end <= wire).then_some(Payload { ether_type, start: start + 8, end, carried: true })
}

/// PPP's numbers of network protocols.
fn by_protocol(protocol: u16) -> Option<u16> {
    match protocol {
        0x0021 => Some(IPV4),
        0x0057 => Some(IPV6),
        _ => None,
    }
}

/// RFC 3032 section 2.1. No field says what follows the last label, so the first four bits are looked at (RFC 4928
/// section 3). A pseudowire without a control word may begin with 4 or 6 too, and a mark would damage what it carries:
/// hence the checksum, or the length where there is none, must be right. (An Ethernet frame within is longer than `LEAST`.)
#[cold]
fn mpls(frame: &[u8], start: usize, wire: usize) -> Option<Payload> {
    const BOTTOM: u8 = 1;
    let mut entries = frame.get(start..)?.chunks_exact(4).take(LABELS);
    let at = start + 4 * (entries.position(|entry| entry[2] & BOTTOM != 0)? + 1);
    let packet = frame.get(at..)?;
    let first = packet.first()?;
    let ether_type = match first >> 4 {
        4 => {
            let header = packet.get(..4 * usize::from(first & 0x0f))?;
            let words: u32 = header.chunks_exact(2).filter_map(|two| be16(two, 0)).map(u32::from).sum();
            // Ones' complement: a header with its checksum sums to all ones.
            (words > 0 && words.is_multiple_of(0xffff)).then_some(IPV4)?
        }
        6 => {
            let length = 40 + usize::from(be16(packet, 4)?);
            let room = wire - at;
            (length == room || length < room && room <= LEAST).then_some(IPV6)?
        }
        // 0 and 1 begin a control word and an associated channel (RFC 4385).
        _ => return None,
    };
    Some(Payload { ether_type, start: at, end: wire, carried: true })
}

/// Without a header before it.
fn bare(ether_type: u16, wire: usize) -> Payload {
    Payload { ether_type, start: 0, end: wire, carried: false }
}

/// The address family is in the order of the machine that captured (NULL) or of the network (LOOP): its value is small.
fn loopback(data: &[u8], wire: usize) -> Result<Payload, Skip> {
    let bytes: [u8; 4] = data.get(..4).and_then(|four| four.try_into().ok()).ok_or(Skip::Truncated)?;
    let family = u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes));
    match family {
        2 => Ok(Payload { ether_type: IPV4, start: 4, end: wire, carried: false }),
        // That of NetBSD and OpenBSD, FreeBSD, Darwin; Linux and Windows have others.
        24 | 28 | 30 | 10 | 23 => Ok(Payload { ether_type: IPV6, start: 4, end: wire, carried: false }),
        _ => Err(Skip::Family(family)),
    }
}

/// Address and control may be left out, and the protocol may be compressed to one byte, which is odd (RFC 1661 section 2).
/// With Cisco's address an EtherType follows (RFC 1547 section 4.3.1).
fn ppp(data: &[u8], wire: usize) -> Result<Payload, Skip> {
    let start = match data.get(..2).ok_or(Skip::Truncated)? {
        [0x0f | 0x8f, _] => {
            let ether_type = be16(data, 2).ok_or(Skip::Truncated)?;
            return behind(data, ether_type, 4, wire);
        }
        [0xff, 0x03] => 2,
        _ => 0,
    };
    let first = *data.get(start).ok_or(Skip::Truncated)?;
    let (protocol, start) = match first & 1 {
        1 => (u16::from(first), start + 1),
        _ => (be16(data, start).ok_or(Skip::Truncated)?, start + 2),
    };
    match (by_protocol(protocol), protocol) {
        (Some(ether_type), _) => Ok(Payload { ether_type, start, end: wire, carried: false }),
        // RFC 3032 section 4.
        (None, 0x0281 | 0x0283) => mpls(data, start, wire).ok_or(Skip::Nested),
        (None, protocol) => Err(Skip::Ppp(protocol)),
    }
}

/// Linux's cooked captures of a device of this kind: the EtherType lies at `at`, what it carries at `start`.
fn cooked(data: &[u8], kind: u16, at: usize, start: usize, wire: usize) -> Result<Payload, Skip> {
    const NETLINK: u16 = 824;
    const FRAD: u16 = 770;
    let ether_type = be16(data, at).ok_or(Skip::Truncated)?;
    match (kind, ether_type) {
        (NETLINK | FRAD | 801..=803, _) => Err(Skip::EtherType(ether_type)),
        _ => behind(data, ether_type, start, wire),
    }
}
