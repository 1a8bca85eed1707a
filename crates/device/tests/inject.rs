//! Every system call of a running device fails once, in turn: it lives or ends with its message, the wire forwards, nothing that
//! was stored is lost, and no count is wrong.
//!
//! `strace` makes the calls fail, so that the program is the one that is used. A few of them are tried here; all of them, up to
//! the n at which no thread makes an n-th call any more, with `SOJOURND_INJECT=all` (an hour), or those of one call with
//! `SOJOURND_INJECT=fdatasync`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod wire;

use hyper::Method;
use rusqlite::Connection;
use sojourn_device::client::{self, Question};
use sojourn_device::clock::{Clock, Dated};
use sojourn_device::config;
use sojourn_device::engine::Direction;
use sojourn_device::pool::Note;
use sojourn_device::record::{Recorder, Setting};
use sojourn_device::store::{Run, Store};
use sojourn_units::{BitRate, Bytes, Instant};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Duration, Instant as Wall};
use wire::{folder, Device, FRAMES, WINDOW};

/// Calls and the error that each gives; `brk` has none and gives the address 0.
const CALLS: &[(&str, &str)] = &[
    ("openat", "EMFILE"),
    ("open", "EACCES"),
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("write", "ENOSPC"),
    ("pwrite64", "ENOSPC"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("ftruncate", "EIO"),
    ("fallocate", "ENOSPC"),
    ("lseek", "EIO"),
    ("close", "EIO"),
    ("fstat", "EIO"),
    ("newfstatat", "EIO"),
    ("stat", "EIO"),
    ("lstat", "EIO"),
    ("statx", "EIO"),
    ("access", "EIO"),
    ("readlink", "EIO"),
    ("getcwd", "ENOENT"),
    ("fcntl", "ENOLCK"),
    ("unlink", "EIO"),
    ("mkdir", "ENOSPC"),
    ("mkdirat", "ENOSPC"),
    ("renameat2", "EIO"),
    ("fchmod", "EPERM"),
    ("mmap", "ENOMEM"),
    ("mremap", "ENOMEM"),
    ("munmap", "ENOMEM"),
    ("mprotect", "ENOMEM"),
    ("madvise", "ENOMEM"),
    ("brk", "0"),
    ("clone", "EAGAIN"),
    ("clone3", "EAGAIN"),
    ("socket", "EMFILE"),
    ("socketpair", "EMFILE"),
    ("bind", "EADDRINUSE"),
    ("listen", "EADDRINUSE"),
    ("accept4", "EMFILE"),
    ("setsockopt", "ENOBUFS"),
    ("getsockname", "ENOBUFS"),
    ("recvfrom", "ECONNRESET"),
    ("recvmsg", "ECONNRESET"),
    ("sendto", "EPIPE"),
    ("sendmsg", "EPIPE"),
    ("writev", "EPIPE"),
    ("shutdown", "ENOTCONN"),
    ("epoll_create1", "EMFILE"),
    ("epoll_ctl", "ENOSPC"),
    ("epoll_wait", "EBADF"),
    ("eventfd2", "EMFILE"),
    ("pipe2", "EMFILE"),
    ("poll", "ENOMEM"),
    ("ppoll", "ENOMEM"),
    ("getrandom", "ENOSYS"),
    ("prctl", "EPERM"),
    ("capset", "EPERM"),
    ("seccomp", "EINVAL"),
    ("setresuid", "EPERM"),
    ("setgroups", "EPERM"),
    ("sched_getaffinity", "EPERM"),
    ("sched_setscheduler", "EPERM"),
    ("sigaltstack", "ENOMEM"),
    ("uname", "EFAULT"),
    ("prlimit64", "EPERM"),
];
/// Those that every test run tries.
const SAMPLE: &[(&str, &str, u32)] = &[
    ("openat", "EMFILE", 3),
    ("pwrite64", "ENOSPC", 2),
    ("fsync", "EIO", 3),
    ("fcntl", "ENOLCK", 5),
    ("bind", "EADDRINUSE", 1),
    ("epoll_wait", "EBADF", 3),
];
/// Calls that give memory.
const MEMORY: [&str; 3] = ["mmap", "mprotect", "brk"];
/// Windows of an earlier run.
const BEFORE: u64 = 3;
/// Far beyond what any machine needs.
const TIMEOUT: Duration = Duration::from_secs(120);
const AGAIN: Duration = Duration::from_secs(3);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// No thread makes so many calls.
    Beyond,
    /// It forwarded everything, measured and answered, and stopped when it was told to.
    Lived,
    /// As `Lived`, but some windows could not be stored, and were counted.
    Lost,
    /// It ended at its start with a message.
    Refused,
    /// Loader or runtime ended it as the process or a thread of it began.
    Runtime,
    /// It ended because a port did not work, with a message.
    Port,
}

/// A store with windows of an earlier run.
fn earlier() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.sqlite");
    let run = Run { version: "test".into(), config: String::new(), seed: 1, rate_bit_s: 1, overhead_bytes: 0 };
    let mut store = Store::open(&path, &run, Dated::new(Clock::start())).unwrap();
    store.start().unwrap();
    let setting = Setting { label: "before".into(), ..Setting::default() };
    let sink = store.sink(Direction::AToB);
    let mut recorder = Recorder::new(1, BitRate::from_bit_s(1), Bytes::new(0), setting, sink);
    (0..BEFORE).for_each(|_| recorder.arrived(Instant::ZERO, Note { length: 100, ..Note::default() }));
    recorder.finish(Instant::ZERO);
    drop(recorder);
    store.close().unwrap();
    fs::read(path).unwrap()
}

/// Windows in a store of the earlier run and since, and the frames of the latter.
fn windows(file: &Path) -> Result<[u64; 3], String> {
    let connection = Connection::open(file).map_err(|e| e.to_string())?;
    let one = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|e| format!("{sql}: {e}"));
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(|e| e.to_string())?;
    if check != "ok" || one("SELECT count(*) FROM classes")? != 4 * one("SELECT count(*) FROM windows")? {
        return Err(check);
    }
    let count = |sql: &str| one(sql).map(|n| n as u64);
    Ok([
        count("SELECT count(*) FROM windows WHERE label = 'before'")?,
        count("SELECT count(*) FROM windows WHERE label != 'before'")?,
        count("SELECT coalesce(sum(arrived), 0) FROM windows WHERE label != 'before'")?,
    ])
}

fn number(log: &str, key: &str) -> Option<u64> {
    let line = log.lines().rev().find(|line| line.contains(" store stored="))?;
    line.split(&format!(" {key}=")).nth(1)?.split(' ').next()?.parse().ok()
}

/// The `n`-th call of each thread fails.
fn attempt(store: &[u8], call: &str, error: &str, n: u32) -> Result<End, String> {
    let how = if error == "0" { "retval=0".to_owned() } else { format!("error={error}") };
    let folder = folder();
    fs::write(folder.path().join("data/w.sqlite"), store).unwrap();
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{how}:when={n}"));
    let schedule =
        "[schedule]\nseed = 1\nevery = \"40 ms\"\nschemes = { a = \"pfifo limit 1000p\", b = \"pfifo limit 2000p\" }\n";
    let strace = ["strace", "-D", "-f", "-q", "--seccomp-bpf", "-o", "trace", "-e", &trace, "-e", &inject];
    let mut device = Device::start(folder, "127.0.0.1:0", schedule, &strace);
    let socket = config::control(&device.path("d.toml")).0.socket.0.unwrap();
    let begun = Wall::now();
    let (mut told, mut asked) = (false, Wall::now());
    // Until the wire has carried all but what is buffered, everything works again, and a reload has been answered.
    let ended = loop {
        if let Some(status) = device.child.try_wait().unwrap() {
            break status;
        }
        let well = |status: &serde_json::Value| {
            let (store, control) = (&status["store"], &status["control"]);
            status["ports"][1]["counters"]["sent"] == FRAMES
                && store["up"] == true
                && store["waiting"] == 0
                && control["tcp"]["up"] == true
        };
        let ready = || {
            device.status().as_ref().is_some_and(well)
                && client::ask(&socket, Question::json(Method::POST, "/reload", None)).is_ok()
        };
        // The call that fails may be the one by which a signal is noticed: it is sent again, as a service manager does.
        if (told && asked.elapsed() > AGAIN) || (!told && device.forwards() && ready()) {
            device.terminate();
            (told, asked) = (true, Wall::now());
        }
        if begun.elapsed() > TIMEOUT {
            return Err(format!("neither well nor ended: {:?}", device.status()));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let log = device.log();
    let trace = || fs::read_to_string(device.path("trace")).unwrap_or_default();
    let main = device.child.id().to_string();
    let over = |line: &str| line.split_once(' ').is_some_and(|(id, what)| id == main && what.contains("+++"));
    while !trace().lines().any(over) && begun.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Where memory is refused, the dynamic loader may end the process without a word, and Rust's runtime does with a message.
    if MEMORY.contains(&call) && ended.signal().is_some() && (log.is_empty() || log.contains("fatal runtime error")) {
        return Ok(End::Runtime);
    }
    if let Some(signal) = ended.signal() {
        return Err(format!("killed by signal {signal}"));
    }
    // Said of the control interface: it is started again. Said of a waker: what it should have woken was over.
    let harmless = [
        "the control interface panicked; it is started again",
        "the runtime for signals panicked",
        "failed to wake I/O driver",
    ];
    if log.contains("panicked at") && !harmless.iter().any(|words| log.contains(words)) {
        return Err(format!("a thread panicked\n{log}"));
    }
    // What was stored before is there, whole.
    let data = device.path("data");
    let mut found = [0; 3];
    for entry in fs::read_dir(&data).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("w.sqlite") && !name.ends_with("-wal") && !name.ends_with("-shm") {
            let counts = windows(&data.join(&name)).map_err(|what| format!("{name}: {what}"))?;
            found.iter_mut().zip(counts).for_each(|(found, count)| *found += count);
        }
    }
    let [before, since, frames] = found;
    if before != BEFORE {
        return Err(format!("{before} of the {BEFORE} windows of before"));
    }
    let injected = trace().contains("(INJECTED)");
    let (stored, lost) = (number(&log, "stored"), number(&log, "lost"));
    // The line that says it may be the one that could not be written.
    let unsaid = stored.is_none() && call == "write";
    if stored.unwrap_or(0) != since && !unsaid {
        return Err(format!("{stored:?} windows are said to be stored, {since} are"));
    }
    match ended.code() {
        Some(0) if told && device.forwarded_all() => {
            let closed = stored.unwrap_or(since) + lost.unwrap_or(0);
            // A switch of the schedule may end a window early. Each frame belongs to one window.
            if closed < FRAMES / WINDOW || frames > FRAMES || (lost == Some(0) && frames != FRAMES) {
                return Err(format!("{closed} windows are counted, {frames} of {FRAMES} frames are in those stored"));
            }
            Ok(match (injected, lost) {
                (false, _) => End::Beyond,
                (true, Some(0)) => End::Lived,
                (true, _) => End::Lost,
            })
        }
        Some(0) if told => Err("frames are missing".into()),
        Some(2) if log.contains("a port stopped working") => Ok(End::Port),
        Some(2) if log.lines().any(|line| line.starts_with("sojournd: ")) && !device.forwards() => Ok(End::Refused),
        // The dynamic loader's.
        Some(127) if !log.is_empty() => Ok(End::Refused),
        other => Err(format!("status {other:?}, told: {told}")),
    }
    .map_err(|what| format!("{what}\n{log}"))
}

#[test]
fn every_call_fails_once() {
    let store = earlier();
    let wanted = std::env::var("SOJOURND_INJECT").unwrap_or_default();
    let mut faults = Vec::new();
    let mut ends: BTreeMap<End, u32> = BTreeMap::new();
    let mut note = |call: &str, error: &str, n: u32| {
        let end = attempt(&store, call, error, n);
        match &end {
            Ok(end) => *ends.entry(*end).or_default() += 1,
            Err(what) => faults.push(format!("{call} {error} {n}: {what}")),
        }
        end
    };
    if wanted.is_empty() {
        for (call, error, n) in SAMPLE {
            let end = note(call, error, *n);
            assert_ne!(end, Ok(End::Beyond), "{call} {n}: a call that is made");
        }
    }
    for (call, error) in CALLS.iter().filter(|(call, _)| [*call, "all"].contains(&wanted.as_str())) {
        let mut n = 1;
        while note(call, error, n) != Ok(End::Beyond) {
            n += 1;
        }
        println!("{call} {error}: {} calls", n - 1);
    }
    println!("{ends:?}");
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
