//! Documents, from text to network.

mod bounds;
mod errors;
mod forms;
mod networks;

use super::{load, Document, Network};
use sojourn_traffic::About;

/// A small scenario that is good; tests change a piece of it.
const GOOD: &str = r#"name = "pipe"
duration = "10 s"
warm_up = "2 s"

[[nodes]]
name = "client"
count = 3

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "20 Mbit/s"
delay = "10 ms"
queue = "codel target 10ms"
under_test = true

[[links]]
name = "access"
from = "client"
to = "left"
rate = "1 Gbit/s"
delay = "1 ms"

[[flows]]
name = "bulk"
from = "client"
to = "right"

[[flows]]
name = "voice"
from = "right"
to = "client"
start = "1 s"
stop = "9 s"
transport = { kind = "udp" }
traffic = { kind = "cbr", rate = "64 kbit/s", packet_size = "160 B" }
"#;

fn good(text: &str) -> Document {
    match load(text, "test.toml", &[]) {
        Ok(document) => document,
        Err(e) => panic!("{e}"),
    }
}

fn with(sets: &[&str]) -> Result<Document, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load(GOOD, "test.toml", &sets).map_err(|e| e.to_string())
}

/// The example of a kind of traffic, in a network of its own.
fn one_flow(kind: &About) -> String {
    let transport = if kind.own_rate { "udp" } else { "tcp" };
    format!(
        "{}\n[[flows]]\nname = \"f\"\nfrom = \"right\"\nto = \"client0\"\ntransport = {{ kind = \"{transport}\" }}\n\
        traffic = {{ kind = \"{}\", {} }}\n",
        &GOOD[..GOOD.find("\n[[flows]]").unwrap()],
        kind.name,
        kind.example
    )
    .replace(",  }", " }")
}

fn network(text: &str) -> Network {
    good(text).resolve().unwrap()
}
