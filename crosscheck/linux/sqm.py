#!/usr/bin/env python3
"""Records what OpenWrt's sqm-scripts install when they are given what `sojourn advise --on openwrt` prints.

    sqm.py FILE [--folder FOLDER] [--scripts CLONE] [--check]

The scripts (GPL-2, https://github.com/tohojo/sqm-scripts) are fetched at the commit below, or taken from a clone, and
run unmodified in the machine of run.py. FILE has a JSON document for each line and scheme: what tc shows of both
devices. `--check` writes nothing: it ends with status 1 where the answers are not those of FILE, and 77 where the
machine or the scripts cannot be had. This takes the project's own Python.
"""
# It runs git by name, with arguments of its own.

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from run import HERE, KERNEL, boot, image

from sojourn.studies.advise import Line, answer
from sojourn.studies.advise.line import Shaper

REPOSITORY: Final = "https://github.com/tohojo/sqm-scripts"
COMMIT: Final = "95337de67a35b474d493966223f324eb1302adfc"
# The upload is slow enough for the scripts to change CoDel's target.
RATES: Final = (45.0, 0.9)
CASES: Final = [
    (technology, scheme)
    for technology in ("docsis", "vdsl", "adsl", "ethernet")
    for scheme in ("fq_codel", "cake besteffort")
]


def scripts(clone: Path | None, into: Path) -> list[Path]:
    """Returns the scripts, written into a folder, and what they need of a router."""
    if clone is None:
        clone = Path.home() / ".cache/sojourn/sqm-scripts"
        if not clone.exists():
            subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
    listed = subprocess.run(
        ["git", "-C", clone, "ls-tree", "-r", "--name-only", COMMIT], check=True, capture_output=True, text=True
    )
    names = [name for name in listed.stdout.split() if name.startswith("src/")] + ["platform/openwrt/sqm.conf"]
    for name in names:
        content = subprocess.run(["git", "-C", clone, "show", f"{COMMIT}:{name}"], check=True, capture_output=True)
        (into / Path(name).name).write_bytes(content.stdout)
    return [*sorted(into.iterdir()), HERE / "guest/openwrt.sh"]


def commands(technology: str, scheme: str) -> list[str]:
    """What is printed for a line."""
    return answer.commands(Line(50, 1, technology), "openwrt", Shaper(scheme, *RATES))


def installed(folder: Path, clone: Path | None) -> list[dict[str, Any]]:
    """What tc shows after the commands of each case."""
    blocks = "".join("\n".join([*commands(*case), "--", ""]) for case in CASES)
    with tempfile.TemporaryDirectory() as scratch:
        files = boot(folder, {"COMMANDS": blocks}, "sqm.sh", modules=scripts(clone, Path(scratch)))
    shown = files["installed"].decode().split("\f")[1:]
    rows = []
    for (technology, scheme), text in zip(CASES, shown, strict=True):
        lines = [" ".join(line.split()) for line in text.splitlines()]
        # The queues of flows that have passed are no settings.
        lines = [line for line in lines if not line.startswith(("class fq_codel", "class cake"))]
        rows.append({"technology": technology, "scheme": scheme, "shown": lines})
    return rows


def main() -> int:
    """Records, writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/sojourn/linux")
    parser.add_argument("--scripts", type=Path, metavar="CLONE", help="of the scripts' repository")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    if options.check and not shutil.which("qemu-system-x86_64"):
        print("sqm.py: qemu-system-x86_64 is missing, so nothing is checked", file=sys.stderr)
        return 77
    try:
        kernel = image(options.folder, KERNEL)
        rows = installed(options.folder, options.scripts)
    except subprocess.CalledProcessError as error:
        print(f"sqm.py: {error}", file=sys.stderr)
        return 77 if options.check else 1
    if options.check:
        known = [json.loads(row) for row in options.file.read_text().splitlines()[1:]]
        differing = [row for row in rows if row not in known]
        for row in differing:
            print(json.dumps(row, indent=1), file=sys.stderr)
        print(f"{kernel}: {len(rows)} settings, {len(differing)} not as recorded")
        return int(rows != known)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    about = {"scripts": f"{REPOSITORY} {COMMIT}", "kernel": kernel, "rates_mbit_s": RATES, "recorded": today}
    options.file.write_text("".join(json.dumps(row) + "\n" for row in [about, *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
