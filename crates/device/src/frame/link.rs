//! What lies between the Ethernet addresses and the IP header: VLAN tags, PPPoE sessions and MPLS label stacks.
//!
//! Not read: tunnels within IP (GRE, IP in IP), PPPoE with a compressed protocol field, MPLS within PPPoE, PBB and MACsec.
//! Their frames are known by the outer IP header, or by their Ethernet addresses where there is none.

#[inline]
pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

#[cfg(test)]
mod tests;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;
/// With a label that the sender of the frame did not assign (RFC 5332).
const MPLS_UPSTREAM: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;

/// Tags that are stepped over.
const TAGS: usize = 4;
/// Entries of a label stack that are stepped over.
const LABELS: usize = 8;
/// Least payload of an Ethernet frame (IEEE 802.3 section 3.2.7): a shorter one is followed by padding.
const LEAST: usize = 46;

/// What a frame carries.
pub(super) struct Payload<'a> {
    /// Its EtherType; [`IPV4`] or [`IPV6`] also where PPP or MPLS carries it.
    pub ether_type: u16,
    /// Where it begins.
    pub start: usize,
    /// The frame, up to where the header before the payload says that the payload ends.
    pub frame: &'a [u8],
    /// PPP or MPLS carries it: what cannot be read of it is another protocol's, not a fault of the frame.
    pub carried: bool,
}

/// Steps over the headers before the payload; `None` where the frame ends within its tags.
#[inline]
pub(super) fn payload(frame: &[u8]) -> Option<Payload<'_>> {
    let ether_type = be16(frame, 12)?;
    if ether_type == IPV4 || ether_type == IPV6 {
        return Some(Payload { ether_type, start: 14, frame, carried: false });
    }
    behind(frame, ether_type)
}

/// Where the first EtherType is not that of IP.
fn behind(frame: &[u8], mut ether_type: u16) -> Option<Payload<'_>> {
    let mut at = 12;
    for _ in 0..TAGS {
        // IEEE 802.1Q customer and service tags; 0x9100 before there was a standard for two.
        if !matches!(ether_type, 0x8100 | 0x88a8 | 0x9100) {
            break;
        }
        at += 4;
        ether_type = be16(frame, at)?;
    }
    let start = at + 2;
    let carried = match ether_type {
        PPPOE_SESSION => pppoe(frame, start),
        MPLS | MPLS_UPSTREAM => mpls(frame, start),
        _ => None,
    };
    Some(carried.unwrap_or(Payload { ether_type, start, frame, carried: false }))
}

/// RFC 2516 section 4: version and type, code, session, length; then PPP's protocol (RFC 1661 section 2) in two bytes.
#[cold]
fn pppoe(frame: &[u8], start: usize) -> Option<Payload<'_>> {
    const VERSION_AND_TYPE: u8 = 0x11;
    const SESSION_DATA: u8 = 0;
    let header = frame.get(start..start + 8)?;
    if header[0] != VERSION_AND_TYPE || header[1] != SESSION_DATA {
        return None;
    }
    let ether_type = match be16(header, 6)? {
        0x0021 => IPV4,
        0x0057 => IPV6,
        _ => return None,
    };
    // The length is that of protocol and packet; what follows is padding.
    let end = start + 6 + usize::from(be16(header, 4)?);
    Some(Payload { ether_type, start: start + 8, frame: frame.get(..end)?, carried: true })
}

/// RFC 3032 section 2.1. No field says what follows the last label, so the first four bits are looked at (RFC 4928
/// section 3). A pseudowire without a control word may begin with 4 or 6 too, and a mark would damage what it carries:
/// hence the checksum, or the length where there is none, must be right. (An Ethernet frame within is longer than `LEAST`.)
#[cold]
fn mpls(frame: &[u8], start: usize) -> Option<Payload<'_>> {
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
            (length == packet.len() || length < packet.len() && packet.len() <= LEAST).then_some(IPV6)?
        }
        // 0 and 1 begin a control word and an associated channel (RFC 4385).
        _ => return None,
    };
    Some(Payload { ether_type, start: at, frame, carried: true })
}
