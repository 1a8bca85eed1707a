"""Harm (Ware, Mukerjee, Seshan and Sherry, HotNets 2019): what a competitor takes from flows, from 0 to 1.

Of a metric where more is better, harm is (alone - together) / alone; where less is better, (together - alone) /
together. 0 is no harm, 1 is all that there was. It is negative where the competitor helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sojourn.base.errors import RunError
from sojourn.results import metrics, tables
from sojourn.stats.estimates import Floats, Quantity, estimate

if TYPE_CHECKING:
    from sojourn.results.results import Results


def of_values(alone: Floats, together: Floats, better: str) -> Floats:
    """Return the harm of each pair of values; NaN where both are 0 or one is missing.

    `better` says which values of the metric are better, ``higher`` or ``lower``.

    Examples
    --------
    Goodput falls from 10 to 4 Mbit/s; delay rises from 20 to 80 ms.

    >>> of_values(np.array([10.0]), np.array([4.0]), "higher").tolist()
    [0.6]
    >>> of_values(np.array([20.0]), np.array([80.0]), "lower").tolist()
    [0.75]
    """
    good, bad = (alone, together) if better == "higher" else (together, alone)
    found: Floats = np.divide(
        good - bad, good, out=np.full(good.shape, np.nan), where=np.isfinite(good) & (good != 0)
    )
    return found


def harm(alone: Results, together: Results, metric: str = "goodput_bit_s", group: str | None = None) -> pd.DataFrame:
    """Return the harm that a competitor does, of each scheme, with 95 % intervals over replications.

    Parameters
    ----------
    alone, together
        Results without and with the competitor, under the same schemes, with as many replications and the same seed.
    metric
        Of run scope; with `group` of group scope. One with a better side.
    group
        The flows that are harmed: a group that both have. By default all traffic, the competitor's included.

    Returns
    -------
    pandas.DataFrame
        Columns ``scheme``, ``metric``, ``alone``, ``together`` (means, in the metric's unit), ``harm`` (mean over
        replications, a ratio; lower is better), ``low``, ``high`` and ``replications``.

    Raises
    ------
    SojournError
        Other schemes or replications in the two, an unknown metric or group, or a metric without a better side.

    References
    ----------
    R. Ware, M. Mukerjee, S. Seshan and J. Sherry, "Beyond Jain's fairness index: Setting the bar for the deployment
    of congestion control algorithms", HotNets 2019.

    Examples
    --------
    >>> import sojourn as sj
    >>> net = sj.dumbbell(flows=1, rate=sj.mbit_s(5), duration=sj.s(6), warm_up=sj.s(2))
    >>> rival = net.flow(
    ...     name="rival",
    ...     from_="left",
    ...     to="right",
    ...     transport=sj.udp(),
    ...     traffic=sj.cbr(rate=sj.mbit_s(2), packet_size=sj.bytes_(1000)),
    ... )
    >>> found = sj.harm(sj.run(net, seed=1), sj.run(rival, seed=1), group="bulk")
    >>> bool(0.2 < found["harm"][0] < 0.7)
    True
    """
    if alone.labels != together.labels:
        raise RunError(
            f"together: has the schemes {', '.join(together.labels)}; allowed: those of `alone`, "
            f"{', '.join(alone.labels)}"
        )
    if (alone.replications, alone.seed) != (together.replications, together.seed):
        raise RunError(
            f"together: has {together.replications} replications from seed {together.seed}; allowed: as `alone`, "
            f"{alone.replications} from seed {alone.seed}"
        )
    rows = []
    for label in alone.labels:
        before, after = alone.values(label, metric, group), together.values(label, metric, group)
        better = metrics.find(metric).better
        if not better:
            raise RunError(f"metric {metric!r}: neither high nor low values are better, so nothing can be harm")
        is_repeated = label in alone.repeated & together.repeated
        found = estimate(of_values(before, after, better), Quantity(most=1.0), repeated=is_repeated)
        rows.append((label, metric, _mean(before), _mean(after), *tables.limits(found)))
    columns = ["scheme", "metric", "alone", "together", "harm", "low", "high", "replications"]
    return tables.frame(columns, rows, 2)


def _mean(values: Floats) -> float:
    return estimate(values).mean
