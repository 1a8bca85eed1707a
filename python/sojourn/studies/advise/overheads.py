"""What a line's framing adds to a packet, as CAKE and tc's ``stab`` count it on each kind of device."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Device: TypeAlias = Literal["ethernet", "ppp", "pppoe in ethernet"]
"""Where the qdisc is: on an Ethernet device that carries IP, on a ppp device, or on the Ethernet device below it."""

PPPOE: Final = ("pppoe-ptm", "pppoe-llcsnap")
"""The framings with PPPoE, which the modem speaks, or the gateway."""
#: From the IP header on, in bytes, PPPoE's 8 B included.
_BYTES: Final = {"docsis": 18, "pppoe-ptm": 30, "pppoe-llcsnap": 40, "ethernet": 38}
_ETHERNET_BYTES: Final = 14
_PPPOE_BYTES: Final = 8
#: Other options of tc's `stab`, and the share of the rate that remains (64 of 65 B on PTM).
STAB: Final = {
    "docsis": (" mpu 64 linklayer ethernet", 1.0),
    "pppoe-ptm": (" linklayer ethernet", 64 / 65),
    "pppoe-llcsnap": (" linklayer atm", 1.0),
    "ethernet": (" mpu 84 linklayer ethernet", 1.0),
}


def of_cake(framing: str, device: Device = "ethernet") -> int:
    """Return CAKE's overhead in bytes. It counts from the network header on, PPPoE's where the device has it.

    Examples
    --------
    >>> of_cake("pppoe-ptm"), of_cake("pppoe-ptm", "ppp"), of_cake("pppoe-ptm", "pppoe in ethernet")
    (30, 30, 22)
    """
    return _BYTES[framing] - (_PPPOE_BYTES if device == "pppoe in ethernet" else 0)


def of_stab(framing: str, device: Device = "ethernet") -> int:
    """Return the overhead of ``stab`` in bytes. It counts what the device has: no header on a ppp device.

    Examples
    --------
    >>> of_stab("pppoe-ptm"), of_stab("pppoe-ptm", "ppp"), of_stab("pppoe-ptm", "pppoe in ethernet")
    (16, 30, 8)
    """
    return of_cake(framing, device) - (0 if device == "ppp" else _ETHERNET_BYTES)
