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

from pages import DOCS, shown, table

from sojourn import stats
from sojourn.model.network import Network
from sojourn.model.scheme import Scheme
from sojourn.plan.runner import compare
from sojourn.studies.advise import Line, advise
from sojourn.studies.advise import answer as answered
from sojourn.studies.characterize.networks import NEWRENO, Group, Setting, network

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "crosscheck"))
import crosscheck
from crosscheck import advised, findings, varying
from crosscheck.compare import Row
from crosscheck.text import difference, number, verdict

# Heist (2021): goodput of one CUBIC flow in Mbit/s, from 1.88 s to 120 s.
PUBLISHED = {"codel": 16.86, "dualpi2": 16.22}
RATE_MBIT_S, RTT_MS, FROM_S, TO_S = 20.0, 160.0, 1.88, 120.0
REPLICATIONS = 10
# CoDel's peak is like that of tail drop if it is at least this share of it.
PEAK_SHARE = 0.9


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
                    shown(ours),
                    f"{100 * (ours.mean / theirs - 1):+.1f} %".replace("-", "−"),
                ]
            )
    return table(["scheme", "ECN (ours)", "published, Mbit/s", "ours, Mbit/s", "difference"], rows)


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
        rates = f"`{shaper.scheme}`, {shaper.down_mbit_s:.4g}/{shaper.up_mbit_s:.4g} Mbit/s" if shaper else "nothing"
        changes = [
            " → ".join(answered.number(one, measure) for one in (found.today, best) if one is not None)
            for measure in (line.criterion, "down", "up", "mos", "page")
        ]
        rows.append([name, rates, *changes, f"{cpu_s:.0f}"])
    heads = ["line", "recommended", "latency, ms", "download, Mbit/s", "upload, Mbit/s", "MOS of calls"]
    return table([*heads, "page load, s", "CPU s"], rows)


def advice() -> str:
    """What was promised beside what Linux did, and what the same settings do on a line like that of the machine."""
    points = advised.points()
    alike = crosscheck.compared("advice", [advised.with_the_machines_line(point) for point in points])
    rows = []
    for row, other in zip(crosscheck.compared("advice", points).rows, alike.rows, strict=True):
        digits, theirs = row.metric.digits, row.theirs
        again = f"{number(other.ours, digits)} ({other.difference / theirs.value:+.1%})".replace("%", " %")
        rows.append(
            [
                row.point.name,
                f"{row.metric.title} ({row.metric.unit})",
                number(row.ours, digits),
                f"{number(theirs.value, digits)} ({theirs.runs})",
                difference(row).replace("-", "−"),
                verdict(row) if row.passes else f"**{verdict(row)}**",
                "same" if advised.is_like_the_machines(row.point) else again.replace("-", "−"),
            ]
        )
    heads = ["line and setting", "", "promised", "Linux (runs)", "difference ± 95 %", "verdict"]
    return table([*heads, "with the machine's line"], rows)


def on_linux(first: tuple[float, ...], second: tuple[float, ...]) -> str:
    """Whether the first scheme's runs are all above the second's, as crosscheck/linux/README.md says."""
    if min(first) > max(second):
        return "confirmed"
    return "**refuted**" if sum(first) / len(first) < sum(second) / len(second) else "undecided"


def shown_beside(text: str, outcome: str, found: list[tuple[str, Row]], what: str = "") -> list[list[str]]:
    """Rows of a finding: of each scheme, ours and Linux's; text and outcome are in the first."""
    rows = []
    for scheme, row in found:
        metric, theirs = row.metric, row.theirs
        cells = [f"`{scheme}`", f"{metric.title} ({metric.unit})", number(row.ours, metric.digits)]
        rows.append([text, *cells, f"{number(theirs.value, metric.digits)} ({theirs.runs}{what})", outcome])
        text = outcome = ""
    return rows


def atlas() -> str:
    """The findings, and what Linux says."""
    found = {row.point.name: row for row in crosscheck.check("atlas").rows}
    rows = []
    for finding in findings.FINDINGS:
        own = [(scheme, found[name]) for scheme in finding.schemes if (name := f"{finding.name}, {scheme}") in found]
        if len(own) == len(finding.schemes):
            outcome = on_linux(*(row.theirs.values for _, row in own))
            rows += shown_beside(finding.text, outcome, own)
    rows += falling_rate()
    return table(["finding", "scheme", "what", "ours", "Linux (runs)", "on Linux"], rows)


def falling_rate() -> list[list[str]]:
    """The finding that the recordings of rate changes are about: tail drop and CoDel at 10 Mbit/s after 100."""
    points = [point for point in varying.points() if point.name.endswith((", codel", ", pfifo"))]
    found = {(row.point.scheme or "", row.metric.key): row for row in crosscheck.compared("linux", points).rows}
    schemes = sorted({scheme for scheme, _ in found}, key=lambda scheme: not scheme.startswith("codel"))
    codel, tail_drop = (found[scheme, "peak 10"].theirs.value for scheme in schemes)
    own = [(scheme.split()[0], found[scheme, key]) for scheme in schemes for key in ("peak 10", "settling 10")]
    text = "When the rate falls from 100 to 10 Mbit/s, CoDel's delay peaks like tail drop's, and it settles later."
    return shown_beside(text, "confirmed" if codel > PEAK_SHARE * tail_drop else "**refuted**", own, " changes")


def write(file: Path, name: str, made: str) -> None:
    """Writes a table between its markers."""
    text = file.read_text()
    pattern = rf"(<!-- {name}: made by docs/beside\.py -->\n).*?(<!-- end of {name} -->)"
    text, count = re.subn(pattern, lambda found: f"{found[1]}\n{made}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{file} has no markers of {name}")
    file.write_text(text)


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
        text = made()
        for file in files:
            write(DOCS / file, name, text)


if __name__ == "__main__":
    main()
