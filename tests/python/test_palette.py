from __future__ import annotations

from sojourn.palette import looks
from sojourn.report import svg


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
