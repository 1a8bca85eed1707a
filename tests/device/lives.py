"""A laboratory whose device is ended and started again: what ``soak.py`` and ``chaos.py`` have in common."""

from __future__ import annotations

import contextlib
import random
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from laboratory import Lab, LabError, find_sojournd
from packets import BACK_ENDS, assert_conserved

HOSTS = ("client", "server")
#: How long a process may take to answer, or to end, s.
PATIENCE_S = 60.0


class Lives:
    """One laboratory, and the lives of the program in it, each on the next back end."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.random = random.Random(seed)  # noqa: S311
        self.violations: list[str] = []
        self.begun = time.monotonic()
        self.lives = 0
        #: What the process of this life told last.
        self.last: dict[str, Any] | None = None
        #: Words before the command of the next life.
        self.environment: list[str] = []

    @property
    def age_s(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.begun

    @property
    def back_end(self) -> dict[str, Any]:
        """The back end of this life of the program."""
        return list(BACK_ENDS.values())[(self.lives - 1) % len(BACK_ENDS)]

    def configuration(self) -> str:
        """Return the configuration of this life."""
        raise NotImplementedError

    def around(self) -> contextlib.AbstractContextManager[None]:
        """Return what holds while the process is started."""
        return contextlib.nullcontext()

    def begin(self) -> bool:
        """Begin a life of the program, and tell whether it answers or has ended."""
        self.lives += 1
        self.last = None
        path = self.lab.folder / "sojournd.toml"
        path.write_text(self.configuration())
        command = [*self.environment, str(find_sojournd()), "run", str(path)]
        with self.around(), self.log.open("w") as log:
            self.device = self.lab.start("device", *command, stdout=log.fileno())
        # Not until a ping passes: the scheme may drop it under this load.
        return self.wait_for(lambda _: True)

    @property
    def log(self) -> Path:
        """The file with the log of this life."""
        return self.lab.folder / f"{self.lives}.log"

    def lines(self) -> list[str]:
        """Return the log of this life."""
        return self.log.read_text().splitlines()

    def end(self, *, kill: bool) -> None:
        """End the process: kill it, or tell it to end, which must succeed."""
        self.look()
        if kill:
            self.device.kill()
        else:
            self.device.terminate()
        if self.device.wait(timeout=PATIENCE_S) != 0 and not kill:
            self.wrong(f"SIGTERM: status {self.device.returncode}: {self.lines()[-5:]}")

    def look(self) -> dict[str, Any] | None:
        """Look at the process; None if it does not answer. What it tells is kept as its last word."""
        try:
            status = self.lab.status()
        except LabError:
            return None
        try:
            assert_conserved(status)
        except AssertionError as error:
            self.wrong(f"conservation: {str(error)[:3000]}")
        self.last = status
        return status

    def wait_for(self, state: Callable[[dict[str, Any]], bool], limit_s: float = PATIENCE_S) -> bool:
        """Wait until the device is in a state, at most for a time or until the process ends."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until and self.device.poll() is None:
            status = self.look()
            if status is not None and state(status):
                return True
            time.sleep(0.05)
        return False

    def wrong(self, what: str) -> None:
        """Note something that must not be."""
        self.violations.append(what)
        print(f"VIOLATION after {self.age_s:.1f} s, life {self.lives} {self.back_end}: {what}", flush=True)

    def stop(self, processes: list[subprocess.Popen[str]]) -> None:
        """Kill processes of the hosts."""
        for process in processes:
            self.lab.stop(process, kill=True)
