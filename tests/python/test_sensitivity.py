"""Sensitivity indices: against functions whose indices are known, and on a small network."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from shared import Command
from sojourn.stats import Floats
from sojourn.studies import sensitivity

pytest.importorskip("SALib")

A, B = 7.0, 0.1


def ishigami(x: Floats) -> Floats:
    """Ishigami and Homma (1990): sin x1 + a sin^2 x2 + b x3^4 sin x1, all uniform from -pi to pi."""
    found: Floats = np.sin(x[:, 0]) + A * np.sin(x[:, 1]) ** 2 + B * x[:, 2] ** 4 * np.sin(x[:, 0])
    return found


def test_sobols_indices_of_the_ishigami_function() -> None:
    # E[x^4] = pi^4/5, E[x^8] = pi^8/9, var(sin) = 1/2, var(sin^2) = 1/8:
    # V1 = (1 + b pi^4/5)^2 / 2, V2 = a^2/8, V13 = b^2 pi^8 (1/18 - 1/50), V = V1 + V2 + V13.
    one, two, both = (1 + B * math.pi**4 / 5) ** 2 / 2, A**2 / 8, B**2 * math.pi**8 * (1 / 18 - 1 / 50)
    total = one + two + both
    known = {"x1": (one / total, (one + both) / total), "x2": (two / total,) * 2, "x3": (0.0, both / total)}
    assert known["x1"] == pytest.approx((0.3139, 0.5576), abs=1e-4)
    found = sensitivity.indices(["x1", "x2", "x3"], ishigami, samples=1024, bounds=[(-math.pi, math.pi)] * 3)
    for index in found:
        assert index.first == pytest.approx(known[index.name][0], abs=0.02)
        assert index.total == pytest.approx(known[index.name][1], abs=0.02)
        # The intervals hold the truth and are no wider than 0.1.
        assert abs(index.first - known[index.name][0]) < index.first_half < 0.1
        assert abs(index.total - known[index.name][1]) < index.total_half < 0.1


def test_sobols_indices_of_a_sum() -> None:
    # 3 u + v: variances 9/12 and 1/12, no interaction: 0.9 and 0.1, first order and total.
    found = sensitivity.indices(["u", "v", "w"], lambda x: 3 * x[:, 0] + x[:, 1], samples=512)
    assert [index.first for index in found] == pytest.approx([0.9, 0.1, 0.0], abs=0.01)
    assert [index.total for index in found] == pytest.approx([0.9, 0.1, 0.0], abs=0.01)


def test_morris_of_a_plane_is_its_slope() -> None:
    found = sensitivity.indices(["u", "v", "w"], lambda x: 3 * x[:, 0] - x[:, 1], method="morris", samples=10)
    assert [index.first for index in found] == pytest.approx([3, 1, 0], abs=1e-9)
    assert [index.total for index in found] == pytest.approx([0, 0, 0], abs=1e-9)


def test_morris_shows_an_interaction_as_scatter() -> None:
    # u v: the change by u is v, uniform over the levels 0, 1/3, 2/3, 1: mean 1/2, deviation sqrt(5/36) = 0.373.
    found = sensitivity.indices(["u", "v"], lambda x: x[:, 0] * x[:, 1], method="morris", samples=400)
    assert found[0].first == pytest.approx(0.5, abs=0.06)
    assert found[0].total == pytest.approx(0.373, abs=0.03)


def test_a_metric_that_nothing_moves_has_no_index() -> None:
    found = sensitivity.indices(["u", "v"], lambda x: np.ones(len(x)), samples=8)
    assert all(index.total == 0 for index in found)


@pytest.mark.parametrize(("method", "samples"), [("sobol", 100), ("sobol", 1), ("grid", 8)])
def test_bad_numbers_of_samples(method: str, samples: int) -> None:
    with pytest.raises(sj.SojournError, match=r"samples=|method="):
        sensitivity.indices(["u", "v"], lambda x: x[:, 0], method=method, samples=samples)  # type: ignore[arg-type]


def test_without_salib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SALib", None)
    with pytest.raises(sj.SojournError, match="pip install optuna salib"):
        sensitivity.indices(["u", "v"], lambda x: x[:, 0], samples=8)


def test_the_limit_matters_and_a_flag_for_ecn_does_not(small_file: Path) -> None:
    # Tail drop by RED's code: thresholds out of reach, so the limit alone makes the delay; no flow does ECN.
    def go(jobs: int) -> sensitivity.Sensitivity:
        return sensitivity.run(
            "red min 200p max 300p",
            str(small_file),
            vary=["limit=10p..60p", "ecn"],
            metrics=["sojourn_ms_p99"],
            samples=16,
            replications=1,
            jobs=jobs,
        )

    found = go(1)
    limit, ecn = found.indices["sojourn_ms_p99"]
    assert limit.total == pytest.approx(1.0, abs=0.3)
    assert ecn.total == 0.0
    assert found.points == 16 * 4
    assert found.indices == go(3).indices


def test_points_that_are_no_scheme_are_refused(small_file: Path) -> None:
    with pytest.raises(sj.SojournError, match=r"every point of the ranges must be a scheme; red: min"):
        sensitivity.run("red", str(small_file), vary=["min=2p..50p", "max=10p..60p"], metrics=["loss_ratio"])
    with pytest.raises(sj.SojournError, match="two different parameters"):
        sensitivity.run("red", str(small_file), vary=["min"], metrics=["loss_ratio"])
    with pytest.raises(sj.SojournError, match="unknown metric"):
        sensitivity.run("red", str(small_file), vary=["min", "w"], metrics=["beauty"])


@pytest.mark.parametrize("method", ["sobol", "morris"])
def test_the_command_writes_a_folder(command: Command, small_file: Path, tmp_path: Path, method: str) -> None:
    arguments = ("sensitivity", "red", "--scenario", small_file, "--vary", "min=2p..9p", "--vary", "max=10p..60p")
    more = ("--method", method, "--samples", 4, "--replicates", 1, "--out", "sense")
    for force in ((), ("--force",)):
        done = command(*arguments, *more, *force)
        assert done.returncode == 0, done.stderr
    assert "max" in done.stdout
    assert done.stdout.splitlines()[-1] == "Report: sense/report.html"
    names = {file.name for file in (tmp_path / "here" / "sense").iterdir()}
    assert names == {"meta.json", "scenario.toml", "indices.csv", "points.csv", "report.html"}
    assert command("sensitivity", "red", "--scenario", small_file).returncode == 2
