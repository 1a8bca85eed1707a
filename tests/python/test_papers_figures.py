"""The figures of a paper: which runs redraw them, which claims are theirs, and how they are drawn."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn import stats
from sojourn.base.core import SojournError
from sojourn.cli.papers import chosen
from sojourn.studies import papers
from sojourn.studies.papers import figures, picture, report_figures
from sojourn.studies.papers.execute import Trace
from sojourn.view.palette import looks
from synthetic import measure, some_readings

PAPER = papers.load("daqm")
FIGURES = {figure.name: figure for figure in figures.load(PAPER)}
OF_THE_STUDY = ["Figure 6a", "Figure 6b", *(f"Figure {number}" for number in range(7, 17))]


def names(of: str) -> list[str]:
    return [one.name for one in figures.of(FIGURES[of], PAPER.conditions)]


def test_every_figure_with_results_is_there_in_order() -> None:
    assert list(FIGURES)[: len(OF_THE_STUDY)] == OF_THE_STUDY
    assert all(figures.of(figure, PAPER.conditions) for figure in FIGURES.values())


def test_a_figure_draws_the_conditions_of_its_traffic() -> None:
    assert names("Figure 6b") == ["http-cbr"]
    # In the order of the study's captions.
    assert names("Figure 8") == [f"{flow}-poisson" for flow in ("ftp", "streaming", "http", "voip", "gaming")]
    assert names("Figure 9") == [f"http-{model}" for model in ("cbr", "vbr", "poisson", "pareto", "weibull")]
    # The end of a sweep is the condition of its table, and points are in ascending order.
    for figure, end in (("11", "4"), ("12", "5"), ("13", "6"), ("14", "7"), ("15", "8"), ("16", "9")):
        own = figures.of(FIGURES[f"Figure {figure}"], PAPER.conditions)
        assert own[-1].name == f"table-{end}"
        assert {(one.flow, one.sweep) for one in own} == {(own[0].flow, own[0].sweep)}
        _, at = figures.axis([one.at for one in own])
        assert at == sorted(at)
        assert len(at) > 2


def test_only_takes_a_figure_or_a_part_of_it() -> None:
    assert [one.name for one in chosen(PAPER, "figure 6")] == ["http-cbr"]
    assert {one.name for one in chosen(PAPER, "Figure 9d")} == set(names("Figure 9"))
    assert {one.name for one in chosen(PAPER, "Figure 11")} == set(names("Figure 11"))
    # 1 is no part of 11.
    assert figures.conditions_of(PAPER, "Figure 1") == []


def test_points_are_numbers_of_one_unit() -> None:
    assert figures.axis(["5 kbit/s", "100 kbit/s"]) == ("kbit/s", [5.0, 100.0])
    assert figures.axis(["50 B", "1400 B"]) == ("B", [50.0, 1400.0])
    assert figures.axis(["10 ms", "300 ms"]) == ("ms", [10.0, 300.0])
    assert figures.axis(["20", "100"]) == ("", [20.0, 100.0])
    with pytest.raises(sj.SojournError, match="not of one kind: 1 %, 5 kbit/s"):
        figures.axis(["1 %", "5 kbit/s"])


def test_every_claim_has_one_place() -> None:
    homes = Counter(figures.home(list(FIGURES.values()), claim) for claim in PAPER.claims)
    by_place = Counter(claim.place for claim in PAPER.claims)
    assert homes["Figure 8"] == by_place["Figure 8"] + by_place["Figure 8; TCP and UDP"] > 50
    assert homes["Figure 9"] == sum(by_place[f"Figure 9{rest}"] for rest in ("", "d", "; discussion"))
    assert homes["Figure 14"] == sum(by_place[f"Figure 14{rest}"] for rest in ("", "d", "; Table 7"))
    # About several figures, or told again in the conclusion: under their own heading.
    for place in ("Figures 11 to 16", "Figures 9 and 10", "section 4.3.5"):
        assert homes[place] == by_place[place] > 0
    assert sum(homes.values()) == len(PAPER.claims)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "series"', 'kind = "film"', "Figure 7: kind: 'film'; allowed: dots, lines, series"),
        ('kind = "series"', "kind = 3", "Figure 7: kind=3; allowed: a text"),
        ('every = "500 ms"', "", "Figure 7: a figure of kind series needs"),
        ('series = ["queue', 'series = ["heap', "Figure 7: series: 'heap_packets'; allowed: queue_packets"),
        ('schemes = "eleven"', 'schemes = "twelve"', "Figure 6b: schemes: 'twelve'; allowed: red"),
        ('name = "Figure 7"', 'name = "Figure 8"', "Figure 8 occurs twice"),
        ('sweep = "packet_size"', 'swept = "packet_size"', "Figure 15: unknown key `swept`; allowed: name"),
        ('sweep = "packet_size"', "", "Figure 15: a figure of kind lines needs `sweep`"),
        ('section = "6.1"', "", "Figure 6a: `section` is missing"),
        ("log = true", 'log = "yes"', "Figure 13: log='yes'; allowed: true or false"),
        ("[[figure]]", "[[figure]", "figures.toml: "),
    ],
)
def test_a_wrong_figure_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    shutil.copytree(PAPER.folder, tmp_path / "daqm")
    place = tmp_path / "daqm" / "figures.toml"
    text = place.read_text(encoding="utf-8")
    head, _, rest = text.partition("\n[[figure]]")
    changed = f"{head}\n[[figure]]{rest}".replace(f"\n{old}", f"\n{new}", 1)
    assert changed != text
    place.write_text(changed, encoding="utf-8")
    with pytest.raises(sj.SojournError, match=message.replace("[", r"\[")):
        figures.load(papers.load("daqm", tmp_path))


def test_a_paper_without_figures_has_none(tmp_path: Path) -> None:
    shutil.copytree(PAPER.folder, tmp_path / "daqm")
    (tmp_path / "daqm" / "figures.toml").unlink()
    assert figures.load(papers.load("daqm", tmp_path)) == ()


def test_what_is_missing_of_a_figure_is_said() -> None:
    paper = some_readings(PAPER)
    paper = replace(paper, readings=tuple(replace(one, is_shown=True) for one in paper.readings))
    all_of = figures.of(FIGURES["Figure 13"], paper.conditions)
    part = report_figures.part(paper, measure(paper, all_of[1:]), FIGURES["Figure 13"])
    assert part["missing"] == [f"Not run for this report: {all_of[0].at}."]
    assert len(part["pictures"]) == 2
    # A reading under which one point ran has no picture of its own.
    measured = measure(paper, all_of)
    second = paper.readings[1].name
    few = replace(measured, raw={key: of for key, of in measured.raw.items() if key != (second, all_of[0].name)})
    one = {key: of for key, of in measured.raw.items() if key[0] != second or key[1] == all_of[-1].name}
    part = report_figures.part(paper, few, FIGURES["Figure 13"])
    assert (part["missing"], len(part["pictures"])) == ([f"Not run under {second}: {all_of[0].at}."], 2)
    part = report_figures.part(paper, replace(measured, raw=one), FIGURES["Figure 13"])
    assert len(part["pictures"]) == 1
    # Nothing at all is run: no picture, and the first of what is missing is named.
    part = report_figures.part(paper, measure(paper, []), FIGURES["Figure 8"])
    assert part["pictures"] == []
    assert part["missing"][0].startswith("Not run for this report: FTP, Poisson; Streaming, Poisson")
    (streaming,) = figures.of(FIGURES["Figure 7"], paper.conditions)
    part = report_figures.part(paper, measure(paper, [streaming]), FIGURES["Figure 7"])
    assert part["missing"] == ["Its time series were not run."]


def estimates(*means: float) -> list[stats.Estimate]:
    return [stats.estimate(np.array([mean - 1, mean + 1])) for mean in means]


def test_lines_go_through_the_means_and_levels_go_across() -> None:
    look = looks(["a", "b"], ["", ""])
    panel = picture.Lines("Delay", {"a": ([1.0, 10.0], estimates(5.0, 7.0))}, {"b": estimates(6.0)[0]})
    drawn = picture.lines([panel], look, {"a": "A", "b": "B"}, "Load", log=True)
    (axes,) = drawn.axes
    assert axes.get_xscale() == "log"
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines["A"].get_ydata()) == [5.0, 7.0]
    assert list(lines["B"].get_ydata()) == [6.0, 6.0]
    # t(1) = 12.706 and s/sqrt(2) = 1: the band of A ends at 7 + 12.706.
    (band,) = [one.get_extents() for one in axes.collections[0].get_paths()]
    assert band.y1 == pytest.approx(7 + 12.706, abs=1e-3)
    assert axes.get_ylim()[0] == 0


def test_values_that_span_decades_have_a_logarithmic_axis_with_zero() -> None:
    look = looks(["a"], [""])
    for far, scale in ((20.0, "linear"), (500.0, "symlog")):
        panel = picture.Lines("Queue", {"a": ([1.0, 2.0, 3.0], estimates(0.0, 1.0, far))}, {})
        (axes,) = picture.lines([panel], look, {"a": "A"}, "Load", log=False).axes
        assert axes.get_yscale() == scale
        assert axes.get_ylim()[0] == 0
        assert 0 in axes.get_yticks()


def test_dots_show_printed_numbers_readings_and_zeros() -> None:
    of = [estimates(2.0, 0.0), estimates(3.0, 4.0)]
    drawn = picture.dots([[picture.Dots("Loss", of, [5.0, math.nan])]], ["x", "y"], ["base", "other"])
    (axes,) = drawn.axes
    marks = {one.get_label(): one.get_offsets() for one in axes.collections}
    assert marks["printed"].tolist() == [[5.0, marks["printed"][0][1]]]
    assert [x for x, _ in marks["base"]] == [2.0, 0.0]
    assert [x for x, _ in marks["other"]] == [3.0, 4.0]
    # Zero is inside the panel, not on its edge.
    assert axes.get_xlim()[0] < 0
    # A third reading without a mark of its own is a tick at its mean.
    drawn = picture.dots(
        [[picture.Dots("Loss", [*of, estimates(1.0, 1.0)])]], ["x", "y"], ["base", "other", "third"], 2
    )
    (axes,) = drawn.axes
    marks = {one.get_label(): one.get_offsets() for one in axes.collections}
    assert [x for x, _ in marks["1 other readings (means)"]] == [1.0, 1.0]


def test_a_time_series_that_saw_nothing_at_times_is_drawn() -> None:
    values = np.array([[1.0, math.nan, 3.0], [3.0, math.nan, 9.0]])
    traces = {"a": Trace(np.array([1.0, 2.0, 3.0]), values)}
    drawn = picture.series(traces, looks(["a"], [""]), {"a": "A"}, "Packets", [])
    (axes,) = drawn.axes
    assert axes.lines[0].get_ydata()[[0, 2]].tolist() == [1.0, 3.0]
    assert axes.get_ylim()[1] >= 9
    assert "<svg" in drawn.svg()


def test_only_takes_names_that_have_commas() -> None:
    threshold = papers.load("threshold")
    one, other = chosen(threshold, "Placements, NewReno"), chosen(threshold, "Queues, Linux Reno")
    both = chosen(threshold, "Queues, Linux Reno, Placements, NewReno")
    assert one != other
    assert {one.name for one in both} == {found.name for found in (*one, *other)}
    with pytest.raises(SojournError, match=r"did you mean `Placements, .*; Loss, Linux Reno; "):
        chosen(threshold, "Placements, NewReno, Placements")
