//! The forms of a document: TOML, JSON, canonical, with overrides; and its schema.

use super::{good, load, with, GOOD};
use crate::{load_with, schema, Amount, Document, StartTable, Tcp, TrafficTable, TransportTable};
use sojourn_document::keys::KeySet;
use sojourn_traffic::{Traffic, KINDS};
use sojourn_transport::congestion;
use sojourn_units::{Bytes, Packets, Span};
use std::path::{Path, PathBuf};

#[test]
fn a_link_says_its_two_directions_in_a_table_or_in_keys_of_their_own() {
    let text = |keys: &str| {
        format!(
            "name = \"t\"\nduration = \"1 s\"\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             [[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\n{keys}\n"
        )
    };
    let table = "rate = { down = \"50 Mbit/s\", up = \"10 Mbit/s\" }\ndelay = { up = \"9 ms\", down = \"5 ms\" }\n\
                 loss = { up = \"1%\" }\njitter = { down = \"2 ms\", up = \"1 ms normal ordered\" }\nduplicate = { down = \"0.1%\" }\n\
                 queue = { up = \"codel\" }\nunder_test = { down = true, up = true }";
    let keys = "rate = \"50 Mbit/s\"\nreverse_rate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nreverse_delay = \"9 ms\"\nreverse_loss = \"1%\"\n\
                jitter = \"2 ms\"\nreverse_jitter = \"1 ms normal ordered\"\nduplicate = \"0.1%\"\nreverse_queue = \"codel\"\n\
                under_test = true\nreverse_under_test = true";
    let document = good(&text(table));
    round_trip(&document);
    assert_eq!(document.to_json(), good(&text(keys)).to_json());
    // A scheme as a table is one of its kind, not of directions.
    let scheme =
        |queue: &str| good(&text(&format!("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = {queue}"))).to_json();
    assert_eq!(scheme("{ kind = \"codel\", limit = 5 }"), scheme("{ down = { kind = \"codel\", limit = 5 } }"));
    let refused = |keys: &str| {
        let message = load(&text(keys), "f", &[]).unwrap_err().to_string();
        message.split_once("key ").map(|(_, what)| what.to_owned()).unwrap()
    };
    for (keys, expected) in [
        ("rate = { down = \"1 Mbit/s\" }\ndelay = \"1 ms\"", "`links[0].rate.up`: is missing; allowed: both directions, as in { down = ..., up = ... }"),
        ("rate = {}\ndelay = \"1 ms\"", "`links[0].rate`: is an empty table; allowed: down, up, or both"),
        ("rate = { down = \"1 Mbit/s\", up = \"0 bit/s\" }\ndelay = \"1 ms\"", "`links[0].rate.up`: is 0; allowed: a rate above 0, as in \"10 Mbit/s\""),
        ("rate = { down = \"1 Mbit/s\", up = 5 }\ndelay = \"1 ms\"", "`links[0].rate.up`: 5 has no unit; "),
        ("rate = { dwon = \"1 Mbit/s\" }\ndelay = \"1 ms\"", "`links[0].rate.dwon`: is not a key here (did you mean \"down\"?); allowed: down, up"),
        ("rate = { down = \"1 Mbit/s\", up = \"1 Mbit/s\" }\nreverse_rate = \"2 Mbit/s\"\ndelay = \"1 ms\"", "`links[0].reverse_rate`: says what `rate.up` says; allowed: one of the two"),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nqueue = { up = \"pie\" }\nreverse_queue = \"codel\"", "`links[0].reverse_queue`: says what `queue.up` says"),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\njitter = { up = \"30 h\" }", "`links[0].jitter.up`: is 108000 s; allowed: up to 86400 s"),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\njitter = \"often\"", "`links[0].jitter`: \"often\" begins with \"often\", which "),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nduplicate = \"2\"", "`links[0].duplicate`: \"2\" is 2, outside 0 to 1; "),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nframing = \"docsys\"", "`links[0].framing`: \"docsys\" has the unknown word \"docsys\" (did you mean \"docsis\"?); allowed: one or more words of tc-cake(8): ethernet, docsis, "),
        ("rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nframing = \"atm\"\noverhead = \"8 B\"", "`links[0].overhead`: is given beside `framing`, which says it; allowed: one of the two"),
    ] {
        let message = refused(keys);
        assert!(message.starts_with(expected), "{message}");
    }
}

/// The scenario files that come with the project.
fn bundled() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

fn round_trip(document: &Document) {
    let json = document.to_json();
    let again = load(&json, "canonical", &[]).unwrap();
    assert_eq!(again, *document);
    assert_eq!(again.to_json(), json);
}

#[test]
fn the_canonical_form_says_the_same_and_prints_the_same() {
    round_trip(&good(GOOD));
    let every_kind = r#"
        name = "all"
        duration = "1 min"
        series = { interval = "50 ms" }
        [[links]]
        name = "l"
        from = "a"
        to = "b"
        rate = "1.5mbit"
        delay = "0.5 ms"
        overhead = "38 B"
        queue = { kind = "codel", target = "10 ms", limit = 50, ecn = true }
        device_queue = "100 p"
        [[flows]]
        name = "transfer"
        from = "a"
        to = "b"
        start = { every = "10 ms" }
        route = ["b"]
        ack_route = []
        transport = { window_limit = "20 p", send_buffer = "none", rto = "rfc" }
        traffic = { kind = "transfer", size = "1 MB" }
        [[flows]]
        name = "vbr"
        from = "b"
        to = "a"
        start = { uniform = ["0 s", "1 s"] }
        traffic = { kind = "vbr", rate = "1 Mbit/s", packet_size = "1400 B" }
        [[flows]]
        name = "on_off"
        from = "b"
        to = "a"
        traffic = { kind = "on_off", rate = "1 Mbit/s", packet_size = { uniform = ["40 B", "1400 B"] }, on = { pareto = { scale = "1 s", shape = 1.5, max = "1 h" } }, off = { exponential = { mean = "1 s" } } }
        [[flows]]
        name = "poisson"
        from = "b"
        to = "a"
        transport = { kind = "udp", header = "0 B" }
        traffic = { kind = "poisson", packets_per_second = 892.5, packet_size = { exponential = { mean = "1000 B", max = "9 kB" } } }
        [[flows]]
        name = "weibull"
        from = "b"
        to = "a"
        transport = { kind = "udp" }
        traffic = { kind = "weibull", scale = "1 ms", shape = 1.5, packet_size = { constant = "1400 B" } }
    "#;
    let document = good(every_kind);
    round_trip(&document);
    let as_text = every_kind.replace(
        "{ kind = \"codel\", target = \"10 ms\", limit = 50, ecn = true }",
        "\"codel limit 50p target 10ms ecn\"",
    );
    assert_eq!(document.links[0].queue, good(&as_text).links[0].queue);
    for file in bundled() {
        let text = std::fs::read_to_string(file).unwrap();
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sojourn/model/traces");
        let read = |name: &str| match std::fs::read_to_string(traces.join(format!("{name}.trace"))) {
            Ok(text) => Ok(text.as_str().into()),
            Err(error) => Err(error.to_string()),
        };
        round_trip(&load_with(&text, "test.toml", &[], &read).unwrap_or_else(|e| panic!("{e}")));
    }
}

#[test]
fn defaults_are_printed_and_the_order_of_keys_is_the_schemas() {
    let json = good(GOOD).to_json();
    let places = [
        "\"name\":\"pipe\"",
        "\"duration\":\"10 s\"",
        "\"warm_up\":\"2 s\"",
        "\"seed\":1",
        "\"replications\":5",
        "\"nodes\"",
        "\"links\"",
        "\"buses\":[]",
        "\"flows\"",
    ];
    let found: Vec<usize> = places.iter().map(|place| json.find(place).unwrap()).collect();
    assert!(found.is_sorted(), "{json}");
    assert!(json.contains("\"reverse_queue\":\"pfifo\""));
    assert!(json.contains("\"congestion_control\":\"cubic\""));
}

#[test]
fn writing_a_default_out_changes_nothing() {
    let explicit = GOOD
        .replace("warm_up = \"2 s\"", "warm_up = \"2000 ms\"\nseed = 1\nbuses = []")
        .replace("transport = { kind = \"udp\" }", "transport = { kind = \"udp\", header = \"28 B\" }");
    assert_eq!(good(&explicit).to_json(), good(GOOD).to_json());
}

#[test]
fn overrides_reach_by_name_and_number_and_are_applied_in_order() {
    let document = with(&[
        "links.access.rate=50 Mbit/s",
        "links.0.device_queue=\"100 p\"",
        "links.bottleneck.queue=pfifo limit 7",
        "seed=9",
        "seed = 10",
        "flows.bulk.transport.mss=536 B",
        "flows.bulk.traffic={kind = \"transfer\", size = \"1 MB\"}",
        "series.interval=1 ms",
        "description=a = b",
    ])
    .unwrap();
    assert_eq!(
        document.links[1].rate.as_ref().and_then(|rate| rate.down()).map(|rate| rate.0.bit_s()),
        Some(50_000_000)
    );
    assert_eq!(document.links[0].device_queue.0, Packets::new(100));
    assert_eq!(document.links[0].queue.down().unwrap().0.text(), "pfifo limit 7p");
    assert_eq!(document.seed, 10);
    // A table that was not written starts from its defaults.
    let Some(TransportTable::Tcp(tcp)) = &document.flows[0].transport else { panic!("udp") };
    assert_eq!(tcp.tcp.mss, Bytes::new(536));
    assert!(matches!(document.flows[0].traffic, TrafficTable::Transfer(_)));
    assert_eq!(document.series.unwrap().interval.0, Span::from_millis(1));
    assert_eq!(document.description, "a = b");
}

#[test]
fn null_in_json_is_the_same_as_nothing() {
    let json = good(GOOD).to_json().replacen("\"seed\":1", "\"seed\":1,\"series\":null", 1);
    assert_eq!(good(&json), good(GOOD));
}

#[test]
fn amounts_and_starts_read_in_every_form() {
    let start = |text: &str| good(&GOOD.replace("start = \"1 s\"", text)).flows[1].start;
    let ms = |ms| super::super::Quantity(Span::from_millis(ms));
    assert_eq!(start(""), StartTable::At(ms(0)));
    assert_eq!(start("start = \"1500 ms\""), StartTable::At(ms(1500)));
    assert_eq!(start("start = { every = \"2 s\" }"), StartTable::Every { first: ms(0), every: ms(2000) });
    let size = |text: &str| match good(&GOOD.replace("\"160 B\"", text)).flows.remove(1).traffic {
        TrafficTable::Cbr(cbr) => cbr.packet_size,
        other => panic!("{other:?}"),
    };
    assert_eq!(size("{ constant = \"160 B\" }"), size("\"160 B\""));
    assert!(matches!(size("{ uniform = [\"1 B\", \"9 B\"] }"), Amount::Uniform(_)));
}

#[test]
fn variable_bit_rate_has_the_periods_of_the_thesis_by_default() {
    let text = GOOD.replace("kind = \"cbr\"", "kind = \"vbr\"");
    assert!(good(&text).to_json().contains("\"on\":\"1 s\",\"off\":\"1.5 s\""));
}

#[test]
fn the_schema_has_every_key_that_the_canonical_form_prints() {
    let schema = schema();
    let tables = schema["$defs"].as_object().unwrap();
    let document: serde_json::Value = serde_json::from_str(&good(GOOD).to_json()).unwrap();
    let keys_of = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    for key in keys_of(&document) {
        assert!(schema["properties"].get(&key).is_some(), "{key}");
    }
    for (list, table) in [("links", "LinkTable"), ("nodes", "NodeTable"), ("flows", "FlowTable")] {
        for key in keys_of(&document[list][0]) {
            assert!(tables[table]["properties"].get(&key).is_some(), "{table}.{key}");
        }
        assert_eq!(tables[table]["additionalProperties"], false);
    }
    let transports = tables["TransportTable"]["oneOf"].as_array().unwrap();
    for key in keys_of(&document["flows"][0]["transport"]) {
        assert!(transports[0]["properties"].get(&key).is_some(), "tcp.{key}");
    }
    let kinds: Vec<&str> = tables["TrafficTable"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["properties"]["kind"]["const"].as_str().unwrap())
        .collect();
    // The variant's name and its module's are the same word.
    assert!(kinds.iter().eq(KINDS.iter().map(|kind| &kind.name)), "{kinds:?}");
}

#[test]
fn every_kind_of_traffic_has_an_example_that_sends() {
    for kind in KINDS {
        let traffic = &super::network(&super::one_flow(kind)).flows[0].traffic;
        assert_eq!(matches!(traffic, Traffic::Packets(_) | Traffic::Heard(..)), kind.own_rate, "{}", kind.name);
        assert!(!kind.title.is_empty(), "{}", kind.name);
    }
}

#[test]
fn traffic_with_a_rate_of_its_own_runs_over_udp_unless_asked_otherwise() {
    let flow = |rest: &str| {
        let table = format!("\n[[flows]]\nname = \"f\"\nfrom = \"right\"\nto = \"client0\"\n{rest}");
        let document = good(&(GOOD.to_owned() + &table));
        document.flows.last().and_then(|flow| flow.transport.clone()).unwrap()
    };
    for kind in sojourn_traffic::KINDS {
        let transport = flow(&format!("traffic = {{ kind = \"{}\", {} }}", kind.name, kind.example));
        assert_eq!(matches!(transport, TransportTable::Udp(_)), kind.own_rate, "{}", kind.name);
    }
    let cbr = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\", packet_size = \"500 B\" }\n";
    assert!(matches!(flow(&format!("{cbr}transport = {{ mss = \"536 B\" }}")), TransportTable::Tcp(_)));
    assert!(matches!(flow(""), TransportTable::Tcp(_)));
}

#[test]
fn a_key_of_a_congestion_control_is_none_of_tcp() {
    let fixed: Vec<&str> = Tcp::default().list().iter().map(|key| key.name).collect();
    for key in congestion::Keys::default().list() {
        assert!(!fixed.contains(&key.name), "`{}` is a key of TCP whatever the congestion control", key.name);
    }
}
