//! How the storage fares.

use super::entry::Entry;
use crate::clock::Dated;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Different errors that are logged until the store works again.
const MOST_LOGGED: usize = 8;

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

/// What is known of the last slot: nothing before the store was opened for the first time.
type Known = Option<Option<(u64, u64, u64)>>;

/// How the storage fares, for whoever asks while it runs.
#[derive(Debug)]
pub struct Progress {
    dated: Dated,
    pub(super) offered: AtomicU64,
    pub(super) stored: AtomicU64,
    lost: AtomicU64,
    lost_slots: AtomicU64,
    /// Its counts are not in use.
    told: Mutex<Health>,
    /// Errors that were logged since it worked last.
    logged: Mutex<Vec<String>>,
    pub(super) known: Mutex<Known>,
}

impl Progress {
    pub(super) fn new(dated: Dated) -> Arc<Self> {
        let count = AtomicU64::default;
        let (told, logged, known) = (Mutex::default(), Mutex::default(), Mutex::default());
        let [offered, stored, lost, lost_slots] = std::array::from_fn(|_| count());
        Arc::new(Self { dated, offered, stored, lost, lost_slots, told, logged, known })
    }

    pub(super) fn told(&self) -> MutexGuard<'_, Health> {
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

    pub(super) fn lose(&self, entry: &Entry) {
        match entry {
            Entry::Window(..) => self.lost.fetch_add(1, Ordering::AcqRel),
            Entry::Slot(_) => self.lost_slots.fetch_add(1, Ordering::AcqRel),
        };
    }

    /// Something failed; said in the log once until it works, however often it is tried again and whatever else fails in
    /// between.
    pub(super) fn failed(&self, what: String) {
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
    pub(super) fn well(&self) {
        let mut told = self.told();
        self.logged.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if told.error.take().is_some() {
            tracing::info!("the store works");
        }
        told.up = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn an_error_is_logged_once_until_the_store_works_whatever_else_fails_in_between() {
        let progress = Progress::new(Dated::new(Clock::start()));
        let logged = |progress: &Progress| progress.logged.lock().unwrap().len();
        ["full", "locked", "full", "locked"].into_iter().for_each(|what| progress.failed(what.to_owned()));
        assert_eq!((logged(&progress), progress.health().error.as_deref()), (2, Some("locked")));
        (0..100).for_each(|n| progress.failed(n.to_string()));
        assert_eq!(logged(&progress), MOST_LOGGED);
        progress.well();
        assert_eq!((logged(&progress), progress.health().error), (0, None));
    }
}
