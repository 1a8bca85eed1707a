//! The most that a scenario may ask for, and why. What lies beyond is a slip of the pen rather than an experiment.

pub(crate) use sojourn_document::{up_to, Bound};
use sojourn_units::{BitRate, Bytes, Packets, Span};
use std::fmt::Display;

pub(crate) const TIME: Bound<Span> = Bound {
    most: Span::from_secs(366 * 86_400),
    keys: "`duration`, `start`, `stop`, `changes.at`, periods and gaps of `traffic`, times of `trace`",
    why: "a year; sums of such times stay far below the 584 years that the clock counts in nanoseconds",
};

pub(crate) const DELAY: Bound<Span> = Bound {
    most: Span::from_secs(86_400),
    keys: "`delay` of links and buses, the most that `jitter` makes of it, times of `transport`, `window` of traces",
    why: "a day; packets in flight are held in memory",
};

pub(crate) const MEDIUM: Bound<Span> = Bound {
    most: Span::from_secs(1),
    keys: "`slot`, `sifs`, `symbol`, preambles, `answer_timeout`, `eifs` and `aggregate_duration` of cells",
    why: "standards use microseconds",
};

pub(crate) const RATE: Bound<BitRate> = Bound {
    most: BitRate::from_bit_s(10_000_000_000_000),
    keys: "every rate",
    why: "a full frame then takes one nanosecond, the unit of the clock",
};

pub(crate) const PACKETS: Bound<Packets> = Bound {
    most: Packets::new(1_000_000_000),
    keys: "`device_queue`, `windows`, `initial_window`, `window_limit`, `ack_every`, `quick_acks`",
    why: "products with the longest packet remain exact",
};

pub(crate) const FRAMING: Bound<Bytes> = Bound {
    most: Bytes::new(65_535),
    keys: "`overhead` of links and buses, `mac_header`",
    why: "the longest IPv4 packet",
};

pub(crate) const BURST: Bound<Bytes> = Bound {
    most: Bytes::new(1_000_000_000),
    keys: "`burst` of links",
    why: "at one bit a second it still takes fewer than the nanoseconds that the clock counts",
};

pub(crate) const DATA: Bound<Bytes> = Bound {
    most: Bytes::new(1_000_000_000_000_000),
    keys: "`size` of a transfer, `send_buffer`, `rts_threshold`, `aggregate_bytes`",
    why: "counts of bytes remain exact as floating-point numbers",
};

/// Packets a second, of a source.
pub(crate) const PACKET_RATE: Bound<f64> = Bound {
    most: 1e9,
    keys: "packets a second of a flow, on average while it sends",
    why: "one per nanosecond, the unit of the clock",
};

/// The rarest packets of a source: one in 30 years.
pub(crate) const SLOWEST: f64 = 1e-9;

pub(crate) const RETRIES: Bound<u32> =
    Bound { most: 1_000_000, keys: "retry limits of cells", why: "standards allow at most 255" };

pub(crate) const CHANGES: Bound<u64> = Bound {
    most: 100_000,
    keys: "changes of a run, those that `every` repeats included",
    why: "they are in memory before a run begins",
};

pub(crate) const REPLICATIONS: Bound<u32> =
    Bound { most: 1_000_000, keys: "`replications`", why: "each has a report in memory" };

/// Changes of a Markov-modulated rate in a run, on average at the shortest of its times.
pub(crate) const TRACE_ENTRIES: f64 = 10e6;

/// Names of phases.
pub(crate) const PHASES: usize = 1000;

/// More nodes, or flows, than this are a slip of the pen.
pub(crate) const MOST: u64 = 1_000_000;

/// Shapes of distributions.
pub(crate) const SHAPES: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// Values of all time series of a run: 16 B each, and 8 B for its instant.
pub(crate) const SERIES_VALUES: u64 = 50_000_000;

/// Hops of all flows' routes, and entries of tables to find them: 12 B to 24 B each.
pub(crate) const HOPS: u64 = 100_000_000;

/// Packets that the links of a way make of one by `duplicate`, on average.
pub(crate) const COPIES: f64 = 64.0;

/// Entries of the tables of flows of all queues: 4 B to 16 B each.
pub(crate) const TABLE_ENTRIES: u64 = 200_000_000;

/// Every bound for the reference: the keys, the most, and why.
#[must_use]
pub fn bounds() -> Vec<[String; 3]> {
    fn row<T: Display>(bound: &Bound<T>) -> [String; 3] {
        [bound.keys.to_owned(), bound.most.to_string(), bound.why.to_owned()]
    }
    let own = |keys: &str, most: String, why: &str| [keys.to_owned(), most, why.to_owned()];
    vec![
        row(&TIME),
        row(&DELAY),
        row(&MEDIUM),
        row(&RATE),
        row(&PACKET_RATE),
        row(&PACKETS),
        row(&FRAMING),
        row(&DATA),
        row(&RETRIES),
        row(&CHANGES),
        row(&REPLICATIONS),
        own("nodes, and flows, of a scenario", MOST.to_string(), "each has its state in memory"),
        own(
            "hops of all flows together, and nodes times destinations",
            HOPS.to_string(),
            "they are in memory before a run begins",
        ),
        own(
            "packets that `duplicate` makes of one on a flow's way there and back, on average",
            COPIES.to_string(),
            "each link doubles copies, too",
        ),
        own(
            "`flows` and `divisor` of the schemes of all queues together",
            TABLE_ENTRIES.to_string(),
            "their tables are in memory before a run begins",
        ),
        own(
            "changes of a Markov-modulated rate in a run",
            TRACE_ENTRIES.to_string(),
            "they are in memory during a run",
        ),
        own("phases of different names", PHASES.to_string(), "each has its statistics in memory"),
        own("values of all time series of a run", SERIES_VALUES.to_string(), "they are in memory until a run ends"),
        own(
            "`shape`",
            format!("{} to {}", SHAPES.start(), SHAPES.end()),
            "outside, random values are 0, infinite, or all equal",
        ),
    ]
}
