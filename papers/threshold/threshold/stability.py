"""Stability of one bottleneck: by the fluid model, and by what a disturbance leaves behind in the simulator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import pandas as pd

from sojourn.base.core import SojournError
from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.theory import stability as linear
from sojourn.theory.fluid import FlowClass, Fluid, Link
from sojourn.theory.translate import controller

STABLE: Final = "stable"
KEPT: Final = "goodput_kept"
_BEFORE, _AFTER = "before", "after"


def columns(
    store: Store, wanted: list[str], each: Iterable[tuple[Sequence[str], str, float, int, float]]
) -> dict[str, pd.Series[float]]:
    """Return ``stable@bottleneck`` and ``goodput_kept@bottleneck`` by run.

    The first is 1 where the fluid model's fixed point is stable with the run's scheme and Reno flows, and 0 where it
    is not. The second is the goodput of the phase ``after`` over that of the phase ``before``.

    Parameters
    ----------
    each
        Of each condition with Reno flows and one bottleneck: its runs, the scheme, the capacity in packets/s, the
        number of flows and the base RTT in seconds.
    """
    stable = {run: float(is_stable(*setting)) for runs, *setting in each for run in runs}
    phases = store.read("phases", ["phase", "group", "goodput_bit_s"], wanted).to_pandas()
    # All flows together are with the queue under test.
    found = phases[phases["group"] == ""].pivot_table(index=KEY, columns="phase", values="goodput_bit_s")
    kept = found[_AFTER] / found[_BEFORE] if {_BEFORE, _AFTER} <= {*found} else pd.Series(dtype=float)
    return {f"{STABLE}@bottleneck": pd.Series(stable, dtype=float), f"{KEPT}@bottleneck": kept}


@cache
def is_stable(scheme: str, capacity_packets_s: float, flows: int, rtt_s: float) -> bool:
    """Return whether the roots of the linearised fluid model have negative real parts (Misra, Gong, Towsley 2000)."""
    own, limit = controller(scheme)
    link = Link(capacity_packets_s=capacity_packets_s, controller=own, buffer_packets=limit)
    try:
        growth = linear.growth(Fluid([link], [FlowClass(flows=flows, base_rtt_s=rtt_s)]))
    except SojournError:
        # Without a fixed point, nothing is stable.
        return False
    return growth < 0
