"""What ``sojournd``, the algorithms on real packets, leaves behind: windows, and the schedule that was in force.

>>> from sojourn.device import windows
>>> store = windows.read("/var/lib/sojournd/windows.sqlite")  # doctest: +SKIP
>>> store.windows.groupby("label")["mean_queue_packets"].mean()  # doctest: +SKIP
"""

from __future__ import annotations
