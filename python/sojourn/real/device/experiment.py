"""A switchback experiment with ``sojournd`` between network namespaces, with the kernel's TCP and a delay per client.

Clients send to a server through the device, which shapes, measures, and switches schemes at random; what they send is
:mod:`sojourn.real.device.traffic`. Round-trip times come from the device itself, whose return path delays what goes
back to each client by its own time. The store of the device is the result.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn.base.errors import RunError
from sojourn.base.units import rate_bit_s
from sojourn.real.device import traffic
from sojourn.real.device.lab import Lab, LabError

STORE: Final = "device.sqlite"
OVERHEAD: Final = "24 B"
"""Ethernet's check sequence, preamble and gap; the header is part of the frame."""

_SWING_SLOTS: Final = 2.3
"""Period of the demand in slots. A slot covers most loads; the period is no integer, so their order varies."""

TRANSFERS: Final[dict[str, Any]] = {
    "shape": 1.2,
    "least_bytes": 40_000,
    "most_bytes": 10_000_000,
    "patience_s": 20.0,
    "congestion_control": {"cubic": 0.75, "reno": 0.15, "bbr": 0.10},
}
"""TCP: at a demand of 1, :data:`TRANSFERS_SHARE` of the link in the mean."""

TRANSFERS_SHARE: Final = 0.48

STREAMS: Final[tuple[dict[str, float], ...]] = (
    {"share": 0.25, "life_s": 10.0, "rate_bit_s": 2_500_000, "packet_bytes": 1340},
    {"share": 0.01, "life_s": 10.0, "rate_bit_s": 64_000, "packet_bytes": 160},
)
"""UDP, video and voice: shares of the link at a demand of 1."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The settings of an experiment; by default the schemes of Barczyk and Chydzinski (2022), at a scale of minutes.

    Parameters
    ----------
    schemes
        Names and schemes, as tc writes them, among which the device switches.
    design
        ``random``: each slot's scheme is drawn by itself; ``blocks``: every scheme once in each block of slots.
    """

    schemes: tuple[tuple[str, str], ...] = (
        ("none", "pfifo limit 300p"),
        *((f"d{n}", f"dropping_function function d{n}") for n in range(9)),
    )
    packets: int = 20_000
    slots: int = 60
    slot_s: float = 10.0
    design: str = "random"
    seed: int = 1
    rate: str = "100 Mbit/s"
    rtt_ms: tuple[float, ...] = (4.0, 14.0, 35.0, 90.0, 200.0)
    demands: tuple[float, float] = (1.0, 1.8)


def run(plan: Experiment, place: str | Path, say: Callable[[str], None] = lambda _: None) -> Path:
    """Carry out a plan and return the device's store, which replaces one of before."""
    place = Path(place)
    place.mkdir(parents=True, exist_ok=True)
    store = (place / STORE).resolve()
    for file in place.glob(f"{STORE}*"):
        file.unlink()
    try:
        with Lab(name="sojourn-exp", clients=len(plan.rtt_ms)) as lab:
            _run(plan, lab, store, say)
    except (LabError, subprocess.SubprocessError) as error:
        raise RunError(f"device experiment: {error}") from error
    # One file, which can be moved and read anywhere.
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return store


def _run(plan: Experiment, lab: Lab, store: Path, say: Callable[[str], None]) -> None:
    lasts = plan.slots * plan.slot_s
    # Begins before the first slot, so that at its end the last slot is over and no other has begun.
    ends = time.monotonic() + lasts
    device = lab.start_device(configuration(plan, lab, store))
    receiver = lab.start("server", sys.executable, traffic.__file__, "receive", stdout=subprocess.DEVNULL)
    begin = time.monotonic() + 0.5
    senders = []
    for number, client in enumerate(lab.clients):
        path = lab.folder / f"{client}.json"
        path.write_text(json.dumps(sender_plan(plan, lab, number, begin, ends)), encoding="utf-8")
        senders.append(lab.start(client, sys.executable, traffic.__file__, "send", str(path), stdout=subprocess.PIPE))
    say(f"device: {plan.slots} slots of {plan.slot_s:g} s, {len(senders)} clients")
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, max(plan.slot_s, 10.0)))
        if device.poll() is not None:
            raise LabError(f"the device ended with status {device.returncode}:\n{lab.device_log()}")
        say(f"device: {lasts - max(0.0, ends - time.monotonic()):.0f} of {lasts:.0f} s")
    lab.stop(device)
    if device.returncode != 0:
        raise LabError(f"the device ended with status {device.returncode}:\n{lab.device_log()}")
    for client, sender in zip(lab.clients, senders, strict=True):
        output, _ = sender.communicate(timeout=30)
        if sender.returncode != 0:
            raise LabError(f"the traffic of {client} failed: {output.strip()}")
        say(f"device: {client}: {output.strip()}")
    lab.stop(receiver)


def configuration(plan: Experiment, lab: Lab, store: Path) -> str:
    """Return the configuration of the device between the hosts of a laboratory."""
    delays = "\n".join(
        f'"{lab.address(client)}/32" = "{rtt_ms:g} ms"'
        for client, rtt_ms in zip(lab.clients, plan.rtt_ms, strict=True)
    )
    return f"""\
{switchback(plan, ("port-a", "port-b"), store)}
[b_to_a.delays]
{delays}

[control]
listen = "none"
socket = {json.dumps(str(lab.folder / "control.sock"))}
token_file = {json.dumps(str(lab.folder / "token"))}

[run]
idle = "wait"
user = "root"
seed = {plan.seed}
"""


def switchback(plan: Experiment, ports: tuple[str, str], store: str | Path) -> str:
    """Return the configuration of a switchback between two interfaces: its queue, windows and schedule.

    Frames from the first of `ports` to the second are shaped and measured.
    """
    schemes = "\n".join(f"{json.dumps(label)} = {json.dumps(text)}" for label, text in plan.schemes)
    return f"""\
[ports.a]
back_end = "af_xdp"
interface = {json.dumps(ports[0])}

[ports.b]
back_end = "af_xdp"
interface = {json.dumps(ports[1])}

[a_to_b]
scheme = {json.dumps(plan.schemes[0][1])}
rate = {json.dumps(plan.rate)}
overhead = "{OVERHEAD}"
burst = "10 ms"

[windows]
packets = {plan.packets}
store = {json.dumps(str(store))}

[schedule]
seed = {plan.seed}
design = {json.dumps(plan.design)}
every = "{plan.slot_s:g} s"

[schedule.schemes]
{schemes}
"""


def sender_plan(plan: Experiment, lab: Lab, number: int, begin_s: float, end_s: float) -> dict[str, Any]:
    """Return what a client sends (:class:`sojourn.real.device.traffic.Sender`): an equal part of the whole."""
    bytes_s = rate_bit_s(plan.rate, "rate") / 8.0 / len(plan.rtt_ms)
    sizes = {name: TRANSFERS[name] for name in ("shape", "least_bytes", "most_bytes")}
    mean = traffic.pareto_mean(shape=sizes["shape"], least=sizes["least_bytes"], most=sizes["most_bytes"])
    low, high = plan.demands
    return {
        "server": lab.address("server"),
        "begin_s": begin_s,
        "end_s": end_s,
        "seed": f"{plan.seed} {number}",
        "demand": {"period_s": _SWING_SLOTS * plan.slot_s, "low": low, "high": high},
        "transfers": {**TRANSFERS, "a_second": TRANSFERS_SHARE * bytes_s / mean},
        "streams": [
            {**kind, "a_second": kind["share"] * bytes_s * 8.0 / kind["rate_bit_s"] / kind["life_s"]}
            for kind in STREAMS
        ],
    }
