"""``sojourn check aqm FILE``: the contract of built-in algorithms, a model of the user's, and what a packet costs.

The suite runs in a process of its own, so that a crash or an endless loop of the algorithm is a finding, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn import _native
from sojourn.core import SojournError
from sojourn.plugins import recorded

__all__ = ["Finding", "Verdict", "add", "check"]

_BESIDE: Final = ("pfifo", "codel")
_PACKETS: Final = 200_000
_ROUNDS: Final = 3
TIME_LIMIT_S: Final = 300
_DAY_S: Final = 86_400.0


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
    """

    file: str
    algorithms: tuple[tuple[str, tuple[Finding, ...], dict[str, float]], ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was violated."""
        return all(one.violation is None for _, findings, _ in self.algorithms for one in findings)

    def __str__(self) -> str:
        lines = [self.file]
        for name, findings, cost in self.algorithms:
            lines += ["", name]
            for one in findings:
                lines.append(f"  {'ok    ' if one.violation is None else 'FAILED'}  {one.name} ({one.scope})")
                if one.violation is not None:
                    lines.append(f"          {one.violation}")
            if cost:
                beside = ", ".join(f"{scheme} {ns:.0f} ns" for scheme, ns in cost.items())
                lines += [f"  A packet of the workload takes: {beside}."]
        lines += ["", "Nothing was violated." if self.ok else "Something was violated."]
        return "\n".join(lines)


def check(
    path: str | Path,
    *,
    model: str | Path | None = None,
    decisions: str | Path | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Verdict:
    """Check the algorithms of a file as built-in ones are checked.

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
    if not 0 < time_limit_s <= _DAY_S:
        raise SojournError(f"time_limit_s={time_limit_s:g}; allowed: above 0, up to {_DAY_S:g}")
    given = json.dumps({"file": str(path), "model": model and str(model), "decisions": decisions and str(decisions)})
    command = [sys.executable, "-m", "sojourn.plugins.checks", given]
    # The name of the part that was begun last says where a crash or a loop is.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:  # noqa: S603
        try:
            out, error = child.communicate(timeout=time_limit_s)
        except subprocess.TimeoutExpired:
            child.kill()
            out, error = child.communicate()
            return _ended(path, out, f"takes longer than {time_limit_s:g} s: a loop that does not end")
    if child.returncode == 2:
        raise SojournError(error.strip().splitlines()[-1].removeprefix("sojourn: "))
    if child.returncode != 0:
        signal = f"signal {-child.returncode}" if child.returncode < 0 else f"status {child.returncode}"
        more = f": {error.strip().splitlines()[-1]}" if child.returncode > 0 and error.strip() else ""
        return _ended(path, out, f"ends the process ({signal}{more})")
    found = json.loads(out.splitlines()[-1])
    algorithms = [
        (one["name"], tuple(Finding(**finding) for finding in one["findings"]), one["cost"]) for one in found
    ]
    return Verdict(str(path), tuple(algorithms))


def _ended(path: str | Path, out: str, what: str) -> Verdict:
    begun = [line.removeprefix("begins: ") for line in out.splitlines() if line.startswith("begins: ")]
    return Verdict(str(path), ((Path(path).stem, (Finding(begun[-1] if begun else "loading", "", what),), {}),))


def _child(given: dict[str, str | None]) -> int:
    from sojourn.plugins.loading import load

    def say(what: str) -> None:
        print(f"begins: {what}", flush=True)

    try:
        say("loading")
        model = load(given["model"])[-1] if given["model"] else None
        names = load(str(given["file"]))
        found: list[dict[str, Any]] = []
        for name in names:
            say("the contract")
            findings = json.loads(_native.plugin_check(name))
            if model is not None:
                say("the model")
                findings.append(_beside(name, model))
            if given["decisions"]:
                say("the decisions of another host")
                findings.append(_recorded(name, given["decisions"]))
            say("cost")
            is_sound = all(one["violation"] is None for one in findings)
            found.append({"name": name, "findings": findings, "cost": _cost(name) if is_sound else {}})
    except SojournError as error:
        print(f"sojourn: {error}", file=sys.stderr)
        return 2
    print(json.dumps(found))
    return 0


def _beside(name: str, model: str) -> dict[str, Any]:
    own, other = (json.loads(_native.plugin_decisions(one, _PACKETS, 1, 20_000)) for one in (name, model))
    violation = None
    if own["digest"] != other["digest"]:
        pairs = zip(own["first"], other["first"], strict=False)
        first = next(((a, b) for a, b in pairs if a != b), ("later", "later"))
        violation = f"decides otherwise than the model: {first[0]}; the model: {first[1]}"
    return {
        "name": "the same decisions as the model",
        "scope": f"{model}, {_PACKETS} packets",
        "violation": violation,
    }


def _recorded(name: str, file: str) -> dict[str, Any]:
    found = recorded.repeat(name, file)
    rest = f"{found.differ} of {found.calls} calls end otherwise; the first: {found.first}"
    return {
        "name": "the same decisions as another host",
        "scope": f"{file}, {found.calls} calls, of which {found.decisions} drop or mark",
        "violation": rest if found.differ else None,
    }


def _cost(name: str) -> dict[str, float]:
    """Return nanoseconds of processor time a packet, the least of some rounds by turns."""
    least: dict[str, float] = {}
    for _ in range(_ROUNDS):
        for scheme in (name, *_BESIDE):
            start = time.process_time_ns()
            _native.plugin_decisions(scheme, _PACKETS, 1, 0)
            took = (time.process_time_ns() - start) / _PACKETS
            shown = scheme.partition("@")[0]
            least[shown] = min(took, least.get(shown, took))
    return least


def add(verbs: Any) -> None:
    """Add the verb ``check`` to `verbs`."""
    parser = verbs.add_parser(
        "check",
        description="Check an algorithm of your own as built-in ones are checked: conservation, bounded work, "
        "determinism, switch and reset, ECN, changes of parameters, alone and in a fair queue; then the cost.",
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


if __name__ == "__main__":
    sys.exit(_child(json.loads(sys.argv[1])))
