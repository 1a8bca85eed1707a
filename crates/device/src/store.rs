//! Windows and slots in SQLite, each committed as it ends: a kill loses the window under way, nothing else.
//!
//! The packet thread hands a closed window to a storage thread through a bounded channel and never waits. The storage thread
//! opens the store, and opens it again after an error; meanwhile windows wait, up to a bound, and beyond it they are counted
//! as lost. Write-ahead log, synchronous commits: others read while it runs.

mod aside;
mod entry;
mod error;
mod file;
mod keeper;
mod progress;
mod schema;
#[cfg(test)]
mod tests;

use crate::clock::Dated;
use crate::engine::Direction;
use crate::record::Sink;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use entry::Entry;
use keeper::{Keeper, WAITING};

pub use entry::{Run, Slot};
pub use error::StoreError;
pub use progress::{Health, Mishap, Progress};
pub use schema::VERSION as SCHEMA_VERSION;

/// Where slots go.
pub type SlotSink = Box<dyn FnMut(Slot) + Send>;

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
