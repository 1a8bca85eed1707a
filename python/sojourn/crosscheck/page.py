"""The page docs/concepts/fidelity.md, made from the comparisons themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sojourn.crosscheck import records
from sojourn.crosscheck.compare import STANDARD_ERRORS, Outcome, Row
from sojourn.crosscheck.text import TITLES, difference, number, verdict

NOTE: Final = "<!-- Made by `sojourn crosscheck all --page docs/concepts/fidelity.md`: change it there. -->\n"

_INTRODUCTION: Final = """\
The same work on Linux, ns-3 and ns-2, and here. The peers' programs and recorded results, with versions and
commands, are in [crosscheck](../../crosscheck/README.md); `sojourn crosscheck linux` (or `ns3`, `ns2`) repeats this
comparison.

**The rule, fixed beforehand.** Our number is the mean over {replications} replications. A point passes a metric
when the difference is within the tolerance, or within {errors} standard errors of both sides together (shown as
*noise*), or as many as the first table says. Drops are counted, so their variance is never taken below that of a
count. Where the peer ran once, the spread of our runs stands for its spread. Nine
points in ten must pass, for each metric. The interval is that of the difference, at 95 %. Misses stay in the table,
each with its explanation below it.

"""

_ABOUT: Final = {
    "linux": """\
Debian's kernel 6.1 in a virtual machine with virtual time: hosts a and b in namespaces around a router whose way
out is shaped by htb (or by cake itself) with the discipline inside, round-trip time by netem on the way back,
offloads off, iperf3, and a ping every 50 ms. Queueing delay is the ping's mean above the base RTT; with fq_codel,
fq_pie and cake, which give the ping a queue of its own, it is TCP's RTT above the base RTT. Our side sends the same
ping. Points called *shared* count drops over the whole run, the slow start included; the others over the measured
time.
""",
    "ns3": """\
ns-3 3.37 (Debian's libns3-dev): senders, 1 Gbit/s, bottleneck, 1 Gbit/s, sinks; NewReno with SACK, delayed
acknowledgements and a least RTO of 1 s; 60 s, the first 12 s left out. Our side runs ns-3's TCP settings
(`newreno`, `rto rfc`, `min_rto 1 s`, `delayed_ack 200 ms`, `quick_acks 0 p`) and `control_law newton`.

*LAN*: the shared bus of the bundled scenario `lan` (HTTP: ten clients in 10 s, 1.5 Mbit/s each; FTP: sixty in 60 s,
10 Mbit/s each), CUBIC, the study's parameters of the schemes, hardware addresses known beforehand; five seeds a side,
over the whole run. Our side runs `ns3_cubic`, `recovery ns3`, `quick_acks 1 p`, `rto ns3` and `initial_rto 3 s`.
*Network*: the six routers of `papers/threshold`, ns-3's `TcpLinuxReno`, `ns3_reno` here with the same and
`write_size 512 B`, ten seeds there at the least (forty of drop tail at 10 ms, twenty of threshold 100 at 100 ms),
twenty here.
""",
    "ns2": """\
ns-2.35 (Debian's ns2): 15 TCP Reno flows and 5 of constant bit rate through 10 Mbit/s. Rows that end in `_nophase`
have random times on both sides and are the ones that count.
""",
}


def page(outcomes: Sequence[Outcome]) -> str:
    """Return the page as Markdown."""
    parts = [
        NOTE,
        "# Fidelity\n\n",
        _INTRODUCTION.format(replications=_replications(outcomes), errors=f"{STANDARD_ERRORS:g}"),
        _summary(outcomes),
    ]
    parts += [_peer(outcome) for outcome in outcomes]
    return "".join(parts).rstrip("\n") + "\n"


def _replications(outcomes: Sequence[Outcome]) -> int:
    return min((row.replications for outcome in outcomes for row in outcome.rows), default=0)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def _summary(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            TITLES[outcome.peer],
            tally.title,
            tally.rule,
            f"{tally.passed} of {tally.points}",
            "yes" if tally.is_enough else "**no**",
        ]
        for outcome in outcomes
        for tally in outcome.metrics()
    ]
    return _markdown(["peer", "metric", "tolerance", "points that pass", "nine in ten"], rows)


def _peer(outcome: Outcome) -> str:
    title = TITLES[outcome.peer]
    parts = [f"## {title}\n\n{_ABOUT[outcome.peer]}\n"]
    rows = [
        [
            row.point.name,
            row.metric.title + (f", {row.metric.unit}" if row.metric.unit else ""),
            number(row.ours, row.metric.digits),
            number(row.theirs, row.metric.digits),
            difference(row),
            verdict(row) if row.passes else f"**{verdict(row)}**",
        ]
        for row in outcome.rows
    ]
    parts.append(_markdown(["point", "metric", "ours", title, "difference ± 95 %", "verdict"], rows))
    parts.append(_explained(outcome))
    not_counted = dict.fromkeys(
        (row.point.no_reference, row.point.name) for row in outcome.rows if row.point.no_reference
    )
    reasons: dict[str, list[str]] = {}
    for reason, name in not_counted:
        reasons.setdefault(str(reason), []).append(name)
    if reasons:
        parts.append("### Shown and not counted\n\n")
        parts += [f"* {', '.join(names)}: {reason}.\n" for reason, names in reasons.items()]
        parts.append("\n")
    if outcome.left_out:
        parts.append("### Recorded, and not compared yet\n\n")
        parts += [f"* {point.name}: {reason.split(';')[0]}.\n" for point, reason in outcome.left_out]
        parts.append("\n")
    return "".join(parts)


def _explained(outcome: Outcome) -> str:
    misses = [row for row in outcome.rows if not row.passes and row.point.no_reference is None]
    if not misses:
        return ""
    found: dict[str, list[Row]] = {}
    entries = records.explanations()
    for row in misses:
        texts = [entry.text for entry in entries if entry.explains(outcome.peer, row)]
        found.setdefault(" ".join(texts) or "**Not explained yet.**", []).append(row)
    lines = ["### The misses\n\n"]
    for text, rows in found.items():
        names = "; ".join(f"{row.point.name} ({row.metric.title})" for row in rows)
        lines.append(f"* {names}. {text}\n")
    return "".join(lines) + "\n"
