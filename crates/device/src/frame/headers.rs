use super::{Class, Fault, Key, Parsed};
use sojourn_aqm::AckFields;
use sojourn_capture::link::{self, IPV6};
use sojourn_capture::{ipv4_length, ipv6_length, Skip};

const ETHERNET: usize = 14;
const EXTENSIONS: usize = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP6: u8 = 58;

/// Reads a frame, from its destination address on. `key` keeps others from choosing flows that collide.
#[must_use]
#[inline]
pub fn parse(frame: &[u8], key: impl Into<Key>) -> Parsed {
    read(frame, key.into())
}

#[inline]
fn read(frame: &[u8], key: Key) -> Parsed {
    let mut parsed = Parsed {
        class: Class::Other,
        flow: 0,
        source: 0,
        destination: 0,
        ecn: 0,
        dscp: 0,
        ack: AckFields::NONE,
        ip: 0,
        fault: None,
    };
    let Some(addresses) = frame.get(..12) else {
        parsed.fault = Some(Fault::Runt);
        return parsed;
    };
    let payload = match link::ethernet(frame, frame.len()) {
        Ok(payload) => payload,
        Err(why) => {
            // What is no IP is another protocol's, not a fault of the frame.
            parsed.fault = match why {
                Skip::Truncated if frame.len() < ETHERNET => Some(Fault::Runt),
                Skip::Truncated => Some(Fault::Truncated),
                _ => None,
            };
            by_link(&mut parsed, addresses, key);
            return parsed;
        }
    };
    let within = frame.get(..payload.end).unwrap_or(frame);
    let outcome = match payload.ether_type {
        IPV6 => ipv6(within, payload.start, key, &mut parsed),
        _ => ipv4(within, payload.start, key, &mut parsed),
    };
    if let Err(fault) = outcome {
        // Nothing that was read of it can be relied on.
        parsed = Parsed {
            class: Class::Other,
            ecn: 0,
            dscp: 0,
            ack: AckFields::NONE,
            ip: 0,
            fault: (!payload.carried).then_some(fault),
            ..parsed
        };
        by_link(&mut parsed, addresses, key);
    }
    parsed
}

#[inline]
fn ipv4(frame: &[u8], start: usize, key: Key, parsed: &mut Parsed) -> Result<(), Fault> {
    let header: &[u8; 20] = frame.get(start..start + 20).and_then(|h| h.try_into().ok()).ok_or(Fault::Truncated)?;
    let length = usize::from(header[0] & 0x0f) * 4;
    let total = ipv4_length(header, frame.len() - start)?;
    let packet = frame.get(start..start + total).ok_or(Fault::Truncated)?;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    parsed.dscp = header[1] >> 2;
    parsed.ecn = header[1] & 3;
    parsed.ip = start as u16;
    let last = transport(packet, length, header[9], fragment != 0, parsed)?;
    let addresses = le64_of(header, 12);
    let host = |address: u64| key.hash([address & 0xffff_ffff | 4 << 56]);
    parsed.source = host(addresses);
    parsed.destination = host(addresses >> 32);
    parsed.flow = key.hash([addresses, last | 13 << 56]);
    Ok(())
}

#[inline]
fn ipv6(frame: &[u8], start: usize, key: Key, parsed: &mut Parsed) -> Result<(), Fault> {
    let header: &[u8; 40] = frame.get(start..start + 40).and_then(|h| h.try_into().ok()).ok_or(Fault::Truncated)?;
    let packet = frame.get(start..).ok_or(Fault::Truncated)?;
    let packet = packet.get(..ipv6_length(packet, packet.len())?).ok_or(Fault::Truncated)?;
    let traffic_class = header[0] << 4 | header[1] >> 4;
    parsed.dscp = traffic_class >> 2;
    parsed.ecn = traffic_class & 3;
    parsed.ip = start as u16;
    let mut next = header[6];
    let mut at = 40;
    let mut fragment = false;
    for _ in 0..EXTENSIONS {
        match next {
            // Hop-by-hop options, routing, destination options (RFC 8200 section 4).
            0 | 43 | 60 => {
                let (kind, words) = pair(packet, at)?;
                next = kind;
                at += 8 + 8 * usize::from(words);
            }
            44 => {
                let (kind, _) = pair(packet, at)?;
                // All but the atomic fragment (RFC 6946), which is whole.
                let (offset, more) = pair(packet, at + 2)?;
                next = kind;
                at += 8;
                if offset != 0 || more & 0xf9 != 0 {
                    // What follows is a header in the first fragment only: all are known by what is written here.
                    fragment = true;
                    break;
                }
            }
            // Authentication header (RFC 4302): its length in 4-byte words, less 2.
            51 => {
                let (kind, words) = pair(packet, at)?;
                next = kind;
                at += 8 + 4 * usize::from(words);
            }
            _ => break,
        }
    }
    let last = transport(packet, at, next, fragment, parsed)?;
    let [a, b, c, d] = [8, 16, 24, 32].map(|at| le64_of(header, at));
    parsed.source = key.hash([a, b, 16 << 56]);
    parsed.destination = key.hash([c, d, 16 << 56]);
    parsed.flow = key.hash([a, b, c, d, last | 37 << 56]);
    Ok(())
}

/// Class and ACK fields; returns protocol and ports, five bytes. `packet` begins with the IP header and ends where IP says.
#[inline]
fn transport(packet: &[u8], at: usize, protocol: u8, fragment: bool, parsed: &mut Parsed) -> Result<u64, Fault> {
    parsed.class = match protocol {
        TCP => Class::Tcp,
        UDP => Class::Udp,
        ICMP | ICMP6 => Class::Icmp,
        _ => Class::Other,
    };
    let mut ports = 0;
    // Only the first fragment has ports: a hash with them would tear the datagram apart.
    if !fragment && (protocol == TCP || protocol == UDP) {
        let needed = if protocol == TCP { 20 } else { 8 };
        let header = packet.get(at..at + needed).ok_or(Fault::Truncated)?;
        ports = be32_of(header, 0);
        if protocol == TCP {
            parsed.ack = ack_fields(packet, at)?;
        }
    }
    Ok(u64::from(protocol) << 32 | u64::from(ports))
}

/// RFC 9293 section 3.1; SACK is option 5 (RFC 2018).
#[inline]
fn ack_fields(packet: &[u8], at: usize) -> Result<AckFields, Fault> {
    let header: &[u8; 20] = packet.get(at..at + 20).and_then(|h| h.try_into().ok()).ok_or(Fault::Truncated)?;
    let length = usize::from(header[12] >> 4) * 4;
    if length < 20 {
        return Err(Fault::Malformed);
    }
    let options = packet.get(at + 20..at + length).ok_or(Fault::Truncated)?;
    let flags = header[13];
    const FIN_SYN_RST: u8 = 0x07;
    const ACK: u8 = 0x10;
    const ECE_CWR: u8 = 0xc0;
    let bare = packet.len() == at + length;
    let pure = bare && flags & ACK != 0 && flags & FIN_SYN_RST == 0;
    let says_ecn = flags & ECE_CWR != 0;
    Ok(AckFields::of_segment(pure, be32_of(header, 8), says_ecn, pure && !says_ecn && has_sack(options)))
}

/// Bound: options are at most 40 bytes, and each takes one at least.
#[inline]
fn has_sack(options: &[u8]) -> bool {
    // As nearly every segment has it: two no-operations and a timestamp (RFC 7323 appendix A).
    if options.len() == 12 && options.starts_with(&[1, 1, 8, 10]) {
        return false;
    }
    let mut at = 0;
    while let Some(kind) = options.get(at) {
        at += match kind {
            0 => return false,
            1 => 1,
            5 => return true,
            _ => match options.get(at + 1) {
                Some(length) if *length >= 2 => usize::from(*length),
                _ => return false,
            },
        };
    }
    false
}

#[inline]
fn by_link(parsed: &mut Parsed, addresses: &[u8], key: Key) {
    let (first, last) = (le64_of(addresses, 0), u64::from(be32_of(addresses, 8)));
    let destination = first & 0xffff_ffff_ffff;
    parsed.destination = key.hash([destination | 6 << 56]);
    parsed.source = key.hash([first >> 48 | last << 16 | 6 << 56]);
    parsed.flow = key.hash([first, last | 12 << 56]);
}

#[inline]
fn pair(packet: &[u8], at: usize) -> Result<(u8, u8), Fault> {
    packet.get(at..at + 2).map(|two| (two[0], two[1])).ok_or(Fault::Truncated)
}

/// The caller has checked the length.
#[inline]
fn be32_of(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The caller has checked the length.
#[inline]
fn le64_of(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|n| bytes[at + n]))
}
