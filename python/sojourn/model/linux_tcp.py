"""TCP of a Linux host with its default sysctls, as far as it differs from the defaults of scenarios.

`sojourn crosscheck linux` compares flows with these keys with Linux.
"""

from __future__ import annotations

from typing import Any, Final

KEYS: Final[dict[str, Any]] = {
    # tcp_recovery 1 and tcp_early_retrans 3.
    "recovery": "rack",
    "tail_loss_probe": True,
    # tcp_frto 2 and tcp_dsack 1.
    "undo": True,
    # Debian's CONFIG_HZ is 250.
    "timer_tick": "4 ms",
    "timestamp_tick": "1 ms",
    # Half of tcp_rmem's 6 MiB is offered: at p047 Linux stands still at 2171 unacknowledged segments.
    "receive_buffer": "3 MiB",
    # tcp_wmem's 4 MiB include 1280 B for each group of segments: `ss` has 6 to 7 % more memory than payload where the
    # buffer limits a flow.
    "send_buffer": "3840 KiB",
    "segmentation_offload": True,
    "ack_policy": "linux",
}
"""Keys of a flow's transport."""
