"""CPU time that commands need to start, beside the run itself: ``.venv/bin/python benches/startup.py``.

Each command is run several times in a process of its own; the least CPU time (user and system) is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Final

REPEATS: Final = 5
COMMANDS: Final = {
    "python -c pass": ["-c", "pass"],
    "import sojourn": ["-c", "import sojourn"],
    "sojourn --version": ["-m", "sojourn", "--version"],
    "sojourn --help": ["-m", "sojourn", "--help"],
    "sojourn run dumbbell --json": ["-m", "sojourn", "run", "dumbbell", "--json"],
}


def cpu_s(arguments: list[str]) -> float:
    """Return the CPU time of one process."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def run_itself_s() -> float:
    """Return the CPU time of the simulation of ``sojourn run dumbbell --json`` alone."""
    from sojourn.base import core
    from sojourn.model import network
    from sojourn.plan import runner

    scenario = network.load("dumbbell").canonical()
    interval = str(runner.auto_interval_ns(str(scenario["duration"]))) + " ns"
    task = {"scheme": None, "seed": 1, "replication": 0, "series": interval}
    before = time.process_time()
    core.run_many(scenario, [task], jobs=1)
    return time.process_time() - before


def main() -> None:
    """Print the table."""
    print(f"{'command':<30} CPU time (s), least of {REPEATS}")
    for name, arguments in COMMANDS.items():
        print(f"{name:<30} {min(cpu_s(arguments) for _ in range(REPEATS)):.3f}")
    print(f"{'the run of the last alone':<30} {min(run_itself_s() for _ in range(REPEATS)):.3f}")


if __name__ == "__main__":
    main()
