"""Topologies: reading, filling, routing, demands, and the scenarios made of them."""

from __future__ import annotations

import bz2
import json
import math
from itertools import pairwise
from pathlib import Path

import pytest

from shared import Command
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.base.units import rate_bit_s, time_ns
from sojourn.studies import topology
from sojourn.studies.topology.model import distance_km

ZOO = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d1"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="d2"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="d3"/>
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4"/>
  <key attr.name="LinkSpeed" attr.type="string" for="edge" id="d5"/>
  <key attr.name="LinkSpeedUnits" attr.type="string" for="edge" id="d6"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">New York</data><data key="d2">0</data><data key="d3">0</data></node>
    <node id="1"><data key="d1">New York</data><data key="d2">90</data><data key="d3">0</data></node>
    <node id="2"><data key="d1">42</data></node>
    <edge source="0" target="1"><data key="d4">10000000000.0</data></edge>
    <edge source="1" target="2"><data key="d5">155</data><data key="d6">M</data></edge>
    <edge source="0" target="2"></edge>
  </graph>
</graphml>
"""

# Two ways from a to d: over b (2 hops) and, with the shorter delay, over c and e (3 hops); b and f are equal by hops.
WAYS = """
a, b, 10 Mbit/s, 10 ms, 1
b, d, 10 Mbit/s, 10 ms, 9
a, c, 10 Mbit/s, 2 ms, 5
c, e, 10 Mbit/s, 2 ms, 5
e, d, 10 Mbit/s, 2 ms, 5
a, f, 10 Mbit/s, 30 ms, 1
f, d, 10 Mbit/s, 30 ms, 1
"""


def named(net: topology.Topology, route: tuple[int, ...]) -> str:
    return "".join(net.nodes[k].name for k in route)


def test_graphml_as_topology_zoo_writes_it() -> None:
    net = topology.parse(ZOO, source="zoo/Some.graphml")
    assert net.name == "Some"
    # Names are those of a scenario: no blank, none twice, none of digits alone.
    assert [node.name for node in net.nodes] == ["New_York", "New_York_2", "r42"]
    assert [node.label for node in net.nodes] == ["New York", "New York", "42"]
    assert [(link.ends, link.rate_bit_s) for link in net.links] == [
        ((0, 1), 10_000_000_000),
        ((1, 2), 155_000_000),
        ((0, 2), None),
    ]
    assert (net.nodes[1].longitude, net.nodes[2].longitude) == (90.0, None)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("10000000000.0", "fast", 13, "LinkSpeedRaw is 'fast'"),
        ("10000000000.0", "-1", 13, "LinkSpeedRaw is '-1'"),
        (">M<", ">X<", 14, "LinkSpeedUnits is 'X'; allowed: K, M, G, T"),
        (">155<", ">nan<", 14, "LinkSpeed is 'nan'"),
        ('target="2"><data', 'target="7"><data', 14, "an edge to node '7'"),
        ('<data key="d2">90<', '<data key="d2">190<', 11, "Longitude is '190'; allowed: degrees from -180 to 180"),
        ('<node id="1">', '<node id="0">', 11, "a second node '0'"),
        ('<edge source="0" target="2">', '<edge source="0">', 15, "has no `target`"),
        ("</graph>", "", 17, "well-formed XML"),
    ],
)
def test_graphml_errors_name_file_line_and_key(old: str, new: str, line: int, says: str) -> None:
    assert old in ZOO
    with pytest.raises(SojournError) as refused:
        topology.parse(ZOO.replace(old, new, 1), source="zoo/Some.graphml")
    assert f"zoo/Some.graphml, line {line}" in str(refused.value)
    assert says in str(refused.value)


def test_other_xml_is_refused_with_its_root() -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>'
    sndlib = '<?xml version="1.0"?>\n<network xmlns="http://sndlib.zib.de/network"><nodes/></network>'
    empty = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph/></graphml>'
    for text, says in (
        (drawing, "x.xml, line 1: the XML is <svg>; allowed: GraphML, <graphml>"),
        (sndlib, "x.xml, line 2: is SNDlib's own XML, which is not read; allowed: GraphML, or the package topohub's"),
        (empty, "x: has no router; allowed: at least one link between two routers"),
    ):
        with pytest.raises(SojournError) as refused:
            topology.parse(text, source="x.xml")
        assert says in str(refused.value)


def test_a_capacity_without_a_unit_is_told() -> None:
    text = (
        '<graphml><key id="c" for="edge" attr.name="capacity"/><graph><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"><data key="c">10</data></edge></graph></graphml>'
    )
    assert "`capacity` of edges not read" in topology.parse(text, source="x.graphml").notes[0]
    assert not topology.parse(text.replace('"capacity"', '"LinkSpeedRaw"'), source="x.graphml").notes


def test_as_rel(tmp_path: Path) -> None:
    text = "# source: somewhere\n1|2|-1\n2|3|0|bgp\n"
    (tmp_path / "20240101.as-rel.txt.bz2").write_bytes(bz2.compress(text.encode()))
    net = topology.load(tmp_path / "20240101.as-rel.txt.bz2")
    assert [node.name for node in net.nodes] == ["AS1", "AS2", "AS3"]
    assert [link.ends for link in net.links] == [(0, 1), (1, 2)]
    with pytest.raises(SojournError, match=r"x, line 2: '2\|3\|5' is not a relationship"):
        topology.parse("1|2|-1\n2|3|5", source="x")


def test_edge_list() -> None:
    net = topology.parse("a b 10Mbit/s 5ms  # first\n\nb c - - 3\n", source="net.txt")
    assert net.links[0].rate_bit_s == 10_000_000
    assert net.links[0].delay_ns == 5_000_000
    assert (net.links[1].rate_bit_s, net.links[1].delay_ns, net.links[1].weight) == (None, None, 3.0)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a, b, 10", "n.csv, line 2: rate is '10'; allowed: a rate above 0 with its unit"),
        ("a, b, 10 Mbit/s, 5", "n.csv, line 2: delay is '5'"),
        ("a, b, -, -, 0", "n.csv, line 2: weight is '0'"),
        ("a", "n.csv, line 2: 'a' is not a link"),
        ("a, b, 0 Mbit/s", "n.csv, line 2: rate is '0 Mbit/s'"),
    ],
)
def test_edge_list_errors(row: str, says: str) -> None:
    with pytest.raises(SojournError) as refused:
        topology.parse(f"x, y\n{row}", source="n.csv")
    assert says in str(refused.value)


def test_what_cannot_be_simulated_goes_with_a_note() -> None:
    net = topology.parse("a,b,1 Mbit/s,4 ms\nb,a,2 Mbit/s,3 ms\na,a\nx,y\nb,c,1 Mbit/s", source="net")
    assert [node.name for node in net.nodes] == ["a", "b", "c"]
    # Parallel links: rates add up, 1 + 2; the least delay stays.
    assert (net.links[0].rate_bit_s, net.links[0].delay_ns) == (3_000_000, 3_000_000)
    assert len(net.notes) == 3
    with pytest.raises(SojournError, match="no two routers are linked"):
        topology.parse("a,a", source="net")


def test_there_is_no_such_topology(tmp_path: Path) -> None:
    pytest.importorskip("topohub")
    for name in ("topohub:sndlib/nowhere", "topohub:../../secret", tmp_path / "none.graphml", "topohub:"):
        with pytest.raises(SojournError, match="there is no topology"):
            topology.load(name)


def test_topohub_with_demands() -> None:
    pytest.importorskip("topohub")
    net = topology.load("topohub:sndlib/abilene")
    assert (len(net.nodes), len(net.links), len(net.demands)) == (12, 15, 132)
    wanted, words = topology.demands(net)
    assert wanted is net.demands
    assert words == "the topology's own demands"
    # SNDlib's file: the largest demand is the 424,969 from Los Angeles to Chicago.
    largest = max(net.demands, key=lambda pair: net.demands[pair])
    assert ([net.nodes[k].name for k in largest], net.demands[largest]) == (["LOSAng", "CHINng"], 424_969)


def test_points_of_a_drawing_are_no_degrees() -> None:
    pytest.importorskip("topohub")
    for name in ("sndlib/france", "sndlib/india35"):
        net = topology.load(f"topohub:{name}")
        assert not net.is_geographic
        with pytest.raises(SojournError, match="has no delay and its ends no places"):
            topology.fill(net, capacity_bit_s=1_000_000)
    assert topology.load("topohub:topozoo/Aarnet").is_geographic


def test_great_circle_at_two_thirds_of_the_speed_of_light() -> None:
    net = topology.parse(ZOO, source="zoo")
    # A quarter of the equator: pi/2 * 6371.0088 km = 10007.56 km; over 199,861.6 km/s that is 50.0724 ms.
    assert distance_km(net.nodes[0], net.nodes[1]) == pytest.approx(10007.56, abs=0.01)
    filled = topology.fill(net, capacity_bit_s=1_000_000, delay_ns=7_000_000)
    assert filled.links[0].delay_ns == 50_072_000
    # The third router has no place: its links take the delay that is given.
    assert [link.delay_ns for link in filled.links[1:]] == [7_000_000, 7_000_000]


def test_missing_speeds_are_an_error_or_filled_by_a_rule() -> None:
    # A hub h with four leaves, one of which has a leaf more. Degrees: h 4, a 2, z b c d 1.
    net = topology.parse("h,a,-,1 ms\nh,b,-,1 ms\nh,c,-,1 ms\nh,d,-,1 ms\na,z,-,1 ms", source="star")
    with pytest.raises(SojournError, match=r"5 of 5 links have no speed \(the first is h - a\); --capacity"):
        topology.fill(net)
    rates = {
        rule: [link.rate_bit_s for link in topology.fill(net, capacity_bit_s=10, rule=rule).links]
        for rule in ("uniform", "degree", "betweenness")
    }
    assert rates["uniform"] == [10] * 5
    # Products of degrees: 8, 4, 4, 4, 2; over the least 4, 2, 2, 2, 1; roots 2, sqrt(2), .., 1. The power of two next
    # to sqrt(2) has the exponent 1/2, and halves go up.
    assert rates["degree"] == [20, 20, 20, 20, 10]
    # Pairs of routers parted by each link: 2 * 4 = 8 for h - a, 1 * 5 = 5 for the leaves: sqrt(8/5) = 1.26, next 1.
    assert rates["betweenness"] == [10] * 5
    with pytest.raises(SojournError, match="--capacity-rule is 'magic'; allowed: uniform, degree, betweenness"):
        topology.fill(net, capacity_bit_s=10, rule="magic")


def test_given_speeds_are_scaled_and_not_filled() -> None:
    net = topology.parse("a,b,10 Gbit/s,1 ms\nb,c,-,1 ms", source="net")
    filled = topology.fill(net, capacity_bit_s=5_000_000, scale=0.001)
    assert [link.rate_bit_s for link in filled.links] == [10_000_000, 5_000_000]


def test_quantities() -> None:
    assert rate_bit_s("2.5 Gbit/s", "x") == 2_500_000_000
    assert time_ns("1.5ms", "x") == 1_500_000
    for text in ("5", "5 m", "-5 ms", "0 ms", "five ms"):
        with pytest.raises(SojournError, match="--delay is"):
            time_ns(text, "--delay")


def test_routes_by_hops_delay_and_weight() -> None:
    net = topology.parse(WAYS, source="ways")
    pair = (net.index("a"), net.index("d"))
    # Hops: over b (index 1) or f (index 5), 2 each: the lower index. Delay: 2 + 2 + 2 ms. Weight: 1 + 1 over f.
    expected = {"hops": "abd", "delay": "aced", "weight": "afd"}
    for metric, way in expected.items():
        assert named(net, topology.shortest(net, [pair], metric)[pair]) == way
    with pytest.raises(SojournError, match=r"--routing is 'luck'; allowed: hops, delay, weight"):
        topology.shortest(net, [pair], "luck")
    bare = topology.parse("a,b", source="bare")
    with pytest.raises(SojournError, match="the link a - b has no weight"):
        topology.shortest(bare, [(0, 1)], "weight")


def test_the_simulator_takes_the_routes() -> None:
    net = topology.parse(WAYS, source="ways")
    pair = (net.index("a"), net.index("d"))
    for metric in ("hops", "delay", "weight"):
        case = topology.build(net, {pair: 1.0}, metric=metric, flows=1, udp=1.0, duration_ns=10**9, warm_up_ns=10**8)
        task = {"scheme": None, "seed": 1, "replication": 0, "series": None}
        (report,) = core.run_many(case.document, [task], jobs=1)
        used = {queue["name"] for queue in report["queues"] if queue["metrics"]["arrivals_packets"]}
        steps = [net.nodes[k].name for k in case.routes[pair]]
        assert used == {f"{a}->{b}" for a, b in pairwise(steps)}
        # Without a route in the document, the simulator's own shortest path by hops is the same, ties included.
        if metric == "hops":
            for flow in case.document["flows"]:
                del flow["route"]
            (own,) = core.run_many(case.document, [task], jobs=1)
            assert own["queues"] == report["queues"]


def test_given_routes(tmp_path: Path) -> None:
    net = topology.parse(WAYS, source="ways")
    file = tmp_path / "routes.csv"
    file.write_text("# by hand\na, f, d\n")
    routes = topology.read_routes(file, net)
    pair = (net.index("a"), net.index("d"))
    assert named(net, routes[pair]) == "afd"
    case = topology.build(net, {pair: 1.0, (pair[1], pair[0]): 1.0}, routes=routes, flows=4)
    assert named(net, case.routes[pair]) == "afd"
    assert named(net, case.routes[pair[1], pair[0]]) == "deca"
    for text, says in (
        ("a, d", "line 1: no link a - d"),
        ("a, f, d\na, b, d", "line 2: a second route from a to d"),
        ("a, q", "line 1: ways: there is no router 'q'; allowed: a, b, d, c, e, f"),
        ("a, b, a", "allowed: two routers or more, each once"),
    ):
        file.write_text(text)
        with pytest.raises(SojournError) as refused:
            topology.read_routes(file, net)
        assert says in str(refused.value)


def test_gravity_by_hand() -> None:
    # Rates of the routers' links: a 10, b 10 + 30 = 40, c 30.
    net = topology.parse("a,b,10 bit/s,1 ms\nb,c,30 bit/s,1 ms", source="line")
    wanted, words = topology.demands(net)
    assert wanted == {(0, 1): 400, (0, 2): 300, (1, 0): 400, (1, 2): 1200, (2, 0): 300, (2, 1): 1200}
    assert "gravity" in words
    assert set(topology.demands(net, "uniform")[0].values()) == {1.0}
    with pytest.raises(SojournError, match="line has no demands of its own; allowed: gravity, uniform or a CSV"):
        topology.demands(net, "own")


def test_every_pair_of_too_many_routers_is_refused() -> None:
    net = topology.parse("\n".join(f"hub,n{k},1 Mbit/s,1 ms" for k in range(3000)), source="star")
    with pytest.raises(
        SojournError, match="star has 3001 routers, too many for gravity demands; allowed: up to 3000"
    ):
        topology.demands(net)


def test_routers_of_one_name_get_numbers() -> None:
    from sojourn.studies.topology.model import Link, Node, assemble

    nodes = [Node("", label) for label in ("x", "x", "x_2", "x", "?")]
    net = assemble("names", nodes, [Link((0, k)) for k in range(1, 5)])
    assert [node.name for node in net.nodes] == ["x", "x_2", "x_2_2", "x_3", "router"]


def test_demands_from_a_file(tmp_path: Path) -> None:
    net = topology.parse("a,b,10 bit/s,1 ms\nb,c,30 bit/s,1 ms", source="line")
    file = tmp_path / "d.csv"
    file.write_text("# from, to, value\na, c, 2.5\nc, a, 0\na, c, 1\n")
    assert topology.demands(net, file)[0] == {(0, 2): 3.5}
    for text, says in (
        ("a, c, 1\na, b", "d.csv, line 2: 'a,b' is not a demand"),
        ("a, c, lots", "line 1: value is 'lots'"),
        ("a, c, -1", "line 1: value is '-1'"),
        ("a, a, 1", "line 1: from a to itself"),
        ("a, q, 1", "line 1: line: there is no router 'q'"),
        ("a, c, 0", "no demand above 0"),
    ):
        file.write_text(text)
        with pytest.raises(SojournError) as refused:
            topology.demands(net, file)
        assert says in str(refused.value)


def test_flows_are_apportioned_without_bias() -> None:
    wanted = {(0, k): float(k) for k in range(1, 11)}  # shares k/55
    total = dict.fromkeys(wanted, 0)
    for seed in range(400):
        found = topology.apportion(wanted, 12, seed)
        assert sum(found.values()) == 12
        for pair in wanted:
            exact = 12 * pair[1] / 55
            assert math.floor(exact) <= found.get(pair, 0) <= math.ceil(exact)
            total[pair] += found.get(pair, 0)
    # A number is one of two neighbours, so its deviation is 1/2 at most: that of the mean over 400 is 0.025.
    for pair, number in total.items():
        assert number / 400 == pytest.approx(12 * pair[1] / 55, abs=4 * 0.025)


def test_the_busiest_link_has_the_load() -> None:
    net = topology.parse("a,b,10 Mbit/s,1 ms\nb,c,30 Mbit/s,1 ms", source="line")
    # Demands 1 from a to c and 2 from b to c, three flows: 1 on a-b of 10, 3 on b-c of 30. Both directions of data
    # are offered 0.8 of the capacity: a flow stands for 8 Mbit/s.
    case = topology.build(net, {(0, 2): 1.0, (1, 2): 2.0}, flows=3, udp=0.0, load=0.8)
    assert case.flow_bit_s == pytest.approx(8e6)
    assert {way: case.utilisation(way) for way in case.offered} == pytest.approx(
        {(0, 1): 0.8, (1, 0): 0.0, (1, 2): 0.8, (2, 1): 0.0}
    )
    # pfifo holds 100 ms in packets of 1500 B: 10 Mbit/s * 0.1 s / 12,000 bit = 83.3, and 250.
    assert [link["queue"] for link in case.document["links"]] == ["pfifo limit 84p", "pfifo limit 250p"]


def test_simulated_load_is_the_offered_one() -> None:
    net = topology.parse("a,b,10 Mbit/s,1 ms", source="line")
    case = topology.build(net, {(0, 1): 1.0}, flows=20, udp=1.0, load=0.5, duration_ns=40 * 10**9)
    task = {"scheme": None, "seed": 1, "replication": 0, "series": None}
    (report,) = core.run_many(case.document, [task], jobs=1)
    busy = {queue["name"]: queue["metrics"]["utilisation"] for queue in report["queues"]}
    # Poisson packets of 8224 bit, 608 a second for 36 s: 21,900, so the relative deviation is 1/sqrt(21,900) = 0.7 %.
    assert busy["a->b"] == pytest.approx(0.5, rel=0.03)


def test_transfers_make_up_the_load() -> None:
    net = topology.parse("a,b,10 Mbit/s,1 ms", source="line")
    case = topology.build(net, {(0, 1): 1.0}, flows=10, udp=0.0, load=0.9, tcp="transfers", duration_ns=10**10)
    (flows,) = case.document["flows"]
    assert flows["start"] == {"uniform": ["0 s", "8 s"]}
    # 9 Mbit/s for 8 s are 9 MB of frames, a tenth of them each: 900,000 B, of which 1448/1500 are payload.
    assert flows["traffic"] == {"kind": "transfer", "size": "868800 B"}


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"load": 0.0}, "--load is 0.0"),
        ({"flows": 0}, "--flows is 0; allowed: 1 to 100000"),
        ({"udp": 1.5}, "--udp is 1.5; allowed: a share from 0 to 1"),
        ({"tcp": "magic"}, "--tcp is 'magic'; allowed: bulk, transfers"),
    ],
)
def test_impossible_options(option: dict[str, float], says: str) -> None:
    net = topology.parse("a,b,10 Mbit/s,1 ms", source="line")
    with pytest.raises(SojournError) as refused:
        topology.build(net, {(0, 1): 1.0}, **option)  # type: ignore[arg-type]
    assert says in str(refused.value)


def test_a_placement_changes_the_output_queues_of_its_routers() -> None:
    net = topology.parse("a,b,10 Mbit/s,1 ms\nb,c,10 Mbit/s,1 ms", source="line")
    case = topology.build(net, {(0, 2): 1.0}, flows=2, base="pfifo limit 50p")
    document = case.placed([1], "codel")
    queues = {
        name: queue
        for link in document["links"]
        for name, queue in (
            (f"{link['from']}->{link['to']}", link["queue"]),
            (f"{link['to']}->{link['from']}", link["reverse_queue"]),
        )
    }
    plain = "pfifo limit 50p"
    assert queues == {"a->b": plain, "b->a": "codel", "b->c": "codel", "c->b": plain}
    assert "codel" not in json.dumps(case.document)


def test_an_exported_scenario_runs(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "net.csv"
    file.write_text("a, b, 5 Mbit/s, 5 ms\nb, c, 5 Mbit/s, 5 ms\n")
    done = command(
        "topology", "export", file, "--flows", 6, "--duration", "3 s", "--warm-up", "1 s", "--under-test", "b"
    )
    assert done.returncode == 0, done.stderr
    scenario = tmp_path / "net.toml"
    scenario.write_text(done.stdout)
    ran = command("compare", scenario, "--aqm", "pfifo", "--aqm", "codel", "--replicates", 1, "--json")
    assert ran.returncode == 0, ran.stderr
    shown = command("topology", "show", file, "--flows", 6, "--json")
    assert len(json.loads(shown.stdout)["links"]) == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "nowhere.graphml"], "there is no topology 'nowhere.graphml'"),
        (["show", "NET", "--capacity", "10"], "--capacity is '10'; allowed: a rate above 0"),
        (["show", "NET", "--demands", "none.csv"], "--demands is 'none.csv'; allowed: own, gravity, uniform"),
        (["show", "NET", "--routes", "none.csv"], "cannot read the routes 'none.csv'"),
        (["export", "NET", "--under-test", "q"], "there is no router 'q'; allowed: a, b"),
        (["export", "NET", "--warm-up", "20 s"], "warm_up"),
        (["export", "NET", "--base", "magic"], "magic"),
        (["export", "NET", "--scale", "0"], "--scale is 0.0; allowed: a number above 0"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    command: Command, tmp_path: Path, arguments: list[str], says: str
) -> None:
    file = tmp_path / "net.csv"
    file.write_text("a, b\n")
    done = command("topology", *(str(file) if word == "NET" else word for word in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sojourn: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
