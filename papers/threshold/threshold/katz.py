"""Katz centrality of a study's flow matrix in several forms, compared with the values that it prints.

L. Katz, A New Status Index Derived from Sociometric Analysis (Psychometrika 18, 1953): with attenuation alpha, the
centralities are x = alpha M x + b. If a node's rank comes from the nodes that point at it, M is the transposed matrix
(in-edges, networkx's `katz_centrality`). If it comes from the nodes at which it points, M is the matrix itself
(out-edges). If the direction does not count, M is their sum. The source b is 1 for every node in the usual forms. It
can also be what a node has of its own (networkx's `beta`, by node): here the flows that a router delivers. The
printed values are compared with the best fit over alpha and scale, because the study prints neither alpha nor a norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Final

import numpy as np

from sojourn.base.core import SojournError
from sojourn.stats import Floats
from sojourn.studies.papers.checks import need, read_toml
from sojourn.studies.papers.model import Paper
from sojourn.studies.papers.section import Section, Words
from sojourn.view import plot
from sojourn.view.canvas import logarithmic
from sojourn.view.palette import INK

FILE: Final = "katz.toml"
POINTS: Final = 2000
"""Number of attenuation factors that are computed, at equal distances on a logarithmic axis."""
LEAST: Final = 1e-3
GREATEST: Final = 20.0
"""Of the attenuation factor where any converges (no cycles): beyond it, only the longest paths count."""
NEAR: Final = 0.99
"""Of the largest factor that converges, where there are cycles."""

_DIRECTIONS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "in-edges": lambda matrix: matrix.T,
    "out-edges": lambda matrix: matrix,
    "both directions": lambda matrix: matrix + matrix.T,
}
_ROUNDING: Final = 1e-12
SHOWN: Final = 6
"""Forms of which a picture is drawn: the nearest."""
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


@dataclass(frozen=True)
class Study:
    """What a study prints.

    Parameters
    ----------
    matrix
        Routers by routers: the share that goes from the row's to the column's.
    printed
        Centralities by router; some may be missing.
    delivered
        Flows that end at each router.
    """

    routers: tuple[str, ...]
    matrix: Floats
    printed: dict[str, float]
    delivered: Floats

    def sources(self) -> dict[str, Floats]:
        """Return what routers have before any comes from others, by its name."""
        last = np.zeros(len(self.routers))
        last[int(self.delivered.argmax())] = 1.0
        return {
            "1 for every router": np.ones(len(self.routers)),
            "delivered flows": self.delivered,
            f"{self.routers[int(last.argmax())]} alone": last,
        }


@dataclass(frozen=True)
class Form:
    """One form of Katz centrality, over attenuation factors.

    Parameters
    ----------
    direction
        ``in-edges``, ``out-edges`` or ``both directions``.
    is_weighted
        By the matrix's shares; else every edge counts one.
    source
        One of :meth:`Study.sources`, and its values by router.
    attenuation
        The factors, ascending.
    centrality
        Attenuation factors by routers, not normalised.
    """

    direction: str
    is_weighted: bool
    source: tuple[str, Floats]
    attenuation: Floats
    centrality: Floats

    @property
    def name(self) -> str:
        """Its direction, its weights and its source."""
        return f"{self.direction}, {'weighted' if self.is_weighted else 'unweighted'}; {self.source[0]}"


def read(folder: Path) -> Study:
    """Read the paper's ``katz.toml``."""
    file = folder / FILE
    document = read_toml(file)
    try:
        routers = tuple(need(document, "routers", file))
        matrix = np.array(need(document, "matrix", file), dtype=np.float64)
        printed = {str(name): float(value) for name, value in need(document, "printed", file).items()}
        delivered = np.array(need(document, "delivered", file), dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise SojournError(f"{file}: {error}") from None
    if matrix.shape != (len(routers), len(routers)):
        raise SojournError(f"{file}: matrix is {matrix.shape}; allowed: a row and a column for each router")
    if delivered.shape != (len(routers),):
        raise SojournError(f"{file}: delivered is {delivered.shape}; allowed: a number for each router")
    stray = [name for name in printed if name not in routers]
    if stray:
        raise SojournError(f"{file}: printed: {stray[0]} is not a router; allowed: {', '.join(routers)}")
    return Study(routers, matrix, printed, delivered)


def centrality(
    matrix: Floats, attenuation: float, direction: str = "in-edges", source: Floats | float = 1.0
) -> Floats:
    """Return Katz centralities, not normalised.

    Parameters
    ----------
    matrix
        n by n, weights of the edges from row to column.
    attenuation
        Below 1 over the spectral radius of the matrix that counts.
    direction
        ``in-edges``, ``out-edges`` or ``both directions``.
    source
        The constant term, of each node or of all.

    Returns
    -------
    ndarray
        Of length n.

    Examples
    --------
    >>> centrality(np.array([[0.0, 1.0], [0.0, 0.0]]), 0.5).tolist()
    [1.0, 1.5]
    """
    own = _DIRECTIONS[direction](matrix)
    constant = np.broadcast_to(source, len(own))
    return np.asarray(np.linalg.solve(np.eye(len(own)) - attenuation * own, constant), dtype=np.float64)


def forms(study: Study) -> Iterator[Form]:
    """Yield every form, the usual ones first."""
    for source, direction, is_weighted in product(study.sources().items(), _DIRECTIONS, (True, False)):
        matrix = study.matrix if is_weighted else (study.matrix > 0).astype(np.float64)
        radius = float(np.abs(np.linalg.eigvals(_DIRECTIONS[direction](matrix))).max())
        greatest = NEAR / radius if radius > NEAR / GREATEST else GREATEST
        factors = np.geomspace(LEAST, greatest, POINTS)
        found = np.array([centrality(matrix, float(factor), direction, source[1]) for factor in factors])
        yield Form(direction, is_weighted, source, factors, found)


def misfit(study: Study, form: Form) -> tuple[float, float, float]:
    """Return the largest deviation from the printed values at the best attenuation factor, this, and the constant.

    The centralities may have any scale, because the norm is not printed; least squares find it. Both forms are tried,
    with the constant term and without it, as in Katz's own index: the last value, of which as much is subtracted, is
    0 or 1.
    """
    spots = [study.routers.index(name) for name in study.printed]
    printed = np.array(list(study.printed.values()))
    found = []
    for constant in (0.0, 1.0):
        own = (form.centrality - constant * form.source[1])[:, spots]
        # Without the constant term nothing may be left but rounding.
        own[np.abs(own) < _ROUNDING * form.source[1].max()] = 0.0
        power = np.maximum((own * own).sum(axis=1), np.finfo(np.float64).tiny)
        scale = np.asarray(own @ printed / power, dtype=np.float64)
        off = np.abs(own * scale[:, None] - printed).max(axis=1)
        best = int(off.argmin())
        found.append((float(off[best]), float(form.attenuation[best]), constant))
    return min(found)


def orders(study: Study, form: Form) -> list[str]:
    """Return the orders of the printed routers that occur, ``R6 > R4 = R5``, from small attenuation factors on."""
    spots = [study.routers.index(name) for name in study.printed]
    names = list(study.printed)
    found = []
    for row in form.centrality[:, spots]:
        # Rounded: what is equal must not be ordered by the last digit.
        level = np.round(row / row.max(), 9)
        by_rank = sorted(range(len(names)), key=lambda k: (-level[k], k))
        text = names[by_rank[0]]
        for above, below in pairwise(by_rank):
            text += f" {'=' if level[above] == level[below] else '>'} {names[below]}"
        found.append(text)
    return list(dict.fromkeys(found))


def sections(paper: Paper, measured: object) -> list[Section]:  # noqa: ARG001 - one form for all papers
    """Return what is found, for the report."""
    study, words = read(paper.folder), Words(paper.folder)
    own = list(forms(study))
    names = sorted(study.printed, key=lambda name: -study.printed[name])
    wanted = " > ".join(names)
    rows = []
    for form in own:
        off, at, _ = misfit(study, form)
        found = orders(study, form)
        is_first = [text.startswith(names[0]) for text in found]
        often = "always" if all(is_first) else "sometimes" if any(is_first) else "never"
        occurs = "yes" if wanted in found else "no"
        rows.append((form.name, often, "; ".join(found), occurs, f"{off:.4f} at {at:.3g}"))
    printed = ", ".join(f"{name} {study.printed[name]:.5f}" for name in study.printed)
    nearest = sorted(own, key=lambda form: misfit(study, form))[:SHOWN]
    drawing = words.drawing("katz-figure", _picture(study, nearest), rows=rows, first=names[0])
    return [words.section("katz", [drawing], printed=printed, first=names[0], order=wanted)]


def _picture(study: Study, shown: list[Form]) -> plot.Picture:
    with plot.new_figure(plot.WIDTH, 5.2) as drawing:
        panels = drawing.subplots(2, 3, sharey=True)
        for form, axes in zip(shown, panels.flat, strict=True):
            _, at, constant = misfit(study, form)
            best = int(np.abs(form.attenuation - at).argmin())
            spots = [study.routers.index(name) for name in study.printed]
            own = form.centrality - constant * form.source[1]
            shares = own / own.sum(axis=1, keepdims=True)
            share = shares[best, spots].sum() / sum(study.printed.values())
            for k, name in enumerate(study.routers):
                color = _COLORS[k % len(_COLORS)]
                axes.plot(form.attenuation, shares[:, k], color=color, label=name)
                if name in study.printed:
                    axes.axhline(study.printed[name] * share, color=color, linewidth=0.9, linestyle=(0, (2.0, 2.0)))
            axes.axvline(at, color=INK, linewidth=0.8)
            logarithmic(axes, "x")
            axes.set_ylim(0, 1)
            axes.set_title((form.name[0].upper() + form.name[1:]).replace("; ", "\n"))
        for axes in panels[1]:
            axes.set_xlabel("Attenuation factor")
        for axes in panels[:, 0]:
            axes.set_ylabel("Share of the centrality")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper left", ncols=len(labels), frameon=False)
    return drawing
