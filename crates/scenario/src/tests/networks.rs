//! Resolution: groups, routes, flows.

use super::{good, network, GOOD};
use crate::{Network, PortKind, Start, Transport};
use sojourn_traffic::Traffic;
use sojourn_transport::Recovery;
use sojourn_units::{Bytes, Instant, Packets, Span};
use std::fmt::Write;

fn names(network: &Network, route: &[usize]) -> Vec<String> {
    route.iter().map(|port| network.ports[*port].name.clone()).collect()
}

/// Follows a route node by node, as the engine does.
fn check_route(network: &Network, route: &[usize], from: usize, to: usize) {
    let mut at = from;
    for (i, port) in route.iter().enumerate() {
        let port = &network.ports[*port];
        assert_eq!(port.node(), at, "{}", port.name);
        at = match port.kind {
            PortKind::Link { to, .. } => to,
            PortKind::Bus { bus, .. } => {
                let next = route.get(i + 1).map_or(to, |next| network.ports[*next].node());
                let on_bus = |p: &crate::Port| matches!(p.kind, PortKind::Bus { bus: b, station } if b == bus && station == next);
                assert!(next != at && network.ports.iter().any(on_bus), "{}", port.name);
                next
            }
            PortKind::Cell { station, access_point, .. } if station != access_point => access_point,
            PortKind::Cell { .. } => route.get(i + 1).map_or(to, |next| network.ports[*next].node()),
        };
    }
    assert_eq!(at, to);
}

#[test]
fn groups_become_nodes_links_and_flows() {
    let network = network(GOOD);
    assert_eq!(network.nodes, ["client0", "client1", "client2", "left", "right"]);
    let ports: Vec<&str> = network.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(
        ports,
        [
            "left->right",
            "right->left",
            "client0->left",
            "left->client0",
            "client1->left",
            "left->client1",
            "client2->left",
            "left->client2"
        ]
    );
    assert_eq!(network.ports[0].queue.text(), "codel target 10ms");
    assert_eq!(network.ports[1].queue.text(), "pfifo");
    let under_test: Vec<bool> = network.ports.iter().map(|port| port.under_test).collect();
    assert_eq!(under_test, [true, false, false, false, false, false, false, false]);
    assert_eq!(network.groups, ["bulk", "voice"]);
    let flows: Vec<(&str, usize, usize, usize)> =
        network.flows.iter().map(|f| (f.name.as_str(), f.group, f.from, f.to)).collect();
    assert_eq!(
        flows,
        [
            ("bulk[0]", 0, 0, 4),
            ("bulk[1]", 0, 1, 4),
            ("bulk[2]", 0, 2, 4),
            ("voice[0]", 1, 4, 0),
            ("voice[1]", 1, 4, 1),
            ("voice[2]", 1, 4, 2)
        ]
    );
    assert_eq!(names(&network, &network.flows[1].route), ["client1->left", "left->right"]);
    assert_eq!(names(&network, &network.flows[1].ack_route), ["right->left", "left->client1"]);
    let Transport::Tcp { sender, .. } = &*network.flows[0].transport else { panic!("udp") };
    assert!(sender.unlimited);
    assert_eq!(*network.flows[3].transport, Transport::Udp { header: Bytes::new(28), echo: false });
    assert_eq!(network.flows[3].start, Start::At(Instant::from_nanos(1_000_000_000)));
    assert_eq!(network.flows[3].stop, Some(Instant::from_nanos(9_000_000_000)));
}

#[test]
fn a_station_of_a_bus_can_have_a_queue_of_its_own() {
    let lan = r#"
name = "lan"
duration = "1 s"
[[nodes]]
name = "client"
count = 2
[[buses]]
name = "lan"
stations = ["client", "switch"]
rate = "1 Gbit/s"
delay = "1 us"
queue = "pfifo limit 7p"
device_queue = "3 p"
[[buses.ports]]
name = "switch"
queue = "codel"
under_test = true
[[flows]]
name = "bulk"
from = "client"
to = "switch"
"#;
    let network = network(lan);
    let ports: Vec<(&str, String, bool)> =
        network.ports.iter().map(|p| (p.name.as_str(), p.queue.text(), p.under_test)).collect();
    let host = "pfifo limit 7p".to_owned();
    assert_eq!(
        ports,
        [("lan:client0", host.clone(), false), ("lan:client1", host, false), ("lan:switch", "codel".to_owned(), true)]
    );
    assert!(network.ports.iter().all(|p| p.device_queue == Some(Packets::new(3))));
}

#[test]
fn flows_of_groups_pair_by_index_modulo_the_smaller() {
    let bus = r#"
        name = "lan"
        duration = "10 s"
        [[nodes]]
        name = "c"
        count = 5
        [[nodes]]
        name = "s"
        count = 2
        [[buses]]
        name = "lan"
        stations = ["c", "s"]
        rate = "2 Gbit/s"
        delay = "1 ms"
        device_queue = "100 p"
        [[flows]]
        name = "up"
        from = "c"
        to = "s"
        count = 2
        start = { first = "1 s", every = "500 ms" }
        [[flows]]
        name = "down"
        from = "s"
        to = "c"
    "#;
    let network = network(bus);
    // Pair i is c[i mod 5] with s[i mod 2], five pairs; flow i belongs to pair i mod 5, so flow 5 is pair 0 again.
    let ends = |group| network.flows.iter().filter(|f| f.group == group).map(|f| (f.from, f.to)).collect::<Vec<_>>();
    assert_eq!(ends(0), [(0, 5), (1, 6), (2, 5), (3, 6), (4, 5), (0, 5), (1, 6), (2, 5), (3, 6), (4, 5)]);
    assert_eq!(ends(1), [(5, 0), (6, 1), (5, 2), (6, 3), (5, 4)]);
    // 1 s + 6 x 0.5 s.
    assert_eq!(network.flows[6].start, Start::At(Instant::from_nanos(4_000_000_000)));
    // One hop over a bus: the station's own port.
    assert_eq!(names(&network, &network.flows[1].route), ["lan:c1"]);
    assert_eq!(names(&network, &network.flows[1].ack_route), ["lan:s1"]);
    assert_eq!(network.ports[0].device_queue, Some(Packets::new(100)));
    assert_eq!(network.ports.len(), 7);
}

#[test]
fn the_document_reaches_the_transport() {
    let text = GOOD.replace(
        "to = \"right\"\n\n[[flows]]",
        "to = \"right\"\ntransport = { recovery = \"newreno\", window_limit = \"20 p\", mss = \"1000 B\", send_buffer = \"none\", receive_buffer = \"4 MiB\", ack_every = \"1 p\", delayed_ack = \"200 ms\" }\ntraffic = { kind = \"transfer\", size = \"1 MB\" }\n\n[[flows]]",
    );
    let network = network(&text);
    let Transport::Tcp { sender, receiver } = &*network.flows[0].transport else { panic!("udp") };
    assert_eq!(sender.window_limit, Some(Bytes::new(20_000)));
    assert_eq!(sender.send_buffer, None);
    assert_eq!(sender.recovery, Recovery::NewReno);
    assert!(!sender.unlimited);
    assert!(!receiver.sack);
    assert_eq!(receiver.buffer, Bytes::new(4 << 20));
    assert_eq!((receiver.ack_every, receiver.ack_delay), (Packets::new(1), Span::from_millis(200)));
    assert!(matches!(network.flows[0].traffic, Traffic::Transfer { size } if size == Bytes::new(1_000_000)));
}

#[test]
fn the_default_transport_is_the_transports_default() {
    use sojourn_transport::{Config, ReceiverConfig};
    let network = network(GOOD);
    let expected =
        Transport::Tcp { sender: Config { unlimited: true, ..Config::default() }, receiver: ReceiverConfig::default() };
    assert_eq!(*network.flows[0].transport, expected);
}

/// A diamond a - {x, y} - b with a longer way over z; `flow` is added to its flow.
fn diamond(flow: &str) -> Network {
    let mut text =
        String::from("name = \"diamond\"\nduration = \"1 s\"\n[[nodes]]\nname = \"y\"\n[[nodes]]\nname = \"x\"\n");
    for (i, (from, to)) in
        [("a", "x"), ("a", "y"), ("x", "b"), ("y", "b"), ("a", "z"), ("z", "w"), ("w", "b")].iter().enumerate()
    {
        writeln!(
            text,
            "[[links]]\nname = \"l{i}\"\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\""
        )
        .unwrap();
    }
    writeln!(text, "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}").unwrap();
    network(&text)
}

#[test]
fn among_equal_paths_the_lowest_node_wins() {
    // y was declared before x, so its index is lower although the links over x come first.
    let network = diamond("");
    assert_eq!(names(&network, &network.flows[0].route), ["a->y", "y->b"]);
    assert_eq!(names(&network, &network.flows[0].ack_route), ["b->y", "y->a"]);
}

#[test]
fn a_route_passes_its_nodes_and_acknowledgements_return_that_way_unless_told() {
    let network = diamond("route = [\"z\"]");
    assert_eq!(names(&network, &network.flows[0].route), ["a->z", "z->w", "w->b"]);
    // From b to z over w (two hops), as back to z through y and a would be three.
    assert_eq!(names(&network, &network.flows[0].ack_route), ["b->w", "w->z", "z->a"]);
    let network = diamond("route = [\"z\", \"w\"]");
    assert_eq!(names(&network, &network.flows[0].route), ["a->z", "z->w", "w->b"]);
    assert_eq!(names(&network, &network.flows[0].ack_route), ["b->w", "w->z", "z->a"]);
    let network = diamond("route = [\"z\"]\nack_route = []");
    assert_eq!(names(&network, &network.flows[0].ack_route), ["b->y", "y->a"]);
    let network = diamond("ack_route = [\"x\"]");
    assert_eq!(names(&network, &network.flows[0].route), ["a->y", "y->b"]);
    assert_eq!(names(&network, &network.flows[0].ack_route), ["b->x", "x->a"]);
}

#[test]
fn paths_cross_buses_and_links() {
    let text = r#"
        name = "mixed"
        duration = "1 s"
        [[nodes]]
        name = "host"
        count = 4
        [[links]]
        name = "uplink"
        from = "gateway"
        to = "core"
        rate = "1 Mbit/s"
        delay = "1 ms"
        [[links]]
        name = "far"
        from = "core"
        to = "server"
        rate = "1 Mbit/s"
        delay = "1 ms"
        [[buses]]
        name = "lan"
        stations = ["host", "gateway"]
        rate = "1 Gbit/s"
        delay = "1 us"
        [[buses]]
        name = "lab"
        stations = ["core", "probe", "tap"]
        rate = "1 Gbit/s"
        delay = "1 us"
        [[flows]]
        name = "f"
        from = "host"
        to = "server"
        [[flows]]
        name = "g"
        from = "probe"
        to = "host2"
        [[flows]]
        name = "h"
        from = "host0"
        to = "host3"
    "#;
    let network = network(text);
    assert_eq!(names(&network, &network.flows[1].route), ["lan:host1", "gateway->core", "core->server"]);
    assert_eq!(names(&network, &network.flows[1].ack_route), ["server->core", "core->gateway", "lan:gateway"]);
    assert_eq!(names(&network, &network.flows[4].route), ["lab:probe", "core->gateway", "lan:gateway"]);
    assert_eq!(names(&network, &network.flows[4].ack_route), ["lan:host2", "gateway->core", "lab:core"]);
    assert_eq!(names(&network, &network.flows[5].route), ["lan:host0"]);
    for flow in &network.flows {
        check_route(&network, &flow.route, flow.from, flow.to);
        check_route(&network, &flow.ack_route, flow.to, flow.from);
    }
}

/// Hops between all nodes by relaxing every edge until nothing changes (Bellman and Ford), buses as cliques.
fn distances(network: &Network) -> Vec<Vec<usize>> {
    let n = network.nodes.len();
    let mut edges = Vec::new();
    for port in &network.ports {
        match port.kind {
            PortKind::Link { from, to, .. } => edges.push((from, to)),
            PortKind::Bus { bus, station } => {
                for other in &network.ports {
                    if matches!(other.kind, PortKind::Bus { bus: b, station: s } if b == bus && s != station) {
                        edges.push((station, other.node()));
                    }
                }
            }
            PortKind::Cell { station, access_point, .. } => {
                edges.extend([(station, access_point), (access_point, station)]);
            }
        }
    }
    let mut far = vec![vec![usize::MAX; n]; n];
    for (to, row) in far.iter_mut().enumerate() {
        row[to] = 0;
        for _ in 0..n {
            for (a, b) in &edges {
                row[*a] = row[*a].min(row[*b].saturating_add(1));
            }
        }
    }
    far
}

#[test]
fn every_route_in_random_networks_is_a_shortest_path() {
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for _ in 0..40 {
        // A random tree keeps it connected; more links and a bus make it interesting.
        let n = 4 + below(12);
        let mut text = format!("name = \"random\"\nduration = \"1 s\"\n[[nodes]]\nname = \"n\"\ncount = {n}\n");
        let mut linked = std::collections::BTreeSet::new();
        for i in 1..n {
            linked.insert((below(i), i));
        }
        for _ in 0..below(6) {
            let (a, b) = (below(n), below(n));
            if a != b {
                linked.insert((a.min(b), a.max(b)));
            }
        }
        for (k, (a, b)) in linked.iter().enumerate() {
            writeln!(
                text,
                "[[links]]\nname = \"l{k}\"\nfrom = \"n{a}\"\nto = \"n{b}\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\""
            )
            .unwrap();
        }
        let stations: std::collections::BTreeSet<u64> = (0..3).map(|_| below(n)).chain([n]).collect();
        let list: Vec<String> = stations.iter().map(|s| format!("\"n{s}\"")).collect();
        writeln!(
            text,
            "[[buses]]\nname = \"bus\"\nstations = [{}]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"",
            list.join(", ")
        )
        .unwrap();
        for a in 0..n {
            for b in (0..=n).filter(|b| *b != a) {
                writeln!(text, "[[flows]]\nname = \"f{a}-{b}\"\nfrom = \"n{a}\"\nto = \"n{b}\"").unwrap();
            }
        }
        let network = network(&text);
        let far = distances(&network);
        for flow in &network.flows {
            check_route(&network, &flow.route, flow.from, flow.to);
            check_route(&network, &flow.ack_route, flow.to, flow.from);
            assert_eq!(flow.route.len(), far[flow.to][flow.from], "{text}");
            assert_eq!(flow.ack_route.len(), far[flow.to][flow.from]);
        }
    }
}

#[test]
fn a_document_without_its_text_still_names_the_key() {
    let mut document = good(GOOD);
    document.flows[0].to = "nowhere".to_owned();
    let message = document.resolve().unwrap_err().to_string();
    assert_eq!(
        message,
        "key `flows[0].to`: is \"nowhere\", which is not a node or group; allowed: client, left, right"
    );
}

#[test]
fn ten_thousand_hosts_resolve() {
    // Searching from every one of the 20,000 hosts would take 400 million steps; behind one router they share a search.
    let text = GOOD.replace("count = 3", "count = 10000");
    let network = network(&text);
    assert_eq!(network.flows.len(), 20_000);
    check_route(&network, &network.flows[9_999].route, 9_999, network.nodes.len() - 1);
}
