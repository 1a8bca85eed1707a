"""The report of a paper of windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import pandas as pd

from sojourn.base import core
from sojourn.studies.papers.ledger import Ledger
from sojourn.studies.papers.model import Claim
from sojourn.studies.papers.page import counted, schemes, sign, summarised
from sojourn.studies.papers.predicate import predicate
from sojourn.view import report
from sojourn.view.report.sections import Cell, Drawing, Section, cell, note, row, tag

from . import datasets, pictures, switching, tables
from .datasets import Judged, World
from .device import Device
from .document import Experiment, Size
from .simulate import BESIDE, LABORATORY, PAIRED, SWITCHBACK

OWN: Final = "the mix of experiment.toml"
FITTED: Final = "the fitted mix"
_MODELLED: Final = ("mean_queue_packets", "loss_ratio", "burst_ratio", "impairment_c")


@dataclass(frozen=True)
class Results:
    """All that the page shows.

    Parameters
    ----------
    mixes
        Windows and sums over flows of each traffic mix: :data:`OWN`, and :data:`FITTED`.
    """

    size: Size
    mixes: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]
    device: Device
    worlds: Sequence[World]
    judged: dict[str, list[Judged]]
    ledger: Ledger
    facts: tuple[tuple[str, str], ...]

    @property
    def windows(self) -> pd.DataFrame:
        """The windows under the mix of ``experiment.toml``."""
        return self.mixes[OWN][0]

    @property
    def flows(self) -> pd.DataFrame:
        """The sums over flows under the mix of ``experiment.toml``."""
        return self.mixes[OWN][1]


def render(paper: Experiment, of: Results) -> str:
    """Return the page; it depends only on the windows."""
    return report.page(
        paper.title,
        (
            summarised(paper.folder, of.ledger),
            *sections(paper, of),
            _ledger(of),
            _claims(paper, of),
            schemes((one.printed, one.text) for one in paper.schemes),
        ),
        kind="executable paper",
        lead=paper.source,
        facts=of.facts,
        made=core.version(),
    )


def _ledger(of: Results) -> Section:
    rows = [(one.name, list(of.ledger.counts(one.name).values())) for one in of.worlds]
    text = (
        "Same traffic: the same flows are sent through every scheme, and differences are paired. Same load: cubic "
        "fits of the same windows are compared at the middle of each range of load, as the study does. Switchback: "
        "schemes are switched at random, as in the study. Confidence intervals decide each claim. Their levels are "
        "chosen so that the whole claim is decided wrongly with a probability of at most 5 %. A claim is undecided "
        "if an interval that matters contains zero. Theory and Table 1 have no intervals, so their numbers are "
        "compared directly."
    )
    why = [note(f"{world.name.capitalize()}: {world.why}.") for world in of.worlds if world.why]
    table = counted("ledger", "Source and design", rows)
    return Section("ledger", "The ledger", (), (table, note(text), *why), link="Ledger")


def _claims(paper: Experiment, of: Results) -> Section:
    places: dict[str, list[Claim]] = {}
    for claim in paper.claims:
        places.setdefault(claim.place, []).append(claim)
    # "d1, RED" is d1 in a list of schemes.
    short = {one: printed.partition(",")[0] for one, printed in paper.printed.items()}
    rows: list[object] = []
    for place, claims in places.items():
        rows.append((place,))
        for claim in claims:
            about = tag("div", f"{predicate(paper, short, claim)}. {claim.id}", kind="details")
            first = tag("q", claim.quote) + about
            rows.append(row([first, *_cells(of, claim)], id=f"claim-{claim.id}"))
    ranges = ", ".join(f"{low:.2f}–{high:.2f}" for low, high in paper.ranges)
    text = (
        f"The signs below an outcome are the outcomes in the single ranges of load: {ranges}. A claim about the "
        "whole range holds only if it holds in each of them."
    )
    heads = ("Claim", *(world.name for world in of.worlds))
    return Section(
        "claims", "All claims", (text,), (Drawing("claims", heads=heads, rows=rows, kind="matrix claims"),)
    )


def _cells(of: Results, claim: Claim) -> list[Cell]:
    """Return a cell for each world: the outcome, and those of single ranges of load."""
    cells = []
    for one, verdict in zip(of.judged[claim.id], of.ledger.verdicts[claim.id].values(), strict=True):
        key = verdict.outcome.key
        signs = [tag("span", own.sign if own else " ", kind=own.key if own else "none") for own in one.by_range]
        below = tag("div", *signs, kind="details ranges", aria_label="by range") if any(one.by_range) else ""
        said = verdict.outcome.value + (" (recorded)" if verdict.is_recorded else "")
        shown = tag("span", sign(verdict.outcome), " ", said) + below
        cells.append(cell(shown, kind=key, data_outcome=key, title=verdict.why or None))
    return cells


def sections(paper: Experiment, of: Results) -> list[Section]:
    """Return the page's sections that are not the ledger."""
    study = datasets.clustered(of.windows[of.windows["part"].isin((PAIRED, SWITCHBACK))])
    found = [_traffic(paper, of.windows), *_figures(paper, of, study)]
    if len(study):
        found.append(paper.words.section("table-1", [tables.ranges(paper, study, "table-1-ours")]))
    parts = (_fitted, _significant, _carry, _theory, _flow_claims, _flows, _laboratory, _device)
    return [*found, *filter(None, (part(paper, of) for part in parts))]


def _traffic(paper: Experiment, frame: pd.DataFrame) -> Section:
    of = paper.traffic
    transfers, shares = of["transfers"], of["congestion_control"].items()
    drawings = [tables.traffic_check(paper, frame[frame["part"] == PAIRED], "traffic-check")] if len(frame) else []
    return paper.words.section(
        "traffic",
        drawings,
        **{**of, **transfers, "servers": len(of["rtt_ms"]) * of["servers"]},
        least_rtt=of["rtt_ms"][0],
        most_rtt=of["rtt_ms"][-1],
        least_kb=transfers["least_bytes"] // 1000,
        most_mb=transfers["most_bytes"] // 10**6,
        kinds=", ".join(f"{one['count']} {one['kind']}" for one in of["sessions"]),
        controls=", ".join(f"{name} ({share:.0%})" for name, share in shares),
    )


def _figures(paper: Experiment, of: Results, study: pd.DataFrame) -> list[Section]:
    words = paper.words
    found = [words.section("figure-1", [words.drawing("figure-1-picture", pictures.functions(paper))])]
    for metric, number in pictures.FIGURES.items():
        name, what = f"figure-{number}", pictures.TITLES[metric]
        drawings = []
        if len(study):
            together, apart = pictures.together(paper, study, metric), pictures.apart(paper, study, metric)
            drawings.append(words.drawing(f"{name}-together", together, key="together", what=what))
            drawings.append(words.drawing(f"{name}-apart", apart, key="apart"))
        if len(of.device.windows):
            drawn = pictures.apart(paper, of.device.windows.assign(cluster=of.device.windows["slot"]), metric)
            drawings.append(words.drawing(f"{name}-device", drawn, key="on-device"))
        if drawings:
            found.append(words.section(name, drawings, key="figure", number=number, what=what))
    return found


def _fitted(paper: Experiment, of: Results) -> Section | None:
    chosen, frame = paper.fitted.get("chosen"), of.mixes[FITTED][0]
    if chosen is None:
        return None
    drawings = [tables.candidates(paper)]
    if len(frame):
        drawings.append(tables.traffic_check(paper, frame, "fitted-traffic-check"))
        drawings.append(tables.ranges(paper, datasets.clustered(frame), "fitted-table"))
    return paper.words.section("fitted", drawings, **chosen)


def _flow_claims(paper: Experiment, of: Results) -> Section | None:
    known = [(mix, flows[flows["part"] == PAIRED]) for mix, (_, flows) in of.mixes.items() if len(flows)]
    drawings = [tables.flow_claims(paper, flows, mix, f"flow-claims-{k}") for k, (mix, flows) in enumerate(known)]
    return paper.words.section("flow-claims", drawings) if drawings else None


def _significant(paper: Experiment, of: Results) -> Section | None:
    values = of.worlds[0].whole
    shown = [tables.differences(paper, values, metric) for metric in _MODELLED] if values else []
    return paper.words.section("significant", shown) if values else None


def _carry(paper: Experiment, of: Results) -> Section | None:
    back = of.size.switchback
    since = datasets.since_switch(back, of.windows)
    if since.empty:
        return None
    steps = {metric: switching.steps(back, since, metric) for metric in ("mean_queue_packets", "loss_ratio")}
    settled = datasets.settled(back, of.windows)
    found = {metric: one for metric in _MODELLED if (one := switching.model(settled, metric)) is not None}
    drawings = [paper.words.drawing("carry-over-picture", pictures.carry_over(steps))]
    if found:
        drawings.append(tables.models(paper, found, of.worlds[0].whole, "switchback-models"))
    return paper.words.section("carry-over", drawings, **asdict(back))


def _theory(paper: Experiment, of: Results) -> Section | None:
    world = of.worlds[1]
    return paper.words.section("theory", [tables.theory_gap(paper, world)]) if world.ranges else None


def _flows(paper: Experiment, of: Results) -> Section | None:
    frame = of.windows
    beside = frame[frame["part"] == BESIDE]
    if beside.empty:
        return None
    keys = set(zip(beside["block"], beside["demand"], strict=True))

    def common(table: pd.DataFrame) -> pd.DataFrame:
        rows = table[table["part"].isin((PAIRED, BESIDE))]
        return rows[[one in keys for one in zip(rows["block"], rows["demand"], strict=True)]]

    every = [one.id for one in paper.schemes]
    some = ["none", "d0", "d2", "d4", "d8", *(one.id for one in paper.schemes if one.is_beside)]
    drawings = [tables.classes(paper, common(frame), every)]
    drawings += [tables.flows(paper, common(of.flows), by, some) for by in ("rtt_ms", "rate_bin", "life_bin")]
    return paper.words.section("flows", drawings)


def _laboratory(paper: Experiment, of: Results) -> Section | None:
    lab = of.windows[of.windows["part"] == LABORATORY]
    if lab.empty:
        return None
    rtts = paper.traffic["laboratory_rtt_ms"]
    table = tables.ranges(paper, datasets.clustered(lab), "laboratory-table")
    return paper.words.section("laboratory", [table], least=rtts[0], most=rtts[-1])


def _device(paper: Experiment, of: Results) -> Section:
    windows = of.device.windows
    if of.device.why or windows.empty:
        why = of.device.why or "its store has no windows"
        return paper.words.section("device", key="no-device", why=why)
    table = tables.ranges(paper, windows.assign(cluster=windows["slot"]), "device-table")
    settled = windows[windows["since_s"] >= of.device.burn_in_s]
    found = {metric: one for metric in _MODELLED if (one := switching.model(settled, metric)) is not None}
    drawings = [table, *([tables.models(paper, found, {}, "device-models")] if found else [])]
    return paper.words.section("device", drawings, windows=len(windows), slots=windows["slot"].nunique())
