"""What holds of every scenario: the laws, each with its reason, and a command that tries them on scenarios by chance.

    python tests/python/laws.py 100000              runs of that many scenarios, on all cores
    python tests/python/laws.py 1 --first 4711      the scenario of a number again
    python tests/python/laws.py FILE                a scenario from a file: what this prints when a law fails

A law that fails prints the smallest scenario found that still breaks it.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

# The modules of the laws, which register them in this order.
import laws_of_reports  # noqa: F401
import laws_of_runs  # noqa: F401
import laws_of_time  # noqa: F401
from generator import Draw, Generated, generate, load, smaller
from law import LAWS, Case, Law
from sojourn.base.core import SojournError

_SHRINKS: Final = 400
"""Smaller scenarios that are tried for a failure."""


@dataclass(slots=True)
class Tally:
    """What became of the laws."""

    scenarios: int = 0
    runs: int = 0
    held: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    cpu_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, other: Tally) -> None:
        self.scenarios += other.scenarios
        self.runs += other.runs
        self.held += other.held
        for name, spent in other.cpu_s.items():
            self.cpu_s[name] += spent
        for name, found in other.broken.items():
            self.broken.setdefault(name, []).extend(found)


def try_all(numbers: Iterable[int], names: Iterable[str] | None = None) -> Tally:
    """Try the laws on the scenarios of some numbers."""
    tally = Tally()
    chosen = [one for one in LAWS if names is None or one.name in set(names)]
    for number in numbers:
        began = time.process_time()
        case = Case(generate(number))
        tally.scenarios += 1
        tally.cpu_s["generator"] += time.process_time() - began
        for one in chosen:
            if Draw(number ^ 0x5EED).randrange(one.once_in):
                continue
            began = time.process_time()
            found = one.broken(case)
            tally.cpu_s[one.name] += time.process_time() - began
            if found:
                tally.broken.setdefault(one.name, []).append((number, found[0]))
            elif found is not None:
                tally.held[one.name] += 1
        tally.runs += case.runs
    return tally


def shrunk(one: Law, made: Generated) -> Generated:
    """Return the smallest scenario found that still breaks a law."""
    tries = 0
    while tries < _SHRINKS:
        for written in smaller(made.written):
            tries += 1
            try:
                other = Generated(made.number, written, load(written), made.scheme)
            except SojournError:
                continue
            if one.broken(Case(other)):
                made = other
                break
            if tries >= _SHRINKS:
                return made
        else:
            return made
    return made


def _table(tally: Tally, wall_s: float) -> str:
    rows = [f"{'law':<18}{'held':>9}{'broken':>8}{'CPU, s':>9}  reason"]
    for one in LAWS:
        broken = len(tally.broken.get(one.name, ()))
        rows.append(
            f"{one.name:<18}{tally.held[one.name]:>9,}{broken:>8,}{tally.cpu_s[one.name]:>9.1f}  {one.reason}"
        )
    total = sum(tally.cpu_s.values())
    rows.append(
        f"{tally.scenarios:,} scenarios, {tally.runs:,} runs, {total:.0f} s of CPU in {wall_s:.0f} s; "
        f"{1e3 * total / max(1, tally.scenarios):.1f} ms a scenario"
    )
    return "\n".join(rows)


def _chunk(numbers: range) -> Tally:
    return try_all(numbers)


def main() -> int:
    """Try the laws on many scenarios, or on one."""
    about, _, usage = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=usage, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", help="how many scenarios, or the file of one")
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario (0)")
    parser.add_argument("--law", action="append", help="only this law; again for more")
    parser.add_argument("--show", type=int, default=3, help="failures of a law that are shown (3)")
    given = parser.parse_args()
    began = time.monotonic()
    if not given.what.isdigit():
        written = json.loads(Path(given.what).read_text(encoding="utf-8"))
        scheme = written.pop("scheme", "codel")
        made = Generated(given.first, written, load(written), scheme)
        failed = 0
        for one in LAWS:
            for what in one.broken(Case(made)) or ():
                failed = 1
                print(f"{one.name}: {what}")
        return failed
    count = int(given.what)
    tally = Tally()
    chunks = [
        range(first, min(first + 100, given.first + count)) for first in range(given.first, given.first + count, 100)
    ]
    if given.law or count <= 100:
        tally = try_all(range(given.first, given.first + count), given.law)
    else:
        with multiprocessing.get_context("forkserver").Pool() as pool:
            for done in pool.imap_unordered(_chunk, chunks):
                tally.add(done)
                for name, found in done.broken.items():
                    print(f"{name}: {' '.join(str(number) for number, _ in found)}", file=sys.stderr, flush=True)
    for one in LAWS:
        found = sorted(tally.broken.get(one.name, ()))
        for number, what in found[: given.show]:
            small = shrunk(one, generate(number))
            print(f"{one.name}, scenario {number}: {what}")
            print(f"  smallest: {(one.broken(Case(small)) or [what])[0]}")
            print(f"  {json.dumps({**small.written, 'scheme': small.scheme})}")
        if len(found) > given.show:
            print(f"{one.name}: also {' '.join(str(number) for number, _ in found[given.show :][:20])}")
    print(_table(tally, time.monotonic() - began))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
