"""Documents of the studies: every interval that one of them prints is what the one estimator gave while it was made.

    python tests/python/apart/documents.py 10       ten documents of each command, and how many intervals they print

The estimator is watched. An interval is found again if it is the mean and half-width of one of its answers, in one
of the units below, to the digits that are printed.
"""

import argparse
import html
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from sojourn import stats
from sojourn.cli import main

PRINTED: Final = re.compile(r"([-−+]?\d[\d,]*(?:\.\d+)?)\s*±\s*(\d[\d,]*(?:\.\d+)?)")
SCALES: Final = (1.0, -1.0, 100.0, -100.0, 1e-3, 1e3, 1e-6, 1e6, 1e-9, 1e9)
ESTIMATORS: Final = ("estimate", "paired", "unpaired")
SMALL: Final = ("--quick", "--no-cost")

COMMANDS: Final[dict[str, list[list[str]]]] = {
    "advise": [
        [f"--down={down}Mbit/s", f"--up={up}Mbit/s", *more]
        for down, up, more in (
            (20, 5, []),
            (50, 10, ["--technology=docsis"]),
            (16, 1, ["--technology=adsl"]),
            (100, 40, ["--technology=vdsl", "--rtt=15ms..120ms"]),
            (8, 8, ["--for=calls"]),
            (30, 3, ["--on=openwrt"]),
            (12, 6, ["--on=sojournd"]),
            (25, 25, ["--for=games,web"]),
            (40, 20, ["--isp-buffer=50ms"]),
            (10, 2, ["--for=bulk"]),
        )
    ],
    "atlas": [
        ["--no-cost", "--replicates=3", f"--aqm={one}", f"--aqm={other}"]
        for one, other in zip(
            ("codel", "pie", "red", "cake", "fq_codel", "sfq", "blue", "choke", "avq", "rem"),
            ("pfifo", "codel", "pie", "fq_codel", "sfq", "red", "choke", "avq", "rem", "blue"),
            strict=True,
        )
    ],
    "characterize": [
        [scheme, *SMALL, f"--section={section}"]
        for scheme, section in zip(
            ("codel", "pie", "red", "cake", "fq_codel", "sfq", "blue", "choke", "avq", "rem"),
            ("4.4", "5.1.2", "5.2", "5.3a", "5.3b", "5.4", "6.2", "8.2.2", "8.2.5", "9.1"),
            strict=True,
        )
    ],
    "papers": [
        ["run", paper, f"--only={only}", "--replicates=3"]
        for paper, only in (
            ("threshold", "Placements, NewReno"),
            ("threshold", "Queues, Linux Reno"),
            ("threshold", "Saw-tooth, BBR"),
            ("fairness", "Figure 4"),
            ("fairness", "Figure 8"),
            ("fairness", "Queue sizes"),
            ("daqm", "Table 4"),
            ("daqm", "Table 8"),
            ("daqm", "Figure 9"),
            ("daqm", "http-pareto"),
        )
    ],
}


@contextmanager
def watched() -> Iterator[list[tuple[float, float]]]:
    """Keep what the estimators return: mean and half-width."""
    kept: list[tuple[float, float]] = []
    replaced: list[tuple[ModuleType, str, Any]] = []

    def watch(own: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            found = own(*given, **named)
            if found.half_width is not None:
                kept.append((found.mean, found.half_width))
            return found

        return call

    for name in ESTIMATORS:
        own = getattr(stats, name)
        other = watch(own)
        for module in [one for key, one in sys.modules.items() if key.startswith("sojourn")]:
            if getattr(module, name, None) is own:
                replaced.append((module, name, own))
                setattr(module, name, other)
    try:
        yield kept
    finally:
        for module, name, own in replaced:
            setattr(module, name, own)


def value(text: str) -> tuple[float, float]:
    """Return a printed number and half a unit of its last digit."""
    plain = text.replace(",", "").replace("−", "-")
    return float(plain), 0.5000001 * 10.0 ** -len(plain.partition(".")[2])


def invented(printed: Iterable[tuple[str, str]], kept: list[tuple[float, float]]) -> list[str]:
    """Return the intervals of a document that no answer of the estimators explains."""
    answers = np.array(kept or [(np.nan, np.nan)])
    found = []
    for mean, half in printed:
        (centre, of_centre), (width, of_width) = value(mean), value(half)
        if not any(
            np.any(
                (np.abs(answers[:, 0] * scale - centre) <= of_centre)
                & (np.abs(answers[:, 1] * abs(scale) - width) <= of_width)
            )
            for scale in SCALES
        ):
            found.append(f"{mean} ± {half}")
    return found


def intervals(folder: Path, printed: str) -> set[tuple[str, str]]:
    """Return the intervals in what a command printed and in its pages."""
    texts = [printed, *(page.read_text(encoding="utf-8") for page in folder.rglob("*.html"))]
    return {pair for text in texts for pair in PRINTED.findall(html.unescape(re.sub(r"<[^>]*>", " ", text)))}


def document(command: str, given: list[str], folder: Path) -> tuple[int, list[str]]:
    """Make a document; return how many intervals it has, and those that the estimators did not give."""
    out = folder / ("answer.html" if command == "advise" else "out")
    folder.mkdir(exist_ok=True)
    text, messages = StringIO(), StringIO()
    with watched() as kept, redirect_stdout(text), redirect_stderr(messages):
        status = main([command, *given, "--out", str(out)])
    if status not in (0, 1):
        raise RuntimeError(f"{command} {' '.join(given)}: status {status}\n{messages.getvalue()}")
    found = intervals(folder, text.getvalue())
    return len(found), invented(found, kept)


def run() -> int:
    """Make documents of each command, and say which intervals the estimators did not give."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="documents of each command, at most 10")
    parser.add_argument("--only", choices=COMMANDS, help="this command")
    asked = parser.parse_args()
    import_module("sojourn.studies.papers.execute")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for command in [asked.only] if asked.only else COMMANDS:
            printed = 0
            for number, given in enumerate(COMMANDS[command][: asked.count]):
                count, wrong = document(command, given, Path(scratch, f"{command}-{number}"))
                printed += count
                failed += len(wrong)
                what = f"{count} intervals, {len(wrong)} not of the estimator {wrong[:5]}"
                print(f"{command} {' '.join(given)}: {what}", flush=True)
            # Some parts of a study have pictures alone, but not all of them.
            failed += not printed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run())
