"""Sojourn: a laboratory for active queue management.

Build a network, compare schemes on it, and get estimates with their uncertainty:

>>> import sojourn as sj
>>> net = sj.dumbbell(flows=4, rate=sj.mbit_s(10), base_rtt=sj.ms(40), duration=sj.s(5), warm_up=sj.s(1))
>>> results = sj.compare(net, ["pfifo limit 100p", "codel"], replicates=3, seed=1)
>>> sorted(results.summary()["scheme"].unique())
['codel', 'pfifo limit 100p']
"""

from __future__ import annotations

from typing import Any

from sojourn.base import lazy, provided

_HOME = lazy.declared(__file__)
"""Names by modules. A module is imported when one of its names is first used, so commands start quickly."""
__all__ = [name for names in _HOME.values() for name in names]

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
    return _value(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
