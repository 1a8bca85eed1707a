"""From windows to estimates: fits, ranges, pairs, switching, each against numbers known beforehand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from shared import study

analysis, datasets, document, switching, tables = (
    study("dropping-functions", name) for name in ("analysis", "datasets", "document", "switching", "tables")
)
PAPER = document.load("dropping-functions")
IDS = [one.id for one in PAPER.study]


def cubic(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return 50 + 300 * (x - 1) - 400 * (x - 1) ** 2 + 900 * (x - 1) ** 3


def windows(blocks: int = 4, demands: int = 7, noise: float = 0.0) -> pd.DataFrame:
    """Two windows of each scheme and traffic, at loads from 0.9 to 1.18: thrice the cubic for FIFO, k more for dk."""
    random = np.random.default_rng(1)
    rows = []
    for block in range(blocks):
        for demand in range(demands):
            for k, label in enumerate(IDS):
                for half in range(2):
                    load = 0.9 + 0.28 * (demand + 0.5 * half + 0.1 * block) / (demands - 0.2)
                    value = cubic(np.asarray(load)) * 3 if label == "none" else cubic(np.asarray(load)) + k
                    row = dict.fromkeys(analysis.METRICS, float(value + noise * random.normal()))
                    rows.append({"block": block, "demand": float(demand), "label": label, "load": load, **row})
    return pd.DataFrame(rows)


def test_the_fit_is_the_generalised_additive_model_with_one_cubic() -> None:
    gam = pytest.importorskip("statsmodels.gam.api")
    random = np.random.default_rng(2)
    x = np.sort(random.uniform(0.9, 1.2, 80))
    y = cubic(x) + random.normal(size=80)
    frame = pd.DataFrame({"load": x, "y": y, "cluster": np.arange(80)})
    basis = gam.BSplines(x[:, None], df=[4], degree=[3])
    model = gam.GLMGam(y, exog=np.ones((80, 1)), smoother=basis, alpha=[0.0]).fit()
    found = analysis.fit(frame, "y", x)
    assert found is not None
    assert found.mean == pytest.approx(model.fittedvalues, rel=1e-6)
    # Noise of deviation 1, four coefficients, 80 windows: the mean variance of the fit is 4/80.
    assert np.mean(found.high - found.low) / 2 == pytest.approx(1.99 * np.sqrt(4 / 80), rel=0.2)


def test_a_band_knows_that_windows_of_a_run_are_alike() -> None:
    # Each window ten times over tells no more than once: the band stays, where independent windows would make it
    # narrower by the root of ten.
    random = np.random.default_rng(3)
    x = random.uniform(0.9, 1.2, 40)
    once = pd.DataFrame({"load": x, "y": cubic(x) + random.normal(size=40), "cluster": np.arange(40)})
    often = pd.concat([once] * 10)
    at = np.linspace(0.95, 1.15, 5)
    narrow, wide = analysis.fit(once, "y", at), analysis.fit(often, "y", at)
    assert narrow is not None
    assert wide is not None
    assert wide.high - wide.low == pytest.approx(narrow.high - narrow.low, rel=0.06)


def test_few_windows_have_a_line_or_nothing() -> None:
    assert [analysis.degree(count) for count in (2, 5, 6, 9, 12, 100)] == [0, 0, 1, 2, 3, 3]
    few = pd.DataFrame({"load": [0.9, 1.0, 1.1], "y": [1.0, 2.0, 3.0], "cluster": [0, 1, 2]})
    assert analysis.fit(few, "y", np.asarray([1.0])) is None


@pytest.mark.long
def test_at_the_same_load_an_exact_cubic_is_found_without_scatter() -> None:
    found = analysis.at_load(PAPER, datasets.with_cells(windows()))
    assert tuple(found) == PAPER.centres
    for centre, values in found.items():
        of = values["mean_queue_packets"]
        assert of["none"] == pytest.approx(np.full(28, 3 * cubic(np.asarray(centre))), abs=1e-6)
        assert of["d4"] - of["d0"] == pytest.approx(np.full(28, 4), abs=1e-6)
        assert values["burst_excess"]["d0"] == pytest.approx(values["burst_ratio"]["d0"] - 1)


@pytest.mark.long
def test_the_scatter_of_blocks_is_that_of_the_fit() -> None:
    # Two ways to one error: the jackknife over 28 traffics, and the covariance clustered by them.
    frame = datasets.with_cells(windows(noise=4.0))
    values = analysis.at_load(PAPER, frame)[1.0]["loss_ratio"]["d0"]
    fitted = analysis.fit(frame[frame["label"] == "d0"], "loss_ratio", np.asarray([1.0]))
    assert fitted is not None
    assert np.mean(values) == pytest.approx(fitted.mean[0], abs=0.3)
    half = 2.05 * np.std(values, ddof=1) / np.sqrt(28)
    assert half == pytest.approx((fitted.high[0] - fitted.low[0]) / 2, rel=0.25)


@pytest.mark.long
def test_beyond_its_windows_a_scheme_has_no_value() -> None:
    frame = windows()
    frame = frame[(frame["label"] != "d8") | (frame["load"] < 1.05)]
    found = analysis.at_load(PAPER, datasets.with_cells(frame))
    assert "d8" in found[1.04]["loss_ratio"]
    assert "d8" not in found[1.08]["loss_ratio"]
    assert "d7" in found[1.08]["loss_ratio"]


@pytest.mark.long
def test_a_laboratory_is_compared_where_both_have_every_scheme() -> None:
    network, lab = datasets.with_cells(windows(2)), datasets.with_cells(windows(2))
    # Without d8's windows of small loads, the laboratory has no d8 in the first range or two.
    lab = lab[(lab["label"] != "d8") | (lab["load"] > 0.97)]
    both = datasets.laboratory(PAPER, network, lab)
    assert both is not None
    alone = analysis.at_load(PAPER, lab[lab["block_of"].isin(set(network["block_of"]))])
    whole = [centre for centre in PAPER.centres if "d8" in alone.get(centre, {}).get("loss_ratio", {})]
    assert 0 < len(whole) < len(PAPER.centres)
    for of in both:
        assert set(of["loss_ratio"]) == set(IDS)
        # The cubic of each scheme is exact.
        expected = np.mean([cubic(np.asarray(at)) + IDS.index("d3") for at in whole])
        assert of["loss_ratio"]["d3"].mean() == pytest.approx(expected)
    assert datasets.laboratory(PAPER, network, lab[lab["label"] != "d8"]) is None


def test_the_same_traffic_is_paired_and_put_into_ranges() -> None:
    ranges, whole = analysis.same_traffic(PAPER, windows(noise=5.0))
    # 4 blocks of 7 demands; a traffic's load is the mean of its windows: 0.9 + 0.28 (demand + 0.25 + block/10)/6.8.
    loads = [0.9 + 0.28 * (demand + 0.25 + 0.1 * block) / 6.8 for block in range(4) for demand in range(7)]
    bounds = zip(PAPER.bounds, PAPER.bounds[1:], strict=False)
    counts = [sum(low < load <= high for load in loads) for low, high in bounds]
    assert sum(counts) == 28
    found = [len(ranges[centre]["loss_ratio"]["d0"]) if centre in ranges else 0 for centre in PAPER.centres]
    assert found == [count if count >= analysis.FEWEST_CELLS else 0 for count in counts]
    assert len(whole["loss_ratio"]["none"]) == 28


def test_differences_are_those_of_pairs_and_corrected() -> None:
    random = np.random.default_rng(5)
    common = 100 * random.normal(size=12)
    values = {"loss_ratio": {"a": common + 0.01 * random.normal(size=12), "b": common + 1, "c": common + 1.0001 + 0.1 * random.normal(size=12)}}  # fmt: skip  # noqa: E501
    found = analysis.differences(values, "loss_ratio", ["a", "b", "c"])
    # A difference of 1 against a scatter of 100 that both share.
    assert found["a", "b"][0].mean == pytest.approx(-1, abs=0.02)
    assert found["a", "b"][1] < 1e-6
    assert found["b", "c"][1] > 0.05


def switchback(effect: float, carry: float, slots: int = 120) -> pd.DataFrame:
    """Slots of three schemes at random, four windows each: y = effect of b + carry if b was before + load."""
    random = np.random.default_rng(8)
    labels = random.choice(["none", "a", "b"], size=slots)
    rows = []
    for slot, label in enumerate(labels):
        own = 0.1 * random.normal()
        for k in range(4):
            load = random.uniform(0.9, 1.1)
            before = carry if slot and labels[slot - 1] == "b" else 0.0
            y = effect * (label == "b") + before + 5 * (load - 1) + own + 0.1 * random.normal()
            rows.append({"run": 0, "slot": slot, "label": label, "load": load, "y": y, "since_s": 2.0 * k})
    return pd.DataFrame(rows)


def test_the_mixed_model_finds_a_scheme_and_what_it_leaves_behind() -> None:
    found = switching.model(switchback(1.0, 0.5), "y")
    assert found is not None
    assert found.slots == 119
    mean, low, high = found.effects["b"]
    # 119 slots, 40 of each scheme, deviation of a slot's mean 0.11: error 0.11 sqrt(2/40) = 0.025.
    assert abs(mean - 1.0) < 0.08
    assert low < 1.0 < high
    assert found.carry_over_p < 1e-6
    assert abs(found.effects["a"][0]) < 0.08


def test_without_carry_over_the_model_says_so() -> None:
    found = switching.model(switchback(1.0, 0.0), "y")
    assert found is not None
    assert found.carry_over_p > 0.05
    assert found.effects["b"][0] == pytest.approx(found.naive["b"][0], abs=0.02)
    assert switching.model(switchback(1.0, 0.0, slots=15), "y") is None


def test_steps_show_how_long_a_change_is_felt() -> None:
    back = replace(PAPER.sizes["quick"].switchback, slot_s=8.0)
    frame = switchback(0.0, 0.0)
    frame["y"] = np.where(frame["since_s"] < 1, 3.0, 1.0)
    found = switching.steps(back, frame, "y")
    # Windows begin at 0, 2, 4 and 6 s; the second half is from 4 s on.
    assert [(one.from_s, one.excess.mean) for one in found] == [(0.0, 2.0), (2.0, 0.0)]


def test_best_and_worst_of_a_range_are_marked() -> None:
    frame = windows().assign(cluster=lambda of: of["block"])
    drawing = tables.ranges(PAPER, frame, "table")
    first = [row for row in drawing.rows if row[0].startswith("(0.90")]
    assert len(first) == 10
    assert "boxed" in first[0][2]
    assert "<strong>" in first[1][2]
    # The study's own number is below: FIFO's mean queue in the first range; d8's is not in our copy.
    assert "93.2" in first[0][2]
    assert "details" not in first[9][2]
