//! Files of captured frames that libFuzzer chooses, replayed through the device. The body is that of a test
//! (`crates/device/tests/library/fuzzed.rs`).

#![no_main]

#[path = "../../crates/device/tests/library/fuzzed/capture.rs"]
mod body;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate, Corpus};
use sojourn_fuzz::{pieces, put, seed, Draw};
use std::cell::RefCell;

/// Bytes of pcap's file header and of a record's header.
const HEADER: usize = 24;
const RECORD: usize = 16;
/// Ethernet, raw IP, raw IPv4 and IPv6, and one that is refused.
const LINKS: [u32; 5] = [1, 101, 228, 229, 105];
/// How an Ethernet frame, IPv4 and IPv6 may begin.
const FIRST: [u8; 3] = [2, 0x45, 0x60];
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

thread_local! {
    static PLACE: RefCell<body::Place> = RefCell::new(body::Place::new());
}

fn pcap(magic: u32, link: u32) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [magic, 0x0004_0002, 0, 0, 65_535, link] {
        file.extend(word.to_le_bytes());
    }
    for (n, length) in [60_u32, 1000, 5, 200].into_iter().enumerate() {
        for word in [10, 1000 * n as u32, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(
            (0..length)
                .map(|at| [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45].get(at as usize).copied().unwrap_or(0)),
        );
    }
    file
}

/// A block of pcapng around this body.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_le_bytes();
    let mut block = [&kind.to_le_bytes()[..], &length, body].concat();
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn pcapng() -> Vec<u8> {
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, 0xffff_ffff, 0xffff_ffff]));
    // Link type 1; if_tsresol (9) of nanoseconds, and the end of options.
    let interface = block(1, &words(&[1, 0, 0x0001_0009, 9, 0]));
    let frame =
        |at: u32, length: u32| block(6, &[words(&[0, 5, at, length, length]), vec![2; length as usize]].concat());
    [section, interface, frame(0, 60), frame(1_000_000, 1000), frame(3_000_000, 8)].concat()
}

fn seeds() {
    let files = [
        ("micro", pcap(0xa1b2_c3d4, 1)),
        ("nano", pcap(0xa1b2_3c4d, 1)),
        ("raw", pcap(0xa1b2_c3d4, 101)),
        ("swapped", pcap(0xd4c3_b2a1, 1)),
        ("ng", pcapng()),
    ];
    let words = [
        "\u{1}\0\0\0",
        "\u{6}\0\0\0",
        "\u{3}\0\0\0",
        "\u{2}\0\0\0",
        "\n\r\r\n",
        "\u{9}\0\u{1}\0",
        "e\0\0\0",
        "\0\0\u{1}\0",
    ];
    seed(files.map(|(name, file)| (name.to_owned(), file)), words);
}

fuzz_target!(
    init: seeds(),
    |input: &[u8]| -> Corpus {
        PLACE.with_borrow(|place| body::check_input(place, input));
        Corpus::Keep
    }
);

/// The file cut into its header and records, or its blocks. Lengths that lead outside end it.
fn cut(file: &[u8]) -> Vec<Vec<u8>> {
    let ng = file.starts_with(&PCAPNG);
    let word = |at: usize| {
        file.get(at..at + 4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    };
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let length = match (ng, at) {
            (false, 0) => Some(HEADER),
            (false, _) => word(at + 8).map(|length| RECORD + length),
            (true, _) => word(at + 4).map(|length| length.max(12)),
        };
        let end =
            length.and_then(|length| at.checked_add(length)).filter(|end| *end <= file.len()).unwrap_or(file.len());
        pieces.push(file[at..end].to_vec());
        at = end;
    }
    pieces
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 4 == 0 || size < HEADER {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut draw = Draw::new(seed);
    let ng = data.starts_with(&PCAPNG);
    let mut file = cut(&data[..size]);
    pieces::mutate(&mut file, &mut draw, |piece, draw| {
        let header = if ng { 8 } else { RECORD };
        let lengths_stay = !draw.once_in(5) && piece.len() >= header + if ng { 4 } else { 0 };
        if !lengths_stay {
            return pieces::bytes(piece, draw);
        }
        if ng {
            let mut body = piece[8..piece.len() - 4].to_vec();
            let kind = u32::from_le_bytes([piece[0], piece[1], piece[2], piece[3]]);
            match kind {
                1 if body.len() >= 2 && draw.once_in(2) => {
                    body[..2].copy_from_slice(&(LINKS[draw.below(LINKS.len())] as u16).to_le_bytes());
                }
                6 if body.len() > 20 && draw.once_in(3) => body[20] = FIRST[draw.below(FIRST.len())],
                _ => pieces::bytes(&mut body, draw),
            }
            *piece = block(if draw.once_in(8) { draw.below(8) as u32 } else { kind }, &body);
        } else {
            let mut body = piece[RECORD..].to_vec();
            match body.first_mut() {
                Some(first) if draw.once_in(4) => *first = FIRST[draw.below(FIRST.len())],
                _ => pieces::bytes(&mut body, draw),
            }
            piece.truncate(RECORD);
            if draw.once_in(3) {
                pieces::bytes(piece, draw);
                piece.resize(RECORD, 0);
            }
            piece[8..12].copy_from_slice(&(body.len() as u32).to_le_bytes());
            piece.extend(body);
        }
    });
    put(data, size, max_size, &file.concat())
});
