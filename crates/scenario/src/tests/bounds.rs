//! Values beyond what a run can hold or compute are refused where they are written; the largest that are allowed are not.

use super::{load, one_flow, with, GOOD};
use crate::routes::Routes;
use sojourn_traffic::KINDS;

/// `GOOD` with one thing added to it.
fn changed(old: &str, new: &str) -> Result<(), String> {
    assert!(GOOD.contains(old), "the test's own text lacks {old}");
    load(&GOOD.replacen(old, new, 1), "test.toml", &[]).map(drop).map_err(|e| e.to_string())
}

#[test]
fn every_quantity_has_an_upper_bound() {
    let udp = "traffic = { kind = \"cbr\", rate = \"64 kbit/s\", packet_size = \"160 B\" }";
    let traffic = |traffic: &str| format!("traffic = {{ {traffic}, packet_size = \"160 B\" }}");
    let tcp = |key: &str| format!("to = \"right\"\ntransport = {{ {key} }}\n\n[[flows]]");
    let cell = |key: &str| {
        format!("[[cells]]\nname = \"wlan\"\naccess_point = \"left\"\nstations = [\"a\"]\n{key}\n\n[[flows]]\nname = \"bulk\"")
    };
    let (flow, first) = ("to = \"right\"\n\n[[flows]]", "[[flows]]\nname = \"bulk\"");
    // (in the good text, too much of it, the key with its value and what is allowed, as much as is allowed)
    let table: Vec<(&str, String, &str, String)> = vec![
        ("\"10 s\"", "\"9000 h\"".into(), "duration`: is 32400000 s; allowed: up to 31622400 s", "\"8784 h\"".into()),
        ("name = \"pipe\"", "name = \"pipe\"\nreplications = 4000000000".into(), "replications`: is 4000000000; allowed: up to 1000000", "name = \"pipe\"\nreplications = 1000000".into()),
        ("name = \"pipe\"", "name = \"pipe\"\nwindows = \"2000000000 p\"".into(), "windows`: is 2000000000 p; allowed: up to 1000000000 p", "name = \"pipe\"\nwindows = \"1000000000 p\"".into()),
        ("name = \"pipe\"", "name = \"pipe\"\nseries = { interval = \"1 ns\" }".into(), "series.interval`: is 1 ns, which makes 40000000000 values in 10 s; allowed: 801 ns or more, up to 50000000 values", "name = \"pipe\"\nseries = { interval = \"801 ns\" }".into()),
        ("\"20 Mbit/s\"", "\"1000000 Tbit/s\"".into(), "links[0].rate`: is 1000000000 Gbit/s; allowed: up to 10000 Gbit/s", "\"10 Tbit/s\"".into()),
        ("\"10 ms\"", "\"25 h\"".into(), "links[0].delay`: is 90000 s; allowed: up to 86400 s", "\"24 h\"".into()),
        ("\"10 ms\"", "\"10 ms\"\noverhead = \"5 GiB\"".into(), "links[0].overhead`: is 5 GiB; allowed: up to 65535 B", "\"10 ms\"\noverhead = \"65535 B\"".into()),
        ("\"10 ms\"", "\"10 ms\"\ndevice_queue = \"1000000000000000 p\"".into(), "links[0].device_queue`: is 1000000000000000 p; allowed: up to 1000000000 p", "\"10 ms\"\ndevice_queue = \"1000000000 p\"".into()),
        ("start = \"1 s\"", "start = \"9000 h\"".into(), "flows[1].start`: is 32400000 s; allowed: up to 31622400 s", "start = \"8 s\"".into()),
        ("start = \"1 s\"", "start = { every = \"9000 h\" }".into(), "flows[1].start.every`: is 32400000 s; allowed: up to 31622400 s", "start = { every = \"8784 h\" }".into()),
        ("start = \"1 s\"", "start = { uniform = [\"0 s\", \"9000 h\"] }".into(), "flows[1].start.uniform[1]`: is 32400000 s; allowed: up to 31622400 s", "start = { uniform = [\"0 s\", \"8 s\"] }".into()),
        ("stop = \"9 s\"", "stop = \"9000 h\"".into(), "flows[1].stop`: is 32400000 s; allowed: up to 31622400 s", "stop = \"8784 h\"".into()),
        ("\"64 kbit/s\"", "\"1000000 Tbit/s\"".into(), "flows[1].traffic.rate`: is 1000000000 Gbit/s; allowed: up to 10000 Gbit/s", "\"1 Tbit/s\"".into()),
        ("\"64 kbit/s\"", "\"10 Tbit/s\"".into(), "flows[1].traffic.rate`: is 10000 Gbit/s, 7812500000 packets a second; allowed: up to 1000000000 packets a second", "\"1 Tbit/s\"".into()),
        (udp, traffic("kind = \"poisson\", packets_per_second = 1e308"), "flows[1].traffic.packets_per_second`: is 1e308; allowed: 0.000000001 to 1000000000", traffic("kind = \"poisson\", packets_per_second = 1e9")),
        (udp, traffic("kind = \"poisson\", packets_per_second = inf"), "flows[1].traffic.packets_per_second`: is inf; allowed: 0.000000001 to 1000000000", traffic("kind = \"poisson\", packets_per_second = 1e-9")),
        (udp, traffic("kind = \"poisson\", rate = \"10 Tbit/s\""), "flows[1].traffic.rate`: is 10000 Gbit/s, 7812500000 packets a second; allowed: up to 1000000000 packets a second", traffic("kind = \"poisson\", rate = \"1 Tbit/s\"")),
        (udp, traffic("kind = \"switched_poisson\", packets_per_second = [1, 1e308], hold = [\"1 s\", \"1 s\"]"), "flows[1].traffic.packets_per_second`: is [1.0, 1e308]; allowed: two numbers from 0.000000001 to 1000000000, or one of them 0", traffic("kind = \"switched_poisson\", packets_per_second = [0, 1e9], hold = [\"1 s\", \"8784 h\"]")),
        (udp, traffic("kind = \"switched_poisson\", packets_per_second = [1e-9, 0], hold = [\"1 ns\", \"1 ns\"]"), "flows[1].traffic.hold`: makes 1e-18 packets in both phases on average; allowed: at least a millionth", traffic("kind = \"switched_poisson\", packets_per_second = [1e3, 0], hold = [\"1 ns\", \"1 ns\"]")),
        (udp, traffic("kind = \"on_off\", rate = \"1 Mbit/s\", on = \"9000 h\", off = \"1 s\""), "flows[1].traffic.on`: is 32400000 s; allowed: up to 31622400 s", traffic("kind = \"on_off\", rate = \"1 Mbit/s\", on = \"8784 h\", off = \"1 s\"")),
        (udp, traffic("kind = \"vbr\", rate = \"1 Mbit/s\", off = { exponential = { mean = \"9000 h\" } }"), "flows[1].traffic.off.exponential.mean`: is 32400000 s; allowed: up to 31622400 s", traffic("kind = \"vbr\", rate = \"1 Mbit/s\", off = { exponential = { mean = \"1 h\" } }")),
        (udp, traffic("kind = \"weibull\", scale = \"9000 h\", shape = 1"), "flows[1].traffic.scale`: is 32400000 s; allowed: up to 31622400 s", traffic("kind = \"weibull\", scale = \"1 h\", shape = 1")),
        (udp, traffic("kind = \"weibull\", scale = \"1 s\", shape = 1e-300"), "flows[1].traffic.shape`: is 1e-300; allowed: 0.01 to 1000", traffic("kind = \"weibull\", scale = \"1 s\", shape = 0.01")),
        (flow, tcp("initial_window = \"1000000000000000 p\""), "flows[0].transport.initial_window`: is 1000000000000000 p; allowed: up to 1000000000 p", tcp("initial_window = \"1000000000 p\"")),
        (flow, tcp("window_limit = \"1000000000000000 p\""), "flows[0].transport.window_limit`: is 1000000000000000 p; allowed: up to 1000000000 p", tcp("window_limit = \"1000000000 p\"")),
        (flow, tcp("ack_every = \"1000000000000000 p\""), "flows[0].transport.ack_every`: is 1000000000000000 p; allowed: up to 1000000000 p", tcp("ack_every = \"1000000000 p\"")),
        (flow, tcp("quick_acks = \"1000000000000000 p\""), "flows[0].transport.quick_acks`: is 1000000000000000 p; allowed: up to 1000000000 p", tcp("quick_acks = \"1000000000 p\"")),
        (flow, tcp("max_rto = \"25 h\""), "flows[0].transport.max_rto`: is 90000 s; allowed: up to 86400 s", tcp("max_rto = \"24 h\"")),
        (flow, tcp("prague_reference_rtt = \"25 h\""), "flows[0].transport.prague_reference_rtt`: is 90000 s; allowed: up to 86400 s", tcp("prague_reference_rtt = \"24 h\"")),
        (flow, tcp("ledbat_target = \"25 h\""), "flows[0].transport.ledbat_target`: is 90000 s; allowed: above 0, up to 86400 s", tcp("ledbat_target = \"24 h\"")),
        (flow, tcp("send_buffer = \"2000000000 MB\""), "flows[0].transport.send_buffer`: is 2000000 GB; allowed: up to 1000000 GB", tcp("send_buffer = \"1000000000 MB\"")),
        (flow, tcp("read_rate = \"1000000 Tbit/s\""), "flows[0].transport.read_rate`: is 1000000000 Gbit/s; allowed: up to 10000 Gbit/s", tcp("read_rate = \"1 Tbit/s\"")),
        (flow, tcp("ledbat_gain = nan"), "flows[0].transport.ledbat_gain`: is NaN; allowed: above 0, up to 100", tcp("ledbat_gain = 100")),
        (first, cell("slot = \"2 s\""), "cells[0].slot`: is 2 s; allowed: up to 1 s", cell("slot = \"1 s\"")),
        (first, cell("sifs = \"2 s\""), "cells[0].sifs`: is 2 s; allowed: up to 1 s", cell("sifs = \"1 s\"")),
        (first, cell("symbol = \"2 s\""), "cells[0].symbol`: is 2 s; allowed: up to 1 s", cell("symbol = \"1 s\"")),
        (first, cell("answer_timeout = \"2 s\""), "cells[0].answer_timeout`: is 2 s; allowed: up to 1 s", cell("answer_timeout = \"1 s\"")),
        (first, cell("eifs = \"2 s\""), "cells[0].eifs`: is 2 s; allowed: up to 1 s", cell("eifs = \"1 s\"")),
        (first, cell("mac_header = \"1 MB\""), "cells[0].mac_header`: is 1 MB; allowed: up to 65535 B", cell("mac_header = \"65535 B\"")),
        (first, cell("long_retry_limit = 4000000000"), "cells[0].long_retry_limit`: is 4000000000; allowed: up to 1000000", cell("long_retry_limit = 1000000")),
        (first, cell("data_rate = \"1000000 Tbit/s\""), "cells[0].data_rate`: is 1000000000 Gbit/s; allowed: up to 10000 Gbit/s", cell("data_rate = \"10 Gbit/s\"")),
        (first, cell("frame_error_rate = nan"), "cells[0].frame_error_rate`: is NaN; allowed: at least 0 and less than 1", cell("frame_error_rate = 0.5")),
        (first, cell("aggregate_bytes = \"2000000000 MB\""), "cells[0].aggregate_bytes`: is 2000000 GB; allowed: up to 1000000 GB", cell("aggregate_bytes = \"1 MB\"")),
        (first, cell("aggregate_duration = \"2 s\""), "cells[0].aggregate_duration`: is 2 s; allowed: up to 1 s", cell("aggregate_duration = \"10 ms\"")),
    ];
    let mut wrong = String::new();
    for (old, much, expected, most) in table {
        let found = changed(old, &much).err().unwrap_or_else(|| "accepted".to_owned());
        if !found.ends_with(&format!(": key `{expected}")) {
            wrong += &format!("\n     got: {found}\nexpected: {expected}\n");
        }
        if let Err(found) = changed(old, &most) {
            wrong += &format!("\n     got: {found}\nexpected: none for {most}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The keys are those of the schema, so a key of a new kind that takes any value is found without a line of its own above.
#[test]
fn every_value_of_traffic_has_an_upper_bound() {
    let schema = crate::schema();
    let kinds = schema["$defs"]["TrafficTable"]["oneOf"].as_array().unwrap();
    // A year is 8784 h, a rate 10 Tbit/s, data 10^9 MB, a packet 65,535 B at most; a type that a key does not have is refused
    // as such. 2^32 - 1 is the most that an integer of 32 bits can be.
    let much = ["1e308", "4294967295", "9000 h", "1000000 Tbit/s", "2000000000 MB"];
    let mut accepted = String::new();
    for (kind, table) in KINDS.iter().zip(kinds) {
        let text = one_flow(kind);
        assert_eq!(load(&text, "test.toml", &[]).err().map(|e| e.to_string()), None, "{}", kind.name);
        for key in table["properties"].as_object().unwrap().keys() {
            for value in much {
                for value in [value.to_owned(), format!("[\"{value}\", \"{value}\"]"), format!("[{value}, {value}]")] {
                    let set = format!("flows.f.traffic.{key}={value}");
                    match load(&text, "test.toml", std::slice::from_ref(&set)) {
                        Ok(_) => accepted += &format!("{}: {set}\n", kind.name),
                        Err(e) => assert!(e.to_string().contains("flows[0].traffic"), "{set}: {e}"),
                    }
                }
            }
        }
    }
    assert!(accepted.is_empty(), "without an upper bound (its check belongs into the kind's `resolve`):\n{accepted}");
}

/// Refused before routes are laid: a million flows that pass the bottleneck over and over.
#[test]
fn routes_that_would_fill_the_memory_are_refused() {
    let ring = vec!["\"left\", \"right\""; 60].join(", ");
    let message = changed(
        "to = \"right\"\n\n[[flows]]",
        &format!("to = \"right\"\nroute = [{ring}]\ncount = 333333\n\n[[flows]]"),
    );
    let message = message.unwrap_err();
    assert!(message.contains("key `flows[0].count`: is 333333, which makes up to"), "{message}");
    assert!(message.ends_with("hops over all flows; allowed: up to 100000000"), "{message}");
    // Of 5 nodes, a way to one destination has 5 entries: `left` is on three links, and a second does not fit.
    let network = with(&[]).unwrap().resolve().unwrap();
    let find = |most| {
        let mut routes = Routes::new(network.nodes.len(), 0, &network.ports, most);
        let found = ["left", "right"].map(|name| {
            let to = network.nodes.iter().position(|node| node == name).unwrap();
            routes.extend(&mut Vec::new(), 0, to)
        });
        (found, routes.is_full())
    };
    assert_eq!(find(5), ([true, true], false));
    assert_eq!(find(4), ([false, false], true));
}

#[test]
fn the_interval_of_series_is_checked_wherever_it_comes_from() {
    let network = with(&[]).unwrap().resolve().unwrap();
    assert!(network.check_series("801 ns".parse().unwrap()).is_ok());
    assert!(network.check_series("800 ns".parse().unwrap()).is_err());
    assert_eq!(
        network.check_series("0 s".parse().unwrap()).unwrap_err(),
        "is 0; allowed: a time above 0, as in \"50 ms\""
    );
    // With those of flows there are 4 + 7 * 6 series, so 11.5 times as many.
    let network = with(&["series={interval = \"1 ms\", flows = true}"]).unwrap().resolve().unwrap();
    assert!(network.check_series("9201 ns".parse().unwrap()).is_ok());
    assert!(network.check_series("9200 ns".parse().unwrap()).is_err());
    // With those of the scheme under test at most 4 + 16, 5 times as many.
    let network = with(&["series={interval = \"1 ms\", internals = true}"]).unwrap().resolve().unwrap();
    assert!(network.check_series("4001 ns".parse().unwrap()).is_ok());
    assert!(network.check_series("4000 ns".parse().unwrap()).is_err());
}

#[test]
fn tables_of_flows_of_all_queues_together_are_bounded() {
    // Queues of three hosts with 65,536 entries each fit, those of 4000 do not.
    let wide = "links.access.queue=\"fq_codel flows 65536\"";
    assert!(with(&[wide]).is_ok());
    let message = with(&[wide, "nodes.client.count=4000"]).unwrap_err();
    let expected = "the schemes' tables of flows (`flows`, `divisor`) have 262144000 entries in 8002 queues; allowed: up to 200000000";
    assert!(message.ends_with(expected), "{message}");
    let network = with(&[]).unwrap().resolve().unwrap();
    let scheme = "sfq divisor 65536".parse().unwrap();
    assert!(network.check_tables(Some(&scheme)).is_ok());
}
