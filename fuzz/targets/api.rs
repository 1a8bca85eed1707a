//! Requests to the device's control interface of bytes that libFuzzer chooses, without sockets. The body is that of the test
//! (`crates/device/tests/api.rs`).

#![no_main]

#[allow(dead_code)]
#[path = "../../crates/device/tests/api/body.rs"]
mod body;

use libfuzzer_sys::fuzz_target;
use sojourn_fuzz::seed;
use std::cell::RefCell;

thread_local! {
    // One device for all inputs: to make one costs more than an input.
    static WORLD: RefCell<body::World> = RefCell::new(body::World::plain());
}

fn seeds() {
    // A change that is accepted: PATCH, a_to_b, by who has the token, from the table of bodies.
    let change = |body: u8| [3, 10, 1, 0, 2, 0, 0, body];
    let raw = |body: &[u8]| [&[3, 10, 1, 0, 2, 0, 5, 0, body.len() as u8][..], body].concat();
    let inputs = [
        ("status", vec![0, 5, 0, 0, 0, 0, 0, 0]),
        ("rate", change(3).to_vec()),
        ("scheme", [change(9), change(11), change(4)].concat()),
        ("text", raw(br#"{"scheme": {"kind": "codel", "target": "5 ms"}, "rate": "2 Mbit/s"}"#)),
        ("deep", vec![3, 10, 1, 0, 2, 0, 7, 1, 0, 60]),
    ];
    let words =
        ["scheme", "rate", "delay", "label", "kind", "limit", "5 Mbit/s", "1 ms", "codel", "null", "[[[[", "{\"a\":"];
    seed(inputs.map(|(name, input)| (name.to_owned(), input)), words);
}

fuzz_target!(init: seeds(), |input| {
    WORLD.with_borrow_mut(|world| body::requests(world, input));
});
