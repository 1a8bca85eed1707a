"""The first numbers that a reader sees: the table in README, and why FQ-CoDel has the longer 99th percentile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sojourn as sj

ROOT = Path(__file__).resolve().parents[2]


def delays(flows: int, rate_mbit_s: float, *schemes: str) -> dict[str, tuple[float, float]]:
    """Mean and 99th percentile of the waiting time, ms, by scheme."""
    net = sj.dumbbell(
        flows=flows, rate=sj.mbit_s(rate_mbit_s), base_rtt=sj.ms(40), duration=sj.s(60), warm_up=sj.s(12)
    )
    runs = sj.compare(net, list(schemes), replicates=2, seed=1).runs.groupby("scheme")
    found = runs[["sojourn_ms_mean", "sojourn_ms_p99"]].mean()
    return {str(name): (float(row.iloc[0]), float(row.iloc[1])) for name, row in found.iterrows()}


def test_a_queue_for_each_flow_makes_the_slowest_packets_slower() -> None:
    four = delays(4, 20, "codel", "fq_codel flows 1", "fq_codel")
    assert four["codel"] == four["fq_codel flows 1"]
    assert four["fq_codel"][0] < 0.7 * four["codel"][0]
    assert four["fq_codel"][1] > 1.3 * four["codel"][1]
    twenty = delays(20, 20, "fq_codel", "fq_codel flows 65536", "fq_codel interval 20ms")
    assert twenty["fq_codel"] == twenty["fq_codel flows 65536"]
    # Nearly a link of a twentieth of the rate for each flow; a shorter interval drops earlier.
    assert delays(1, 1, "codel")["codel"] == pytest.approx(twenty["fq_codel"], rel=0.08)
    assert twenty["fq_codel interval 20ms"][1] < 0.8 * twenty["fq_codel"][1]


def test_the_table_of_the_readme_is_what_its_command_prints() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip().startswith("sojourn compare dumbbell"))
    printed = lines[next(number for number, line in enumerate(lines) if "─" in line and number > first) + 1 :][:3]
    rows = [re.split(r"\s{2,}", line.strip()) for line in printed]
    net = sj.load(ROOT / "scenarios" / "dumbbell.toml")
    table = sj.compare(net, [row[0] for row in rows], replicates=10).summary().set_index(["scheme", "metric"])
    columns = [("sojourn_ms_mean", 1.0), ("sojourn_ms_p99", 1.0), ("goodput_bit_s", 1e-6), ("loss_ratio", 100.0)]
    for scheme, *cells in rows:
        for (metric, scale), cell in zip(columns, cells, strict=True):
            mean, half = (float(part) for part in cell.split(" ± "))
            row = table.loc[(scheme, metric)]
            # Half a unit of the last digit that is shown.
            digit = 0.51 * 10.0 ** -len(cell.split(" ± ")[0].partition(".")[2])
            assert mean == pytest.approx(row["mean"] * scale, abs=digit), (scheme, metric)
            assert half == pytest.approx((row["high"] - row["low"]) / 2 * scale, abs=digit), (scheme, metric)
