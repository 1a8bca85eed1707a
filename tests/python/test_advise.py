"""Advice for an access line: the network, the search, the commands and the answer."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.base.units import bit_s
from sojourn.cli import main
from sojourn.model import linux_tcp
from sojourn.studies.advise import Line, advise, answer, search
from sojourn.studies.advise.household import network
from sojourn.studies.advise.line import Shaper
from sojourn.studies.advise.search import Advice, Outcome

SLOW = {"rtt_ms": (20.0, 20.0), "needs": ("calls",)}


def outcome(shaper: Shaper | None, latency: float, down: float = 8.0, up: float = 1.0) -> Outcome:
    values = {"latency": latency, "latency_mean": latency / 2, "down": down, "up": up, "mos": 4.0}
    return Outcome(shaper, {name: np.array([value, value]) for name, value in values.items()})


def test_the_providers_queue_is_as_long_as_it_is_said_to_be() -> None:
    # 200 ms at 50 Mbit/s are 1,250,000 B, 833 packets of 1500 B.
    assert Line(50, 10).buffer_packets(50) == 833
    assert Line(50, 10, isp_buffer_ms=100).buffer_packets(10) == 83
    links = {link["name"]: link for link in network(Line(50, 10), None).to_dict()["links"]}
    assert links["line"]["queue"]["down"] == "pfifo limit 833p"
    # Without a shaper nothing but the line is slow.
    assert links["shaper"]["rate"]["down"] == "100 Gbit/s"


def test_the_base_rtt_is_that_of_the_range() -> None:
    line = Line(50, 10, rtt_ms=(15.0, 120.0))
    links = {link["name"]: link for link in network(line, None).to_dict()["links"]}
    for name, rtt in (("near", 15.0), ("far", 120.0)):
        one_way = sum(float(links[part]["delay"].split()[0]) for part in (name, "line", "lan"))
        assert 2 * one_way == pytest.approx(rtt)


def test_flows_are_those_of_linux_hosts() -> None:
    document = network(Line(50, 10, "vdsl"), None).to_dict()
    found = [flow["transport"] for flow in document["flows"] if flow["transport"]["kind"] == "tcp"]
    # Downloads and uploads of two servers, pages and video.
    assert len(found) == 6
    for one in found:
        assert {key: one[key] for key in linux_tcp.KEYS} == linux_tcp.KEYS
        # PPPoE: 1492 B less 40 B of headers and 12 B of timestamps.
        assert one["mss"] == "1440 B"


def test_hosts_lose_nothing_in_their_own_queues() -> None:
    line = Line(1000, 500, "fibre", rtt_ms=(15.0, 120.0), needs=("bulk",))
    document = network(line, Shaper("cake besteffort", 990, 495)).to_dict()
    scenario = core.load(json.dumps(document), source="fibre", sets=("warm_up=0 s", "duration=2 s"))
    (run,) = core.run_many(scenario, [{"scheme": None, "seed": 1, "replication": 0, "series": None}], jobs=1)
    # A slow start sends bursts of more than 1000 packets, the limit of a queue by default.
    lost = {queue["name"]: queue["metrics"]["drops_packets"] for queue in run["queues"]}
    assert [lost[f"server_{name}->operator"] for name in ("near", "far")] == [0, 0]
    assert lost["client->home"] == 0


def test_the_shaper_stands_where_it_is_said_to_stand() -> None:
    shaper = Shaper("codel", 45.0, 9.0)
    links = {link["name"]: link for link in network(Line(50, 10, "vdsl"), shaper).to_dict()["links"]}
    assert (links["shaper"]["from"], links["shaper"]["to"]) == ("gateway", "home")
    assert links["shaper"]["rate"] == {"down": str(bit_s(45e6)), "up": str(bit_s(9e6))}
    assert links["shaper"]["framing"] == links["line"]["framing"] == "pppoe-ptm"


def test_the_shaper_is_that_of_the_platform() -> None:
    def links(shaper: Shaper, platform: str) -> dict[str, Any]:
        documents = network(Line(50, 10, "vdsl"), shaper, platform).to_dict()["links"]
        return next(link for link in documents if link["name"] == "shaper")

    # htb lets a packet leave at once; tc's bucket for 45 Mbit/s is 1600 B. sojournd sends as a cable does.
    htb = links(Shaper("codel", 45.0, 9.0), "linux")
    assert htb["burst"] == {"down": "1600 B", "up": "1600 B"}
    assert "burst" not in links(Shaper("codel", 45.0, 9.0), "sojournd")
    # CAKE shapes itself, on a link that is not the bottleneck, and counts the line's framing.
    cake = links(Shaper("cake besteffort", 45.0, 9.0), "openwrt")
    assert cake["rate"] == {"down": "100 Gbit/s", "up": "100 Gbit/s"}
    assert cake["queue"]["up"] == "cake besteffort bandwidth 9000000bit pppoe-ptm"
    assert cake["queue"]["down"].endswith("bandwidth 45000000bit pppoe-ptm ingress")
    assert "framing" not in cake


def test_a_packet_waits_once_for_a_long_one_at_htb_and_twice_at_a_cable() -> None:
    # 1500 B take 12 ms at 1 Mbit/s. At htb the long packet is in the modem alone, so a ping waits at most 12 ms more
    # than for the modem; a cable's shaper sends it for 12 ms, too, before the modem does.
    line = Line(100, 1, rtt_ms=(20.0, 20.0), needs=("bulk",))
    shaper = Shaper("fq_codel", 95.0, 0.99)
    mean = {
        platform: search._measured(line, platform, shaper, 3, None).mean("latency_mean")
        for platform in ("linux", "sojournd")
    }
    assert 6 < mean["sojournd"] - mean["linux"] < 18


def test_an_office_has_more_flows_and_hosts() -> None:
    document = network(Line(100, 20, site="office", needs=("calls", "web")), None).to_dict()
    nodes = {node["name"]: node.get("count", 1) for node in document["nodes"]}
    # Eight downloads and four uploads, half of them with the nearest server; calls have hosts for both directions.
    assert nodes["download_near_hosts"] == 4
    assert nodes["upload_far_hosts"] == 2
    assert nodes["callers"] == 5
    assert nodes["web_hosts"] == 15
    assert "game_down" not in {flow["name"] for flow in document["flows"]}
    core.load(json.dumps(document), source="office")
    with pytest.raises(SojournError, match="did you mean `office`"):
        Line(100, 20, site="offices")


def test_goodput_decides_among_settings_with_a_low_latency() -> None:
    line = Line(10, 2)
    low, near, far = (
        outcome(Shaper("a", 8, 1), 6.0, 7.0),
        outcome(Shaper("b", 9, 1), 10.9),
        outcome(Shaper("c", 9, 1), 11.1, 9.0),
    )
    # 6 ms and 5 ms more are 11 ms: the third is too slow, the second has more goodput than the first.
    assert search._preferred(line, [low, near, far]) is near


def test_advice_reduces_the_latency_and_says_what_it_costs() -> None:
    advice = advise(Line(5, 1, **SLOW), "openwrt")
    assert advice.best is not None
    assert advice.best.shaper is not None
    assert advice.best.shaper.scheme in search.PLATFORMS["openwrt"]
    # The provider's queue of 200 ms is full today.
    assert advice.today.mean("latency") > 150
    assert advice.best.mean("latency") < 60
    assert advice.best.shaper.down_mbit_s < 5
    again = advise(Line(5, 1, **SLOW), "openwrt")
    assert answer.data(again) == answer.data(advice)


@pytest.mark.long
def test_it_says_when_nothing_is_to_be_gained() -> None:
    # The provider's queue is no longer than that of a good scheme.
    advice = advise(Line(20, 20, isp_buffer_ms=4, **SLOW), "openwrt")
    assert advice.best is None
    assert answer.sentences(advice)[0].startswith("Nothing is to be gained")
    assert answer.data(advice)["commands"] == []


def test_commands_have_rates_and_overheads_of_the_line() -> None:
    line, shaper = Line(50, 10, "vdsl"), Shaper("fq_codel", 45.0, 9.0)
    linux = answer.commands(line, "linux", shaper)
    # PTM sends 65 B for 64: 9 Mbit/s times 64/65 are 8,861,538 bit/s.
    # PPPoE over PTM adds 30 B from the IP header on. `stab` adds to a frame that has 14 B of them already.
    assert any("stab overhead 16 linklayer ethernet" in one for one in linux)
    assert any("htb rate 8862000bit" in one for one in linux)
    cake = answer.commands(line, "linux", Shaper("cake besteffort", 45.0, 9.0))
    (down,) = [one for one in cake if "dev ifb0 root cake" in one]
    assert all(words in down for words in ("bandwidth 45000000bit", "ptm overhead 30", " ingress "))
    assert any("on a ppp interface of the gateway's own, the overhead is 30" in one for one in linux)
    config = tomllib.loads("\n".join(answer.commands(line, "sojournd", shaper)))
    assert config["a_to_b"] == {"scheme": "fq_codel", "rate": "45000 kbit/s", "framing": "pppoe-ptm"}


def test_a_page_that_was_never_loaded_is_said() -> None:
    # A page takes 4 s and 6 s in two of three replications, 5 s on average, and is never complete in the third.
    line = Line(16, 1, "adsl")
    fixed = {"latency": 200.0, "latency_mean": 150.0, "down": 10.0, "up": 0.2}
    today = Outcome(
        None, {name: np.full(3, value) for name, value in fixed.items()} | {"page": np.array([np.nan, 4, 6])}
    )
    best = Outcome(Shaper("cake", 15, 0.9), {**today.values, "latency": np.full(3, 20.0), "page": np.full(3, 1.0)})
    advice = Advice(line, "linux", today, best, None, (best,))
    (page,) = [row for row in answer.rows(advice) if row[0].startswith("web")]
    assert page[1].startswith("5")
    assert page[1].endswith("(none in 1 of 3 runs)")
    assert page[2] == "1 ± 0"
    # JSON has no word for NaN.
    assert json.loads(json.dumps(answer.data(advice), allow_nan=False))["today"]["values"]["page"] == [None, 4.0, 6.0]
    never = Outcome(None, {**today.values, "page": np.full(3, np.nan)})
    (page,) = [row for row in answer.rows(replace(advice, today=never)) if row[0].startswith("web")]
    assert page[1] == "none in 3 runs"


def test_the_download_is_that_of_all_transfers() -> None:
    names = (("download_near", 3e6), ("download_far", 2e6), ("video", 1e6), ("web", 0.5e6), ("upload_near", 0.3e6))
    frame = pytest.importorskip("pandas").DataFrame
    rows = [{"group": name, "goodput_bit_s": value} for name, value in names]
    rows += [{"group": "ping", "rtt_ms_p99": 50.0, "rtt_ms_mean": 40.0}]
    results: Any = SimpleNamespace(groups=frame(rows).assign(replication=0))
    found = search._values(Line(16, 1, rtt_ms=(20.0, 20.0)), results)
    assert found["down"] == pytest.approx([6.5])
    assert found["up"] == pytest.approx([0.3])
    # Pages and video were asked for, and have no values.
    assert np.isnan(found["page"])
    assert np.isnan(found["rebuffer"])
    assert "mos" not in found


def test_the_second_choice_is_set_beside_the_first() -> None:
    def of(scheme: str, *latencies: float) -> Outcome:
        one = outcome(Shaper(scheme, 9.0, 1.0), 0.0)
        return Outcome(one.shaper, {**one.values, "latency": np.array(latencies)})

    best, second = of("codel", 10.0, 12.0, 11.0), of("pie", 15.0, 17.1, 15.9)
    advice = Advice(Line(10, 1), "linux", outcome(None, 200.0), best, second, (best, second))
    # Pairs differ by 5, 5.1 and 4.9 ms: 5 ± 4.303 * 0.1 / sqrt(3) = 0.25 ms. Half buckets of 11 and 16 ms: 0.11.
    assert advice.certainty == (
        "With pie at 9/1 Mbit/s, the second choice, the latency is 5.0 ± 0.4 ms higher; the difference is significant"
        " at the 5 % level. The goodput is 8/1 Mbit/s there"
    )
    advice = replace(advice, second=of("pie", 9.0, 13.0, 10.5))
    assert "0.2 ± 2.7 ms lower; the difference is not significant" in advice.certainty


def test_tail_drop_at_the_same_rates_is_set_beside_the_recommendation() -> None:
    line = Line(10, 1, **SLOW)

    def of(scheme: str, latency: float, down: float) -> Outcome:
        one = outcome(Shaper(scheme, 9.0, 1.0), latency, down)
        noise = np.array([0.01, -0.02, 0.0, 0.015, -0.005])
        values = {name: own[0] * (1 + k * noise) for k, (name, own) in enumerate(one.values.items(), 1)}
        return Outcome(one.shaper, {**values, "mos": np.full(5, np.nan)})

    front = {limit: of(f"pfifo limit {limit}p", 1.2 * limit, 9 * limit / (limit + 1)) for limit in search.SHORT}
    advice = Advice(line, "linux", outcome(None, 200.0), of("codel", 5.0, 8.9), None, ())
    assert "Tail drop" not in " ".join(answer.sentences(advice))
    # CoDel has the goodput of 80 packets with the latency of 4; MOS, which no run has, does not count.
    advice = replace(advice, standing=search._beside(line, advice.best, front))
    assert "at the same rates is not as good, whatever its limit" in " ".join(answer.sentences(advice))
    # Twice the latency of 32 packets, at the goodput of 12.
    worse = of("codel", 76.8, 8.3)
    advice = replace(advice, best=worse, standing=search._beside(line, worse, front))
    (sentence,) = [one for one in answer.sentences(advice) if "Tail drop" in one]
    assert "packets at the same rates is better (p = " in sentence
    assert answer.data(advice)["beside_tail_drop"]["place"] == "behind"


def test_rates_are_written_out() -> None:
    one = outcome(Shaper("codel", 9_900.0, 247.5), 5.0)
    advice = Advice(Line(10_000, 250), "linux", outcome(None, 200.0), one, None, (one,))
    assert answer.sentences(advice)[0] == "Use codel with a shaper of 9900 Mbit/s down and 247.5 Mbit/s up."


def test_every_platform_has_what_it_is_offered() -> None:
    for platform, schemes in search.PLATFORMS.items():
        for scheme in schemes:
            core.parse_aqm(scheme)
            assert answer.commands(Line(50, 10), platform, Shaper(scheme, 45.0, 9.0))


def test_a_varying_line_has_an_answer_for_its_least_rate() -> None:
    line = Line.following("lte", up_mbit_s=2.0, **SLOW)
    assert line.down_mbit_s == pytest.approx(2.94, rel=0.01)
    assert line.least_mbit_s is not None
    assert line.least_mbit_s < line.down_mbit_s
    one = outcome(Shaper("cake", 2.0, 1.5), 30.0)
    found = Advice(
        line, "linux", outcome(None, 300.0), one, None, (one,), outcome(Shaper("cake", 0.3, 1.5), 20.0, 0.2)
    )
    assert any("nine of ten seconds" in sentence for sentence in answer.sentences(found))


def test_bad_questions_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, why in (
        (["--up", "1 Mbit/s"], "give either --down or --trace"),
        (["--down", "5", "--up", "1 Mbit/s"], "--down='5'; allowed"),
        (["--down", "5 Mbit/s", "--up", "1 Mbit/s", "--technology", "docsi"], "did you mean `docsis`"),
        (["--down", "5 Mbit/s", "--up", "1 Mbit/s", "--on", "windows"], "platform"),
        (["--down", "5 Mbit/s", "--up", "1 Mbit/s", "--for", "call"], "need"),
        (["--down", "5 Mbit/s", "--up", "1 Mbit/s", "--rtt", "2ms"], "allowed: 8 to 2000"),
        (["--trace", "lta", "--up", "1 Mbit/s"], "lta"),
    ):
        assert main(["advise", *arguments]) == 2
        assert why in capsys.readouterr().err, arguments
    with pytest.raises(SojournError, match="isp_buffer_ms"):
        Line(5, 1, isp_buffer_ms=0)


def test_the_command_prints_data_and_writes_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "advice.html"
    command = [
        "advise",
        "--down",
        "5 Mbit/s",
        "--up",
        "1 Mbit/s",
        "--rtt",
        "20ms",
        "--for",
        "calls",
        "--on",
        "openwrt",
    ]
    assert main([*command, "--json", "--out", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommended"]["shaper"]["scheme"] in search.PLATFORMS["openwrt"]
    assert found["commands"][0].startswith("opkg")
    assert "To paste" in page.read_text(encoding="utf-8")
