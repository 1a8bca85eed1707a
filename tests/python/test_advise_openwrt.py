"""OpenWrt: what is printed, what its scripts install, and what is simulated."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

from sojourn.model.scheme import Scheme
from sojourn.studies.advise import Line, answer, overheads
from sojourn.studies.advise.household import network
from sojourn.studies.advise.line import Shaper
from sojourn.tc import values
from sojourn.tc.kinds import KINDS

RECORDED = Path(__file__).parents[2] / "crosscheck/recorded/openwrt_sqm.jsonl"


def settings(line: Line, shaper: Shaper) -> dict[str, str]:
    """The settings of SQM that are printed."""
    found = [one.removeprefix("uci set sqm.@queue[0].") for one in answer.commands(line, "openwrt", shaper)]
    return {name: value.strip("'") for name, _, value in (one.partition("=") for one in found if "='" in one)}


def test_openwrt_is_printed_the_script_with_one_class_and_the_overhead_of_its_device() -> None:
    # simple.qos has three classes, and the class of ICMP is another than that of the flows.
    vdsl, cable = Line(50, 10, "vdsl"), Line(50, 10, "docsis")
    found = settings(vdsl, Shaper("fq_codel", 45.0, 9.0))
    # PTM sends 65 B for 64: 9 Mbit/s times 64/65 are 8862 kbit/s.
    assert (found["script"], found["upload"]) == ("simplest.qos", "8862")
    # On the ppp device a packet is IP alone: the 30 B from the IP header on. `stab` adds to what the device has.
    assert (found["interface"], found["overhead"]) == ("pppoe-wan", "30")
    said = " ".join(answer.commands(vdsl, "openwrt", Shaper("fq_codel", 45.0, 9.0)))
    # Below it, a frame has Ethernet's 14 B and PPPoE's 8 B already; behind a modem that speaks PPPoE, the 14 B.
    assert "on the Ethernet device below, the overhead is 8," in said
    assert "on the Ethernet device of a router whose modem speaks PPPoE, it is 16" in said
    # CAKE counts from the network header on, PPPoE's on the device below: 30, 30 - 8 = 22, 30.
    found = settings(vdsl, Shaper("cake besteffort", 45.0, 9.0))
    assert (found["script"], found["overhead"], found["upload"]) == ("piece_of_cake.qos", "30", "9000")
    assert (found["iqdisc_opts"], found["eqdisc_opts"]) == ("ptm ingress", "ptm")
    said = " ".join(answer.commands(vdsl, "openwrt", Shaper("cake besteffort", 45.0, 9.0)))
    assert "the overhead is 22," in said
    # tc-cake(8): docsis is 18 B and at least 64.
    found = settings(cable, Shaper("cake besteffort", 45.0, 9.0))
    assert (found["interface"], found["overhead"], found["tcMPU"]) == ("wan", "18", "64")
    assert settings(cable, Shaper("fq_codel", 45.0, 9.0))["overhead"] == "4"


def parameters(text: str) -> dict[str, str]:
    return {parameter.name: parameter.value for parameter in Scheme(text).parameters()}


def alike(ours: str, linux: str) -> bool:
    """Whether two values are the same; tc shows three digits of a time."""
    mine, shown = values.nanoseconds(ours), values.nanoseconds(linux)
    return ours == linux or (mine is not None and shown is not None and math.isclose(mine, shown, rel_tol=5e-3))


def test_sqm_installs_what_is_simulated() -> None:
    # What crosscheck/linux/sqm.py recorded: tc's answers after the commands, first those of the upload's device.
    about, *rows = (json.loads(row) for row in RECORDED.read_text(encoding="utf-8").splitlines())
    assert len(rows) == 8
    for row in rows:
        line, shaper = Line(50, 1, row["technology"]), Shaper(row["scheme"], *about["rates_mbit_s"])
        links = network(line, shaper, "openwrt").to_dict()["links"]
        (link,) = [link for link in links if link["name"] == "shaper"]
        second = [k for k, shown in enumerate(row["shown"]) if " root refcnt" in shown][1]
        for way, shown in (("up", row["shown"][:second]), ("down", row["shown"][second:])):
            kind = Scheme(row["scheme"]).algorithm
            (qdisc,) = [one for one in shown if one.startswith(f"qdisc {kind} ")]
            ours, linux = parameters(link["queue"][way]), parameters(qdisc)
            # The scripts wash the codepoints of the download, which nothing that is simulated reads.
            known = {option.name for option in KINDS[kind].options} - {"wash"}
            differing = {name: (ours[name], linux[name]) for name in known if not alike(ours[name], linux[name])}
            assert not differing, (row["technology"], row["scheme"], way)
            if kind != "cake":
                htb(line, link, way, shown)


def htb(line: Line, link: dict[str, Any], way: str, shown: list[str]) -> None:
    (words,) = [one.split() for one in shown if one.startswith("class htb 1:10 ")]
    (stab,) = [one for one in shown if one.startswith("linklayer")]
    # PTM's codewords are in the rate: stab knows none.
    rate = values.rate(link["rate"][way]) * overheads.STAB[line.framing][1]
    assert math.isclose(values.rate(words[words.index("rate") + 1]), rate, rel_tol=1e-3)
    # The kernel holds the bucket as a time in ticks of 64 ns.
    burst = float(words[words.index("burst") + 1].partition("b")[0])
    assert math.isclose(burst, int(link["burst"][way].split()[0]), rel_tol=5e-3)
    device: overheads.Device = "ppp" if line.framing in overheads.PPPOE else "ethernet"
    options = dict(pairwise(overheads.STAB[line.framing][0].split()))
    assert stab.startswith(
        f"linklayer {options['linklayer']} overhead {overheads.of_stab(line.framing, device)}"
        + (f" mpu {options['mpu']}" if "mpu" in options else "")
    )
