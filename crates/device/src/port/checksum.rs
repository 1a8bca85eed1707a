//! Tells a frame whose sender left its TCP or UDP checksum to hardware that is not there.

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Asks to open a TCP connection, as far as bytes at fixed places tell: IPv4 without options or IPv6, untagged.
#[must_use]
#[inline]
pub fn opens_connection(frame: &[u8]) -> bool {
    const SYN: u8 = 2;
    let (protocol, flags) = match frame.get(12..15) {
        Some([0x08, 0x00, 0x45]) => (23, 47),
        Some([0x86, 0xdd, _]) => (20, 67),
        _ => return false,
    };
    frame.get(protocol) == Some(&TCP) && frame.get(flags).is_some_and(|flags| flags & SYN != 0)
}

/// The sum of a pseudo-header stands where the checksum belongs, as Linux leaves it for its offload (`CHECKSUM_PARTIAL`).
///
/// A finished checksum can be that number too, once in 65,536 frames; then it is also right. Fragments and extension
/// headers are not looked at.
#[must_use]
pub fn is_unfinished(frame: &[u8]) -> bool {
    // The sum of a segment with its right checksum is all ones.
    segment(frame).is_some_and(|(pseudo, checksum, segment)| {
        pseudo == checksum && checksum != 0 && folded(u32::from(pseudo) + sum(segment)) != 0xffff
    })
}

/// Sum of the pseudo-header, checksum, and the segment or datagram that both are of.
fn segment(frame: &[u8]) -> Option<(u16, u16, &[u8])> {
    let mut at = 12;
    let mut kind = word(frame, at)?;
    // Two tags at most.
    for _ in 0..2 {
        if kind == 0x8100 || kind == 0x88a8 {
            at += 4;
            kind = word(frame, at)?;
        }
    }
    let ip = at + 2;
    let (addresses, protocol, transport, length) = match kind {
        0x0800 => {
            let header = usize::from(frame.get(ip)? & 15) * 4;
            // More fragments follow, or this is not the first.
            if word(frame, ip + 6)? & 0x3fff != 0 {
                return None;
            }
            let length = usize::from(word(frame, ip + 2)?).checked_sub(header)?;
            (ip + 12..ip + 20, *frame.get(ip + 9)?, ip + header, length)
        }
        0x86dd => (ip + 8..ip + 40, *frame.get(ip + 6)?, ip + 40, usize::from(word(frame, ip + 4)?)),
        _ => return None,
    };
    let checksum = match protocol {
        TCP => word(frame, transport + 16)?,
        UDP => word(frame, transport + 6)?,
        _ => return None,
    };
    let pseudo = folded(u32::from(protocol) + length as u32 + sum(frame.get(addresses)?));
    Some((pseudo, checksum, frame.get(transport..transport + length)?))
}

/// Of 16-bit words, the last filled up with a zero. Bound: 64 KiB, whose sum fits.
fn sum(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks(2).map(|pair| [pair[0], pair.get(1).copied().unwrap_or(0)]);
    pairs.map(|pair| u32::from(u16::from_be_bytes(pair))).sum()
}

/// Ones' complement. Twice: the first carry can carry.
fn folded(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 10.0.0.1 to 10.0.0.2 with 8 bytes of header and no data.
    /// Pseudo-header: 0a00 + 0001 + 0a00 + 0002 + protocol 0011 + length 0008 = 141c.
    fn udp(checksum: u16) -> Vec<u8> {
        let mut frame = vec![0; 14];
        frame[12..].copy_from_slice(&[0x08, 0x00]);
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0, 53, 0, 53, 0, 8]);
        frame.extend(checksum.to_be_bytes());
        frame
    }

    #[test]
    fn the_bare_pseudo_header_sum_is_unfinished_and_its_complement_is_not() {
        assert!(is_unfinished(&udp(0x141c)));
        assert!(!is_unfinished(&udp(!0x141c)));
        assert!(!is_unfinished(&udp(0)), "a UDP sender may leave the checksum out");
    }

    /// With two bytes of data both lengths are 2 more: pseudo-header 141e, header 0035 + 0035 + 000a = 0074.
    fn udp_with(data: u16) -> Vec<u8> {
        let mut frame = udp(0x141e);
        (frame[17], frame[39]) = (30, 10);
        frame.extend(data.to_be_bytes());
        frame
    }

    #[test]
    fn a_right_checksum_that_is_the_pseudo_header_sum_by_chance_is_finished() {
        // 141e + 0074 + 141e + d74f = ffff.
        assert!(!is_unfinished(&udp_with(0xd74f)));
        assert!(is_unfinished(&udp_with(0xd74e)));
        assert!(is_unfinished(&udp_with(0)));
        // Padding to Ethernet's least length is no part of it, data of an odd length are.
        let mut padded = udp_with(0xd74f);
        padded.resize(60, 0xff);
        assert!(!is_unfinished(&padded));
        let mut odd = udp_with(0xd700);
        odd.pop();
        // One byte: 141d + 0073 + 141d + d700 + 0053 short of ffff.
        (odd[17], odd[39]) = (29, 9);
        odd[40..42].copy_from_slice(&[0x14, 0x1d]);
        assert!(is_unfinished(&odd));
    }

    #[test]
    fn requests_to_open_a_connection_are_known_by_their_flags() {
        let mut four = vec![0; 60];
        four[12..15].copy_from_slice(&[0x08, 0x00, 0x45]);
        four[23] = TCP;
        let mut six = vec![0; 74];
        six[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
        six[20] = TCP;
        // Flags are 13 bytes into the TCP header, behind 14 and 20 or 40 bytes (RFC 9293 section 3.1).
        for (mut frame, flags) in [(four, 14 + 20 + 13), (six, 14 + 40 + 13)] {
            for (bits, opens) in [(0x02, true), (0x12, true), (0x10, false), (0x18, false)] {
                frame[flags] = bits;
                assert_eq!(opens_connection(&frame), opens);
            }
            frame[flags] = 2;
            for length in 0..=flags {
                assert!(!opens_connection(&frame[..length]));
            }
        }
        assert!(!opens_connection(&udp(0x141c)));
    }

    #[test]
    fn a_tag_is_stepped_over_and_no_prefix_of_a_frame_panics() {
        let mut tagged = udp(0x141c);
        tagged.splice(12..12, [0x81, 0x00, 0x00, 0x05]);
        assert!(is_unfinished(&tagged));
        for length in 0..tagged.len() {
            assert!(!is_unfinished(&tagged[..length]));
        }
    }
}
