"""What flows carry and how: traffic, transport and start times, as parts of a scenario document.

Every function returns a read-only table of the document; the loader checks the document as a whole.
"""

from typing import Any

from sojourn.model.builders import kinds
from sojourn.model.parts import Start, Traffic, Transport, every

__all__ = ["Start", "Traffic", "Transport", "every"]


def __getattr__(name: str) -> Any:
    if table := kinds("TrafficTable").get(name):
        made = table.function(name, {"count": "int | None"}, "Traffic", Traffic)
    elif table := kinds("TransportTable").get(name):
        made = table.function(name, {}, "Transport", Transport)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made.__module__ = __name__
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *kinds("TrafficTable"), *kinds("TransportTable")})
