"""Running the peers themselves, where they are installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from crosscheck import linux, ns2, ns2_wlan, ns3, ns3_lan, ns3_network, ns3_wlan, records
from crosscheck.compare import Point
from sojourn.base.core import SojournError

_SEEDS: Final = 5
_NS2_PROGRAMS: Final = {
    "fairness.tcl": ns2.points,
    "wlan.tcl": ns2_wlan.wlan_points,
    "saturation.tcl": ns2_wlan.saturation_points,
}
_NOT_IN_NS2: Final = ("CoDelX", "AVQa080")
"""Recorded with implementations added to ns-2."""
# The dumbbell's records are of one seed each.
_NS3_PROGRAMS: Final = (
    ("dumbbell", 1, ns3.points),
    ("lan", _SEEDS, ns3_lan.points),
    ("network", ns3_network.SEEDS, ns3_network.points),
    ("wlan", _SEEDS, ns3_wlan.points),
)


def measured(peer: str, points: Sequence[Point], *, progress: Callable[[str], None] | None = None) -> list[Point]:
    """Return the points with what the peer measures now."""
    show = progress or (lambda _: None)
    return {"linux": _linux, "ns3": _ns3, "ns2": _ns2}[peer](points, show)


def _output(command: Sequence[str | Path], folder: Path) -> str:
    try:
        # The programs are the project's own.
        done = subprocess.run(list(command), cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise SojournError(f"--live: {error.filename} is not installed; see {folder / 'README.md'}") from error
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, command))
        raise SojournError(f"--live: `{words}` failed in {folder}:\n{error.stderr[-2000:]}") from error
    return done.stdout


def _ns3(points: Sequence[Point], show: Callable[[str], None]) -> list[Point]:
    folder = records.HERE / "ns3"
    measured = []
    for program, seeds, make in _NS3_PROGRAMS:
        chosen = [point.recipe for point in points if point.recipe["program"] == program]
        if not chosen:
            continue
        show(f"building ns-3's {program}")
        _output(["make", "--quiet", program], folder)
        rows = []
        for recipe in chosen:
            words = [f"--{key}={value}" for key, value in recipe.items() if key != "program"]
            for seed in range(1, seeds + 1):
                show(f"ns-3: {program} {' '.join(words)}, seed {seed}")
                rows.append(_texts(json.loads(_output([f"./{program}", *words, f"--seed={seed}"], folder))))
        measured += make(rows)
    return measured


def _ns2(points: Sequence[Point], show: Callable[[str], None]) -> list[Point]:
    folder = records.HERE / "ns2"
    found: list[Point] = []
    for point in points:
        program = point.recipe["program"]
        words = point.recipe["words"]
        # Some older measurements have no program here.
        if not program or words[0] in _NOT_IN_NS2:
            continue
        runs = []
        for seed in range(1, _SEEDS + 1):
            show(f"ns-2: {point.name}, seed {seed}")
            numbered = [words[0], seed, *words[1:]] if program == "fairness.tcl" else [*words, seed]
            # ns-2 talks on standard output before the line that is the result.
            said = _output(["ns", program, *map(str, numbered)], folder)
            runs.append(json.loads(next(line for line in said.splitlines() if line.startswith("{"))))
        found += _NS2_PROGRAMS[program]([ns2.summary(point, runs)])
    return found


def _linux(points: Sequence[Point], show: Callable[[str], None]) -> list[Point]:
    folder = records.HERE / "linux"
    show("Linux: half a minute of CPU time and more for each point")
    with tempfile.TemporaryDirectory() as scratch:
        wanted, results = Path(scratch) / "points.json", Path(scratch) / "results.jsonl"
        wanted.write_text(json.dumps([dict(point.recipe) for point in points]), encoding="utf-8")
        _output([sys.executable, "run.py", "--points", str(wanted), "--results", str(results)], folder)
        rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    windows = [
        {"congestion_control": row["congestion_control"], "t_s": str(t_s), "window_packets": str(packets)}
        for row in rows
        for t_s, packets in row.get("windows", ())
        if t_s >= row["warm_up_s"]
    ]
    return [*linux.points(map(_texts, (row for row in rows if not row["sockets"]))), *linux.sawteeth(windows)]


def _texts(row: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in row.items()}
