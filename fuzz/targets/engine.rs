//! Orders of events that libFuzzer chooses, through the device with ports that are slow, full or refuse. The body is that of
//! a test (`crates/device/tests/library/fuzzed.rs`).

#![no_main]

#[path = "../../crates/device/tests/library/fuzzed/engine.rs"]
mod body;

use libfuzzer_sys::fuzz_target;
use sojourn_fuzz::{seed, Draw};

fn seeds() {
    let input = |n: usize| {
        let mut draw = Draw::new(n as u32);
        std::iter::once(n as u8).chain((0..80).map(|_| draw.below(256) as u8)).collect()
    };
    seed((0..body::SCHEMES.len()).map(|n| (n.to_string(), input(n))), []);
}

fuzz_target!(init: seeds(), |input| {
    body::check_input(input);
});
