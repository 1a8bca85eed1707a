//! An open store.

use super::aside::{with, COMPANIONS};
use super::entry::{Entry, Run, Slot};
use super::error::StoreError;
use super::schema;
use crate::clock::Dated;
use crate::engine::Direction;
use crate::record::Closed;
use rusqlite::types::Value;
use rusqlite::{params, params_from_iter, Connection, ErrorCode, OptionalExtension};
use schema::whole;
use sojourn_measure::window::Class;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A lock of somebody else's is waited for so long.
const BUSY: Duration = Duration::from_secs(5);
/// Longest check of a store that is opened; a larger one is checked in part.
const CHECK: Duration = Duration::from_secs(10);
/// Instructions of SQLite between two looks at the clock during the check.
const STEPS: i32 = 10_000;
const INSERT_CLASS: &str = "INSERT INTO classes VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const INSERT_SLOT: &str = "INSERT INTO slots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// Device and inode.
type Identity = Option<(u64, u64)>;

pub(super) struct File {
    path: PathBuf,
    connection: Connection,
    run: i64,
    dated: Dated,
    insert: String,
    /// Of the database and its write-ahead log, as they were opened.
    opened: [Identity; 2],
}

impl File {
    /// Opens or makes the store at `path` and begins `run` in it, unless it holds that run already.
    pub(super) fn open(path: &Path, run: &Run, dated: Dated) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Sql { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let made = DirBuilder::new().recursive(true).mode(0o750).create(folder);
            made.map_err(|source| StoreError::File { path: path.to_owned(), source })?;
        }
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let insert = schema::insert_window();
        prepare(&connection, path, &insert)?;
        let number = begin(&connection, run, dated).map_err(failed)?;
        let opened = identities(path);
        Ok(Self { path: path.to_owned(), connection, run: number, dated, insert, opened })
    }

    /// Seed, number and due time of the slot that was stored last.
    pub(super) fn last_slot(&self) -> rusqlite::Result<Option<(u64, u64, u64)>> {
        let sql = "SELECT seed, slot, due_ns FROM slots ORDER BY rowid DESC LIMIT 1";
        let row = self
            .connection
            .query_row(sql, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        let read = |(seed, slot, due): (String, i64, i64)| {
            Some((seed.parse().ok()?, slot.try_into().ok()?, due.try_into().ok()?))
        };
        Ok(row.optional()?.and_then(read))
    }

    /// When the window that was stored last ended, nanoseconds since 1970-01-01 UTC.
    pub(super) fn last_end(&self) -> rusqlite::Result<Option<u64>> {
        let sql = "SELECT ended_ns FROM windows ORDER BY window DESC LIMIT 1";
        let end = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0)).optional()?;
        Ok(end.and_then(|end| end.try_into().ok()))
    }

    /// The file was removed or replaced since it was opened: what is written goes where nobody finds it.
    pub(super) fn moved(&self) -> bool {
        self.opened.iter().zip(identities(&self.path)).any(|(then, now)| then.is_some() && *then != now)
    }

    /// The number that the entry would get.
    pub(super) fn next(&self, entry: &Entry) -> Result<i64, StoreError> {
        let sql = match entry {
            Entry::Window(..) => "SELECT coalesce(max(window), 0) + 1 FROM windows",
            Entry::Slot(_) => "SELECT coalesce(max(rowid), 0) + 1 FROM slots",
        };
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|source| self.failed(source))
    }

    /// Whether this run has stored an entry of this kind under `number`. An attempt that failed may have: SQLite finds what it
    /// wrote when the file is opened again.
    pub(super) fn has(&self, entry: &Entry, number: i64) -> Result<bool, StoreError> {
        let sql = match entry {
            Entry::Window(..) => "SELECT count(*) FROM windows WHERE window = ?1 AND run = ?2",
            Entry::Slot(_) => "SELECT count(*) FROM slots WHERE rowid = ?1 AND run = ?2",
        };
        let found = self.connection.query_row(sql, params![number, self.run], |row| row.get::<_, i64>(0));
        found.map(|found| found > 0).map_err(|source| self.failed(source))
    }

    /// Stores an entry.
    pub(super) fn put(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let outcome = match entry {
            Entry::Window(direction, closed) => self.window(*direction, closed),
            Entry::Slot(slot) => self.slot(slot),
        };
        outcome.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sql { path: self.path.clone(), source }
    }

    fn window(&mut self, direction: Direction, closed: &Closed) -> rusqlite::Result<()> {
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
        transaction.prepare_cached(&self.insert)?.execute(params_from_iter(keys.into_iter().chain(values)))?;
        let window = transaction.last_insert_rowid();
        {
            let mut classes = transaction.prepare_cached(INSERT_CLASS)?;
            for (class, counts) in Class::ALL.iter().zip(&row.classes) {
                let [arrived, bytes, dropped, marked] =
                    [counts.arrived, counts.arrived_bytes, counts.dropped, counts.marked].map(whole);
                classes.execute(params![window, class.name(), arrived, bytes, dropped, marked])?;
            }
        }
        transaction.commit()
    }

    fn slot(&self, slot: &Slot) -> rusqlite::Result<()> {
        self.connection.execute(
            INSERT_SLOT,
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
        Ok(())
    }
}

fn identities(path: &Path) -> [Identity; 2] {
    let identity = |end: &str| with(path, end).metadata().ok().map(|found| (found.dev(), found.ino()));
    [identity(""), identity(COMPANIONS[0])]
}

fn prepare(connection: &Connection, path: &Path, insert: &str) -> Result<(), StoreError> {
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
    if tables > 0 {
        check(connection, path, insert)?;
    }
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .map_err(failed)?;
    if tables == 0 {
        connection.execute_batch(&format!("BEGIN; {} COMMIT;", schema::CREATE)).map_err(failed)?;
    }
    Ok(())
}

/// Looks for damage, for at most [`CHECK`].
fn check(connection: &Connection, path: &Path, insert: &str) -> Result<(), StoreError> {
    let failed = |source| StoreError::Sql { path: path.to_owned(), source };
    let damaged = |what| StoreError::Damaged { path: path.to_owned(), what };
    let until = Instant::now() + CHECK;
    connection.progress_handler(STEPS, Some(move || Instant::now() > until)).map_err(failed)?;
    let found = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    connection.progress_handler(0, None::<fn() -> bool>).map_err(failed)?;
    match found {
        Ok(found) if found == "ok" => {}
        Ok(found) => return Err(damaged(found)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
            tracing::info!("store {}: checked in part, for {} s", path.display(), CHECK.as_secs());
        }
        Err(error) => return Err(failed(error)),
    }
    // Tables and columns are those that will be written.
    for sql in [insert, INSERT_CLASS, INSERT_SLOT] {
        match connection.prepare(sql) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => {
                return Err(damaged(error.to_string()))
            }
            outcome => drop(outcome.map_err(failed)?),
        }
    }
    Ok(())
}

fn begin(connection: &Connection, run: &Run, dated: Dated) -> rusqlite::Result<i64> {
    let (seed, started) = (run.seed.to_string(), whole(dated.unix_ns(0)));
    let sql = "SELECT run FROM runs WHERE started_ns = ?1 AND seed = ?2 AND config = ?3";
    if let Some(run) = connection.query_row(sql, params![started, seed, run.config], |row| row.get(0)).optional()? {
        return Ok(run);
    }
    let sql = format!(
        "INSERT INTO runs (version, config, seed, rate_bit_s, overhead_bytes, started_ns, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, {})",
        schema::date(6)
    );
    connection.execute(
        &sql,
        params![run.version, run.config, seed, whole(run.rate_bit_s), whole(run.overhead_bytes), started],
    )?;
    Ok(connection.last_insert_rowid())
}
