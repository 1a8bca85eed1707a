from __future__ import annotations

import re

import pytest

from sojourn.view import palette
from sojourn.view.palette import looks
from sojourn.view.report import svg

#: The light and the dark background of reports.
PAGES = ("#ffffff", "#171b20")


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21, of the Web Content Accessibility Guidelines 2.2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    """The relative luminance of the same guidelines."""
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_contrast_of_black_and_white_is_the_largest() -> None:
    # (1 + 0.05) / (0 + 0.05).
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("color", palette._COLORS)
def test_every_colour_stands_out_from_its_background(color: str, page: str) -> None:
    # WCAG 2.2, 1.4.11: graphical objects need 3:1.
    assert contrast(color, page) >= 3


def test_the_texts_of_a_report_stand_out() -> None:
    from importlib import resources

    style = (resources.files("sojourn.view") / "report" / "style.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6});", part)) for part in style.split("@media", 2)[:2])
    assert (light["paper"], dark["paper"]) == PAGES
    for colours in (light, dark):
        for name in ("ink", "muted", "accent", "good", "bad"):
            assert contrast(colours[name], colours["paper"]) >= 4.5, name


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
