"""What users need of a scheme, each as one number of one network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sojourn.results.metrics import quantity
from sojourn.stats import EXACT, Quantity
from sojourn.studies.characterize.networks import Group
from sojourn.studies.characterize.numbers import DELAY, GOODPUT, Values, reading, unequal, worst
from sojourn.studies.characterize.suite import SUITE, Scenario, mild, of, tcp

_RATES: Final = ("2 Mbit/s", "20 Mbit/s", "100 Mbit/s")
_SMALL_MS: Final = 10.0
_CUBIC: Final = tcp(congestion_control="cubic")

OWN: Final = (
    Scenario(
        "controls", "", "Mixed congestion controls", "How do NewReno, CUBIC and BBR share the link?",
        of("controls", "two flows each of NewReno, CUBIC and BBR",
           *(Group(name, 2, tcp(congestion_control=name), rtt_ms=40.0) for name in ("newreno", "cubic", "bbr"))),
        groups=(("newreno", "NewReno"), ("cubic", "CUBIC"), ("bbr", "BBR")),
    ),
    Scenario(
        "small-buffer", "", "A small buffer", "What remains of the goodput with a tenth of the usual buffer?",
        of("small", "eight CUBIC flows; the buffer is a tenth of the bandwidth-delay product",
           Group("bulk", 8, _CUBIC)),
        largest_rtt_ms=_SMALL_MS,
    ),
    Scenario(
        "ecn", "", "ECN under congestion", "Does marking take the place of losses?",
        of("ecn", "mild congestion; all flows use ECN, and schemes mark where they can",
           mild("bulk", transport=tcp(ecn=True))),
        ecn=True,
    ),
    Scenario(
        "rates", "", "One setting for many rates", "How long is the queue on links of 2 to 100 Mbit/s?",
        of("rates", "four CUBIC flows on links of 2 to 100 Mbit/s, with the same parameters",
           Group("bulk", 4, _CUBIC, rtt_ms=40.0)),
        vary=lambda *_: {"rate": ["links.bottleneck.rate", *_RATES]}, largest_rtt_ms=200.0,
    ),
    Scenario(
        "large", "", "A large bandwidth-delay product", "What do few flows carry on a fast and long path?",
        of("large", "four CUBIC flows at 100 Mbit/s with a base RTT of 200 ms",
           Group("bulk", 4, _CUBIC, rtt_ms=200.0)),
        largest_rtt_ms=200.0, rate_mbit_s=100.0,
    ),
)  # fmt: skip
"""Networks that RFC 7928 does not have."""

SCENARIOS: Final = (*(one for one in SUITE if not one.parameter), *OWN)


@dataclass(frozen=True, slots=True)
class Need:
    """One need: the number of a network, with its unit, and what is known of it beforehand.

    `section` names the scenario, and `digits` are the decimals that are shown.
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


NEEDS: Final = (
    Need("delay", "low delay", "mean queueing delay under medium congestion (RFC 7928, 8.2.3)", "8.2.2", "ms",
         True, reading(DELAY, level=1)),
    Need("goodput", "high goodput", "goodput under mild congestion (8.2.2)", "8.2.2", "Mbit/s",
         False, reading(GOODPUT, 1e-6, level=0), 2),
    Need("tail", "low tail of delay", "99th percentile of the delay under heavy congestion (8.2.4)", "8.2.2", "ms",
         True, reading("sojourn_ms_p99", level=2), of=quantity("sojourn_ms_p99")),
    Need("sparse", "calls", "99th percentile of a call's delay variation in the traffic mix (9.1)", "9.1", "ms",
         True, reading("delay_variation_ms_p99", group="voip")),
    Need("web", "web pages", "mean page load time beside video and a download (7.2, case IV)", "7.2-IV", "s",
         True, reading("page_load_s_mean", group="web"), 2),
    Need("short", "short transfers", "completion time of 50 segments beside a long flow (5.1.2)", "5.1.2", "s",
         True, reading("flow_completion_s_mean", level=1, group="short"), 2),
    Need("rtts", "fair over RTTs", "goodputs of flows of 20 and 100 ms, larger over smaller (6.2)", "6.2", "ratio",
         True, unequal, 2),
    Need("controls", "fair over controls", "Jain's index of NewReno, CUBIC and BBR flows", "controls", "",
         False, reading("jain_index"), 3, quantity("jain_index")),
    Need("flood", "floods", "goodput of TCP beside UDP at three quarters of the capacity (5.3)", "5.3b", "Mbit/s",
         False, reading(GOODPUT, 1e-6, group="tcp"), 2),
    Need("changing", "changing rate", "99th percentile of the delay at 10 Mbit/s (8.2.6)", "8.2.6-1", "ms",
         True, reading("sojourn_ms_p99", phase="10 Mbit/s"), 0, quantity("sojourn_ms_p99")),
    Need("small", "small buffers", "goodput with a tenth of the usual buffer", "small-buffer", "Mbit/s",
         False, reading(GOODPUT, 1e-6), 2),
    Need("ecn", "ECN", "losses under mild congestion when all flows use ECN (4.5)", "ecn", "%",
         True, reading("loss_ratio", 100.0), 3, quantity("loss_ratio").times(100.0)),
    Need("tuning", "no tuning", "largest mean queueing delay at 2, 20 and 100 Mbit/s", "rates", "ms",
         True, worst(DELAY, lower=True)),
    Need("large", "large paths", "goodput of four CUBIC flows at 100 Mbit/s and 200 ms", "large", "Mbit/s",
         False, reading(GOODPUT, 1e-6)),
)  # fmt: skip
"""Every need that a network measures, in the order of columns. Cost is measured apart."""
