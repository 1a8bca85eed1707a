//! Tells a frame whose sender left its TCP or UDP checksum to hardware that is not there.

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The sum of a pseudo-header stands where the checksum belongs, as Linux leaves it for its offload (`CHECKSUM_PARTIAL`).
///
/// A finished checksum looks like this once in 65,536 frames. Fragments and extension headers are not looked at.
#[must_use]
pub fn is_unfinished(frame: &[u8]) -> bool {
    pseudo_sum_and_checksum(frame).is_some_and(|(sum, checksum)| sum == checksum && checksum != 0)
}

fn pseudo_sum_and_checksum(frame: &[u8]) -> Option<(u16, u16)> {
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
    let mut sum = u32::from(protocol) + length as u32;
    for pair in frame.get(addresses)?.chunks_exact(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    // Twice: the first carry can carry.
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    Some((sum as u16, checksum))
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
