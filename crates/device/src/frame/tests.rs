use super::*;

const KEY: u64 = 7;

/// Ethernet, IPv4, TCP with an acknowledgement and no payload, padded to 60 bytes.
fn ack(tos: u8) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    let ip = [0x45, tos, 0, 40, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    frame[14..34].copy_from_slice(&ip);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame[34..54].copy_from_slice(&[0x13, 0x88, 0, 80, 0, 0, 0, 0, 0, 0, 1, 2, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    frame
}

/// RFC 791: the complement of the ones' complement sum of all 16-bit words.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[test]
fn an_acknowledgement_is_read() {
    let parsed = parse(&ack(0xb9), KEY);
    assert_eq!(parsed.class, Class::Tcp);
    // 0xb9 = 101110 01: DSCP 46, ECT(1).
    assert_eq!((parsed.dscp, parsed.ecn, parsed.ip), (46, 1, 14));
    assert_eq!(parsed.ack, AckFields { pure: true, precious: false, number: 0x102 });
    assert_eq!(parsed.fault, None);
}

#[test]
fn vlan_tags_do_not_change_what_is_read() {
    let plain = ack(2);
    let mut tagged = plain.clone();
    tagged.splice(12..12, [0x81, 0x00, 0x00, 0x07]);
    let mut twice = tagged.clone();
    twice.splice(12..12, [0x88, 0xa8, 0x00, 0x09]);
    for (frame, ip) in [(tagged, 18), (twice, 22)] {
        let parsed = parse(&frame, KEY);
        assert_eq!(Parsed { ip, ..parse(&plain, KEY) }, parsed);
    }
}

#[test]
fn a_mark_leaves_a_right_checksum() {
    for tos in [0x01, 0x02, 0xb9, 0xfe] {
        let mut frame = ack(tos);
        set_ce(&mut frame, 14);
        assert_eq!(frame[15], tos | 3);
        // A header with its checksum sums to all ones, so its own checksum is 0.
        assert_eq!(checksum(&frame[14..34]), 0);
    }
}

#[test]
fn all_fragments_of_a_datagram_are_one_flow() {
    let mut first = ack(0);
    first[20] = 0x20;
    let mut second = ack(0);
    (second[20], second[21]) = (0x00, 0x05);
    second[34..38].copy_from_slice(&[9, 9, 9, 9]);
    assert_eq!(parse(&first, KEY).flow, parse(&second, KEY).flow);
    assert_eq!(parse(&second, KEY).class, Class::Tcp);
    assert_ne!(parse(&first, KEY).flow, parse(&ack(0), KEY).flow);
}

#[test]
fn every_truncation_is_a_fault_and_none_a_panic() {
    let frame = ack(0);
    for length in 0..54 {
        let parsed = parse(&frame[..length], KEY);
        let expected = if length < 14 { Fault::Runt } else { Fault::Truncated };
        assert_eq!(parsed.fault, Some(expected), "{length} bytes");
        assert_eq!((parsed.class, parsed.ip), (Class::Other, 0));
    }
    assert_eq!(parse(&frame[..54], KEY).fault, None);
}
