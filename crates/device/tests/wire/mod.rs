//! A device that forwards a capture, as a process of its own: what `starts.rs` and `inject.rs` share.

#![allow(dead_code, reason = "each test uses a part")]

use hyper::Method;
use rusqlite::Connection;
use serde_json::Value;
use sojourn_device::client::{self, Question};
use sojourn_device::config;
use sojourn_device::port::Writer;
use sojourn_units::Instant;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant as Wall};

pub const FRAMES: u64 = 200;
/// Arrivals in a window.
pub const WINDOW: u64 = 10;
pub const FRAME_BYTES: u64 = 1000;
/// Far beyond what any machine needs.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// A device that forwards a capture, in a folder of its own.
pub struct Device {
    pub folder: tempfile::TempDir,
    pub child: Child,
}

impl Device {
    /// Its configuration is `folder/d.toml`, with `further` at its end; the words `before` start it.
    pub fn start(folder: tempfile::TempDir, listen: &str, further: &str, before: &[&str]) -> Self {
        let at = folder.path();
        let mut input = Writer::create(&at.join("in.pcap")).unwrap();
        for n in 0..FRAMES {
            input.write(Instant::from_nanos(500_000 * n), &vec![n as u8; FRAME_BYTES as usize]).unwrap();
        }
        input.finish().unwrap();
        let text = format!(
            "[ports.a]\nback_end = \"pcap\"\nread = \"in.pcap\"\n[ports.b]\nback_end = \"pcap\"\nwrite = \"out.pcap\"\n\
             [a_to_b]\nscheme = \"pfifo limit 1000p\"\nrate = \"100 Mbit/s\"\n[windows]\npackets = {WINDOW}\nstore = \"data/w.sqlite\"\n\
             [control]\nlisten = \"{listen}\"\nsocket = \"run/c.sock\"\ntoken_file = \"data/token\"\n\
             [run]\nuser = \"{}\"\nstatus_every = \"10 ms\"\n{further}",
            if nix::unistd::geteuid().is_root() { "root" } else { "nobody" }
        );
        fs::write(at.join("d.toml"), text).unwrap();
        let log = fs::File::create(at.join("log")).unwrap();
        let file = at.join("d.toml");
        let words: Vec<&str> = [before, &[env!("CARGO_BIN_EXE_sojournd"), "run", file.to_str().unwrap()]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(at).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", words[0]));
        Self { folder, child }
    }

    /// Frames have come out: the file is written as it goes, in pieces.
    pub fn forwards(&self) -> bool {
        fs::metadata(self.path("out.pcap")).is_ok_and(|file| file.len() > 50_000)
    }

    /// All frames that came in have gone out.
    pub fn forwarded_all(&self) -> bool {
        // libpcap's header, then a header a frame.
        fs::metadata(self.path("out.pcap")).is_ok_and(|file| file.len() == 24 + FRAMES * (16 + FRAME_BYTES))
    }

    pub fn terminate(&self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap()
    }

    /// Looks again and again, as long as the device lives.
    pub fn until<T>(&mut self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let begun = Wall::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{what}: the device ended, {status}: {}", self.log());
            }
            assert!(begun.elapsed() < TIMEOUT, "{what}: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn status(&self) -> Option<Value> {
        let socket = config::control(&self.path("d.toml")).0.socket.0?;
        serde_json::from_str(&client::ask(&socket, Question::json(Method::GET, "/status", None)).ok()?).ok()
    }

    /// The status in which `pointer` is so.
    pub fn status_where(&mut self, pointer: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.until(pointer, |device| device.status().filter(|status| status.pointer(pointer).is_some_and(&is)))
    }

    /// Ends it in good order; everything that came in went out.
    pub fn stop(mut self) -> tempfile::TempDir {
        self.terminate();
        let ended = self.child.wait().unwrap();
        assert!(ended.success() && self.forwarded_all(), "{ended}: {}", self.log());
        std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a store of an earlier run, a token and a place for the socket.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::create_dir(folder.path().join("run")).unwrap();
    folder
}

pub fn stored(folder: &Path) -> i64 {
    let connection = Connection::open(folder.join("data/w.sqlite")).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    connection.query_row("SELECT count(*) FROM windows", [], |row| row.get(0)).unwrap()
}
