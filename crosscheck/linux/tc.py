#!/usr/bin/env python3
"""Records what Linux's tc shows of the disciplines that it is given.

    tc.py FILE [--kernel PACKAGE] [--folder FOLDER] [--add LINE ...] [--like OTHER] [--check]

FILE has a JSON document a line: `line` as after `tc qdisc replace dev eth0 root`, `shown` and `detail` as
`tc qdisc show` and `tc -d qdisc show` answer, `options` and the keys of `statistics` as `tc -s -j qdisc show` has
them. All lines are recorded anew, in one machine as `run.py` boots it. With `--like`, the lines are those of OTHER,
which another kernel recorded, and FILE keeps the documents that differ. `--check` writes nothing: it ends with status
1 where this machine's answers are not those of FILE, and with 77 where the machine cannot be had.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from run import KERNEL, boot, image


def record(folder: Path, lines: list[str]) -> list[dict[str, Any]]:
    """What tc shows of each line."""
    shown = boot(folder, {"LINES": "\n".join(lines)}, "tc.sh")["shown"].decode().split("\f")[1:]
    rows = []
    for number, line in enumerate(lines):
        status, plain, detail, document = shown[4 * number : 4 * number + 4]
        if status != "0":
            raise SystemExit(f"Linux refuses: {line}")
        (qdisc,) = json.loads(document)
        rows.append(
            {
                "line": line,
                "shown": " ".join(plain.split()),
                "detail": " ".join(detail.split()),
                "options": qdisc["options"],
                "statistics": [key for key in qdisc if key not in {"kind", "handle", "root", "refcnt", "options"}],
            }
        )
    return rows


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The documents of a file, without the first, which says where they are from."""
    return [json.loads(row) for row in file.read_text().splitlines()[1:]] if file.exists() else []


def main() -> int:
    """Reads the file's lines, records them, writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kernel", default=KERNEL, metavar="PACKAGE", help="(default %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/sojourn/linux")
    parser.add_argument("--add", nargs="*", default=[], metavar="LINE")
    parser.add_argument("--like", type=Path, metavar="OTHER", help="keep what differs from another kernel's file")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    known, like = rows_of(options.file), rows_of(options.like) if options.like else []
    lines = list(dict.fromkeys([row["line"] for row in like or known] + options.add))
    if options.check and not shutil.which("qemu-system-x86_64"):
        print("tc.py: qemu-system-x86_64 is missing, so nothing is checked", file=sys.stderr)
        return 77
    try:
        kernel = image(options.folder, options.kernel)
    except subprocess.CalledProcessError as error:
        print(f"tc.py: no image of {options.kernel}: {error}", file=sys.stderr)
        return 77 if options.check else 1
    rows = [row for row in record(options.folder, lines) if row not in like]
    if options.check:
        for row in rows:
            if row not in known:
                print(f"{kernel}: `{row['line']}` is shown as: {row['detail']}", file=sys.stderr)
        print(f"{kernel}: {len(lines)} lines, {sum(row not in known for row in rows)} not as recorded")
        return int(rows != known)
    tools = (options.folder / "versions").read_text().splitlines()[2]
    about = {"kernel": kernel, "tc": tools, "recorded": datetime.datetime.now(datetime.UTC).date().isoformat()}
    if options.like:
        about["lines"] = f"those of {options.like.name}; {len(rows)} of {len(lines)} are shown in another way"
    options.file.write_text("".join(json.dumps(row) + "\n" for row in [about, *rows]))
    print(f"{len(lines)} lines", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
