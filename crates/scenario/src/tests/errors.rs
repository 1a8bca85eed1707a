//! What is refused, and what the message says: file, line, column, key, why, allowed.

use super::{good, load, with, GOOD};

/// The message for `GOOD` with `old` replaced.
fn refused(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "the test's own text lacks {old}");
    let text = GOOD.replacen(old, new, 1);
    match load(&text, "test.toml", &[]) {
        Ok(_) => panic!("accepted: {new}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn a_bad_document_is_refused_naming_line_key_and_what_is_allowed() {
    // (in the good text, in its place, the whole message); lines and columns counted in the text of `GOOD`.
    let table = [
        // Names.
        ("name = \"pipe\"", "nam = \"pipe\"", "test.toml:1:1: key `nam`: is not a key here (did you mean \"name\"?); allowed: name, description, duration, warm_up, seed, replications, series, windows, pooled, nodes, links, buses, cells, flows, changes"),
        ("name = \"pipe\"\n", "", "test.toml:1:1: key `name`: is missing"),
        ("\"pipe\"", "\" \"", "test.toml:1:8: key `name`: is empty; allowed: any text"),
        // U+000A ends a comment of LaTeX, U+001B moves a terminal's cursor, U+202E turns what follows around.
        ("\"pipe\"", "\"x\\n\\\\input{a}\"", "test.toml:1:8: key `name`: is \"x\\n\\\\input{a}\", with the control character U+000A; allowed: one line of text"),
        ("\"pipe\"", "\"a\\u001b[2J\"", "test.toml:1:8: key `name`: is \"a\\u{1b}[2J\", with the control character U+001B; allowed: one line of text"),
        ("\"pipe\"", "\"a\\u202eb\"", "test.toml:1:8: key `name`: is \"a\\u{202e}b\", with the control character U+202E; allowed: one line of text"),
        ("\"pipe\"", "\"pipe\"\ndescription = \"a\\u0007\"", "test.toml:2:15: key `description`: has the control character U+0007; allowed: text"),
        ("\"voice\"", "\"a\\nb\"", "test.toml:31:8: key `flows[1].name`: is \"a\\nb\"; allowed: letters, digits, _ and -, at least one of them no digit"),
        ("\"access\"", "\"bottleneck\"", "test.toml:19:8: key `links[1].name`: is \"bottleneck\", which is the name of `links[0]` too; allowed: a name that is not in use"),
        ("\"voice\"", "\"bulk\"", "test.toml:31:8: key `flows[1].name`: is \"bulk\", which is the name of `flows[0]` too; allowed: a name that is not in use"),
        ("\"voice\"", "\"a.b\"", "test.toml:31:8: key `flows[1].name`: is \"a.b\"; allowed: letters, digits, _ and -, at least one of them no digit"),
        ("from = \"left\"", "from = \"client0\"\nqueu = 1", "test.toml:12:1: key `links[0].queu`: is not a key here (did you mean \"queue\"?); allowed: name, from, to, rate, trace, burst, reverse_burst, delay, reverse_rate, reverse_trace, reverse_delay, "),
        ("to = \"right\"\n\n[[flows]]", "to = \"rihgt\"\n\n[[flows]]", "test.toml:28:6: key `flows[0].to`: is \"rihgt\", which is not a node or group (did you mean \"right\"?); allowed: client, left, right"),
        // Units and types.
        ("\"20 Mbit/s\"", "\"20\"", "test.toml:13:8: key `links[0].rate`: \"20\" has no unit; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("\"20 Mbit/s\"", "20", "test.toml:13:8: key `links[0].rate`: 20 has no unit; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("\"20 Mbit/s\"", "20e6", "test.toml:13:8: key `links[0].rate`: 20000000 has no unit; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("\"20 Mbit/s\"", "\"-20 Mbit/s\"", "test.toml:13:8: key `links[0].rate`: \"-20 Mbit/s\" is negative; allowed: a rate with its unit: bit/s, kbit/s, Mbit/s, Gbit/s (or bit, kbit, mbit, gbit as in tc), as in \"10 Mbit/s\""),
        ("\"10 ms\"", "\"10 meters\"", "test.toml:14:9: key `links[0].delay`: \"10 meters\" has the unknown unit \"meters\"; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("\"10 ms\"", "[1]", "test.toml:14:9: key `links[0].delay`: is a list; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("\"10 ms\"", "2026-11-20", "test.toml:14:9: key `links[0].delay`: is the date 2026-11-20; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("under_test = true", "under_test = 1", "test.toml:16:14: key `links[0].under_test`: is 1; allowed: true or false"),
        ("count = 3", "count = -3", "test.toml:7:9: key `nodes[0].count`: is -3; allowed: a whole number, 0 or more"),
        ("warm_up = \"2 s\"", "seed = 1.5", "test.toml:3:8: key `seed`: is 1.5; allowed: a whole number, 0 or more"),
        ("warm_up = \"2 s\"", "series = { interval = 5 }", "test.toml:3:23: key `series.interval`: 5 has no unit; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("[[nodes]]", "[nodes]", "test.toml:5:1: key `nodes`: is a table; allowed: a list"),
        // Impossible values.
        ("\"20 Mbit/s\"", "\"0 Mbit/s\"", "test.toml:13:8: key `links[0].rate`: is 0; allowed: a rate above 0, as in \"10 Mbit/s\""),
        ("duration = \"10 s\"", "duration = \"0 s\"", "test.toml:2:12: key `duration`: is 0; allowed: a time above 0, as in \"5 ms\""),
        ("warm_up = \"2 s\"", "warm_up = \"10 s\"", "test.toml:3:11: key `warm_up`: is 10 s, not shorter than the run; allowed: less than `duration`, 10 s"),
        ("warm_up = \"2 s\"", "replications = 0", "test.toml:3:16: key `replications`: is 0; allowed: 1 or more"),
        ("count = 3", "count = 0", "test.toml:7:9: key `nodes[0].count`: is 0; allowed: 1 to 1000000"),
        ("count = 3", "count = 4000000000", "test.toml:7:9: key `nodes[0].count`: is 4000000000; allowed: 1 to 1000000"),
        ("from = \"left\"", "from = \"right\"", "test.toml:12:6: key `links[0].to`: is right, which is `from` too; allowed: another node"),
        ("from = \"client\"\nto = \"left\"", "from = \"right\"\nto = \"left\"", "test.toml:21:6: key `links[1].to`: links right and left, which `links[0]` links already; allowed: one link between two nodes"),
        ("[[links]]\nname = \"access\"", "[[nodes]]\nname = \"client1\"\n\n[[links]]\nname = \"access\"", "test.toml:19:8: key `nodes[1].name`: makes a second \"client1\"; allowed: a name that no node or group has"),
        // Flows.
        ("start = \"1 s\"", "start = \"9 s\"", "test.toml:35:8: key `flows[1].stop`: is 9 s, not after the start, 9 s; allowed: a later time"),
        ("start = \"1 s\"", "start = { uniform = [\"0 s\", \"9 s\"] }", "test.toml:35:8: key `flows[1].stop`: is 9 s, not after the start, 9 s; allowed: a later time"),
        ("start = \"1 s\"", "start = { uniform = [\"2 s\", \"1 s\"] }", "test.toml:34:21: key `flows[1].start.uniform`: goes from 2 s down to 1 s; allowed: the earlier time first"),
        ("start = \"1 s\"", "start = { uniform = [\"2 s\"] }", "test.toml:34:21: key `flows[1].start.uniform`: has 1 elements; allowed: a list of 2 values"),
        ("start = \"1 s\"", "start = { first = \"1 s\" }", "test.toml:34:9: key `flows[1].start`: is not a start time; allowed: a time, as in \"1 s\", or {uniform = [\"0 s\", \"1 s\"]}, or {first = \"0 s\", every = \"1 s\"}"),
        ("start = \"1 s\"", "start = { evry = \"1 s\" }", "test.toml:34:11: key `flows[1].start.evry`: is not a key here (did you mean \"every\"?); allowed: uniform, first, every"),
        ("start = \"1 s\"", "count = 0", "test.toml:34:9: key `flows[1].count`: is 0, which makes 0 flows here; allowed: 1 or more, up to 1000000 flows in all"),
        ("start = \"1 s\"", "count = 400000", "test.toml:34:9: key `flows[1].count`: is 400000, which makes 1200000 flows here; allowed: 1 or more, up to 1000000 flows in all"),
        ("start = \"1 s\"", "route = [\"client\"]", "test.toml:34:10: key `flows[1].route[0]`: is the group \"client\"; allowed: a node"),
        ("from = \"client\"\nto = \"right\"", "from = \"right\"\nto = \"right\"", "test.toml:28:6: key `flows[0].to`: is right, which is `from` too; allowed: another node"),
        // Transport.
        ("transport = { kind = \"udp\" }", "transport = { kind = \"sctp\" }", "test.toml:36:22: key `flows[1].transport.kind`: \"sctp\" is unknown; allowed: tcp, udp"),
        ("transport = { kind = \"udp\" }", "transport = { kind = \"udp\", mss = \"1 B\" }", "test.toml:36:29: key `flows[1].transport.mss`: is not a key here; allowed: header, echo"),
        ("transport = { kind = \"udp\" }", "transport = \"udp\"", "test.toml:36:13: key `flows[1].transport`: is the text \"udp\"; allowed: a table, as in {kind = \"tcp\", congestion_control = \"cubic\"}"),
        ("transport = { kind = \"udp\" }", "transport = { congestion_control = \"vegas\" }", "test.toml:36:36: key `flows[1].transport.congestion_control`: \"vegas\" is unknown; allowed: newreno, "),
        ("transport = { kind = \"udp\" }", "transport = { congestion_control = \"dctcp\" }", "test.toml:36:13: key `flows[1].transport.ecn`: is false, but dctcp needs it; allowed: true"),
        ("transport = { kind = \"udp\" }", "transport = { congestion_control = \"prague\", ecn = true }", "test.toml:36:13: key `flows[1].transport.ect`: is 0, but prague needs 1; allowed: 1"),
        ("transport = { kind = \"udp\" }", "transport = { congestion_control = \"prague\", ecn = true, ect = 1, ecn_feedback = \"classic\" }", "test.toml:36:82: key `flows[1].transport.ecn_feedback`: is \"classic\", but prague needs accurate feedback; allowed: \"accecn\" or \"auto\" (with `accecn_accept = false` the receiver refuses it, and the connection falls back to ECT(0) and classic ECN)"),
        ("transport = { kind = \"udp\" }", "transport = { ecn = true, ect_on = \"acks\" }", "test.toml:36:36: key `flows[1].transport.ect_on`: is \"acks\", which needs accurate feedback; allowed: \"auto\" or \"data\", or `ecn = true` and `ecn_feedback = \"accecn\"`"),
        ("transport = { kind = \"udp\" }", "transport = { ecn_feedback = \"accecn\", ect_on = \"all\" }", "test.toml:36:49: key `flows[1].transport.ect_on`: is \"all\", which needs accurate feedback; allowed: \"auto\" or \"data\", or `ecn = true` and `ecn_feedback = \"accecn\"`"),
        ("transport = { kind = \"udp\" }", "transport = { congestion_control = \"ledbat\", timestamps = false }", "test.toml:36:59: key `flows[1].transport.timestamps`: is false, but ledbat needs it; allowed: true"),
        ("transport = { kind = \"udp\" }", "transport = { ledbat_gain = 0 }", "test.toml:36:29: key `flows[1].transport.ledbat_gain`: is 0; allowed: above 0, up to 100"),
        ("transport = { kind = \"udp\" }", "transport = { ledbat_target = \"0 s\" }", "test.toml:36:31: key `flows[1].transport.ledbat_target`: is 0; allowed: above 0, up to 86400 s"),
        ("transport = { kind = \"udp\" }", "transport = { ect = 2 }", "test.toml:36:21: key `flows[1].transport.ect`: is 2; allowed: 0 or 1"),
        ("transport = { kind = \"udp\" }", "transport = { recovery = \"fack\" }", "test.toml:36:26: key `flows[1].transport.recovery`: \"fack\" is unknown (did you mean \"sack\"?); allowed: reno, newreno, sack, ns3, rack"),
        ("transport = { kind = \"udp\" }", "transport = { mss = \"70 kB\" }", "test.toml:36:21: key `flows[1].transport.mss`: is 70000 B; allowed: 1 B to 65483 B"),
        ("transport = { kind = \"udp\" }\ntraffic = { kind = \"cbr\", rate = \"64 kbit/s\", packet_size = \"160 B\" }", "traffic = { kind = \"bulk\", first = \"37 B\" }", "test.toml:36:36: key `flows[1].traffic.first`: needs `after`: without it the stream begins at once"),
        ("transport = { kind = \"udp\" }", "transport = { write_size = \"0 B\" }", "test.toml:36:28: key `flows[1].transport.write_size`: is 0 B; allowed: 1 B to `send_buffer`, below 4 GiB"),
        ("transport = { kind = \"udp\" }", "transport = { send_buffer = \"1 kB\" }", "test.toml:36:29: key `flows[1].transport.send_buffer`: is 1000 B; allowed: at least a segment, `mss`, 1448 B"),
        ("transport = { kind = \"udp\" }", "transport = { min_rto = \"0 s\" }", "test.toml:36:25: key `flows[1].transport.min_rto`: is 0; allowed: a time above 0, as in \"5 ms\""),
        ("transport = { kind = \"udp\" }", "transport = { max_rto = \"500 ms\" }", "test.toml:36:13: key `flows[1].transport.initial_rto`: is 1 s; allowed: up to `max_rto`, 500 ms"),
        ("transport = { kind = \"udp\" }", "transport = { window_limit = \"0 p\" }", "test.toml:36:30: key `flows[1].transport.window_limit`: is 0; allowed: 1 p or more"),
        ("transport = { kind = \"udp\" }", "transport = { window_limit = \"lots\" }", "test.toml:36:30: key `flows[1].transport.window_limit`: \"lots\" does not start with a number; allowed: a number of packets, as in \"1000 p\", or \"none\""),
        // Traffic.
        ("kind = \"cbr\", ", "", "test.toml:37:11: key `flows[1].traffic.kind`: is missing; allowed: bulk, transfer, "),
        ("kind = \"cbr\"", "kind = \"tcp\"", "test.toml:37:20: key `flows[1].traffic.kind`: \"tcp\" is unknown; allowed: bulk, transfer, "),
        ("kind = \"cbr\", rate = \"64 kbit/s\", packet_size = \"160 B\"", "kind = \"bulk\"", "test.toml:37:20: key `flows[1].traffic.kind`: sends at the rate of its transport, and udp sets none; allowed: cbr, vbr, "),
        (", packet_size = \"160 B\"", "", "test.toml:37:11: key `flows[1].traffic.packet_size`: is missing"),
        ("\"160 B\"", "\"0 B\"", "test.toml:37:61: key `flows[1].traffic.packet_size`: is 0; allowed: 1 B to 65507 B"),
        ("\"160 B\"", "\"66 kB\"", "test.toml:37:61: key `flows[1].traffic.packet_size`: is 66000 B; allowed: 1 B to 65507 B"),
        ("\"64 kbit/s\"", "\"0 bit/s\"", "test.toml:37:34: key `flows[1].traffic.rate`: is 0; allowed: a rate above 0, as in \"10 Mbit/s\""),
        ("\"160 B\"", "{ exponential = { mean = \"0 B\" } }", "test.toml:37:86: key `flows[1].traffic.packet_size.exponential.mean`: is 0; allowed: above 0, an amount of data with its unit: B, kB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024), as in \"1500 B\""),
        ("\"160 B\"", "{ }", "test.toml:37:61: key `flows[1].traffic.packet_size`: does not name one distribution; allowed: exactly one of constant, uniform, exponential, pareto, weibull"),
        ("\"160 B\"", "{ pareto = { scale = \"9 B\", shape = 2.5, max = \"5 B\" } }", "test.toml:37:108: key `flows[1].traffic.packet_size.pareto.max`: is 5 B; allowed: above `scale`"),
        ("\"160 B\"", "{ weibull = { scale = \"9 B\", shape = nan } }", "test.toml:37:98: key `flows[1].traffic.packet_size.weibull.shape`: is NaN; allowed: 0.01 to 1000"),
        ("\"cbr\", rate = \"64 kbit/s\"", "\"poisson\", rate = \"1 kbit/s\", packets_per_second = 3", "test.toml:37:38: key `flows[1].traffic.rate`: is needed, unless packets_per_second is given; allowed: exactly one of rate and packets_per_second"),
        ("\"cbr\", rate = \"64 kbit/s\"", "\"poisson\", packets_per_second = -3", "test.toml:37:52: key `flows[1].traffic.packets_per_second`: is -3.0; allowed: 0.000000001 to 1000000000"),
        ("\"cbr\"", "\"on_off\", on = \"1 ns\", off = \"1 s\"", "test.toml:37:35: key `flows[1].traffic.on`: is 1 ns on average, while a packet takes 20 ms; allowed: at least a millionth of that"),
        ("\"cbr\", rate = \"64 kbit/s\"", "\"pareto\", scale = \"1 ms\", shape = 0", "test.toml:37:54: key `flows[1].traffic.shape`: is 0.0; allowed: 0.01 to 1000"),
        // Queues: what the algorithm library says.
        ("\"codel target 10ms\"", "\"cdoel\"", "test.toml:15:9: key `links[0].queue`: unknown algorithm \"cdoel\" (did you mean \"codel\"?); allowed: pfifo, bfifo, "),
        ("\"codel target 10ms\"", "\"codel target 10\"", "test.toml:15:9: key `links[0].queue`: codel: target: \"10\" has no unit"),
        ("\"codel target 10ms\"", "{ kind = \"codel\", traget = \"10 ms\" }", "test.toml:15:9: key `links[0].queue`: codel: unknown parameter \"traget\" (did you mean \"target\"?); allowed: "),
        ("\"codel target 10ms\"", "{ target = \"10 ms\" }", "test.toml:15:9: key `links[0].queue`: is a table without `kind`; allowed: pfifo, bfifo, "),
        ("\"codel target 10ms\"", "7", "test.toml:15:9: key `links[0].queue`: is 7; allowed: an algorithm with its parameters as in tc"),
    ];
    let mut wrong = String::new();
    for (old, new, expected) in table {
        let message = refused(old, new);
        // The lists of algorithms, their parameters and effects of links grow; everything else is compared whole.
        let right = if old.contains("codel") || expected.ends_with(", ") {
            message.starts_with(expected)
        } else {
            message == expected
        };
        if !right {
            wrong += &format!("\n     got: {message}\nexpected: {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn broken_toml_is_refused_at_its_place() {
    let cut = &GOOD[..GOOD.find("Mbit/s").unwrap()];
    let message = load(cut, "cut.toml", &[]).unwrap_err().to_string();
    assert!(message.starts_with("cut.toml:13:"), "{message}");
    let message = load("name = \"a\"\nname = \"b\"\n", "twice.toml", &[]).unwrap_err().to_string();
    assert!(message.starts_with("twice.toml:2:1: duplicate key"), "{message}");
    let message = load("", "empty.toml", &[]).unwrap_err().to_string();
    assert_eq!(message, "empty.toml:1:1: key `name`: is missing");
}

#[test]
fn broken_json_is_refused_at_its_place() {
    let message = |text: &str| load(text, "x.json", &[]).unwrap_err().to_string();
    assert_eq!(message("{\n  \"name\": \"a\",\n  \"duration\": }"), "x.json:3:15: expected value");
    assert!(message("{ \"name\": \"a\"").starts_with("x.json:1:13: EOF"), "{}", message("{ \"name\": \"a\""));
    assert_eq!(message("{\"name\": \"a\", \"name\": \"b\"}"), "x.json:1:15: duplicate key `name`");
    // A column counts characters, not bytes.
    assert_eq!(
        message("{\"name\": \"\u{fc}\", \"duration\": 5}"),
        "x.json:1:27: key `duration`: 5 has no unit; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""
    );
}

#[test]
fn nothing_to_run_is_refused() {
    let text = &GOOD[..GOOD.find("[[flows]]").unwrap()];
    let message = load(text, "test.toml", &[]).unwrap_err().to_string();
    assert!(message.starts_with("test.toml:1:1: key `flows`: has no flow; allowed: at least one"), "{message}");
}

#[test]
fn islands_and_odd_groups_are_refused() {
    let island = GOOD.replace("from = \"client\"\nto = \"left\"", "from = \"client\"\nto = \"island\"");
    let message = load(&island, "test.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.toml:28:6: key `flows[0].to`: cannot be reached: no path from client0 to right; allowed: nodes that links, buses and cells connect"
    );
    let groups = GOOD
        .replace("[[nodes]]", "[[nodes]]\nname = \"five\"\ncount = 5\n\n[[nodes]]")
        .replace("to = \"left\"", "to = \"five\"");
    let message = load(&groups, "test.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.toml:25:6: key `links[1].to`: is a group of 5 nodes, but `from` is a group of 3; allowed: one node, or a group of 3 nodes"
    );
    let bus = GOOD.replace("[[flows]]\nname = \"bulk\"", "[[buses]]\nname = \"lan\"\nrate = \"1 Gbit/s\"\ndelay = \"1 us\"\nstations = [\"client\", \"client1\"]\n\n[[flows]]\nname = \"bulk\"");
    let message = load(&bus, "test.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.toml:29:23: key `buses[0].stations[1]`: names node client1 twice; allowed: each node once"
    );
    let alone = bus.replace("[\"client\", \"client1\"]", "[\"left\"]");
    let message = load(&alone, "test.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.toml:29:12: key `buses[0].stations`: has 1 nodes; allowed: at least two nodes, or a group of them"
    );
    let port = "[[buses.ports]]\nname = \"client1\"\n\n";
    let ports = |stations: &str, ports: &str| {
        let whole = bus.replace("[\"client\", \"client1\"]", stations);
        let whole = whole.replace("[[flows]]\nname = \"bulk\"", &format!("{ports}[[flows]]\nname = \"bulk\""));
        load(&whole, "test.toml", &[]).unwrap_err().to_string()
    };
    assert_eq!(
        ports("[\"client0\", \"client2\"]", port),
        "test.toml:32:8: key `buses[0].ports[0].name`: is client1, which is not a station of the bus; allowed: one of `stations`"
    );
    assert_eq!(
        ports("[\"client\"]", &port.repeat(2)),
        "test.toml:35:8: key `buses[0].ports[1].name`: names node client1 twice; allowed: each node once"
    );
}

#[test]
fn a_bad_cell_is_refused() {
    let cell = |keys: &str| {
        let table =
            format!("[[cells]]\nname = \"wlan\"\naccess_point = \"left\"\n{keys}\n\n[[flows]]\nname = \"bulk\"");
        GOOD.replace("[[flows]]\nname = \"bulk\"", &table)
    };
    let stations = "stations = [\"a\"]\n";
    let table = [
        ("stations = []", "stations`: has no node; allowed: at least one node or a group"),
        ("stations = [\"left\"]", "stations[0]`: names node left twice; allowed: each node once"),
        (
            "profile = \"802.11a\"",
            "profile`: \"802.11a\" is unknown (did you mean \"802.11\"?); allowed: 802.11, 802.11b, 802.11g, 802.11n",
        ),
        (
            "rates = { right = \"1 Mbit/s\" }",
            "rates`: names right, which is not a station of this cell; allowed: its `stations`",
        ),
        ("rates = { a = \"0 Mbit/s\" }", "rates.a`: is 0; allowed: a rate above 0, as in \"10 Mbit/s\""),
        ("slot = \"0 us\"", "slot`: is 0; allowed: a time above 0, as in \"9 us\""),
        ("delay = \"10 us\"", "delay`: is 10 us; allowed: at most a slot, 9 us"),
        ("cw_max = 7", "cw_max`: is 7; allowed: from `cw_min`, 15, to 1048576"),
        ("short_retry_limit = 0", "short_retry_limit`: is 0; allowed: 1 or more"),
        ("frame_error_rate = 1.0", "frame_error_rate`: is 1; allowed: at least 0 and less than 1"),
        ("aggregate_frames = 0", "aggregate_frames`: is 0; allowed: 1 to 256"),
    ];
    for (keys, expected) in table {
        let text = if keys.starts_with("stations") { cell(keys) } else { cell(&format!("{stations}{keys}")) };
        let message = load(&text, "test.toml", &[]).unwrap_err().to_string();
        assert!(message.ends_with(&format!("key `cells[0].{expected}")), "{message}");
    }
}

#[test]
fn the_data_rate_of_a_station_changes_and_nothing_else_of_a_cell() {
    let text = GOOD.replace(
        "[[flows]]\nname = \"bulk\"",
        "[[cells]]\nname = \"wlan\"\naccess_point = \"left\"\nstations = [\"a\"]\n\n[[flows]]\nname = \"bulk\"",
    );
    let refused = |keys: &str| load(&text, "test.toml", &[format!("changes=[{{at = \"1 s\", {keys}}}]")]).err();
    assert!(refused("queue = \"wlan:a\", rate = \"6 Mbit/s\"").is_none());
    for (keys, expected) in [
        (
            "queue = \"wlan:left\", rate = \"6 Mbit/s\"",
            "rate`: changes wlan:left, whose frames have the data rates of the stations; allowed: queues of stations and of links",
        ),
        (
            "queue = \"wlan:a\", delay = \"1 ms\"",
            "delay`: changes wlan:a, which is no queue of a link; allowed: queues of links",
        ),
    ] {
        let message = refused(keys).map(|error| error.to_string()).unwrap_or_default();
        assert!(message.ends_with(&format!("key `changes[0].{expected}")), "{message}");
    }
}

#[test]
fn a_bad_override_names_itself() {
    let table = [
        ("duration", "--set duration: has no `=`; allowed: KEY=VALUE with a dotted key, as in links.bottleneck.rate=50 Mbit/s"),
        ("links..rate=1", "--set links..rate=1: has an empty key; allowed: KEY=VALUE with a dotted key, as in links.bottleneck.rate=50 Mbit/s"),
        ("duration=5", "--set duration=5: key `duration`: 5 has no unit; allowed: a time with its unit: ns, us, ms, s, min or h, as in \"5 ms\" or \"100ms\""),
        ("duraton=5 s", "--set duraton=5 s: key `duraton`: is not a key here (did you mean \"duration\"?); allowed: name, description, duration, warm_up, seed, replications, series, windows, pooled, nodes, links, buses, cells, flows, changes"),
        ("warm_up=1 h", "--set warm_up=1 h: key `warm_up`: is 3600 s, not shorter than the run; allowed: less than `duration`, 10 s"),
        ("links.bottle.rate=1", "--set links.bottle.rate=1: `links` has no element \"bottle\"; allowed: bottleneck, access, or 0 to 1"),
        ("links.botleneck.rate=1", "--set links.botleneck.rate=1: `links` has no element \"botleneck\" (did you mean \"bottleneck\"?); allowed: bottleneck, access, or 0 to 1"),
        ("changes=[{at = \"1 s\", queue = \"left->rigth\", scheme = \"pie\"}]", "--set changes=[{at = \"1 s\", queue = \"left->rigth\", scheme = \"pie\"}]: key `changes[0].queue`: is \"left->rigth\", and no queue has that name (did you mean \"left->right\"?); allowed: left->right, right->left, client0->left, left->client0, client1->left, left->client1, client2->left, left->client2"),
        ("changes=[{at = \"1 s\", queue = \"bottleneck\", scheme = \"pie\"}]", "--set changes=[{at = \"1 s\", queue = \"bottleneck\", scheme = \"pie\"}]: key `changes[0].queue`: is \"bottleneck\", and no queue has that name (a link has: `link = \"bottleneck\"` changes both of its directions); allowed: left->right, right->left, client0->left, left->client0, client1->left, left->client1, client2->left, left->client2"),
        ("links.2.rate=1", "--set links.2.rate=1: `links` has no element \"2\"; allowed: bottleneck, access, or 0 to 1"),
        ("buses.0.rate=1", "--set buses.0.rate=1: key `buses`: is a table; allowed: a list"),
        ("links.0.queue.limit=5", "--set links.0.queue.limit=5: `links.0.queue` is neither a table nor a list, so it has no `limit`; set it as a whole"),
        ("flows.voice.traffic.rat=5", "--set flows.voice.traffic.rat=5: key `flows[1].traffic.rat`: is not a key here (did you mean \"rate\"?); allowed: rate, packet_size"),
    ];
    for (set, expected) in table {
        assert_eq!(with(&[set]).unwrap_err(), expected);
    }
}

#[test]
fn values_that_clash_through_an_override_name_the_key_that_is_out_of_bounds() {
    let message = with(&["duration=1 s"]).unwrap_err();
    assert_eq!(
        message,
        "test.toml:3:11: key `warm_up`: is 2 s, not shorter than the run; allowed: less than `duration`, 1 s"
    );
}

#[test]
fn no_text_makes_it_panic_and_every_refusal_has_a_place() {
    let json = super::good(GOOD).to_json();
    let mut refusals = 0;
    for text in [GOOD, &json] {
        for at in 0..text.len() {
            let (before, after) = (&text[..at], &text[at + 1..]);
            let broken = ["", "\"", "-", "0", "\u{fc}", "]", "{"].map(|piece| format!("{before}{piece}{after}"));
            for text in broken.iter().map(String::as_str).chain([before]) {
                if let Err(e) = load(text, "f", &[]) {
                    refusals += 1;
                    assert!(e.to_string().starts_with("f:"), "{e}");
                }
            }
        }
    }
    assert!(refusals > 1000);
}

#[test]
fn a_link_to_an_undeclared_node_beside_declared_groups_says_so() {
    // The group "client" is connected to nothing, and the message names the node that is probably meant to be it.
    let access = "from = \"client\"\nto = \"left\"";
    assert_eq!(
        refused(access, "from = \"clients\"\nto = \"left\""),
        "test.toml:28:6: key `flows[0].to`: cannot be reached: no path from client0 to right; `links[1].from`: \"clients\" is not \
         declared in [[nodes]], so it is a single node (did you mean \"client\"?); allowed: nodes that links, buses and cells connect"
    );
    assert_eq!(
        refused(access, "from = \"client7\"\nto = \"left\""),
        "test.toml:28:6: key `flows[0].to`: cannot be reached: no path from client0 to right; `links[1].from`: \"client7\" is not \
         declared in [[nodes]], so it is a single node; the group \"client\" has 3 nodes, numbered from 0; allowed: nodes that links, \
         buses and cells connect"
    );
    assert_eq!(
        refused(access, "from = \"pcs\"\nto = \"left\""),
        "test.toml:28:6: key `flows[0].to`: cannot be reached: no path from client0 to right; `links[0].from`: nothing connects the \
         group \"client\", while each of these is a single node that is not declared in [[nodes]]: \"left\", \"right\", \"pcs\"; \
         allowed: nodes that links, buses and cells connect"
    );
}

#[test]
fn what_is_accepted_and_probably_wrong_is_warned_of() {
    assert_eq!(good(GOOD).warnings(), Vec::<String>::new());
    // A flow that starts at the misspelt node hides that the group is not connected.
    let hidden = GOOD.replace("from = \"client\"", "from = \"clients\"").replace("to = \"client\"", "to = \"clients\"");
    assert_eq!(
        good(&hidden).warnings(),
        ["key `links[1].from`: \"clients\" is not declared in [[nodes]], so it is a single node (did you mean \"client\"?)"]
    );
    // A former name of a preset, wherever a scheme can stand.
    let text = format!(
        "{}\n[[changes]]\nat = \"3 s\"\nscheme = \"red preset seed000\"\n
         [[buses]]\nname = \"lan\"\nrate = \"1 Gbit/s\"\ndelay = \"1 us\"\nstations = [\"client\"]\nqueue = \"pie preset seed000\"\n\
         ports = [{{ name = \"client1\", queue = {{ kind = \"avq\", preset = \"seed004\" }} }}]\n
         [[cells]]\nname = \"air\"\naccess_point = \"left\"\nstations = [\"phone\"]\nqueue = \"red preset seed000\"\n\
         access_point_queue = \"ared preset seed000\"\n",
        GOOD.replace("codel target 10ms\"", "cobalt preset seed000\"\nreverse_queue = \"fq_avq preset seed004\"")
    );
    let keys = [
        ("links[0].queue", "cobalt", "seed000", "shu2023"),
        ("links[0].reverse_queue", "fq_avq", "seed004", "hassan"),
        ("buses[0].queue", "pie", "seed000", "shu2023"),
        ("buses[0].ports[0].queue", "avq", "seed004", "hassan"),
        ("cells[0].queue", "red", "seed000", "shu2023"),
        ("cells[0].access_point_queue", "ared", "seed000", "shu2023"),
        ("changes[0].scheme", "red", "seed000", "shu2023"),
    ];
    let expected = keys.map(|(key, kind, former, present)| {
        format!("key `{key}`: {kind}: \"preset {former}\" is now called \"preset {present}\"")
    });
    assert_eq!(good(&text).warnings(), expected);
}
