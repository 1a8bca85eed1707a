"""Linux's tc: the commands that install a scheme, and statistics in the shape of ``tc -s -j qdisc show``.

References
----------
tc(8) and the manual page of each kind; iproute2 for the names in JSON.
"""

from __future__ import annotations

from sojourn.tc.commands import commands
from sojourn.tc.statistics import statistics

__all__ = ["commands", "statistics"]
