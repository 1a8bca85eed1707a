//! Frames that libFuzzer chooses, through the parser and the whole device. The body is that of the test
//! (`crates/device/tests/frames.rs`).

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/device/tests/frames/body.rs"]
mod body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| body::check_input(input));
