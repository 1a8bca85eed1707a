"""``sojourn trace``: look at the rate of a link over time or at a capture, or make a trace."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base.core import SojournError
from sojourn.cli.options import add_flag, add_json, add_out, seed
from sojourn.cli.plot_and_table import FORMATS, WIDTH, inches, write

if TYPE_CHECKING:
    from sojourn.view.trace import Summary

MAKERS: Final = ("lte", "starlink")
_SHARES: Final = (0.05, 0.5, 0.95)


def add(verbs: Any) -> None:
    """Add the verb ``trace``."""
    parser = verbs.add_parser(
        "trace",
        description="Look at a trace of a link's rate or at the IP packets of a capture, of any length: duration, "
        "mean, quantiles of the rate over short windows and the longest gap; of a capture also which frames were "
        "taken and which were skipped. --out draws it. With --make, write a trace like those of a cellular link or "
        "of Starlink to standard output.",
        epilog="example: sojourn trace lte --out lte.svg",
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a trace in Mahimahi's format, a table of time and rate, one that comes with Sojourn (lte, starlink), "
        "or a capture (.pcap, .pcapng)",
    )
    parser.add_argument("--window", default="100ms", metavar="TIME", help="length of a window (default 100ms)")
    add_flag(parser, "--hold", "keep the last rate of a table after its end; by default the table repeats")
    parser.add_argument("--make", choices=MAKERS, help="make a trace like those of such a link")
    parser.add_argument("--duration", default="60s", metavar="TIME", help="with --make: its length (default 60s)")
    parser.add_argument("--seed", type=seed, default=1, metavar="S", help="with --make: its seed (default 1)")
    parser.add_argument(
        "--width", default=WIDTH, metavar="WIDTH", help=f"of the picture as printed (default {WIDTH})"
    )
    add_out(parser, metavar="FILE", help=f"draw it into this file, {', '.join(FORMATS)}")
    add_json(parser)
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Look at a trace, or make one."""
    from sojourn.base.units import to_ns
    from sojourn.view import trace

    if (options.file is None) == (options.make is None):
        raise SojournError("trace: allowed: a FILE to look at, or --make with one of lte, starlink")
    if options.make:
        maker = trace.lte if options.make == "lte" else trace.starlink
        print(maker(duration=options.duration, seed=options.seed).text, end="")
        return
    window_s = to_ns("--window", options.window) / 1e9
    if window_s <= 0:
        raise SojournError(f'--window "{options.window}": allowed: a time above 0')
    found = trace.summary(options.file, window_s=window_s, hold=options.hold)
    facts = _facts(found)
    if options.json:
        print(json.dumps({"trace": found.name, **facts}, allow_nan=False))
    else:
        print(_shown(found, facts))
    if options.out:
        width = inches(options.width)
        write(found.plot, Path(options.out), width, force=options.force)


_FORMATS: Final = {"opportunities": "mahimahi", "rates": "table of time and rate", "packets": "capture"}
_LONGEST: Final = {
    "opportunities": "longest time between opportunities",
    "rates": "longest time without sending",
    "packets": "longest time between packets",
}


def _facts(found: Summary) -> dict[str, Any]:
    import numpy as np

    rates = found.rate_bit_s
    return {
        "format": _FORMATS[found.kind],
        "duration_s": found.length_s,
        "window_s": found.window_s,
        "rate_bit_s_mean": found.mean_bit_s,
        **{f"rate_bit_s_p{share * 100:g}": float(np.quantile(rates, share)) for share in _SHARES},
        "rate_bit_s_min": float(rates.min()),
        "rate_bit_s_max": float(rates.max()),
        "longest_gap_s": found.longest_gap_s,
        **({} if found.account is None else {"account": found.account}),
    }


def _shown(found: Summary, facts: dict[str, Any]) -> str:
    from sojourn.model.recorded import words
    from sojourn.results import text

    def mbit(name: str) -> str:
        return f"{facts[name] / 1e6:.3g} Mbit/s"

    over = f"rate over {found.window_s * 1e3:g} ms"
    rows = [
        ["format", facts["format"]],
        *([what, value] for what, value in words(found.account or {}).items()),
        ["duration", f"{facts['duration_s']:.10g} s"],
        ["mean rate", mbit("rate_bit_s_mean")],
        [f"{over}, lowest", mbit("rate_bit_s_min")],
        *([f"{over}, {share * 100:g} % quantile", mbit(f"rate_bit_s_p{share * 100:g}")] for share in _SHARES),
        [f"{over}, highest", mbit("rate_bit_s_max")],
        [_LONGEST[found.kind], f"{facts['longest_gap_s'] * 1e3:.10g} ms"],
    ]
    return text.table([found.name, ""], rows)
