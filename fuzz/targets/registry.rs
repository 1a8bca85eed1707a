//! The contract of every registered algorithm under bytes that libFuzzer chooses. The body is that of the contract test
//! (`crates/aqm/tests/contract.rs`), which also replays the corpus kept in `fuzz/corpus/registry`.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/aqm/tests/contract/body.rs"]
mod body;

use libfuzzer_sys::{fuzz_target, Corpus};
use sojourn_aqm::registry;
use std::fmt::Write as _;
use std::path::Path;

/// What the registry has, for the fuzzer to start from: into the folder of the environment's `FUZZ_SEEDS` an input for
/// every algorithm and preset, and beside it a dictionary of every word of a configuration.
fn seed() {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS") else { return };
    let folder = Path::new(&folder);
    let mut dictionary = String::from("\";\"\n");
    let mut add = |word: &str| writeln!(dictionary, "\"{word} \"").expect("writing to a string");
    for unit in ["0", "1", "1ns", "1us", "1ms", "1s", "none", "1p", "3p", "20p", "300B", "20kB", "1mbit", "0.5"] {
        add(unit);
    }
    for (n, entry) in registry::ALL.iter().enumerate() {
        add(entry.name);
        for param in (entry.params)() {
            add(param.name);
            if param.kind == "choice" {
                param.allowed.split(", ").for_each(&mut add);
            }
        }
        let presets = entry.presets.iter().map(|preset| format!("{0} preset {preset};{0}", entry.name));
        // A small buffer, so that it overflows; and another algorithm to change to.
        let other = registry::ALL[(n + 1) % registry::ALL.len()].name;
        let texts =
            presets.chain([format!("{0} limit 20p;{other};{0}", entry.name), format!("{0};{other}", entry.name)]);
        for (i, text) in texts.enumerate() {
            let input = [text.as_bytes(), b"\n", &body::bytes((n * 100 + i) as u64, 600)].concat();
            std::fs::write(folder.join(format!("seed-{}-{i}", entry.name)), input).expect("a folder for seeds");
        }
    }
    std::fs::write(folder.with_extension("dict"), dictionary).expect("a folder for seeds");
}

fuzz_target!(
    init: seed(),
    |input: &[u8]| -> Corpus {
        match body::check_input(input) {
            Some(_) => Corpus::Keep,
            // Refused: read without a panic, which is all that it can show.
            None => Corpus::Reject,
        }
    }
);
