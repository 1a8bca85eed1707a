//! What goes wrong with a store.

use super::schema::VERSION;
use rusqlite::ErrorCode;
use std::path::PathBuf;

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
    #[error(
        "store {path}: its tables are of version {found}, this sojournd writes version {VERSION}; give a new path"
    )]
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
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql { source, .. } => source.sqlite_error_code(),
            _ => None,
        }
    }

    /// The word under which such a file is set aside; `None`: it may become usable as it is.
    pub(super) fn aside(&self) -> Option<String> {
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
