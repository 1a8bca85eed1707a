"""Estimates with their uncertainty.

``estimate``, ``paired`` and ``unpaired`` give means with Student's intervals, for a ``Quantity`` of which buckets and
range are known; ``effect`` and ``holm`` say how large a difference is
and whether it remains among many, ``quantile_interval`` and ``bootstrap`` are for quantiles, ``batch_means`` is for
one long run, ``mser`` and ``initial_bias`` look at the warm-up.
"""

from __future__ import annotations

from sojourn.stats.effects import Effect, effect, holm, paired_p
from sojourn.stats.estimates import (
    EXACT,
    LEVEL,
    Estimate,
    Floats,
    Quantity,
    correlation,
    ellipse,
    estimate,
    jain,
    mean_cdf,
    paired,
    prediction,
    quantile_t,
    unpaired,
)
from sojourn.stats.longrun import BatchMeans, batch_means
from sojourn.stats.resampling import bootstrap, pooled_quantile, quantile_interval
from sojourn.stats.steady import Bias, initial_bias, mser

__all__ = [
    "EXACT",
    "LEVEL",
    "BatchMeans",
    "Bias",
    "Effect",
    "Estimate",
    "Floats",
    "Quantity",
    "batch_means",
    "bootstrap",
    "correlation",
    "effect",
    "ellipse",
    "estimate",
    "holm",
    "initial_bias",
    "jain",
    "mean_cdf",
    "mser",
    "paired",
    "paired_p",
    "pooled_quantile",
    "prediction",
    "quantile_interval",
    "quantile_t",
    "unpaired",
]
