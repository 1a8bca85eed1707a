"""Sojourn: a laboratory for active queue management.

Build a network, compare schemes on it, and get estimates with their uncertainty:

>>> import sojourn as sj
>>> net = sj.dumbbell(flows=4, rate=sj.mbit_s(10), base_rtt=sj.ms(40), duration=sj.s(5), warm_up=sj.s(1))
>>> results = sj.compare(net, ["pfifo limit 100p", "codel"], replicates=3, seed=1)
>>> sorted(results.summary()["scheme"].unique())
['codel', 'pfifo limit 100p']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sojourn.base import lazy, provided

if TYPE_CHECKING:
    from sojourn.base.core import version
    from sojourn.base.errors import RunError, ScenarioError, SchemeError, SojournError, StoreError
    from sojourn.base.units import Quantity, bit_s, bytes_, gbit_s, kbit_s, kib, mbit_s, mib, ms, ns, packets, s, us
    from sojourn.model import draw
    from sojourn.model.lines import access, rrul
    from sojourn.model.network import Network, bundled_scenarios, load
    from sojourn.model.recorded import source
    from sojourn.model.scheme import DEFAULT_SCHEMES, Scheme, aqm
    from sojourn.model.topologies import dumbbell, lan
    from sojourn.model.traffic import (
        bulk,
        cbr,
        every,
        gaming,
        on_off,
        pareto,
        poisson,
        replay,
        request_response,
        switched_poisson,
        tcp,
        transfer,
        udp,
        vbr,
        video,
        voip,
        web,
        weibull,
    )
    from sojourn.plan.logs import DecisionLogs, PacketTraces
    from sojourn.plan.runner import compare, run
    from sojourn.plan.stepping import Simulation, Window
    from sojourn.plugins.algorithm import ACCEPT, DROP, MARK, SEND, Algorithm, PacketView, QueueView, parameter
    from sojourn.real.shell import Emulation, emulate
    from sojourn.results.applications import ApplicationSummary
    from sojourn.results.harm import harm
    from sojourn.results.outcome import Requirements, quality_of_outcome
    from sojourn.results.results import Results
    from sojourn.results.smoothness import goodput_over_intervals
    from sojourn.results.under_load import RrulSummary
    from sojourn.stats import Estimate
    from sojourn.studies.working_conditions import Responsiveness, ResponsivenessTest, responsiveness
    from sojourn.view import trace

    __version__: str

__all__ = [
    "ACCEPT",
    "DEFAULT_SCHEMES",
    "DROP",
    "MARK",
    "SEND",
    "Algorithm",
    "ApplicationSummary",
    "DecisionLogs",
    "Emulation",
    "Estimate",
    "Network",
    "PacketTraces",
    "PacketView",
    "Quantity",
    "QueueView",
    "Requirements",
    "Responsiveness",
    "ResponsivenessTest",
    "Results",
    "RrulSummary",
    "RunError",
    "ScenarioError",
    "Scheme",
    "SchemeError",
    "Simulation",
    "SojournError",
    "StoreError",
    "Window",
    "access",
    "aqm",
    "bit_s",
    "bulk",
    "bundled_scenarios",
    "bytes_",
    "cbr",
    "compare",
    "draw",
    "dumbbell",
    "emulate",
    "every",
    "gaming",
    "gbit_s",
    "goodput_over_intervals",
    "harm",
    "kbit_s",
    "kib",
    "lan",
    "load",
    "mbit_s",
    "mib",
    "ms",
    "ns",
    "on_off",
    "packets",
    "parameter",
    "pareto",
    "poisson",
    "quality_of_outcome",
    "replay",
    "request_response",
    "responsiveness",
    "rrul",
    "run",
    "s",
    "source",
    "switched_poisson",
    "tcp",
    "trace",
    "transfer",
    "udp",
    "us",
    "vbr",
    "version",
    "video",
    "voip",
    "web",
    "weibull",
]

_HOME = {
    "sojourn.results.applications": ("ApplicationSummary",),
    "sojourn.base.core": ("version",),
    "sojourn.base.errors": ("RunError", "ScenarioError", "SchemeError", "SojournError", "StoreError"),
    "sojourn.model.lines": ("access", "rrul"),
    "sojourn.model.network": ("Network", "bundled_scenarios", "load"),
    "sojourn.plugins.algorithm": (
        "ACCEPT",
        "DROP",
        "MARK",
        "SEND",
        "Algorithm",
        "PacketView",
        "QueueView",
        "parameter",
    ),
    "sojourn.model.recorded": ("source",),
    "sojourn.studies.working_conditions": ("Responsiveness", "ResponsivenessTest", "responsiveness"),
    "sojourn.results.results": ("Results",),
    "sojourn.plan.runner": ("compare", "run"),
    "sojourn.model.scheme": ("DEFAULT_SCHEMES", "Scheme", "aqm"),
    "sojourn.stats": ("Estimate",),
    "sojourn.results.harm": ("harm",),
    "sojourn.results.outcome": ("Requirements", "quality_of_outcome"),
    "sojourn.results.smoothness": ("goodput_over_intervals",),
    "sojourn.real.shell": ("Emulation", "emulate"),
    "sojourn.plan.stepping": ("Simulation", "Window"),
    "sojourn.model.topologies": ("dumbbell", "lan"),
    "sojourn.plan.logs": ("DecisionLogs", "PacketTraces"),
    "sojourn.model.traffic": (
        "bulk",
        "cbr",
        "every",
        "gaming",
        "on_off",
        "pareto",
        "poisson",
        "replay",
        "request_response",
        "switched_poisson",
        "tcp",
        "transfer",
        "udp",
        "vbr",
        "video",
        "voip",
        "web",
        "weibull",
    ),
    "sojourn.results.under_load": ("RrulSummary",),
    "sojourn.base.units": (
        "Quantity",
        "bit_s",
        "bytes_",
        "gbit_s",
        "kbit_s",
        "kib",
        "mbit_s",
        "mib",
        "ms",
        "ns",
        "packets",
        "s",
        "us",
    ),
}
"""The module of each name. A module is imported when one of its names is first used, so commands start quickly."""

for _name, _place in {
    "picture of rrul": "sojourn.view.rrul:draw",
    "plots": "sojourn.view.plot:Plots",
    "report": "sojourn.view.report:render",
    "notebook": "sojourn.view.report:summary_html",
    "run folder": "sojourn.plan.folder",
    "cells of a plan": "sojourn.plan.expand:cells",
    "driver of plans": "sojourn.plan.runner:run_plan",
    "real packets": "sojourn.real.shell.executor",
}.items():
    provided.register(_name, _place)

_value = lazy.names(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _value("version")()
    if name in ("draw", "trace"):
        return import_module(f"sojourn.{'model' if name == 'draw' else 'view'}.{name}")
    return _value(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
