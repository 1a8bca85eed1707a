"""The scenarios of RFC 7928, sections 4 to 10: what each asks, its network, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.base.wording import listed
from sojourn.plan import Figure
from sojourn.studies.characterize.networks import NEAR_MS, NEWRENO, UDP, Group, Setting, network
from sojourn.theory.approximations import congestion_flows

WARM_UP_S: Final = 20.0
"""Before what is measured, where the rule of section 4 has not found another."""
_SPREAD: Final = {"uniform": ["0 s", "1 s"]}
"""Flows start within a second, so that they do not move in step from the start on."""
_GOODPUT: Final = ("goodput_bit_s", "sojourn_ms_mean", "sojourn_ms_p99", "loss_ratio")
_RTTS: Final = (5, 10, 20, 50, 100, 200, 400, 560)
_RTTS_QUICK: Final = (5, 20, 100, 560)
_PHASE_S: Final = 20
_LEVELS: Final = ("mild", "medium", "heavy")

Vary = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of the RFC.

    Parameters
    ----------
    section
        Of the RFC, with a part where a section has several; also the file's name.
    weight
        ``must``, ``should``, ``recommended`` or ``may`` (section 13).
    title, question
        For the report.
    build
        Makes the document from a setting and a warm-up in seconds.
    groups
        Titles of the groups of flows that have graphs of their own; empty: the run as a whole.
    metrics
        Of the run, in the table.
    of_groups
        Metrics of groups, in the table of groups.
    vary
        Keys and values that vary, and their name, in full and quick.
    figures
        Metric over factor.
    largest_rtt_ms
        That the buffer is for; None for that of the setting.
    settles
        A steady state is expected, so the rule for the warm-up applies.
    phases
        Results by phase are shown.
    ecn
        The schemes mark, where they can.
    parameter
        Of the schemes, which varies; schemes without it are left out.
    level
        Writes a value of what varies for a reader.
    rate_mbit_s
        If the RFC names the rate.
    first
        The queue before the one under test varies: other parameters of a scheme, and the other schemes.
    """

    section: str
    weight: str
    title: str
    question: str
    build: Callable[[Setting, float], dict[str, Any]]
    groups: tuple[tuple[str, str], ...] = ()
    metrics: tuple[str, ...] = _GOODPUT
    of_groups: tuple[str, ...] = ("goodput_bit_s", "one_way_delay_ms_mean", "one_way_delay_ms_p99", "loss_ratio")
    vary: Callable[[Setting, bool], Vary] | None = None
    figures: tuple[Figure, ...] = ()
    largest_rtt_ms: float | None = None
    settles: bool = True
    phases: bool = False
    ecn: bool = False
    parameter: str = ""
    level: Callable[[Any], str] = str
    rate_mbit_s: float | None = None
    first: bool = False

    def setting(self, common: Setting) -> Setting:
        """Return the common setting with this section's rate."""
        return common if self.rate_mbit_s is None else common.at(self.rate_mbit_s)


def _one(title: str, name: str = "bulk", **more: Any) -> Callable[[Setting, float], dict[str, Any]]:
    transport = {**NEWRENO, **more}

    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        groups = [Group(name, transport=transport, rtt_ms=setting.rtt_ms)]
        return network(setting, groups, name=name, description=title, warm_up_s=warm_up_s)

    return build


def _different_windows(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    # 50 segments, between the RFC's 10 and 100; one transfer, once the long flow is steady. It starts anywhere in the
    # long flow's cycle: at one instant, replications of schemes that draw nothing would be the same.
    short = Group(
        "short",
        traffic={"kind": "transfer", "size": f"{50 * 1448} B"},
        rtt_ms=setting.rtt_ms,
        start={"uniform": [f"{warm_up_s + 5:g} s", f"{warm_up_s + 35:g} s"]},
    )
    groups = [Group("long", rtt_ms=setting.rtt_ms), short]
    return network(
        setting,
        groups,
        name="windows",
        description="a long NewReno flow, and a transfer of 50 segments",
        warm_up_s=warm_up_s,
    )


def _unresponsive(share: float, *, with_tcp: bool) -> Callable[[Setting, float], dict[str, Any]]:
    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        # 1472 B of payload make an IP packet of 1500 B.
        rate = setting.rate_mbit_s * share * 1472 / 1500
        traffic = {"kind": "cbr", "rate": f"{rate:.6g} Mbit/s", "packet_size": "1472 B"}
        groups = [Group("udp", transport=dict(UDP), traffic=traffic, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
        if with_tcp:
            groups.append(Group("tcp", rtt_ms=setting.rtt_ms))
        what = f"UDP at {share:g} of the capacity" + (" and a long NewReno flow" if with_tcp else "")
        return network(setting, groups, name="unresponsive", description=what, warm_up_s=warm_up_s)

    return build


def _less_than_best_effort(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    ledbat = {"kind": "tcp", "congestion_control": "ledbat", "ledbat_target": "5 ms", "ledbat_gain": 10.0}
    groups = [
        Group("newreno", rtt_ms=setting.rtt_ms, start=dict(_SPREAD)),
        Group("ledbat", 4, transport=ledbat, rtt_ms=setting.rtt_ms, start=dict(_SPREAD)),
    ]
    return network(
        setting, groups, name="lbe", description="a long NewReno flow and four LEDBAT flows", warm_up_s=warm_up_s
    )


def _rtts(*, ecn: bool) -> Callable[[Setting, float], dict[str, Any]]:
    transport = {**NEWRENO, "ecn": True} if ecn else dict(NEWRENO)

    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        groups = [
            Group(name, transport=dict(transport), rtt_ms=100.0, start=dict(_SPREAD)) for name in ("first", "second")
        ]
        what = "two long NewReno flows, of 100 ms and of another base RTT"
        return network(setting, groups, name="rtts", description=what, warm_up_s=warm_up_s)

    return build


def _vary_rtt(_setting: Setting, is_quick: bool) -> Vary:
    # The hosts' link carries half the round trip but the bottleneck's millisecond.
    return {
        "rtt": [
            "links.second_access.delay",
            *(f"{rtt / 2 - NEAR_MS:g} ms" for rtt in (_RTTS_QUICK if is_quick else _RTTS)),
        ]
    }


def _rtt_of(delay: Any) -> str:
    return f"{2 * (float(str(delay).split()[0]) + NEAR_MS):g} ms"


def _web(rtt_ms: float, count: int = 1) -> Group:
    return Group("web", count, transport={"kind": "tcp", "congestion_control": "newreno", "initial_window": "10 p"},
                 traffic={"kind": "web"}, rtt_ms=rtt_ms, start=dict(_SPREAD))  # fmt: skip


def _video(rtt_ms: float) -> Group:
    return Group("video", traffic={"kind": "video"}, rtt_ms=rtt_ms, start=dict(_SPREAD))


def _cbr(rtt_ms: float) -> Group:
    traffic = {"kind": "cbr", "rate": "512 kbit/s", "packet_size": "172 B"}
    return Group("cbr", transport=dict(UDP), traffic=traffic, rtt_ms=rtt_ms, start=dict(_SPREAD))


def _bursts(*kinds: str) -> Callable[[Setting, float], dict[str, Any]]:
    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        rtt = setting.rtt_ms
        made = {"web": _web(rtt), "cbr": _cbr(rtt), "video": _video(rtt), "bulk": Group("bulk", rtt_ms=rtt)}
        what = f"one each of {', '.join(kinds)}"
        return network(setting, [made[kind] for kind in kinds], name="bursts", description=what, warm_up_s=warm_up_s)

    return build


def levels(setting: Setting, buffer_packets: int) -> tuple[int, int, int]:
    """Return the numbers of flows of mild, medium and heavy congestion (section 8.2.1)."""
    room = setting.bdp_packets() + buffer_packets
    mild, medium, heavy = (congestion_flows(level, room_packets=room) for level in _LEVELS)
    return mild, medium, heavy


def _congestion(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    mild, _, _ = levels(setting, setting.buffer())
    groups = [Group("bulk", mild, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
    what = "long NewReno flows, as many as a level of congestion needs"
    return network(setting, groups, name="congestion", description=what, warm_up_s=warm_up_s)


def _vary_level(setting: Setting, _is_quick: bool) -> Vary:
    return {"flows": ["nodes.bulk.count", *levels(setting, setting.buffer())]}


def _varying_congestion(setting: Setting, _warm_up_s: float) -> dict[str, Any]:
    mild, medium, heavy = levels(setting, setting.buffer())
    counts = {"mild": mild, "medium": max(1, medium - mild), "heavy": max(1, heavy - medium)}
    groups = [Group(name, count, rtt_ms=setting.rtt_ms, start=dict(_SPREAD)) for name, count in counts.items()]
    every = f"{3 * _PHASE_S} s"
    changes = [
        {"at": "1 s", "stop": ["medium", "heavy"], "phase": "mild"},
        {"at": f"{_PHASE_S} s", "every": every, "start": ["medium"], "phase": "medium"},
        {"at": f"{2 * _PHASE_S} s", "every": every, "start": ["heavy"], "phase": "heavy"},
        {"at": every, "every": every, "stop": ["medium", "heavy"], "phase": "mild"},
    ]
    # A whole turn does not count; then whole turns.
    return network(
        setting, groups, name="levels", description="mild, medium and heavy congestion by turns of 20 s",
        warm_up_s=3 * _PHASE_S, measured_s=6 * _PHASE_S, changes=changes,
    )  # fmt: skip


def _varying_capacity(turn_s: float, warm_up_s: float) -> Callable[[Setting, float], dict[str, Any]]:
    def build(setting: Setting, _warm_up_s: float) -> dict[str, Any]:
        mild, _, _ = levels(setting, setting.buffer())
        groups = [Group("bulk", mild, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
        every = f"{2 * turn_s:g} s"
        changes: list[dict[str, Any]] = [
            {"at": "0 s", "every": every, "link": "bottleneck", "rate": "100 Mbit/s", "phase": "100 Mbit/s"},
            {"at": f"{turn_s:g} s", "every": every, "link": "bottleneck", "rate": "10 Mbit/s", "phase": "10 Mbit/s"},
        ]
        what = f"long NewReno flows; the capacity is 100 and 10 Mbit/s by turns of {turn_s:g} s"
        return network(
            setting, groups, name="capacity", description=what, warm_up_s=warm_up_s,
            measured_s=max(setting.measured_s, 80.0), changes=changes,
        )  # fmt: skip

    return build


def _sizes(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    mild, _, _ = levels(setting, setting.buffer())
    half = max(1, round(mild / 2))
    # With the timestamp option an IP packet has 52 B of headers.
    groups = [
        Group(name, half, transport={**NEWRENO, "mss": f"{size - 52} B"}, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))
        for name, size in (("small", 500), ("large", 1500))
    ]
    what = "mild congestion; half of the flows send packets of 500 B, half of 1500 B"
    return network(setting, groups, name="sizes", description=what, warm_up_s=warm_up_s)


def _mix(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    rtt = setting.rtt_ms
    voip: dict[str, Any] = {
        "transport": dict(UDP),
        "traffic": {"kind": "voip"},
        "rtt_ms": rtt,
        "start": dict(_SPREAD),
    }
    groups = [
        Group("voip", **voip),
        Group("voip_back", is_back=True, **voip),
        _web(rtt, 6),
        _cbr(rtt),
        _video(rtt),
        Group("bulk", 5, rtt_ms=rtt, start=dict(_SPREAD)),
    ]
    what = "a call in both directions, six web users, a CBR flow, a video and five bulk flows"
    return network(setting, groups, name="mix", description=what, warm_up_s=warm_up_s)


def _both_ways(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    mild, _, _ = levels(setting, setting.buffer())
    groups = [
        Group(name, mild, rtt_ms=setting.rtt_ms, start=dict(_SPREAD), is_back=is_back)
        for name, is_back in (("forward", False), ("backward", True))
    ]
    what = "mild congestion in both directions"
    return network(setting, groups, name="both", description=what, warm_up_s=warm_up_s, both_ways=True)


def _two_queues(first: str | None = None) -> Callable[[Setting, float], dict[str, Any]]:
    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        mild, _, _ = levels(setting, setting.buffer())
        half = max(1, round(mild / 2))
        groups = [Group("through", half, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
        cross = [Group("second", half, rtt_ms=setting.rtt_ms, start=dict(_SPREAD))]
        what = "two bottlenecks behind each other; half of the flows pass both, half the second"
        return network(setting, groups, name="two", description=what, warm_up_s=warm_up_s, middle=cross, first=first)

    return build


_APPLICATIONS: Final = (
    "goodput_bit_s", "one_way_delay_ms_mean", "delay_variation_ms_p99", "loss_ratio", "page_load_s_mean",
    "page_load_s_p99", "video_bit_rate_bit_s", "video_rebuffer_ratio", "voip_mos",
)  # fmt: skip
_LOSSES: Final = (*_GOODPUT, "loss_synchronisation", "utilisation", "jain_index")
_BURSTS: Final = (
    ("I", ("web", "cbr")),
    ("II", ("web", "cbr", "bulk")),
    ("III", ("video", "web", "cbr")),
    ("IV", ("video", "web", "cbr", "bulk")),
)
_TITLES: Final = {
    "web": "web pages", "cbr": "CBR", "video": "video", "bulk": "bulk TCP", "voip": "call", "voip_back": "call, back",
}  # fmt: skip


def _titled(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, _TITLES[name]) for name in names)


_TARGETS: Final = ("2 ms", "5 ms", "10 ms", "20 ms", "50 ms")


SUITE: Final = (
    Scenario(
        "4.3", "should", "Similar parameters, over a range",
        "How do delay and goodput compare when the schemes have the same target?",
        _congestion, parameter="target",
        vary=lambda _, is_quick: {"target": ["scheme.target", *(_TARGETS[::2] if is_quick else _TARGETS)]},
    ),
    Scenario(
        "4.4", "should", "Packet sizes and congestion notification",
        "Do flows with small packets lose or keep more than flows with large ones?",
        _sizes, groups=(("small", "packets of 500 B"), ("large", "packets of 1500 B")),
    ),
    Scenario(
        "4.5", "must", "Interaction with ECN",
        "What changes in section 6.2 when senders use ECN and the schemes mark?",
        _rtts(ecn=True), groups=(("first", "100 ms"), ("second", "the other RTT")),
        vary=_vary_rtt, level=_rtt_of, largest_rtt_ms=560.0, ecn=True,
        metrics=(*_GOODPUT, "marks_packets"),
    ),
    Scenario(
        "5.1.1", "must", "TCP-friendly sender, one initial window",
        "How much delay does one NewReno flow with an initial window of 3 packets see, and what does it carry?",
        _one("one long NewReno flow", initial_window="3 p"),
    ),
    Scenario(
        "5.1.2", "must", "TCP-friendly senders, different initial windows",
        "How long does a short transfer take beside a long flow, with an initial window of 3 or 10 packets?",
        _different_windows, groups=(("long", "the long flow"), ("short", "the transfer")),
        of_groups=("goodput_bit_s", "one_way_delay_ms_mean", "flow_completion_s_mean", "loss_ratio"),
        vary=lambda *_: {"window": ["flows.short.transport.initial_window", "3 p", "10 p"]},
    ),
    Scenario(
        "5.2", "must", "Aggressive sender", "How much delay does one CUBIC flow see, and what does it carry?",
        _one("one long CUBIC flow", congestion_control="cubic"),
    ),
    Scenario(
        "5.3a", "must", "Unresponsive sender", "What remains when UDP sends more than the capacity?",
        _unresponsive(1.25, with_tcp=False),
    ),
    Scenario(
        "5.3b", "must", "Unresponsive sender beside TCP",
        "What does a NewReno flow keep beside UDP at three quarters of the capacity?",
        _unresponsive(0.75, with_tcp=True), groups=(("udp", "UDP"), ("tcp", "NewReno")),
    ),
    Scenario(
        "5.4", "may", "Less-than-best-effort sender", "Do LEDBAT flows still yield to a NewReno flow?",
        _less_than_best_effort, groups=(("newreno", "NewReno"), ("ledbat", "LEDBAT")),
    ),
    Scenario(
        "6.2", "must", "Round-trip times and fairness",
        "How do two NewReno flows share the link when one has 100 ms of base RTT and the other 5 to 560 ms?",
        _rtts(ecn=False), groups=(("first", "100 ms"), ("second", "the other RTT")),
        vary=_vary_rtt, level=_rtt_of, largest_rtt_ms=560.0,
    ),
    *(
        Scenario(
            f"7.2-{case}", "must", f"Bursts, case {case}",
            f"What do applications see when {listed([_TITLES[kind] for kind in kinds])} share the link?",
            _bursts(*kinds), groups=_titled(*kinds), of_groups=_APPLICATIONS[:8],
        )
        for case, kinds in _BURSTS
    ),
    Scenario(
        "8.2.2", "should", "Mild, medium and heavy congestion (8.2.2 to 8.2.4)",
        "How do delay and goodput change with the level of congestion?",
        _congestion, vary=_vary_level, metrics=_LOSSES, figures=(Figure("sojourn_ms_mean", "flows"),),
    ),
    Scenario(
        "8.2.5", "must", "Varying congestion",
        "How does the queue follow when the level of congestion changes every 20 s?",
        _varying_congestion, settles=False, phases=True, metrics=_LOSSES,
    ),
    Scenario(
        "8.2.6-1", "must", "Varying capacity, turns of 20 s",
        "How does the queue follow when the capacity is 100 and 10 Mbit/s by turns of 20 s?",
        _varying_capacity(20.0, 40.0), settles=False, phases=True, rate_mbit_s=100.0,
    ),
    Scenario(
        "8.2.6-2", "must", "Varying capacity, turns of 100 ms",
        "And when it changes every 100 ms?",
        _varying_capacity(0.1, 40.0), settles=False, phases=True, rate_mbit_s=100.0,
    ),
    Scenario(
        "9.1", "recommended", "Traffic mix",
        "What does each application see in a mix of calls, web, CBR, video and bulk TCP?",
        _mix, groups=_titled("voip", "voip_back", "web", "cbr", "video", "bulk"), of_groups=_APPLICATIONS,
    ),
    Scenario(
        "9.2", "may", "Traffic in both directions", "What changes with mild congestion in both directions?",
        _both_ways, groups=(("forward", "left to right"), ("backward", "right to left")),
    ),
    Scenario(
        "10.2", "may", "Two AQMs on a path", "What do flows see that pass two queues under the same scheme?",
        _two_queues(), groups=(("through", "both queues"), ("second", "the second queue")),
    ),
    Scenario(
        "10.2-2", "may", "Two different AQMs on a path",
        "And when the queue before it has other parameters, or another scheme?",
        _two_queues("pfifo"), groups=(("through", "both queues"), ("second", "the second queue")), first=True,
    ),
)  # fmt: skip
"""Every scenario, in the order of the RFC."""


def chosen(sections: Sequence[str]) -> tuple[Scenario, ...]:
    """Return the scenarios of some sections of the RFC, all by default; ``8.2`` means all below it.

    Raises
    ------
    SojournError
        If a section has none.
    """
    if not sections:
        return SUITE
    names = [one.section for one in SUITE]
    wanted: set[str] = set()
    for section in sections:
        # 8.2.3 and 8.2.4 are cells of the scenario of 8.2.2.
        asked = {"8.2.3": "8.2.2", "8.2.4": "8.2.2"}.get(section, section)
        below = {name for name in names if name == asked or name.startswith((f"{asked}.", f"{asked}-"))}
        below |= {name for name in names if name[:-1] == asked and name[-1].isalpha()}
        if not below:
            known = ", ".join(names)
            raise SojournError(f"section {section!r} has no scenario{suggest.hint(section, names)}; allowed: {known}")
        wanted |= below
    return tuple(one for one in SUITE if one.section in wanted)


__all__ = ["SUITE", "WARM_UP_S", "Scenario", "chosen", "levels"]
