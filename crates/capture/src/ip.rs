//! How long an IP packet is, whatever a frame has behind it.

use std::ops::Range;

/// Least payload of an Ethernet frame (IEEE 802.3 section 3.2.7): a shorter one is followed by padding.
pub(crate) const LEAST: usize = 46;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Fault {
    /// Shorter than an Ethernet header.
    Runt,
    /// A header, or the length that the IP header states, goes beyond the end of the frame.
    Truncated,
    /// A version or header length that its protocol does not have.
    Malformed,
}

impl Fault {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Runt, Self::Truncated, Self::Malformed];

    /// `runt`, `truncated` or `malformed`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runt => "runt",
            Self::Truncated => "truncated",
            Self::Malformed => "malformed",
        }
    }
}

/// Length of the packet of IPv4 (RFC 791 section 3.1) with this header, of which the frame has `room` bytes. What follows it in
/// the frame is padding. A length of 0 is that of segments that a network card will cut, longer than the field can say: they fill
/// the frame.
///
/// # Errors
/// The header is not that of IPv4, or its packet is longer than `room`.
#[inline]
pub fn ipv4_length(header: &[u8; 20], room: usize) -> Result<usize, Fault> {
    let length = usize::from(header[0] & 0x0f) * 4;
    let mut total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || length < 20 || total < length {
        if total > 0 || header[0] >> 4 != 4 || length < 20 || room < length {
            return Err(Fault::Malformed);
        }
        total = room;
    }
    if total > room {
        return Err(Fault::Truncated);
    }
    Ok(total)
}

/// Length of the packet of IPv6 (RFC 8200 section 3) that begins with these bytes, of which the frame has `room`. A payload
/// length of 0 stands for that of the jumbo payload option (RFC 2675), or for segments of TCP or UDP that fill the frame, as with
/// IPv4.
///
/// # Errors
/// The header is not that of IPv6, or its packet is longer than `room` or than what is there.
#[inline]
pub fn ipv6_length(packet: &[u8], room: usize) -> Result<usize, Fault> {
    let header: &[u8; HEADER] = packet.get(..HEADER).and_then(|h| h.try_into().ok()).ok_or(Fault::Truncated)?;
    if header[0] >> 4 != 6 {
        return Err(Fault::Malformed);
    }
    let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let length = if payload == 0 { long(packet, header[6], room) } else { HEADER + payload };
    if length > room {
        return Err(Fault::Truncated);
    }
    Ok(length)
}

/// Length of the header of IPv6.
const HEADER: usize = 40;

/// Of IPv6 whose payload length is 0, with this next header.
#[cold]
fn long(packet: &[u8], next: u8, room: usize) -> usize {
    const HOP_BY_HOP: u8 = 0;
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    match next {
        HOP_BY_HOP => jumbo(packet).map_or(HEADER, |payload| HEADER + payload as usize),
        // More than the padding of a short Ethernet frame.
        TCP | UDP if room > LEAST => room,
        _ => HEADER,
    }
}

/// The jumbo payload option of the hop-by-hop options.
///
/// Bound: the options have at most 2,048 bytes, and each takes one at least.
fn jumbo(packet: &[u8]) -> Option<u32> {
    const PAD: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let length = 8 + 8 * usize::from(*packet.get(HEADER + 1)?);
    let Range { start: mut at, end } = HEADER + 2..HEADER + length;
    while at < end {
        match packet.get(at..at + 2) {
            Some([PAD, _]) => at += 1,
            Some([JUMBO, 4]) => {
                return packet.get(at + 2..at + 6).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
            }
            Some([_, more]) => at += 2 + usize::from(*more),
            _ => return None,
        }
    }
    None
}
