"""Writes the page of the atlas, its picture and its data.

``docs/atlas.py FOLDER`` takes them from a folder of ``sojourn atlas``, which takes some 10 minutes of CPU time
to make and goes on where it was interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from pages import DOCS, IMAGES, table, write

from sojourn.model.scheme import Scheme, entry_of
from sojourn.stats import Estimate
from sojourn.studies.atlas import NEEDS, execute, pictures
from sojourn.studies.atlas.page import number
from sojourn.studies.atlas.ranks import Cell


def read(folder: Path) -> execute.Atlas:
    """Returns the atlas that a folder's data hold."""
    data = pd.read_csv(folder / execute.DATA[0])
    needs = tuple(need for need in (*NEEDS, execute.COST) if need.name in set(data["need"]))
    schemes = {row.scheme: row.text for row in data.itertuples()}
    cells: dict[str, dict[str, Cell]] = {need.name: {} for need in needs}
    for row in data.itertuples():
        low, high = (None if pd.isna(end) else float(end) for end in (row.low, row.high))
        rank = None if pd.isna(row.rank) else int(row.rank)
        of = next(need.of for need in needs if need.name == row.need)
        is_cut = low == of.least or high == of.most
        found = Estimate(float(row.mean), low, high, int(row.replications), is_cut=is_cut)
        cells[row.need][row.scheme] = Cell(found, rank)
    replications = int(data["replications"].max())
    return execute.Atlas(tuple(Scheme(text, label) for label, text in schemes.items()), needs, cells, replications)


def best_of(whole: execute.Atlas) -> str:
    """Returns the best of each need."""
    rows = []
    for need in whole.needs:
        cells = whole.cells[need.name]
        best = whole.first(need)
        shown = ", ".join(f"`{label}`" for label in best[:6]) + (
            f" and {len(best) - 6} more" if len(best) > 6 else ""
        )
        value = f"{number(need, cells[best[0]])} {need.unit}".strip() if best else "–"
        rows.append([need.title, need.question, shown, value])
    return table(["need", "what is measured", "no scheme is significantly better than", "value of the first"], rows)


def beside(data: pd.DataFrame, schemes: tuple[Scheme, ...]) -> str:
    """Returns where schemes lie beside the front of tail drop, by class of networks."""
    state = {one.label: bool(entry_of(one.algorithm)["per_flow_state"]) for one in schemes}
    rows = []
    for title, part in data.groupby("class", sort=False):
        off = part[part["place"] == "off"]
        named = [(one.scheme, f"`{one.scheme}` ({one.p_off:.1g})") for one in off.itertuples()]
        cells = [", ".join(text for name, text in named if state[name] == kept) or "none" for kept in (False, True)]
        counts = [str(int((part["place"] == place).sum())) for place in ("off", "on", "behind")]
        rows.append([str(title), *counts, *cells])
    heads = ["class of networks", "off", "on", "behind", "off, one queue", "off, with queues or state for flows"]
    return table(heads, rows)


def main() -> None:
    """Writes the page."""
    whole = read(Path(sys.argv[1]))
    for name, picture in (
        ("atlas-ranks", pictures.ranks(whole)),
        ("atlas-two", pictures.two(whole, "delay", "goodput")),
    ):
        picture.savefig(IMAGES / f"{name}.png", dpi=110, facecolor="white", metadata={"Software": None})
    values = {"count": len(whole.schemes), "table": best_of(whole).rstrip("\n"), "replications": whole.replications}
    values["fronts"] = beside(pd.read_csv(Path(sys.argv[1]) / execute.FRONTS), whole.schemes).rstrip("\n")
    write("concepts/atlas.md", values)
    for name in (execute.DATA[0], execute.FRONTS):
        (DOCS / "concepts" / name).write_text((Path(sys.argv[1]) / name).read_text())


if __name__ == "__main__":
    main()
