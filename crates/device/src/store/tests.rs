use super::file::File;
use super::*;
use crate::clock::Clock;
use crate::record::{Closed, Setting};
use rusqlite::Connection;
use sojourn_aqm::Reason;
use sojourn_measure::window::Class;
use sojourn_measure::Window;
use sojourn_units::{BitRate, Bytes, Instant, Span};

pub(super) fn run() -> Run {
    Run {
        version: "test".into(),
        config: "[a_to_b]\n".into(),
        seed: u64::MAX,
        rate_bit_s: 8_000_000,
        overhead_bytes: 20,
    }
}

/// Two packets of 80 B, the second of which is dropped, in a window from 0 to 400 us.
pub(super) fn closed(label: &str, slot: Option<u64>) -> Closed {
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
    assert_eq!(store.close().unwrap(), Health { up: true, stored: 1, ..Health::default() });
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
        assert_eq!(store.progress().last_slot(u64::MAX), Some(expected));
        assert_eq!(store.progress().last_slot(1), Some(None));
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
    // The text is in the place of a folder.
    assert!(open(&path.join("below")).contains("text/below"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A store that is kept, and its health.
fn kept(path: &Path) -> (Store, Arc<Progress>) {
    let mut store = Store::keep(path, &run(), Dated::new(Clock::start()));
    let progress = store.progress();
    store.start().unwrap();
    (store, progress)
}

/// Waits for a state; a test that never gets there is ended by a limit far beyond what any machine needs.
fn until(progress: &Progress, state: impl Fn(&Health) -> bool) -> Health {
    let begun = std::time::Instant::now();
    loop {
        let health = progress.health();
        if state(&health) {
            return health;
        }
        assert!(begun.elapsed().as_secs() < 120, "{health:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Names in a folder, sorted, each file's time cut off.
fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    for name in &mut names {
        if let (Some(from), Some(to)) = (name.find("-2"), name.find('Z')) {
            name.replace_range(from..=to, "-TIME");
        }
    }
    names.sort();
    names
}

#[test]
fn what_is_damaged_or_something_else_is_set_aside_and_a_new_store_begun() {
    for (word, make) in [
        (
            "damaged",
            &(|path: &Path| std::fs::write(path, "no database, whatever its name may be".repeat(40)).unwrap())
                as &dyn Fn(&Path),
        ),
        // A store of which a table is gone, and one of which a page is.
        ("damaged", &|path| Connection::open(path).unwrap().execute_batch("DROP TABLE classes").unwrap()),
        ("damaged", &|path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes[4096..8192].fill(0xa5);
            std::fs::write(path, bytes).unwrap();
        }),
        ("foreign", &|path| Connection::open(path).unwrap().execute_batch("PRAGMA application_id = 7").unwrap()),
        ("version-99", &|path| Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w.sqlite");
        Store::open(&path, &run(), Dated::new(Clock::start())).unwrap().close().unwrap();
        make(&path);
        let before = std::fs::read(&path).unwrap();
        let (store, progress) = kept(&path);
        let health = until(&progress, |health| health.up);
        store.sink(Direction::AToB)(closed("fifo", None));
        let closed = store.close().unwrap();
        assert_eq!((closed.stored, closed.lost, closed.error), (1, 0, None));
        let name = PathBuf::from(health.set_aside.unwrap());
        assert_eq!(std::fs::read(&name).unwrap(), before, "{word}");
        assert!(health.last_error.unwrap().what.contains("w.sqlite"));
        assert_eq!(names(folder.path()), ["w.sqlite".to_owned(), format!("w.sqlite.{word}-TIME")], "{word}");
        assert_eq!(one::<i64>(&path, "SELECT count(*) FROM windows"), 1);
    }
}

#[test]
fn nothing_is_overwritten_and_no_link_followed_when_a_file_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let (path, target) = (folder.path().join("w.sqlite"), folder.path().join("elsewhere"));
    std::fs::write(&target, "somebody's").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    std::fs::write(aside::with(&path, "-wal"), "log").unwrap();
    // The names of this second and the next are taken, one by a link that leads nowhere.
    let name = |n: &str| aside::with(&path, &format!(".damaged-19700101T000000Z{n}"));
    std::fs::write(name(""), "kept").unwrap();
    std::os::unix::fs::symlink("/nonexistent", name("-1-wal")).unwrap();
    assert_eq!(aside::set_aside(&path, "damaged", 0).unwrap(), name("-2"));
    assert_eq!(std::fs::read_link(name("-2")).unwrap(), target);
    // Its companions go with it: SQLite would delete them beside a new file.
    assert_eq!(std::fs::read(name("-2-wal")).unwrap(), b"log");
    assert!(!aside::with(&path, "-wal").exists());
    assert_eq!(std::fs::read(&target).unwrap(), b"somebody's");
    assert_eq!(std::fs::read(name("")).unwrap(), b"kept");
    assert!(!path.exists());
}

#[test]
fn a_store_that_cannot_be_opened_now_is_tried_again_and_what_closed_meanwhile_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    let path = place.join("w.sqlite");
    // A file where the folder should be.
    std::fs::write(&place, "").unwrap();
    let (store, progress) = kept(&path);
    let mut sink = store.sink(Direction::AToB);
    let down = until(&progress, |health| health.error.is_some());
    assert!(!down.up && down.error.unwrap().contains("w.sqlite"), "{:?}", down.last_error);
    (0..5).for_each(|_| sink(closed("fifo", None)));
    assert_eq!(progress.health().waiting, 5);
    assert_eq!(progress.last_slot(1), None);
    std::fs::remove_file(&place).unwrap();
    let up = until(&progress, |health| health.stored == 5);
    // The error is over, and still known as the last.
    assert_eq!((up.up, up.waiting, up.lost, up.error.as_deref()), (true, 0, 0, None));
    assert!(up.last_error.is_some());
    assert_eq!(progress.last_slot(1), Some(None));
    drop(sink);
    assert_eq!(store.close().unwrap().stored, 5);
}

#[test]
fn what_a_store_that_never_opens_cannot_keep_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("place"), "").unwrap();
    let (store, progress) = kept(&folder.path().join("place/w.sqlite"));
    let (mut sink, mut slots) = (store.sink(Direction::AToB), store.slots());
    until(&progress, |health| health.error.is_some());
    // More than wait in the channel and the backlog.
    (0..3000).for_each(|_| sink(closed("fifo", None)));
    slots(slot(1));
    let health = progress.health();
    assert_eq!(health.waiting + health.lost, 3000);
    assert!(health.lost >= 3000 - 2 * WAITING as u64, "{health:?}");
    drop((sink, slots));
    let health = store.close().unwrap();
    assert_eq!((health.stored, health.waiting, health.lost, health.lost_slots), (0, 0, 3000, 1));
}

#[test]
fn a_store_that_is_removed_locked_or_damaged_in_use_is_got_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    let (store, progress) = kept(&path);
    let mut sink = store.sink(Direction::AToB);
    let mut stored = 0;
    let mut put = |label: &str| {
        sink(closed(label, None));
        stored += 1;
        until(&progress, |health| health.stored == stored)
    };
    put("first");
    // Removed: the next goes into a new file instead of into nowhere.
    std::fs::remove_file(&path).unwrap();
    assert!(put("second").last_error.unwrap().what.contains("was removed or replaced while in use"));
    assert_eq!(one::<String>(&path, "SELECT label FROM windows"), "second");
    // Its log alone: closing the file writes what it holds back.
    std::fs::remove_file(folder.path().join("w.sqlite-wal")).unwrap();
    put("third");
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM windows"), 2);
    // Damaged by somebody else.
    Connection::open(&path).unwrap().execute_batch("DROP TABLE classes").unwrap();
    let health = put("fourth");
    assert!(health.set_aside.is_some() && health.up);
    assert_eq!(one::<String>(&path, "SELECT label FROM windows"), "fourth");
    // Locked for longer than is waited for.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    sink(closed("fifth", None));
    let health = until(&progress, |health| health.error.is_some());
    assert!(health.error.unwrap().contains("locked"), "{:?}", health.last_error);
    other.execute_batch("ROLLBACK").unwrap();
    let health = until(&progress, |health| health.stored == 5);
    assert_eq!((health.up, health.error, health.waiting, health.lost), (true, None, 0, 0));
    drop(sink);
    store.close().unwrap();
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM windows"), 2);
    // Both times the run began again, once in each file.
    assert_eq!(one::<i64>(&path, "SELECT count(*) FROM runs"), 1);
}

#[test]
fn what_an_attempt_that_failed_has_stored_after_all_is_not_stored_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    let dated = Dated::new(Clock::start());
    let entries = [Entry::Window(Direction::AToB, Box::new(closed("fifo", None))), Entry::Slot(slot(7))];
    let mut file = File::open(&path, &run(), dated).unwrap();
    for entry in &entries {
        let number = file.next(entry).unwrap();
        assert!(!file.has(entry, number).unwrap());
        file.put(entry).unwrap();
        // Found when the file is opened again, and nothing else is.
        let again = File::open(&path, &run(), dated).unwrap();
        assert!(again.has(entry, number).unwrap() && !again.has(entry, number + 1).unwrap());
    }
    for table in ["windows", "slots", "runs"] {
        assert_eq!(one::<i64>(&path, &format!("SELECT count(*) FROM {table}")), 1, "{table}");
    }
    // Of another run it is not.
    let other = File::open(&path, &Run { seed: 1, ..run() }, dated).unwrap();
    assert!(!other.has(&entries[0], 1).unwrap());
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
