"""The traffic of a paper of windows: transfers, sessions, and servers with different round-trip times.

A draw depends only on its seed and demand, so every scheme of a block gets the same flows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from sojourn.stats import Floats

LEAST_LIFE_S: Final = 0.5
"""Sessions shorter than this are left out."""
_SPREAD_S: Final = 0.5
"""Sessions that exist at the start begin within this time."""

Demand = Callable[[Floats], Floats]
"""Multiple of counts and rates at times of a run."""


@dataclass(frozen=True)
class Draw:
    """Flows, and what they are.

    Parameters
    ----------
    scenario
        As JSON text, without scheme.
    kind, rtt_ms
        By name of the flow.
    """

    scenario: str
    kind: Mapping[str, str]
    rtt_ms: Mapping[str, float]


def constant(demand: float) -> Demand:
    """Return a demand that does not change."""
    return lambda times: np.full_like(times, demand)


def wave(low: float, high: float, cycle_s: float, phase: float) -> Demand:
    """Return a demand that varies between two values, as over a day; `phase` is a share of the period `cycle_s`."""
    return lambda times: (low + high) / 2 - (high - low) / 2 * np.cos(2 * np.pi * (times / cycle_s + phase))


def draw(
    traffic: Mapping[str, Any],
    demand: Demand,
    *,
    seed: int,
    warm_up_s: float,
    measured_s: float,
    packets: int,
    is_laboratory: bool = False,
    changes: Sequence[tuple[float, str]] = (),
) -> Draw:
    """Draw the flows of a run, and write its scenario.

    `traffic` is the table of ``experiment.toml``, and `demand` a multiple of its counts and rates. A window has
    `packets` packets. `changes` are switches of the scheme: at which time in s, and to which.
    """
    length, random = warm_up_s + measured_s, np.random.default_rng(seed)
    writer = _Writer(traffic, random, length, demand, traffic["laboratory_rtt_ms" if is_laboratory else "rtt_ms"])
    writer.transfers()
    for table in traffic["sessions"]:
        writer.sessions(table)
    scenario = {
        "name": "dropping-functions",
        "duration": f"{length:.6f} s",
        "warm_up": f"{warm_up_s:.6f} s",
        "windows": f"{packets} p",
        "links": _links(traffic, writer.rtts),
        "flows": writer.flows,
        "changes": [{"at": f"{at_s:.6f} s", "scheme": scheme} for at_s, scheme in changes],
    }
    return Draw(json.dumps(scenario), writer.kind, writer.rtt_ms)


def _links(traffic: Mapping[str, Any], rtts: Sequence[float]) -> list[dict[str, Any]]:
    delay_ms = float(str(traffic["delay"]).removesuffix(" us")) / 1e3
    bottleneck = {
        "name": "bottleneck",
        "from": "device",
        "to": "dormitories",
        "rate": traffic["rate"],
        "delay": traffic["delay"],
        "overhead": traffic["overhead"],
        "under_test": True,
        "queue": "pfifo limit 300p",
        "reverse_queue": "pfifo limit 10000p",
    }
    # Each server has its own link, which never merges with others before the device.
    paths = [
        {
            "name": f"path{k}-{server}",
            "from": _server(k, server),
            "to": "device",
            "rate": traffic["server_rate"],
            "delay": f"{max(rtt / 2 - delay_ms, 0):.4f} ms",
            "overhead": traffic["overhead"],
        }
        for k, rtt in enumerate(rtts)
        for server in range(traffic["servers"])
    ]
    return [bottleneck, *paths]


def _server(rtt: int, number: int) -> str:
    return f"server{rtt}-{number}"


@dataclass
class _Writer:
    """Draws the flows, one kind after another, from one random stream."""

    traffic: Mapping[str, Any]
    random: np.random.Generator
    length_s: float
    demand: Demand
    rtts: list[float]
    flows: list[dict[str, Any]] = field(default_factory=list)
    kind: dict[str, str] = field(default_factory=dict)
    rtt_ms: dict[str, float] = field(default_factory=dict)

    def one_of(self, weights: Sequence[float]) -> int:
        """Draw a place in a list of weights."""
        shares = np.asarray(weights, dtype=float)
        return int(self.random.choice(shares.size, p=shares / shares.sum()))

    def arrivals(self, a_second: float) -> Floats:
        """Return times of a Poisson process whose rate follows the demand (thinning)."""
        grid = np.linspace(0, self.length_s, 513)
        most = float(np.max(self.demand(grid))) * a_second
        times = np.sort(self.random.random(self.random.poisson(most * self.length_s)) * self.length_s)
        kept = self.random.random(times.size) * most < self.demand(times) * a_second
        return times[kept]

    def transfers(self) -> None:
        """Draw the transfers."""
        of = self.traffic["transfers"]
        times = self.arrivals(of["a_second"])
        low, high, shape = of["least_bytes"], of["most_bytes"], of["shape"]
        u = self.random.random(times.size)
        sizes = low * (1 - u * (1 - (low / high) ** shape)) ** (-1 / shape)
        ends = times + self.random.exponential(of["patience_s"], times.size)
        for time, size, end in zip(times, sizes, ends, strict=True):
            self._add("transfer", time, end, self._tcp(), {"kind": "transfer", "size": f"{int(size)} B"})

    def sessions(self, of: Mapping[str, Any]) -> None:
        """Draw the sessions of a kind: those that exist at the start, and those that begin later."""
        life = of["life_s"]
        at_start = self.random.poisson(of["count"] * float(self.demand(np.zeros(1))[0]))
        times = np.concatenate([np.zeros(at_start), self.arrivals(of["count"] / life)])
        for begin, length in zip(times, self.random.exponential(life, times.size), strict=True):
            if length < LEAST_LIFE_S:
                continue
            start = begin if begin > 0 else self.random.random() * min(_SPREAD_S, length)
            low, high = of["packet_bytes"]
            rate = int(self.random.choice(of["rate_kbit_s"]))
            size = f"{self.random.integers(low, high + 1)} B"
            what: dict[str, Any] = {"rate": f"{rate} kbit/s", "packet_size": size}
            if "on_s" in of:
                what |= {"kind": "on_off", "on": _pareto(of["on_s"]), "off": _pareto(of["off_s"])}
            else:
                what |= {"kind": "cbr"}
            transport = self._tcp() if of["transport"] == "tcp" else {"kind": "udp"}
            self._add(of["kind"], start, begin + length, transport, what, is_upload=bool(of.get("is_upload", False)))

    def _tcp(self) -> dict[str, Any]:
        controls = self.traffic["congestion_control"]
        control = list(controls)[self.one_of(list(controls.values()))]
        is_paced = bool(self.random.random() < self.traffic["pacing"])
        return {"kind": "tcp", "congestion_control": control} | ({"pacing": True} if is_paced else {})

    def _add(
        self, kind: str, start: float, end: float, transport: Any, what: dict[str, Any], *, is_upload: bool = False
    ) -> None:
        name = f"{kind}{len(self.flows)}"
        rtt = self.one_of(self.traffic["rtt_share"])
        server = _server(rtt, int(self.random.integers(self.traffic["servers"])))
        ends = ("dormitories", server) if is_upload else (server, "dormitories")
        flow: dict[str, Any] = {"name": name, "from": ends[0], "to": ends[1], "start": f"{start:.6f} s"}
        flow |= {"transport": transport, "traffic": what}
        if end < self.length_s:
            flow["stop"] = f"{max(end, start):.6f} s"
        self.flows.append(flow)
        self.kind[name] = kind
        self.rtt_ms[name] = self.rtts[rtt]


def _pareto(of: Mapping[str, float]) -> dict[str, Any]:
    scale = of["mean"] * (of["shape"] - 1) / of["shape"]
    return {"pareto": {"scale": f"{scale * 1e3:.3f} ms", "shape": of["shape"], "max": f"{of['most']} s"}}
