//! A file that is no store of this version is renamed, so that a new one can be begun. Nothing is overwritten or deleted.

use crate::clock::utc;
use rustix::fs::{renameat_with, RenameFlags, CWD};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// SQLite's companions of a database: their names are its name and these.
pub(super) const COMPANIONS: [&str; 2] = ["-wal", "-shm"];
/// Names that are tried.
const NAMES: u32 = 100;

pub(super) fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// A link is there as well, wherever it leads.
fn there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Renames `path` and its companions to `PATH.WORD-TIME`, and returns the new name. Where `path` is a symbolic link, the link
/// is renamed, not what it leads to.
pub(super) fn set_aside(path: &Path, word: &str, now_unix_ns: u64) -> io::Result<PathBuf> {
    let ends = || COMPANIONS.into_iter().chain([""]);
    let time = utc(now_unix_ns);
    for n in 0..NAMES {
        let again = if n == 0 { String::new() } else { format!("-{n}") };
        let name = with(path, &format!(".{word}-{time}{again}"));
        if ends().any(|end| there(&with(&name, end))) {
            continue;
        }
        // The file last: while it is there, a start after a kill finds it and does this again. A write-ahead log that lay
        // beside a new, empty file would be deleted by SQLite.
        for end in ends() {
            let (from, to) = (with(path, end), with(&name, end));
            if there(&from) {
                renameat_with(CWD, &from, CWD, &to, RenameFlags::NOREPLACE)?;
            }
        }
        return Ok(name);
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("all names {}.{word}-{time} are taken", path.display())))
}
