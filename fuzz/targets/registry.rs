//! The contract of every registered algorithm under bytes that libFuzzer chooses. The body is that of the contract test
//! (`crates/aqm/tests/contract.rs`), which also replays the corpus kept in `fuzz/corpus/registry`.

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/aqm/tests/contract/body.rs"]
mod body;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate, Corpus};
use sojourn_aqm::{registry, Param};
use sojourn_fuzz::{put, Draw};
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
        for param in entry.params() {
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

/// Values for a parameter of a kind: small and large ones, and those at the ends of what a unit holds.
fn value(param: &Param, draw: &mut Draw) -> String {
    const TIMES: &[&str] = &["0", "1ns", "1us", "1ms", "20ms", "1s", "1h", "18446744073s"];
    const BYTES: &[&str] = &["0", "1", "64", "300B", "1514", "20kB", "4294967295"];
    const PACKETS: &[&str] = &["0", "1p", "2p", "3p", "4p", "20p", "1000p", "4294967296p"];
    const RATES: &[&str] = &["0", "1bit", "8kbit", "1mbit", "100gbit", "18446744073709551615bit"];
    const SHARES: &[&str] = &["0", "1e-9", "0.02", "0.5", "1"];
    const NUMBERS: &[&str] = &["0", "1", "2", "3", "8", "64", "1024", "65536", "4294967295", "0.5", "1e-9", "1e308"];
    let allowed: Vec<&str> = param.allowed.split(", ").collect();
    let choices: &[&[&str]] = match param.kind {
        "choice" => &[&allowed],
        "time" => &[TIMES],
        "bytes" => &[BYTES],
        "packets" => &[PACKETS],
        "rate" => &[RATES],
        "probability" => &[SHARES],
        "count" | "number" => &[NUMBERS],
        kind if kind.contains("time") => &[TIMES, PACKETS],
        kind if kind.contains("packets") => &[PACKETS, BYTES],
        _ => &[NUMBERS, SHARES],
    };
    let choices = *draw.of(choices);
    let optional = param.allowed.ends_with("or \"none\"");
    if optional && draw.once_in(4) { "none" } else { draw.of(choices) }.to_owned()
}

/// One configuration with a parameter set, replaced or taken away; or another algorithm.
fn configuration(old: &str, draw: &mut Draw) -> String {
    let mut words: Vec<String> = old.split_whitespace().map(str::to_owned).collect();
    let known = words.first().and_then(|name| registry::find(name)).filter(|_| !draw.once_in(6));
    let entry = known.unwrap_or_else(|| draw.of(registry::ALL));
    if known.is_none() {
        words = vec![entry.name.to_owned()];
        if !entry.presets.is_empty() && draw.once_in(4) {
            words.extend(["preset".to_owned(), (*draw.of(entry.presets)).to_owned()]);
        }
    }
    let params = entry.params();
    let param = match draw.below(3) {
        // The one that fills the queue.
        0 => params.iter().find(|param| param.name == "limit"),
        _ => None,
    };
    if params.is_empty() {
        return words.join(" ");
    }
    let param = param.unwrap_or_else(|| draw.of(&params));
    let place = words.iter().position(|word| word == param.name);
    let new = match param.flag {
        true if draw.once_in(2) => vec![param.name.to_owned()],
        true => vec![format!("no{}", param.name)],
        false => vec![param.name.to_owned(), value(param, draw)],
    };
    match place {
        Some(at) if !param.flag => {
            let new = if draw.once_in(4) { Vec::new() } else { new };
            words.splice(at..words.len().min(at + 2), new);
        }
        Some(at) => drop(words.remove(at)),
        None => words.extend(new),
    }
    words.join(" ")
}

/// The line of configurations, changed so that most results are accepted.
fn line(old: &str, draw: &mut Draw) -> String {
    let mut configs: Vec<String> = old.split(';').map(str::to_owned).collect();
    let at = draw.below(configs.len());
    match draw.below(8) {
        0 if configs.len() < 4 => configs.insert(at, configuration("", draw)),
        1 if configs.len() > 1 => drop(configs.remove(at)),
        _ => configs[at] = configuration(&configs[at], draw),
    }
    configs.join(";")
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut draw = Draw::new(seed);
    let end = data[..size].iter().position(|byte| *byte == b'\n');
    let (Some(end), kind) = (end, draw.below(8)) else { return fuzzer_mutate(data, size, max_size) };
    match (kind, std::str::from_utf8(&data[..end])) {
        (0..=3, Ok(text)) => {
            let new = [line(text, &mut draw).as_bytes(), &data[end..size]].concat();
            put(data, size, max_size, &new)
        }
        // Operations alone: a line with a changed letter is mostly refused.
        (4..=6, Ok(_)) if end + 1 < max_size => {
            let start = end + 1;
            start + fuzzer_mutate(&mut data[start..], size - start, max_size - start)
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});
