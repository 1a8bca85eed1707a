"""What the demonstration runs: the schemes with their parameters, and the readings of the published setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from sojourn import core

if TYPE_CHECKING:
    from sojourn.results import Results

SchemesFor: TypeAlias = Callable[[str], dict[str, str]]

DUMBBELL_PICTURED: Final = ("pfifo", "red", "pie", "codel", "fq_codel", "cobalt", "daqm")
"""One scheme of every family, so that pictures stay readable; the table has all."""

LAN_FIFO: Final = "pfifo limit 2000p"
DUMBBELL_FIFO: Final = "pfifo"


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of where the queue under study sits."""

    name: str
    title: str
    short: str
    device_queue: str


READINGS: Final = (
    Reading(
        "lan_device_queue",
        "with a device queue of 100 packets below each scheme",
        "device queue 100 p",
        "100 p",
    ),
    Reading("lan_no_device_queue", "without a device queue", "no device queue", "0 p"),
)


def fifo_part(name: str) -> str:
    """Return the name of the FIFO run that a part takes D from."""
    return f"{name}_fifo"


def lan_schemes(interarrival: str) -> dict[str, str]:
    """Return the eight schemes of the thesis with the parameters of its Table 2 and its buffer of 2000 packets.

    Parameters
    ----------
    interarrival
        dAQM's D.

    Notes
    -----
    The presets named ``shu2023`` are the algorithm library's readings of Table 2. RED: ns-3's, thresholds and weight
    as given; target, alpha and beta act in adaptive RED only, which ns-3 leaves off. PIE: "Deq.Th = 20" acts with the
    departure-rate estimator only, which the thesis does not mention, so it is left out; the target is not given: the
    standard's 15 ms. COBALT: Pdrop, increment, decrement and BLUE threshold.
    """
    daqm = f"interarrival {interarrival} limit 2000p"
    return {
        "RED": "red preset shu2023 limit 2000p",
        "PIE": "pie tupdate 15ms alpha 0.125 beta 1.25 limit 2000p",
        "CoDel": "codel target 5ms interval 100ms limit 2000p",
        "FQ-CoDel": "fq_codel target 5ms interval 100ms flows 1024 limit 2000p",
        "COBALT": "cobalt preset shu2023 limit 2000p",
        "dAQM c1": f"daqm preset c1 {daqm}",
        "dAQM c2": f"daqm preset c2 {daqm}",
        "dAQM c3": f"daqm preset c3 {daqm}",
    }


def dumbbell_schemes(interarrival: str) -> dict[str, str]:
    """Return every scheme of the registry with its defaults, those that need D in dAQM's middle configuration.

    Parameters
    ----------
    interarrival
        dAQM's D.
    """
    needs_d = f"preset c2 interarrival {interarrival}"
    parameters = {str(aqm["name"]): {str(p["name"]) for p in aqm["parameters"]} for aqm in core.aqms()}
    return {name: f"{name} {needs_d}" if "interarrival" in known else name for name, known in parameters.items()}


def interarrival(fifo: Results) -> str:
    """Return dAQM's D as the thesis takes it: the most frequent spacing of arrivals in a FIFO run, in whole ms.

    Every replication has its mode; D is the one that most of them have, the smaller at a tie. Where it rounds to
    zero the thesis' rule gives no D, and dAQM measures its own (``measured``).
    """
    values = fifo.values(fifo.labels[0], "interarrival_ms_mode")
    modes = Counter(int(value) for value in values if np.isfinite(value))
    if not modes:
        return "measured"
    mode, _ = min(modes.items(), key=lambda item: (-item[1], item[0]))
    return f"{mode}ms" if mode > 0 else "measured"
