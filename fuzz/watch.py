"""Runs one fuzzer until its time is over, and keeps what it came to; used by `fuzz/run`.

FILE has a row for every target; a run goes on from the row of its target and is written to it on the way. LIMITS are
`wall SECONDS`, or `cpu SECONDS,IDLE`: until it used SECONDS of CPU in all its runs, or IDLE of it without a new edge.

watch.py run FILE NAME LIMITS COMMAND...   ends with status 3 when it was stopped by a signal
watch.py over FILE NAME LIMITS             succeeds when these limits are reached
watch.py kept FILE NAME FOLDER             writes into the row what is kept as its corpus
watch.py again FILE NAME                   forgets the row
watch.py table FILE [LIMITS]               all rows
watch.py defect NAME COMMAND...            how long it takes to fail, at most a minute of CPU time
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

STATUS = re.compile(r"^#(\d+)\s+(\w+)\s+cov: (\d+)\s.*?corp: (\d+)/(\S+)")
FINAL = re.compile(r"^stat::number_of_executed_units:\s+(\d+)")
TICKS = os.sysconf("SC_CLK_TCK")
MINUTE = 60.0
PATIENCE = 120
"""Seconds to end by itself once it was asked to."""
EVERY_S = 10.0
"""Between two writings of a row."""
STOPPED = 3
"""Status after a signal."""
INTERRUPTED = 72
"""Status of libFuzzer after a signal."""


@dataclass
class Row:
    """What the runs of a target came to."""

    executions: int = 0
    edges: int = 0
    corpus: str = ""
    cpu_s: float = 0.0
    since_edge_s: float = 0.0
    ended: str = ""
    failures: list[str] = field(default_factory=list)
    rustc: str = ""
    date: str = ""


@dataclass(frozen=True)
class Limits:
    """When a run is over."""

    wall_s: float = float("inf")
    cpu_s: float = float("inf")
    idle_s: float = float("inf")

    @classmethod
    def read(cls, kind: str, text: str) -> Limits:
        """From the command line."""
        first, _, second = text.partition(",")
        return cls(wall_s=float(first)) if kind == "wall" else cls(cpu_s=float(first), idle_s=float(second))

    def over(self, row: Row) -> str:
        """Say which limit of CPU time is reached, if any."""
        if row.since_edge_s >= self.idle_s:
            return "no new edge"
        return "CPU time" if row.cpu_s >= self.cpu_s else ""


class Rows:
    """The file of rows."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def all(self) -> dict[str, Row]:
        """The rows by name."""
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        return {name: Row(**row) for name, row in json.loads(text or "{}").items()}

    def write(self, name: str, row: Row | None) -> None:
        """Write one row, or take it out; a kill leaves the old file or the new one.

        Other targets may run at the same time and write theirs.
        """
        beside = self._file.with_suffix(".part")
        folder = os.open(self._file.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            found = self.all
            found.pop(name, None)
            if row is not None:
                found[name] = row
            lines = [f"{json.dumps(one)}: {json.dumps(asdict(of))}" for one, of in sorted(found.items())]
            beside.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            beside.replace(self._file)
        finally:
            os.close(folder)


class Run:
    """A fuzzer that runs: its output goes on to standard error and is read on the way."""

    def __init__(self, command: list[str], before: Row) -> None:
        self._before = before
        self._executions = 0
        self._edges = 0
        self._corpus = ""
        # Before any edge that is new, and what had been used when the last one came.
        self._known: int | None = None
        self._last_edge: float | None = None
        self._cpu = 0.0
        self._failures: list[str] = []
        self._stop = False
        # Set before the program starts, so that it has the default action although the shell ignores SIGINT for us.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stopped)
        self._program = subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _stopped(self, *_: object) -> None:
        self._stop = True

    def _read(self) -> None:
        for line in self._program.stdout or ():
            sys.stderr.write(line)
            if found := STATUS.match(line):
                executed, event, edges, inputs, size = found.groups()
                self._executions, self._corpus = int(executed), f"{inputs} of {size}"
                self._edges = max(self._edges, int(edges))
                # Until the corpus is read no edge is new.
                if event == "INITED":
                    self._known = self._edges
                elif self._known is not None and self._edges > self._known:
                    self._known, self._last_edge = self._edges, self.cpu()
            elif found := FINAL.match(line):
                self._executions = int(found[1])
            # Slow units are slow by the clock, on a machine that has other work.
            elif "Test unit written to" in line and "-slow-unit-" not in line:
                self._failures.append(Path(line.split()[-1]).name)

    def cpu(self) -> float:
        """Return the seconds of CPU that it has used, which are no more to be had once it has ended."""
        try:
            fields = Path(f"/proc/{self._program.pid}/stat").read_text().rpartition(")")[2].split()
            self._cpu = max((int(fields[11]) + int(fields[12])) / TICKS, self._cpu)
        except OSError:
            pass
        return self._cpu

    def row(self, ended: str) -> Row:
        """Return what all runs came to."""
        cpu, before = self.cpu(), self._before
        since = before.since_edge_s + cpu if self._last_edge is None else cpu - self._last_edge
        return replace(
            before,
            executions=before.executions + self._executions,
            edges=self._edges or before.edges,
            corpus=self._corpus or before.corpus,
            cpu_s=round(before.cpu_s + cpu, 1),
            since_edge_s=round(since, 1),
            ended=ended,
            failures=self._failures,
        )

    def until(self, limits: Limits, save: Callable[[Row], None]) -> Row:
        """Let it run so long; asked to end, it writes its statistics."""
        start = saved = time.monotonic()
        ended = ""
        while self._program.poll() is None and not ended:
            time.sleep(0.2)
            row, now = self.row("stopped"), time.monotonic()
            ended = "stopped" if self._stop else limits.over(row)
            if now - start > limits.wall_s:
                ended = "time"
            if now - saved > EVERY_S:
                save(row)
                saved = now
        if ended:
            self._program.send_signal(signal.SIGINT)
            try:
                self._program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._program.kill()
        self._reader.join()
        code = self._program.wait()
        if not ended and (self._stop or code == INTERRUPTED):
            ended = "stopped"
        failed = self._failures or (not ended and code)
        return self.row("FAILED" if failed else ended or "time")


def run(file: Path, name: str, limits: Limits, command: list[str]) -> int:
    """Run a fuzzer and write its row."""
    rows = Rows(file)
    version = subprocess.run(["rustc", "-V"], capture_output=True, text=True, check=False).stdout.strip()  # noqa: S607
    today = datetime.now(UTC).date().isoformat()
    before = replace(rows.all.get(name, Row()), rustc=version, date=today)
    row = Run(command, before).until(limits, lambda row: rows.write(name, row))
    rows.write(name, row)
    return {"FAILED": 1, "stopped": STOPPED}.get(row.ended, 0)


def kept(file: Path, name: str, folder: Path) -> None:
    """Say in a row what is kept."""
    rows = Rows(file)
    sizes = [one.stat().st_size for one in folder.iterdir()]
    rows.write(name, replace(rows.all.get(name, Row()), corpus=f"{len(sizes)} of {sum(sizes):,} B"))


def table(file: Path, limits: Limits | None) -> None:
    """Print what was run, and with limits whether that is enough."""
    heads = ["target", "executions", "edges", "corpus (inputs of bytes)", "CPU s", "CPU s since new edge", "ended by"]
    lines = [heads]
    for name, row in Rows(file).all.items():
        numbers = [
            f"{row.executions:,}",
            f"{row.edges:,}",
            row.corpus,
            f"{row.cpu_s:,.0f}",
            f"{row.since_edge_s:,.0f}",
        ]
        ended = row.ended
        if limits and ended != "FAILED":
            reached = limits.over(row)
            ended = f"finished: {reached}" if reached else "to be continued"
        lines.append([name, *numbers, " ".join([ended, *row.failures])])
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
    row = Run(command, Row()).until(Limits(cpu_s=MINUTE), lambda _: None)
    found = row.ended == "FAILED" and bool(row.failures)
    took = f"{row.cpu_s:.1f} s of CPU time, {time.monotonic() - start:.1f} s in all"
    print(f"{name}: {'found' if found else 'NOT FOUND'} after {took}, {row.executions:,} executions", flush=True)
    return int(not found)


def main() -> int:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["run", file, name, ("wall" | "cpu") as kind, limits, *command]:
            return run(Path(file), name, Limits.read(kind, limits), command)
        case ["over", file, name, ("wall" | "cpu") as kind, limits]:
            return int(not Limits.read(kind, limits).over(Rows(Path(file)).all.get(name, Row())))
        case ["kept", file, name, folder]:
            kept(Path(file), name, Path(folder))
        case ["again", file, name]:
            Rows(Path(file)).write(name, None)
        case ["table", file, *limits]:
            table(Path(file), Limits.read(*limits) if limits else None)
        case ["defect", name, *command]:
            return defect(name, command)
        case _:
            sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
