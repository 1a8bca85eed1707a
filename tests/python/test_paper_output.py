"""What a paper takes: one figure at a column's width, one table."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import sojourn as sj
from plans import small_plan
from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.cli.plot_and_table import inches
from sojourn.plan import Figure, execute
from sojourn.view import plot


@pytest.fixture(scope="module")
def place(results: sj.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "run"
    results.to_parquet(folder)
    return folder


FIGURES = ["delay_throughput", "sojourn_cdf", "queue_over_time", "flow_shares", "differences"]


def test_without_a_figure_the_names_are_listed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(place)]) == 0
    names = capsys.readouterr().out.split()
    assert [name for name in names if not name.startswith("series:")] == FIGURES
    assert "series:queue_packets" in names


@pytest.mark.parametrize("name", FIGURES)
def test_a_pdf_has_the_width_that_is_asked_for_and_truetype_fonts(place: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "figure.pdf"
    assert main(["plot", str(place), "--figure", name, "--width", "85mm", "--out", str(out)]) == 0
    content = out.read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([0-9.]+) ([0-9.]+) ?\]", content)
    assert box is not None
    # A point of PDF is 1/72 inch.
    assert float(box[1]) == pytest.approx(85 / 25.4 * 72, abs=0.1)
    assert b"/FontFile2" in content
    assert b"/Type3" not in content
    assert b"CreationDate" not in content


def test_text_of_a_column_has_eight_points(results: sj.Results) -> None:
    with plot.sheet(inches("85mm")):
        for name in FIGURES:
            picture = results.plot.draw(name)
            picture.draw_without_rendering()
            shown = [text for text in picture.findobj(lambda one: hasattr(one, "get_fontsize")) if text.get_text()]
            assert {text.get_fontsize() for text in shown} == {8.0}, name
    assert not plot.is_narrow()
    assert results.plot.sojourn_cdf().get_figwidth() == plot.WIDTH


def test_a_figure_fills_its_column_and_no_text_leaves_it(
    results: sj.Results, recwarn: pytest.WarningsRecorder
) -> None:
    with plot.sheet(inches("85mm")):
        for name in FIGURES:
            picture = results.plot.draw(name)
            picture.draw_without_rendering()
            box = picture.get_tightbbox()
            assert box.x0 >= -0.02, name
            assert box.x1 <= picture.get_figwidth() + 0.02, name
    assert [str(one.message) for one in recwarn if "layout" in str(one.message)] == []


def test_svg_keeps_text_as_text(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "figure.svg"
    assert main(["plot", str(place), "--figure", "sojourn_cdf", "--out", str(out)]) == 0
    assert re.search(r"<text[^>]*>Sojourn time \(ms\)</text>", out.read_text())
    # So does a picture that a notebook saves.
    buffer = io.StringIO()
    sj.Results.read(place).plot.sojourn_cdf().savefig(buffer, format="svg")
    assert "Sojourn time (ms)" in buffer.getvalue()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--figure", "sojourn_cfd"], "did you mean `sojourn_cdf`?"),
        (["--figure", "sojourn_cdf", "--width", "85"], "allowed: a number with mm, cm, in or pt"),
        (["--figure", "sojourn_cdf", "--width", "1mm"], "allowed: 1.5in to 20in"),
        (["--figure", "sojourn_cdf", "--out", "figure.doc"], "allowed: a name that ends in .pdf"),
    ],
)
def test_what_is_refused(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], part: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(place), *arguments]) == 2
    assert part in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_figure_of_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = (Figure("sojourn_ms_mean", "rate"),)
    execute.run(small_plan(replications=2, figures=figures), tmp_path / "store")
    assert main(["plot", str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out.split() == ["sojourn_ms_mean-rate"]
    out = str(tmp_path / "figure.pdf")
    assert main(["plot", str(tmp_path / "store"), "--figure", "sojourn_ms_mean-rate", "--out", out]) == 0


def test_a_table_of_latex(place: Path, results: sj.Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(place), "--metric", "goodput_bit_s", "--metric", "loss_ratio"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"% Sojourn {results.build}: small; 4 replications, seed 3.")
    assert lines[3:7] == [r"\begin{tabular}{lrr}", r"\toprule", r"Scheme & Goodput & Loss \\", r" & Mbit/s & \% \\"]
    rows = [line for line in lines if r"\pm" in line]
    assert [row.split(" & ")[0] for row in rows] == list(results.labels)
    assert all(row.count("&") == 2 and row.endswith(r"\\") for row in rows)
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert main(["table", str(place), "--table", "differences"]) == 0
    shown = capsys.readouterr().out
    assert f"minus {results.labels[0]}" in shown
    assert r"\mathbf{" in shown


def test_a_table_of_csv_has_the_numbers_themselves(
    place: Path, results: sj.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table.csv"
    arguments = ["table", str(place), "--format", "csv", "--metric", "goodput_bit_s", "--out", str(out)]
    assert main(arguments) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    found = results.estimate("codel", "goodput_bit_s")
    (codel,) = [row for row in rows if row["scheme"] == "codel"]
    assert [float(codel[f"goodput_bit_s{end}"]) for end in ("", "_low", "_high")] == [
        found.mean,
        found.low,
        found.high,
    ]
    assert main(arguments) == 2
    assert "--force" in capsys.readouterr().err


def test_latex_s_own_marks_are_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from shared import small_network

    sj.compare(small_network(), {"a_b & 5 %": "codel", "x": "pie"}, replicates=2).to_parquet(tmp_path / "run")
    assert main(["table", str(tmp_path / "run")]) == 0
    assert r"a\_b \& 5 \% & " in capsys.readouterr().out


def test_an_unknown_metric_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(place), "--metric", "godput_bit_s"]) == 2
    assert "did you mean `goodput_bit_s`?" in capsys.readouterr().err


def test_an_unknown_figure_of_results_is_refused(results: sj.Results) -> None:
    with pytest.raises(SojournError, match="unknown figure"):
        results.plot.draw("cdf")
