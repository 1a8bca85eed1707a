"""The study of shapes: its function, its goal, and shares whose values are known."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from shared import script
from sojourn import theory

pytest.importorskip("SALib")
shapes = script("docs/shapes.py")


def test_the_function_of_the_protocol_has_that_of_red() -> None:
    # d1 is 0.016666 n - 1.506666 from 91 to 120, then a half: it begins at 90.4 and rises over 30 packets.
    own = theory.law(shapes.text_of(90.4, 30, 1 / 60), endless=False)
    red = theory.law("dropping_function function d1 limit 300p", endless=False)
    assert [own.at(n) for n in range(301)] == pytest.approx([red.at(n) for n in range(301)], abs=0.01)
    assert own.at(299) == pytest.approx(0.5)
    # 300 wait, and one is in service.
    assert own.at(301) == 1


def test_wide_functions_with_the_same_goal_have_a_multiple_of_the_queue_at_other_loads() -> None:
    assert shapes.goal_slope(0, 300) == pytest.approx(0.00025, rel=0.01)
    line, red = (shapes.PROTOCOL["beside"][name] for name in ("line", "d1"))
    assert shapes.predicted(line, 1.0)["queue"] == pytest.approx(50, abs=0.1)
    ratio = shapes.predicted(line, 1.1)["queue"] / shapes.predicted(red, 1.1)["queue"]
    assert ratio == pytest.approx(2.9, abs=0.1)
    # Without the end of the buffer the line loses 1 - 1/1.1 at n = 364, four times d1's mean.
    free = theory.queue(f"{line} limit 4000p count system", load=1.1).mean_packets
    assert free == pytest.approx(364, rel=0.01)


def test_shares_are_those_of_a_model_that_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    low, high = map(np.log, shapes.PROTOCOL["regions"]["wide"]["slope"])

    def evaluate(part: str, texts: list[str], level: float, seed: int) -> list[dict[str, float]]:
        found = []
        for text in texts:
            slope, _, location = map(
                float, re.findall(r"min\(1,([\d.e-]+)\*min\(([\d.]+),max\(0,n-([\d.]+)", text)[0]
            )
            # Both are even on 0 to 1: variances 9/12 and 1/12. The width does nothing.
            queue = 100 + 3 * location / 120 + (np.log(slope) - low) / (high - low)
            found.append(shapes.responses(queue, 0.01, 1.0))
        return found

    monkeypatch.setattr(shapes, "evaluate", evaluate)
    monkeypatch.setattr(shapes, "OUT", tmp_path)
    of = shapes.shares("theory", "wide", 1.0)
    for factor, share in (("location", 0.9), ("width", 0.0), ("slope", 0.1)):
        for found in (of["queue"].first[factor], of["queue"].total[factor]):
            assert found.mean == pytest.approx(share, abs=0.05)
            assert found.low is not None
            assert found.low <= found.mean
    # The loss is the same everywhere.
    assert of["loss"].is_negligible
    # Between 100 and 104, a range of less than 4 %, but more than 2 %.
    assert not of["queue"].is_negligible
