//! The storage thread: opens the store, writes, and goes on after whatever goes wrong.

use super::aside;
use super::entry::{Entry, Run};
use super::error::StoreError;
use super::file::File;
use super::progress::{Mishap, Progress};
use crate::clock::{utc, Dated};
use rusqlite::ErrorCode;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Windows and slots that wait for a store that cannot be written; beyond, they are lost.
pub(super) const WAITING: usize = 1024;
/// Between two attempts to open the store: at first, and at most.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(10);
/// Between two looks at whether the file is still there.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Attempts to store an entry that the store refuses though nothing is wrong with the store.
const ATTEMPTS: u32 = 3;
/// Files that one process sets aside: a disk that damages every file must not be filled with them.
const MAX_SET_ASIDE: u32 = 8;
/// A window may end so long after the present without a word about the host's clock.
const AHEAD_NS: u64 = 1_000_000_000;

pub(super) struct Keeper {
    path: PathBuf,
    run: Run,
    dated: Dated,
    progress: Arc<Progress>,
    file: Option<File>,
    backlog: VecDeque<Entry>,
    /// Failed attempts to store the first of the backlog.
    attempts: u32,
    /// The number that the failed attempt before would have given it.
    number: Option<i64>,
    /// When the store is to be opened again, and the wait after that.
    next: Instant,
    wait: Duration,
    aside: u32,
}

impl Keeper {
    pub(super) fn new(path: &Path, run: Run, dated: Dated, progress: Arc<Progress>) -> Self {
        Self {
            path: path.to_owned(),
            run,
            dated,
            progress,
            file: None,
            backlog: VecDeque::new(),
            attempts: 0,
            number: None,
            next: Instant::now(),
            wait: FIRST,
            aside: 0,
        }
    }

    /// Until every sender is gone; then what waits is stored or lost.
    pub(super) fn keep(mut self, entries: &Receiver<Entry>) {
        loop {
            self.turn();
            let wait =
                if self.file.is_some() { CHECK_INTERVAL } else { self.next.saturating_duration_since(Instant::now()) };
            match entries.recv_timeout(wait) {
                Ok(entry) if self.backlog.len() < WAITING => self.backlog.push_back(entry),
                Ok(entry) => self.progress.lose(&entry),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // One more chance each, however long the wait would be.
        for _ in 0..ATTEMPTS {
            self.next = Instant::now();
            self.turn();
        }
        self.backlog.iter().for_each(|entry| self.progress.lose(entry));
    }

    /// As the thread will, but an error is the caller's, and no file is set aside.
    pub(super) fn open_strictly(&mut self) -> Result<(), StoreError> {
        self.adopt(File::open(&self.path, &self.run, self.dated)?)
    }

    fn adopt(&mut self, file: File) -> Result<(), StoreError> {
        let failed = |source| StoreError::Sql { path: self.path.clone(), source };
        let (last, end) = (file.last_slot().map_err(failed)?, file.last_end().map_err(failed)?);
        let mut known = self.progress.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(last);
            if let Some(end) = end.filter(|end| *end > self.dated.now_unix_ns().saturating_add(AHEAD_NS)) {
                tracing::warn!(
                    "store {}: its last window ended at {}, which is still to come by this host's clock; the order of windows is that of their numbers",
                    self.path.display(),
                    utc(end)
                );
            }
        }
        self.file = Some(file);
        // A full disk lets a store be opened. Whether it takes what it refused before is known once it has.
        if self.attempts == 0 {
            self.progress.well();
        }
        Ok(())
    }

    /// Opens the store where that is due, and stores what waits.
    fn turn(&mut self) {
        loop {
            if self.file.is_none() && (Instant::now() < self.next || !self.open()) {
                return;
            }
            let (Some(file), false) = (&self.file, self.backlog.is_empty()) else { return };
            if file.moved() {
                self.reopen();
                continue;
            }
            match self.put() {
                Ok(()) => {
                    if let Some(Entry::Window(..)) = self.backlog.pop_front() {
                        self.progress.stored.fetch_add(1, Ordering::AcqRel);
                    }
                    (self.attempts, self.number, self.wait) = (0, None, FIRST);
                    self.progress.well();
                }
                Err(error) => {
                    self.attempts += 1;
                    let hopeless = self.attempts >= ATTEMPTS && !of_the_store(error.code());
                    self.failed(&error);
                    if hopeless {
                        (self.attempts, self.number) = (0, None);
                        if let Some(entry) = self.backlog.pop_front() {
                            self.progress.lose(&entry);
                        }
                    }
                }
            }
        }
    }

    /// Stores the first of the backlog, unless a failed attempt has done it after all.
    fn put(&mut self) -> Result<(), StoreError> {
        let (Some(file), Some(entry)) = (&mut self.file, self.backlog.front()) else { return Ok(()) };
        if let Some(number) = self.number {
            if file.has(entry, number)? {
                return Ok(());
            }
        }
        self.number = Some(file.next(entry)?);
        file.put(entry)
    }

    fn open(&mut self) -> bool {
        let opened = File::open(&self.path, &self.run, self.dated).and_then(|file| self.adopt(file));
        opened.map_err(|error| self.failed(&error)).is_ok()
    }

    /// Says what went wrong and when it is tried again: at once where a file was set aside.
    fn failed(&mut self, error: &StoreError) {
        // Before the file is renamed.
        self.file = None;
        let mut what = error.to_string();
        if let Some(word) = error.aside().filter(|_| self.aside < MAX_SET_ASIDE) {
            self.aside += 1;
            match aside::set_aside(&self.path, &word, self.dated.now_unix_ns()) {
                Ok(name) => {
                    tracing::warn!(error = what, "set aside as {}; a new store is begun", name.display());
                    let mut told = self.progress.told();
                    told.set_aside = Some(name.display().to_string());
                    told.last_error = Some(Mishap { at_ns: self.dated.now_unix_ns(), what });
                    self.next = Instant::now();
                    return;
                }
                Err(error) => what = format!("{what}; it cannot be set aside: {error}"),
            }
        }
        self.progress.failed(what);
        self.next = Instant::now() + self.wait;
        self.wait = (2 * self.wait).min(LONGEST);
    }

    /// The file is no longer the one that was opened.
    fn reopen(&mut self) {
        let what = format!("store {}: was removed or replaced while in use", self.path.display());
        self.progress.failed(what);
        self.file = None;
        self.next = Instant::now();
    }

    fn look(&mut self) {
        if self.file.as_ref().is_some_and(File::moved) {
            self.reopen();
        }
    }
}

/// An error that has nothing to do with what is stored.
fn of_the_store(code: Option<ErrorCode>) -> bool {
    use ErrorCode as E;
    let not = [E::ConstraintViolation, E::TypeMismatch, E::TooBig, E::ParameterOutOfRange, E::ApiMisuse, E::Unknown];
    code.is_none_or(|code| !not.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::engine::Direction;
    use crate::store::tests::{closed, run};

    /// As on a full disk: it can be opened, and what is waiting cannot be written.
    #[test]
    fn a_store_that_opens_and_takes_nothing_does_not_work() {
        let folder = tempfile::tempdir().unwrap();
        let dated = Dated::new(Clock::start());
        let progress = Progress::new(dated);
        let mut keeper = Keeper::new(&folder.path().join("w.sqlite"), run(), dated, Arc::clone(&progress));
        keeper.open_strictly().unwrap();
        assert!(progress.health().up);
        keeper.backlog.push_back(Entry::Window(Direction::AToB, Box::new(closed("fifo", None))));
        keeper.attempts = 1;
        progress.failed("database or disk is full".to_owned());
        keeper.open_strictly().unwrap();
        let health = progress.health();
        assert_eq!((health.up, health.error.as_deref()), (false, Some("database or disk is full")));
        keeper.turn();
        let health = progress.health();
        assert_eq!((health.up, health.error, health.stored), (true, None, 1));
    }
}
