"""The network that advice is about: a household, an office or many subscribers behind a line with long queues.

    servers - operator ==line== gateway --shaper-- home - clients

The line has the queues of the provider and of the modem at its own rate. The shaper stands behind them in the
download, as an ingress device does (IFB), and before them in the upload.
"""

from __future__ import annotations

from typing import Any, Final

from sojourn.base.units import Data, Quantity, bit_s, bytes_, gbit_s, ms, s
from sojourn.model import draw, linux_tcp
from sojourn.model.network import Network
from sojourn.model.scheme import Scheme
from sojourn.model.traffic import bulk, cbr, gaming, tcp, udp, video, voip, web
from sojourn.studies.advise import openwrt
from sojourn.studies.advise.line import LAN_MS, LINE_MS, SITES, Line, Shaper

PING: Final = "ping"
_FAST: Final = gbit_s(100)
# A host waits for its interface (Linux: TCP small queues), so bursts are not lost there.
_HOSTS: Final = {"down": "pfifo limit 100000p", "up": "pfifo limit 100000p"}
HTB_BURST: Final = bytes_(1600)
"""Bucket of htb, which tc computes for rates of this kind."""
CABLE: Final = "sojournd"
"""The platform that shapes as a cable does: a packet leaves at the end of its time."""


def network(line: Line, shaper: Shaper | None, platform: str = "linux") -> Network:
    """Return the line and the site with a shaper as the platform has it, or as they are without."""
    down, up = _rate(line.down_mbit_s), _rate(line.up_mbit_s)
    warm_up, measured = line.seconds
    net = Network(name="household", description="a household", duration=s(warm_up + measured), warm_up=s(warm_up))
    limits = {
        "down": f"pfifo limit {line.buffer_packets(line.down_mbit_s)}p",
        "up": f"pfifo limit {line.buffer_packets(line.up_mbit_s)}p",
    }
    shared: dict[str, Any] = {"delay": ms(LINE_MS / 2), "framing": line.framing, "queue": limits}
    if line.trace is None:
        net = net.link(name="line", from_="operator", to="gateway", rate={"down": down, "up": up}, **shared)
    else:
        net = net.link(
            name="line", from_="operator", to="gateway", trace={"file": line.trace}, reverse_rate=up,
            delay=shared["delay"], queue=limits,
        )  # fmt: skip
    net = _shaped(net, line, shaper, platform)
    for name, rtt in zip(("near", "far"), line.rtt_ms, strict=True):
        net = net.link(
            name=name, from_=f"server_{name}", to="operator", rate=gbit_s(100), queue=_HOSTS,
            delay=ms((rtt - LINE_MS - LAN_MS) / 2),
        )  # fmt: skip
    if not SITES[line.site].has_hosts:
        net = net.link(name="lan", from_="home", to="client", rate=gbit_s(10), delay=ms(LAN_MS / 2), queue=_HOSTS)
    return _loaded(net, line)


def _rate(mbit_s: float) -> Quantity:
    return bit_s(round(mbit_s * 1e6))


def _shaped(net: Network, line: Line, shaper: Shaper | None, platform: str) -> Network:
    """Add the shaper. CAKE shapes and counts framed bytes itself; the other schemes of Linux are within htb."""
    rates: dict[str, Quantity] = {"down": _FAST, "up": _FAST}
    queues = {"down": "pfifo", "up": "pfifo"}
    more: dict[str, Any] = {}
    bursts: dict[str, Data] = {"down": HTB_BURST, "up": HTB_BURST}
    given = Shaper("pfifo", None, None) if shaper is None else shaper
    is_cake = Scheme(given.scheme).algorithm == "cake" and platform != CABLE
    for way, own in (("down", given.down_mbit_s), ("up", given.up_mbit_s)):
        if own is None:
            continue
        queues[way] = given.scheme
        if platform == openwrt.PLATFORM and not is_cake:
            queues[way] = openwrt.queue(line, given.scheme, own)
            bursts[way] = openwrt.burst(line, given.scheme, own)
        if is_cake:
            ingress = " ingress" if way == "down" else ""
            queues[way] += f" bandwidth {round(own * 1e6)}bit {line.framing}{ingress}"
        else:
            rates[way] = _rate(own)
    if not is_cake:
        more["framing"] = line.framing
        if shaper is not None and platform != CABLE:
            # A cable's packet takes its time before it leaves; htb's leaves at once, and the next one waits.
            more["burst"] = bursts
    return net.link(
        name="shaper", from_="gateway", to="home", rate=rates, delay=ms(0), queue=queues,
        under_test={"down": True, "up": True}, **more,
    )  # fmt: skip


def _loaded(net: Network, line: Line) -> Network:
    """Add what the site does: always downloads and uploads, to the nearest and to the farthest server."""
    site = SITES[line.site]
    within = draw.uniform(s(0), s(1))
    mss = bytes_(1440) if line.framing.startswith("pppoe") else None
    cubic = tcp(congestion_control="cubic", mss=mss, **linux_tcp.KEYS)

    def flow(
        net: Network, name: str, server: str, count: int, *, hosts: str = "", up: bool = False, **more: Any
    ) -> Network:
        client = "client"
        if site.has_hosts:
            # A host for each flow, because CAKE and the users look at hosts.
            client = hosts or f"{name}_hosts"
            if all(node["name"] != client for node in net.to_dict().get("nodes", ())):
                net = net.node(name=client, count=count).link(
                    name=client, from_="home", to=client, rate=gbit_s(10), delay=ms(LAN_MS / 2), queue=_HOSTS
                )
            count = 1
        ends = (client, f"server_{server}") if up else (f"server_{server}", client)
        return net.flow(name=name, from_=ends[0], to=ends[1], count=count, **more)

    for server in ("near", "far"):
        for name, count, up in (("download", site.downloads, False), ("upload", site.uploads, True)):
            net = flow(
                net, f"{name}_{server}", server, count // 2, up=up, traffic=bulk(), transport=cubic, start=within
            )
    echo = cbr(rate=bit_s(round(64 * 8 / 0.05)), packet_size=bytes_(64))
    net = flow(net, PING, "near", 1, up=True, traffic=echo, transport=udp(echo=True))
    calls, games, pages, videos = site.calls, site.games, site.web, site.video
    if "calls" in line.needs:
        net = flow(net, "call_down", "near", calls, hosts="callers", traffic=voip(), transport=udp())
        net = flow(net, "call_up", "near", calls, hosts="callers", up=True, traffic=voip(), transport=udp())
    if "games" in line.needs:
        net = flow(net, "game_down", "near", games, traffic=gaming(), transport=udp())
    if "web" in line.needs:
        net = flow(net, "web", "far", pages, traffic=web(), transport=cubic)
    if "video" in line.needs:
        net = flow(net, "video", "far", videos, traffic=video(), transport=cubic)
    return net
