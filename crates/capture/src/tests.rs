//! Files made by hand, byte by byte.

use super::*;
use sojourn_units::Instant;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of this test alone, removed at its end.
struct Temporary(PathBuf);

impl Temporary {
    fn with(name: &str, bytes: &[u8]) -> Self {
        let file = Self(std::env::temp_dir().join(format!("sojourn-capture-{}-{name}", std::process::id())));
        std::fs::write(&file.0, bytes).unwrap();
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// IPv4 of `there` bytes whose header states `total`; UDP.
fn four(there: usize, total: u16) -> Vec<u8> {
    let [high, low] = total.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 2];
    packet.resize(there, 0);
    // The checksum, which MPLS needs.
    let words: u32 = packet[..20].chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let sum = !((words & 0xffff) + (words >> 16)) as u16;
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// IPv6 of `there` bytes whose header states a payload of `payload`, and what follows it.
fn six(there: usize, payload: u16, next: u8) -> Vec<u8> {
    let [high, low] = payload.to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, next, 64];
    packet.resize(there, 0);
    packet
}

fn ethernet(headers: &[u8], packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], headers, packet].concat()
}

const FOUR: [u8; 2] = [8, 0];
const SIX: [u8; 2] = [0x86, 0xdd];

/// A pcap file in big-endian order of frames a second apart, each with the length that it had on the wire.
fn pcap(link: u32, frames: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let mut bytes = words(&[0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, link]);
    for (second, (frame, wire)) in (1..).zip(frames) {
        bytes.extend(words(&[second, 0, frame.len() as u32, *wire as u32]));
        bytes.extend(frame);
    }
    bytes
}

fn read(bytes: &[u8]) -> (Vec<(u64, u64)>, Account) {
    let file = Temporary::with(&format!("{:?}", std::thread::current().id()), bytes);
    let mut packets = Packets::open(&file.0).unwrap();
    let found =
        std::iter::from_fn(|| packets.take().unwrap()).map(|packet| (packet.at.nanos(), packet.bytes)).collect();
    (found, packets.account().clone())
}

/// The bytes of IP of one frame of a link, or why it is skipped.
fn one(link: u32, frame: &[u8]) -> Result<u64, String> {
    let (found, account) = read(&pcap(link, &[(frame.to_vec(), frame.len())]));
    match found.as_slice() {
        [(_, bytes)] => Ok(*bytes),
        _ => Err(account.skipped.keys().cloned().collect()),
    }
}

#[test]
fn every_link_type_gives_its_packets() {
    let (v4, v6) = (four(100, 100), six(100, 60, 17));
    let behind = |header: &[u8], packet: &[u8]| [header, packet].concat();
    let sll = |ether_type: [u8; 2]| [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &ether_type].concat();
    let sll2 = |ether_type: [u8; 2]| [&ether_type[..], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6], &[0; 8]].concat();
    for (name, link, frame) in [
        ("Ethernet, IPv4", 1, ethernet(&FOUR, &v4)),
        ("Ethernet, IPv6", 1, ethernet(&SIX, &v6)),
        ("VLAN", 1, ethernet(&[0x81, 0, 0x60, 5, 8, 0], &v4)),
        ("QinQ", 1, ethernet(&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 7, 0x86, 0xdd], &v6)),
        // Of PPP's protocol and 100 bytes.
        ("PPPoE", 1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 42, 0, 102, 0, 0x21], &v4)),
        ("MPLS", 1, ethernet(&[0x88, 0x47, 0, 1, 1, 64], &v4)),
        ("raw, BSD", 12, v4.clone()),
        ("raw, OpenBSD", 14, v6.clone()),
        ("raw", 101, v4.clone()),
        ("IPv4", 228, v4.clone()),
        ("IPv6", 229, v6.clone()),
        ("NULL, little-endian", 0, behind(&[2, 0, 0, 0], &v4)),
        ("NULL, big-endian, Darwin's IPv6", 0, behind(&[0, 0, 0, 30], &v6)),
        ("NULL, FreeBSD's IPv6", 0, behind(&[28, 0, 0, 0], &v6)),
        ("LOOP", 108, behind(&[0, 0, 0, 24], &v6)),
        ("PPP", 9, behind(&[0xff, 3, 0, 0x21], &v4)),
        ("PPP without address, compressed protocol", 9, behind(&[0x57], &v6)),
        ("PPP, MPLS", 9, behind(&[0xff, 3, 2, 0x81, 0, 1, 1, 64], &v4)),
        ("Cisco HDLC", 104, behind(&[0x0f, 0, 8, 0], &v4)),
        ("PPP with PPPoE", 51, behind(&[0x11, 0, 0, 42, 0, 102, 0, 0x57], &v6)),
        ("SLL", 113, behind(&sll(FOUR), &v4)),
        ("SLL, VLAN", 113, [&sll([0x81, 0])[..], &[0, 5, 0x86, 0xdd], &v6].concat()),
        ("SLL2", 276, behind(&sll2(SIX), &v6)),
    ] {
        assert_eq!(one(link, &frame), Ok(100), "{name}");
    }
}

#[test]
fn what_carries_no_ip_says_what_it_is() {
    let v4 = four(100, 100);
    let mut spanning_tree = ethernet(&[0, 38, 0x42, 0x42, 3], &[0; 35]);
    spanning_tree.resize(60, 0);
    for (name, link, frame, why) in [
        ("spanning tree", 1, spanning_tree, "llc"),
        ("ARP", 1, ethernet(&[8, 6], &[0; 46]), "ether_type_0x0806"),
        ("five tags", 1, ethernet(&[&[0x81, 0, 0, 7].repeat(5)[..], &FOUR].concat(), &v4), "nested"),
        ("MPLS with a control word", 1, ethernet(&[0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, 1], &v4), "nested"),
        ("PPPoE, LCP", 1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 42, 0, 102, 0xc0, 0x21], &v4), "ether_type_0x8864"),
        ("PPP, LCP", 9, [&[0xff, 3, 0xc0, 0x21][..], &v4].concat(), "ppp_protocol_0xc021"),
        ("NULL, OSI", 0, [&[7, 0, 0, 0][..], &v4].concat(), "address_family_7"),
        ("802.11", 105, v4.clone(), "link_type_105"),
        ("raw, version 5", 101, vec![0x55; 40], "malformed"),
        ("IPv4 that is IPv6", 228, six(100, 60, 17), "malformed"),
        ("IPv6 that is IPv4", 229, v4.clone(), "malformed"),
        ("a header of 16 bytes", 101, [&[0x44][..], &v4[1..]].concat(), "malformed"),
        ("shorter than its header", 101, four(100, 19), "malformed"),
        ("longer than the frame", 101, four(100, 101), "truncated"),
        ("half a header", 101, v4[..10].to_vec(), "truncated"),
        ("IPv6 longer than the frame", 101, six(100, 61, 17), "truncated"),
        ("half an address", 1, v4[..9].to_vec(), "truncated"),
    ] {
        assert_eq!(one(link, &frame), Err(why.to_owned()), "{name}");
    }
}

#[test]
fn lengths_of_padding_segmentation_and_jumbograms() {
    // Padding of a frame of 60 bytes; with a length of 0 it is the packet's, as tshark has it.
    assert_eq!(one(1, &ethernet(&FOUR, &four(46, 40))), Ok(40));
    assert_eq!(one(1, &ethernet(&FOUR, &four(7986, 0))), Ok(7986));
    // IPv6: no payload and padding; segments of TCP; no next header.
    assert_eq!(one(1, &ethernet(&SIX, &six(46, 0, 6))), Ok(40));
    assert_eq!(one(1, &ethernet(&SIX, &six(9000, 0, 6))), Ok(9000));
    assert_eq!(one(1, &ethernet(&SIX, &six(9000, 0, 59))), Ok(40));
    // Hop-by-hop options of 8 bytes: TCP follows, length 0, jumbo payload of 4 bytes: 100,000.
    let mut jumbo = six(100_040, 0, 0);
    jumbo[40..48].copy_from_slice(&[6, 0, 0xc2, 4, 0, 1, 0x86, 0xa0]);
    assert_eq!(one(1, &ethernet(&SIX, &jumbo)), Ok(100_040));
    jumbo[47] = 0xa1;
    assert_eq!(one(1, &ethernet(&SIX, &jumbo)), Err("truncated".to_owned()));
}

#[test]
fn lengths_on_the_wire_count_where_frames_are_cut() {
    let frames: Vec<_> =
        [34, 33].into_iter().map(|kept| (ethernet(&FOUR, &four(1000, 1000))[..kept].to_vec(), 1014)).collect();
    let (found, account) = read(&pcap(1, &frames));
    // 14 and 20 bytes are a whole header; one less is not.
    assert_eq!(found, [(1_000_000_000, 1000)]);
    assert_eq!(account.skipped, BTreeMap::from([("truncated".to_owned(), 1)]));
}

#[test]
fn a_frame_check_sequence_is_no_part_of_the_packet() {
    // Bit 26 says that the length is known: 2 units of 2 bytes.
    let frame = [ethernet(&FOUR, &four(200, 0)), vec![1, 2, 3, 4]].concat();
    assert_eq!(one(0x2400_0001, &frame), Ok(200));
    // Without the bit the length says nothing.
    assert_eq!(one(0x2000_0001, &frame), Ok(204));
    // 3 units, and the header says that the last 2 of the 6 bytes are its packet's.
    let frame = [ethernet(&FOUR, &four(200, 200)), vec![1, 2, 3, 4]].concat();
    assert_eq!(one(0x3400_0001, &frame), Ok(200));
    let file = Temporary::with("fcs.pcap", &pcap(0x3400_0001, &[(frame.clone(), 218)]));
    let record = Capture::open(&file.0).unwrap().take().unwrap().unwrap();
    assert_eq!(record.contents, frame[..214]);
}

#[test]
fn a_file_that_ends_in_a_frame_gives_what_is_whole() {
    let frames = vec![(ethernet(&FOUR, &four(100, 100)), 114); 3];
    let whole = pcap(1, &frames);
    for missing in [1, 60, 114, 120] {
        let (found, account) = read(&whole[..whole.len() - missing]);
        assert_eq!((found.len(), account.frames, account.cut), (2, 2, true), "{missing} bytes");
    }
    let (found, account) = read(&whole[..whole.len() - 130]);
    assert_eq!((found.len(), account.cut), (2, false));
}

/// A block of pcapng in little-endian order.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &length, &body, &length].concat()
}

fn section() -> Vec<u8> {
    block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat())
}

fn interface(options: &[u8]) -> Vec<u8> {
    block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0][..], options].concat())
}

fn enhanced(units: u64, frame: &[u8], options: &[u8]) -> Vec<u8> {
    let length = frame.len() as u32;
    let words = [0, (units >> 32) as u32, units as u32, length, length].map(u32::to_le_bytes);
    let mut body = [words.as_flattened(), frame].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    block(6, &[&body[..], options].concat())
}

#[test]
fn options_of_pcapng_end_with_their_block() {
    let frame = ethernet(&FOUR, &four(100, 100));
    // A name, and no end of options behind it; a comment of the packet likewise.
    let interface = interface(&[2, 0, 4, 0, b'e', b't', b'h', b'0']);
    let bytes = [section(), interface, enhanced(5, &frame, &[1, 0, 2, 0, b'h', b'i', 0, 0])].concat();
    assert_eq!(read(&bytes).0, [(5000, 100)]);
    // The second half of the block's length is missing: its packet is whole.
    assert_eq!(read(&bytes[..bytes.len() - 2]).0, [(5000, 100)]);
    let (found, account) = read(&bytes[..bytes.len() - 8]);
    assert_eq!((found.len(), account.cut), (0, true));
}

#[test]
fn times_of_pcapng_have_a_signed_offset() {
    let frame = ethernet(&FOUR, &four(100, 100));
    let offset = |seconds: i64| [&[14, 0, 8, 0][..], &seconds.to_le_bytes()].concat();
    let at = |seconds: i64, units: u64| {
        let (found, account) = read(&[section(), interface(&offset(seconds)), enhanced(units, &frame, &[])].concat());
        found.first().map(|(at, _)| *at).ok_or_else(|| account.skipped.keys().cloned().collect::<String>())
    };
    assert_eq!(at(-3600, 7_200_000_000), Ok(3_600_000_000_000));
    assert_eq!(at(3600, 1), Ok(3_600_000_001_000));
    assert_eq!(at(-3600, 1), Err("time".to_owned()));
    assert_eq!(at(i64::MAX, u64::MAX), Err("time".to_owned()));
}

#[test]
fn check_sequences_of_pcapng_are_said_by_interface_or_packet() {
    let frame = [ethernet(&FOUR, &four(200, 0)), vec![1, 2, 3, 4]].concat();
    let bytes = |interface_says: &[u8], packet: &[u8]| {
        read(&[section(), interface(interface_says), enhanced(1, &frame, packet)].concat()).0[0].1
    };
    assert_eq!(bytes(&[], &[]), 204);
    // 32 bits.
    assert_eq!(bytes(&[13, 0, 1, 0, 32, 0, 0, 0], &[]), 200);
    // Bits 5 to 8 of the flags: 2 bytes.
    assert_eq!(bytes(&[13, 0, 1, 0, 32, 0, 0, 0], &[2, 0, 4, 0, 2 << 5, 0, 0, 0]), 202);
}

#[test]
fn times_that_fall_are_counted() {
    let frame = ethernet(&FOUR, &four(100, 100));
    let bytes =
        [section(), interface(&[]), enhanced(2, &frame, &[]), enhanced(0, &frame, &[]), enhanced(3, &frame, &[])];
    let (found, account) = read(&bytes.concat());
    assert_eq!(found, [(2000, 100), (0, 100), (3000, 100)]);
    assert_eq!((account.taken, account.ip_bytes, account.out_of_order), (3, 300, 1));
    // A port's time does not go back.
    let file = Temporary::with("falls.pcapng", &bytes.concat());
    let mut capture = Capture::open(&file.0).unwrap();
    let times: Vec<_> = std::iter::from_fn(|| capture.take().unwrap()).map(|record| record.at).collect();
    assert_eq!(times, [2000, 2000, 3000].map(Instant::from_nanos));
    assert_eq!(capture.account(), &account);
}

#[test]
fn packets_without_time_are_skipped_and_old_ones_are_read() {
    let frame = ethernet(&FOUR, &four(100, 100));
    let simple = block(3, &[&114_u32.to_le_bytes()[..], &frame].concat());
    // Interface and drops in two bytes each; time; captured and real length.
    let words = [0, 0, 9, 114, 114].map(u32::to_le_bytes);
    let obsolete = block(2, &[words.as_flattened(), &frame].concat());
    let (found, account) = read(&[section(), interface(&[]), simple, obsolete].concat());
    assert_eq!(found, [(9000, 100)]);
    assert_eq!((account.frames, account.skipped), (2, BTreeMap::from([("no_time".to_owned(), 1)])));
}

#[test]
fn what_is_damaged_or_no_capture_is_refused_with_its_place() {
    let frame = ethernet(&FOUR, &four(100, 100));
    let mut long = pcap(1, &[(frame.clone(), 114), (frame.clone(), 114)]);
    // The length of the second frame: behind the header of 24 bytes, 16 + 114 bytes of the first, and two words.
    long[24 + 130 + 8..24 + 130 + 12].copy_from_slice(&[0x7f; 4]);
    let stranger = [section(), enhanced(1, &frame, &[])].concat();
    let refused = |bytes: &[u8]| {
        let file = Temporary::with("refused", bytes);
        let mut packets = match Packets::open(&file.0) {
            Ok(packets) => packets,
            Err(error) => return error.what,
        };
        loop {
            match packets.take() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("read"),
                Err(error) => return error.what,
            }
        }
    };
    for (bytes, what) in [
        (&b"ab"[..], "is neither pcap nor pcapng: it ends within its header"),
        (b"hello world, this is no capture", "is neither pcap nor pcapng"),
        (&[0x1f, 0x8b, 8, 0, 0, 0], "is compressed by gzip; allowed: pcap or pcapng, so unpack it before"),
        (&long, "frame 2: states 2139062143 B; allowed: up to 262144 B; the file is damaged"),
        (&stranger, "frame 1: is of interface 0, which the file does not describe; the file is damaged"),
    ] {
        assert_eq!(refused(bytes), what);
    }
}
