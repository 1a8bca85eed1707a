//! Frames made by hand; the numbers are derived beside the bytes.

use super::{parse, set_ce, set_dscp, Class, Fault, Parsed};

const KEY: u64 = 7;
/// Destination and source.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// IPv4 from 10.0.0.1 to 10.0.0.2, DSCP 0, ECT(0); UDP from port 5000 to port 53, without data.
/// 4502 + 001c + 0001 + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 = d933, whose complement is 26cc.
const FOUR: [u8; 28] = [
    0x45, 0x02, 0, 28, 0, 1, 0x40, 0, 64, 17, 0x26, 0xcc, 10, 0, 0, 1, 10, 0, 0, 2, //
    0x13, 0x88, 0, 53, 0, 8, 0, 0,
];

/// IPv6 from 2001:db8::1 to 2001:db8::2, traffic class 02 (ECT(0)), 8 bytes of UDP from port 5000 to port 53.
const SIX: [u8; 48] = [
    0x60, 0x20, 0, 0, 0, 8, 17, 64, //
    0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, //
    0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, //
    0x13, 0x88, 0, 53, 0, 8, 0, 0,
];

fn frame(headers: &[u8], packet: &[u8]) -> Vec<u8> {
    [&ADDRESSES[..], headers, packet].concat()
}

/// Version 1, type 1, code 0, session 42, `length`, PPP's protocol.
fn pppoe(length: u8, protocol: u8) -> Vec<u8> {
    vec![0x88, 0x64, 0x11, 0, 0, 42, 0, length, 0, protocol]
}

/// Headers, packet, and whether PPP or MPLS carries it. A stack entry is 20 bits of label, 3 of class, 1 for the bottom, 8 of TTL:
/// label 16 is 00010, class 0 and no bottom 0, TTL 64 is 40.
fn kinds() -> Vec<(&'static str, Vec<u8>, &'static [u8], bool)> {
    // Of PPP's protocol and the packet: 2 + 28 = 30, 2 + 48 = 50.
    let (four, six) = (pppoe(30, 0x21), pppoe(50, 0x57));
    let behind = |tags: &[u8], rest: &[u8]| [tags, rest].concat();
    vec![
        ("802.1ad, 802.1Q", vec![0x88, 0xa8, 0, 9, 0x81, 0, 0, 7, 8, 0], &FOUR, false),
        ("0x9100, 802.1Q", vec![0x91, 0, 0, 9, 0x81, 0, 0, 7, 8, 0], &FOUR, false),
        ("0x9100 twice", vec![0x91, 0, 0, 9, 0x91, 0, 0, 7, 0x86, 0xdd], &SIX, false),
        ("four tags", behind(&[0x88, 0xa8, 0, 1].repeat(4), &[8, 0]), &FOUR, false),
        ("PPPoE, IPv4", four.clone(), &FOUR, true),
        ("PPPoE, IPv6", six, &SIX, true),
        ("PPPoE behind two tags", behind(&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7], &four), &FOUR, true),
        ("MPLS, one label", vec![0x88, 0x47, 0, 1, 1, 64], &FOUR, true),
        ("MPLS, two labels", vec![0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64], &SIX, true),
        ("MPLS, upstream", vec![0x88, 0x48, 0, 1, 1, 64], &SIX, true),
        (
            "MPLS, eight labels",
            behind(&[0x88, 0x47], &[[0, 1, 0, 64].repeat(7), vec![0, 1, 1, 64]].concat()),
            &FOUR,
            true,
        ),
        ("MPLS behind a tag", vec![0x81, 0, 0, 7, 0x88, 0x47, 0, 1, 1, 64], &FOUR, true),
    ]
}

/// Without any of these headers.
fn plain(packet: &[u8]) -> Vec<u8> {
    frame(if packet[0] >> 4 == 4 { &[8, 0] } else { &[0x86, 0xdd] }, packet)
}

/// Known by its Ethernet addresses alone: the EtherType is one for experiments.
fn by_addresses() -> Parsed {
    parse(&frame(&[0x88, 0xb5], &[]), KEY)
}

#[test]
fn a_packet_is_read_alike_behind_every_header() {
    for (name, headers, packet, _) in kinds() {
        let inner = parse(&plain(packet), KEY);
        assert_eq!((inner.class, inner.ecn, inner.fault), (Class::Udp, 2, None));
        let ip = 12 + headers.len() as u16;
        assert_eq!(parse(&frame(&headers, packet), KEY), Parsed { ip, ..inner }, "{name}");
        // Padding of a short frame changes nothing.
        let mut padded = frame(&headers, packet);
        let least = (12 + headers.len() + 46).max(padded.len());
        padded.resize(least, 0);
        assert_eq!(parse(&padded, KEY), Parsed { ip, ..inner }, "{name}, padded");
    }
}

#[test]
fn padding_behind_the_least_ipv6_is_told_from_a_trailer() {
    // No payload, no next header: 40 bytes, so that 6 of padding make Ethernet's least payload.
    let mut packet = SIX[..40].to_vec();
    (packet[5], packet[6]) = (0, 59);
    let mut behind = frame(&[0x88, 0x47, 0, 1, 1, 64], &packet);
    for _ in 0..=6 {
        assert_eq!(parse(&behind, KEY).ip, 18);
        behind.push(0);
    }
    assert_eq!(parse(&behind, KEY), by_addresses());
}

#[test]
fn a_frame_that_ends_too_soon_is_known_by_its_addresses() {
    let expected = by_addresses();
    assert_eq!((expected.class, expected.ip, expected.fault), (Class::Other, 0, None));
    for (name, headers, packet, carried) in kinds() {
        let whole = frame(&headers, packet);
        for length in 12..whole.len() {
            // The EtherType that says what is carried: before it ends, a tagged frame is truncated whatever it carries.
            let told = carried && length >= 14 + 4 * tags(&headers);
            let fault = match length {
                12..14 => Some(Fault::Runt),
                _ if told => None,
                _ => Some(Fault::Truncated),
            };
            assert_eq!(parse(&whole[..length], KEY), Parsed { fault, ..expected }, "{name}, {length} bytes");
        }
    }
}

fn tags(headers: &[u8]) -> usize {
    headers.chunks(4).take_while(|tag| matches!(tag[..2], [0x81 | 0x91, 0] | [0x88, 0xa8])).count()
}

#[test]
fn marks_and_codepoints_reach_the_ip_header_within() {
    for (name, headers, packet, _) in kinds() {
        let mut changed = frame(&headers, packet);
        let ip = usize::from(parse(&changed, KEY).ip);
        set_ce(&mut changed, ip);
        // 4503 instead of 4502: the words sum to d934. The traffic class of IPv6 has no checksum.
        let (at, bytes): (usize, &[u8]) = if packet.len() == 28 { (10, &[0x26, 0xcb]) } else { (0, &[0x60, 0x30]) };
        assert_eq!(&changed[ip + at..][..2], bytes, "{name}");
        assert_eq!(parse(&changed, KEY).ecn, 3, "{name}");
        // DSCP 46 and CE are the byte bb: 45bb, and the words sum to d9ec.
        set_dscp(&mut changed, ip, 46);
        let (at, bytes): (usize, &[u8]) = if packet.len() == 28 { (10, &[0x26, 0x13]) } else { (0, &[0x6b, 0xb0]) };
        assert_eq!(&changed[ip + at..][..2], bytes, "{name}");
        let parsed = parse(&changed, KEY);
        assert_eq!((parsed.ecn, parsed.dscp), (3, 46), "{name}");
        // Nothing else has changed.
        set_dscp(&mut changed, ip, 0);
        if packet.len() == 28 {
            (changed[ip + 1], changed[ip + 10], changed[ip + 11]) = (0x02, 0x26, 0xcc);
        } else {
            changed[ip + 1] = 0x20;
        }
        assert_eq!(changed, frame(&headers, packet), "{name}");
    }
}

#[test]
fn what_pppoe_and_mpls_carry_beside_ip_is_left_alone() {
    let mut changed: Vec<(&str, Vec<u8>)> = Vec::new();
    let mut add = |name, headers: &[u8], packet: &[u8]| changed.push((name, frame(headers, packet)));
    let with = |at: usize, byte: u8| {
        let mut headers = pppoe(30, 0x21);
        headers[at] = byte;
        headers
    };
    add("PPPoE of version 2", &with(2, 0x21), &FOUR);
    add("PPPoE of type 2", &with(2, 0x12), &FOUR);
    // PADT, which ends a session.
    add("PPPoE with a code", &with(3, 0xa7), &FOUR);
    add("PPPoE longer than the frame", &with(7, 31), &FOUR);
    add("PPPoE shorter than its packet", &with(7, 29), &FOUR);
    add("PPPoE shorter than PPP's protocol", &with(7, 1), &FOUR);
    add("PPPoE that says IPv4 of IPv6", &pppoe(50, 0x21), &SIX);
    // Link control protocol.
    add("LCP", &[0x88, 0x64, 0x11, 0, 0, 42, 0, 30, 0xc0, 0x21], &FOUR);
    add("PPPoE discovery", &[&[0x88, 0x63][..], &pppoe(30, 0x21)[2..]].concat(), &FOUR);
    let label = [0x88, 0x47, 0, 1, 1, 64];
    add("a control word", &label, &[&[0, 0, 0, 1][..], &FOUR].concat());
    add("an associated channel", &label, &[&[0x10, 0, 0, 0x21][..], &FOUR].concat());
    // An Ethernet address may begin with 4 or 6. A frame has at least 60 bytes.
    let address = |first: u8| {
        let mut within = [&[first, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &FOUR].concat();
        within.resize(60, 0);
        within
    };
    add("a pseudowire to an address that begins with 4", &label, &address(0x45));
    add("a pseudowire to an address that begins with 6", &label, &address(0x60));
    let (mut wrong, mut zeros) = (FOUR, FOUR);
    wrong[11] ^= 1;
    zeros[..20].fill(0);
    zeros[0] = 0x40;
    add("IPv4 with a wrong checksum behind MPLS", &label, &wrong);
    add("IPv4 without a header behind MPLS", &label, &zeros);
    add("IPv6 and a trailer behind MPLS", &label, &[&SIX[..], &[0]].concat());
    let nine = [&[0x88, 0x47][..], &[0, 1, 0, 64].repeat(8), &[0, 1, 1, 64]].concat();
    add("nine labels", &nine, &FOUR);
    add("labels without a bottom", &[0x88, 0x47, 0, 1, 0, 64], &FOUR);
    add("five tags", &[[0x81, 0, 0, 7].repeat(5), vec![8, 0]].concat(), &FOUR);
    for (name, frame) in changed {
        assert_eq!(parse(&frame, KEY), by_addresses(), "{name}");
    }
}
