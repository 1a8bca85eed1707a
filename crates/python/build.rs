//! Names the build: a hash of every source that can change a result, the same for the same sources on any machine.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = here.join("../..");
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for name in [
        "units",
        "aqm",
        "measure",
        "document",
        "capture",
        "random",
        "transport",
        "traffic",
        "scenario",
        "sim",
        "python",
    ] {
        let package = root.join("crates").join(name);
        files.push(package.join("Cargo.toml"));
        sources(&package.join("src"), &mut files)?;
    }
    let mut texts = Vec::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        // The path, not its place on this machine; `/` on every platform.
        let name: Vec<String> = file
            .strip_prefix(&root)
            .unwrap_or(file)
            .components()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect();
        // A distribution may leave the lock file out.
        if let Ok(text) = fs::read(file) {
            texts.push((name.join("/"), text));
        }
    }
    texts.sort();
    let mut hash = Fnv::default();
    for (name, text) in &texts {
        hash.add(name.as_bytes());
        hash.add(&(text.len() as u64).to_le_bytes());
        hash.add(text);
    }
    println!("cargo:rustc-env=SOJOURN_SOURCES={:016x}", hash.0 as u64 ^ (hash.0 >> 64) as u64);
    Ok(())
}

/// Folders and files that hold tests alone: a change of a test leaves the results of stores as they are.
const TESTS: [&str; 4] = ["tests", "tests.rs", "test_host.rs", "walk.rs"];

/// Every Rust file below a folder but those that hold tests alone.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // A new file changes the folder, and nothing else that is watched.
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if TESTS.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a with 128 bits (RFC 9923): it guards against accidents, not against malice.
struct Fnv(u128);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
