//! Requests to the device's control interface of bytes that libFuzzer chooses, without sockets. The body is that of the test
//! (`crates/device/tests/api.rs`).

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/device/tests/api/body.rs"]
mod body;

use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

thread_local! {
    // One device for all inputs: to make one costs more than an input.
    static WORLD: RefCell<body::World> = RefCell::new(body::World::plain());
}

fuzz_target!(|input: &[u8]| {
    WORLD.with_borrow_mut(|world| body::requests(world, input));
});
