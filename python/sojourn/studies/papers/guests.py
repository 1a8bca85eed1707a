"""Schemes of the user in a study: each runs under every condition, beside the study's own schemes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sojourn.base.core import SojournError
from sojourn.model.scheme import labelled
from sojourn.studies.papers.model import Condition, Paper


def invited(paper: Paper, given: Sequence[str]) -> Paper:
    """Return a study with further schemes, as in ``my_pie limit 2000p``, in all conditions, tables and figures.

    Where a study's schemes stand on chosen links, a guest stands on every link that any of them has. It also gets a
    text that a condition adds to each scheme of the study. Claims are about the study's schemes alone.
    """
    texts, printed, on = dict(paper.texts), dict(paper.printed), dict(paper.on)
    guests, conditions = dict[str, None](), list[Condition]()
    schemes = [labelled(text) for text in given]
    for scheme in schemes:
        if [other.label for other in schemes].count(scheme.label) > 1:
            raise SojournError(f"--aqm: {scheme.label!r} is given twice; allowed: once, or a label (LABEL=SCHEME)")
    for one in paper.conditions:
        links = tuple(dict.fromkeys(link for scheme in one.schemes for link in paper.on.get(scheme, ())))
        new = {", ".join((f"your {scheme.label}", *links)): scheme for scheme in schemes}
        for name, scheme in new.items():
            texts[name], printed[name] = scheme.text, scheme.label
            on |= {name: links} if one.schemes[0] in paper.on else {}
        guests |= dict.fromkeys(new)
        # What every scheme of the study is given here, such as the limit of a sweep over the buffer.
        added = {one.appended(own, paper.texts[own]).removeprefix(paper.texts[own]).strip() for own in one.schemes}
        more = [(name, text) for text in added if text and len(added) == 1 for name in new]
        conditions.append(replace(one, schemes=(*one.schemes, *new), append=(*one.append, *more)))
    return replace(paper, texts=texts, printed=printed, on=on, conditions=tuple(conditions), guests=tuple(guests))
