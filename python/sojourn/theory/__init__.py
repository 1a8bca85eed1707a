"""What theory says: queues with a dropping function, their design, and rules of thumb.

>>> from sojourn import theory
>>> found = theory.queue("dropping_function function d1 count system", load=1.0)
>>> round(found.mean_packets, 2), round(found.loss_ratio, 4)
(50.0, 0.0099)

Time is in mean service times unless a name says otherwise; n counts the packet in service where a scheme has
``count system``, and only those that wait where it has ``count queue``.
"""

from __future__ import annotations

from sojourn.theory.approximations import (
    appenzeller_buffer,
    congestion_flows,
    cubic_window,
    kleinrock,
    padhye_loss_ratio,
    padhye_rate,
    square_root_window,
)
from sojourn.theory.design import SHAPES, Design, Goal, design
from sojourn.theory.models import MODELS, Formula, Model
from sojourn.theory.queue import (
    Admission,
    Arrivals,
    Change,
    Law,
    LossRuns,
    Queue,
    Service,
    admission,
    after_change,
    exponential,
    fixed,
    law,
    loss_runs,
    markovian,
    phase_type,
    poisson,
    queue,
    sizes,
    switched,
)

__all__ = [
    "MODELS",
    "SHAPES",
    "Admission",
    "Arrivals",
    "Change",
    "Design",
    "Formula",
    "Goal",
    "Law",
    "LossRuns",
    "Model",
    "Queue",
    "Service",
    "admission",
    "after_change",
    "appenzeller_buffer",
    "congestion_flows",
    "cubic_window",
    "design",
    "exponential",
    "fixed",
    "kleinrock",
    "law",
    "loss_runs",
    "markovian",
    "padhye_loss_ratio",
    "padhye_rate",
    "phase_type",
    "poisson",
    "queue",
    "sizes",
    "square_root_window",
    "switched",
]
