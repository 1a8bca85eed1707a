use super::{Options, Simulation};
use crate::scenario;
use std::sync::Arc;

const DUMBBELL: &str = include_str!("../../../../python/sojourn/scenarios/dumbbell.toml");
const LAN: &str = include_str!("../../../../python/sojourn/scenarios/lan.toml");
const WLAN: &str = include_str!("../../../../python/sojourn/scenarios/wlan.toml");

#[test]
fn the_width_of_a_tick_changes_nothing() {
    // The order of events is that of (instant, order of scheduling), whatever the shape of the wheel: all in one
    // slot, each in its own, or anything between.
    for text in [DUMBBELL, LAN, WLAN] {
        let sets = ["duration=3 s".to_owned(), "warm_up=1 s".to_owned()];
        let document = scenario::load(text, "test", &sets).unwrap_or_else(|e| panic!("{e}"));
        let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
        let run = |shift| {
            let options = Options { seed: 5, ..Options::default() };
            let report = Simulation::with_tick(Arc::clone(&network), options, shift).run().unwrap();
            serde_json::to_string(&report).unwrap()
        };
        let usual = run(12);
        for shift in [0, 5, 16, 20, 31] {
            assert_eq!(run(shift), usual, "ticks of 2^{shift} ns");
        }
    }
}
