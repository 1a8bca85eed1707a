//! One algorithm, two worlds: the arrivals at a simulated queue, sent as frames through the device's engine over loopback
//! in virtual time, are decided upon alike, line by line, by every registered algorithm, over every kind of link.

use sojourn_aqm::{registry, ChannelCounts, Framing, Impairments, Rates, Traced};
use sojourn_device::engine::{Direction, Engine};
use sojourn_device::frame::{self, Key};
use sojourn_device::path::{Link, LinkChange, Path, PathConfig};
use sojourn_device::pool::Pool;
use sojourn_device::port::loopback;
use sojourn_device::record::Recorder;
use sojourn_measure::trace::{Event, EventKind, Facts};
use sojourn_random::Stream;
use sojourn_sim::{Options, Simulation};
use sojourn_units::{BitRate, Bytes, Instant, Span};
use std::sync::{Arc, Mutex};

const KEY: u64 = 11;
const SEED: u64 = 3;
/// Ethernet, IPv4 and UDP: what a frame has besides its payload.
const HEADERS: u32 = 42;
const OVERHEAD: u32 = 24;

/// Source host, port, type of service: three hosts, five flows, every ECN codepoint, three classes of traffic.
const FLOWS: [(u8, u16, u8); 5] = [(1, 1, 0x00), (1, 2, 0x02), (2, 3, 0xb9), (3, 4, 0x20), (3, 5, 0x03)];

/// Payload of the packets of each flow.
const PAYLOADS: [u32; FLOWS.len()] = [18, 258, 958, 1472, 758];

/// A link, as a scenario has it and as the device has it.
#[derive(Clone)]
struct Between {
    /// Keys of the scenario's link.
    keys: String,
    /// `[[changes]]` of the scenario.
    changes: &'static str,
    /// Bytes of a packet besides its payload, as the scenario counts them.
    header: u32,
    rate: BitRate,
    overhead: u32,
    delay: Span,
    link: Link,
    /// The queue's name in the simulator, by which it draws random numbers.
    queue: &'static str,
}

/// At 8 Mbit/s, with all that Ethernet adds.
fn plain() -> Between {
    Between {
        keys: format!("rate = \"8 Mbit/s\"\noverhead = \"{OVERHEAD} B\""),
        changes: "",
        header: HEADERS,
        rate: BitRate::from_bit_s(8_000_000),
        overhead: OVERHEAD,
        delay: Span::from_millis(1),
        link: Link::default(),
        queue: "a->b",
    }
}

/// Links whose packets are counted from their IP header on.
fn links() -> Vec<(&'static str, Between)> {
    let of_ip =
        |keys: &str, link: Link| Between { keys: keys.to_owned(), header: HEADERS - 14, overhead: 0, link, ..plain() };
    let rate = "rate = \"8 Mbit/s\"";
    let framed = |text: &str, more: &str, impairments: Impairments| {
        let link = Link { framing: text.parse::<Framing>().ok(), impairments, ..Link::default() };
        of_ip(&format!("{rate}\nframing = \"{text}\"\n{more}"), link)
    };
    let traced = |keys: &str, rates: Rates| {
        let rate = rates.mean();
        let trace = Some((Arc::new(rates), Traced::WINDOW));
        let link = Link { trace, framing: "raw".parse().ok(), ..Link::default() };
        Between { rate, ..of_ip(keys, link) }
    };
    // 20 opportunities of 1500 B in 31 ms: 7.74 Mbit/s; two at once, gaps of up to 7 ms.
    let opportunities = "1x2 0 2x3 1 0 0 5 1x4 0 0 3 7 1x2 0 2";
    let instants: String = {
        let mut at = 0;
        let gaps = [1, 1, 0, 2, 2, 2, 1, 0, 0, 5, 1, 1, 1, 1, 0, 0, 3, 7, 1, 1, 0, 2];
        gaps.iter()
            .map(|gap: &u64| {
                at += gap;
                format!("{at}\n")
            })
            .collect()
    };
    let table = "time_s,rate_mbit_s\n0,8\n0.3,0\n0.35,2.5\n0.5,21.7\n";
    let steps =
        "trace = { rates = [[\"0 s\", \"8 Mbit/s\"], [\"300 ms\", \"0 bit/s\"], [\"350 ms\", \"2500 kbit/s\"], \
                 [\"500 ms\", \"21700 kbit/s\"]] }";
    let loss = Impairments { loss: "gemodel 3% 20%".parse().ok(), ..Impairments::default() };
    let all = Impairments { jitter: "4 ms normal".parse().ok(), duplicate: "2%".parse().ok(), ..loss };
    let change = |at_ms: u64| LinkChange { at: Instant::ZERO + Span::from_millis(at_ms), ..LinkChange::default() };
    let changes = vec![
        LinkChange { rate: Some(BitRate::from_bit_s(3_000_000)), every: Some(Span::from_secs(2)), ..change(500) },
        LinkChange { rate: Some(BitRate::from_bit_s(5_000_000)), ..change(1700) },
        LinkChange { rate: Some(BitRate::from_bit_s(11_000_000)), loss: "5%".parse().ok(), ..change(1700) },
        LinkChange { scheme: "red min 5p max 15p limit 40p".parse().ok(), ..change(3100) },
    ];
    vec![
        ("cells", framed("atm overhead 10", "", Impairments::default())),
        ("lossy", framed("ethernet", "loss = \"gemodel 3% 20%\"\njitter = \"4 ms normal\"\nduplicate = \"2%\"", all)),
        (
            "opportunities",
            traced(
                &format!("trace = {{ opportunities = \"{opportunities}\" }}"),
                Rates::read(&instants, true, None).unwrap(),
            ),
        ),
        ("steps", traced(steps, Rates::read(table, true, None).unwrap())),
        (
            "changing",
            Between {
                changes: "[[changes]]\nat = \"500 ms\"\nevery = \"2 s\"\nrate = \"3 Mbit/s\"\n\
                      [[changes]]\nat = \"1700 ms\"\nrate = \"5 Mbit/s\"\n\
                      [[changes]]\nat = \"1700 ms\"\nrate = \"11 Mbit/s\"\nloss = \"5%\"\n\
                      [[changes]]\nat = \"3100 ms\"\nscheme = \"red min 5p max 15p limit 40p\"\n",
                ..of_ip(rate, Link { changes, framing: "raw".parse().ok(), ..Link::default() })
            },
        ),
    ]
}

/// 8 Mbit/s are offered 6.5 by four flows all the time and 7 more by the fifth for 100 ms of every 400 in the mean, headers
/// and framing included: the queue is empty often, and full.
fn scenario(between: &Between) -> String {
    let Between { keys, changes, header, .. } = between;
    let flow = |n: usize, traffic: &str| {
        format!(
            "[[flows]]\nname = \"f{n}\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ kind = \"udp\", header = \"{header} B\" }}\n\
             traffic = {{ {traffic} }}\n"
        )
    };
    let poisson = |size: &u32| format!("kind = \"poisson\", rate = \"0.8 Mbit/s\", packet_size = \"{size} B\"");
    let burst = "kind = \"on_off\", rate = \"6.4 Mbit/s\", packet_size = \"758 B\", \
                 on = { exponential = { mean = \"100 ms\" } }, off = { exponential = { mean = \"300 ms\" } }";
    let flows: String = PAYLOADS[..4].iter().enumerate().map(|(n, size)| flow(n, &poisson(size))).collect();
    format!(
        "name = \"open loop\"\nduration = \"4 s\"\n[[links]]\nname = \"link\"\nfrom = \"a\"\nto = \"b\"\n\
         delay = \"1 ms\"\nunder_test = true\n{keys}\n{changes}{flows}{}",
        flow(4, burst)
    )
}

/// A UDP datagram of flow `n`, `length` bytes with all headers.
fn datagram(n: usize, length: u32) -> Vec<u8> {
    let (host, port, tos) = FLOWS[n];
    let mut frame = vec![0; length as usize];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14..24].copy_from_slice(&[0x45, tos, 0, 0, 0, 0, 0x40, 0, 64, 17]);
    frame[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
    frame[26..34].copy_from_slice(&[10, 0, 0, host, 10, 0, 1, host]);
    frame[34..36].copy_from_slice(&port.to_be_bytes());
    frame[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
    frame
}

/// What is known of each flow.
type Known = [Facts; FLOWS.len()];

/// What the device reads off the frames of each flow.
fn known() -> Known {
    std::array::from_fn(|n| {
        let parsed = frame::parse(&datagram(n, HEADERS), KEY);
        assert_eq!(parsed.fault, None);
        let frame::Parsed { flow, source, destination, ecn, dscp, .. } = parsed;
        Facts { flow, source, destination, ecn, dscp, ..Facts::default() }
    })
}

/// The arrivals of a log.
fn arrivals(log: &[Event]) -> impl Iterator<Item = (Instant, Facts)> + '_ {
    log.iter().filter_map(|event| match event.what {
        EventKind::Arrived(facts) => Some((event.at, facts)),
        _ => None,
    })
}

/// The decisions of the simulated queue.
fn simulated(scheme: &str, known: &Known) -> Vec<Event> {
    simulated_over(&plain(), scheme, known)
}

/// The simulation, and the port under test.
fn prepared(between: &Between, scheme: &str, known: &Known) -> (Simulation, usize) {
    let network = Arc::new(sojourn_scenario::load(&scenario(between), "test", &[]).unwrap().resolve().unwrap());
    let options = Options { scheme: Some(scheme.parse().unwrap()), seed: SEED, ..Options::default() };
    let port = network.ports.iter().position(|port| port.under_test).unwrap();
    assert_eq!(network.ports[port].name, between.queue);
    let mut simulation = Simulation::new(network, options);
    for (n, facts) in known.iter().enumerate() {
        assert!(simulation.identify(n, facts));
    }
    (simulation, port)
}

fn simulated_over(between: &Between, scheme: &str, known: &Known) -> Vec<Event> {
    let (mut simulation, port) = prepared(between, scheme, known);
    assert!(simulation.log(port));
    simulation.run_until(simulation.end());
    simulation.take_log()
}

/// When the host of the device looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// At every instant at which something falls due.
    Prompt,
    /// At arrivals alone: what fell due since the last is caught up on.
    Late,
}

/// The decisions of the device under `key` on the arrivals of `log`, up to its last event.
fn device(scheme: &str, log: &[Event], host: Host, key: Key) -> Vec<Event> {
    device_over(&plain(), scheme, log, host, key).0
}

/// As [`device`], with what its link did.
fn device_over(between: &Between, scheme: &str, log: &[Event], host: Host, key: Key) -> (Vec<Event>, ChannelCounts) {
    let flows = known().map(|facts| facts.flow);
    let frames = arrivals(log).map(|(at, facts)| {
        let n = flows.iter().position(|flow| *flow == facts.flow).unwrap();
        (at, datagram(n, PAYLOADS[n] + HEADERS))
    });
    let last = log.last().map_or(Instant::ZERO, |event| event.at);
    device_of(between, scheme, frames, last, host, key)
}

/// The decisions of the device on these frames, up to `last`, and what its link did.
fn device_of(
    between: &Between,
    scheme: &str,
    mut frames: impl Iterator<Item = (Instant, Vec<u8>)>,
    last: Instant,
    host: Host,
    key: Key,
) -> (Vec<Event>, ChannelCounts) {
    let config = PathConfig {
        scheme: Some(scheme.parse().unwrap()),
        rate: between.rate,
        overhead: Bytes::new(u64::from(between.overhead)),
        burst: Span::from_secs(1),
        delay: between.delay,
    };
    let stream = |what: &str| Stream::new(SEED, 0, &format!("{what}/{}", between.queue));
    let seen = Arc::<Mutex<Vec<Event>>>::default();
    let sink = Arc::clone(&seen);
    let mut forth = Path::new(&config, Box::new(stream("queues")), key, Recorder::idle());
    forth.set_link(between.link.clone(), |what| Box::new(stream(what)));
    forth.log_to(Some(Box::new(move |event| sink.lock().unwrap().push(event))));
    let at_once = PathConfig { scheme: None, ..config };
    let back = Path::new(&at_once, Box::new(Stream::seeded(1)), key, Recorder::idle());
    let ((a, far_a), (b, far_b)) = (loopback("a"), loopback("b"));
    let mut engine = Engine::new(Pool::new(16384, 2048, 0).unwrap(), [Box::new(a), Box::new(b)], [forth, back]);
    let mut next = frames.next();
    loop {
        let due = if host == Host::Late && next.is_some() { None } else { engine.next_due() };
        let due = due.filter(|due| *due <= last);
        let Some(now) = next.iter().map(|(at, _)| *at).chain(due).min() else { break };
        if let Some((_, frame)) = next.take_if(|(at, _)| *at == now) {
            far_a.put(frame);
            next = frames.next();
        }
        engine.step(now).unwrap();
        while far_b.get().is_some() {}
    }
    let counters = engine.path(Direction::AToB).counters();
    let gone = counters.forwarded.packets + counters.dropped_total().packets;
    assert_eq!(counters.arrived.packets, gone + engine.frame_counts(Direction::AToB).queued, "{scheme}");
    let counts = engine.path(Direction::AToB).link_counts();
    drop(engine);
    (Arc::try_unwrap(seen).unwrap().into_inner().unwrap(), counts)
}

/// Every algorithm, and what of it depends on more than arrivals and departures.
fn schemes() -> Vec<String> {
    let named = registry::ALL.iter().map(|entry| {
        let complete = format!("{} interarrival measured", entry.name);
        if complete.parse::<sojourn_aqm::Config>().is_ok() {
            complete
        } else {
            entry.name.to_owned()
        }
    });
    let odd = [
        "pfifo limit 20p",
        "red min 5p max 15p limit 40p ecn",
        "codel ecn target 2ms interval 20ms",
        "cake bandwidth 6mbit diffserv4",
        "cake bandwidth 6mbit hosts overhead 20",
        "fq_codel limit 60p flows 4 target 1ms interval 10ms",
        "dualpi2 target 1ms",
        "pie ecn target 2ms",
        "sfb target 2p max 4p",
        "dropping_function formula \"min(1, max(0, (sojourn - 5ms) / 50ms))\" ecn",
    ];
    named.chain(odd.map(str::to_owned)).collect()
}

#[test]
fn the_device_decides_as_the_simulator_does() {
    let mut deciding = 0;
    for scheme in schemes() {
        let expected = simulated(&scheme, &known());
        let count = |is: fn(&EventKind) -> bool| expected.iter().filter(|event| is(&event.what)).count();
        // 100 kB/s of payload by each of four, in packets of 18 to 1472 B: 5556 + 388 + 104 + 68 packets a second.
        assert!(count(|what| matches!(what, EventKind::Arrived(_))) > 20_000, "{scheme}");
        assert!(count(|what| matches!(what, EventKind::Left { .. })) > 3_000, "{scheme}");
        deciding += usize::from(count(|what| matches!(what, EventKind::Dropped(_) | EventKind::Marked)) > 50);
        for host in [Host::Prompt, Host::Late] {
            let found = device(&scheme, &expected, host, KEY.into());
            for (line, (expected, found)) in expected.iter().zip(&found).enumerate() {
                assert_eq!(expected.to_string(), found.to_string(), "{scheme}, {host:?}: line {line}");
            }
            assert_eq!(expected.len(), found.len(), "{scheme}, {host:?}");
        }
    }
    // All but the three with room for the whole overload.
    assert!(deciding + 3 >= schemes().len(), "only {deciding} dropped or marked");
}

/// A live device has a secret key. Its log has every packet's hashes: what they decide is repeated without the key.
#[test]
fn a_live_run_is_repeated_from_its_log_alone() {
    for scheme in
        ["fq_codel limit 60p flows 4 target 1ms interval 10ms", "cake bandwidth 6mbit hosts", "sfb target 2p max 4p"]
    {
        let sent = simulated(scheme, &known());
        let log: Vec<String> =
            device(scheme, &sent, Host::Prompt, Key::drawn().unwrap()).iter().map(Event::to_string).collect();
        let live: Vec<Event> = log.iter().map(|line| line.parse().unwrap()).collect();
        let (mut from_log, public) = (Known::default(), known());
        for ((_, sent), (_, seen)) in arrivals(&sent).zip(arrivals(&live)) {
            let n = public.iter().position(|facts| facts.flow == sent.flow).unwrap();
            from_log[n] = seen;
        }
        assert!(from_log.iter().zip(&public).all(|(secret, public)| secret.flow != public.flow), "{scheme}");
        let repeated = simulated(scheme, &from_log);
        assert!(live.len() > 40_000 && repeated.len() >= live.len(), "{scheme}: {} and {}", live.len(), repeated.len());
        for (line, (live, repeated)) in log.iter().zip(&repeated).enumerate() {
            assert_eq!(*live, repeated.to_string(), "{scheme}: line {line}");
        }
    }
}

/// Framing, losses, jitter, copies, traces and changes. Where packets are lost after the queue, the same are lost.
#[test]
fn the_device_decides_as_the_simulator_does_over_any_link() {
    for (name, between) in links() {
        for scheme in [
            "pfifo limit 20p",
            "codel ecn target 2ms interval 20ms",
            "pie ecn target 2ms",
            "fq_codel limit 60p",
            // What these decide depends on the rate that they are shown.
            "red min 5p max 15p limit 40p",
            "avq limit 40p",
        ] {
            let expected = simulated_over(&between, scheme, &known());
            for host in [Host::Prompt, Host::Late] {
                let (found, link) = device_over(&between, scheme, &expected, host, KEY.into());
                for (line, (expected, found)) in expected.iter().zip(&found).enumerate() {
                    assert_eq!(expected.to_string(), found.to_string(), "{name}, {scheme}, {host:?}: line {line}");
                }
                assert_eq!(expected.len(), found.len(), "{name}, {scheme}, {host:?}");
                let report = prepared(&between, scheme, &known()).0.run().unwrap();
                let metric = |name: &str| report.queues[0].metrics.of(name).map(|count| count as u64);
                for (effect, count) in link.each() {
                    assert_eq!(count, metric(effect.metric), "{}: {name}, {scheme}, {host:?}", effect.key);
                }
                assert_eq!(link.lost > Some(20), ["lossy", "changing"].contains(&name), "{name}: {link:?}");
            }
        }
    }
}

/// A download whose acknowledgements wait in a narrow upstream queue; the frames that a capture of this queue has go through
/// the device. Both filter the same acknowledgements.
#[test]
fn the_device_filters_the_acknowledgements_that_the_simulator_filters() {
    let up = Between { rate: BitRate::from_bit_s(500_000), overhead: 0, delay: Span::from_millis(15), ..plain() };
    let up = Between { link: Link { framing: "raw".parse().ok(), ..Link::default() }, queue: "home->net", ..up };
    for (scheme, more) in [
        ("cake bandwidth 500kbit ack-filter", ""),
        ("cake bandwidth 500kbit ack-filter-aggressive", ""),
        // Every acknowledgement has SACK blocks or counts marks: none goes.
        ("cake bandwidth 500kbit ack-filter", "transport = { ecn = true, ecn_feedback = \"accecn\" }"),
    ] {
        let text = format!(
            "name = \"acks\"\nduration = \"8 s\"\n[[links]]\nname = \"line\"\nfrom = \"net\"\nto = \"home\"\n\
             rate = {{ down = \"50 Mbit/s\", up = \"500 kbit/s\" }}\ndelay = \"15 ms\"\n\
             queue = {{ down = \"pfifo limit 300p\", up = \"pfifo\" }}\nreverse_under_test = true\n\
             [[flows]]\nname = \"download\"\nfrom = \"net\"\nto = \"home\"\ncount = 4\n{more}\n"
        );
        let network = Arc::new(sojourn_scenario::load(&text, "test", &[]).unwrap().resolve().unwrap());
        let port = network.ports.iter().position(|port| port.under_test).unwrap();
        assert_eq!(network.ports[port].name, up.queue);
        let folder = tempfile::tempdir().unwrap();
        let packets = sojourn_sim::traces::PacketTraces {
            folder: folder.path().to_owned(),
            ports: [port].into(),
            snaplen: 2_000,
            departures: false,
        };
        let options =
            Options { scheme: Some(scheme.parse().unwrap()), seed: SEED, packets: Some(packets), ..Options::default() };
        let mut simulation = Simulation::new(network, options);
        assert!(simulation.log(port));
        simulation.run_until(simulation.end());
        let expected = simulation.take_log();
        drop(simulation.run().unwrap());
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut capture = sojourn_capture::Capture::open(&file).unwrap();
        let frames = std::iter::from_fn(|| capture.take().unwrap()).map(|record| (record.at, record.contents));
        let last = expected.last().unwrap().at;
        let (found, _) = device_of(&up, scheme, frames, last, Host::Prompt, KEY.into());
        // The two hash flows by keys of their own.
        let line = |event: &Event| match event.what {
            EventKind::Arrived(facts) => {
                Event { what: EventKind::Arrived(Facts { flow: 0, source: 0, destination: 0, ..facts }), ..*event }
                    .to_string()
            }
            _ => event.to_string(),
        };
        for (number, (expected, found)) in expected.iter().zip(&found).enumerate() {
            assert_eq!(line(expected), line(found), "{scheme}, {more}: line {number}");
        }
        assert_eq!(expected.len(), found.len(), "{scheme}");
        let filtered = expected.iter().filter(|event| matches!(event.what, EventKind::Dropped(_))).count();
        assert_eq!(filtered > 1_000, more.is_empty(), "{scheme}: {filtered} of {} events", expected.len());
    }
}
