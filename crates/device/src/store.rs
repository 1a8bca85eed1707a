//! Windows and slots in SQLite, each committed as it ends: a kill loses the window under way, nothing else.
//!
//! The packet thread hands a closed window to a storage thread through a bounded channel and never waits. The storage thread
//! opens the store, and opens it again after an error; meanwhile windows wait, up to a bound, and beyond it they are counted
//! as lost. Write-ahead log, synchronous commits: others read while it runs.

mod aside;
mod file;
mod keeper;
mod schema;
#[cfg(test)]
mod tests;

use crate::clock::Dated;
use crate::engine::Direction;
use crate::record::{Closed, Sink};
use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use file::File;
use keeper::Keeper;
pub use schema::VERSION as SCHEMA_VERSION;

/// Windows and slots that wait for a store that cannot be written; beyond, they are lost.
const WAITING: usize = 1024;

/// Different errors that are logged until the store works again.
const MOST_LOGGED: usize = 8;

/// What refuses to be a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, made or written.
    #[error("store {path}: {source}{}", crate::hardening::access_problem(path))]
    Sql {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The folder or the file cannot be made, looked at or renamed.
    #[error("store {path}: {source}")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A store whose contents are wrong.
    #[error("store {path}: is damaged: {what}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What SQLite says of it.
        what: String,
    },
    /// A SQLite file of something else.
    #[error("store {0}: a SQLite file, but not one of sojournd; give a path of its own")]
    Foreign(PathBuf),
    /// Made by another version of the program.
    #[error("store {path}: its tables are of version {found}, this sojournd writes version {SCHEMA_VERSION}; give a new path")]
    Version {
        /// Which file.
        path: PathBuf,
        /// Version of its tables.
        found: i64,
    },
    /// No thread for it.
    #[error("store {path}: the storage thread cannot be started: {source}")]
    Thread {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl StoreError {
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql { source, .. } => source.sqlite_error_code(),
            _ => None,
        }
    }

    /// The word under which such a file is set aside; `None`: it may become usable as it is.
    fn aside(&self) -> Option<String> {
        match self {
            Self::Damaged { .. } => Some("damaged".to_owned()),
            Self::Foreign(_) => Some("foreign".to_owned()),
            Self::Version { found, .. } => Some(format!("version-{found}")),
            Self::Sql { .. } => {
                let damaged = [ErrorCode::DatabaseCorrupt, ErrorCode::NotADatabase];
                self.code().filter(|code| damaged.contains(code)).map(|_| "damaged".to_owned())
            }
            Self::File { .. } | Self::Thread { .. } => None,
        }
    }
}

/// A process that measures.
#[derive(Clone, Debug)]
pub struct Run {
    /// Of the program.
    pub version: String,
    /// The configuration, as read.
    pub config: String,
    /// Of its random numbers.
    pub seed: u64,
    /// Shaped rate from A to B at its start, bit/s; 0 without a queue.
    pub rate_bit_s: u64,
    /// Framing a packet, bytes.
    pub overhead_bytes: u64,
}

/// A slot of the schedule as carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its number.
    pub slot: u64,
    /// Where the scheme is in force.
    pub direction: &'static str,
    /// Name of the scheme.
    pub label: String,
    /// The scheme, as tc writes it.
    pub scheme: String,
    /// When it was due, nanoseconds since 1970-01-01 UTC.
    pub due_ns: u64,
    /// When the packet thread said that it is in force.
    pub began_ns: u64,
    /// Seed of the schedule.
    pub seed: u64,
    /// `random` or `blocks`.
    pub design: &'static str,
}

/// Where slots go.
pub type SlotSink = Box<dyn FnMut(Slot) + Send>;

/// An error and its time.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Mishap {
    /// When, nanoseconds since 1970-01-01 UTC.
    pub at_ns: u64,
    /// What it was.
    pub what: String,
}

/// How the storage fares. Of the windows closed so far, `stored + waiting + lost` is all.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Health {
    /// The store is open and takes what it is given.
    pub up: bool,
    /// Windows stored by this process.
    pub stored: u64,
    /// Windows that wait to be stored.
    pub waiting: u64,
    /// Windows that could not be stored.
    pub lost: u64,
    /// Slots of the schedule that could not be stored.
    pub lost_slots: u64,
    /// Why nothing can be stored now; `null` while it is up.
    pub error: Option<String>,
    /// The last error, also after it is over.
    pub last_error: Option<Mishap>,
    /// The name under which this process last set a file aside that was damaged or no store of this version.
    pub set_aside: Option<String>,
}

enum Entry {
    Window(Direction, Box<Closed>),
    Slot(Slot),
}

/// What is known of the last slot: nothing before the store was opened for the first time.
type Known = Option<Option<(u64, u64, u64)>>;

/// How the storage fares, for whoever asks while it runs.
#[derive(Debug)]
pub struct Progress {
    dated: Dated,
    offered: AtomicU64,
    stored: AtomicU64,
    lost: AtomicU64,
    lost_slots: AtomicU64,
    /// Its counts are not in use.
    told: Mutex<Health>,
    /// Errors that were logged since it worked last.
    logged: Mutex<Vec<String>>,
    known: Mutex<Known>,
}

impl Progress {
    fn new(dated: Dated) -> Arc<Self> {
        let count = AtomicU64::default;
        let (told, logged, known) = (Mutex::default(), Mutex::default(), Mutex::default());
        let [offered, stored, lost, lost_slots] = std::array::from_fn(|_| count());
        Arc::new(Self { dated, offered, stored, lost, lost_slots, told, logged, known })
    }

    fn told(&self) -> MutexGuard<'_, Health> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now.
    #[must_use]
    pub fn health(&self) -> Health {
        let told = self.told().clone();
        let load = |count: &AtomicU64| count.load(Ordering::Acquire);
        let (stored, lost, lost_slots) = (load(&self.stored), load(&self.lost), load(&self.lost_slots));
        // Read last: a window is offered before it is anything else.
        let waiting = load(&self.offered).saturating_sub(stored + lost);
        Health { stored, waiting, lost, lost_slots, ..told }
    }

    /// Number and due time (nanoseconds since 1970-01-01 UTC) of the last slot that the store held when it was opened, if it is
    /// of the schedule with this seed: a restarted schedule goes on from there. `None` before the store was opened.
    #[must_use]
    pub fn last_slot(&self, seed: u64) -> Option<Option<(u64, u64)>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.map(|last| last.filter(|last| last.0 == seed).map(|(_, slot, due_ns)| (slot, due_ns)))
    }

    fn lose(&self, entry: &Entry) {
        match entry {
            Entry::Window(..) => self.lost.fetch_add(1, Ordering::AcqRel),
            Entry::Slot(_) => self.lost_slots.fetch_add(1, Ordering::AcqRel),
        };
    }

    /// Something failed; said in the log once until it works, however often it is tried again and whatever else fails in
    /// between.
    fn failed(&self, what: String) {
        let mut told = self.told();
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MOST_LOGGED && !logged.contains(&what) {
            logged.push(what.clone());
            tracing::warn!(
                error = what,
                "nothing can be stored; frames are still forwarded, and sojournd keeps trying to open the store"
            );
        }
        told.up = false;
        told.last_error = Some(Mishap { at_ns: self.dated.now_unix_ns(), what: what.clone() });
        told.error = Some(what);
    }

    /// It takes what it is given.
    fn well(&self) {
        let mut told = self.told();
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if told.error.take().is_some() {
            tracing::info!("the store works");
        }
        told.up = true;
    }
}

/// A store and, once started, its thread.
pub struct Store {
    path: PathBuf,
    sender: SyncSender<Entry>,
    keeper: Option<(Keeper, Receiver<Entry>)>,
    thread: Option<JoinHandle<()>>,
    progress: Arc<Progress>,
}

impl Store {
    /// Opens the store at `path`, or makes one, and begins a run in it whose clock is `dated`.
    ///
    /// # Errors
    /// The file cannot be written, is not a store, or is one of another version.
    pub fn open(path: &Path, run: &Run, dated: Dated) -> Result<Self, StoreError> {
        let mut store = Self::keep(path, run, dated);
        if let Some((keeper, _)) = &mut store.keeper {
            keeper.open_strictly()?;
        }
        Ok(store)
    }

    /// As [`Store::open`], but the storage thread opens the file. Whatever the matter is, it is said in the [`Health`] and tried
    /// again; a file that is damaged or no store of this version is set aside under another name, and a new one begun.
    #[must_use]
    pub fn keep(path: &Path, run: &Run, dated: Dated) -> Self {
        let (sender, receiver) = sync_channel(WAITING);
        let progress = Progress::new(dated);
        let keeper = Keeper::new(path, run.clone(), dated, Arc::clone(&progress));
        Self { path: path.to_owned(), sender, keeper: Some((keeper, receiver)), thread: None, progress }
    }

    /// Starts the storage thread unless it runs; what was handed over before waits for it. After privileges are given up: a
    /// thread of before would keep them.
    ///
    /// # Errors
    /// The system gives no thread. It may be asked again.
    pub fn start(&mut self) -> Result<(), StoreError> {
        let Some(keeper) = self.keeper.take() else { return Ok(()) };
        // Here for the thread, or, where there is none, for the next attempt.
        let keeper = Arc::new(Mutex::new(Some(keeper)));
        let for_it = Arc::clone(&keeper);
        let take = |keeper: &Mutex<Option<_>>| keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let keep = move || {
            if let Some((keeper, receiver)) = take(&for_it) {
                Keeper::keep(keeper, &receiver);
            }
        };
        match std::thread::Builder::new().name("store".into()).spawn(keep) {
            Ok(thread) => {
                self.thread = Some(thread);
                Ok(())
            }
            Err(source) => {
                self.keeper = take(&keeper);
                let error = StoreError::Thread { path: self.path.clone(), source };
                self.progress.failed(error.to_string());
                Err(error)
            }
        }
    }

    /// Takes the closed windows of a direction.
    #[must_use]
    pub fn sink(&self, direction: Direction) -> Sink {
        let (sender, progress) = (self.sender.clone(), Arc::clone(&self.progress));
        Box::new(move |closed| {
            progress.offered.fetch_add(1, Ordering::AcqRel);
            offer(&sender, Entry::Window(direction, Box::new(closed)), &progress);
        })
    }

    /// Takes the slots of a schedule.
    #[must_use]
    pub fn slots(&self) -> SlotSink {
        let (sender, progress) = (self.sender.clone(), Arc::clone(&self.progress));
        Box::new(move |slot| offer(&sender, Entry::Slot(slot), &progress))
    }

    /// How it fares, for whoever asks while it runs.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Waits until everything handed over is stored or lost. Sinks must have been dropped before.
    ///
    /// # Errors
    /// It was never started, and the system gives no thread.
    pub fn close(mut self) -> Result<Health, StoreError> {
        self.start()?;
        drop(self.sender);
        if let Some(thread) = self.thread {
            // A thread that panicked has stored what it could.
            let _ = thread.join();
        }
        Ok(self.progress.health())
    }
}

/// Never waits.
fn offer(sender: &SyncSender<Entry>, entry: Entry, progress: &Progress) {
    match sender.try_send(entry) {
        Ok(()) => {}
        Err(TrySendError::Full(entry) | TrySendError::Disconnected(entry)) => progress.lose(&entry),
    }
}
