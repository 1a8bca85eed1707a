"""What users need of a scheme, each as one number of one network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sojourn.results.metrics import quantity
from sojourn.stats import EXACT, Floats, Quantity
from sojourn.studies.characterize.networks import NEWRENO, Group, Setting, network
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.characterize.suite import SUITE, Scenario, levels

_SPREAD: Final = {"uniform": ["0 s", "1 s"]}
_RATES: Final = ("2 Mbit/s", "20 Mbit/s", "100 Mbit/s")
_SMALL_MS: Final = 10.0


def _tcp(control: str) -> dict[str, Any]:
    return {**NEWRENO, "congestion_control": control}


def _controls(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    groups = [
        Group(name, 2, transport=_tcp(name), rtt_ms=40.0, start=dict(_SPREAD)) for name in ("newreno", "cubic", "bbr")
    ]
    what = "two flows each of NewReno, CUBIC and BBR"
    return network(setting, groups, name="controls", description=what, warm_up_s=warm_up_s)


def _small(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    groups = [Group("bulk", 8, transport=_tcp("cubic"), rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
    what = "eight CUBIC flows; the buffer is a tenth of the bandwidth-delay product"
    return network(setting, groups, name="small", description=what, warm_up_s=warm_up_s)


def _rates(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    groups = [Group("bulk", 4, transport=_tcp("cubic"), rtt_ms=40.0, start=dict(_SPREAD))]
    what = "four CUBIC flows on links of 2 to 100 Mbit/s, with the same parameters"
    return network(setting, groups, name="rates", description=what, warm_up_s=warm_up_s)


def _ecn(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    mild, _, _ = levels(setting, setting.buffer())
    groups = [Group("bulk", mild, transport={**NEWRENO, "ecn": True}, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
    what = "mild congestion; all flows use ECN, and schemes mark where they can"
    return network(setting, groups, name="ecn", description=what, warm_up_s=warm_up_s)


OWN: Final = (
    Scenario(
        "controls", "", "Mixed congestion controls", "How do NewReno, CUBIC and BBR share the link?", _controls,
        groups=(("newreno", "NewReno"), ("cubic", "CUBIC"), ("bbr", "BBR")),
    ),
    Scenario(
        "small-buffer", "", "A small buffer", "What remains of the goodput with a tenth of the usual buffer?", _small,
        largest_rtt_ms=_SMALL_MS,
    ),
    Scenario("ecn", "", "ECN under congestion", "Does marking take the place of losses?", _ecn, ecn=True),
    Scenario(
        "rates", "", "One setting for many rates", "How long is the queue on links of 2 to 100 Mbit/s?", _rates,
        vary=lambda *_: {"rate": ["links.bottleneck.rate", *_RATES]}, largest_rtt_ms=200.0,
    ),
)  # fmt: skip
"""Networks that RFC 7928 does not have."""

SCENARIOS: Final = (*(one for one in SUITE if not one.parameter), *OWN)

Values = Callable[[Found, str], Floats]


@dataclass(frozen=True, slots=True)
class Need:
    """One need.

    Parameters
    ----------
    name
        In data.
    title
        Of the column.
    question
        In words, with the network.
    section
        The scenario.
    unit
        Of the values.
    lower
        Whether low values are better.
    values
        One number a run of a scheme, in the order of replications.
    digits
        Decimals that are shown.
    of
        What is known of the values beforehand.
    """

    name: str
    title: str
    question: str
    section: str
    unit: str
    lower: bool
    values: Values
    digits: int = 1
    of: Quantity = EXACT


def _run(metric: str, scale: float = 1.0, level: int | None = None) -> Values:
    def values(found: Found, label: str) -> Floats:
        at = None if level is None else found.levels()[level]
        return found.part(found.runs, label, at)[metric].to_numpy(np.float64) * scale

    return values


def _group(metric: str, group: str, scale: float = 1.0, level: int | None = None) -> Values:
    def values(found: Found, label: str) -> Floats:
        at = None if level is None else found.levels()[level]
        return found.part(found.groups, label, at, group=group)[metric].to_numpy(np.float64) * scale

    return values


def _phase(metric: str, phase: str) -> Values:
    def values(found: Found, label: str) -> Floats:
        return found.part(found.phases, label, phase=phase)[metric].to_numpy(np.float64)

    return values


def _share(level: int) -> Values:
    """Return the larger of the two flows' goodputs, divided by the smaller."""

    def values(found: Found, label: str) -> Floats:
        at = found.levels()[level]
        first, second = (
            found.part(found.groups, label, at, group=name)["goodput_bit_s"].to_numpy(np.float64)
            for name in ("first", "second")
        )
        ratio = np.divide(second, first, out=np.full(second.shape, np.nan), where=(first > 0) & (second > 0))
        unequal: Floats = np.maximum(ratio, 1 / ratio)
        return unequal

    return values


def _worst(metric: str) -> Values:
    def values(found: Found, label: str) -> Floats:
        every = [found.part(found.runs, label, at)[metric].to_numpy(np.float64) for at in found.levels()]
        worst: Floats = np.stack(every).max(axis=0)
        return worst

    return values


NEEDS: Final = (
    Need("delay", "low delay", "mean queueing delay under medium congestion (RFC 7928, 8.2.3)", "8.2.2", "ms",
         True, _run("sojourn_ms_mean", level=1)),
    Need("goodput", "high goodput", "goodput under mild congestion (8.2.2)", "8.2.2", "Mbit/s",
         False, _run("goodput_bit_s", 1e-6, level=0), 2),
    Need("tail", "low tail of delay", "99th percentile of the delay under heavy congestion (8.2.4)", "8.2.2", "ms",
         True, _run("sojourn_ms_p99", level=2), of=quantity("sojourn_ms_p99")),
    Need("sparse", "calls", "99th percentile of a call's delay variation in the traffic mix (9.1)", "9.1", "ms",
         True, _group("delay_variation_ms_p99", "voip")),
    Need("web", "web pages", "mean page load time beside video and a download (7.2, case IV)", "7.2-IV", "s",
         True, _group("page_load_s_mean", "web"), 2),
    Need("short", "short transfers", "completion time of 50 segments beside a long flow (5.1.2)", "5.1.2", "s",
         True, _group("flow_completion_s_mean", "short", level=1), 2),
    Need("rtts", "fair over RTTs", "goodputs of flows of 20 and 100 ms, larger over smaller (6.2)", "6.2", "ratio",
         True, _share(1), 2),
    Need("controls", "fair over controls", "Jain's index of NewReno, CUBIC and BBR flows", "controls", "",
         False, _run("jain_index"), 3, quantity("jain_index")),
    Need("flood", "floods", "goodput of TCP beside UDP at three quarters of the capacity (5.3)", "5.3b", "Mbit/s",
         False, _group("goodput_bit_s", "tcp", 1e-6), 2),
    Need("changing", "changing rate", "99th percentile of the delay at 10 Mbit/s (8.2.6)", "8.2.6-1", "ms",
         True, _phase("sojourn_ms_p99", "10 Mbit/s"), 0, quantity("sojourn_ms_p99")),
    Need("small", "small buffers", "goodput with a tenth of the usual buffer", "small-buffer", "Mbit/s",
         False, _run("goodput_bit_s", 1e-6), 2),
    Need("ecn", "ECN", "losses under mild congestion when all flows use ECN (4.5)", "ecn", "%",
         True, _run("loss_ratio", 100.0), 3, quantity("loss_ratio").times(100.0)),
    Need("tuning", "no tuning", "largest mean queueing delay at 2, 20 and 100 Mbit/s", "rates", "ms",
         True, _worst("sojourn_ms_mean")),
)  # fmt: skip
"""Every need that a network measures, in the order of columns. Cost is measured apart."""
