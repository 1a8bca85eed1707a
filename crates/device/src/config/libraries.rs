//! Libraries of schemes, which are loaded before the schemes that name them are read.

use super::tables::PluginsTable;
use serde::Deserialize;
use sojourn_document::tree::Node;
use sojourn_document::{read, Error, Path as Key};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longest library.
const LONGEST: u64 = 64 << 20;

/// The part of the configuration that is read before schemes are, which may name plug-ins.
#[derive(Deserialize)]
struct Before {
    #[serde(default)]
    plugins: Option<PluginsTable>,
}

/// Loads the libraries that a configuration names.
///
/// # Errors
/// The table is wrong, or a library may not or cannot be loaded.
pub fn load(root: &Node) -> Result<(), Error> {
    // What else is wrong is said when the whole is read.
    let Ok(Before { plugins: Some(table) }) = read::<Before>(root) else { return Ok(()) };
    let at = Key::from("plugins");
    owned(&table.folder, true).map_err(|why| Error::new(at.then("folder"), why))?;
    for name in &table.libraries {
        let wrong = |why: String| Error::new(at.then("libraries"), why);
        if name.contains('/') || name.starts_with('.') {
            return Err(wrong(format!("{name:?} is not the name of a file in plugins.folder")));
        }
        let file = table.folder.join(name);
        owned(&file, false).map_err(wrong)?;
        let version = version(&file).map_err(|e| wrong(format!("{}: {e}", file.display())))?;
        sojourn_plugin::add_library(&file, &version).map_err(wrong)?;
    }
    Ok(())
}

/// Refuses what others than root may have put there.
fn owned(path: &Path, is_folder: bool) -> Result<(), String> {
    let place = path.display();
    let found = std::fs::symlink_metadata(path).map_err(|e| format!("{place}: {e}"))?;
    if !path.is_absolute() || found.is_dir() != is_folder || (!is_folder && !found.is_file()) {
        let kind = if is_folder { "the absolute path of a folder" } else { "a file" };
        return Err(format!("{place} is not {kind}, and links are not followed"));
    }
    if found.uid() != 0 || found.mode() & 0o022 != 0 {
        let (user, mode) = (found.uid(), found.mode() & 0o7777);
        return Err(format!(
            "{place} belongs to user {user} with mode {mode:04o}; allowed: owned by root and writable by root alone"
        ));
    }
    Ok(())
}

/// A name of this library, so that another one of the same name is another scheme.
fn version(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(LONGEST).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(format!("{:012x}", hasher.finish() >> 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_what_root_alone_can_write_to_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libx.so");
        std::fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        let is_root = std::fs::metadata(&file).unwrap().uid() == 0;
        mode(&file, 0o644);
        assert_eq!(owned(&file, false).is_ok(), is_root);
        for wrong in [0o664, 0o646] {
            mode(&file, wrong);
            assert!(owned(&file, false).unwrap_err().contains("allowed: owned by root"), "{wrong:o}");
        }
        mode(folder.path(), 0o777);
        assert!(owned(folder.path(), true).unwrap_err().contains("0777"));
        assert!(owned(&file, true).unwrap_err().contains("is not the absolute path of a folder"));
        let link = folder.path().join("link.so");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(owned(&link, false).unwrap_err().contains("links are not followed"));
    }
}
