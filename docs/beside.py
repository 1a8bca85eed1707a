"""Writes the tables of the guides that set our numbers beside others.

``docs/beside.py [NAME ...]`` computes them and writes each between its two markers. `published` is a published figure
in the guide of `sojourn characterize`; `households` and `advice` are five lines and the check on Linux, in that of
`sojourn advise`; `findings` are of the atlas. Without a name, it does all.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from sojourn import crosscheck, stats
from sojourn.crosscheck import advised, findings, varying
from sojourn.crosscheck.text import difference, number, verdict
from sojourn.model.network import Network
from sojourn.model.scheme import Scheme
from sojourn.plan.runner import compare
from sojourn.studies.advise import Line, advise
from sojourn.studies.advise import answer as answered
from sojourn.studies.characterize.networks import NEWRENO, Group, Setting, network

DOCS = Path(__file__).parent
# Heist (2021): goodput of one CUBIC flow in Mbit/s, from 1.88 s to 120 s.
PUBLISHED = {"codel": 16.86, "dualpi2": 16.22}
RATE_MBIT_S, RTT_MS, FROM_S, TO_S = 20.0, 160.0, 1.88, 120.0
REPLICATIONS = 10
# CoDel's peak is like that of tail drop if it is at least this share of it.
PEAK_SHARE = 0.9


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def published() -> str:
    """Ours beside the published goodputs, with and without ECN."""
    rows = []
    for ecn in (False, True):
        transport = {**NEWRENO, "congestion_control": "cubic", "ecn": ecn}
        # Replications differ in when the flow starts.
        group = Group("bulk", transport=transport, rtt_ms=RTT_MS, start={"uniform": ["0 s", "1 s"]})
        net = network(
            Setting(RATE_MBIT_S, RTT_MS), [group], name="one", description="one CUBIC flow", warm_up_s=FROM_S,
            measured_s=TO_S - FROM_S,
        )  # fmt: skip
        schemes = [
            Scheme(f"codel preset linux-6.12 {'ecn' if ecn else 'noecn'}", "codel"),
            Scheme("dualpi2", "dualpi2"),
        ]
        found = compare(Network.from_dict(net), schemes, replicates=REPLICATIONS, seed=1, progress=False).runs
        for scheme in schemes:
            values = found[found["scheme"] == scheme.label]["goodput_bit_s"].to_numpy() / 1e6
            ours, theirs = stats.estimate(values), PUBLISHED[scheme.label]
            rows.append(
                [
                    f"`{scheme.label}`",
                    "yes" if ecn else "no",
                    f"{theirs:.2f}",
                    f"{ours.mean:.2f} ± {ours.half_width or 0.0:.2f}",
                    f"{100 * (ours.mean / theirs - 1):+.1f} %".replace("-", "−"),
                ]
            )
    return markdown(["scheme", "ECN (ours)", "published, Mbit/s", "ours, Mbit/s", "difference"], rows)


def households() -> str:
    """What is recommended for five lines, and the CPU time of the answers."""
    near, far = 15.0, 120.0
    lines = (
        ("ADSL 16/1", Line(16, 1, "adsl", rtt_ms=(near, far))),
        ("VDSL 50/10", Line(50, 10, "vdsl", rtt_ms=(near, far))),
        ("DOCSIS 250/25", Line(250, 25, "docsis", rtt_ms=(near, far))),
        ("fibre 1000/500", Line(1000, 500, "fibre", rtt_ms=(near, far))),
        ("LTE, trace `lte`, 5 up", Line.following("lte", up_mbit_s=5.0, rtt_ms=(30.0, far))),
    )
    rows = []
    for name, line in lines:
        began = time.process_time()
        found = advise(line)
        cpu_s = time.process_time() - began
        best = found.best
        shaper = None if best is None else best.shaper
        advised_rates = (
            "nothing"
            if shaper is None
            else f"`{shaper.scheme}`, {shaper.down_mbit_s:.4g}/{shaper.up_mbit_s:.4g} Mbit/s"
        )
        changes = [
            " → ".join(answered.number(one, measure) for one in (found.today, best) if one is not None)
            for measure in (line.criterion, "down", "up", "mos", "page")
        ]
        rows.append([name, advised_rates, *changes, f"{cpu_s:.0f}"])
    heads = [
        "line",
        "recommended",
        "latency, ms",
        "download, Mbit/s",
        "upload, Mbit/s",
        "MOS of calls",
        "page load, s",
        "CPU s",
    ]
    return markdown(heads, rows)


def advice() -> str:
    """What was promised beside what Linux did, and what the same settings do on a line like that of the machine."""
    points = advised.points()
    alike = crosscheck.compared("advice", [advised.with_the_machines_line(point) for point in points])
    rows = [
        [
            row.point.name,
            f"{row.metric.title} ({row.metric.unit})",
            number(row.ours, row.metric.digits),
            f"{number(row.theirs.value, row.metric.digits)} ({row.theirs.runs})",
            difference(row).replace("-", "−"),
            verdict(row) if row.passes else f"**{verdict(row)}**",
            "same"
            if advised.is_like_the_machines(row.point)
            else f"{number(other.ours, row.metric.digits)} ({other.difference / row.theirs.value:+.1%})".replace(
                "-", "−"
            ).replace("%", " %"),
        ]
        for row, other in zip(crosscheck.compared("advice", points).rows, alike.rows, strict=True)
    ]
    heads = [
        "line and setting",
        "",
        "promised",
        "Linux (runs)",
        "difference ± 95 %",
        "verdict",
        "with the machine's line",
    ]
    return markdown(heads, rows)


def on_linux(first: tuple[float, ...], second: tuple[float, ...]) -> str:
    """Whether the first scheme's runs are all above the second's, as crosscheck/linux/README.md says."""
    if min(first) > max(second):
        return "confirmed"
    return "**refuted**" if sum(first) / len(first) < sum(second) / len(second) else "undecided"


def atlas() -> str:
    """The findings, and what Linux says."""
    found = {row.point.name: row for row in crosscheck.check("atlas").rows}
    rows = []
    for finding in findings.FINDINGS:
        own = [found.get(f"{finding.name}, {scheme}") for scheme in finding.schemes]
        if any(row is None for row in own):
            continue
        first, second = (row for row in own if row is not None)
        verdict_of_linux = on_linux(first.theirs.values, second.theirs.values)
        for scheme, row in zip(finding.schemes, (first, second), strict=True):
            rows.append(
                [
                    f"{finding.text}" if scheme == finding.schemes[0] else "",
                    f"`{scheme}`",
                    f"{finding.title} ({finding.unit})",
                    number(row.ours, finding.digits),
                    f"{number(row.theirs.value, finding.digits)} ({row.theirs.runs})",
                    verdict_of_linux if scheme == finding.schemes[0] else "",
                ]
            )
    rows += falling_rate()
    return markdown(["finding", "scheme", "what", "ours", "Linux (runs)", "on Linux"], rows)


def falling_rate() -> list[list[str]]:
    """The finding that the recordings of rate changes are about: tail drop and CoDel at 10 Mbit/s after 100."""
    points = [point for point in varying.points() if point.name.endswith((", codel", ", pfifo"))]
    found = {(row.point.scheme or "", row.metric.key): row for row in crosscheck.compared("linux", points).rows}
    schemes = sorted({scheme for scheme, _ in found}, key=lambda scheme: not scheme.startswith("codel"))
    codel, tail_drop = (found[scheme, "peak 10"].theirs.value for scheme in schemes)
    text = "When the rate falls from 100 to 10 Mbit/s, CoDel's delay peaks like tail drop's, and it settles later."
    rows = []
    for scheme in schemes:
        for key in ("peak 10", "settling 10"):
            row = found[scheme, key]
            is_first = not rows
            rows.append(
                [
                    text if is_first else "",
                    f"`{scheme.split()[0]}`",
                    f"{row.metric.title} ({row.metric.unit})",
                    number(row.ours, row.metric.digits),
                    f"{number(row.theirs.value, row.metric.digits)} ({row.theirs.runs} changes)",
                    ("confirmed" if codel > PEAK_SHARE * tail_drop else "**refuted**") if is_first else "",
                ]
            )
    return rows


def write(file: Path, name: str, table: str) -> None:
    """Writes a table between its markers."""
    text = file.read_text()
    pattern = rf"(<!-- {name}: made by docs/beside\.py -->\n).*?(<!-- end of {name} -->)"
    made, count = re.subn(pattern, lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{file} has no markers of {name}")
    file.write_text(made)


FILES = {
    "published": (published, ("guides/characterize.md",)),
    "households": (households, ("guides/advise.md",)),
    "advice": (advice, ("guides/advise.md",)),
    "findings": (atlas, ("templates/atlas.md.in", "concepts/atlas.md")),
}


def main() -> None:
    """Writes those that are named."""
    for name in sys.argv[1:] or FILES:
        if name not in FILES:
            raise SystemExit(f"unknown table {name}; allowed: {', '.join(FILES)}")
        made, files = FILES[name]
        table = made()
        for file in files:
            write(DOCS / file, name, table)


if __name__ == "__main__":
    main()
