"""Metrics of places and of routes of a network, and of how a queue varies over time.

A place is a link whose queue the study speaks of by name: ``queue_packets_mean@R6``.

A route is a group of flows, or all groups whose names agree up to the first underscore (``route1_newreno`` and
``route1_udp``): ``latency_ms@route1``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pandas as pd

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.plan.read import in_base_unit
from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.stats import Floats
from sojourn.studies.papers.checks import need, read_toml
from sojourn.studies.papers.execute import Runs
from sojourn.studies.papers.model import Paper

from . import stability

OF_PLACES: Final = ("queue_packets_mean", "queue_packets_sd", "queue_packets_p99", "loss_ratio", "utilisation")
CV: Final = "queue_cv"
RANK: Final = "utilisation_rank"
_SUMS: Final = ("goodput_bit_s", "throughput_bit_s", "sent_packets", "delivered_packets", "dropped_packets")
OF_ROUTES: Final = ("goodput_bit_s", "throughput_bit_s", "loss_ratio", "one_way_delay_ms_mean")
OF_SERIES: Final = ("queue_least_packets", "queue_amplitude_packets", "period_s", "tooth_share", "synchronisation")
ALL: Final = "all"
LATENCY: Final = "latency_ms"
_HEADERS_BYTES: Final = 52
_RENO: Final = ("reno", "newreno")
INNER: Final = (5.0, 95.0)
"""Percentiles between which a queue's amplitude lies."""


@dataclass(frozen=True)
class Route:
    """What a route passes.

    Parameters
    ----------
    rtt_ms
        Propagation delay there and back.
    packet_ms
        By place on the route: transmission time of a packet of the study's size; without headers, as in its formula.
    """

    flows: int
    rtt_ms: float
    packet_ms: dict[str, float]


def packet_of(paper: Paper) -> str:
    """Return the size of a packet in the study's formula of latency, as ``runs.toml`` has it."""
    file = paper.folder / "runs.toml"
    return str(need(read_toml(file), "packet", file))


def routes(document: core.Document, places: Sequence[str], packet: str) -> dict[str, Route]:
    """Return a scenario's routes by name.

    Parameters
    ----------
    document
        The canonical document of the scenario.
    places
        Names of links; those that the scenario does not have are left out.
    packet
        Size of a packet, as ``1446 B``, in the study's formula of latency.
    """
    links = {(one["from"], one["to"]): one for one in document["links"]}
    links |= {(end, start): one for (start, end), one in links.items()}
    sizes = {one["name"]: one.get("count") or 1 for one in document["nodes"]}
    queues = queues_at(document, places)
    found: dict[str, Route] = {}
    for flow in document["flows"]:
        if not flow.get("route"):
            continue
        way = list(pairwise([flow["from"], *flow["route"], flow["to"]]))
        gap = next((pair for pair in way if pair not in links), None)
        if gap:
            raise SojournError(
                f"flow {flow['name']}: its route has no link from {gap[0]} to {gap[1]}; allowed: all nodes on the way"
            )
        on_way = {
            queues[f"{start}->{end}"]: 8e3 * _number(packet) / _number(links[start, end]["rate"])
            for start, end in way
            if f"{start}->{end}" in queues
        }
        name = flow["name"].split("_")[0]
        count = sizes.get(flow["from"], 1) + (found[name].flows if name in found else 0)
        found[name] = Route(count, 2 * sum(_number(links[pair]["delay"]) for pair in way), on_way)
    return found


def columns(paper: Paper, store: Store, runs: Runs, wanted: list[str], **_: object) -> pd.DataFrame:
    """Return what the store holds of places, routes and series: a row per run, a column ``metric@place``.

    The study's formula of latency has one queue: base RTT + mean queue times packet size / capacity. Here the second
    term is added for every place on the route: ``latency_ms@route1`` and so on, and ``latency_ms``, the mean over
    flows.
    """
    places, packet = paper.places, packet_of(paper)
    documents = [json.loads(scenario) for scenario, _ in runs]
    each = [(routes(document, places, packet), own) for document, (_, own) in zip(documents, runs, strict=True)]
    columns = ["group", "one_way_delay_ms_mean", *_SUMS]
    flows = store.read("flows", columns, wanted).to_pandas()
    flows["route"] = flows["group"].str.split("_").str[0]
    flows = flows[flows["route"].isin({name for of, _ in each for name in of})]
    flows["delay_sum"] = flows["one_way_delay_ms_mean"] * flows["delivered_packets"]
    both = pd.concat([flows, flows.assign(route=ALL)])
    of_route = both.groupby([KEY, "route"], as_index=False, sort=False)[["delay_sum", *_SUMS]].sum()
    of_route["loss_ratio"] = of_route["dropped_packets"] / of_route["sent_packets"]
    of_route["one_way_delay_ms_mean"] = of_route["delay_sum"] / of_route["delivered_packets"]
    alone = [
        (several, *_bottleneck(document), of["long"].flows, of["long"].rtt_ms / 1e3)
        for document, (of, several) in zip(documents, each, strict=True)
        if list(of) == ["long"] and document["flows"][0]["transport"]["congestion_control"] in _RENO
    ]
    over_time = _series(store, wanted, flows.groupby(KEY)["group"].count())
    whole = pd.concat([wide(of_route, "route", OF_ROUTES), over_time], axis=1).reindex(wanted)
    waiting = of_places(store, wanted, documents, places)
    for of, several in each:
        own = list(dict.fromkeys(several))
        latency: dict[str, Any] = {
            f"{LATENCY}@{name}": route.rtt_ms
            + sum(waiting.loc[own, f"queue_packets_mean@{place}"] * ms for place, ms in route.packet_ms.items())
            for name, route in of.items()
        }
        if latency:
            weights = [route.flows for route in of.values()]
            latency[LATENCY] = np.average(list(latency.values()), axis=0, weights=weights)
            whole.loc[own, list(latency)] = pd.DataFrame(latency, index=own)
    return waiting.join(whole).assign(**stability.columns(store, wanted, alone))


def queues_at(document: core.Document, places: Sequence[str]) -> dict[str, str]:
    """Return the place of each queue (``R6->R6x``) of a canonical document."""
    return {f"{one['from']}->{one['to']}": one["name"] for one in document["links"] if one["name"] in places}


def of_places(
    store: Store, runs: Sequence[str], documents: Iterable[core.Document], places: Sequence[str]
) -> pd.DataFrame:
    """Return what the store holds of places: a row per run, a column ``metric@place``, and the sum of all queues."""
    names = {queue: place for one in documents for queue, place in queues_at(one, places).items()}
    found = store.read("queues", ["queue", *OF_PLACES], runs).to_pandas()
    found["place"] = found["queue"].map(names)
    found = found.dropna(subset=["place"])
    found[CV] = found["queue_packets_sd"] / found["queue_packets_mean"]
    found[RANK] = found.groupby(KEY, sort=False)["utilisation"].rank(ascending=False, method="min")
    waiting = found.groupby(KEY, sort=False)["queue_packets_mean"].sum()
    whole = wide(found, "place", (*OF_PLACES, CV, RANK))
    return whole.assign(**{"queue_packets_mean@all": waiting}).reindex(list(runs))


def wide(data: pd.DataFrame, place: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return a row per run and a column ``metric@place`` of a table with a row per run and place."""
    whole = data.pivot_table(index=KEY, columns=place, values=list(columns), dropna=False)
    whole.columns = pd.Index(["@".join(pair) for pair in whole.columns.to_list()])
    return whole


def oscillation(t_s: Floats, queue: Floats, drops: Floats, flows: int, rtt_s: float) -> dict[str, float]:
    """Return metrics of how a queue varies over time.

    Parameters
    ----------
    t_s
        Ends of n intervals of the same length.
    queue
        Mean number of waiting packets in each.
    drops
        Drops per second in each.
    rtt_s
        Drops with less time than this between them belong to one episode of loss.

    Returns
    -------
    dict
        ``queue_least_packets``; ``queue_amplitude_packets``, from the 5th to the 95th percentile; ``period_s`` of the
        strongest line of the spectrum (Hann window) and ``tooth_share``, the share of the variance in this line and
        its two neighbours; ``synchronisation``, the mean over episodes of loss of drops divided by flows, at most
        1. It is an upper bound of the share of flows that lose packets in the same episode.
    """
    step = float(t_s[1] - t_s[0])
    low, high = np.percentile(queue, INNER)
    power = np.abs(np.fft.rfft((queue - queue.mean()) * np.hanning(queue.size)))[1:] ** 2
    best = int(power.argmax())
    whole = float(power.sum())
    line = float(power[max(best - 1, 0) : best + 2].sum())
    return {
        "queue_least_packets": float(queue.min()),
        "queue_amplitude_packets": float(high - low),
        "period_s": queue.size * step / (best + 1) if whole > 0 else float("nan"),
        "tooth_share": line / whole if whole > 0 else float("nan"),
        "synchronisation": _synchronisation(t_s, drops * step, flows, rtt_s),
    }


def _synchronisation(t_s: Floats, drops: Floats, flows: int, rtt_s: float) -> float:
    at = np.flatnonzero(drops > 0)
    if at.size == 0:
        return float("nan")
    starts = np.flatnonzero(np.diff(t_s[at], prepend=-np.inf) > rtt_s)
    lost = np.add.reduceat(drops[at], starts)
    return float(np.minimum(lost / flows, 1.0).mean())


def _series(store: Store, runs: Sequence[str], flows: pd.Series) -> pd.DataFrame:
    facts = store.read("runs", ["sampled", "warm_up_s", "rtt_ms_mean"], runs).to_pandas().set_index(KEY)
    sampled = facts.index[facts["sampled"].notna()].tolist()
    found: dict[str, dict[str, float]] = {}
    # One run at a time, so that the samples of a whole paper are never in memory together.
    for start in range(0, len(sampled), 100):
        data = store.read("series", ["name", "t_s", "value"], sampled[start : start + 100]).to_pandas()
        for run, part in data.groupby(KEY, sort=False):
            own = part.pivot_table(index="t_s", columns="name", values="value")
            own = own[own.index > facts.loc[run, "warm_up_s"]]
            t_s = own.index.to_numpy(dtype=np.float64)
            queue, drops = (own[name].to_numpy(dtype=np.float64) for name in ("queue_packets", "drops_packets_s"))
            rtt_s = float(facts.loc[run, "rtt_ms_mean"]) / 1e3
            found[str(run)] = oscillation(t_s, queue, drops, int(flows.get(run, 1)), rtt_s)
    return pd.DataFrame.from_dict(found, orient="index", columns=list(OF_SERIES))


def _bottleneck(document: core.Document) -> tuple[str, float]:
    """Return the scheme of a single bottleneck, and its capacity in packets/s, headers included."""
    (link,) = (one for one in document["links"] if one["name"] == "bottleneck")
    size = _HEADERS_BYTES + _number(document["flows"][0]["transport"]["mss"])
    return link["queue"], _number(link["rate"]) / 8 / size


def _number(text: str) -> float:
    """Return a time in ms, a rate in bit/s or a size in B."""
    found = in_base_unit([text])
    if found is None:
        raise SojournError(f"{text!r} is not a quantity with a unit")
    return found[1][0]
