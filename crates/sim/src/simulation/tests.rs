use super::{Options, Simulation};
use sojourn_units::{Instant, Span};
use std::sync::Arc;

const DUMBBELL: &str = include_str!("../../../../python/sojourn/model/scenarios/dumbbell.toml");
const LAN: &str = include_str!("../../../../python/sojourn/model/scenarios/lan.toml");
const WLAN: &str = include_str!("../../../../python/sojourn/model/scenarios/wlan.toml");
/// Clients over a queue that loses packets.
const CLIENTS: &str = r#"
    name = "clients"
    duration = "3 s"
    [[links]]
    name = "l"
    from = "a"
    to = "b"
    rate = "4 Mbit/s"
    delay = "7 ms"
    queue = "pfifo limit 20p"
    under_test = true
    [[flows]]
    name = "web"
    from = "a"
    to = "b"
    count = 3
    start = { uniform = ["0 s", "100 ms"] }
    traffic = { kind = "web", object_size = { exponential = { mean = "5 kB" } }, html = "3 kB" }
    [[flows]]
    name = "video"
    from = "a"
    to = "b"
    traffic = { kind = "video", segment = "500 ms", buffer = "3 s" }
    [[flows]]
    name = "call"
    from = "b"
    to = "a"
    transport = { kind = "udp" }
    traffic = { kind = "voip" }
"#;

#[test]
fn the_width_of_a_tick_changes_nothing() {
    // The order of events is that of (instant, order of scheduling), whatever the shape of the wheel: all in one
    // slot, each in its own, or anything between.
    for text in [DUMBBELL, LAN, WLAN, CLIENTS] {
        let sets = ["duration=3 s".to_owned(), "warm_up=1 s".to_owned()];
        let document = sojourn_scenario::load(text, "test", &sets).unwrap_or_else(|e| panic!("{e}"));
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

#[test]
fn a_link_that_is_looked_at_later_does_the_same() {
    // A lazy port computes arrivals and ends of transmission when somebody can see them, another one as they happen. Schemes
    // that decide at arrivals, at departures, by time and at random; series and windows look at queues on the way.
    let schemes =
        ["pfifo limit 40p", "codel", "pie limit 100p", "fq_codel", "red limit 150000 min 15000 max 45000 avpkt 1500"];
    // And links that lose, double and reorder packets, and frame them in cells.
    let impaired = [
        "links.bottleneck.loss=0.5%",
        "links.bottleneck.jitter=4 ms",
        "links.bottleneck.reverse_jitter=2 ms normal ordered",
        "links.bottleneck.duplicate=1%",
        "links.bottleneck.framing=pppoe-llcsnap",
    ];
    let cases =
        schemes.iter().map(|scheme| (scheme, &[][..])).chain(schemes.iter().map(|scheme| (scheme, &impaired[..])));
    for (scheme, more) in cases {
        let changes = "changes=[{ at = \"1500 ms\", rate = \"3 Mbit/s\" }, { at = \"2 s\", rate = \"20 Mbit/s\", delay = \"1 ms\" }]";
        let sets =
            ["duration=3 s", "warm_up=1 s", "windows=\"200 p\"", changes].into_iter().chain(more.iter().copied());
        let sets: Vec<String> = sets.map(str::to_owned).collect();
        let document = sojourn_scenario::load(DUMBBELL, "test", &sets).unwrap_or_else(|e| panic!("{e}"));
        let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
        let run = |is_lazy: bool| {
            let options = Options {
                scheme: Some(scheme.parse().unwrap_or_else(|e| panic!("{e:?}"))),
                seed: 5,
                series: Some(Span::from_millis(10)),
                ..Options::default()
            };
            let mut simulation = Simulation::new(Arc::clone(&network), options);
            assert!(simulation.net.ports.iter().any(|port| port.lazy));
            simulation.net.ports.iter_mut().for_each(|port| port.lazy &= is_lazy);
            let mut report = simulation.run().unwrap();
            let events = std::mem::take(&mut report.events);
            (events, serde_json::to_string(&report).unwrap())
        };
        let ((few, later), (many, at_once)) = (run(true), run(false));
        assert_eq!(later, at_once, "{scheme}");
        assert!(few < many, "{scheme}: {few} events and {many}");
    }
}

#[test]
fn what_a_plain_link_holds_is_the_same_counted_and_computed() {
    // The measurement begins and ends while packets are being sent; the clients' link rests at times.
    for text in [DUMBBELL, CLIENTS] {
        let sets = ["duration=3 s".to_owned(), "warm_up=1 s".to_owned()];
        let document = sojourn_scenario::load(text, "test", &sets).unwrap_or_else(|e| panic!("{e}"));
        let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
        let [counted, computed] = [true, false].map(|counts| {
            let mut simulation = Simulation::new(Arc::clone(&network), Options { seed: 5, ..Options::default() });
            for port in &mut simulation.net.ports {
                assert!(port.lazy && port.probe.system.is_none());
                port.probe.derive_system(!counts);
            }
            serde_json::to_string(&simulation.run().unwrap()).unwrap()
        });
        assert_eq!(counted, computed);
    }
}

#[test]
fn a_connection_opens_before_its_stream_and_the_series_show_its_sender() {
    let stream = |after: &str| {
        let traffic = format!("flows.0.traffic={{ kind = \"bulk\", after = \"{after}\", first = \"37 B\" }}");
        let sets = ["duration=2 s".to_owned(), "warm_up=0 s".to_owned(), traffic];
        let series = ["series={ interval = \"100 ms\", flows = true }".to_owned()];
        let document =
            sojourn_scenario::load(DUMBBELL, "test", &[&sets[..], &series].concat()).unwrap_or_else(|e| panic!("{e}"));
        let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
        let options = Options { series: Some(Span::from_millis(100)), ..Options::default() };
        Simulation::new(network, options).run().unwrap().series
    };
    let of = |series: &[super::Series], name: &str| {
        let found = series.iter().find(|series| series.name.starts_with(name)).unwrap_or_else(|| panic!("{name}"));
        (found.name.rsplit_once(':').map(|(_, flow)| flow.to_owned()), found.value.clone())
    };
    let late = stream("1 s");
    // 37 B reach the receiver in the first interval of 100 ms, or the second: 296 bits in 0.1 s; the stream begins after 1 s.
    let (_, goodput) = of(&late, "goodput_bit_s:");
    assert_eq!(goodput[..10].iter().flatten().sum::<f64>(), 2960.0);
    assert!(goodput[12..].iter().flatten().all(|value| *value > 1e5), "{goodput:?}");
    let (name, srtt) = of(&late, "srtt_ms:");
    assert!(name.is_some() && srtt[5].is_some_and(|ms| (1.0..1000.0).contains(&ms)), "{srtt:?}");
    let (_, cwnd) = of(&late, "cwnd_packets:");
    assert_eq!((cwnd[5], cwnd[19] > Some(10.0)), (Some(10.0), true));
    // CUBIC does not pace.
    assert!(!late.iter().any(|series| series.name.starts_with("pacing_rate_bit_s:")));
}

#[test]
fn series_have_delays_of_flows_and_marks_of_a_queue_that_marks() {
    let text = "name = \"marks\"\nduration = \"4 s\"\nwarm_up = \"1 s\"\n\
        series = { interval = \"100 ms\", flows = true }\n\
        links = [{ name = \"l\", from = \"a\", to = \"b\", rate = \"8 Mbit/s\", delay = \"5 ms\", under_test = true }]\n\
        [[flows]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\nstart = \"2 s\"\ntransport = { kind = \"tcp\", ecn = true }\n\
        [[flows]]\nname = \"u\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"udp\", header = \"0 B\" }\n\
        traffic = { kind = \"cbr\", rate = \"800 kbit/s\", packet_size = \"1000 B\" }\n";
    let network = sojourn_scenario::load(text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(network.resolve().unwrap_or_else(|e| panic!("{e}")));
    let scheme = Some("codel target 1ms interval 20ms ecn".parse().unwrap());
    let options = Options { scheme, series: Some(Span::from_millis(100)), ..Options::default() };
    let mut simulation = Simulation::new(network, options);
    simulation.run_until(Instant::ZERO + Span::from_millis(2050));
    let before = simulation.series_from(0);
    simulation.run_until(simulation.end());
    let rest = simulation.series_from(20);
    let report = simulation.run().unwrap();
    let of =
        |series: &[super::Series], name: &str| series.iter().find(|one| one.name == name).map(|one| one.value.clone());
    // 1000 B take 1 ms at 8 Mbit/s, and nobody else sends before 2 s: 5 + 1 ms, and the time of the wire's framing. Behind
    // TCP's packets the delay is longer.
    let delays = of(&report.series, "one_way_delay_ms:u[0]").unwrap();
    assert!(delays[..20].iter().all(|delay| delay.is_some_and(|ms| (6.0..6.1).contains(&ms))), "{delays:?}");
    assert!(delays[25..].iter().any(|delay| delay.is_some_and(|ms| ms > 7.0)), "{delays:?}");
    // Marks of the measured time: 100 ms times the values after the warm-up.
    assert_eq!(of(&before, "marks_packets_s"), None);
    let marks = of(&report.series, "marks_packets_s").unwrap();
    let sum: f64 = marks[10..].iter().flatten().sum();
    let counted = report.metrics.get("marks_packets").flatten().unwrap();
    assert!(counted > 0.0 && (sum * 0.1 - counted).abs() < 1e-6, "{sum} {counted}");
    // The points on the way are the report's.
    assert_eq!(of(&before, "queue_packets").unwrap(), of(&report.series, "queue_packets").unwrap()[..20]);
    assert_eq!(of(&rest, "marks_packets_s").unwrap(), marks[20..]);
}

#[test]
fn a_flow_that_has_not_begun_or_has_ended_has_no_values() {
    let flow = |name: &str, rest: &str| format!("[[flows]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\n{rest}\n");
    let text = [
        "name = \"lives\"\nduration = \"4 s\"\nwarm_up = \"500 ms\"\nseries = { interval = \"100 ms\", flows = true }\n",
        "[[links]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nunder_test = true\n",
        // Until everything is acknowledged: within 12 ms of the queue's 20 packets, and 10 ms of the path.
        &flow("stops", "start = \"1 s\"\nstop = \"2 s\"\ntransport = { kind = \"tcp\", congestion_control = \"bbr3\" }"),
        &flow("transfer", "start = \"1 s\"\ntraffic = { kind = \"transfer\", size = \"200 kB\" }"),
        // The last of its packets reaches the receiver after its end.
        &flow(
            "udp",
            "start = \"1 s\"\nstop = \"2 s\"\ntransport = { kind = \"udp\" }\n\
             traffic = { kind = \"cbr\", rate = \"100 kbit/s\", packet_size = \"100 B\" }",
        ),
        &flow("paused", "start = \"1 s\"\ntransport = { kind = \"udp\" }\ntraffic = { kind = \"cbr\", rate = \"8 kbit/s\", packet_size = \"10 B\" }"),
        &flow("web", "start = \"1 s\"\nstop = \"2 s\"\ntraffic = { kind = \"web\", objects = 1, connections = 1, object_size = \"3 kB\", html = \"3 kB\" }"),
        "[[changes]]\nat = \"2 s\"\nstop = [\"paused\"]\n",
    ]
    .concat();
    let document = sojourn_scenario::load(&text, "test", &[]).unwrap_or_else(|e| panic!("{e}"));
    let network = Arc::new(document.resolve().unwrap_or_else(|e| panic!("{e}")));
    let options = Options { series: Some(Span::from_millis(100)), ..Options::default() };
    let series = Simulation::new(network, options).run().unwrap().series;
    let of = |name: &str| series.iter().find(|series| series.name == name).unwrap_or_else(|| panic!("{name}"));
    // Whether there is a value at the ends of the intervals before the start, right after it, and at the end of the run.
    let has = |name: &str| {
        let found = of(name);
        let at = |second: f64| {
            let place = found.t_s.iter().position(|t| (t - second).abs() < 1e-9);
            found.value[place.unwrap_or_else(|| panic!("{second}"))].is_some()
        };
        [at(0.9), at(1.1), at(3.9)]
    };
    for name in ["cwnd_packets", "srtt_ms", "pacing_rate_bit_s", "delivery_rate_bit_s", "goodput_bit_s"] {
        assert_eq!(has(&format!("{name}:stops[0]")), [false, true, false], "{name}");
    }
    for name in
        ["cwnd_packets:transfer[0]", "goodput_bit_s:transfer[0]", "goodput_bit_s:udp[0]", "goodput_bit_s:web[0]"]
    {
        assert_eq!(has(name), [false, true, false], "{name}");
    }
    // Stopped by a change, it may start again: it sends nothing, which is a goodput of 0.
    assert_eq!(has("goodput_bit_s:paused[0]"), [false, true, true]);
    assert_eq!(of("goodput_bit_s:paused[0]").value.last(), Some(&Some(0.0)));
    // Nothing that arrives is left out: the flows' goodputs are the total's in every interval.
    let total = &of("goodput_bit_s").value;
    for (place, total) in total.iter().enumerate() {
        let flows = ["stops", "transfer", "udp", "paused", "web"];
        let sum: f64 = flows.iter().filter_map(|flow| of(&format!("goodput_bit_s:{flow}[0]")).value[place]).sum();
        assert!((sum - total.unwrap()).abs() < 1e-6, "{place}: {sum} and {total:?}");
    }
}
