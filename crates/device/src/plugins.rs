//! Schemes in shared libraries (`sojourn_aqm.h`): where they may come from, and what happens when one fails.
//!
//! A library is loaded from one folder that only root can write to. Wrong answers are counted by the scheme
//! (`wrong_answers` among its internals) and contained. A crash ends the process, and so does a turn of the packet thread that
//! takes more than 10 ms of processor time, which no built-in scheme does. The service manager starts the process again, which
//! finds in its record that a plug-in was at work, notes the failure, and runs `fallback` in its place from then on.

use crate::config::Config;
use crate::run::Board;
use crate::status::Status;
use crate::turns;
use serde::{Deserialize, Serialize};
use sojourn_document::Scheme;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// The most processor time of one turn of the packet thread while a plug-in is at work.
pub const LONGEST_TURN: Duration = Duration::from_millis(10);
/// Between two looks at the packet thread.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// Looks between two notes of what waits.
const NOTES: u32 = 25;
/// Longest record.
const LONGEST_RECORD: u64 = 1 << 20;
/// Failures that are kept.
const KEPT: usize = 100;

/// A plug-in at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Working {
    scheme: String,
    /// Seconds since 1970 of the last note.
    at_unix_s: f64,
    /// Frames in the device then.
    waiting_packets: u64,
}

/// A plug-in that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// With its version.
    pub scheme: String,
    /// What happened.
    pub what: String,
    /// Seconds since 1970; of a crash, of the last note before it, at most 0.2 s earlier.
    pub at_unix_s: f64,
    /// Frames that were in the device at that time, and are lost.
    pub lost_packets: u64,
}

/// The file `plugins.record`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Record {
    #[serde(default)]
    working: Option<Working>,
    #[serde(default)]
    failures: Vec<Failure>,
}

impl Record {
    fn read(file: &Path) -> Self {
        let mut text = String::new();
        let found = std::fs::File::open(file).and_then(|it| it.take(LONGEST_RECORD).read_to_string(&mut text));
        // A missing or damaged record knows of no failure.
        found.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Replaces the file as a whole.
    fn write(&self, file: &Path) -> io::Result<()> {
        let partial = file.with_extension("partial");
        std::fs::write(&partial, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(partial, file)
    }

    fn fail(&mut self, what: &str) {
        let Some(Working { scheme, at_unix_s, waiting_packets }) = self.working.take() else { return };
        self.failures.push(Failure { scheme, what: what.to_owned(), at_unix_s, lost_packets: waiting_packets });
        let surplus = self.failures.len().saturating_sub(KEPT);
        self.failures.drain(..surplus);
    }
}

/// Names of schemes with versions that have failed, in this process or before it.
static FAILED: OnceLock<Vec<String>> = OnceLock::new();

/// At the start, with the user's privileges: notes the failure that ended the process before, and remembers all.
pub fn begin(config: &Config) {
    let Some(table) = &config.plugins else { return };
    let mut record = Record::read(&table.record);
    if record.working.is_some() {
        record.fail("the process ended while the plug-in was at work");
        if let Err(error) = record.write(&table.record) {
            tracing::warn!(%error, "{} cannot be written", table.record.display());
        }
    }
    let names = record.failures.iter().map(|failure| name(&failure.scheme).to_owned()).collect();
    // Once in a process.
    let _ = FAILED.set(names);
    for Failure { scheme, what, at_unix_s, lost_packets } in &record.failures {
        let fallback = table.fallback.0.text();
        tracing::error!(scheme, at_unix_s, lost_packets, fallback, "a plug-in failed and is not used: {what}");
    }
}

fn name(scheme: &str) -> &str {
    scheme.split(' ').next().unwrap_or_default()
}

/// Puts `plugins.fallback` in the place of every plug-in that has failed. Delete `plugins.record` to try it again; another
/// build of the library is tried at once.
pub fn contain(config: &mut Config) {
    let (Some(table), Some(failed)) = (&config.plugins, FAILED.get()) else { return };
    let fallback = table.fallback.clone();
    let own = [&mut config.a_to_b, &mut config.b_to_a].into_iter().flat_map(|way| {
        let changes = way.changes.iter_mut().filter_map(|change| change.scheme.as_mut());
        changes.chain(way.scheme.as_mut())
    });
    let drawn = config.schedule.iter_mut().flat_map(|schedule| schedule.schemes.values_mut());
    for scheme in own.chain(drawn).filter(|scheme| failed.iter().any(|name| name == scheme.0.name())) {
        *scheme = fallback.clone();
    }
}

/// Watches the packet thread until it is dropped.
pub struct Watch {
    stop: std::sync::mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Watches the packet thread, if the configuration has plug-ins. `board` is its status.
///
/// # Errors
/// The system gives no thread.
pub fn watch(config: &Config, board: &Board) -> io::Result<Option<Watch>> {
    let Some(table) = &config.plugins else { return Ok(None) };
    let (file, board) = (table.record.clone(), board.clone());
    let (stop, stopped) = std::sync::mpsc::channel();
    // What is at work from the first frame on.
    let named = [&config.a_to_b, &config.b_to_a].into_iter().filter_map(|way| way.scheme.as_ref());
    let first = named.map(|Scheme(scheme)| scheme.text()).find(|text| is_plugin(text));
    let mut watcher = Watcher { record: Record::read(&file), file, turn: 0, since: Duration::ZERO };
    watcher.note(first, 0);
    let work = move || {
        let mut looks = 0_u32;
        while stopped.recv_timeout(CHECK_INTERVAL) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(NOTES) {
                let status = board.lock().unwrap_or_else(PoisonError::into_inner).clone();
                status.into_iter().for_each(|status| watcher.see(&status));
            }
            watcher.look();
        }
        watcher.note(None, 0);
    };
    let thread = Some(std::thread::Builder::new().name("plugins".into()).spawn(work)?);
    Ok(Some(Watch { stop, thread }))
}

fn is_plugin(scheme: &str) -> bool {
    name(scheme).contains('@')
}

struct Watcher {
    record: Record,
    file: PathBuf,
    /// The turn that was seen last, and the thread's processor time when it was first seen.
    turn: u64,
    since: Duration,
}

impl Watcher {
    /// Notes which plug-in is at work, and what waits.
    fn see(&mut self, status: &Status) {
        let scheme = status.directions.iter().find_map(|one| one.scheme.clone().filter(|text| is_plugin(text)));
        let waiting = status.directions.iter().map(|one| one.backlog.packets + one.delayed + one.ready).sum();
        self.note(scheme, waiting);
    }

    fn note(&mut self, scheme: Option<String>, waiting_packets: u64) {
        if scheme.is_none() && self.record.working.is_none() {
            return;
        }
        self.record.working = scheme.map(|scheme| Working { scheme, at_unix_s: now(), waiting_packets });
        // A full disk must not stop the forwarding.
        let _ = self.record.write(&self.file);
    }

    /// Ends the process when a turn with a plug-in has taken too long.
    fn look(&mut self) {
        let (turn, Some(spent)) = (turns::count(), turns::spent()) else { return };
        if turn != self.turn {
            (self.turn, self.since) = (turn, spent);
        } else if self.record.working.is_some() && spent.saturating_sub(self.since) > LONGEST_TURN {
            if let Some(working) = &mut self.record.working {
                working.at_unix_s = now();
            }
            self.record.fail("a call took more than 10 ms of processor time");
            let _ = self.record.write(&self.file);
            tracing::error!("a call of a plug-in took more than 10 ms: the process ends, to start with the fallback");
            std::process::abort();
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_keeps_the_last_failures() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("record.json");
        assert_eq!(Record::read(&file), Record::default());
        let mut record = Record::default();
        for n in 0..120 {
            let scheme = format!("x@{n} target 5ms");
            record.working = Some(Working { scheme, at_unix_s: 1.0, waiting_packets: n });
            record.fail("ended");
        }
        record.write(&file).unwrap();
        let again = Record::read(&file);
        // Of 120 the last 100: 20 to 119.
        assert_eq!((again.failures.len(), again.failures[0].lost_packets, &again), (100, 20, &record));
        assert_eq!(name(&again.failures[0].scheme), "x@20");
        std::fs::write(&file, "{").unwrap();
        assert_eq!(Record::read(&file), Record::default());
    }
}
