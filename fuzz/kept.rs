//! The inputs that `fuzz/run` keeps for a target, for the tests that repeat them.

use std::fs;
use std::process::Command;

/// The bytes of each input of `target`, in the order of their names, which are printed.
///
/// # Panics
/// The archive is missing or damaged.
pub fn inputs(target: &str) -> Vec<Vec<u8>> {
    let archive = format!("{}/../../fuzz/corpus/{target}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let folder = format!("{}/{target}-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    fs::create_dir_all(&folder).expect("a new folder");
    let unpacked = Command::new("tar").args(["-xzf", &archive, "-C", &folder]).status().expect("tar");
    assert!(unpacked.success(), "{archive}");
    let files = fs::read_dir(&folder).expect("the new folder");
    let mut paths: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    paths.sort();
    println!("{paths:#?}");
    let inputs = paths.iter().map(|path| fs::read(path).expect("a readable file")).collect();
    fs::remove_dir_all(&folder).expect("the new folder");
    inputs
}
