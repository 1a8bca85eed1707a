//! Every input that the fuzz target `scenario` kept, again. `fuzz/run minimise scenario` renews them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod body;
#[path = "../../../../fuzz/kept.rs"]
mod kept;

#[test]
fn every_scenario_that_the_fuzzer_kept_conserves_packets() {
    let (mut run, mut delivered) = (0, 0);
    for books in kept::inputs("scenario").iter().filter_map(|input| body::check_input(input)) {
        run += 1;
        delivered += books.delivered;
    }
    // An empty or foreign corpus proves nothing.
    assert!(run >= 20 && delivered > 1000, "{run} runs, {delivered} packets delivered");
}
