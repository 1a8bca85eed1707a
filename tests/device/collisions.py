"""Floods of flows that share a queue with a victim, and what is left for the victim and for an honest flow.

The key of the device's flow hash is a secret, so the flows that collide are found from outside, by somebody who
can send as the victim and sees the order in which frames arrive. The victim's queue is filled with long frames,
and behind them comes a short frame of each of many flows. Queues take turns, so every flow with a queue of its
own arrives before the victim's last frame, and those behind it waited in the victim's queue.
"""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from laboratory import FLOOD as FLOOD_PROGRAM
from laboratory import Lab, LabError
from packets import capture, udp

#: Rate of the queue that is attacked, bit/s.
RATE_BIT_S: Final = 20_000_000
#: Flows that are tried in one go. SFQ holds 127 packets in all. A flow of CAKE that finds one of its 8 places free
#: shares no queue, so all of the 1024 must be taken.
TRIED: Final = {"fq_codel": 1000, "sfq": 100, "cake": 3000}
#: Flows that SFB has no need to search for: so many are in every bin of its 8 levels of 16.
EVERY_BIN: Final = 256
#: Schemes that are attacked.
SCHEMES: Final = (*TRIED, "sfb")
#: Colliding flows of a flood.
WANTED: Final = 16
#: Flows that are tried with one run of the programs at the hosts, and most: three times what WANTED flows need.
AT_ONCE: Final = 6000
MOST: Final = 3 * WANTED * 1024
#: The victim and the honest flow send so many frames a second, of so many bytes.
PACE, FRAME_BYTES = 50, 200
#: Frames a second of a flood: some four times what the link carries.
FLOOD: Final = 50_000
#: Ports of the victim and of the honest flow; those of other flows are above both.
VICTIM, HONEST = (40_000, 9), (40_001, 10)
FIRST_PORT: Final = 50_000

Flow = tuple[int, int]

# Sends goes of frames, apart in time.
_SEND = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from flood import flood
for text in Path(sys.argv[1]).read_text().split("\\n\\n"):
    frames = [bytes.fromhex(line) for line in text.split()]
    flood("eth0", frames, rate=0, count=len(frames))
    time.sleep(float(sys.argv[2]))
"""

# Counts the datagrams at ports until it is told to end.
_COUNT = """
import select, signal, socket, sys
counts = {}
def end(*_):
    print(*counts.values(), flush=True)
    sys.exit()
for port in sys.argv[1:]:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.bind(("", int(port)))
    counts[one] = 0
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    for one in select.select(counts, [], [])[0]:
        one.recv(2048)
        counts[one] += 1
"""


@dataclass(frozen=True)
class Shares:
    """Which part of their frames the victim and the honest flow got through a flood, and the flood's frames."""

    victim: float
    honest: float
    sent: int
    seconds: float

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.sent / self.seconds


def frame(base: bytes, flow: Flow, contents: bytes = b"") -> bytes:
    """Return a frame of UDP as one of a flow: ports alone, as the checksum of IP does not have them."""
    return base[:34] + struct.pack("!HH", *flow) + base[38:42] + contents + base[42 + len(contents) :]


def flow_of(number: int) -> Flow:
    """Return a flow by its number."""
    return FIRST_PORT + number % 10_000, FIRST_PORT + number // 10_000


def find(lab: Lab, scheme: str, draw: int) -> list[Flow]:
    """Return up to WANTED flows that share the victim's queue in the scheme that is in force from A to B.

    Parameters
    ----------
    lab
        The laboratory, its queue served at RATE_BIT_S.
    scheme
        One of TRIED.
    draw
        Number of the first flow that is tried.
    """
    found: list[Flow] = []
    tried = TRIED[scheme]
    for begin in range(draw, draw + MOST, AT_ONCE):
        goes = [range(first, first + tried) for first in range(begin, begin + AT_ONCE, tried)]
        once = behind(lab, goes)
        # What is behind by chance, as a thread was put off, is so once.
        found += sorted(once & behind(lab, [one[::-1] for one in goes])) if once else []
        if len(found) >= WANTED:
            break
    return found[:WANTED]


def behind(lab: Lab, goes: Sequence[Sequence[int]]) -> set[Flow]:
    """Send goes of flows behind the victim's frames; return the flows that arrive behind its last."""
    long, short, last = udp(lab, 1000), udp(lab, 60), udp(lab, 60, port=11)
    texts = []
    for go, numbers in enumerate(goes):
        about = struct.pack("!I", go)
        frames = [frame(long, VICTIM, about)] * 8 + [frame(short, flow_of(number), about) for number in numbers]
        texts.append(frames)
    pause_s = 0.02 + max(2 * 8 * sum(map(len, frames)) / RATE_BIT_S for frames in texts)
    file = lab.folder / "goes"
    file.write_text("\n\n".join("\n".join(one.hex() for one in frames) for frames in [*texts, [last] * 3]))
    limit_s = 20 + 3 * pause_s * len(texts)
    finish = capture(lab, "server", count=10**9, seconds=limit_s, last=last)
    sender = lab.start("client", sys.executable, "-c", _SEND, str(file), str(pause_s), str(FLOOD_PROGRAM.parent))
    arrived: dict[int, list[Flow]] = {}
    for seen in finish():
        flow = struct.unpack("!HH", seen[34:38])
        if flow == VICTIM or min(flow) >= FIRST_PORT:
            arrived.setdefault(struct.unpack("!I", seen[42:46])[0], []).append(flow)
    lab.stop(sender, kill=True)
    return {flow for flows in arrived.values() for flow in _behind(flows)}


def _behind(flows: list[Flow]) -> Iterator[Flow]:
    """Yield the flows behind the last of the victim's frames."""
    if VICTIM in flows:
        yield from flows[len(flows) - flows[::-1].index(VICTIM) :]


def shares(lab: Lab, flows: Sequence[Flow], chance: random.Random, *, seconds: float = 4.0) -> Shares:
    """Flood the link with flows, and let a victim and an honest flow send beside them; return what these two get."""
    base = udp(lab, FRAME_BYTES)
    every = FLOOD // PACE
    # As many rounds of both flows, each at places of its own: the flood comes in bursts.
    frames = [frame(base, flows[number % len(flows)]) for number in range(10 * every)]
    for begin in range(0, len(frames), every):
        for place, flow in zip(chance.sample(range(every), 2), (VICTIM, HONEST), strict=True):
            frames[begin + place] = frame(base, flow)
    ports = [str(VICTIM[1]), str(HONEST[1])]
    counter = lab.start("server", sys.executable, "-c", _COUNT, *ports, stdout=subprocess.PIPE)
    assert counter.stdout is not None
    try:
        if counter.stdout.readline() != "ready\n":
            raise LabError("the ports of the victim and of the honest flow cannot be opened at the server")
        rounds = round(PACE * seconds)
        sent, took_s = lab.flood(frames, count=rounds * every, rate=FLOOD)
        # What waits arrives: at most a second of the link.
        time.sleep(1)
    finally:
        counter.terminate()
        text, _ = counter.communicate()
    victim, honest = (int(count) / rounds for count in text.split())
    return Shares(victim, honest, sent, took_s)
