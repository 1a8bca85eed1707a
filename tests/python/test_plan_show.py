"""Pictures of plans: what is drawn where."""

from __future__ import annotations

from pathlib import Path

import pytest

from plans import small_plan
from sojourn import plan
from sojourn.plan import execute, show
from sojourn.plan.store import Store
from sojourn.view import plans, plot


def drawn(folder: Path, figure: plan.Figure, **changes: object) -> plot.Picture:
    one = small_plan(figures=(figure,), **changes)  # type: ignore[arg-type]
    execute.run(one, folder)
    ((_, picture),) = plans.pictures(plan.cells(one), Store.open(folder))
    return picture


def panels(picture: plot.Picture) -> list[tuple[str, list[str]]]:
    """Return each panel's title and the lines in it."""
    return [
        (axes.get_title("left"), axes.get_legend_handles_labels()[1]) for axes in picture.axes if axes.get_visible()
    ]


RATE = plan.grid("links.bottleneck.rate", values=["5 Mbit/s", "10 Mbit/s"])


def test_a_factor_with_a_unit_is_drawn_to_scale(tmp_path: Path) -> None:
    picture = drawn(tmp_path, plan.Figure("goodput_bit_s", "rate"))
    assert panels(picture) == [("", ["codel", "PIE"])]
    (axes,) = picture.axes
    assert axes.get_xlabel() == "rate (Mbit/s)"
    assert axes.get_ylabel() == "Goodput (Mbit/s)"
    assert axes.containers[0].lines[0].get_xdata().tolist() == [5.0, 10.0]  # type: ignore[attr-defined]


def test_a_scheme_without_the_parameter_is_in_every_panel(tmp_path: Path) -> None:
    target = plan.grid("schemes.codel.target", values=["5 ms", "20 ms"])
    picture = drawn(tmp_path, plan.Figure("sojourn_ms_mean", "rate"), vary=(RATE, target))
    assert panels(picture) == [("target 5 ms", ["codel", "PIE"]), ("target 20 ms", ["codel", "PIE"])]


def test_what_goes_with_the_factor_makes_no_panels(tmp_path: Path) -> None:
    both = plan.zipped(RATE, plan.grid("links.bottleneck.delay", values=["5 ms", "10 ms"]))
    picture = drawn(tmp_path, plan.Figure("sojourn_ms_mean", "rate"), vary=(both,))
    assert panels(picture) == [("", ["codel", "PIE"])]


def test_names_stand_side_by_side(tmp_path: Path) -> None:
    picture = drawn(tmp_path, plan.Figure("sojourn_ms_mean", "scheme"))
    assert [title for title, _ in panels(picture)] == ["rate 5 Mbit/s", "rate 10 Mbit/s"]
    assert [tick.get_text() for tick in picture.axes[0].get_xticklabels()] == ["codel", "PIE"]


def test_more_combinations_than_panels_is_said(tmp_path: Path) -> None:
    delays = plan.grid("links.bottleneck.delay", values=[f"{k} ms" for k in range(1, 15)])
    picture = drawn(tmp_path, plan.Figure("sojourn_ms_mean", "rate"), vary=(RATE, delays), replications=1)
    assert len(panels(picture)) == 12
    assert picture.get_suptitle() == "the first 12 of 14 combinations of delay"


def test_the_table_says_what_is_missing_and_whether_the_goal_was_met(tmp_path: Path) -> None:
    goal = plan.Precision("sojourn_ms_mean", "0.01 %", floor=2, ceiling=4)
    one = small_plan(precision=(goal,))
    execute.run(one, tmp_path, max_runs=3)
    text = show.terminal(plan.cells(one), Store.open(tmp_path))
    assert "4 of 4 cells are not finished." in text or "3 of 4 cells are not finished." in text
    execute.run(one, tmp_path)
    text = show.terminal(plan.cells(one), Store.open(tmp_path))
    assert "not finished" not in text
    assert "within 0.01 %, 2 to 4 replications; 4 cells ended at the ceiling without it." in text


@pytest.mark.parametrize("name", ["sojourn_ms_mean", "loss_ratio"])
def test_the_table_has_the_shown_unit_of_each_metric(tmp_path: Path, name: str) -> None:
    one = small_plan(metrics=(name,), replications=2)
    execute.run(one, tmp_path)
    heading = show.headers(one)[-1]
    assert heading == {"sojourn_ms_mean": "sojourn_ms_mean", "loss_ratio": "loss_ratio (%)"}[name]
