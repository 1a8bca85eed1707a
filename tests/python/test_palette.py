from __future__ import annotations

import re

import pytest

from sojourn import palette
from sojourn.palette import looks
from sojourn.report import svg


@pytest.mark.parametrize("page", palette.PAGES)
@pytest.mark.parametrize("color", palette._COLORS)
def test_every_colour_stands_out_from_its_background(color: str, page: str) -> None:
    # WCAG 2.2, 1.4.11: graphical objects need 3:1.
    assert palette.contrast(color, page) >= 3


def test_the_texts_of_a_report_stand_out() -> None:
    from importlib import resources

    style = (resources.files("sojourn") / "report" / "style.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", part)) for part in style.split("@media", 2)[:2])
    assert (light["paper"], dark["paper"]) == palette.PAGES
    for colours in (light, dark):
        for name in ("ink", "muted", "accent", "good", "bad"):
            assert palette.contrast(colours[name], colours["paper"]) >= 4.5, name


def test_no_two_schemes_look_alike() -> None:
    labels = [f"scheme {n}" for n in range(40)]
    found = looks(labels, [""] * 40).values()
    assert len({(look.color, look.marker) for look in found}) == 40


def test_a_scheme_looks_the_same_in_every_company() -> None:
    alone = looks(["codel"], ["codel"])["codel"]
    company = looks(["pfifo", "red", "codel target 6ms", "ours"], ["pfifo", "red", "codel", ""])["codel target 6ms"]
    assert (alone.color, alone.marker) == (company.color, company.marker)


def test_two_of_one_algorithm_differ() -> None:
    found = looks(["codel", "codel target 6ms"], ["codel", "codel"])
    assert found["codel"].color != found["codel target 6ms"].color


def test_every_marker_has_a_swatch() -> None:
    assert {look.marker for look in looks([str(n) for n in range(12)], [""] * 12).values()} == set(svg._SHAPES)
