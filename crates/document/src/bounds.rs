//! The most that a document may ask for, with the reason.

use crate::{Error, Path};
use sojourn_units::{BitRate, Bytes, Packets, Span};
use std::fmt::Display;

/// What keys of one kind may be at most.
#[derive(Clone, Copy, Debug)]
pub struct Bound<T> {
    /// The greatest value.
    pub most: T,
    /// The keys, for the reference.
    pub keys: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// Refuses a value beyond its bound.
///
/// # Errors
/// The value, and what is allowed.
pub fn up_to<T: PartialOrd + Display>(value: T, bound: &Bound<T>, path: impl FnOnce() -> Path) -> Result<(), Error> {
    // Not `>`, so that NaN is refused.
    if value <= bound.most {
        return Ok(());
    }
    Err(Error::new(path(), format!("is {value}; allowed: up to {}", bound.most)))
}

/// Refuses a time of 0.
///
/// # Errors
/// What is allowed.
pub fn positive(span: Span, path: Path) -> Result<(), Error> {
    if span.is_zero() {
        return Err(Error::new(path, "is 0; allowed: a time above 0, as in \"5 ms\""));
    }
    Ok(())
}

/// Refuses a rate of 0, and one beyond its bound.
///
/// # Errors
/// What is allowed.
pub fn positive_rate(rate: BitRate, path: Path) -> Result<(), Error> {
    if rate.is_zero() {
        return Err(Error::new(path, "is 0; allowed: a rate above 0, as in \"10 Mbit/s\""));
    }
    up_to(rate, &RATE, || path)
}

/// Instants and periods.
pub const TIME: Bound<Span> = Bound {
    most: Span::from_secs(366 * 86_400),
    keys: "`duration`, `start`, `stop`, `changes.at`, periods and gaps of `traffic`, times of `trace`",
    why: "a year; sums of such times stay far below the 584 years that the clock counts in nanoseconds",
};

/// Delays, of links and of timers.
pub const DELAY: Bound<Span> = Bound {
    most: Span::from_secs(86_400),
    keys: "`delay` of links and buses, the most that `jitter` makes of it, times of `transport`, `window` of traces",
    why: "a day; packets in flight are held in memory",
};

/// Times of a medium's access.
pub const MEDIUM: Bound<Span> = Bound {
    most: Span::from_secs(1),
    keys: "`slot`, `sifs`, `symbol`, preambles, `answer_timeout`, `eifs` and `aggregate_duration` of cells",
    why: "standards use microseconds",
};

/// Rates.
pub const RATE: Bound<BitRate> = Bound {
    most: BitRate::from_bit_s(10_000_000_000_000),
    keys: "every rate",
    why: "a full frame then takes one nanosecond, the unit of the clock",
};

/// Numbers of packets.
pub const PACKETS: Bound<Packets> = Bound {
    most: Packets::new(1_000_000_000),
    keys: "`device_queue`, `windows`, `initial_window`, `window_limit`, `ack_every`, `quick_acks`",
    why: "products with the longest packet remain exact",
};

/// Bytes that a link adds to a packet.
pub const FRAMING: Bound<Bytes> = Bound {
    most: Bytes::new(65_535),
    keys: "`overhead` of links and buses, `mac_header`",
    why: "the longest IPv4 packet",
};

/// Token buckets.
pub const BURST: Bound<Bytes> = Bound {
    most: Bytes::new(1_000_000_000),
    keys: "`burst` of links",
    why: "at one bit a second it still takes fewer than the nanoseconds that the clock counts",
};

/// Amounts of data.
pub const DATA: Bound<Bytes> = Bound {
    most: Bytes::new(1_000_000_000_000_000),
    keys: "`size` of a transfer, `send_buffer`, `rts_threshold`, `aggregate_bytes`",
    why: "counts of bytes remain exact as floating-point numbers",
};

/// Packets a second, of a source.
pub const PACKET_RATE: Bound<f64> = Bound {
    most: 1e9,
    keys: "packets a second of a flow, on average while it sends",
    why: "one per nanosecond, the unit of the clock",
};

/// The rarest packets of a source: one in 30 years.
pub const SLOWEST: f64 = 1e-9;

/// Retry limits.
pub const RETRIES: Bound<u32> =
    Bound { most: 1_000_000, keys: "retry limits of cells", why: "standards allow at most 255" };

/// Changes of a run.
pub const CHANGES: Bound<u64> = Bound {
    most: 100_000,
    keys: "changes of a run, those that `every` repeats included",
    why: "they are in memory before a run begins",
};

/// Replications.
pub const REPLICATIONS: Bound<u32> =
    Bound { most: 1_000_000, keys: "`replications`", why: "each has a report in memory" };

/// Changes of a Markov-modulated rate in a run, on average at the shortest of its times.
pub const TRACE_ENTRIES: f64 = 10e6;

/// Names of phases.
pub const PHASES: usize = 1000;

/// More nodes, or flows, than this are a slip of the pen.
pub const MOST: u64 = 1_000_000;

/// Shapes of distributions.
pub const SHAPES: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// Values of all time series of a run: 16 B each, and 8 B for its instant.
pub const SERIES_VALUES: u64 = 50_000_000;

/// Hops of all flows' routes, and entries of tables to find them: 12 B to 24 B each.
pub const HOPS: u64 = 100_000_000;

/// Packets that the links of a way make of one by `duplicate`, on average.
pub const COPIES: f64 = 64.0;

/// Entries of the tables of flows of all queues: 4 B to 16 B each.
pub const TABLE_ENTRIES: u64 = 200_000_000;

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
