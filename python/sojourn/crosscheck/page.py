"""The page docs/concepts/fidelity.md, made from the comparisons themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Final

from sojourn.base.escape import markdown
from sojourn.crosscheck import drawn, heldout, kernels, records
from sojourn.crosscheck.compare import BELOW_CEILING, LEAST_DROPS, NOISE_LIMIT, SHARE, STANDARD_ERRORS, Outcome, Row
from sojourn.crosscheck.text import TITLES, difference, number, percent, verdict

NOTE: Final = "<!-- Made by `sojourn crosscheck all --page docs/concepts/fidelity.md`: change it there. -->\n"

_INTRODUCTION: Final = """\
This page shows how closely the simulator agrees with Linux, ns-3 and ns-2 when each runs the same work. The
first table gives the share of points that agree, for each metric. Then each system has a list of its disagreements
with what is known about them, and a table of every point.

The programs for the other systems and their recorded results, with versions and commands, are in
[crosscheck](../../crosscheck/README.md). `sojourn crosscheck linux` (or `ns3`, `ns2`) repeats this comparison.

**The rule was fixed before the comparison:**

* Our number is the mean over {replications} replications or more.
* A point passes a metric if the difference is within the tolerance. A difference of up to {noise} tolerances also
  passes, shown as *noise*, if it is within {errors} standard errors of the other system's mean, or within the
  number of standard errors that the first table names. The spread of our runs excuses nothing.
* Where the other system ran once, its spread is not known, and the tolerance alone decides.
* Drops, or marks, of fewer than {drops} in all runs of the other system together are *too few to judge*. That is
  decided before our value is computed.
* The *ceiling* is the share of the other system's own runs that agree with it by the same rule: each run is
  compared with the mean of the point's other runs. The difference is scaled to that of two means, one of its number
  of runs and one of ours. Points with one run have no ceiling.
* For each metric, at least {share} of the points must pass. Of the held-out points {held_out} must. If the ceiling
  less {below} is smaller, it takes the place of either.
* Intervals are 95 % confidence intervals of the difference, from the spread of both sides. Where the other system
  ran once, they have the spread of our runs alone.
* Points that fail stay in the tables.

Some points were measured before or while the simulator was developed. The simulator was then changed to agree
with them, so their shares say less about other networks. The *drawn* points of Linux were drawn at random and split
into two sets. Those of the set *development* are listed here. Those of the set *held out* are not shown to anybody;
only the shares are, and they were computed {allowed} times at most.

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
of its own, so there it is TCP's smoothed RTT minus the base RTT, sampled at equal intervals as iperf3 reports it.
Our side sends the same ping. Points called *shared* count drops over the whole run, including slow start. The others
count them over the measured time.

Our flows have `recovery rack`, `tail_loss_probe`, `undo`, `timer_tick 4 ms`, `timestamp_tick 1 ms`,
`segmentation_offload`, `ack_policy linux` and `receive_buffer 3 MiB`. They open their connections one after the
other and then send together, as iperf3 does (`bulk` with `after` and `first`). Our link has `burst 1600 B`, as htb
does, except with CAKE. PIE and FQ-PIE have `tupdate 20 ms`: tc says 15 ms, but the kernel's timer counts whole ticks
of 4 ms, and one more. 28 updates in 0.562 s in `linux_pie_probability.csv` show it.

Goodput and TCP's RTT are measured from when iperf3's streams begin, on both sides. The ping and the counters of drops
begin when the flows are told to start.

Points whose names begin with *p* and a number were drawn by `crosscheck/linux/draw.py`, with three runs of Linux and
20 replications of ours each. They have 2 to 100 Mbit/s, base RTTs of 5 to 200 ms, and 1 to 32 flows of one or several
congestion controls, with and without ECN. Some have different base RTTs or a change of the rate. Their group is
*development* in the first table.

Two differences are known and left as they are. **Hosts take a time that varies.** In the drawn points an
instruction of the machine takes 1 ns, in the others 2 ns. A handshake then takes 21 us beside the path in the drawn
points, and so on our side (42 us in the others). Packet captures show that a sender answers an acknowledgement
after 15 or 29 us, and a receiver a segment after 17 or 35 us (medians), with rare pauses of 1 to 2 ms at 50 Mbit/s.
On our side the time is constant. At p037 BBR takes up to 2.6 % more than the link's rate for its bandwidth, and on
our side 0.2 %. An ordered jitter of 15 or 30 us on our side does not bring this point closer. **Samples disturb.**
In the first run of drawn points with one or two flows, `ss` reads the sockets up to ten times a second, and the
hosts are late then. At p142 BBR takes up to 4 % more than the link's rate for its bandwidth in that run, and the
queueing delay is 4.0 ms. In the second run, without samples, it is 3.1 ms, and on our side 2.7 ms.
""",
    "ns3": """\
The version is ns-3 3.37 (Debian's libns3-dev). There are four groups of points:

* **Dumbbell**: senders, 1 Gbit/s, bottleneck, 1 Gbit/s, sinks; NewReno with SACK, delayed acknowledgements and
  a minimum RTO of 1 s; 60 s, of which the first 12 s are excluded. Our side uses ns-3's TCP settings
  (`newreno`, `recovery ns3`, `rto ns3`, `min_rto 1 s`, `initial_rto 3 s`, `delayed_ack 200 ms`, `quick_acks 1 p`) and
  `control_law newton`.
* **LAN**: the shared bus of the bundled scenario `lan`, with CUBIC and the parameters of Shu (2023). HTTP is
  ten clients in 10 s with 1.5 Mbit/s each; FTP is sixty clients in 60 s with 10 Mbit/s each. Hardware addresses
  are known beforehand. Both sides have five seeds, over the whole run. Our side uses `ns3_cubic`, `recovery
  ns3`, `quick_acks 1 p`, `rto ns3` and `initial_rto 3 s`.
* **Network**: the six routers of Gupta (2024), in `papers/threshold`, with ns-3's `TcpLinuxReno`. Our side uses
  `ns3_reno` with the settings of the LAN and `write_size 512 B`. ns-3 has at least ten seeds (forty for drop
  tail at 10 ms, twenty for threshold 100 at 100 ms), and our side has twenty.
* **WLAN**: 1 to 20 stations of an 802.11n cell that always have a packet of 1500 B to send, with and without
  A-MPDUs; 10 s after 2 s, five seeds. In the program, best effort waits as long as DCF does, and sends again without
  a block acknowledgement request. No packet expires in the queue (by default after 0.5 s; with it, 20 stations have
  half of the goodput), and none is given up. By default ns-3 gives up an A-MPDU after seven failures in all, because
  a block acknowledgement between them does not reset its count; that costs 11 % with 20 stations. Our side has
  `eifs 34 us`, as frames that begin together are noise to ns-3 and no frame. These settings were found after a first
  comparison, in which cells of ten and more stations differed by a third and more.
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
        _INTRODUCTION.format(
            replications=_replications(outcomes),
            errors=f"{STANDARD_ERRORS:g}",
            noise=f"{NOISE_LIMIT:g}",
            drops=LEAST_DROPS,
            share=percent(SHARE).replace(".0", ""),
            held_out=percent(heldout.SHARE).replace(".0", ""),
            below=f"{100 * BELOW_CEILING:g} points",
            allowed=heldout.ALLOWED,
        ),
        _summary(outcomes),
        _first_looks(heldout.history(heldout.FIRST_LOOKS)),
        _held_out(heldout.history()),
    ]
    parts += [_peer(outcome) for outcome in outcomes]
    return "".join(parts).rstrip("\n") + "\n"


def _replications(outcomes: Sequence[Outcome]) -> int:
    return min((row.replications for outcome in outcomes for row in outcome.rows), default=0)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(markdown(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n\n"


def _summary(outcomes: Sequence[Outcome]) -> str:
    rows = [
        [
            TITLES[outcome.peer],
            tally.title,
            tally.rule,
            f"{tally.passed} of {tally.points}",
            percent(tally.share) if tally.points else "–",
            percent(tally.ceiling),
            percent(tally.needed) if tally.points else "–",
            ("yes" if tally.is_enough else "**no**") if tally.points else "–",
            str(tally.too_few) if tally.too_few else "–",
        ]
        for outcome in outcomes
        for tally in outcome.metrics()
    ]
    head = ["compared with", "metric", "tolerance", "points that pass", "share", "ceiling", "needed", "enough"]
    return _markdown([*head, "too few to judge"], rows)


def _held_out(runs: Sequence[Mapping[str, str]]) -> str:
    """Return the history of the held-out points: shares by metric."""
    title = "## Held-out points of Linux\n\n"
    if not runs:
        return f"{title}The held-out points have not been compared yet.\n\n"
    return (
        f"{title}Each run of the held-out points is a row. A cell has the share of points that pass, the number of "
        "points, and the ceiling in parentheses. Run 1 is of recordings that measured the groups of flows of a point "
        "at different times; the points with several groups were thrown away and are recorded again. Run 5 is of all "
        "points, with three runs of Linux and 20 replications of ours. The runs before had one run of Linux and five "
        "replications. The aim of 92 % was set before run 1, but the command demanded 95 % up to run 5.\n\n"
        + _history(runs)
    )


def _first_looks(looks: Sequence[Mapping[str, str]]) -> str:
    """Return what development points showed when they were new."""
    if not looks:
        return ""
    return (
        "## Development points of Linux when they were new\n\n"
        "Development points that are recorded are compared before anything is changed because of them. Each row has "
        "the points of a first look.\n\n" + _history(looks)
    )


def _history(runs: Sequence[Mapping[str, str]]) -> str:
    rows = []
    for number_, run in enumerate(runs, 1):
        cells = [str(number_), run["date"], f"{run['build']}, {run['commit']}".rstrip(", "), run["compared_points"]]
        for metric in heldout.METRICS:
            passed, points, ceiling = heldout.share(run, metric)
            cells.append(f"{percent(passed / points)} of {points} ({percent(ceiling)})" if points else "–")
        rows.append(cells)
    titles = {"goodput": "goodput", "delay": "queueing delay", "drops": "drop rate", "marks": "mark rate"}
    head = ["run", "date", "build", "points", *(titles[metric] for metric in heldout.METRICS)]
    return _markdown(head, rows)


def _peer(outcome: Outcome) -> str:
    title = TITLES[outcome.peer]
    parts = [f"## {title}\n\n{_ABOUT[outcome.peer]}\n"]
    rows = [
        [
            row.point.name,
            row.metric.title + (f", {row.metric.unit}" if row.metric.unit else ""),
            number(row.ours, row.metric.digits),
            number(row.theirs.value, row.metric.digits),
            difference(row),
            verdict(row) if row.passes or row.is_too_few else f"**{verdict(row)}**",
        ]
        for row in outcome.rows
    ]
    parts.append(_explained(outcome))
    if outcome.peer == "linux":
        parts.append(_kernels(outcome))
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
        left_out: dict[str, list[str]] = {}
        for point, reason in outcome.left_out:
            left_out.setdefault(reason.split(";")[0], []).append(point.name)
        parts += [f"* {'; '.join(names)}: {reason}.\n" for reason, names in left_out.items()]
        parts.append("\n")
    parts.append(_folded(outcome, title, rows))
    return "".join(parts)


_KERNELS: Final = """\
### Linux {newer} beside {older}

{points} of the drawn points were also recorded with Linux {newer}. They are of the first 40 of the file, whose order
is random. The machine, the commands and the start times are the same. {development} of them are development points.
Of the held-out points, only shares are shown.

The spread of a single run is pooled over the points that have several runs. It is {spreads}. Drops and marks have at
least the spread of a Poisson variable. Two kernels differ *beyond the spread* if the difference is more than
{errors} standard errors by that spread. The tolerance is that of the first table.

"""


def _kernels(outcome: Outcome) -> str:
    """Return where two kernels differ at the same points."""
    sets = {chosen: kernels.pairs(chosen) for chosen in (drawn.DEVELOPMENT, drawn.HELD_OUT)}
    both = [pair for pairs in sets.values() for pair in pairs]
    if not both:
        return ""
    pooled = {pair.metric.title: pair.spread for pair in both if pair.spread is not None}
    text = _KERNELS.format(
        newer=kernels.NEWER,
        older=kernels.OLDER,
        points=len({pair.point.name for pair in both}),
        development=len({pair.point.name for pair in sets[drawn.DEVELOPMENT]}),
        spreads=", ".join(f"{percent(spread)} of the {title}" for title, spread in pooled.items()),
        errors=f"{STANDARD_ERRORS:g}",
    )
    rows = [_shares(chosen, metric, pairs) for chosen, pairs in sets.items() for metric in heldout.METRICS]
    head = ["set", "metric", "points", "within the tolerance", "within the spread", f"mean of {kernels.NEWER} to 6.1"]
    parts = [text, _markdown(head, [row for row in rows if row])]
    far = [pair for pair in sets[drawn.DEVELOPMENT] if pair.is_counted and pair.is_beyond_spread]
    if far:
        parts.append("The development points that differ beyond the spread:\n\n")
        head = ["point", "metric", kernels.OLDER, kernels.NEWER, "difference", "tolerance"]
        parts.append(_markdown(head, [_far(pair) for pair in far]))
    else:
        parts.append("No development point differs beyond the spread.\n\n")
    return "".join(parts) + _against_newer(outcome)


def _shares(chosen: str, metric: str, pairs: Sequence[kernels.Pair]) -> list[str]:
    counted = [pair for pair in pairs if pair.metric.key == metric and pair.is_counted]
    if not counted:
        return []
    ratios = [pair.newer.value / pair.older.value for pair in counted if pair.older.value > 0]
    return [
        chosen,
        counted[0].metric.title,
        str(len(counted)),
        percent(sum(pair.is_within_tolerance for pair in counted) / len(counted)),
        percent(sum(not pair.is_beyond_spread for pair in counted) / len(counted)),
        f"{fmean(ratios):.3f}" if ratios and chosen == drawn.DEVELOPMENT else "–",
    ]


def _far(pair: kernels.Pair) -> list[str]:
    digits, unit = pair.metric.digits, pair.metric.unit
    share = f"{pair.difference / pair.older.value:+.1%}".replace("%", " %")
    return [
        pair.point.name,
        pair.metric.title + (f", {unit}" if unit else ""),
        number(pair.older.value, digits),
        number(pair.newer.value, digits),
        share,
        "within" if pair.is_within_tolerance else "**beyond**",
    ]


def _against_newer(outcome: Outcome) -> str:
    """Return the shares of our side against either kernel, at the development points that both measured."""
    compared = kernels.against_newer(outcome)
    rows = []
    for metric in heldout.METRICS:
        own = [pair for pair in compared if pair[0].metric.key == metric]
        cells = []
        for side in (0, 1):
            counted = [pair[side] for pair in own if pair[side].is_counted]
            cells.append(f"{sum(row.passes for row in counted)} of {len(counted)}" if counted else "–")
        if own:
            rows.append([own[0][0].metric.title, *cells])
    head = ["metric", f"points that pass against {kernels.OLDER}", f"against {kernels.NEWER}"]
    return f"The simulator against either kernel, at the same development points:\n\n{_markdown(head, rows)}"


def _folded(outcome: Outcome, title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return the table of every point, which opens at a click; `markdown` is for Python-Markdown."""
    if not rows:
        return ""
    points = len(dict.fromkeys(row.point.name for row in outcome.rows))
    return (
        f'### Every point of {title}\n\n<details markdown="1">\n'
        f"<summary>{points} points, {len(rows)} comparisons</summary>\n\n"
        + _markdown(["point", "metric", "ours", title, "difference ± 95 %", "verdict"], rows)
        + "</details>\n\n"
    )


def _explained(outcome: Outcome) -> str:
    misses = [row for row in outcome.rows if row.is_counted and not row.passes]
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
