"""Which model stands for which registered algorithm."""

from __future__ import annotations

import cobalt
import codel
import daqm
import dropping_function
import fair
import fifo
import pie
import red
from base import Model

MODELS: dict[str, type[Model]] = {
    "pfifo": fifo.Pfifo,
    "bfifo": fifo.Bfifo,
    "threshold": fifo.Threshold,
    "dropping_function": dropping_function.DroppingFunction,
    "red": red.Red,
    "ared": red.Ared,
    "pie": pie.Pie,
    "codel": codel.Codel,
    "cobalt": cobalt.Cobalt,
    "daqm": daqm.Daqm,
    "fq_codel": fair.over(
        codel.Codel,
        "flows 64",
        "flows 4 limit 20p quantum 300B target 1ms interval 5ms",
        "flows 3 limit 30p drop_batch 2p noecn count_overflow",
        "memory_limit 30kB quantum 1000B target 500us interval 2ms ce_threshold 300us",
        "flows 8 control_law newton target 200us interval 2ms mtu 0B",
        defaults={"ecn": "true"},
    ),
}

#: Registered algorithms whose models are still to be written. Must become empty.
PENDING = {
    "nlred", "fred", "choke", "black", "shred", "green", "blue", "rem", "avq", "pi", "sfb", "drr", "sfq",
    "fq_pfifo", "fq_pie", "fq_cobalt", "fq_red", "cake", "dualpi2",
}  # fmt: skip
