"""Applications from Python: mixes, own sources, tables, and one clear error for each bad input."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn import SojournError
from sojourn.results import groups
from sojourn.view.report import words


def line(seconds: float = 12.0) -> sj.Network:
    """Return an access line of 20 Mbit/s down."""
    return sj.access(
        down=sj.mbit_s(20), up=sj.mbit_s(5), rtt=sj.ms(40), duration=sj.s(seconds), warm_up=sj.s(seconds / 4)
    )


@pytest.fixture(scope="module")
def mix() -> sj.Results:
    """Return web, video, a call, a game and two downloads under two schemes."""
    net = line().add(sj.web(), sj.video(), sj.voip(), sj.gaming(), sj.bulk(2))
    return sj.compare(net, ["pfifo limit 1000p", "fq_codel"], replicates=2, seed=1, series=None, progress=False)


def test_a_mix_is_a_line() -> None:
    net = line().add(sj.web(), sj.video(), sj.voip(), sj.web(2, objects=10), sj.bulk(5)).canonical()
    found = [
        (flow["name"], flow["count"], flow["transport"]["kind"], flow["from"], flow["to"]) for flow in net["flows"]
    ]
    assert found == [
        ("web", 1, "tcp", "server", "client"),
        ("video", 1, "tcp", "server", "client"),
        ("voip", 1, "udp", "server", "client"),
        ("web2", 2, "tcp", "server", "client"),
        ("bulk", 5, "tcp", "server", "client"),
    ]
    upwards = line().add(sj.voip(), from_="client", to="server").to_dict()["flows"][0]
    assert (upwards["from"], upwards["to"]) == ("client", "server")
    # Of a network with flows, the ends of the first.
    assert sj.dumbbell(flows=2).add(sj.gaming()).to_dict()["flows"][1]["from"] == "sender"


def test_users_of_a_page_have_connections_of_their_own() -> None:
    results = sj.run(line(4).add(sj.web(2, connections=3)), seed=1, series=None, progress=False)
    assert list(results.flows["flow"]) == [f"web[{k}]" for k in range(6)]
    assert (results.flows["goodput_bit_s"] > 0).all()


def test_application_metrics_are_in_every_table(mix: sj.Results) -> None:
    by_group = mix.summary(by="group")
    found = set(zip(by_group["group"], by_group["metric"], strict=True))
    for group, metric in (
        ("web", "page_load_s_mean"),
        ("video", "video_rebuffer_ratio"),
        ("voip", "voip_mos"),
        ("gaming", "delay_above_50_ms_ratio"),
    ):
        assert (group, metric) in found
        assert np.isfinite(mix.estimate("fq_codel", metric, group).mean)
    # 1000 packets of 12 kbit at 20 Mbit/s are up to 0.6 s: pages take longer, the call sounds worse.
    assert mix.difference("fq_codel", "page_load_s_mean", "pfifo limit 1000p", "web").mean < -0.5
    assert mix.difference("fq_codel", "voip_mos", "pfifo limit 1000p", "voip").mean > 0.3
    assert mix.estimate("pfifo limit 1000p", "delay_above_100_ms_ratio", "gaming").mean > 0.9
    shown = [(group.name, group.metric.name) for group in groups.of(mix)]
    assert ("voip", "voip_mos") in shown
    assert "mean page load time of “web”" in groups.verdict(mix)


def test_the_summary_has_a_row_for_each_metric(mix: sj.Results) -> None:
    summary = sj.ApplicationSummary(mix)
    text = str(summary).splitlines()
    assert text[0].split("  ")[-1].strip() == "fq_codel"
    assert len(text) == 1 + len(summary.rows)
    mos = next(row for row in text if "MOS" in row)
    assert "±" in mos
    summary.plot()
    flow = {"name": "x", "from_": "server", "to": "client", "transport": sj.udp()}
    plain = line(4).flow(**flow, traffic=sj.cbr(rate="1 Mbit/s", packet_size="500 B"))
    results = sj.run(plain, series=None, progress=False)
    with pytest.raises(SojournError, match="have no application; allowed: traffic of web"):
        sj.ApplicationSummary(results)


def test_phases_have_application_metrics_of_their_own() -> None:
    # 20 Mbit/s and then 1 Mbit/s, at which 50 objects of 1052 B take 0.42 s besides the round trips. The phases
    # together have the pages of the run.
    net = line(24).add(sj.web(), sj.voip(), sj.gaming()).change(at=sj.s(12), rate=sj.mbit_s(1), phase="slow")
    results = sj.run(net, seed=1, series=None, progress=False)
    label = results.labels[0]

    def of(metric: str, group: str, phase: str | None = None) -> float:
        return float(results.values(label, metric, group, phase=phase)[0])

    assert of("page_load_s_mean", "web", "start") < 0.45 < of("page_load_s_mean", "web", "slow") < 2
    both = of("pages_completed", "web", "start") + of("pages_completed", "web", "slow")
    assert both == of("pages_completed", "web")
    assert of("voip_mos", "voip", "slow") <= of("voip_mos", "voip", "start") <= 4.41
    assert of("delay_above_100_ms_ratio", "gaming", "start") == 0


def test_sources_become_part_of_the_scenario(tmp_path: Path) -> None:
    # 1200 B at 0, then 160 B each 20 ms up to 980 ms: 50 packets.
    array = np.array([(0.0, 1200), *((k / 50, 160) for k in range(1, 50))])
    of_array = sj.source(array)
    assert of_array["packets"] == "0:1200 20000000:160x49"
    table = tmp_path / "packets.csv"
    table.write_text("time_s,bytes\n" + "".join(f"{at},{int(size)}\n" for at, size in array))
    assert sj.source(table) == of_array
    endless = sj.source(((k / 50, 160) for k in count()), 2, until=sj.s(1), period=sj.s(1))
    results = sj.run(line(4).add(endless), series=None, progress=False)
    assert endless.count == 2
    # Two flows, 50 packets a second, for the 3 s after the warm-up; a packet more or less at the ends.
    assert results.groups["sent_packets"][0] == pytest.approx(300, abs=2)
    # A scenario with the file is the same one.
    written = line(4).flow(
        name="x", from_="server", to="client", traffic=sj.replay(file=str(table)), transport=sj.udp()
    )
    flow = written.canonical()["flows"][0]
    assert flow["traffic"] == {"kind": "replay", "packets": of_array["packets"]}


def test_captures_are_replayed(tmp_path: Path) -> None:
    # IPv4 packets of 200 B, 20 ms apart; with UDP's header 172 B of payload are such packets again. And one of ARP.
    frames = [(k * 20_000, b"\0" * 12 + b"\x08\x00\x45\x00" + struct.pack(">H", 200) + b"\0" * 196) for k in range(5)]
    frames.append((100_000, b"\xff" * 12 + b"\x08\x06" + b"\0" * 46))
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = [struct.pack("<IIII", 1, at, len(frame), len(frame)) + frame for at, frame in frames]
    file = tmp_path / "call.pcap"
    file.write_bytes(head + b"".join(records))
    assert sj.source(file)["packets"] == "0:172 20000000:172x4"
    assert sj.source(file, until=sj.ms(50))["packets"] == "0:172 20000000:172x2"
    # The account goes with the packets, into reports and warnings. Over UDP, without being asked for.
    account = {"frames": 6, "taken": 5, "ip_bytes": 1000, "skipped": {"ether_type_0x0806": 1}}
    net = line(1).flow(name="x", from_="server", to="client", traffic=sj.replay(file=str(file)))
    flow = net.canonical()["flows"][0]
    assert flow["traffic"]["capture"] == {"file": "call.pcap", "account": account}
    assert flow["transport"] == {"kind": "udp", "header": "28 B"}
    results = sj.run(net, series=None, progress=False)
    document = results.to_document()
    assert document["scenario"]["flows"][0]["traffic"]["capture"]["account"] == account
    told = "flow `x`: call.pcap: of 6 frames these were skipped: 1 (ether_type_0x0806 1)."
    assert told in document["warnings"]
    shown = " ".join(map(str, words.elements(results.scenario)))
    assert "of call.pcap (frames: 6, IP packets taken: 5, 1,000 B, skipped: 1 (ether_type_0x0806 1))" in shown
    (tmp_path / "bad.pcap").write_bytes(b"no")
    with pytest.raises(SojournError, match="is neither pcap nor pcapng"):
        sj.source(tmp_path / "bad.pcap")


def test_sizes_come_from_a_file(tmp_path: Path) -> None:
    table = tmp_path / "sizes.csv"
    table.write_text("bytes,probability\n1000,0.75\n200000,0.25\n")
    net = line().flow(name="api", from_="server", to="client", traffic=sj.request_response(file=str(table)))
    assert net.canonical()["flows"][0]["traffic"]["response_sizes"] == {"1000 B": 0.75, "200000 B": 0.25}
    results = sj.run(net, series=None, progress=False)
    assert results.groups["response_s_p50"][0] < 0.05 < results.groups["response_s_p99"][0]
    table.write_text("bytes,probability\n1000,0.75\n")
    with pytest.raises(
        SojournError, match=r"response_sizes`: has probabilities with the sum 0\.7500; allowed: a sum of 1"
    ):
        net.check()
    table.write_text("bytes,probability\n1000,0.75\nx\n")
    with pytest.raises(SojournError, match=r"traffic\.file`: .*sizes\.csv: line 3: has no comma"):
        net.check()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: sj.source([]), "there is no packet; allowed: one or more"),
        (
            lambda: sj.source([(1.0, 10), (0.5, 10)]),
            "packet 1: the time falls to 0.5 s; allowed: times that do not fall",
        ),
        (lambda: sj.source([(-1.0, 10)]), "packet 0: the time is -1 s; allowed: 0 s and later"),
        (lambda: sj.source([(0.0, 0)]), "packet 0: the size is 0 B; allowed: a whole number of bytes from 1"),
        (lambda: sj.source([(0.0, 1.5)]), "packet 0: the size is 1.5 B"),
        (lambda: sj.source([5.0]), "packet 0 is 5.0; allowed: a time in seconds and a size in bytes"),
        (lambda: sj.source("none.csv"), "there is no file 'none.csv'"),
        (lambda: sj.bulk(0), "the number of bulk flows is 0; allowed: a whole number from 1"),
        (lambda: sj.Network(name="x", duration=sj.s(1)).add(sj.web()), "'x' has neither flows nor the nodes"),
        (lambda: line().add(sj.web(objects=0)).check(), "traffic.objects`: is 0; allowed: 1 to 10000"),
        (lambda: line().add(sj.voip(codec="g729")).check(), "g729"),
        (
            lambda: line().add(sj.video(rates=["2 Mbit/s", "1 Mbit/s"])).check(),
            r"rates\[1\]`: is 1 Mbit/s, not above",
        ),
    ],
)
def test_bad_traffic_has_one_clear_error(make: Callable[[], object], why: str) -> None:
    with pytest.raises(SojournError, match=why):
        make()


def test_a_folder_changes_no_number_of_an_application(tmp_path: Path) -> None:
    # With phases, and a call that begins after the end, of which nothing is heard.
    net = line(6).add(sj.web(), sj.gaming(), sj.bulk(1)).change(at=sj.s(4), rate=sj.mbit_s(5), phase="slow")
    net = net.flow(name="late", from_="server", to="client", traffic=sj.voip(), transport=sj.udp(), start=sj.s(7))
    plain = sj.compare(net, ["codel"], replicates=2, seed=3, series=None, progress=False)
    written = sj.compare(net, ["codel"], replicates=2, seed=3, series=None, progress=False, out=tmp_path / "out")
    documents = [results.to_document() for results in (plain, written, sj.Results.read(tmp_path / "out"))]
    # A store has a column for each metric, also in phases, which do not have all of the run's.
    phases = [[run.pop("phases") for run in document["runs"]] for document in documents]
    texts = {json.dumps(document) for document in documents}
    assert len(texts) == 1
    measured = [
        [{k: v for k, v in phase["metrics"].items() if v is not None} for run in one for phase in run]
        for one in phases
    ]
    assert measured[0] == measured[1] == measured[2]
    assert any("page_load_s_mean" in metrics for metrics in measured[0])
