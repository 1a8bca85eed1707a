//! After warm-up the packet path does not allocate: buffers have grown to their high-water marks.

// Clippy's leave for tests ends at functions that are not tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../aqm/tests/common/counting.rs"]
mod counting;

use counting::allocations;
use sojourn_sim::{Options, Simulation};
use sojourn_units::Instant;
use std::sync::Arc;

/// TCP both ways, so that ACKs queue and are lost as well, and a source that does not react. The windows are limited,
/// so that all buffers reach their high-water marks early; ten windows of 8 packets still fill the queue.
const SCENARIO: &str = r#"
name = "dumbbell"
duration = "130 s"
windows = "10000 p"

[[nodes]]
name = "sender"
count = 10

[[nodes]]
name = "receiver"
count = 10

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "20 Mbit/s"
delay = "10 ms"
under_test = true

[[links]]
name = "sender_access"
from = "sender"
to = "left"
rate = "100 Mbit/s"
delay = "1 ms"

[[links]]
name = "receiver_access"
from = "right"
to = "receiver"
rate = "100 Mbit/s"
delay = "1 ms"

[[flows]]
name = "there"
from = "sender"
to = "receiver"
transport = { window_limit = "8 p" }

[[flows]]
name = "back"
from = "receiver"
to = "sender"
start = "100 ms"
transport = { window_limit = "8 p", recovery = "rack", tail_loss_probe = true, read_rate = "500 kbit/s", receive_buffer = "32 KiB" }

[[flows]]
name = "poisson"
from = "sender"
to = "receiver"
transport = { kind = "udp" }
traffic = { kind = "poisson", rate = "200 kbit/s", packet_size = "500 B" }
"#;

/// A cell with A-MPDUs, errors, collisions and RTS, whose access point's queue drops.
const CELL: &str = r#"
name = "cell"
duration = "130 s"

[[nodes]]
name = "station"
count = 10

[[cells]]
name = "wlan"
access_point = "ap"
stations = ["station"]
profile = "802.11n"
frame_error_rate = 0.05
aggregate_frames = 8
rts_threshold = "3000 B"
queue = "pfifo limit 20p"
access_point_under_test = true

[[links]]
name = "wire"
from = "ap"
to = "server"
rate = "100 Mbit/s"
delay = "5 ms"

[[flows]]
name = "down"
from = "server"
to = "station"
transport = { window_limit = "8 p" }

[[flows]]
name = "up"
from = "station"
to = "server"
transport = { kind = "udp" }
traffic = { kind = "poisson", rate = "300 kbit/s", packet_size = "500 B" }
"#;

/// Allocations in the first second, and in the ten that follow on two minutes of growth.
fn in_run(text: &str, scheme: &str) -> (u64, u64) {
    let document = sojourn_scenario::load(text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
    let scheme = scheme.parse().unwrap_or_else(|e| panic!("{e}"));
    let mut simulation = Simulation::new(network, Options { scheme: Some(scheme), seed: 1, ..Options::default() });
    let mut until = |second: u64| {
        let before = allocations();
        simulation.run_until(Instant::from_nanos(second * 1_000_000_000));
        allocations() - before
    };
    let first = until(1);
    until(120);
    (first, until(130))
}

#[test]
fn the_packet_path_does_not_allocate_after_warm_up() {
    for scheme in ["pfifo limit 20p", "codel", "fq_codel", "red min 5p max 15p limit 1000p", "pie"] {
        let (first, late) = in_run(SCENARIO, scheme);
        assert!(first > 100, "{scheme}: nothing is counted");
        // Some 35,000 packets, 1 % of them lost, in ten seconds: an allocation for each would be hundreds. What may
        // still come is a buffer that meets a longer burst than ever before.
        assert!(late < 5, "{scheme}: {late} allocations in the ten seconds after two minutes");
    }
}

#[test]
fn a_cell_does_not_allocate_after_warm_up() {
    let (first, late) = in_run(CELL, "pfifo limit 20p");
    assert!(first > 100, "nothing is counted");
    assert!(late < 5, "{late} allocations in the ten seconds after two minutes");
}
