//! Every input that the fuzz targets of the device kept, again. `fuzz/run minimise TARGET` renews them.

mod capture;
mod config;
mod engine;
#[path = "../../../../fuzz/kept.rs"]
mod kept;

// An empty or foreign corpus proves nothing, so each test says what its own must reach.

#[test]
fn every_configuration_that_the_fuzzer_kept_reads_back_and_accounts_for_every_frame() {
    let accepted = kept::inputs("config").iter().filter_map(|input| config::check_input(input)).count();
    assert!(accepted >= 10, "{accepted}");
}

#[test]
fn every_capture_that_the_fuzzer_kept_is_replayed_with_every_frame_counted() {
    let place = capture::Place::new();
    let frames: u64 = kept::inputs("capture").iter().filter_map(|input| capture::check_input(&place, input)).sum();
    assert!(frames >= 20, "{frames}");
}

#[test]
fn every_order_of_events_that_the_fuzzer_kept_keeps_every_frame_in_one_place() {
    let outcomes: Vec<(u64, u64)> = kept::inputs("engine").iter().map(|input| engine::check_input(input)).collect();
    let (sent, switches) = outcomes.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(sent >= 1000 && switches >= 10, "{sent} frames sent, {switches} switches");
}
