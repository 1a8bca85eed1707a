"""Schemes of the user in a study (`sojourn papers run NAME --aqm SCHEME`): where they run, and what shows them."""

from __future__ import annotations

import pytest

from sojourn.base.core import SojournError
from sojourn.studies.papers import documents, execute, figures, guests
from sojourn.studies.papers.execute import schemes_of


def test_a_guest_is_in_every_condition_and_figure_and_changes_no_claim() -> None:
    plain = documents.load("daqm")
    paper = guests.invited(plain, ["codel target 2ms limit 2000p", "slow=pie target 40ms limit 2000p"])
    names = ("your codel target 2ms limit 2000p", "your slow")
    assert paper.guests == names
    assert all(one.schemes[-2:] == names for one in paper.conditions)
    assert all(paper.drawn(figure.schemes)[-2:] == names for figure in figures.load(paper))
    assert (paper.printed["your slow"], paper.texts["your slow"]) == ("slow", "pie target 40ms limit 2000p")
    for before, after in zip(plain.claims, paper.claims, strict=True):
        assert (plain.subject_of(before), plain.against_of(before)) == (
            paper.subject_of(after),
            paper.against_of(after),
        )
    assert guests.invited(plain, []) == plain


def test_what_a_sweep_gives_every_scheme_it_gives_a_guest() -> None:
    # The sweep over the buffer gives each of the five schemes and fred "limit {at}p".
    paper = guests.invited(documents.load("fairness"), ["codel target 2ms limit 100p"])
    [one] = [one for one in paper.conditions if one.name == "queue-size-25"]
    text = schemes_of(paper, paper.readings[0], one, {})[paper.guests[0]].text
    assert text == "codel target 2ms limit 100p limit 25p"
    # dAQM's own parameter in a sweep of it is not for others.
    paper = guests.invited(documents.load("daqm"), ["codel target 2ms"])
    assert all(name != paper.guests[0] for one in paper.conditions for name, _ in one.append)


def test_where_schemes_stand_on_links_a_guest_stands_on_all_that_one_of_them_has() -> None:
    paper = guests.invited(documents.load("threshold"), ["codel"])
    reading = paper.readings[0]
    seen = {}
    for one in paper.conditions:
        if one.name not in reading.conditions["full"]:
            continue
        [variation] = execute.plan_of(paper, reading, one, {}, 1).vary
        links = [factor.keys[0].split(".")[1] for factor in variation.factors[1:]]
        own = {link for scheme in one.schemes[:-1] for link in paper.on[scheme]}
        guest = dict(zip(links, variation.points[-1][1:], strict=True))
        assert {link for link, queue in guest.items() if queue == "codel"} == own
        seen[one.schemes[-1]] = own
    assert seen["your codel, R6"] == {"R6"}


def test_a_scheme_given_twice_or_unknown_is_refused() -> None:
    paper = documents.load("fairness")
    with pytest.raises(SojournError, match="--aqm: 'codel' is given twice; allowed: once, or a label"):
        guests.invited(paper, ["codel", "codel"])
    with pytest.raises(SojournError, match='unknown algorithm "coddel"'):
        guests.invited(paper, ["coddel"])
