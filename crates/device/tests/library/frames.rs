//! The frame parser and the mark: beside an independent parser on valid frames, and on frames that are not.

mod body;

use etherparse::{Ipv6ExtensionSlice, NetSlice, SlicedPacket, TransportSlice};
use sojourn_aqm::{AckFields, Random};
use sojourn_device::frame::{parse, Class, Fault};
use sojourn_random::Stream;
use std::collections::{HashMap, HashSet};

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Makes frames.
struct Maker(Stream);

impl Maker {
    fn below(&mut self, n: u64) -> usize {
        (self.0.next_u64() % n) as usize
    }

    fn byte(&mut self) -> u8 {
        self.0.next_u64() as u8
    }

    fn some(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.byte()).collect()
    }

    /// TCP with options and flags, UDP, ICMP of either kind, or another protocol, and payload.
    fn transport(&mut self, v6: bool) -> (u8, Vec<u8>) {
        let ports = [0, self.byte() % 4, 1, self.byte() % 4];
        let payload = [0, 0, 1, 100, 700][self.below(5)];
        let payload = self.some(payload);
        match self.below(5) {
            0..=1 => {
                let options: &[u8] = [
                    &[][..],
                    &[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8],
                    &[2, 4, 5, 180],
                    &[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2],
                    &[0, 0, 0, 0],
                ][self.below(5)];
                let flags = [0x10, 0x10, 0x10, 0x18, 0x02, 0x12, 0x11, 0x14, 0x50, 0x90][self.below(10)];
                let words = (20 + options.len()) as u8 / 4;
                let mut header = [&ports[..], &self.some(8), &[words << 4, flags], &self.some(6)].concat();
                header.extend(options);
                (TCP, [header, payload].concat())
            }
            2 => {
                let length = (8 + payload.len()) as u16;
                (UDP, [&ports[..], &length.to_be_bytes(), &[0, 0], &payload].concat())
            }
            3 => (if v6 { 58 } else { 1 }, [&[if v6 { 128 } else { 8 }, 0, 0, 0, 0, 1, 0, 2][..], &payload].concat()),
            _ => (132, [self.some(12), payload].concat()),
        }
    }

    fn ipv4(&mut self) -> Vec<u8> {
        let (protocol, payload) = self.transport(false);
        let options = 4 * [0, 0, 1, 10][self.below(4)];
        // Whole, whole and not to be divided, first, middle and last of a divided datagram.
        let fragment: [u8; 2] = [[0, 0], [0x40, 0], [0x20, 0], [0x20, 9], [0, 9]][self.below(5).min(self.below(5))];
        let total = (20 + options + payload.len()) as u16;
        let mut header = vec![0x45 + (options / 4) as u8, self.byte()];
        header.extend(total.to_be_bytes());
        header.extend([self.byte(), self.byte(), fragment[0], fragment[1], 64, protocol, 0, 0]);
        header.extend([10, 0, 0, self.byte() % 4, 10, 0, 1, self.byte() % 4]);
        header.extend(vec![1; options]);
        let sum = checksum(&header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        [header, payload].concat()
    }

    fn ipv6(&mut self) -> Vec<u8> {
        let (protocol, payload) = self.transport(true);
        let mut extensions = Vec::new();
        for kind in [0, 60, 43, 44, 51] {
            if self.below(4) > 0 {
                continue;
            }
            let words = self.below(3) as u8;
            // Padding of one byte and of n; a segment list that is done.
            let inner = |n: usize| if n > 6 { [vec![1, n as u8 - 2], vec![0; n - 2]].concat() } else { vec![0; n] };
            extensions.push((
                kind,
                match kind {
                    44 => {
                        let place: [u8; 2] = [[0, 0], [0, 1], [0, 9], [0, 16]][self.below(4)];
                        [&[0, 0][..], &place, &self.some(4)].concat()
                    }
                    51 => [&[0, 2, 0, 0][..], &self.some(12)].concat(),
                    43 => [&[0, words, 4, 0, 0, 0, 0, 0][..], &vec![0; 8 * usize::from(words)]].concat(),
                    _ => [vec![0, words], inner(6 + 8 * usize::from(words))].concat(),
                },
            ));
        }
        let kinds: Vec<u8> = extensions.iter().map(|(kind, _)| *kind).chain([protocol]).collect();
        let mut body = Vec::new();
        for (n, (_, bytes)) in extensions.iter_mut().enumerate() {
            bytes[0] = kinds[n + 1];
            body.extend(bytes.iter());
        }
        body.extend(payload);
        let class = self.byte();
        let mut header = vec![0x60 | class >> 4, class << 4 | self.byte() & 15, self.byte(), self.byte()];
        header.extend((body.len() as u16).to_be_bytes());
        header.extend([kinds[0], 64]);
        for net in [0, 1] {
            header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, net, 0, 0, 0, 0, 0, 0, 0, self.byte() % 4]);
        }
        [header, body].concat()
    }

    /// A frame as a network may carry it.
    fn valid(&mut self) -> Vec<u8> {
        let mut frame = self.some(12);
        let tags: &[u8] = [&[][..], &[], &[0x81, 0, 0x20, 7], &[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7]][self.below(4)];
        frame.extend(tags);
        match self.below(8) {
            0..=3 => frame.extend([&[8, 0][..], &self.ipv4()].concat()),
            4..=6 => frame.extend([&[0x86, 0xdd][..], &self.ipv6()].concat()),
            _ => frame.extend([&[0x88, 0xcc][..], &self.some(40)].concat()),
        }
        // Padding of short frames.
        frame.resize(frame.len().max(60), 0);
        frame
    }

    /// A packet behind more tags, PPPoE or MPLS, as a provider's network carries it, and the same without them.
    fn carried(&mut self) -> (Vec<u8>, Vec<u8>) {
        let addresses = self.some(12);
        let (kind, protocol, packet) =
            if self.below(2) == 0 { ([8, 0], 0x21, self.ipv4()) } else { ([0x86, 0xdd], 0x57, self.ipv6()) };
        let tags = [0, 0, 1, 2, 3][self.below(5)];
        let mut frame = addresses.clone();
        for _ in 0..tags {
            frame.extend([[0x81, 0], [0x88, 0xa8], [0x91, 0]][self.below(3)]);
            frame.extend([self.byte(), self.byte()]);
        }
        match self.below(3) {
            0 => frame.extend(kind),
            1 => {
                frame.extend([0x88, 0x64, 0x11, 0, self.byte(), self.byte()]);
                frame.extend((2 + packet.len() as u16).to_be_bytes());
                frame.extend([0, protocol]);
            }
            _ => {
                frame.extend([0x88, 0x47 + self.byte() % 2]);
                for above in (0..=self.below(4)).rev() {
                    frame.extend([self.byte(), self.byte(), self.byte() & 0xfe | u8::from(above == 0), self.byte()]);
                }
            }
        }
        frame.extend(&packet);
        (frame, [&addresses[..], &kind, &packet].concat())
    }

    /// A frame that is cut, lengthened, or has some bytes changed, most of them in the headers; or one of noise.
    fn malformed(&mut self) -> Vec<u8> {
        if self.below(10) == 0 {
            let length = self.below(120);
            return self.some(length);
        }
        let mut frame = if self.below(3) == 0 { self.carried().0 } else { self.valid() };
        match self.below(4) {
            0 => frame.truncate(self.below(80)),
            1 => {
                let more = self.below(1600);
                frame.extend(self.some(more));
            }
            _ => {}
        }
        for _ in 0..self.below(4) {
            let within = [14, 24, 60, frame.len() as u64][self.below(4)].min(frame.len() as u64);
            if within > 0 {
                let at = self.below(within);
                frame[at] = [0, 0xff, frame[at] ^ 1, frame[at].wrapping_add(0x10), self.byte()][self.below(5)];
            }
        }
        frame
    }
}

/// RFC 791.
fn checksum(header: &[u8]) -> u16 {
    let total: u32 = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

/// What the other parser says: DSCP, ECN, class, and what a flow is told by.
fn independent(frame: &[u8]) -> (u8, u8, Class, AckFields, Vec<u8>) {
    let sliced = SlicedPacket::from_ethernet(frame).unwrap_or_else(|error| panic!("{error}: {frame:x?}"));
    let none = AckFields::NONE;
    let (dscp, ecn, addresses, protocol, fragmented) = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header();
            assert_eq!(header.to_header().calc_header_checksum(), header.header_checksum());
            let addresses = [header.source(), header.destination()].concat();
            let number = ip.payload_ip_number().0;
            (header.dcp().value(), header.ecn().value(), addresses, number, ip.is_payload_fragmented())
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let addresses = [header.source(), header.destination()].concat();
            // All fragments of a datagram are known by what their fragment headers say comes next.
            let divided = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                Ipv6ExtensionSlice::Fragment(header) if header.is_fragmenting_payload() => Some(header.next_header()),
                _ => None,
            });
            let number = divided.unwrap_or(ip.payload().ip_number).0;
            (header.dscp().value(), header.ecn().value(), addresses, number, ip.is_payload_fragmented())
        }
        _ => return (0, 0, Class::Other, none, frame[..12].to_vec()),
    };
    let class = match protocol {
        TCP => Class::Tcp,
        UDP => Class::Udp,
        1 | 58 => Class::Icmp,
        _ => Class::Other,
    };
    let (mut ports, mut ack) = ([0; 4], none);
    match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            ports[..2].copy_from_slice(&tcp.source_port().to_be_bytes());
            ports[2..].copy_from_slice(&tcp.destination_port().to_be_bytes());
            let pure = tcp.ack() && tcp.payload().is_empty() && !tcp.syn() && !tcp.fin() && !tcp.rst();
            let sack = tcp.options().windows(2).any(|two| two == [5, 10]);
            ack = AckFields {
                pure,
                precious: pure && (sack || tcp.ece() || tcp.cwr()),
                number: tcp.acknowledgment_number(),
            };
        }
        Some(TransportSlice::Udp(udp)) => {
            ports[..2].copy_from_slice(&udp.source_port().to_be_bytes());
            ports[2..].copy_from_slice(&udp.destination_port().to_be_bytes());
        }
        _ => {}
    }
    if fragmented {
        assert!(sliced.transport.is_none());
    }
    (dscp, ecn, class, ack, [&addresses[..], &[protocol], &ports].concat())
}

#[test]
fn valid_frames_are_read_as_an_independent_parser_reads_them() {
    let mut maker = Maker(Stream::seeded(1));
    let mut flows: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut seen: HashMap<(&str, bool, usize), usize> = HashMap::new();
    for _ in 0..20_000 {
        let frame = maker.valid();
        let (dscp, ecn, class, ack, key) = independent(&frame);
        let parsed = parse(&frame, 5);
        assert_eq!(parsed.fault, None, "{frame:x?}");
        assert_eq!((parsed.dscp, parsed.ecn, parsed.class, parsed.ack), (dscp, ecn, class, ack), "{frame:x?}");
        assert_eq!(*flows.entry(key).or_insert(parsed.flow), parsed.flow, "one flow, two hashes: {frame:x?}");
        *seen.entry((class.name(), ack.pure, usize::from(parsed.ip))).or_default() += 1;
    }
    // Different flows, different hashes: with n flows, n^2/2^33 pairs of 32 bits are expected to be equal, here below 0.1.
    let hashes: HashSet<u32> = flows.values().copied().collect();
    assert!(flows.len() > 2_000 && flows.len() < 20_000, "{}", flows.len());
    assert_eq!(hashes.len(), flows.len());
    // Every kind was there: pure acknowledgements, with no tag, one and two.
    for ip in [14, 18, 22] {
        assert!(seen[&("tcp", true, ip)] > 100, "{seen:?}");
        assert!([Class::Tcp, Class::Udp, Class::Icmp, Class::Other]
            .iter()
            .all(|class| seen[&(class.name(), false, ip)] > 100));
    }
}

#[test]
fn packets_behind_tags_pppoe_and_mpls_are_read_as_an_independent_parser_reads_them_without() {
    let mut maker = Maker(Stream::seeded(4));
    let mut seen: HashMap<u8, usize> = HashMap::new();
    for _ in 0..10_000 {
        let (frame, plain) = maker.carried();
        let (dscp, ecn, class, ack, _) = independent(&plain);
        let parsed = body::check_frame(&frame);
        assert_eq!(parsed.fault, None, "{frame:x?}");
        assert_eq!(usize::from(parsed.ip), frame.len() - plain.len() + 14, "{frame:x?}");
        assert_eq!((parsed.dscp, parsed.ecn, parsed.class, parsed.ack), (dscp, ecn, class, ack), "{frame:x?}");
        *seen.entry(frame[13]).or_default() += 1;
    }
    // EtherTypes by their second byte: 802.1Q or IPv4 and 0x9100, 802.1ad, IPv6, PPPoE, MPLS of either kind.
    assert!([0x00, 0xa8, 0xdd, 0x64, 0x47, 0x48].iter().all(|kind| seen[kind] > 100), "{seen:?}");
}

#[test]
fn ten_thousand_malformed_frames_do_no_harm() {
    let mut maker = Maker(Stream::seeded(2));
    let frames: Vec<Vec<u8>> = (0..10_000).map(|_| maker.malformed()).collect();
    let mut faults: HashMap<Option<Fault>, usize> = HashMap::new();
    for frame in &frames {
        *faults.entry(body::check_frame(frame).fault).or_default() += 1;
    }
    assert!(faults.len() == 4 && faults.values().all(|n| *n > 100), "{faults:?}");
    for scheme in
        ["pfifo limit 30p", "fq_codel ecn limit 60p target 100us interval 2ms ce_threshold 50us", "cake", "dualpi2"]
    {
        body::check_device(scheme, &frames);
    }
}

#[test]
fn a_sound_frame_keeps_a_right_checksum_when_it_is_marked() {
    let mut maker = Maker(Stream::seeded(3));
    let mut marked = 0;
    for _ in 0..5_000 {
        let mut frame = maker.valid();
        let ip = usize::from(body::check_frame(&frame).ip);
        sojourn_device::frame::set_ce(&mut frame, ip);
        if ip > 0 && frame[ip] >> 4 == 4 {
            marked += 1;
            let header = usize::from(frame[ip] & 15) * 4;
            // With its checksum in it, a header sums to all ones.
            assert_eq!(checksum(&frame[ip..ip + header]), 0);
            assert_eq!(independent(&frame).1, 3);
        }
    }
    assert!(marked > 2_000);
}
