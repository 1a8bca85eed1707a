"""What Linux's tc shows, recorded in crosscheck/recorded/linux_tc.jsonl: reading it, and the statistics beside it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from sojourn import tc
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme
from sojourn.tc import values
from test_tc import SCHEMES, last, result

RECORD = Path(__file__).parents[2] / "crosscheck/recorded/linux_tc.jsonl"
ABOUT, *ROWS = (json.loads(row) for row in RECORD.read_text(encoding="utf-8").splitlines())
LINES = {row["line"]: row for row in ROWS}

BARE_TIME = "codel target 5000 interval 100000"
"""The only line that is refused for what it says."""
READ = [line for line in LINES if line != BARE_TIME]


def parameters(text: str) -> dict[str, str]:
    return {parameter.name: parameter.value for parameter in Scheme(text).parameters()}


def same(name: str, kind: str, ours: str, linux: str) -> bool:
    """Whether what Linux holds is the value that it was given, within the granularity in which Linux holds it."""
    if ours == linux:
        return True
    given, held = values.nanoseconds(ours), values.nanoseconds(linux)
    if given is not None and held is not None:
        # CoDel's times are in units of 1024 ns, cut to whole microseconds when shown; PIE's period is in jiffies of
        # 4 ms, rounded up.
        return 0 <= held - given < 4_000_000 if name == "tupdate" else -2048 < held - given <= 0
    if kind == "sfb" and name in {"increment", "decrement"}:
        # Probabilities of 16 bits.
        return math.isclose(float(ours), float(linux), rel_tol=0, abs_tol=2**-16)
    if name == "bandwidth":
        # Four digits are shown.
        return math.isclose(bit_s(ours), bit_s(linux), rel_tol=1e-3, abs_tol=0)
    # The kernel has room for a flow more than sfq has packets by default.
    return (kind, name, ours, linux) == ("sfq", "flows", "127", "128")


def bit_s(text: str) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)([a-zA-Z]+)/s", text).groups()  # type: ignore[union-attr]
    return float(number) * {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}[unit]


def test_the_record_says_where_it_is_from_and_has_every_kind_but_dualpi2() -> None:
    assert ABOUT["kernel"].startswith("linux-image-6.")
    # This kernel is older than dualpi2.
    assert {line.split()[0] for line in LINES} == {scheme.split()[0] for scheme in SCHEMES} - {"dualpi2"}


@pytest.mark.parametrize("scheme", [scheme for scheme in SCHEMES if not scheme.startswith("dualpi2")])
def test_linux_took_what_is_exported(scheme: str) -> None:
    assert last(scheme).partition(" root ")[2] in LINES


@pytest.mark.parametrize("line", READ)
def test_what_tc_shows_reads_back_as_what_was_installed(line: str) -> None:
    kind, row = line.partition(" ")[0], LINES[line]
    given = parameters(f"tc qdisc replace dev eth0 root {line}")
    shown, plain = parameters(row["detail"]), parameters(row["shown"])
    # tc computes RED's weight with avpkt, and then it is gone. Without -d the weight is not shown either, nor the
    # probability, nor sfq's flows.
    gone = {"avpkt"} if kind in {"red", "choke"} else set()
    hidden = {"red": {"avpkt", "w", "max_p"}, "choke": {"avpkt", "w", "max_p"}, "sfq": {"flows"}}.get(kind, set())
    differing = {
        name: (given[name], shown[name])
        for name in given.keys() - gone
        if not same(name, kind, given[name], shown[name])
    }
    assert not differing
    assert {name: plain[name] for name in plain.keys() - hidden} == {
        name: shown[name] for name in shown.keys() - hidden
    }


def test_only_a_bare_time_is_refused() -> None:
    with pytest.raises(SojournError, match=r'target: "5000" has no unit \(tc would read microseconds\)'):
        core.parse_aqm(BARE_TIME)
    # What tc shows of it has units.
    assert core.parse_aqm(LINES[BARE_TIME]["detail"]) == core.parse_aqm("codel")


COUNTED = {f"{kind}_{what}" for kind in ("prob", "forced") for what in ("mark", "mark_head", "drop")}
"""What sfq's RED has done, which tc prints among the options; nothing had been sent when Linux was asked."""
NOT_HERE = {"nat", "split_gso", "fwmark", "autorate"}
"""Options of cake that have no effect here: they are shown as they are by default."""


def alike(key: str, ours: Any, linux: Any) -> bool:
    if isinstance(ours, bool) or isinstance(linux, bool) or not isinstance(ours, int | float):
        return bool(ours == linux)
    if key == "tupdate":
        return 0 <= linux - ours < 4000
    if key in {"target", "interval", "ce_threshold"}:
        return -2 <= linux - ours <= 0
    return math.isclose(ours, linux, rel_tol=0, abs_tol=2**-16 if key in {"increment", "decrement"} else 0)


@pytest.mark.parametrize("line", READ)
def test_statistics_have_the_shape_that_linux_gives_them(line: str) -> None:
    row = LINES[line]
    (ours,) = tc.statistics(result(f"tc qdisc replace dev eth0 root {line}"))
    options, linux = ours["options"], row["options"]
    skipped = NOT_HERE if line.startswith("cake") else set()
    if " overhead " in line and "atm" not in line and "mpu" not in line:
        # Linux counts from the IP header on where an overhead is named, 0 too; here a packet has one size.
        skipped = skipped | {"raw", "atm"}
    assert options.keys() - skipped == linux.keys() - skipped
    differing = {
        key: (options[key], linux[key])
        for key in options.keys() - skipped - COUNTED
        if not alike(key, options[key], linux[key])
    }
    assert not differing
    # `dev` is not shown where one is asked for; `dropping` and `memory_used` only when there is something to say.
    extra = ours.keys() - {"kind", "handle", "root", "options", "dev", "dropping", "memory_used"}
    assert extra <= set(row["statistics"])
