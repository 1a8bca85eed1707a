//! An engine whose queue serves half of what a device of DPDK's that always has frames delivers.

use sojourn_device::engine::Engine;
use sojourn_device::path::{Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::Port;
use sojourn_device::record::Recorder;
use sojourn_random::Stream;
use sojourn_units::{BitRate, Bytes, Span};

/// Frames of the pool.
pub const FRAMES: u64 = 256;
/// Between two turns.
pub const TURN: Span = Span::from_micros(3200);

/// From the first port, with frames of 100 B, to the second.
pub fn engine(ports: [Box<dyn Port>; 2]) -> Engine {
    let config = PathConfig {
        scheme: Some("pfifo limit 50p".parse().unwrap()),
        // 100 B at 8 Mbit/s take 100 us: 32 packets in 3.2 ms, of the 64 that come.
        rate: BitRate::from_bit_s(8_000_000),
        overhead: Bytes::new(0),
        burst: Span::from_secs(1),
        delay: Span::ZERO,
    };
    let forth = Path::new(&config, Box::new(Stream::seeded(1)), 7, Recorder::idle());
    let back = Path::new(&PathConfig { scheme: None, ..config }, Box::new(Stream::seeded(2)), 7, Recorder::idle());
    Engine::new(Pool::new(FRAMES as u32, 2048, 0).unwrap(), ports, [forth, back])
}
