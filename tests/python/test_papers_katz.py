"""Katz centrality of the threshold study's flow matrix, against networkx and what must follow from the matrix."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shared import study
from sojourn import SojournError
from sojourn.studies import papers

katz = study("threshold", "katz")
PRINTED = "R6 > R2 > R4 > R5 > R3"
PAPER = Path(__file__).parents[2] / "papers" / "threshold"


@pytest.fixture
def study() -> katz.Study:
    return katz.read(PAPER)


@pytest.mark.parametrize("is_weighted", [True, False])
def test_centralities_are_those_of_networkx(study: katz.Study, is_weighted: bool) -> None:
    networkx = pytest.importorskip("networkx")
    matrix = study.matrix if is_weighted else (study.matrix > 0).astype(float)
    graph = networkx.DiGraph(matrix)
    for direction, own in (("in-edges", graph), ("out-edges", graph.reverse())):
        theirs = networkx.katz_centrality(own, alpha=0.3, beta=1.0, normalized=False, weight="weight", tol=1e-12)
        assert katz.centrality(matrix, 0.3, direction) == pytest.approx([theirs[k] for k in range(6)], rel=1e-9)


def test_a_source_by_router_is_networkxs_beta(study: katz.Study) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph((study.matrix > 0).astype(float)).reverse()
    beta = dict(enumerate(study.delivered))
    theirs = networkx.katz_centrality(graph, alpha=0.2, beta=beta, normalized=False, tol=1e-12)
    own = katz.centrality((study.matrix > 0).astype(float), 0.2, "out-edges", study.delivered)
    assert own == pytest.approx([theirs[k] for k in range(6)], rel=1e-9)


def test_with_the_usual_source_the_printed_order_never_occurs(study: katz.Study) -> None:
    # R2 and R3 have one predecessor each, R1, with 0.4 and 0.6: x2 - x3 = alpha (0.4 - 0.6) x1 < 0. Printed: x2 > x3.
    # R6 has no successor, so by out-edges it has the least centrality, 1.
    usual = [one for one in katz.forms(study) if one.source[0].startswith("1 ")]
    found = {(one.direction, one.is_weighted): katz.orders(study, one) for one in usual}
    assert len(found) == 6
    for is_weighted in (True, False):
        assert all(text.startswith("R6") for text in found["in-edges", is_weighted])
        assert all(text.endswith("R6") for text in found["out-edges", is_weighted])
    assert all(text.index("R3") < text.index("R2") for text in found["in-edges", True])
    assert not any(text == PRINTED for texts in found.values() for text in texts)
    # The printed ones are a sixth of the greatest of them away from every such form: 0.38096 / 6 = 0.0635.
    assert min(katz.misfit(study, one)[0] for one in usual) > 0.0635


def test_with_a_source_at_r6_the_order_and_nearly_the_values_occur(study: katz.Study) -> None:
    own = {(one.direction, one.is_weighted, one.source[0]): one for one in katz.forms(study)}
    # By unweighted out-edges from R6 alone, with alpha a: R5 a, R4 a + a^2, R3 2 a^2 + a^3, R2 a + a^2 + a^3.
    # So R3 is the last while 2 a + a^2 < 1, which is a < sqrt(2) - 1 = 0.414.
    alone = own["out-edges", False, "R6 alone"]
    below = {text for text, a in zip(_each(study, alone), alone.attenuation, strict=True) if a < 0.41}
    assert below == {PRINTED}
    # At a = 0.2 from the delivered flows: R6 49, R5 3 + 9.8, R4 12.36, R3 3 + 0.2 (12.8 + 12.36) = 8.032, R2 17.272.
    off, at, _ = katz.misfit(study, own["out-edges", False, "delivered flows"])
    assert off < 0.010
    assert at == pytest.approx(0.2, abs=0.005)


def _each(study: katz.Study, form: katz.Form) -> list[str]:
    rows = ((form.attenuation[k : k + 1], form.centrality[k : k + 1]) for k in range(len(form.attenuation)))
    return [katz.orders(study, dataclasses.replace(form, attenuation=a, centrality=c))[0] for a, c in rows]


def test_the_misfit_finds_values_that_a_form_gives(study: katz.Study) -> None:
    form = next(katz.forms(study))
    k = 700
    made = dict(zip(study.printed, 0.01 * form.centrality[k, 1:], strict=True))
    off, at, _ = katz.misfit(dataclasses.replace(study, printed=made), form)
    assert off < 1e-12
    assert at == form.attenuation[k]


def test_a_wrong_document_says_what_is_allowed(tmp_path: Path) -> None:
    text = (PAPER / "katz.toml").read_text(encoding="utf-8")
    (tmp_path / "katz.toml").write_text(text.replace("[printed]", "[printed]\nR9 = 1.0"), encoding="utf-8")
    with pytest.raises(SojournError, match=r"R9 is not a router; allowed: R1, "):
        katz.read(tmp_path)
    (tmp_path / "katz.toml").write_text(text.replace('"R6"]', '"R6", "R7"]'), encoding="utf-8")
    with pytest.raises(SojournError, match="a row and a column for each router"):
        katz.read(tmp_path)
    (tmp_path / "katz.toml").write_text(text.replace("3, 49]", "49]"), encoding="utf-8")
    with pytest.raises(SojournError, match="a number for each router"):
        katz.read(tmp_path)


def test_the_section_draws_and_tabulates_every_form() -> None:
    ((drawing,),) = (one.drawings for one in katz.sections(papers.load("threshold"), None))
    assert len(drawing.rows) == 18
    assert {len(row) for row in drawing.rows} == {len(drawing.heads)}
    assert "Out-edges, unweighted" in str(drawing.svg)
    assert np.isfinite([float(row[-1].split()[0]) for row in drawing.rows]).all()
