"""Warnings about settings that have no effect in a run.

:data:`NEEDS` lists, as data, which parameter of a scheme acts only with which value of another one. A congestion
control declares the keys of a flow's transport that act only with it. Only what a text or a scenario sets is warned
of, never a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sojourn import core
from sojourn.core import Document
from sojourn.scheme import Scheme

__all__ = ["NEEDS", "Inert", "Need", "check"]


@dataclass(frozen=True, slots=True)
class Need:
    """Parameters that act only where another parameter has one of some values.

    Parameters
    ----------
    algorithms, parameters
        By the library's names.
    other
        The parameter that decides.
    values
        With which the parameters act; ``*`` is any value but ``none``.
    """

    algorithms: tuple[str, ...]
    parameters: tuple[str, ...]
    other: str
    values: tuple[str, ...]

    def is_met(self, value: str) -> bool:
        """Whether the parameters act."""
        return value != "none" if self.values == ("*",) else value in self.values

    @property
    def wanted(self) -> str:
        """What would make them act, in words."""
        if self.values == ("*",):
            return f"without `{self.other}`"
        words = " or ".join(
            f"`{self.other}`" if value == "on" else f"`{self.other} {value}`" for value in self.values
        )
        return f"without {words}"


_RED: Final = ("red", "fq_red")
_DAQM: Final = ("daqm", "fq_daqm")

NEEDS: Final[tuple[Need, ...]] = (
    Need(_RED, ("interval", "alpha", "beta"), "adaptive", ("on",)),
    Need(_RED, ("target",), "min", ("none",)),
    Need((*_RED, "ared", "nlred", "shred"), ("harddrop",), "ecn", ("on",)),
    Need(("pie", "fq_pie"), ("mark_ecnth",), "ecn", ("on",)),
    Need(("pie", "fq_pie"), ("dq_threshold",), "delay", ("departure_rate",)),
    Need(("codel", "fq_codel"), ("ce_threshold_selector",), "ce_threshold", ("*",)),
    Need(("dropping_function",), ("window",), "formula", ("*",)),
    Need(("sfq",), ("max_p", "w"), "max", ("*",)),
    Need(("green",), ("rtt", "mss", "c", "window", "flows"), "scheme", ("flows",)),
    Need(("green",), ("c_t", "dp", "interval", "time_constant"), "scheme", ("rate",)),
    Need(("dualpi2",), ("min_th", "range", "th_len"), "l4s_aqm", ("ramp",)),
    Need(("dualpi2",), ("step_thresh", "min_qlen_step"), "l4s_aqm", ("step",)),
    Need(("dualpi2",), ("classic_protection",), "scheduler", ("wrr",)),
    Need(("dualpi2",), ("tshift",), "scheduler", ("ts_fifo",)),
    Need(("dualpi2",), ("nqb_limit",), "nqb", ("*",)),
    *(
        Need(_DAQM, (f"{feature}_drop_rate", f"{feature}_drop_duration"), feature, ("*",))
        for feature in ("s0", "s1", "s2", "s3", "q0", "q1", "q2", "q3")
    ),
)
"""Parameters of schemes that need another one."""

WITHOUT_EFFECT: Final[dict[str, tuple[str, ...]]] = {"dualpi2": ("split_gso",)}
"""Parameters that the simulator accepts because tc has them, and that have no effect in any run."""

_QUEUES: Final = (
    ("queue", "under_test"),
    ("reverse_queue", "reverse_under_test"),
    ("access_point_queue", "access_point_under_test"),
)


@dataclass(frozen=True, slots=True)
class Inert:
    """A setting that has no effect.

    Parameters
    ----------
    where
        The scheme's label, or the group of flows.
    what
        The parameter or word.
    text
        One sentence.
    """

    where: str
    what: str
    text: str


def check(scenario: Document, schemes: Sequence[Scheme]) -> tuple[Inert, ...]:
    """Return the settings that have no effect in the runs of a scenario under some schemes.

    Parameters
    ----------
    scenario
        Canonical.
    schemes
        In the queues under test; one without text stands for the queues as the scenario has them.
    """
    tested = [scheme for scheme in schemes if scheme.text]
    if len(tested) < len(schemes):
        tested += [Scheme(text) for text in dict.fromkeys(_as_written(scenario))]
    capable = [str(flow["name"]) for flow in scenario.get("flows", ()) if (flow.get("transport") or {}).get("ecn")]
    found = [one for scheme in tested for one in (*_of_scheme(scheme), *_of_ecn(scheme, capable))]
    return (*found, *_of_flows(scenario))


def _as_written(scenario: Document) -> Iterator[str]:
    buses = scenario.get("buses", ())
    ports = [port for bus in buses for port in bus.get("ports", ())]
    for link in (*scenario.get("links", ()), *buses, *ports, *scenario.get("cells", ())):
        for queue, mark in _QUEUES:
            if link.get(mark) and link.get(queue):
                yield str(link[queue])


def _of_scheme(scheme: Scheme) -> Iterator[Inert]:
    words = scheme.text.split()
    values = {parameter.name: parameter.value for parameter in scheme.parameters()}
    set_here = {name for name in values if name in words}
    for need in NEEDS:
        if scheme.algorithm not in need.algorithms or need.is_met(values.get(need.other, "none")):
            continue
        for name in need.parameters:
            if name in set_here:
                yield Inert(scheme.label, name, f"{scheme.label}: `{name}` has no effect {need.wanted}")
    # Slow to import, for words that are no parameters alone.
    others = [word for word in words[1:] if word not in values and word[0].isalpha()]
    for name in (*WITHOUT_EFFECT.get(scheme.algorithm, ()), *(_words_of_tc(scheme.algorithm) if others else ())):
        if name in words:
            yield Inert(scheme.label, name, f"{scheme.label}: `{name}` has no effect in the simulator")


def _words_of_tc(algorithm: str) -> tuple[str, ...]:
    from sojourn.tc.kinds import KINDS

    kind = KINDS.get(algorithm)
    idle = ("bandwidth",) if algorithm in ("red", "choke") else ()
    return (*kind.carried, *kind.printed, *idle) if kind else ()


def _of_ecn(scheme: Scheme, capable: Sequence[str]) -> Iterator[Inert]:
    values = {parameter.name: parameter.value for parameter in scheme.parameters()}
    # With a threshold for CE a scheme marks without `ecn`; without RED inside it, sfq signals nothing.
    marks_anyway = values.get("ce_threshold", "none") != "none"
    signals = scheme.algorithm != "sfq" or values.get("max") != "none"
    if capable and values.get("ecn") == "off" and signals and not marks_anyway:
        flows = f"flow{'s' * (len(capable) > 1)} {', '.join(f'`{name}`' for name in capable)}"
        verb = "are" if len(capable) > 1 else "is"
        yield Inert(
            scheme.label,
            "ecn",
            f"{scheme.label}: {flows} {verb} ECN-capable, but `ecn` is off in this scheme: it drops their packets "
            "instead of marking them",
        )
    if not capable and signals and "ecn" in scheme.text.split():
        yield Inert(scheme.label, "ecn", f"{scheme.label}: `ecn` has no effect: no flow is ECN-capable")


@cache
def _transport() -> dict[str, tuple[object, str, tuple[object, ...]]]:
    """Return keys of a flow's transport: default, and the key and values with which another value acts."""
    keys: dict[str, tuple[object, str, tuple[object, ...]]] = {"ect": (0, "ecn", (True,))}
    for algorithm in core.congestion_controls():
        for key in algorithm["keys"]:
            *_, others = keys.get(key["name"], ((),))
            keys[key["name"]] = (key["default"], "congestion_control", (*others, algorithm["name"]))
    return keys


def _of_flows(scenario: Document) -> Iterator[Inert]:
    for flow in scenario.get("flows", ()):
        transport: dict[str, Any] = flow.get("transport") or {}
        for key, (default, other, values) in _transport().items():
            if transport.get(key, default) != default and transport.get(other) not in values:
                shown = " or ".join("true" if value is True else f'"{value}"' for value in values)
                text = f"flow `{flow['name']}`: `{key}` has no effect without `{other} = {shown}`"
                yield Inert(str(flow["name"]), key, text)
