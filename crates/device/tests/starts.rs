//! The wire is up in every start: whatever store, token and sockets are like, frames pass, and what is missing is said.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod wire;

use rusqlite::Connection;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use wire::{folder, stored, Device, FRAMES, WINDOW};

fn sql(file: &Path, text: &str) {
    Connection::open(file).unwrap().execute_batch(text).unwrap();
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What is wrong, how it is brought about, and what the status says of it at the place that is named.
type Case = (&'static str, fn(&Path), &'static str, &'static str);

const CASES: [Case; 12] = [
    ("nothing", |_| {}, "/store/up", "true"),
    (
        "store damaged",
        |at| fs::write(at.join("data/w.sqlite"), "no database".repeat(500)).unwrap(),
        "/store/set_aside",
        ".damaged-",
    ),
    ("store foreign", |at| sql(&at.join("data/w.sqlite"), "CREATE TABLE t (x)"), "/store/set_aside", ".foreign-"),
    (
        "store of another version",
        |at| {
            sql(
                &at.join("data/w.sqlite"),
                "CREATE TABLE t (x); PRAGMA application_id = 1397379652; PRAGMA user_version = 9",
            )
        },
        "/store/set_aside",
        ".version-9-",
    ),
    ("store is a folder", |at| fs::create_dir(at.join("data/w.sqlite")).unwrap(), "/store/error", "w.sqlite"),
    (
        "store cannot be written",
        |at| {
            sql(&at.join("data/w.sqlite"), "");
            fs::write(at.join("data/w.sqlite"), "").unwrap();
            mode(&at.join("data/w.sqlite"), 0o400);
        },
        "/store/error",
        "w.sqlite",
    ),
    (
        "folder of store and token cannot be written",
        |at| mode(&at.join("data"), 0o500),
        "/store/error",
        "unable to open database file",
    ),
    (
        "folder of store and token is a file",
        |at| {
            fs::remove_dir(at.join("data")).unwrap();
            fs::write(at.join("data"), "").unwrap();
        },
        "/control/tcp/error",
        "token file",
    ),
    (
        "token open to others",
        |at| {
            fs::write(at.join("data/token"), "0".repeat(64)).unwrap();
            mode(&at.join("data/token"), 0o644);
        },
        "/control/tcp/error",
        "others may read it",
    ),
    (
        "token that is none",
        |at| {
            fs::write(at.join("data/token"), "short").unwrap();
            mode(&at.join("data/token"), 0o600);
        },
        "/control/tcp/error",
        "holds no token",
    ),
    ("token is a folder", |at| fs::create_dir(at.join("data/token")).unwrap(), "/control/tcp/error", "token file"),
    ("folder of the socket missing", |at| fs::remove_dir(at.join("run")).unwrap(), "/control/unix/up", "true"),
];

#[test]
fn the_wire_is_up_in_every_start() {
    for (name, spoil, pointer, said) in CASES {
        let folder = folder();
        spoil(folder.path());
        let mut device = Device::start(folder, "127.0.0.1:0", "", &[]);
        device.until(name, |device| device.forwards().then_some(()));
        let status = device.status_where(pointer, |value| value.to_string().contains(said));
        assert_eq!(status["ports"][1]["counters"]["send_failed"], 0, "{name}");
        let status = device.status_where("/ports/1/counters/sent", |sent| *sent == FRAMES);
        let (closed, store) = (&status["windows_closed"][0], &status["store"]);
        let kept: u64 = ["stored", "waiting", "lost"].iter().map(|key| store[key].as_u64().unwrap()).sum();
        assert!(kept <= closed.as_u64().unwrap() && store["lost"] == 0, "{name}: {status}");
        mode(&device.path("data"), 0o700);
        let log = device.log();
        device.stop();
        assert!(pointer.ends_with("/up") || log.contains(said.trim_matches('.')), "{name}: {log}");
    }
}

/// The log lies on a full disk.
#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let script = "exec \"$0\" \"$@\" 2>/dev/full";
    let mut device = Device::start(folder(), "127.0.0.1:0", "", &["sh", "-c", script]);
    device.status_where("/ports/1/counters/sent", |sent| *sent == FRAMES);
    device.status_where("/store/up", |up| up == true);
    device.stop();
}

#[test]
fn a_full_disk_is_waited_for() {
    let script =
        "mount -t tmpfs -o size=400k none data; head -c 1000000 /dev/zero >data/filler 2>&-; exec \"$0\" \"$@\"";
    let user = if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" };
    let mut device = Device::start(folder(), "127.0.0.1:0", "", &["unshare", user, "sh", "-c", script]);
    device.until("frames", |device| device.forwards().then_some(()));
    let status = device.status_where("/store/error", Value::is_string);
    assert_eq!(status["store"]["up"], false, "{status}");
    device.status_where("/store/waiting", |waiting| waiting.as_u64() >= Some(FRAMES / WINDOW - 1));
    // The disk of the device's name space.
    let small = format!("/proc/{}/root{}", device.child.id(), device.path("data").display());
    fs::remove_file(format!("{small}/filler")).unwrap();
    device.status_where("/ports/1/counters/sent", |sent| *sent == FRAMES);
    let status = device.status_where("/store/waiting", |waiting| waiting == 0);
    let store = &status["store"];
    assert_eq!((&store["up"], &store["lost"], &store["error"]), (&Value::from(true), &Value::from(0), &Value::Null));
    assert!(store["last_error"]["what"].is_string());
    device.stop();
}

#[test]
fn control_comes_up_when_what_kept_it_down_is_gone() {
    let folder = folder();
    // Another user's program has the port; the folder of the socket is a file.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    fs::remove_dir(folder.path().join("run")).unwrap();
    fs::write(folder.path().join("run"), "").unwrap();
    let mut device = Device::start(folder, &address.to_string(), "", &[]);
    device.until("frames", |device| device.forwards().then_some(()));
    device.until("the log", |device| {
        let log = device.log();
        (log.contains("control.socket") && log.contains("control.listen")).then_some(())
    });
    fs::remove_file(device.path("run")).unwrap();
    let status = device.status_where("/control/unix/up", |up| up == true);
    assert!(status["control"]["tcp"]["error"].as_str().unwrap().contains("in use"), "{status}");
    drop(taken);
    let status = device.status_where("/control/tcp/up", |up| up == true);
    assert_eq!(status["control"]["tcp"]["error"], Value::Null);
    let token = fs::read_to_string(device.path("data/token")).unwrap();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let token = token.trim();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let metrics = ask("/metrics");
    for line in
        ["sojourn_store_up{} 1.0", "sojourn_control_up{socket=\"tcp\"} 1.0", "sojourn_control_up{socket=\"unix\"} 1.0"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert!(ask("/").contains("<div id=\"troubles\" role=\"alert\"></div>"));
    // The socket's file is removed under it, and comes back.
    fs::remove_file(device.path("run/c.sock")).unwrap();
    device.status_where("/ports/1/counters/sent", |sent| *sent == FRAMES);
    let folder = device.stop();
    assert_eq!(stored(folder.path()), (FRAMES / WINDOW) as i64);
    assert!(!folder.path().join("run/c.sock").exists());
}
