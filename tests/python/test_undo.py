"""TCP on a path that reorders packets: reductions that were not needed are undone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sojourn.base import core
from sojourn.base.core import SojournError

# 1448 B of payload in 1500 B on 20 Mbit/s.
CAPACITY_MBIT_S = 20 * 1448 / 1500


def _run(jitter: str, **transport: Any) -> tuple[float, float]:
    """Goodput in Mbit/s and drops of one Reno flow behind a link whose packets overtake each other."""
    keys = {"congestion_control": "reno", "recovery": "rack", "ack_policy": "linux", **transport}
    document = {
        "name": "reordering",
        "duration": "30 s",
        "warm_up": "5 s",
        "nodes": [{"name": "a"}, {"name": "r"}, {"name": "b"}],
        "links": [
            {"name": "wild", "from": "a", "to": "r", "rate": "1 Gbit/s", "delay": "25 ms", "jitter": jitter},
            {"name": "last", "from": "r", "to": "b", "rate": "20 Mbit/s", "delay": "5 ms", "under_test": True},
        ],
        "flows": [
            {"name": "tcp", "from": "a", "to": "b", "transport": {"kind": "tcp", **keys}, "traffic": {"kind": "bulk"}}
        ],
    }
    scenario = core.load(json.dumps(document), source="reordering")
    scheme = core.parse_aqm("pfifo limit 200p")
    (report,) = core.run_many(scenario, [{"scheme": scheme, "seed": 1, "replication": 0}], jobs=1)
    return report["flows"][0]["metrics"]["goodput_bit_s"] / 1e6, report["metrics"]["drops_packets"]


def test_reordering_costs_nothing_where_reductions_are_undone() -> None:
    # The base RTT is 60 ms, and RACK waits a quarter of the smallest, at most 15 ms; delays differ by up to 20 ms.
    goodput, drops = _run("10 ms", undo=True)
    assert drops == 0
    assert goodput > 0.99 * CAPACITY_MBIT_S
    # Without, each segment that is later than 15 ms halves the window.
    assert _run("10 ms", undo=False)[0] < 0.1 * CAPACITY_MBIT_S


def test_dsack_alone_is_enough_and_without_it_and_timestamps_little_is_known() -> None:
    assert _run("10 ms", undo=True, timestamps=False)[0] > 0.99 * CAPACITY_MBIT_S
    assert _run("10 ms", undo=True, timestamps=False, ack_policy="rfc")[0] < 0.1 * CAPACITY_MBIT_S


def test_other_recoveries_cannot_undo() -> None:
    with pytest.raises(SojournError, match=r'undo`: is true, which needs recovery "rack"; allowed: false, or that'):
        _run("10 ms", undo=True, recovery="sack")
