"""Writes the plans of RFC 7928's scenarios, `scenarios/rfc7928`, with their default setting.

``docs/rfc7928.py`` writes them; ``docs/rfc7928.py --check`` fails where one is not what the library makes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sojourn.model.scheme import Scheme
from sojourn.plan import dumps
from sojourn.studies.characterize import SUITE, Setting
from sojourn.studies.characterize.plans import document

FOLDER = Path(__file__).resolve().parents[1] / "scenarios" / "rfc7928"
SCHEMES = tuple(Scheme(name, name) for name in ("pfifo", "codel", "pie", "fq_codel"))


def texts() -> dict[str, str]:
    """The plans by file name."""
    found = {}
    for scenario in SUITE:
        plan = document(scenario, Setting(), SCHEMES, is_quick=False)
        if plan is not None:
            head = f"# RFC 7928, section {scenario.section} ({scenario.weight}): {scenario.question}\n"
            found[f"{scenario.section}.toml"] = head + dumps(plan)
    return found


def main() -> int:
    """Writes or compares."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    options.add_argument("--check", action="store_true", help="write nothing; fail where a plan differs")
    check = options.parse_args().check
    there = {file.name: file.read_text() for file in FOLDER.glob("*.toml")}
    wanted = texts()
    if check:
        differ = sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))
        print("\n".join(differ), end="\n" if differ else "")
        return min(len(differ), 1)
    FOLDER.mkdir(exist_ok=True)
    for name in there.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
