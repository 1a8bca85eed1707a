"""Every frame that two hosts sent through a device, accounted for over rounds and lives of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from laboratory import Lab, LabError
from lives import HOSTS

#: The host and the port of the device where the frames of a direction begin, and those where they end.
WAYS = (("client", 0, "server", 1), ("server", 1, "client", 0))
#: Reasons for which a port counts a frame that arrived and that the pipeline never got.
MISSED = ("missed", "oversize")


class Ledger:
    """What hosts and device counted.

    The frames that the hosts sent are those that the other host received, that the device dropped or counted as lost
    for a reason, and those of a restart: sent after the last look at the process that ended, and before the first at
    the next.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.totals: Counter[str] = Counter({"unaccounted for": 0})
        #: Of the hosts' interfaces since the beginning, and as they counted last.
        self.seen: Counter[str] = Counter()
        self.counts: dict[str, dict[str, int]] = {host: {} for host in HOSTS}
        #: Of the device in this round.
        self.known: Counter[str] = Counter()
        self.restarted = False

    def hosts(self) -> None:
        """Add what the hosts' interfaces counted since the last time. One that was made anew begins at 0."""
        for host in HOSTS:
            try:
                now = self.lab.counters(host)
            except LabError:
                continue
            before = self.counts[host]
            for key in ("tx_packets", "rx_packets"):
                old = before.get(key, 0)
                self.seen[f"{host} {key}"] += now[key] - old if now[key] >= old else now[key]
            self.counts[host] = now

    def anew(self, host: str) -> None:
        """The interface of a host is made anew, so it counts from 0."""
        self.counts[host] = {}

    def open(self, status: dict[str, Any]) -> None:
        """Begin a round: what this life counted before belongs to the rounds before."""
        self.restarted = False
        self.before = Counter(self.seen)
        self.known.clear()
        self.add(status, -1)

    def add(self, status: dict[str, Any], times: int = 1) -> None:
        """Add the last counts of a life."""
        for number, (_, into, _, out) in enumerate(WAYS):
            way, ports = status["directions"][number], [port["counters"] for port in status["ports"]]
            known = {key: ports[into][key] for key in ("received", *MISSED)}
            known |= {key: ports[out][key] for key in ("sent", "send_failed", "link_dropped")}
            known |= {key: way[key] for key in ("stale", "no_room")} | {"runt": way["faults"]["runt"]}
            for reason in ("overflow", "early", "flow"):
                known[f"dropped_{reason}"] = way["counts"][f"dropped_{reason}"]["packets"]
            for key, count in known.items():
                self.known[f"{key} {number}"] += times * count

    def close(self) -> Iterator[str]:
        """End a round; yield what must not be."""
        for number, (sender, _, receiver, _) in enumerate(WAYS):
            known = {key.split()[0]: value for key, value in self.known.items() if key.endswith(f" {number}")}
            into, out = (
                self.seen[key] - self.before[key] for key in (f"{sender} tx_packets", f"{receiver} rx_packets")
            )
            reasons = {key: value for key, value in known.items() if key not in ("received", "sent", "link_dropped")}
            lost = into - out - sum(reasons.values())
            self.totals.update({"frames in": into, "frames out": out})
            self.totals.update({f"lost: {key}": value for key, value in reasons.items()})
            if self.restarted:
                # All that came between the last look and the first at most: no count of the life that ended has it.
                self.totals["lost: with a restart"] += lost
                if lost < 0:
                    yield f"{-lost} frames more than were sent: {known}, in {into}, out {out}"
                continue
            # The interface dropped some of those that it took as sent.
            dropped = max(0, min(known["sent"] - out, known["link_dropped"]))
            self.totals["lost: link_dropped"] += dropped
            self.totals["unaccounted for"] += abs(lost - dropped)
            if lost != dropped:
                yield f"{lost - dropped} frames unaccounted for from {sender}: in {into}, out {out}, {known}"
