"""The page docs/concepts/fidelity.md, made from the comparisons themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sojourn.crosscheck import records
from sojourn.crosscheck.compare import STANDARD_ERRORS, Outcome, Row
from sojourn.crosscheck.text import TITLES, difference, number, verdict

NOTE: Final = "<!-- Made by `sojourn crosscheck all --page docs/concepts/fidelity.md`: change it there. -->\n"

_INTRODUCTION: Final = """\
This page shows how closely the simulator agrees with Linux, ns-3 and ns-2 when each runs the same work. The
first table gives the share of points that agree, for each metric. Every point follows. Every disagreement is
listed with what is known about it.

The programs for the other systems and their recorded results, with versions and commands, are in
[crosscheck](../../crosscheck/README.md). `sojourn crosscheck linux` (or `ns3`, `ns2`) repeats this comparison.

**The rule was fixed before the comparison:**

* Our number is the mean over {replications} replications.
* A point passes a metric if the difference is within the tolerance, or within {errors} standard errors of both
  sides together (shown as *noise*), or within the number of standard errors that the first table names.
* Drops are counts, so their variance is never taken below that of a count. Where the other system ran once, the
  spread of our runs stands for its spread.
* At least 90 % of the points must pass, for each metric.
* Intervals are 95 % confidence intervals of the difference.
* Points that fail stay in the table, and the explanation follows it.

The points were also used while the simulator was developed, so these shares say less about networks that are
not listed here.

"""

_ABOUT: Final = {
    "linux": """\
| setting | value |
| --- | --- |
| system | Debian's kernel 6.1 in a virtual machine with virtual time |
| network | two hosts in namespaces around a router; htb, or CAKE itself, shapes its output |
| round-trip time | netem on the return path |
| traffic | iperf3 and a ping every 50 ms; offloads off |

Queueing delay is the mean RTT of the ping minus the base RTT. fq_codel, fq_pie and cake give the ping a queue
of its own, so there it is TCP's RTT minus the base RTT. Our side sends the same ping. Points called *shared*
count drops over the whole run, including slow start. The others count them over the measured time.
""",
    "ns3": """\
The version is ns-3 3.37 (Debian's libns3-dev). There are three groups of points:

* **Dumbbell**: senders, 1 Gbit/s, bottleneck, 1 Gbit/s, sinks; NewReno with SACK, delayed acknowledgements and
  a minimum RTO of 1 s; 60 s, of which the first 12 s are excluded. Our side uses ns-3's TCP settings
  (`newreno`, `rto rfc`, `min_rto 1 s`, `delayed_ack 200 ms`, `quick_acks 0 p`) and `control_law newton`.
* **LAN**: the shared bus of the bundled scenario `lan`, with CUBIC and the parameters of Shu (2023). HTTP is
  ten clients in 10 s with 1.5 Mbit/s each; FTP is sixty clients in 60 s with 10 Mbit/s each. Hardware addresses
  are known beforehand. Both sides have five seeds, over the whole run. Our side uses `ns3_cubic`, `recovery
  ns3`, `quick_acks 1 p`, `rto ns3` and `initial_rto 3 s`.
* **Network**: the six routers of Gupta (2024), in `papers/threshold`, with ns-3's `TcpLinuxReno`. Our side uses
  `ns3_reno` with the settings of the LAN and `write_size 512 B`. ns-3 has at least ten seeds (forty for drop
  tail at 10 ms, twenty for threshold 100 at 100 ms), and our side has twenty.
""",
    "ns2": """\
The version is ns-2.35 (Debian's ns2). There are three groups of points:

* **Wires**: 15 TCP Reno flows and 5 flows of constant bit rate share 10 Mbit/s. Only rows whose name ends in
  `_nophase` count, because they have random times on both sides.
* **WLAN**: the same flows come from the 802.11 cell of Hassan, Hassan and Arif. Rows called *earlier* compare
  with earlier recordings, which do not name the program that made them.
* **Saturated cells**: 1 to 20 stations that always have a frame to send, with and without RTS.
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
    return _markdown(["compared with", "metric", "tolerance", "points that pass", "at least 90 %"], rows)


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
        parts.append("### Points that are shown but not counted\n\n")
        parts += [f"* {'; '.join(names)}: {reason}.\n" for reason, names in reasons.items()]
        parts.append("\n")
    if outcome.left_out:
        parts.append("### Points that are recorded but not compared yet\n\n")
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
    lines = ["### Explanation of the points that fail\n\n"]
    for text, rows in found.items():
        names = "; ".join(f"{row.point.name} ({row.metric.title})" for row in rows)
        lines.append(f"* {names}. {text}\n")
    return "".join(lines) + "\n"
