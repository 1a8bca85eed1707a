"""The answer in words, as commands to paste, as data and as a page."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.base import core
from sojourn.model.scheme import Scheme
from sojourn.results import metrics
from sojourn.studies.advise import openwrt, overheads
from sojourn.studies.advise.line import SITES
from sojourn.studies.advise.search import MEASURES, SHORT, SURE
from sojourn.tc.commands import commands as tc
from sojourn.view import charts
from sojourn.view.canvas import Picture, logarithmic
from sojourn.view.palette import INK, MUTED
from sojourn.view.report import page
from sojourn.view.report.sections import Drawing, Section, code, items

if TYPE_CHECKING:
    from sojourn.studies.advise.line import Line, Shaper
    from sojourn.studies.advise.search import Advice, Outcome

_WAN, _LAN = "eth0", "ifb0"


def commands(line: Line, platform: str, shaper: Shaper) -> list[str]:
    """Return what to paste, for both directions."""
    if platform == "linux":
        return _linux(line, shaper)
    if platform == "openwrt":
        return openwrt.commands(line, shaper)
    return _sojournd(line, shaper)


def _bit_s(mbit_s: float, share: float = 1.0) -> int:
    return round(mbit_s * share * 1e3) * 1000


def _one_way(line: Line, scheme: str, mbit_s: float, device: str, *, is_ingress: bool) -> list[str]:
    if Scheme(scheme).algorithm == "cake":
        text = f"{scheme} {line.framing}" + (" ingress" if is_ingress else "")
        return [one for one in tc(text, dev=device, rate=f"{_bit_s(mbit_s)} bit/s") if not one.startswith("#")]
    options, share = stab(line)
    made = [one for one in tc(scheme, dev=device, rate=f"{_bit_s(mbit_s, share)} bit/s") if not one.startswith("#")]
    return [one.replace("root handle 1: htb", f"root handle 1: stab {options} htb") for one in made]


def stab(line: Line) -> tuple[str, float]:
    """Return the options of tc's ``stab`` on an Ethernet device, and the share of the line's rate that remains."""
    options, share = overheads.STAB[line.framing]
    return f"overhead {overheads.of_stab(line.framing)}{options}", share


def _linux(line: Line, shaper: Shaper) -> list[str]:
    made = [f"# {_WAN} is the interface towards the provider"]
    if line.framing in overheads.PPPOE and Scheme(shaper.scheme).algorithm != "cake":
        ppp = overheads.of_stab(line.framing, "ppp")
        made += [f"# its modem speaks PPPoE; on a ppp interface of the gateway's own, the overhead is {ppp}"]
    if shaper.up_mbit_s is not None:
        made += ["# upload", *_one_way(line, shaper.scheme, shaper.up_mbit_s, _WAN, is_ingress=False)]
    if shaper.down_mbit_s is not None:
        made += [
            "# download, through an ingress device",
            f"ip link add {_LAN} type ifb",
            f"ip link set {_LAN} up",
            f"tc qdisc replace dev {_WAN} handle ffff: ingress",
            f"tc filter replace dev {_WAN} parent ffff: matchall action mirred egress redirect dev {_LAN}",
            *_one_way(line, shaper.scheme, shaper.down_mbit_s, _LAN, is_ingress=True),
        ]
    return made


def _sojournd(line: Line, shaper: Shaper) -> list[str]:
    made = ["# port A is towards the provider, port B towards the home"]
    for name, interface in (("a", "eth0"), ("b", "eth1")):
        made += [f"[ports.{name}]", 'back_end = "af_packet"', f'interface = "{interface}"', ""]
    for name, rate in (("a_to_b", shaper.down_mbit_s), ("b_to_a", shaper.up_mbit_s)):
        if rate is not None:
            made += [
                f"[{name}]",
                f'scheme = "{shaper.scheme}"',
                f'rate = "{_bit_s(rate) // 1000} kbit/s"',
                f'framing = "{line.framing}"',
                "",
            ]
    return made[:-1]


def rows(advice: Advice) -> list[tuple[str, ...]]:
    """Return the evidence: a row a measure, today and under the recommendation."""
    made = []
    for name, title, unit, _ in MEASURES:
        if name not in advice.today.values:
            continue
        cells = [number(one, name) for one in (advice.today, advice.best) if one is not None]
        made.append((f"{title} ({unit})" if unit else title, *cells))
    return made


def number(one: Outcome, name: str) -> str:
    """Return the mean of a measure with its half-width, and in how many runs it has no value."""
    found, runs = one.estimate(name), len(one.values[name])
    if not found.replications:
        return f"none in {runs} runs"
    text = metrics.shown(found)
    return text if found.replications == runs else f"{text} (none in {runs - found.replications} of {runs} runs)"


def sentences(advice: Advice) -> list[str]:
    """Return the answer in sentences."""
    line = advice.line
    which = "99th percentile of the latency" if line.criterion == "latency" else "mean latency"
    today = advice.today.mean(line.criterion)
    if advice.best is None or advice.best.shaper is None:
        return [
            f"Nothing is to be gained. Under load, the {which} is {today:.0f} ms above the base RTT, and no shaper "
            "that was tried reduces it by 10 ms or more."
        ]
    best, shaper = advice.best, advice.best.shaper
    made = [
        f"Use {shaper.scheme} with a shaper of {shaper.down_mbit_s:.4g} Mbit/s down and {shaper.up_mbit_s:.4g} "
        f"Mbit/s up.",
        f"Under load, the {which} falls from {today:.0f} to {best.mean(line.criterion):.0f} ms above the base RTT.",
    ]
    costs = [
        f"{word} {100 * (1 - best.mean(name) / advice.today.mean(name)):.0f} %"
        for name, word in (("down", "of the download"), ("up", "of the upload"))
        if best.mean(name) < advice.today.mean(name)
    ]
    if costs:
        made.append(f"The margin costs {' and '.join(_before(cost) for cost in costs)}.")
    if advice.certainty:
        made.append(f"{advice.certainty}.")
    made += _beside(advice)
    if advice.at_least is not None:
        least = advice.at_least
        made.append(
            "The line's rate varies. With a shaper at the rate that it has in nine of ten seconds, "
            f"{line.least_mbit_s:.4g} Mbit/s, the {which} is {least.mean(line.criterion):.0f} ms, and the download "
            f"has {least.mean('down'):.3g} Mbit/s."
        )
    return made


def _beside(advice: Advice) -> list[str]:
    """Return whether tail drop with a short queue would do as well."""
    one = advice.standing
    if one is None:
        return []
    limits = f"{SHORT[0]} to {SHORT[-1]} packets"
    if one.place == "off":
        return [
            f"Tail drop with {limits} at the same rates is not as good, whatever its limit (p = {one.p_off:.1g})."
        ]
    if one.place == "behind":
        return [f"Tail drop with {one.limit} packets at the same rates is better (p = {one.p_behind:.1g})."]
    return [f"It is not shown to be better than tail drop with {limits} at the same rates."]


def _before(cost: str) -> str:
    words = cost.rsplit(" ", 2)
    return f"{words[1]} {words[2]} {words[0]}"


def text(advice: Advice) -> str:
    """Return the answer for the terminal."""
    from sojourn.results.text import table

    heads = ["", "today", *(["recommended"] if advice.best else [])]
    parts = [
        "\n".join(sentences(advice)),
        "",
        table(heads, [list(row) for row in rows(advice)], numbers=True),
        textwrap.fill(note(advice.line), 100),
    ]
    if advice.best and advice.best.shaper:
        parts += ["", *commands(advice.line, advice.platform, advice.best.shaper)]
    return "\n".join(parts)


def note(line: Line) -> str:
    """Return what the numbers are of."""
    site = SITES[line.site]
    return (
        f"Mean ± half-width of its 95 % interval, {SURE} replications, simulated: {site.downloads} downloads and "
        f"{site.uploads} uploads beside the other needs. The download is that of transfers, pages and video. One "
        f"measurement varies more: 95 % of single runs are within {math.sqrt(SURE + 1):.1f} times the half-width."
    )


def data(advice: Advice) -> dict[str, Any]:
    """Return the answer as one document."""

    def of(one: Outcome | None) -> dict[str, Any] | None:
        if one is None:
            return None
        setting = None if one.shaper is None else asdict(one.shaper)
        values = {name: [x if np.isfinite(x) else None for x in own.tolist()] for name, own in one.values.items()}
        return {"shaper": setting, "values": values}

    best = advice.best
    return {
        "platform": advice.platform,
        "sentences": sentences(advice),
        "today": of(advice.today),
        "recommended": of(best),
        "second": of(advice.second),
        "at_least_rate": of(advice.at_least),
        "beside_tail_drop": None if advice.standing is None else asdict(advice.standing),
        "tried": [of(one) for one in advice.tried],
        "commands": commands(advice.line, advice.platform, best.shaper) if best and best.shaper else [],
    }


def html(advice: Advice) -> str:
    """Return the answer as a page to send to someone."""
    line = advice.line
    heads = ("", "today", *(("recommended",) if advice.best else ()))
    table = Drawing("table", None, "The line under load", heads, rows(advice))
    caption = "Latency under load against the goodput of both directions, as a share of the line."
    tried = "Each point is a setting of the gateway: a scheme at a rate of its shaper."
    chosen = advice.best.shaper if advice.best else None
    paste = [code("\n".join(commands(line, advice.platform, chosen)))] if chosen else []
    return page(
        "Advice for an access line",
        (
            *([Section("commands", "To paste", paste)] if paste else []),
            Section("evidence", "Evidence", (note(line),), (table,)),
            Section("tried", "What was tried", (tried,), (Drawing("picture", _picture(advice), caption),)),
        ),
        kind="advice",
        top=[items(sentences(advice))],
        facts=(
            ("Line", f"{line.down_mbit_s:.4g}/{line.up_mbit_s:.4g} Mbit/s, {line.technology}"),
            ("Base RTT", f"{line.rtt_ms[0]:g} to {line.rtt_ms[1]:g} ms"),
            ("Site", f"{line.site}: {', '.join(line.needs)}"),
            ("Provider's queue", f"{line.isp_buffer_ms:g} ms"),
            ("Platform", advice.platform),
            ("Build", core.build()),
        ),
        made=core.version(),
    )


def _picture(advice: Advice) -> Picture:
    line = advice.line
    marked = [(advice.today, "today", INK), (advice.best, "recommended", charts.GOOD)]
    groups: list[tuple[Sequence[Outcome], str, str, str, int]] = [
        ([one for one in advice.tried if one.shaper and one.shaper.scheme == name], name, marker, MUTED, 5)
        for name, marker in zip(
            dict.fromkeys(one.shaper.scheme for one in advice.tried if one.shaper), "os^DvPX", strict=False
        )
    ]
    groups += [([one], name, "*", color, 12) for one, name, color in marked if one]
    with charts.panels(1, 1, 0.0, 4.0) as (figure, (axes,)):
        for own, name, marker, color, size in groups:
            x = [50 * (one.mean("down") / line.down_mbit_s + one.mean("up") / line.up_mbit_s) for one in own]
            y = [one.mean("latency") for one in own]
            axes.plot(x, y, marker, color=color, label=name, markersize=size)
        logarithmic(axes, "y")
        axes.set_xlabel("Goodput, % of the line")
        axes.set_ylabel("Latency above the base RTT, p99 (ms)")
        charts.legend(figure, [axes], 4)
    return figure
