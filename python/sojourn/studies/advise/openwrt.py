"""OpenWrt's SQM: what its scripts make of their settings, so that what is simulated is what they install.

References
----------
sqm-scripts of T. Høiland-Jørgensen and others (simplest.qos, piece_of_cake.qos). What they do is described here, and
checked by crosscheck/linux/advice.py, which runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sojourn.base.units import Data, bytes_
from sojourn.model.scheme import Scheme
from sojourn.studies.advise import overheads

if TYPE_CHECKING:
    from sojourn.studies.advise.line import Line, Shaper

PLATFORM: Final = "openwrt"
_LIMIT: Final = 1001
"""Packets of a queue, where no limit is set."""
_TARGET_US: Final = 5_000
_INTERVAL_US: Final = 95_000
_LONGEST_BIT: Final = 33 * 53 * 8
"""33 cells of ATM, the most that a full packet becomes. On a slow line CoDel's target is the time of as much."""
_LEAST_BURST_BYTES: Final = 1749
"""The same 33 cells in bytes: of htb's bucket, which otherwise has what 1 ms of the rate carries."""


def kbit_s(line: Line, scheme: str, mbit_s: float) -> int:
    """Return the rate that the settings name: less by PTM's codewords, which CAKE alone counts itself."""
    share = 1.0 if _is_cake(scheme) else overheads.STAB[line.framing][1]
    return round(mbit_s * share * 1e3)


def queue(line: Line, scheme: str, mbit_s: float) -> str:
    """Return the scheme in htb's class with the parameters that the script gives it."""
    rate = kbit_s(line, scheme, mbit_s)
    target = max(_TARGET_US, 1000 * _LONGEST_BIT // rate)
    return f"{scheme} limit {_LIMIT}p target {target}us interval {_INTERVAL_US + target}us"


def burst(line: Line, scheme: str, mbit_s: float) -> Data:
    """Return the bucket that the script gives htb."""
    return bytes_(max(kbit_s(line, scheme, mbit_s) // 8, _LEAST_BURST_BYTES))


def commands(line: Line, shaper: Shaper) -> list[str]:
    """Return what to paste. simplest.qos has one class of htb; simple.qos would have three, which nothing here is."""
    is_cake = _is_cake(shaper.scheme)
    has_pppoe = line.framing in overheads.PPPOE
    options = overheads.STAB[line.framing][0].split()
    values = {
        "interface": "pppoe-wan" if has_pppoe else "wan",
        "download": kbit_s(line, shaper.scheme, shaper.down_mbit_s or 0.0),
        "upload": kbit_s(line, shaper.scheme, shaper.up_mbit_s or 0.0),
        "qdisc": Scheme(shaper.scheme).algorithm,
        "script": "piece_of_cake.qos" if is_cake else "simplest.qos",
        "linklayer": options[options.index("linklayer") + 1],
        "overhead": _overhead(line, is_cake=is_cake, device="ppp" if has_pppoe else "ethernet"),
    }
    if "mpu" in options:
        values["tcMPU"] = options[options.index("mpu") + 1]
    if is_cake:
        ptm = "ptm " if line.framing == "pppoe-ptm" else ""
        values |= {
            "qdisc_advanced": 1,
            "qdisc_really_really_advanced": 1,
            "iqdisc_opts": f"{ptm}ingress",
            **({"eqdisc_opts": ptm.strip()} if ptm else {}),
        }
    lines = ["opkg update; opkg install sqm-scripts"]
    if has_pppoe:
        below, beside = (_overhead(line, is_cake=is_cake, device=one) for one in ("pppoe in ethernet", "ethernet"))
        lines += [
            f"# pppoe-wan is on a router that speaks PPPoE; on the Ethernet device below, the overhead is {below},",
            f"# on the Ethernet device of a router whose modem speaks PPPoE, it is {beside}",
        ]
    lines += [f"uci set sqm.@queue[0].{name}='{value}'" for name, value in values.items()]
    return [*lines, "uci set sqm.@queue[0].enabled='1'", "uci commit sqm; service sqm restart"]


def _is_cake(scheme: str) -> bool:
    return Scheme(scheme).algorithm == "cake"


def _overhead(line: Line, *, is_cake: bool, device: overheads.Device) -> int:
    return (overheads.of_cake if is_cake else overheads.of_stab)(line.framing, device)
