"""One run of a scenario on real packets: starts the program that carries its flows, and makes the run's report."""

from __future__ import annotations

import json
import math
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from sojourn import _native, stats
from sojourn.base.core import Document, SojournError
from sojourn.base.errors import RunError
from sojourn.base.units import to_ns
from sojourn.real.shell.emulation import Emulation
from sojourn.real.shell.flows import asks_for_ecn, flows
from sojourn.real.shell.outcome import LATE_DELAY, LATE_LEAST_S, Outcome, measured

ATTEMPTS: Final = 3
"""A run that the machine was late for is repeated until it has been tried so often."""

BEFORE_S: Final = 0.2
"""The run begins so long after its programs have said that they are ready."""

READY_S: Final = 300.0
_HANG_S: Final = 300.0
_TRAFFIC: Final = Path(__file__).with_name("traffic.py")


class StoppedError(Exception):
    """The run was given up because the user wants it."""


def carry(
    scenario: Document, *, seed: int, replication: int, stop: threading.Event | None = None
) -> tuple[Outcome, str | None, Document]:
    """Carry out one run of a canonical scenario with one link.

    Starts, sizes and times of the flows are those of the simulation with this seed and replication. Returned are what
    the device measured; why the run was too late to be trusted, if it was; and the run's report.
    """
    wanted = flows(scenario, seed=seed, replication=replication)
    duration_s = to_ns("duration", scenario["duration"]) / 1e9
    warm_up_s = to_ns("warm_up", scenario["warm_up"]) / 1e9
    measurements: dict[str, Any] = {}
    # The device's own draws differ between replications.
    with (
        ExitStack() as stack,
        Emulation(scenario, seed=(seed + replication) % 2**63, ecn=asks_for_ecn(scenario)) as lab,
    ):
        programs, users = [], []
        files: dict[str, IO[bytes]] = {}
        for host, peer in (("client", "server"), ("server", "client")):
            plan = {
                "host": host,
                "peer": lab.address(peer),
                "scenario": json.dumps(scenario),
                "seed": seed,
                "replication": replication,
                "native": _native.__file__,
                "warm_ns": round(warm_up_s * 1e9),
                "end_ns": round(duration_s * 1e9),
                "flows": wanted,
            }
            user, theirs = (stack.enter_context(one) for one in socket.socketpair())
            files[host] = stack.enter_context(tempfile.TemporaryFile())
            command = [sys.executable, "-I", "-S", str(_TRAFFIC)]
            programs.append(lab.start(host, command, streams=(theirs.fileno(), files[host].fileno(), 2)))
            theirs.close()
            user.settimeout(READY_S)
            try:
                user.sendall(json.dumps(plan).encode() + b"\n")
            except OSError:
                raise _failed() from None
            users.append(user)
        if any(_line(user) != b"ready\n" for user in users):
            raise _failed()
        lab.begin()
        begin_ns = time.monotonic_ns() + round(BEFORE_S * 1e9)
        for user in users:
            user.sendall(f"{begin_ns}\n".encode())
        until = time.monotonic() + duration_s + _HANG_S
        for program in programs:
            while (status := program.wait(0.25)) is None:
                if stop is not None and stop.is_set():
                    raise StoppedError
                if time.monotonic() > until:
                    raise RunError(f"the program that carries the flows has not ended {_HANG_S:g} s late")
            if status != 0:
                raise _failed()
        for host, file in files.items():
            file.seek(0)
            measurements[host] = json.load(file)
        times, states = lab.state_times, lab.states()
    begin = begin_ns / 1e9
    inside = [
        state for at, state in zip(times, states, strict=False) if begin + warm_up_s <= at <= begin + duration_s
    ]
    if len(inside) < 2:
        # Whatever held the lines up for so long held up the packets.
        inside = states[-2:]
    shown_s = inside[-1]["uptime_s"] - inside[0]["uptime_s"]
    outcome = measured(scenario, inside, first=0, seed=seed, duration_s=shown_s, status=0)
    document = _document(scenario, outcome, wanted, measurements, duration_s - warm_up_s)
    late = outcome.late or _late(measurements, outcome)
    return outcome, late, {**document, "replication": replication, "duration_s": duration_s, "warm_up_s": warm_up_s}


def _failed() -> SojournError:
    return RunError("the program that carries the flows failed; its message is above")


def _line(user: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        try:
            more = user.recv(64)
        except OSError:
            return line
        if not more:
            return line
        line += more
    return line


def _late(measurements: Mapping[str, Any], outcome: Outcome) -> str | None:
    """Return why the traffic itself was too late, if it was: by the same limits as the device."""
    delay_s = max((way.metrics["sojourn_ms_mean"] or 0.0) for way in outcome.ways.values()) / 1e3
    for host, found in measurements.items():
        if found["late_s"] > max(LATE_LEAST_S, LATE_DELAY * delay_s):
            return f"the {host} sent {found['late_s'] * 1e3:.2f} ms late on average"
    return None


def _document(
    scenario: Document,
    outcome: Outcome,
    wanted: Sequence[Mapping[str, Any]],
    measurements: Mapping[str, Any],
    span_s: float,
) -> Document:
    """Return the run as a report of the simulator has it, with its flows and groups."""
    document = outcome.document()
    link = scenario["links"][0]
    is_reverse = bool(link.get("reverse_under_test")) and not link.get("under_test")
    if to_ns("warm_up", scenario["warm_up"]) > 0:
        # Quantiles of the device are of all times since its start.
        for part in (document, *document["queues"]):
            part["metrics"] = {**part["metrics"], "sojourn_ms_p50": None, "sojourn_ms_p99": None}
    found = [_flow(flow, measurements, span_s) for flow in wanted]
    groups: dict[str, list[tuple[Mapping[str, Any], dict[str, Any], list[float]]]] = {}
    for flow, (metrics, delays) in zip(wanted, found, strict=True):
        groups.setdefault(flow["group"], []).append((flow, metrics, delays))
    applications = {**measurements["client"]["groups"], **measurements["server"]["groups"]}
    under_test = document["queues"][1 if is_reverse else 0]
    if is_reverse:
        for number, queue in enumerate(document["queues"]):
            queue["under_test"] = number == 1
    lateness = outcome.ways["up" if is_reverse else "down"]
    every = [metrics for metrics, _ in found]
    return {
        **document,
        "metrics": {
            **under_test["metrics"],
            **_together(every, [delay for _, delays in found for delay in delays]),
            "lateness_ms_mean": _ms(lateness.lateness_s["mean_s"]),
            "lateness_least_ms_mean": _ms(lateness.least_lateness_s["mean_s"]),
            "dated_late_ms_mean": _ms(lateness.dated_late_s["mean_s"]),
            "lateness_ms_p99": _ms(lateness.lateness_s["p99_s"]),
            "lateness_ms_max": _ms(lateness.lateness_s["max_s"]),
            "late_ratio": max(lateness.lost_rate_s, lateness.blocked_s) / outcome.duration_s
            if outcome.duration_s > 0
            else None,
        },
        "flows": [
            {
                **{key: flow[key] for key in ("name", "group", "from", "to", "transport")},
                "metrics": {key: value for key, value in metrics.items() if not key.startswith("_")},
            }
            for flow, metrics in zip(wanted, every, strict=True)
        ],
        "groups": [
            {
                "name": name,
                "metrics": {
                    **_together([metrics for _, metrics, _ in own], [d for *_, delays in own for d in delays]),
                    **applications.get(name, {}),
                },
            }
            for name, own in groups.items()
        ],
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _flow(
    flow: Mapping[str, Any], measurements: Mapping[str, Any], span_s: float
) -> tuple[dict[str, Any], list[float]]:
    """Return the metrics of a flow, and the delays of its datagrams in ms; keys with `_` are for sums alone."""
    number = str(flow["number"])
    there = measurements[flow["receiver"]]["flows"][number]
    # Clients send the first packet of a flow whose data they receive.
    here = there if flow["kind"] == "client" else measurements[flow["sender"]]["flows"][number]
    started = here["first_sent_ns"]
    metrics: dict[str, Any] = {
        "goodput_bit_s": there["received"] * 8 / span_s,
        "flow_start_s": None if started is None else started / 1e9,
    }
    if started is not None and there["first_heard_ns"] is not None and flow["transport"] == "tcp":
        metrics["flow_startup_s"] = (there["first_heard_ns"] - started) / 1e9
    if flow["kind"] == "transfer" and started is not None and there["completed_ns"] is not None:
        metrics["flow_completion_s"] = (there["completed_ns"] - started) / 1e9
    if flow["kind"] == "bulk":
        metrics["retransmissions_segments"] = here["retransmissions"]
    delays = [delay / 1e6 for delay in there["delays_ns"]]
    if flow["transport"] == "udp":
        metrics["sent_packets"] = here["sent"]
        metrics["delivered_packets"] = there["arrived"]
        metrics["loss_ratio"] = 1.0 - there["arrived"] / here["sent"] if here["sent"] else None
        metrics |= _delays(delays)
    metrics["_started"] = started is not None
    return metrics, delays


def _delays(delays: Sequence[float]) -> dict[str, float | None]:
    if not delays:
        return {}
    values = np.asarray(delays)
    return {
        "one_way_delay_ms_mean": float(values.mean()),
        "one_way_delay_ms_sd": float(values.std(ddof=1)) if values.size > 1 else None,
        "one_way_delay_ms_p50": float(np.quantile(values, 0.5)),
        "one_way_delay_ms_p99": float(np.quantile(values, 0.99)),
        "delay_variation_ms_p99": float(np.quantile(values, 0.99) - values.min()),
    }


def _together(flows: Sequence[Mapping[str, Any]], delays: Sequence[float]) -> dict[str, Any]:
    """Return the metrics of several flows as one."""
    goodputs = [flow["goodput_bit_s"] for flow in flows if flow["_started"]]
    completions = [flow["flow_completion_s"] for flow in flows if "flow_completion_s" in flow]
    startups = [flow["flow_startup_s"] for flow in flows if "flow_startup_s" in flow]
    found: dict[str, Any] = {
        "goodput_bit_s": sum(goodputs),
        "flows_started": sum(flow["_started"] for flow in flows),
        "jain_index": stats.jain(goodputs) if len(goodputs) > 1 and math.fsum(goodputs) > 0 else None,
        **_delays(delays),
    }
    if startups:
        found["flow_startup_s_mean"] = float(np.mean(startups))
    if completions:
        found["flows_completed"] = len(completions)
        found["flow_completion_s_mean"] = float(np.mean(completions))
        found["flow_completion_s_p50"] = float(np.quantile(completions, 0.5))
        found["flow_completion_s_p99"] = float(np.quantile(completions, 0.99))
    if any("retransmissions_segments" in flow for flow in flows):
        found["retransmissions_segments"] = sum(flow.get("retransmissions_segments", 0) for flow in flows)
    return found


def attempts() -> int:
    """Return how often a run is tried at most; the environment may say less, for tests."""
    return int(os.environ.get("SOJOURN_REAL_ATTEMPTS", str(ATTEMPTS)))
