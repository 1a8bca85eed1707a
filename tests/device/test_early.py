"""No frame leaves a delay line before its time, by the kernel's dates at both ends; `.ci/weekly early` sends 10^6."""

from __future__ import annotations

import early
import pytest


@pytest.mark.parametrize("back_end", ["af_xdp", "af_packet"])
def test_no_frame_arrives_before_its_time(back_end: str) -> None:
    found = early.measure(back_end, 2_000, rate=5_000, name="sojourn-test")
    # 5000 packets find room in each queue, so that all but those which the kernel had no memory for arrive.
    assert len(found.beyond_ns) > 1_500
    assert found.early == 0, found.text()
    # What was late or dated late is told for each frame that passed, by both ends, which are in order.
    for way in found.directions:
        least, most, dated = (way[name] for name in ("lateness", "lateness_most", "dated_late"))
        assert least["packets"] == most["packets"] >= 750
        assert 0 <= least["mean_s"] <= most["mean_s"]
        assert dated["packets"] >= least["packets"]
