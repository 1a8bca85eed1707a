//! What the targets share: mutations that keep a document a document and a file of records a file of records, and seeds.

pub mod document;
pub mod pieces;

use std::fmt::Write as _;
use std::path::Path;

/// Random numbers of one mutation (splitmix64).
pub struct Draw(u64);

impl Draw {
    /// From libFuzzer's seed.
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed))
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        (x % n.max(1) as u64) as usize
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// True once in `n` draws.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Where `fuzz/run` wants seeds; `None` when somebody else runs the target.
pub fn seeds_wanted() -> Option<std::path::PathBuf> {
    std::env::var_os("FUZZ_SEEDS").map(Into::into)
}

/// Writes inputs to start from into the folder that the environment's `FUZZ_SEEDS` names, and a dictionary beside it.
pub fn seed<'a>(inputs: impl IntoIterator<Item = (String, Vec<u8>)>, words: impl IntoIterator<Item = &'a str>) {
    let Some(folder) = seeds_wanted() else { return };
    for (name, input) in inputs {
        write(&folder.join(format!("seed-{name}")), &input);
    }
    // libFuzzer refuses an empty file.
    let mut dictionary = String::from("# words\n");
    for word in words {
        let mut escaped = String::new();
        for byte in word.bytes() {
            match byte {
                b'"' | b'\\' => write!(escaped, "\\{}", byte as char),
                b' '..=b'~' => write!(escaped, "{}", byte as char),
                _ => write!(escaped, "\\x{byte:02x}"),
            }
            .expect("writing to a string");
        }
        writeln!(dictionary, "\"{escaped}\"").expect("writing to a string");
    }
    write(&folder.with_extension("dict"), dictionary.as_bytes());
}

fn write(file: &Path, contents: &[u8]) {
    std::fs::write(file, contents).expect("a folder for seeds");
}

/// Puts `new` in the place of the input; the old one stays when it does not fit.
pub fn put(data: &mut [u8], size: usize, max_size: usize, new: &[u8]) -> usize {
    if new.is_empty() || new.len() > max_size.min(data.len()) {
        return size;
    }
    data[..new.len()].copy_from_slice(new);
    new.len()
}
