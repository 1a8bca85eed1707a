//! Tables of a store: `store.sql` makes them and says what their columns mean; here stand their values.

use rusqlite::types::Value;
use sojourn_measure::WindowRow;

/// Of the tables, as `store.sql` sets it; a store of another is not touched.
pub const VERSION: i64 = 1;
/// `SJRD`, as `store.sql` sets it: tells a store from other SQLite files.
pub const APPLICATION: i64 = 0x534a_5244;
/// Statements that make an empty store.
pub const CREATE: &str = include_str!("../../store.sql");

/// A quantity of a window: its column in `windows` and its value.
pub type Column = (&'static str, fn(&WindowRow) -> Value);

/// SQLite's whole numbers have a sign.
pub fn whole(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn real(value: impl Into<Option<f64>>) -> Value {
    value.into().map_or(Value::Null, Value::Real)
}

macro_rules! columns {
    ($($kind:ident: $($name:ident)*;)*) => {
        /// Every quantity of a window.
        pub const COLUMNS: &[Column] = &[$($((stringify!($name), |row| $kind(row.$name)),)*)*];
    };
}

columns! {
    whole: arrived arrived_bytes dropped_overflow dropped_early dropped_flow marked forwarded;
    real: load mean_size_bytes std_size_bytes mean_queue_packets std_queue_packets mean_queue_arrivals_packets
        std_queue_arrivals_packets loss_ratio burst_ratio impairment_i impairment_c sojourn_p50_s sojourn_p95_s
        sojourn_p99_s sojourn_mean_s;
}

/// The other columns of `windows` that are given a value, in their order.
const KEYS: [&str; 9] =
    ["run", "started_ns", "ended_ns", "direction", "scheme", "label", "slot", "rate_bit_s", "complete"];

/// The statement that stores a window: the values of the keys, then of the columns; the date is made from the begin.
pub fn insert_window() -> String {
    let names: Vec<_> = KEYS.into_iter().chain(COLUMNS.iter().map(|column| column.0)).collect();
    let places: Vec<_> = (1..=names.len()).map(|n| format!("?{n}")).collect();
    format!("INSERT INTO windows (started_at, {}) VALUES ({}, {})", names.join(", "), date(2), places.join(", "))
}

/// SQL for the date of the nanoseconds in place `n`.
pub fn date(n: usize) -> String {
    format!("strftime('%Y-%m-%dT%H:%M:%fZ', ?{n} / 1e9, 'unixepoch')")
}
