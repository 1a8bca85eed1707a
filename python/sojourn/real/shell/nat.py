"""Address translation that ends with the process that asked for it, through the kernel's own interface.

A table of nf_tables with the flag `owner` belongs to one netlink socket: when the socket closes, however that
happens, the kernel removes the table. No tool such as ``nft`` is needed. Numbers are those of the kernel's user
interface (linux/netfilter/nfnetlink.h and nf_tables.h). Only the standard library is needed.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Final

NETLINK_NETFILTER: Final = 12
_SUBSYSTEM: Final = 10
_BATCH_BEGIN, _BATCH_END = 0x10, 0x11
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = 0, 3, 6
_REQUEST, _ACK, _CREATE, _APPEND = 0x1, 0x4, 0x400, 0x800
_ERROR: Final = 2
_NESTED: Final = 0x8000
_IPV4: Final = 2
_OWNER: Final = 2
_POSTROUTING, _SOURCE_NAT = 4, 100
_NETWORK_HEADER, _SOURCE_AT, _ADDRESS_BYTES = 1, 12, 4
_OUTPUT_INTERFACE: Final = 7
_NAME_BYTES: Final = 16
_REGISTER: Final = 1
_EQUAL, _UNEQUAL = 0, 1
_WAIT_S: Final = 20.0


def masquerade(network: str, prefix: int, interface: str) -> socket.socket:
    """Give packets from a network the address of the interface on which they leave this machine.

    What leaves on `interface`, where the sources are, keeps its address. The socket that is returned owns the
    translation, which ends when it closes. An OSError says that the kernel has no nf_tables with translation, or that
    this user may not.
    """
    table = f"sojourn-{interface}"
    mask = struct.pack(">I", (0xFFFFFFFF << (32 - prefix)) & 0xFFFFFFFF)
    name = interface.encode().ljust(_NAME_BYTES, b"\0")
    rule = b"".join(
        (
            _expression("payload", _numbers(_REGISTER, _NETWORK_HEADER, _SOURCE_AT, _ADDRESS_BYTES)),
            _expression(
                "bitwise", _numbers(_REGISTER, _REGISTER, _ADDRESS_BYTES) + _value(4, mask) + _value(5, bytes(4))
            ),
            _expression("cmp", _numbers(_REGISTER, _EQUAL) + _value(3, socket.inet_aton(network))),
            _expression("meta", _numbers(_REGISTER, _OUTPUT_INTERFACE)),
            _expression("cmp", _numbers(_REGISTER, _UNEQUAL) + _value(3, name)),
            _expression("masq", b""),
        )
    )
    hook = _numbers(_POSTROUTING, _SOURCE_NAT)
    batch = [
        _message(_BATCH_BEGIN, _REQUEST, 0, b"", family=0, resource=_SUBSYSTEM),
        _message(_own(_NEW_TABLE), _REQUEST | _ACK | _CREATE, 1, _text(1, table) + _number(2, _OWNER)),
        _message(
            _own(_NEW_CHAIN),
            _REQUEST | _ACK | _CREATE,
            2,
            _text(1, table) + _text(3, "out") + _attribute(4 | _NESTED, hook) + _text(7, "nat"),
        ),
        _message(
            _own(_NEW_RULE),
            _REQUEST | _ACK | _CREATE | _APPEND,
            3,
            _text(1, table) + _text(2, "out") + _attribute(4 | _NESTED, rule),
        ),
        _message(_BATCH_END, _REQUEST, 4, b"", family=0, resource=_SUBSYSTEM),
    ]
    owner = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_NETFILTER)
    try:
        owner.settimeout(_WAIT_S)
        owner.bind((0, 0))
        owner.send(b"".join(batch))
        _acknowledged(owner, 3)
    except BaseException:
        owner.close()
        raise
    return owner


def _acknowledged(owner: socket.socket, last: int) -> None:
    """Wait for the answer to message `last`; an error of any message undoes all of them."""
    while True:
        data = owner.recv(1 << 16)
        while len(data) >= 20:
            length, kind, _, number, _ = struct.unpack_from("=IHHII", data)
            if kind == _ERROR:
                (status,) = struct.unpack_from("=i", data, 16)
                if status != 0:
                    raise OSError(-status, os.strerror(-status))
                if number == last:
                    return
            data = data[max(length + 3 & ~3, 16) :]


def _own(kind: int) -> int:
    return _SUBSYSTEM << 8 | kind


def _message(kind: int, flags: int, number: int, body: bytes, *, family: int = _IPV4, resource: int = 0) -> bytes:
    content = struct.pack(">BBH", family, 0, resource) + body
    return struct.pack("=IHHII", 16 + len(content), kind, flags, number, 0) + content


def _attribute(kind: int, content: bytes) -> bytes:
    length = 4 + len(content)
    return struct.pack("=HH", length, kind) + content + bytes(-length % 4)


def _text(kind: int, text: str) -> bytes:
    return _attribute(kind, text.encode() + b"\0")


def _number(kind: int, number: int) -> bytes:
    return _attribute(kind, struct.pack(">I", number))


def _numbers(*numbers: int) -> bytes:
    """Return the attributes 1, 2, and so on."""
    return b"".join(_number(kind, number) for kind, number in enumerate(numbers, 1))


def _value(kind: int, content: bytes) -> bytes:
    return _attribute(kind | _NESTED, _attribute(1, content))


def _expression(name: str, content: bytes) -> bytes:
    return _attribute(1 | _NESTED, _text(1, name) + _attribute(2 | _NESTED, content))
