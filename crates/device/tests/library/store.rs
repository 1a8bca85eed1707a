//! A process that is killed loses at most the window under way.

use rusqlite::Connection;
use sojourn_device::clock::{Clock, Dated};
use sojourn_device::engine::Direction;
use sojourn_device::pool::Note;
use sojourn_device::record::{Recorder, Setting};
use sojourn_device::store::{Run, Store};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const CHILD: &str = "SOJOURND_TEST_STORE";
const WINDOW: u64 = 100;

/// In the child: measures until it is killed, and says after each window that it is stored.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let run = Run { version: "test".into(), config: String::new(), seed: 1, rate_bit_s: 1, overhead_bytes: 0 };
    let mut store = Store::open(path.as_ref(), &run, Dated::new(Clock::start())).unwrap();
    store.start().unwrap();
    let sink = store.sink(Direction::AToB);
    let mut recorder = Recorder::new(WINDOW, BitRate::from_bit_s(1), Bytes::new(0), Setting::default(), sink);
    let progress = store.progress();
    for n in 0.. {
        recorder.arrived(Instant::ZERO + Span::from_micros(n), Note { length: 100, ..Note::default() });
        // The window before ended with this arrival.
        if n % WINDOW == 0 {
            while progress.health().stored < n / WINDOW {
                std::thread::yield_now();
            }
            println!("stored {}", n / WINDOW);
        }
    }
}

#[test]
fn a_kill_loses_the_window_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    for round in 1..=2 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::child", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = lines.by_ref().filter_map(|line| line.unwrap().strip_prefix("stored ")?.parse::<i64>().ok());
        assert_eq!(said.by_ref().find(|n| *n >= 5), Some(5));
        // SIGKILL.
        child.kill().unwrap();
        let said = said.last().unwrap_or(5);
        child.wait().unwrap();
        let connection = Connection::open(&path).unwrap();
        let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
        let stored = one(&format!("SELECT count(*) FROM windows WHERE run = {round}"));
        assert!(stored == said || stored == said + 1, "{said} were said to be stored, {stored} are");
        // Whole, in order, each with its classes.
        assert_eq!(one("SELECT count(*) FROM windows WHERE arrived != 100 OR complete != 1"), 0);
        assert_eq!(one("SELECT count(*) FROM classes"), 4 * one("SELECT count(*) FROM windows"));
        let text: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(text, "ok");
    }
}
