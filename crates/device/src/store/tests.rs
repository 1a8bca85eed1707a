#![allow(clippy::unwrap_used)]

use super::*;
use crate::clock::Clock;
use crate::record::Setting;
use sojourn_aqm::Reason;
use sojourn_measure::Window;
use sojourn_units::{BitRate, Bytes, Instant, Span};

fn run() -> Run {
    Run {
        version: "test".into(),
        config: "[a_to_b]\n".into(),
        seed: u64::MAX,
        rate_bit_s: 8_000_000,
        overhead_bytes: 20,
    }
}

/// Two packets of 80 B, the second of which is dropped, in a window from 0 to 400 us.
fn closed(label: &str, slot: Option<u64>) -> Closed {
    let rate = BitRate::from_bit_s(8_000_000);
    let mut window = Window::new(Instant::ZERO, 0, Bytes::new(20));
    window.arrived(80, Class::Tcp);
    window.arrived(80, Class::Udp);
    window.dropped(1, Reason::Early, Class::Udp);
    window.forwarded(Span::from_micros(100));
    let row = window.close(Instant::ZERO + Span::from_micros(400), rate);
    let setting = Setting { scheme: "pfifo limit 300p".into(), label: label.into(), slot };
    Closed { row, setting: Arc::new(setting), rate, complete: true }
}

fn slot(number: u64) -> Slot {
    Slot {
        slot: number,
        direction: "a_to_b",
        label: "fifo".into(),
        scheme: "pfifo limit 300p".into(),
        due_ns: 1_000 * number,
        began_ns: 1_000 * number + 1,
        seed: u64::MAX,
        design: "random",
    }
}

fn one<T: rusqlite::types::FromSql>(path: &Path, sql: &str) -> T {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_window_is_stored_with_its_classes_and_dates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    let store = Store::open(&path, &run(), Dated::new(Clock::start())).unwrap();
    store.sink(Direction::AToB)(closed("fifo", Some(3)));
    assert_eq!(store.close().unwrap(), Health { stored: 1, lost: 0, error: None });
    let text: String = one(
        &path,
        "SELECT direction || ' ' || scheme || ' ' || label || ' ' || slot || ' ' || complete || ' ' || arrived || ' ' ||
         dropped_early || ' ' || load || ' ' || loss_ratio || ' ' || sojourn_mean_s || ' ' || (ended_ns - started_ns)
         FROM windows",
    );
    // 2 * (80 + 20) B in 400 us at 8 Mbit/s: 1600 of 3200 bit.
    assert_eq!(text, "a_to_b pfifo limit 300p fifo 3 1 2 1 0.5 0.5 0.0001 400000");
    let udp: String =
        one(&path, "SELECT arrived || ' ' || arrived_bytes || ' ' || dropped FROM classes WHERE class = 'udp'");
    assert_eq!(udp, "1 80 1");
    // The date is that of the nanoseconds, to the millisecond.
    let off: f64 =
        one(&path, "SELECT abs(started_ns / 1e9 - (julianday(started_at) - 2440587.5) * 86400) FROM windows");
    assert!(off < 0.002, "{off} s");
    let seed: String = one(&path, "SELECT seed FROM runs");
    assert_eq!(seed, u64::MAX.to_string());
    // Every column says what it means.
    let unsaid: i64 =
        one(&path, "SELECT count(*) FROM pragma_table_info('windows') WHERE name NOT IN (SELECT name FROM columns)");
    assert_eq!(unsaid, 0);
}

#[test]
fn a_store_goes_on_with_a_second_run_and_knows_its_last_slot() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    for begin in [0, 5] {
        let store = Store::open(&path, &run(), Dated::new(Clock::start())).unwrap();
        let expected = (begin > 0).then(|| (begin - 1, 1000 * (begin - 1)));
        assert_eq!(store.last_slot(u64::MAX), expected);
        assert_eq!(store.last_slot(1), None);
        let (mut slots, mut windows) = (store.slots(), store.sink(Direction::BToA));
        (begin..begin + 5).for_each(|number| slots(slot(number)));
        windows(closed("fifo", None));
        drop((slots, windows));
        store.close().unwrap();
    }
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM windows WHERE slot IS NULL AND direction = 'b_to_a'"), 2);
    assert_eq!(one::<i64>(&path, "SELECT count(DISTINCT run) FROM windows"), 2);
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM slots"), 10);
}

#[test]
fn what_is_not_a_store_of_this_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Store::open(path, &run(), Dated::new(Clock::start())).err().unwrap().to_string();
    let path = folder.path().join("foreign.sqlite");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(open(&path).contains("not one of sojournd"));
    let path = folder.path().join("newer.sqlite");
    Store::open(&path, &run(), Dated::new(Clock::start())).unwrap().close().unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let message = open(&path);
    assert!(message.contains("version 99") && message.contains("version 1"), "{message}");
    let path = folder.path().join("text");
    std::fs::write(&path, "not a database, but long enough to be mistaken for one".repeat(40)).unwrap();
    assert!(open(&path).contains("text"));
    assert!(open(&folder.path().join("no/such/folder")).contains("no/such/folder"));
}

/// A column without a value, or one without a meaning, would be found by nobody.
#[test]
fn every_column_of_a_window_has_a_value_and_a_meaning() {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(schema::CREATE).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        let mut names: Vec<String> = rows.map(Result::unwrap).collect();
        names.sort();
        names
    };
    let columns = names("SELECT name FROM pragma_table_info('windows')");
    let insert = schema::insert_window();
    let given = insert.split(['(', ')']).nth(1).unwrap();
    let mut stored: Vec<_> = given.split(", ").map(str::to_owned).chain(["window".to_owned()]).collect();
    stored.sort();
    assert_eq!(columns, stored);
    assert_eq!(columns, names("SELECT name FROM columns"));
}
