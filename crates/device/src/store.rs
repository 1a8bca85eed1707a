//! Windows and slots in SQLite, each committed as it ends: a kill loses the window under way, nothing else.
//!
//! The packet thread hands a closed window to a storage thread through a bounded channel and never waits; what finds the
//! channel full is counted as lost and said in the status. Write-ahead log, synchronous commits: others read while it runs.

mod schema;
#[cfg(test)]
mod tests;

use crate::clock::Dated;
use crate::engine::Direction;
use crate::record::{Closed, Sink};
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter, Connection, OptionalExtension};
use sojourn_measure::window::Class;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use schema::whole;
pub use schema::VERSION as SCHEMA_VERSION;

/// Windows and slots that wait for the disk; beyond, they are lost.
const WAITING: usize = 1024;

/// What refuses to be a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened, made or written.
    #[error("store {path}: {source}")]
    Sql {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
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
    #[error("store {path}: no storage thread: {source}")]
    Thread {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
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

/// How the storage fares.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Health {
    /// Windows stored by this process.
    pub stored: u64,
    /// Windows and slots that could not be stored.
    pub lost: u64,
    /// Why the last of these could not.
    pub error: Option<String>,
}

enum Entry {
    Window(Direction, Box<Closed>),
    Slot(Slot),
}

/// An open store and, once started, its thread.
pub struct Store {
    path: PathBuf,
    sender: SyncSender<Entry>,
    writer: Option<(Writer, Receiver<Entry>)>,
    thread: Option<JoinHandle<()>>,
    health: Arc<Mutex<Health>>,
    last_slot: Option<(u64, u64, u64)>,
}

impl Store {
    /// Opens the store at `path`, or makes one, and begins a run in it whose clock is `dated`.
    ///
    /// # Errors
    /// The file cannot be written, is not a store, or is one of another version.
    pub fn open(path: &Path, run: &Run, dated: Dated) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Sql { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(failed)?;
        prepare(&connection, path)?;
        let number = begin(&connection, run, dated).map_err(failed)?;
        let last_slot = connection
            .query_row("SELECT seed, slot, due_ns FROM slots ORDER BY rowid DESC LIMIT 1", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })
            .optional()
            .map_err(failed)?
            .and_then(|(seed, slot, due)| Some((seed.parse().ok()?, slot.try_into().ok()?, due.try_into().ok()?)));
        let (sender, receiver) = sync_channel(WAITING);
        let health = Arc::new(Mutex::new(Health::default()));
        let writer = Writer { connection, run: number, dated, health: Arc::clone(&health) };
        Ok(Self { path: path.to_owned(), sender, writer: Some((writer, receiver)), thread: None, health, last_slot })
    }

    /// Starts the storage thread; what was handed over before waits for it. Apart from [`Store::open`], because a process
    /// gives up its privileges in between, and a thread of before would keep them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(&mut self) -> Result<(), StoreError> {
        if let Some((writer, receiver)) = self.writer.take() {
            let thread = std::thread::Builder::new()
                .name("store".into())
                .spawn(move || writer.write(&receiver))
                .map_err(|source| StoreError::Thread { path: self.path.clone(), source })?;
            self.thread = Some(thread);
        }
        Ok(())
    }

    /// Takes the closed windows of a direction.
    #[must_use]
    pub fn sink(&self, direction: Direction) -> Sink {
        let (sender, health) = (self.sender.clone(), Arc::clone(&self.health));
        Box::new(move |closed| offer(&sender, Entry::Window(direction, Box::new(closed)), &health))
    }

    /// Takes the slots of a schedule.
    #[must_use]
    pub fn slots(&self) -> SlotSink {
        let (sender, health) = (self.sender.clone(), Arc::clone(&self.health));
        Box::new(move |slot| offer(&sender, Entry::Slot(slot), &health))
    }

    /// Number and due time (nanoseconds since 1970-01-01 UTC) of the last slot that this store holds, if it is of the
    /// schedule with this seed: a restarted schedule goes on from there.
    #[must_use]
    pub fn last_slot(&self, seed: u64) -> Option<(u64, u64)> {
        self.last_slot.filter(|last| last.0 == seed).map(|(_, slot, due_ns)| (slot, due_ns))
    }

    /// How it fares, for whoever asks while it runs.
    #[must_use]
    pub fn health(&self) -> Arc<Mutex<Health>> {
        Arc::clone(&self.health)
    }

    /// Waits until everything handed over is stored. Sinks must have been dropped before.
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
        Ok(self.health.lock().map(|health| health.clone()).unwrap_or_default())
    }
}

/// Never waits.
fn offer(sender: &SyncSender<Entry>, entry: Entry, health: &Mutex<Health>) {
    if sender.try_send(entry).is_err() {
        if let Ok(mut health) = health.lock() {
            health.lost += 1;
            health.error = Some(format!("the disk is {WAITING} windows behind"));
        }
    }
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::Sql { path: path.to_owned(), source };
    let pragma = |name| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).map_err(failed);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let found = pragma("user_version")?;
    if tables > 0 && pragma("application_id")? != schema::APPLICATION {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    if tables > 0 && found != schema::VERSION {
        return Err(StoreError::Version { path: path.to_owned(), found });
    }
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 5000;",
        )
        .map_err(failed)?;
    if tables == 0 {
        connection.execute_batch(&format!("BEGIN; {} COMMIT;", schema::CREATE)).map_err(failed)?;
    }
    Ok(())
}

fn begin(connection: &Connection, run: &Run, dated: Dated) -> rusqlite::Result<i64> {
    let sql = format!(
        "INSERT INTO runs (version, config, seed, rate_bit_s, overhead_bytes, started_ns, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, {})",
        schema::date(6)
    );
    connection.execute(
        &sql,
        params![
            run.version,
            run.config,
            run.seed.to_string(),
            whole(run.rate_bit_s),
            whole(run.overhead_bytes),
            whole(dated.unix_ns(0))
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

struct Writer {
    connection: Connection,
    run: i64,
    dated: Dated,
    health: Arc<Mutex<Health>>,
}

impl Writer {
    /// Until every sender is gone.
    fn write(mut self, entries: &Receiver<Entry>) {
        let insert = schema::insert_window();
        for entry in entries {
            let outcome = match &entry {
                Entry::Window(direction, closed) => self.window(&insert, *direction, closed),
                Entry::Slot(slot) => self.slot(slot),
            };
            let Ok(mut health) = self.health.lock() else { return };
            match outcome {
                Ok(windows) => health.stored += windows,
                Err(error) => {
                    health.lost += 1;
                    health.error = Some(error.to_string());
                }
            }
        }
    }

    fn window(&mut self, insert: &str, direction: Direction, closed: &Closed) -> rusqlite::Result<u64> {
        let Closed { row, setting, rate, complete } = closed;
        let keys = [
            Value::Integer(self.run),
            whole(self.dated.unix_ns(row.started_ns)),
            whole(self.dated.unix_ns(row.ended_ns)),
            Value::Text(direction.name().to_owned()),
            Value::Text(setting.scheme.clone()),
            Value::Text(setting.label.clone()),
            setting.slot.map_or(Value::Null, whole),
            whole(rate.bit_s()),
            Value::Integer(i64::from(*complete)),
        ];
        let values = schema::COLUMNS.iter().map(|(_, value)| value(row));
        let transaction = self.connection.transaction()?;
        transaction.prepare_cached(insert)?.execute(params_from_iter(keys.into_iter().chain(values)))?;
        let window = transaction.last_insert_rowid();
        {
            let mut classes = transaction.prepare_cached("INSERT INTO classes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
            for (class, counts) in Class::ALL.iter().zip(&row.classes) {
                let [arrived, bytes, dropped, marked] =
                    [counts.arrived, counts.arrived_bytes, counts.dropped, counts.marked].map(whole);
                classes.execute(params![window, class.name(), arrived, bytes, dropped, marked])?;
            }
        }
        transaction.commit()?;
        Ok(1)
    }

    fn slot(&self, slot: &Slot) -> rusqlite::Result<u64> {
        self.connection.execute(
            "INSERT INTO slots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                self.run,
                whole(slot.slot),
                slot.direction,
                slot.label,
                slot.scheme,
                whole(slot.due_ns),
                whole(slot.began_ns),
                slot.seed.to_string(),
                slot.design
            ],
        )?;
        Ok(0)
    }
}
