"""What each command of ``sojourn theory`` computes: formulas, assumptions, and where the simulation departs.

The commands print it, ``--json`` has it, and the pages on theory contain it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MODELS", "Formula", "Model"]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula as text.

    Parameters
    ----------
    quantity
        What it gives.
    formula
        As text, or the method where there is no closed form.
    source
        Who published it.
    function
        The function of :mod:`sojourn.theory` that computes it alone, if there is one.
    """

    quantity: str
    formula: str
    source: str
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a command assumes.

    Parameters
    ----------
    formulas
        What it computes.
    assumptions
        What must hold for it, one sentence or two each.
    departures
        Where the simulation departs from the result, with the reason and measured numbers.
    """

    formulas: tuple[Formula, ...]
    assumptions: tuple[str, ...]
    departures: tuple[str, ...]


_THEOREM: Final = "Barczyk and Chydzinski 2022, Theorem 1"
_DEPENDS: Final = "Whether an arrival is lost depends on the number of packets that it finds, and on nothing else."
_SERVICE: Final = (
    "Service times are exponential and independent. On a link, the service time is the packet's size over the rate."
)
_TCP: Final = (
    "TCP does not offer a fixed load: it sends more until packets are lost. Function d1 drops nothing below 90 "
    "packets and holds 50 packets at load 1; under 20 CUBIC flows on 20 Mbit/s (scenario dumbbell) it holds 88."
)

MODELS: Final[dict[str, Model]] = {
    "queue": Model(
        formulas=(
            Formula(
                "share of time with k packets in the system",
                "P_k = P_0 rho^k (1 - d(0)) (1 - d(1)) ... (1 - d(k - 1))",
                _THEOREM,
            ),
            Formula("loss ratio", "L = sum of P_k d(k) = 1 - (1 - P_0) / rho", _THEOREM),
            Formula("mean time in the system", "sum of k P_k / (rho (1 - L)) mean service times", "Little 1961"),
            Formula(
                "with other service times (`--scv`)",
                "the Markov chain at departures, with accepted arrivals",
                "Kendall 1953",
            ),
            Formula(
                "with bursts (`--bursts`)",
                "a level-dependent quasi-birth-death process",
                "Gaver, Jacobs and Latouche 1984",
            ),
        ),
        assumptions=(
            "Arrivals are a Poisson process, or with `--bursts` one that switches between two rates. They do not "
            "react to losses.",
            "Service times are exponential (or as `--scv` says) and independent. On a link, the service time is the "
            "packet's size over the rate, so packets of one size need `--scv 0`.",
            _DEPENDS,
            "The queue is in its steady state. A dropping function goes on without end unless `--buffer` is given.",
        ),
        departures=(
            "None was found where the traffic is as assumed: simulations with Poisson arrivals, with bursts, and "
            "with exponential, fixed and mixed sizes agree within simultaneous 99 % intervals.",
            _TCP,
        ),
    ),
    "design": Model(
        formulas=(
            Formula(
                "location x of the function",
                "the root of: mean number, loss ratio, mean time or quantile of the time = goal",
                "the steady state of `sojourn theory queue`",
            ),
        ),
        assumptions=(
            "Arrivals are a Poisson process of the given load. They do not react to losses.",
            _SERVICE,
            _DEPENDS,
        ),
        departures=(
            "The goal holds at the load of the design only: the function d1 holds 50 packets at load 1, 92 at 1.1 "
            "and 9 at 0.9.",
            _TCP,
        ),
    ),
    "optimal": Model(
        formulas=(
            Formula(
                "cost (`--loss-cost c`)",
                "mean number + c L lambda, where lambda is the rate of arrivals",
                "Naor 1969; Stidham 1985",
            ),
            Formula(
                "total impairment (`--utilisation`)",
                "C = mean number + 95 x / (x / B + 4.3), with losses x in per cent and burst ratio B",
                "Barczyk and Chydzinski 2022",
            ),
        ),
        assumptions=(
            "Arrivals are a Poisson process of packets or of batches, or switch between two rates. They do not react "
            "to losses.",
            _SERVICE,
            _DEPENDS,
            "At most `--room` packets are in the system.",
            "The function of least C is linear between 16 knots. It is a local optimum, found from two starts.",
        ),
        departures=(
            "TCP reacts to losses. In simulations of campus traffic the gradual function that theory chose lowered C "
            "by 26 %, and utilisation by 1.8 %. Theory predicted the order of the functions, and a utilisation of "
            "0.98, where the simulation had 0.92 to 0.97.",
        ),
    ),
    "stability": Model(
        formulas=(
            Formula("windows", "dW/dt = 1/R(t) - W(t)/2 W(t - R)/R(t - R) p(t - R)", "Misra, Gong and Towsley 2000"),
            Formula("queue", "dq/dt = n W/R (1 - p) - C", "Misra, Gong and Towsley 2000"),
            Formula("fixed point", "W = sqrt(2 / p), R = base RTT + q / C", "dW/dt = dq/dt = 0"),
            Formula(
                "stability",
                "x'(t) = A x(t) + B x(t - R); stable if all characteristic roots have a real part below 0",
                "Hollot, Misra, Towsley and Gong 2001; Breda, Maset and Vermiglio 2005",
            ),
        ),
        assumptions=(
            "All flows are Reno with the same RTT: one packet more in each round trip, and half the window less for "
            "each lost packet. How often the receiver acknowledges does not matter.",
            "There are no timeouts, no slow start and no smallest window. Windows are not whole numbers.",
            "Losses are spread evenly, and the sender learns of them one round trip later.",
            "The mean window is sqrt(2/p). A saw-tooth has sqrt(3/(2p)), which is 13 % less; from Python, "
            "`closure=SAWTOOTH` computes this one.",
            "Stability is that of small disturbances.",
        ),
        departures=(
            "With windows of 14 to 35 packets, RED's and PI's queues were within 3 % of the fixed point and their "
            "losses within 9 %, with `closure=SAWTOOTH`. Oscillations began at 91 to 93 % of the predicted RTT.",
            "Small windows: for 20 flows under CoDel on 20 Mbit/s with a base RTT of 40 ms the model says 11 % loss; "
            "the simulation has 4.0 %. `sojourn theory rules` says why.",
            "CoDel: the model holds the queue at CoDel's target of 5 ms. In the simulation of these flows it is 17 "
            "ms; with windows of 39 packets (200 Mbit/s) it is 6.3 ms.",
        ),
    ),
    "rules": Model(
        formulas=(
            Formula(
                "Reno's mean window at loss p, b packets per acknowledgement",
                "sqrt(3/(2 b p))",
                "Mathis et al. 1997",
                "square_root_window",
            ),
            Formula(
                "Reno's rate with timeouts",
                "1/(R sqrt(2 b p/3) + T0 min(1, 3 sqrt(3 b p/8)) p (1 + 32 p²))",
                "Padhye et al. 1998, equation 32",
                "padhye_rate",
            ),
            Formula(
                "CUBIC's mean window",
                "(C (3 + beta)/(4 (1 - beta)))^(1/4) (R/p)^(3/4)",
                "RFC 9438, section 5.1",
                "cubic_window",
            ),
            Formula(
                "buffer that keeps a link with n flows busy",
                "BDP/sqrt(n)",
                "Appenzeller et al. 2004",
                "appenzeller_buffer",
            ),
            Formula(
                "number of flows for mild, medium, heavy congestion",
                "S sqrt(l/0.76), l = 0.1, 0.5, 1 %, S = BDP + buffer",
                "RFC 7928, section 8.2",
                "congestion_flows",
            ),
            Formula("load with the largest power", "1/(1 + sqrt((1 + c²)/2))", "Kleinrock 1979", "kleinrock"),
        ),
        assumptions=(
            "All flows are long, alike and never idle, and the link is full.",
            "The window of a flow is C R / n. R is the base RTT plus `--queue-delay`; without that option the queue "
            "is empty.",
            "b is 1: Linux counts acknowledged packets, so its window grows by one packet in a round trip even if "
            "the receiver acknowledges every second packet.",
            "Losses are rare and independent: one of a window, which is repaired without a timeout. The row with "
            "timeouts assumes that a timeout takes T0 = 200 ms, Linux's least.",
            "BDP/sqrt(n) assumes many flows that are not synchronised.",
        ),
        departures=(
            "The queue: 20 Reno flows on 20 Mbit/s with a base RTT of 40 ms have windows of 3.3 packets without a "
            "queue, for which the square root says 13.5 %. Under CoDel packets wait for 17 ms, so windows are 4.7 "
            "packets, and the square root says 6.7 %.",
            "Recovery: such a flow grows for about three round trips and then repairs its loss for one, in which it "
            "does not grow. The square root leaves this out; with it, 4.8 % follow. In the simulation, CoDel signals "
            "to 5.1 % of the packets if it marks them, which causes no timeouts.",
            "Timeouts: if CoDel drops, 4 % of the losses end in a timeout, and the flow is silent for at least 200 "
            "ms. The simulation then has 4.1 %, or 5.0 % with RACK and tail loss probes, which avoid the timeouts. "
            "The row with timeouts says 3.8 %, partly by chance: it expects far more timeouts, and has no round of "
            "recovery.",
            "One acknowledgement for each packet (4.1 %) or for every second (4.0 %) makes little difference.",
            "Large windows: with 4 flows (19 packets) and with 200 Mbit/s (39 packets) rule and simulation are "
            "within 2 % of each other if the queue is counted.",
        ),
    ),
}
