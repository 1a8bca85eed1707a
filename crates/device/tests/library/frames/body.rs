//! What holds of any bytes that arrive as frames: the body of the fuzz target `frame`, and of a test on frames that are
//! generated.

use sojourn_device::engine::{Direction, Engine};
use sojourn_device::frame::{parse, set_ce, Class, Fault, Parsed};
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::loopback;
use sojourn_device::record::Recorder;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Instant, Span};

const KEY: u64 = 3;

/// RFC 1071: the ones' complement sum of all 16-bit words.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two.get(1).copied().unwrap_or(0)));
    let mut total: u32 = words.sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// One frame: read without a panic, and marked without harm.
pub fn check_frame(frame: &[u8]) -> Parsed {
    let parsed = parse(frame, KEY);
    assert_eq!(parsed, parse(frame, KEY), "reads otherwise the second time");
    assert_eq!(parsed.fault == Some(Fault::Runt), frame.len() < 14);
    if parsed.fault.is_some() {
        let Parsed { class, ecn, dscp, ip, .. } = parsed;
        assert_eq!((class, ecn, dscp, ip), (Class::Other, 0, 0, 0), "something is believed of a faulty frame");
    }
    let mut marked = frame.to_vec();
    set_ce(&mut marked, usize::from(parsed.ip));
    if std::env::var_os("FUZZ_DEFECT").is_some() && parsed.ip > 14 && frame[usize::from(parsed.ip)] == 0x46 {
        // The defect that the fuzzer must find: with a tag and options, the mark hits the payload.
        marked[usize::from(parsed.ip) + 24] ^= 3;
    }
    if parsed.ip == 0 {
        return parsed;
    }
    let ip = usize::from(parsed.ip);
    check_headers(&frame[12..ip]);
    // What comes before it does not change what is read of the packet.
    let ether_type: [u8; 2] = if frame[ip] >> 4 == 4 { [0x08, 0x00] } else { [0x86, 0xdd] };
    let plain = [&frame[..12], &ether_type, &frame[ip..]].concat();
    assert_eq!(parse(&plain, KEY), Parsed { ip: 14, ..parsed }, "reads otherwise behind its headers");
    assert_eq!(parse(&marked, KEY), Parsed { ecn: 3, ..parsed }, "a mark changes more than ECN");
    let header = if frame[ip] >> 4 == 4 { usize::from(frame[ip] & 15) * 4 } else { 40 };
    if frame[ip] >> 4 == 4 {
        // Right stays right, wrong stays as wrong: 0 and all ones are the same number in ones' complement.
        let (before, after) = (sum(&frame[ip..ip + header]), sum(&marked[ip..ip + header]));
        assert_eq!(before % 0xffff, after % 0xffff, "the checksum is off by something else than before");
    }
    let elsewhere = |bytes: &[u8]| [&bytes[..ip], &bytes[ip + header..]].concat();
    assert_eq!(elsewhere(frame), elsewhere(&marked), "a mark writes outside of the IP header");
    parsed
}

/// What lies before an IP header: tags, then an EtherType of IP, a PPPoE session or labels.
fn check_headers(mut headers: &[u8]) {
    while let [0x81 | 0x91, 0, _, _, rest @ ..] | [0x88, 0xa8, _, _, rest @ ..] = headers {
        headers = rest;
    }
    match headers {
        [0x08, 0x00] | [0x86, 0xdd] | [0x88, 0x64, 0x11, 0, _, _, _, _, 0, 0x21 | 0x57] => {}
        [0x88, 0x47 | 0x48, labels @ ..] => {
            let bottoms = labels.chunks(4).map(|entry| entry.len() == 4 && entry[2] & 1 == 1);
            assert!(bottoms.eq((1..=labels.len() / 4).map(|n| n == labels.len() / 4)), "{labels:x?}");
        }
        _ => panic!("IP behind {headers:x?}"),
    }
}

/// Frames through the whole device: each is somewhere, and every place in memory comes back.
pub fn check_device(scheme: &str, frames: &[Vec<u8>]) {
    const POOL: usize = 128;
    let config = PathConfig {
        scheme: Some(scheme.parse().expect("a scheme")),
        rate: BitRate::from_bit_s(100_000_000),
        overhead: Bytes::new(24),
        burst: Span::from_millis(1),
        delay: Span::from_micros(20),
    };
    let path = |config: &PathConfig, seed| Path::new(config, Box::new(Stream::seeded(seed)), KEY, Recorder::idle());
    let paths = [path(&config, 1), path(&PathConfig { scheme: None, ..config.clone() }, 2)];
    let ((a, far_a), (b, far_b)) = (loopback("a"), loopback("b"));
    let mut engine = Engine::new(Pool::new(POOL as u32, 2048, 64).expect("memory"), [Box::new(a), Box::new(b)], paths);
    let (mut now, mut there, mut back) = (Instant::ZERO, 0, 0);
    for burst in frames.chunks(7) {
        for frame in burst {
            far_a.put(frame.clone());
            far_b.put(frame.clone());
        }
        engine.step(now).expect("loopback works");
        // Seven frames of 700 B take 400 us: overload, so that also marks and drops come to pass.
        now += Span::from_micros(300);
        there += std::iter::from_fn(|| far_b.get()).count() as u64;
        back += std::iter::from_fn(|| far_a.get()).count() as u64;
    }
    let runts = frames.iter().filter(|frame| frame.len() < 14).count() as u64;
    let [port_a, port_b] = engine.port_counters();
    for port in [port_a, port_b] {
        assert_eq!(port.received + port.oversize + port.missed, frames.len() as u64, "received");
    }
    let count = |engine: &Engine, direction| {
        let (path, at) = (engine.path(direction), engine.frame_counts(direction));
        (path.counters(), path.faults()[Fault::Runt as usize], at.delayed + at.ready, at.queued)
    };
    let (counters, runts_there, under_way, queued) = count(&engine, Direction::AToB);
    let dropped = counters.dropped_total().packets;
    assert_eq!(
        port_a.received,
        there + under_way + queued + dropped + runts_there,
        "received is not sent + dropped + queued"
    );
    assert_eq!(port_a.received, counters.arrived.packets + runts_there);
    let (_, runts_back, under_way, _) = count(&engine, Direction::BToA);
    assert_eq!(port_b.received, back + under_way + runts_back, "received is not sent + delayed");
    assert!(runts_there <= runts && runts_back <= runts);
    // Bound: what waits is less than the pool.
    for _ in 0..8 * POOL {
        let Some(due) = engine.next_due() else { break };
        now = now.max(due);
        engine.step(now).expect("loopback works");
    }
    assert_eq!(engine.pool.free(), POOL, "a frame is lost");
}

/// A fuzzer's input: frames, each behind two bytes of its length.
#[allow(dead_code, reason = "the fuzz target's part")]
pub fn check_input(mut input: &[u8]) {
    let mut frames = Vec::new();
    while let [high, low, rest @ ..] = input {
        let length = (usize::from(*high) << 8 | usize::from(*low)).min(rest.len());
        frames.push(rest[..length].to_vec());
        input = &rest[length..];
    }
    frames.iter().for_each(|frame| {
        check_frame(frame);
    });
    check_device("fq_codel ecn limit 20p target 50us interval 1ms ce_threshold 20us", &frames);
}
