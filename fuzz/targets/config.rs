//! Texts that libFuzzer chooses, read as configurations of the device, and a device made of those that are accepted. The
//! body is that of a test (`crates/device/tests/library/fuzzed.rs`).

#![no_main]

#[path = "../../crates/device/tests/library/fuzzed/config.rs"]
mod body;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate, Corpus};
use sojourn_fuzz::document::Grammar;
use sojourn_fuzz::{put, seed};
use std::sync::LazyLock;

const SEEDS: &[&str] = &[
    r#"[ports.a]
back_end = "loopback"
[ports.b]
back_end = "loopback"
[a_to_b]
scheme = "fq_codel limit 20p ecn"
rate = "8 Mbit/s"
overhead = "24 B"
delay = "1 ms"
"#,
    r#"[ports.a]
back_end = "af_xdp"
interface = "eth0"
queue = 0
mode = "generic"
[ports.b]
back_end = "pcap"
write = "out.pcap"
[windows]
packets = 1000
store = "none"
[control]
listen = "127.0.0.1:9180"
socket = "none"
token_file = "token"
[run]
idle = "wait"
user = "nobody"
seed = 3
"#,
    r#"[ports.a]
back_end = "loopback"
faults = { loss = 0.1, reordering = 0.1, seed = 1 }
[ports.b]
back_end = "loopback"
[b_to_a]
scheme = "codel"
rate = "8 Mbit/s"
[schedule]
every = "1 s"
direction = "b_to_a"
schemes = { "short" = "codel target 1ms", "long" = "pie" }
seed = 5
"#,
];

static GRAMMAR: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::new(schemars::schema_for!(sojourn_device::config::Config).to_value(), SEEDS));

fn seeds() {
    let words = GRAMMAR.words();
    let seeds = SEEDS.iter().enumerate().map(|(n, text)| (n.to_string(), text.as_bytes().to_vec()));
    seed(seeds, words.iter().map(String::as_str));
}

fuzz_target!(
    init: seeds(),
    |input: &[u8]| -> Corpus {
        body::check_input(input);
        Corpus::Keep
    }
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 4 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let changed = std::str::from_utf8(&data[..size]).ok().and_then(|text| GRAMMAR.mutate(text, seed));
    match changed {
        Some(changed) => put(data, size, max_size, &changed),
        None if seed % 3 == 0 => put(data, size, max_size, &GRAMMAR.fresh(seed)),
        None => fuzzer_mutate(data, size, max_size),
    }
});
