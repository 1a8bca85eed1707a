//! A locked-down process goes on, and can do no more than that. Needs root.

#![allow(clippy::unwrap_used)]

use sojourn_device::clock::{Clock, Dated};
use sojourn_device::engine::Direction;
use sojourn_device::hardening::lock_down;
use sojourn_device::pool::Note;
use sojourn_device::record::{Recorder, Setting};
use sojourn_device::store::{Run, Store};
use sojourn_units::{BitRate, Bytes, Instant};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

const CHILD: &str = "SOJOURND_TEST_HARDENING";

/// Runs a test of this file in a process of its own, for it cannot be taken back.
fn alone(name: &str, folder: &Path) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads", "1"])
        .env(CHILD, folder)
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("reached the end"), "{text}");
}

fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

fn status(field: &str) -> String {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

#[test]
fn locked_down() {
    let folder = tempfile::tempdir().unwrap();
    alone("child_of_locked_down", folder.path());
    // What it stored is there.
    let connection = rusqlite::Connection::open(folder.path().join("w.sqlite")).unwrap();
    let arrived: i64 = connection.query_row("SELECT arrived FROM windows", [], |row| row.get(0)).unwrap();
    assert_eq!(arrived, 1);
}

#[test]
fn child_of_locked_down() {
    let Some(folder) = child() else { return };
    let path = folder.join("w.sqlite");
    let run = Run { version: "test".into(), config: String::new(), seed: 1, rate_bit_s: 1, overhead_bytes: 0 };
    let mut store = Store::open(&path, &run, Dated::new(Clock::start())).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    lock_down("nobody", &[&path, &folder.join("w.sqlite-wal"), &folder.join("w.sqlite-shm")], || Ok(())).unwrap();

    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(set), "0000000000000000", "{set}");
    }
    assert_eq!((status("NoNewPrivs").as_str(), status("Seccomp").as_str()), ("1", "2"));
    assert_ne!(status("Uid"), "0");
    // No program, no socket, no file of root's, no way back.
    let denied = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    denied(Command::new("/bin/true").status().unwrap_err());
    denied(UdpSocket::bind("127.0.0.1:0").unwrap_err());
    denied(std::fs::read("/etc/shadow").unwrap_err());
    assert!(nix::unistd::setuid(nix::unistd::Uid::from_raw(0)).is_err());
    // Accepts, answers, starts threads, measures and stores.
    store.start().unwrap();
    let (mut served, _) = listener.accept().unwrap();
    served.write_all(b"x").unwrap();
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    let sink = store.sink(Direction::AToB);
    let mut recorder = Recorder::new(1, BitRate::from_bit_s(1), Bytes::new(0), Setting::default(), sink);
    recorder.arrived(Instant::ZERO, Note { length: 100, ..Note::default() });
    recorder.finish(Instant::ZERO);
    drop(recorder);
    let health = store.close().unwrap();
    assert_eq!((health.stored, health.error), (1, None));
    println!("reached the end");
}

#[test]
fn nobody_of_that_name() {
    let folder = tempfile::tempdir().unwrap();
    alone("child_of_nobody_of_that_name", folder.path());
}

#[test]
fn child_of_nobody_of_that_name() {
    if child().is_none() {
        return;
    }
    let message = lock_down("no-such-user", &[], || Ok(())).unwrap_err().to_string();
    assert!(message.contains("no-such-user") && message.contains("useradd"), "{message}");
    println!("reached the end");
}
