"""Results of ``sojournd``, which runs the algorithms on real packets: windows, and the schedule of schemes.

>>> from sojourn.real.device import windows
>>> store = windows.read("/var/lib/sojournd/windows.sqlite")  # doctest: +SKIP
>>> store.windows.groupby("label")["mean_queue_packets"].mean()  # doctest: +SKIP
"""

from __future__ import annotations
