//! Frames that libFuzzer chooses, through the parser and the whole device. The body is that of the test
//! (`crates/device/tests/library/frames.rs`).

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/device/tests/library/frames/body.rs"]
mod body;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use sojourn_fuzz::{pieces, put, seed, Draw};

const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
/// UDP from port 5000 to 53, with eight bytes.
const UDP: [u8; 16] = [0x13, 0x88, 0, 53, 0, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
/// TCP with a timestamp.
const TCP: [u8; 32] =
    [0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = 20 + payload.len() as u8;
    let header = [0x45, 2, 0, total, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1];
    [&header[..], payload].concat()
}

fn ipv6(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0x10, 0, 0, 0, payload.len() as u8, kind, 64];
    for host in [1, 2] {
        header.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    [header, payload.to_vec()].concat()
}

/// Every way in which an IP header may lie in a frame.
fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let (v4, v6) = (ipv4(17, &UDP), ipv6(6, &TCP));
    let extension = [&[6, 0, 1, 4, 0, 0, 0, 0][..], &TCP].concat();
    let fragment = [&[17, 0, 0, 1, 0, 0, 0, 9][..], &UDP].concat();
    let pppoe = |protocol: [u8; 2], ip: &[u8]| [&[0x11, 0, 0, 7, 0, 2 + ip.len() as u8][..], &protocol, ip].concat();
    let mpls = |ip: &[u8]| [&[0, 1, 0x10, 64, 0, 2, 0x11, 64][..], ip].concat();
    let of = |kind: &[u8], rest: &[u8]| [&ADDRESSES[..], kind, rest].concat();
    vec![
        ("v4", of(&[8, 0], &v4)),
        ("tcp", of(&[8, 0], &ipv4(6, &TCP))),
        ("icmp", of(&[8, 0], &ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 2]))),
        ("v6", of(&[0x86, 0xdd], &v6)),
        ("v6-options", of(&[0x86, 0xdd], &ipv6(0, &extension))),
        ("v6-fragment", of(&[0x86, 0xdd], &ipv6(44, &fragment))),
        ("vlan", of(&[0x81, 0, 0x20, 5, 8, 0], &v4)),
        ("qinq", of(&[0x88, 0xa8, 0, 9, 0x81, 0, 0, 5, 0x86, 0xdd], &v6)),
        ("pppoe-v4", of(&[0x88, 0x64], &pppoe([0, 0x21], &v4))),
        ("pppoe-v6", of(&[0x88, 0x64], &pppoe([0, 0x57], &v6))),
        ("vlan-pppoe", of(&[0x81, 0, 0, 5, 0x88, 0x64], &pppoe([0, 0x21], &v4))),
        ("mpls-v4", of(&[0x88, 0x47], &mpls(&v4))),
        ("mpls-v6", of(&[0x88, 0x47], &mpls(&v6))),
        ("mpls-multicast", of(&[0x88, 0x48], &mpls(&v4))),
        ("length", of(&[0, 40, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &v4)),
        ("arp", of(&[8, 6], &[0; 28])),
    ]
}

/// With its length in front.
fn framed(frame: &[u8]) -> Vec<u8> {
    [&(frame.len() as u16).to_be_bytes()[..], frame].concat()
}

fn seeds() {
    let each = frames().into_iter().map(|(name, frame)| (name.to_owned(), framed(&frame)));
    let all = frames().iter().map(|(_, frame)| framed(frame)).collect::<Vec<_>>().concat();
    seed(each.chain([("all".to_owned(), all)]), []);
}

fuzz_target!(init: seeds(), |input| body::check_input(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 3 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut draw = Draw::new(seed);
    let mut found = Vec::new();
    let mut rest = &data[..size];
    while let [high, low, after @ ..] = rest {
        let length = (usize::from(*high) << 8 | usize::from(*low)).min(after.len());
        found.push(after[..length].to_vec());
        rest = &after[length..];
    }
    pieces::mutate(&mut found, &mut draw, |frame, draw| {
        // Mostly in the headers, and the kind is often that of another frame.
        let head = frame.len().min(*draw.of(&[14, 34, 54, frame.len()]));
        let mut front = frame[..head].to_vec();
        pieces::bytes(&mut front, draw);
        frame.splice(..head, front);
        if draw.once_in(6) && frame.len() > 14 {
            let kinds = [[8, 0], [0x86, 0xdd], [0x81, 0], [0x88, 0xa8], [0x88, 0x64], [0x88, 0x47], [0x88, 0x48]];
            frame[12..14].copy_from_slice(draw.of::<[u8; 2]>(&kinds));
        }
        // An IP header of another length, where one begins behind none, one or two tags or labels, or PPPoE.
        if draw.once_in(4) {
            let at = *draw.of(&[14, 18, 22, 26]);
            if let Some(first) = frame.get_mut(at) {
                *first = *draw.of(&[0x45, 0x46, 0x48, 0x4f, 0x44, 0x60]);
            }
        }
    });
    let changed: Vec<u8> = found.iter().flat_map(|frame| framed(&frame[..frame.len().min(0xffff)])).collect();
    put(data, size, max_size, &changed)
});
