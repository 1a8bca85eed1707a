//! The packet sequence that every scheme meets: Poisson arrivals, three sizes, 64 flows of which one sends an eighth
//! of all packets, and all codepoints that senders use.

use sojourn_aqm::Random;

/// A link of 20 Mbit/s.
pub const SERVICE_NS_PER_BYTE: u64 = 400;

/// `(bytes, share of 100)`: pure ACKs, small and full frames.
const SIZES: [(u16, u64); 3] = [(64, 30), (576, 10), (1500, 60)];
/// Mean of [`SIZES`]: 0.3 x 64 + 0.1 x 576 + 0.6 x 1500.
const MEAN_BYTES: f64 = 976.8;
const FLOWS: u64 = 64;

/// One arrival.
#[derive(Clone, Copy)]
pub struct Arrival {
    /// Since the one before, at load 1.
    pub gap_ns: u32,
    /// On the wire.
    pub bytes: u16,
    /// Number of the flow.
    pub flow: u8,
    /// The header's two bits: 60 % not ECN-capable, 25 % ECT(0), 15 % ECT(1).
    pub ecn: u8,
}

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Generator(u64);

impl Generator {
    /// From `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Random for Generator {
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// The first `count` arrivals.
pub fn arrivals(count: usize) -> Vec<Arrival> {
    let mut random = Generator::new(20);
    let mean_gap_ns = MEAN_BYTES * SERVICE_NS_PER_BYTE as f64;
    let arrival = |_| {
        let gap_ns = (-(1.0 - random.uniform()).ln() * mean_gap_ns) as u32;
        let mut size = random.below(100);
        let mut bytes = 0;
        for (of, share) in SIZES {
            bytes = of;
            if size < share {
                break;
            }
            size -= share;
        }
        let flow = if random.below(8) == 0 { 0 } else { random.below(FLOWS) as u8 };
        let ecn = match random.below(100) {
            0..60 => 0,
            60..85 => 2,
            _ => 1,
        };
        Arrival { gap_ns, bytes, flow, ecn }
    };
    (0..count).map(arrival).collect()
}

/// As eight bytes an arrival, in the order of the fields, little-endian.
pub fn bytes(arrivals: &[Arrival]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(arrivals.len() * 8);
    for arrival in arrivals {
        bytes.extend(arrival.gap_ns.to_le_bytes());
        bytes.extend(arrival.bytes.to_le_bytes());
        bytes.extend([arrival.flow, arrival.ecn]);
    }
    bytes
}
