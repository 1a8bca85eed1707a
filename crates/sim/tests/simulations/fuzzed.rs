//! Every input that the fuzz target `scenario` kept, again. `fuzz/run minimise scenario` renews them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod body;

#[test]
fn every_scenario_that_the_fuzzer_kept_conserves_packets() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/scenario");
    let (mut run, mut delivered) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}")) {
        let path = file.expect("a readable folder").path();
        println!("{}", path.display());
        if let Some(books) = body::check_input(&std::fs::read(&path).expect("a readable file")) {
            run += 1;
            delivered += books.delivered;
        }
    }
    // An empty or foreign corpus proves nothing.
    assert!(run >= 20 && delivered > 1000, "{folder}: {run} runs, {delivered} packets delivered");
}
