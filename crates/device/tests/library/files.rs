//! Captured frames in and out, traces, and faults on purpose.

use sojourn_device::offline::{self, Files};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::{loopback, Capture, FaultConfig, Faults, Port, Record, TimeSource, Tracer, Writer};
use sojourn_device::record::Recorder;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Probability, Span};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// 22 November 2026.
const DAY: u64 = 1_795_305_600_000_000_000;

/// A file of this test alone, removed at its end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("sojourn-{}-{name}", std::process::id())))
    }

    fn with(name: &str, bytes: &[u8]) -> Self {
        let file = Self::new(name);
        std::fs::write(&file.0, bytes).unwrap();
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(file: &Temporary) -> Vec<Record> {
    let mut capture = Capture::open(&file.0).unwrap();
    std::iter::from_fn(|| capture.take().unwrap()).collect()
}

fn record(nanos: u64, contents: &[u8]) -> Record {
    Record { at: Instant::from_nanos(nanos), contents: contents.to_vec() }
}

fn path(scheme: Option<&str>) -> Path {
    let config = PathConfig {
        scheme: scheme.map(|text| text.parse().unwrap()),
        rate: BitRate::from_bit_s(8_000_000),
        overhead: Bytes::new(0),
        burst: Span::from_millis(1),
        delay: Span::from_millis(3),
    };
    Path::new(&config, Box::new(Stream::seeded(1)), 7, Recorder::idle())
}

#[test]
fn a_file_is_replayed_in_its_own_time() {
    let (forth, back) = (Temporary::new("forth.pcap"), Temporary::new("back.pcap"));
    let (out_a, out_b) = (Temporary::new("a.pcap"), Temporary::new("b.pcap"));
    let mut writer = Writer::create(&forth.0).unwrap();
    // Five at once, and one more a second later.
    for (n, ns) in [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 1_000_000_000)] {
        writer.write(Instant::from_nanos(DAY + 7 + ns), &[n; 100]).unwrap();
    }
    writer.finish().unwrap();
    let mut writer = Writer::create(&back.0).unwrap();
    writer.write(Instant::from_nanos(DAY + 500), &[9; 60]).unwrap();
    writer.finish().unwrap();
    let files = [
        Files { input: Some(forth.0.clone()), output: Some(out_a.0.clone()) },
        Files { input: Some(back.0.clone()), output: Some(out_b.0.clone()) },
    ];
    let pool = Pool::new(64, 2048, 256).unwrap();
    let outcome = offline::run(pool, files, [path(Some("pfifo limit 3p")), path(None)]).unwrap();
    // 100 B at 8 Mbit/s take 100 us: one is sent at once, three wait, the fifth is dropped. Each arrives 3 ms after it is out.
    let at = |us: u64| DAY + 7 + 3_000_000 + us * 1000;
    let expected: Vec<Record> =
        [(0, 100), (1, 200), (2, 300), (3, 400), (5, 1_000_100)].map(|(n, us)| record(at(us), &[n; 100])).into();
    assert_eq!(read(&out_b), expected);
    assert_eq!(read(&out_a), [record(DAY + 500 + 3_000_000, &[9; 60])]);
    assert_eq!(outcome.took, Span::from_nanos(1_003_100_000));
    assert_eq!(outcome.frames_free, 64);
    assert_eq!(outcome.paths[0].counters().dropped_total().packets, 1);
    let [a, b] = outcome.ports;
    assert_eq!((a.received, a.sent, b.received, b.sent), (6, 1, 1, 5));
}

#[test]
fn a_file_is_not_written_over_while_it_is_read() {
    let file = Temporary::new("same.pcap");
    let mut writer = Writer::create(&file.0).unwrap();
    writer.write(Instant::from_nanos(5), &[1; 60]).unwrap();
    writer.finish().unwrap();
    let same = Files { input: Some(file.0.clone()), output: None };
    let files = [same, Files { input: None, output: Some(file.0.clone()) }];
    let refused = offline::run(Pool::new(4, 2048, 0).unwrap(), files, [path(None), path(None)]);
    assert!(refused.err().unwrap().what.contains("written over"));
    assert_eq!(read(&file).len(), 1);
}

/// Words in this machine's order, as the formats allow.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn microseconds_raw_ip_and_cut_frames_are_understood() {
    // libpcap's header: magic, version 2.4, zone, accuracy, snap length 96, link type 101 (raw IP).
    let mut bytes = words(&[0xa1b2_c3d4]);
    bytes.extend([2_u16, 4].iter().flat_map(|half| half.to_ne_bytes()));
    bytes.extend(words(&[0, 0, 96, 101]));
    // 5 s and 7 us; a header of IPv6 captured of 200 bytes, whose payload has 160.
    let mut header = vec![0x60, 0, 0, 0, 0, 160, 17, 64];
    header.resize(40, 1);
    bytes.extend(words(&[5, 7, 40, 200]));
    bytes.extend(&header);
    let file = Temporary::with("raw.pcap", &bytes);
    let mut contents = vec![0; 12];
    contents.extend([0x86, 0xdd]);
    contents.extend(&header);
    contents.resize(214, 0);
    assert_eq!(read(&file), [record(5_000_007_000, &contents)]);
}

/// A pcapng file of one frame at 3 units, whose interface has these options.
fn pcapng(options: &[u32]) -> Vec<u8> {
    // Section header: magic, version 1.0, length unknown.
    let mut bytes = words(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d]);
    bytes.extend([1_u16, 0].iter().flat_map(|half| half.to_ne_bytes()));
    bytes.extend(words(&[u32::MAX, u32::MAX, 28]));
    // Interface: Ethernet, no snap length.
    let length = 20 + 4 * options.len() as u32;
    bytes.extend(words(&[1, length]));
    bytes.extend([1_u16, 0].iter().flat_map(|half| half.to_ne_bytes()));
    bytes.extend(words(&[0]));
    bytes.extend(words(options));
    bytes.extend(words(&[length]));
    // Enhanced packet: interface 0, time 3, 4 bytes.
    bytes.extend(words(&[6, 36, 0, 0, 3, 4, 4, 0x0101_0101, 36]));
    bytes
}

#[test]
fn times_of_pcapng_are_in_the_resolution_of_the_interface() {
    let resolution = |value: u8| {
        let head = u32::from_ne_bytes([9_u16.to_ne_bytes(), 1_u16.to_ne_bytes()].concat().try_into().unwrap());
        vec![head, u32::from_ne_bytes([value, 0, 0, 0]), 0]
    };
    // Microseconds where nothing is said; 10^-9; 2^-2 s.
    for (options, nanos) in
        [(vec![], 3_000), (resolution(9), 3), (resolution(3), 3_000_000), (resolution(0x82), 750_000_000)]
    {
        let file = Temporary::with("resolution.pcapng", &pcapng(&options));
        assert_eq!(read(&file), [record(nanos, &[1; 4])], "{options:?}");
    }
}

#[test]
fn a_replay_tells_what_was_left_out_and_what_to_set() {
    // Linux cooked (113): 16 bytes whose last two are the EtherType, IPv4 or ARP. 3,000 B need a frame of 4,096 B with its
    // headroom of 256 B and an Ethernet header; 60,000 B have room in none.
    let mut bytes = words(&[0xa1b2_c3d4]);
    bytes.extend([2_u16, 4].iter().flat_map(|half| half.to_ne_bytes()));
    bytes.extend(words(&[0, 0, 65_535, 113]));
    let frame = |ether_type: [u8; 2], length: u16| {
        let [high, low] = length.to_be_bytes();
        let mut frame = [&[0; 14][..], &ether_type, &[0x45, 0, high, low]].concat();
        frame.resize(16 + usize::from(length), 0);
        frame
    };
    let replay = |frames: &[Vec<u8>], cut: usize| {
        let mut bytes = bytes.clone();
        for frame in frames {
            bytes.extend(words(&[5, 0, frame.len() as u32, frame.len() as u32]));
            bytes.extend(frame);
        }
        bytes.truncate(bytes.len() - cut);
        let file = Temporary::with("left-out.pcap", &bytes);
        let files = [Files { input: Some(file.0.clone()), output: None }, Files::default()];
        let outcome = offline::run(Pool::new(64, 2048, 256).unwrap(), files, [path(None), path(None)]).unwrap();
        let [input, none] = outcome.inputs;
        assert_eq!(none, None);
        let (input, oversize) = (input.unwrap(), outcome.ports[0].oversize);
        assert_eq!(outcome.ports[0].received + oversize, input.account.taken);
        input.warnings(std::path::Path::new("x.pcap"), oversize, 2048)
    };
    let (small, arp) = (frame([8, 0], 100), frame([8, 6], 100));
    assert_eq!(replay(std::slice::from_ref(&small), 0), [] as [String; 0]);
    assert_eq!(
        replay(&[small.clone(), arp, small.clone()], 1),
        [
            "x.pcap: 1 of 2 frames were skipped: ether_type_0x0806 1",
            "x.pcap: ends in the middle of a frame; what is whole was taken",
        ]
    );
    let told =
        "x.pcap: 1 of 1 frames were left out (`oversize`): frames of 2048 B have room for 1792 B, and the longest has";
    assert_eq!(replay(&[frame([8, 0], 3000)], 0), [format!("{told} 3014 B; set `frames.size = \"4096 B\"`")]);
    let longest = format!(
        "{told} 60014 B; record with `ethtool -K IF gro off gso off tso off`, which leaves packets as they are on the wire"
    );
    assert_eq!(replay(&[frame([8, 0], 60_000)], 0), [longest]);
}

#[test]
fn a_trace_has_both_directions_and_an_end() {
    let file = Temporary::new("trace.pcapng");
    let (port, far) = loopback("wire");
    let clock = Arc::new(AtomicU64::new(0));
    let mut tracer = Tracer::new(Box::new(port), &file.0, 3, TimeSource::Virtual(Arc::clone(&clock))).unwrap();
    let mut pool = Pool::new(8, 2048, 0).unwrap();
    let mut frames = Vec::new();
    far.put(vec![1; 60]);
    far.put(vec![2; 60]);
    clock.store(1_000, Ordering::Relaxed);
    tracer.receive(&mut pool, &mut frames).unwrap();
    let mut out: VecDeque<_> = frames.into_iter().rev().collect();
    clock.store(2_000, Ordering::Relaxed);
    tracer.send(&mut pool, &mut out).unwrap();
    // The fourth frame is one more than asked for; the port goes on.
    assert_eq!((tracer.counters().received, tracer.counters().sent, pool.free()), (2, 2, 8));
    assert_eq!(read(&file), [record(1_000, &[1; 60]), record(1_000, &[2; 60]), record(2_000, &[2; 60])]);
    let bytes = std::fs::read(&file.0).unwrap();
    // Option 2 of 4 bytes: inbound twice, outbound once.
    let flags = |value: u32| {
        let option = [words(&[u32::from_ne_bytes([2, 0, 4, 0])]), words(&[value])].concat();
        bytes.windows(8).filter(|window| *window == option).count()
    };
    assert_eq!((flags(1), flags(2)), (2, 1));
}

#[test]
fn faults_come_as_often_as_asked_and_nothing_gets_lost_otherwise() {
    let percent = |p: f64| Probability::new(p / 100.0).unwrap();
    let (port, far) = loopback("wire");
    let config = FaultConfig {
        loss: percent(10.0),
        duplication: percent(5.0),
        reordering: percent(4.0),
        corruption: percent(20.0),
        seed: 1,
    };
    let mut port = Faults::new(Box::new(port), config);
    let counts = port.counts();
    let mut pool = Pool::new(256, 2048, 0).unwrap();
    let (mut frames, mut received, mut order) = (Vec::new(), 0, Vec::new());
    for turn in 0..=1000_u32 {
        if turn < 1000 {
            (0..20).for_each(|n| far.put([&(turn * 20 + n).to_be_bytes()[..], &[0; 56]].concat()));
        }
        port.receive(&mut pool, &mut frames).unwrap();
        for frame in frames.drain(..) {
            received += 1;
            let contents = pool.contents(frame);
            // A bit of the number itself may be the one that changed.
            if contents[4..].iter().all(|byte| *byte == 0) {
                order.push(u32::from_be_bytes(contents[..4].try_into().unwrap()));
            }
            pool.give(frame);
        }
    }
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (lost, twice) = (load(&counts.lost), load(&counts.duplicated));
    assert_eq!(received, 20_000 - lost + twice);
    assert_eq!(port.counters().received, received);
    assert_eq!(port.counters().received_bytes, 60 * received);
    assert_eq!(pool.free(), 256);
    // Within five deviations, sqrt(n p (1 - p)), of n p: 2000 lost; of the 18,000 others 3600 damaged and 720 behind their
    // next; of the rest 864 twice.
    for (name, found, n, p) in [
        ("lost", lost, 20_000.0, 0.1),
        ("corrupted", load(&counts.corrupted), 18_000.0, 0.2),
        ("reordered", load(&counts.reordered), 18_000.0, 0.04),
        ("duplicated", twice, 17_280.0, 0.05),
    ] {
        let expected: f64 = n * p;
        assert!((found as f64 - expected).abs() < 5.0 * (expected * (1.0 - p)).sqrt(), "{name}: {found}");
    }
    let behind = order.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64;
    // A reordered frame is seen as such where neither it nor the one before it is damaged: 0.8 of 720 and more.
    assert!((400.0..720.0).contains(&behind), "{behind}");
    assert!(order.windows(2).any(|pair| pair[1] == pair[0]));
}
