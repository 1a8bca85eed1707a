#!/usr/bin/env python3
"""Records what Linux's tc shows of the disciplines that it is given.

    tc.py FILE [--folder FOLDER] [--add LINE ...]

FILE has a JSON document a line: `line` as after `tc qdisc replace dev eth0 root`, `shown` and `detail` as
`tc qdisc show` and `tc -d qdisc show` answer, `options` and the keys of `statistics` as `tc -s -j qdisc show` has
them. All lines are recorded anew, in one machine as `run.py` boots it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import Any

from run import boot, image


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


def main() -> None:
    """Reads the file's lines, records them, writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/sojourn/linux")
    parser.add_argument("--add", nargs="*", default=[], metavar="LINE")
    options = parser.parse_args()
    known = [json.loads(row) for row in options.file.read_text().splitlines()] if options.file.exists() else []
    lines = list(dict.fromkeys([row["line"] for row in known if "line" in row] + options.add))
    kernel = image(options.folder)
    tools = (options.folder / "versions").read_text().splitlines()[2]
    about = {"kernel": kernel, "tc": tools, "recorded": datetime.datetime.now(datetime.UTC).date().isoformat()}
    rows = [about, *record(options.folder, lines)]
    options.file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(f"{len(lines)} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
