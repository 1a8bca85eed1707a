"""Queue management algorithms of users: classes in Python, and shared libraries of C, C++ or Rust.

What a user adds is named like a built-in algorithm afterwards: ``my_pie target 10ms``, and ``fq:my_pie`` with an
instance in each queue of a fair queue.
"""

from sojourn.plugins.algorithm import ACCEPT, DROP, MARK, SEND, Algorithm, PacketView, QueueView, parameter
from sojourn.plugins.checks import Verdict, check
from sojourn.plugins.loading import load

__all__ = [
    "ACCEPT",
    "DROP",
    "MARK",
    "SEND",
    "Algorithm",
    "PacketView",
    "QueueView",
    "Verdict",
    "check",
    "header",
    "load",
    "parameter",
]


def header() -> str:
    """Return the path of ``sojourn_aqm.h``, the interface for C."""
    from importlib import resources

    return str(resources.files("sojourn") / "plugins" / "sojourn_aqm.h")
