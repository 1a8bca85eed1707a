"""Runs one fuzzer until its time is over, and keeps what it came to; used by `fuzz/run`.

watch.py run ROWS NAME wall SECONDS COMMAND...     until SECONDS have passed
watch.py run ROWS NAME cpu SECONDS,IDLE COMMAND... until it used SECONDS of CPU, or IDLE of it without a new edge
watch.py table ROWS                                a table of all that was run
watch.py defect NAME COMMAND...                    how long it takes to fail, at most a minute of CPU time
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

STATUS = re.compile(r"^#(\d+)\s+(\w+)\s+cov: (\d+)\s.*?corp: (\d+)/(\S+)")
FINAL = re.compile(r"^stat::number_of_executed_units:\s+(\d+)")
TICKS = os.sysconf("SC_CLK_TCK")
MINUTE = 60.0
PATIENCE = 120
"""Seconds to end by itself once it was asked to."""


@dataclass
class Row:
    """What a run came to."""

    target: str
    executions: int = 0
    edges: int = 0
    corpus: str = ""
    cpu_s: float = 0.0
    since_edge_s: float = 0.0
    ended: str = ""
    kept: list[str] = field(default_factory=list)


class Run:
    """A fuzzer that runs: its output goes on to standard error and is read on the way."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.row = Row(name)
        self._last_edge = 0.0
        self._program = subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self._program.stdout or ():
            sys.stderr.write(line)
            if found := STATUS.match(line):
                executed, _, edges, inputs, size = found.groups()
                if int(edges) > self.row.edges:
                    self._last_edge = self.row.cpu_s = self.cpu()
                self.row.executions, self.row.edges = int(executed), max(int(edges), self.row.edges)
                self.row.corpus = f"{inputs} of {size}"
            elif found := FINAL.match(line):
                self.row.executions = int(found[1])
            elif "Test unit written to" in line:
                self.row.kept.append(line.split()[-1])

    def cpu(self) -> float:
        """Return the seconds of CPU that it has used, which are no more to be had once it has ended."""
        try:
            fields = Path(f"/proc/{self._program.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return self.row.cpu_s
        return max((int(fields[11]) + int(fields[12])) / TICKS, self.row.cpu_s)

    def until(self, wall_s: float, cpu_s: float, idle_s: float) -> Row:
        """Let it run so long; asked to end, it writes its statistics."""
        start = time.monotonic()
        ended = ""
        while self._program.poll() is None and not ended:
            time.sleep(0.2)
            self.row.cpu_s = self.cpu()
            if self.row.cpu_s - self._last_edge > idle_s:
                ended = "no new edge"
            elif self.row.cpu_s > cpu_s:
                ended = "CPU time"
            elif time.monotonic() - start > wall_s:
                ended = "time"
        if ended:
            self._program.send_signal(signal.SIGINT)
            try:
                self._program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._program.kill()
        self._reader.join()
        code = self._program.wait()
        self.row.since_edge_s = self.row.cpu_s - self._last_edge
        self.row.ended = "FAILED" if self.row.kept or (not ended and code) else ended or "time"
        return self.row


def run(rows: Path, name: str, kind: str, limits: str, command: list[str]) -> int:
    """Run a fuzzer and add its row."""
    first, _, second = limits.partition(",")
    never = float("inf")
    bounds = (float(first), never, never) if kind == "wall" else (never, float(first), float(second))
    row = Run(name, command).until(*bounds)
    with rows.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")
    return int(row.ended == "FAILED")


def table(rows: Path) -> None:
    """Print what was run."""
    heads = ["target", "executions", "edges", "corpus (inputs of bytes)", "CPU s", "CPU s since new edge", "ended by"]
    lines = [heads]
    for text in rows.read_text(encoding="utf-8").splitlines():
        row = Row(**json.loads(text))
        numbers = [
            f"{row.executions:,}",
            f"{row.edges:,}",
            row.corpus,
            f"{row.cpu_s:,.0f}",
            f"{row.since_edge_s:,.0f}",
        ]
        lines.append([row.target, *numbers, " ".join([row.ended, *row.kept])])
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    for line in lines:
        print(
            "  ".join(
                cell.ljust(width) if k in (0, len(heads) - 1) else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )


def defect(name: str, command: list[str]) -> int:
    """Say how long a fuzzer takes to find its defect."""
    start = time.monotonic()
    row = Run(name, command).until(float("inf"), MINUTE, float("inf"))
    found = row.ended == "FAILED" and bool(row.kept)
    took = f"{row.cpu_s:.1f} s of CPU time, {time.monotonic() - start:.1f} s in all"
    print(f"{name}: {'found' if found else 'NOT FOUND'} after {took}, {row.executions:,} executions", flush=True)
    return int(not found)


def main() -> int:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["run", rows, name, ("wall" | "cpu") as kind, limits, *command]:
            return run(Path(rows), name, kind, limits, command)
        case ["table", rows]:
            table(Path(rows))
        case ["defect", name, *command]:
            return defect(name, command)
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
