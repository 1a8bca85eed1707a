//! Tables of a store, and what its columns mean.

use rusqlite::types::Value;
use sojourn_measure::WindowRow;

/// Of the tables; a store of another is not touched.
pub const VERSION: i64 = 1;
/// `SJRD`: tells a store from other SQLite files.
pub const APPLICATION: i64 = 0x534a_5244;

/// A quantity of a window: its column, unit, meaning and value.
pub struct Column {
    /// Its name in the table `windows`.
    pub name: &'static str,
    /// Its unit; empty of a ratio.
    pub unit: &'static str,
    /// One line.
    pub meaning: &'static str,
    /// Whether it is a whole number.
    pub whole: bool,
    /// Its value in a window.
    pub value: fn(&WindowRow) -> Value,
}

fn whole(count: u64) -> Value {
    Value::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn real(value: impl Into<Option<f64>>) -> Value {
    value.into().map_or(Value::Null, Value::Real)
}

macro_rules! columns {
    ($($name:ident, $kind:ident, $unit:literal, $meaning:literal;)*) => {
        /// Every quantity of a window.
        pub const COLUMNS: &[Column] = &[$(Column {
            name: stringify!($name),
            unit: $unit,
            meaning: $meaning,
            whole: columns!(@whole $kind),
            value: |row| $kind(row.$name),
        },)*];
    };
    (@whole whole) => { true };
    (@whole real) => { false };
}

columns! {
    arrived, whole, "packets", "offered to the queue";
    arrived_bytes, whole, "bytes", "their bytes, without framing";
    dropped_overflow, whole, "packets", "dropped because the queue was full";
    dropped_early, whole, "packets", "dropped by the algorithm before it was full";
    dropped_flow, whole, "packets", "dropped because of their flow";
    marked, whole, "packets", "marked CE";
    forwarded, whole, "packets", "left the queue to be sent";
    load, real, "", "bits offered, framing included, over what the capacity could carry";
    mean_size_bytes, real, "bytes", "size of packets offered, without framing: mean";
    std_size_bytes, real, "bytes", "its deviation";
    mean_queue_packets, real, "packets", "packets waiting: mean over time";
    std_queue_packets, real, "packets", "its deviation over time";
    mean_queue_arrivals_packets, real, "packets", "packets waiting as arrivals found them: mean over arrivals";
    std_queue_arrivals_packets, real, "packets", "its deviation over arrivals";
    loss_ratio, real, "", "packets dropped over packets offered";
    burst_ratio, real, "", "mean length of a run of losses over that of independent losses; NULL without a loss";
    impairment_i, real, "", "equation 6 of doi:10.1371/journal.pone.0263407, I; 0 without a loss";
    impairment_c, real, "", "equation 7 of the same: mean queue over time in packets, and I";
    sojourn_p50_s, real, "s", "sojourn time of packets that left: median, to 0.8 %";
    sojourn_p95_s, real, "s", "its 95 % quantile";
    sojourn_p99_s, real, "s", "its 99 % quantile";
    sojourn_mean_s, real, "s", "its mean, exact";
}

/// What the other columns of `windows` mean.
const KEYS: [(&str, &str, &str, &str); 11] = [
    ("window", "INTEGER PRIMARY KEY", "", "number of the window in this store, in the order of their ends"),
    ("run", "INTEGER NOT NULL REFERENCES runs (run)", "", "the process that measured it"),
    (
        "started_ns",
        "INTEGER NOT NULL",
        "ns",
        "begin, since 1970-01-01 UTC, by a clock that is not stepped within a run",
    ),
    ("ended_ns", "INTEGER NOT NULL", "ns", "end, likewise"),
    ("started_at", "TEXT NOT NULL", "", "begin as UTC date and time (ISO 8601)"),
    ("direction", "TEXT NOT NULL", "", "a_to_b or b_to_a"),
    ("scheme", "TEXT NOT NULL", "", "scheme in force, as tc writes it"),
    ("label", "TEXT NOT NULL", "", "its name in schedule or configuration"),
    ("slot", "INTEGER", "", "slot of the schedule; NULL outside one"),
    ("rate_bit_s", "INTEGER NOT NULL", "bit/s", "capacity by which load is taken"),
    (
        "complete",
        "INTEGER NOT NULL",
        "",
        "1: as many arrivals as asked for; 0: ended early by a switch or the end of the run",
    ),
];

/// Statements that make an empty store.
pub fn create() -> String {
    let keys = KEYS.iter().map(|(name, kind, _, _)| format!("{name} {kind}"));
    let values = COLUMNS.iter().map(|column| {
        let kind = if column.whole { "INTEGER NOT NULL" } else { "REAL" };
        format!("{} {kind}", column.name)
    });
    let windows: Vec<_> = keys.chain(values).collect();
    let quote = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let meanings = KEYS
        .iter()
        .map(|(name, _, unit, meaning)| (*name, *unit, *meaning))
        .chain(COLUMNS.iter().map(|column| (column.name, column.unit, column.meaning)))
        .map(|(name, unit, meaning)| format!("({}, {}, {})", quote(name), quote(unit), quote(meaning)));
    let meanings: Vec<_> = meanings.collect();
    format!(
        "CREATE TABLE runs (
    run INTEGER PRIMARY KEY,
    version TEXT NOT NULL,
    config TEXT NOT NULL,
    seed TEXT NOT NULL,
    rate_bit_s INTEGER NOT NULL,
    overhead_bytes INTEGER NOT NULL,
    started_ns INTEGER NOT NULL,
    started_at TEXT NOT NULL
);
CREATE TABLE windows (
    {}
);
CREATE TABLE classes (
    window INTEGER NOT NULL REFERENCES windows (window),
    class TEXT NOT NULL,
    arrived INTEGER NOT NULL,
    arrived_bytes INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    marked INTEGER NOT NULL,
    PRIMARY KEY (window, class)
) WITHOUT ROWID;
CREATE TABLE slots (
    run INTEGER NOT NULL REFERENCES runs (run),
    slot INTEGER NOT NULL,
    direction TEXT NOT NULL,
    label TEXT NOT NULL,
    scheme TEXT NOT NULL,
    due_ns INTEGER NOT NULL,
    began_ns INTEGER NOT NULL,
    seed TEXT NOT NULL,
    design TEXT NOT NULL
);
CREATE TABLE columns (
    name TEXT PRIMARY KEY,
    unit TEXT NOT NULL,
    meaning TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO columns VALUES
    {};
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
",
        windows.join(",\n    "),
        meanings.join(",\n    "),
    )
}

/// The statement that stores a window: the keys but the window's own number (and the date, made from the begin), then the columns.
pub fn insert_window() -> String {
    let names: Vec<_> = KEYS.iter().skip(1).map(|key| key.0).chain(COLUMNS.iter().map(|column| column.name)).collect();
    let places = names.iter().enumerate().map(|(n, name)| match *name {
        "started_at" => date(2),
        // The date takes no place of its own.
        _ if n > 3 => format!("?{n}"),
        _ => format!("?{}", n + 1),
    });
    let places: Vec<_> = places.collect();
    format!("INSERT INTO windows ({}) VALUES ({})", names.join(", "), places.join(", "))
}

/// SQL for the date of the nanoseconds in place `n`.
pub fn date(n: usize) -> String {
    format!("strftime('%Y-%m-%dT%H:%M:%fZ', ?{n} / 1e9, 'unixepoch')")
}
