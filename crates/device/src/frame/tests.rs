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
fn a_codepoint_is_written_beside_the_ecn_bits_with_a_right_checksum() {
    for (tos, dscp, written) in [(0xb9, 0, 0x01), (0xb8, 0, 0x00), (0x03, 46, 0xbb), (0xff, 63, 0xff)] {
        let mut frame = ack(tos);
        set_dscp(&mut frame, 14, dscp);
        assert_eq!(frame[15], written);
        assert_eq!(checksum(&frame[14..34]), 0);
    }
    // By hand, of 4500 0028 0001 4000 4006 0000 0a00 0001 0a00 0002: the words sum to d932, its complement is 26cd.
    // With the type of service b9 of before they sum to d9eb.
    let mut frame = ack(0xb8 | 1);
    assert_eq!(frame[24..26], (!0xd9eb_u16).to_be_bytes());
    set_dscp(&mut frame, 14, 0);
    assert_eq!(frame[24..26], (!0xd933_u16).to_be_bytes());
}

#[test]
fn a_codepoint_in_ipv6_leaves_version_and_flow_label() {
    let mut frame = vec![0; 54];
    frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    // Version 6, traffic class 101110 10 (DSCP 46, ECT(0)), flow label abcde.
    frame[14..18].copy_from_slice(&[0x6b, 0xaa, 0xbc, 0xde]);
    // No next header.
    frame[20] = 59;
    let before = parse(&frame, KEY);
    assert_eq!((before.dscp, before.ecn, before.fault), (46, 2, None));
    set_dscp(&mut frame, 14, 0);
    // Traffic class 000000 10.
    assert_eq!(frame[14..18], [0x60, 0x2a, 0xbc, 0xde]);
    set_ce(&mut frame, 14);
    assert_eq!(frame[14..18], [0x60, 0x3a, 0xbc, 0xde]);
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
