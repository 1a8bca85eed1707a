//! Texts that libFuzzer chooses, read as scenarios and run. The body is that of a test (`crates/sim/tests/simulations/fuzzed.rs`).

#![no_main]

#[path = "../../crates/sim/tests/simulations/fuzzed/body.rs"]
mod body;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate, Corpus};
use sojourn_fuzz::document::Grammar;
use sojourn_fuzz::{put, seed};
use std::sync::LazyLock;

/// Small networks, one of each kind of channel and transport.
const SEEDS: &[&str] = &[
    r#"name = "link"
duration = "1 s"
warm_up = "100 ms"
[[links]]
name = "wire"
from = "left"
to = "right"
rate = "8 Mbit/s"
delay = "5 ms"
queue = "codel limit 20p"
under_test = true
[[flows]]
name = "bulk"
from = "left"
to = "right"
count = 2
start = { uniform = ["0 s", "10 ms"] }
transport = { kind = "tcp", congestion_control = "cubic" }
"#,
    r#"name = "bus"
duration = "1 s"
[[nodes]]
name = "client"
count = 3
[[buses]]
name = "lan"
stations = ["client", "server"]
rate = "10 Mbit/s"
delay = "10 us"
overhead = "18 B"
queue = "red limit 20p"
device_queue = "2 p"
under_test = true
[[flows]]
name = "calls"
from = "client"
to = "server"
transport = { kind = "udp", header = "28 B" }
traffic = { kind = "on_off", rate = "5 Mbit/s", packet_size = { uniform = ["60 B", "1400 B"] }, on = { exponential = { mean = "10 ms" } }, off = "5 ms" }
"#,
    r#"name = "cell"
duration = "500 ms"
series = { interval = "10 ms", flows = true }
[[cells]]
name = "near"
access_point = "ap"
stations = ["s", "t"]
queue = "pfifo limit 50p"
access_point_under_test = true
profile = "802.11g"
[[links]]
name = "wire"
from = "ap"
to = "far"
rate = "10 Mbit/s"
delay = "1 ms"
[[flows]]
name = "up"
from = "s"
to = "far"
route = ["ap"]
transport = { kind = "tcp", congestion_control = "ns2_reno", recovery = "reno", handshake = false }
traffic = { kind = "transfer", size = "100 kB" }
[[flows]]
name = "down"
from = "far"
to = "t"
stop = "400 ms"
transport = { kind = "udp" }
traffic = { kind = "poisson", packets_per_second = 500.0, packet_size = "500 B" }
"#,
    r#"name = "changed"
duration = "1 s"
[[nodes]]
name = "client"
count = 2
[[links]]
name = "wire"
from = "client"
to = "right"
rate = "4 Mbit/s"
delay = "10 ms"
queue = "fq_codel limit 20p"
under_test = true
[[flows]]
name = "scalable"
from = "client"
to = "right"
transport = { kind = "tcp", congestion_control = "dctcp", ecn = true, recovery = "rack", rto = "rfc", min_rto = "1 s" }
[[flows]]
name = "bursts"
from = "client"
to = "right"
transport = { kind = "udp" }
traffic = { kind = "switched_poisson", packets_per_second = [50, 500], hold = ["200 ms", "20 ms"], packet_size = { exponential = { mean = "500 B", max = "1400 B" } } }
[[flows]]
name = "few"
from = "client"
to = "right"
transport = { kind = "udp" }
traffic = { kind = "weibull", scale = "20 ms", shape = 0.7, packet_size = { pareto = { scale = "100 B", shape = 1.2 } } }
[[changes]]
at = "100 ms"
queue = "client0->right"
scheme = "pie target 15ms"
[[changes]]
at = "200 ms"
scheme = "codel ecn"
"#,
    r#"name = "line"
duration = "1 s"
series = { interval = "50 ms", flows = true }
windows = "50 p"
[[links]]
name = "wire"
from = "net"
to = "home"
rate = { down = "8 Mbit/s", up = "1 Mbit/s" }
delay = { down = "5 ms", up = "7 ms" }
loss = { up = "gemodel 1% 20%" }
jitter = { down = "3 ms", up = "2 ms normal ordered" }
duplicate = { down = "5%", up = "1%" }
framing = "pppoe-llcsnap"
queue = { down = "fq_codel limit 50p", up = "cake bandwidth 900kbit" }
under_test = { down = true }
[[links]]
name = "lan"
from = "home"
to = "pc"
rate = "100 Mbit/s"
delay = "0.1 ms"
framing = "ethernet ether-vlan"
device_queue = "2 p"
[[flows]]
name = "bulk"
from = "net"
to = "pc"
count = 2
dscp = "CS1"
[[flows]]
name = "ping"
from = "pc"
to = "net"
dscp = "EF"
transport = { kind = "udp", echo = true }
traffic = { kind = "cbr", rate = "64 kbit/s", packet_size = "100 B" }
[[changes]]
at = "500 ms"
queue = "home->net"
rate = "500 kbit/s"
delay = "20 ms"
loss = "1%"
"#,
    r#"name = "applications"
duration = "2 s"
[[links]]
name = "l"
from = "server"
to = "client"
rate = "6 Mbit/s"
delay = "4 ms"
loss = { down = "1%", up = "1%" }
queue = "fq_codel"
under_test = true
[[flows]]
name = "web"
from = "server"
to = "client"
start = { uniform = ["0 s", "50 ms"] }
traffic = { kind = "web", objects = 9, connections = 3, html = "4 kB", object_size = { exponential = { mean = "9 kB" } } }
[[flows]]
name = "video"
from = "server"
to = "client"
stop = "1500 ms"
traffic = { kind = "video", adaptation = "rate", segment = "200 ms", buffer = "1 s", rates = ["1 Mbit/s", "2 Mbit/s"] }
[[flows]]
name = "api"
from = "server"
to = "client"
count = 2
traffic = { kind = "request_response", response_sizes = { "1 kB" = 0.9, "90 kB" = 0.1 }, pause = "30 ms", persistent = false }
[[flows]]
name = "call"
from = "client"
to = "server"
transport = { kind = "udp" }
traffic = { kind = "voip", codec = "opus", playout = "fixed" }
[[flows]]
name = "game"
from = "server"
to = "client"
transport = { kind = "udp" }
traffic = { kind = "gaming", interval = "8 ms" }
[[flows]]
name = "old"
from = "server"
to = "client"
transport = { kind = "udp" }
traffic = { kind = "replay", packets = "0:1000 3000000:90x7", period = "100 ms" }
[[changes]]
at = "700 ms"
stop = ["web"]
[[changes]]
at = "900 ms"
start = ["web"]
"#,
];

static GRAMMAR: LazyLock<Grammar> = LazyLock::new(|| Grammar::new(sojourn_scenario::schema(), SEEDS));

fn seeds() {
    for text in SEEDS {
        sojourn_scenario::load(text, "seed", &[]).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    let seeds = SEEDS.iter().enumerate().map(|(n, text)| (n.to_string(), text.as_bytes().to_vec()));
    let set = b"#--set links.wire.rate=2 Mbit/s\n".iter().chain(SEEDS[0].as_bytes()).copied().collect();
    let words = GRAMMAR.words();
    seed(seeds.chain([("set".to_owned(), set)]), words.iter().map(String::as_str));
}

fuzz_target!(
    init: seeds(),
    |input: &[u8]| -> Corpus {
        match body::check_input(input) {
            Some(_) => Corpus::Keep,
            // Most changes of what is refused are refused as well, so that it is a bad start.
            None => Corpus::Reject,
        }
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
