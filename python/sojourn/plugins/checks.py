"""``sojourn check aqm FILE``: the contract of built-in algorithms, a model of the user's, and what a packet costs.

The suite runs in a process of its own (:mod:`sojourn.plugins.confined`), so that a crash or an endless loop of the
algorithm is a finding, too. What passes there is run once more as ``sojourn compare`` runs it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.base import systems
from sojourn.base.errors import SchemeError
from sojourn.model import network
from sojourn.plugins import loading, recorded

TIME_LIMIT_S: Final = 300
_DAY_S: Final = 86_400.0

_SCENARIO: Final = "dumbbell"
_SETS: Final = ("duration=4 s", "warm_up=1 s")
"""Of the run that is repeated outside of the check."""

CONFINED: Final = "It ran without files, processes, sockets and clocks."
NO_TRAP: Final = (
    "It ran without files, processes and sockets. This kernel cannot trap the processor's counter: of clocks, only "
    "two runs at different times were compared."
)
NOT_CONFINED: Final = "It was not confined"
LIMITS: Final = (
    "Not found: what an algorithm does only in a state that no run of the check reaches, or only under another "
    "command; what it decides by the processor's model or by a file that a library reads while it is loaded; and a "
    "library that changes the memory of the check. Other commands run plug-ins not confined, with your rights."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of the suite: what was checked, on what, and the first violation, if there is one."""

    name: str
    scope: str
    violation: str | None


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    Parameters
    ----------
    file
        That was checked.
    algorithms
        For each its name, what was found, and nanoseconds a packet beside built-in schemes.
    confined
        What was out of its reach meanwhile, in a sentence.
    """

    file: str
    algorithms: tuple[tuple[str, tuple[Finding, ...], dict[str, float]], ...]
    confined: str = CONFINED

    @property
    def ok(self) -> bool:
        """Whether nothing was violated."""
        return all(one.violation is None for _, findings, _ in self.algorithms for one in findings)

    def __str__(self) -> str:
        lines = [self.file]
        for name, findings, cost in self.algorithms:
            lines += ["", name]
            for one in findings:
                scope = f" ({one.scope})" if one.scope else ""
                lines.append(f"  {'ok    ' if one.violation is None else 'FAILED'}  {one.name}{scope}")
                if one.violation is not None:
                    lines.append(f"          {one.violation}")
            if cost:
                beside = ", ".join(f"{scheme} {ns:.0f} ns" for scheme, ns in cost.items())
                lines += [f"  A packet of the workload takes: {beside}."]
        verdict = "Nothing was violated." if self.ok else "Something was violated."
        return "\n".join([*lines, "", f"{verdict} {self.confined}", LIMITS])


class _EndedError(Exception):
    """A process of the check ended before it had answered: the part that had begun, and what happened."""


class _Check:
    """The processes of a check, which have a time limit together."""

    def __init__(self, time_limit_s: float, folder: str) -> None:
        # A process that ends in the middle leaves its copy of a library there.
        self._env = {**os.environ, "TMPDIR": folder}
        self._limit_s = time_limit_s
        self._file = ""
        self._until = time.monotonic() + time_limit_s

    def ask(self, **request: Any) -> Any:
        """Let a confined process do something, and return its answer."""
        token = secrets.token_hex(16)
        given = json.dumps({**request, "token": token})
        out, error, status = self.run([sys.executable, "-m", "sojourn.plugins.confined"], given, self._env)
        lines = out.splitlines()
        last = lines[-1] if lines else ""
        if last.startswith(f"{token} "):
            return json.loads(last.removeprefix(f"{token} "))
        if last.startswith("refused: "):
            raise SchemeError(loading.without_copy(json.loads(last.removeprefix("refused: ")), self._file))
        begun = [line.removeprefix("begins: ") for line in lines if line.startswith("begins: ")]
        part = begun[-1] if begun else "loading"
        if last.startswith("asked "):
            what = f"asks the system for {last.removeprefix('asked ')}; allowed: memory, and nothing else"
        elif last == "clock":
            what = "reads a clock; allowed: queue.now_ns, which is the time of the simulation"
        elif status == -signal.SIGSYS:
            what = "asks the system in another way than by its library; allowed: memory, and nothing else"
        elif status is None:
            what = f"takes longer than {self._limit_s:g} s: a loop that does not end"
        else:
            last_line = f": {error.strip().splitlines()[-1]}" if status > 0 and error.strip() else ""
            what = f"ends the process ({f'signal {-status}' if status < 0 else f'status {status}'}{last_line})"
        raise _EndedError(part, what)

    def loaded(self, path: str | Path) -> dict[str, Any]:
        """Return a file for the process that judges: of Python, the text that stores would keep."""
        file = self._file = str(loading.known(path))
        if not file.endswith(".py"):
            return {"file": file}
        return {"file": file, "shipped": self.ask(do="import", file=file)}

    def run(
        self, command: list[str], given: str = "", env: dict[str, str] | None = None
    ) -> tuple[str, str, int | None]:
        """Run a process; its status is None if the time is over."""
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(command, **streams, text=True, errors="replace", env=env) as child:  # noqa: S603
            try:
                out, error = child.communicate(given, timeout=max(0.0, self._until - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                out, error = child.communicate()
                return out, error, None
        return out, error, child.returncode

    def outside(self, file: str, name: str, here: tuple[bool, str]) -> Finding:
        """Compare a run of the check with one of ``sojourn compare``."""
        title = "the same run outside of the check"
        words = [
            "compare",
            _SCENARIO,
            "--plugin",
            file,
            "--aqm",
            name.partition("@")[0],
            "--replicates",
            "1",
            "--json",
        ]
        words += [word for one in _SETS for word in ("--set", one)]
        out, error, status = self.run([sys.executable, "-m", "sojourn", *words])
        finding = Finding(title, f"sojourn compare {_SCENARIO}, {_SETS[0].partition('=')[2]}", None)
        good, text = here
        if status == 2 and not good and text in error:
            # Refused alike; what is wrong is found by the contract, too.
            return Finding(title, finding.scope, text)
        if status != 0 or not good:
            ended = "takes too long" if status is None else f"ends with status {status}"
            last = (error.strip().splitlines() or ["nothing"])[-1]
            what = f"it {ended}: {last}" if status != 0 else f"it goes well, and in the check: {text}"
            return Finding(title, finding.scope, what)
        [run] = json.loads(out)["runs"]
        inside, outside = json.loads(text)["metrics"], run["metrics"]
        alike = [key for key in inside if key in outside]
        differ = next((key for key in alike if not _is_same(inside[key], outside[key])), None)
        if differ is None:
            return finding
        what = f"{differ} is {outside[differ]}, and {inside[differ]} in the check: "
        return Finding(title, finding.scope, f"{what}it decides by more than packets, queue and parameters")


def _is_same(one: Any, other: Any) -> bool:
    both = isinstance(one, float) and isinstance(other, float)
    return one == other or (both and math.isnan(one) and math.isnan(other))


def check(
    path: str | Path,
    *,
    model: str | Path | None = None,
    decisions: str | Path | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Verdict:
    """Check the algorithms of a file as built-in ones are checked.

    On Linux a system call filter leaves the algorithm memory and nothing else, and a clock that it reads ends it.
    What passes is compared with a run of ``sojourn compare``, which confines nothing.

    Parameters
    ----------
    path
        A Python file or a shared library.
    model
        A Python file or a library with an algorithm that must decide alike on 200,000 packets.
    decisions
        A file of decisions that another host took, such as ns-3, which must be the same here.
    time_limit_s
        A check that takes longer is a finding: a loop that does not end.

    Raises
    ------
    SojournError
        If a file cannot be read, or the time is not above 0 and up to a day.
    """
    systems.need("sojourn check aqm", "linux", "darwin")
    if not 0 < time_limit_s <= _DAY_S:
        raise SchemeError(f"time_limit_s={time_limit_s:g}; allowed: above 0, up to {_DAY_S:g}")
    if decisions is not None:
        recorded.read(decisions)
    scenario = network.load(_SCENARIO, sets=_SETS).to_dict()
    with tempfile.TemporaryDirectory(prefix="sojourn-check-") as folder:
        process = _Check(time_limit_s, folder)
        try:
            subject = process.loaded(path)
            other = None if model is None else process.loaded(model)
            answer = process.ask(
                do="judge", subject=subject, model=other, scenario=json.dumps(scenario), seed=scenario["seed"]
            )
            repeated: list[dict[str, Any] | None] = [None] * len(answer["found"])
            if decisions is not None:
                repeated = process.ask(do="decisions", subject=subject, decisions=str(decisions))
        except _EndedError as ended:
            part, what = ended.args
            return Verdict(str(path), ((Path(path).stem, (Finding(part, "", what),), {}),))
        algorithms = []
        for one, more in zip(answer["found"], repeated, strict=True):
            findings = [Finding(**finding) for finding in (*one["findings"], more) if finding is not None]
            if all(finding.violation is None for finding in findings):
                findings.append(process.outside(str(path), one["name"], one["run"]))
            name = one["name"]
            is_sound = all(finding.violation is None for finding in findings)
            beside = {key: ns for key, ns in one["cost"].items() if key != name.partition("@")[0]}
            cost = {name.partition("@")[0]: one["cost"][name.partition("@")[0]], **beside} if is_sound else {}
            algorithms.append((name, tuple(findings), cost))
    lacking = answer["lacking"]
    known = {"": CONFINED, "counter": NO_TRAP}
    return Verdict(str(path), tuple(algorithms), known.get(lacking) or f"{NOT_CONFINED}: {lacking}.")


def add(verbs: Any) -> None:
    """Add the verb ``check`` to `verbs`."""
    parser = verbs.add_parser(
        "check",
        description="Check an algorithm of your own as built-in ones are checked: conservation, bounded work, "
        "determinism, switch and reset, ECN, changes of parameters, alone and in a fair queue; then the cost. On "
        "Linux it runs without files, processes, sockets and clocks; other commands run plug-ins not confined.",
        epilog="example: sojourn check aqm my_pie.py",
    )
    parser.add_argument("what", metavar="KIND", choices=("aqm",), help="what to check: aqm")
    parser.add_argument("file", metavar="FILE", help="a Python file or a shared library (.so)")
    parser.add_argument("--model", metavar="FILE", help="an algorithm that must decide alike, in a file of its own")
    parser.add_argument(
        "--decisions",
        metavar="FILE",
        help="decisions that another host took on the same algorithm, such as ns-3 (crosscheck/ns3/plugged.h): every "
        "one must be taken here, too",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=TIME_LIMIT_S,
        metavar="SECONDS",
        help=f"seconds after which a loop is taken to be endless (default {TIME_LIMIT_S})",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Check an algorithm and print the page."""
    verdict = check(options.file, model=options.model, decisions=options.decisions, time_limit_s=options.time_limit)
    print(verdict)
    return 0 if verdict.ok else 1
