"""The scenarios of RFC 7928, sections 4 to 10: what each asks, its network, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.base.wording import listed
from sojourn.studies.characterize import requirements
from sojourn.studies.characterize.measures import Measure
from sojourn.studies.characterize.networks import NEAR_MS, NEWRENO, UDP, Group, Setting, network
from sojourn.studies.characterize.requirements import Item
from sojourn.theory.approximations import congestion_flows

WARM_UP_S: Final = 20.0
"""Before what is measured, where the rule of section 4 has not found another."""
_GOODPUT: Final = ("goodput_bit_s", "sojourn_ms_mean", "sojourn_ms_p99", "loss_ratio")
_RTTS: Final = (5, 10, 20, 50, 100, 200, 400, 560)
_RTTS_QUICK: Final = (5, 20, 100, 560)
_PHASE_S: Final = 20
_LEVELS: Final = ("mild", "medium", "heavy")

Build = Callable[[Setting, float], dict[str, Any]]
"""Makes a document from a setting and a warm-up in seconds."""
Vary = dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of a suite.

    Parameters
    ----------
    section
        Of the RFC, with a part where a section has several, or of the suite's page; also the file's name.
    weight
        ``must``, ``should``, ``recommended`` or ``may`` (section 13); or who asks for it.
    groups
        Titles of the groups of flows that have graphs of their own; empty: the run as a whole.
    vary
        Keys and values that vary, by name, in full and quick.
    largest_rtt_ms
        That the buffer is for; None for that of the setting.
    settles
        A steady state is expected, so the rule for the warm-up applies.
    ecn
        The schemes mark, where they can.
    parameter
        Of the schemes, which varies; schemes without it are left out.
    level
        Writes a value of what varies for a reader.
    first
        The queue before the one under test varies: other parameters of a scheme, and the other schemes.
    source
        The document that has the section.
    plane
        Metrics of the picture of runs, a delay first; None for queueing delay and goodput, of each group.
    """

    section: str
    weight: str
    title: str
    question: str
    build: Build
    groups: tuple[tuple[str, str], ...] = ()
    metrics: tuple[str, ...] = _GOODPUT
    of_groups: tuple[str, ...] = ("goodput_bit_s", "one_way_delay_ms_mean", "one_way_delay_ms_p99", "loss_ratio")
    vary: Callable[[Setting, bool], Vary] | None = None
    largest_rtt_ms: float | None = None
    settles: bool = True
    phases: bool = False
    ecn: bool = False
    parameter: str = ""
    level: Callable[[Any], str] = str
    rate_mbit_s: float | None = None
    first: bool = False
    source: str = "RFC 7928"
    plane: tuple[str, str] | None = None

    def setting(self, common: Setting) -> Setting:
        """Return the common setting with this section's rate."""
        return common if self.rate_mbit_s is None else common.at(self.rate_mbit_s)


@dataclass(frozen=True, slots=True)
class Headline:
    """A metric that a page's sentences are about.

    Parameters
    ----------
    phrase
        With a place for the value: ``a goodput of {} Mbit/s``.
    word, title
        Its name where schemes are compared in one network, and where networks are counted.
    """

    metric: str
    phrase: str
    word: str
    title: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Scenarios with a page.

    Parameters
    ----------
    title, lead
        Of the page, behind the name of the scheme; the lead has a place for the names of the others.
    place
        A fact about the network, with a place for the rate of the setting.
    setup_title, setup
        Of the section on the plans.
    headlines
        What its sentences are about.
    measures
        That it defines; none where they are metrics of every run.
    asked, items
        The checklist: who asks for its items, and the items.
    parts
        Numbers of the sections without a scenario: ``scheduling``, ``stability``, ``cost``, ``control`` and
        ``checklist``.
    setting
        By default.
    """

    title: str
    lead: str
    place: tuple[str, str]
    setup_title: str
    setup: tuple[str, ...]
    headlines: tuple[Headline, ...]
    asked: str
    items: tuple[Item, ...]
    parts: Mapping[str, str]
    scenarios: tuple[Scenario, ...]
    setting: Setting
    measures: tuple[Measure, ...] = ()

    def chosen(self, sections: Sequence[str]) -> tuple[Scenario, ...]:
        """Return the scenarios of some sections, all by default; ``8.2`` means all below it.

        A section without a scenario is refused.
        """
        if not sections:
            return self.scenarios
        names = [one.section for one in self.scenarios]
        wanted: set[str] = set()
        for section in sections:
            # 8.2.3 and 8.2.4 are cells of the scenario of 8.2.2.
            asked = {"8.2.3": "8.2.2", "8.2.4": "8.2.2"}.get(section, section)
            below = {name for name in names if name == asked or name.startswith((f"{asked}.", f"{asked}-"))}
            below |= {name for name in names if name[:-1] == asked and name[-1].isalpha()}
            if not below:
                known = ", ".join(names)
                raise SojournError(
                    f"section {section!r} has no scenario{suggest.hint(section, names)}; allowed: {known}"
                )
            wanted |= below
        return tuple(one for one in self.scenarios if one.section in wanted)


Member = Group | Callable[[Setting], Group]
"""A group of hosts, which may depend on the setting."""


def of(name: str, description: str, *members: Member, middle: Sequence[Member] = (), **more: Any) -> Build:
    """Return what builds a network of some groups; `more` is as for :func:`network`."""

    def build(setting: Setting, warm_up_s: float) -> dict[str, Any]:
        given = {"warm_up_s": warm_up_s, "middle": _made(middle, setting), **more}
        return network(setting, _made(members, setting), name=name, description=description, **given)

    return build


def _made(members: Sequence[Member], setting: Setting) -> list[Group]:
    return [one if isinstance(one, Group) else one(setting) for one in members]


def levels(setting: Setting, buffer_packets: int) -> tuple[int, int, int]:
    """Return the numbers of flows of mild, medium and heavy congestion (section 8.2.1)."""
    room = setting.bdp_packets() + buffer_packets
    mild, medium, heavy = (congestion_flows(level, room_packets=room) for level in _LEVELS)
    return mild, medium, heavy


def mild(name: str, share: float = 1.0, **more: Any) -> Member:
    """Return a group of a share of the flows of mild congestion."""
    return lambda setting: Group(name, max(1, round(share * levels(setting, setting.buffer())[0])), **more)


def tcp(**more: Any) -> dict[str, Any]:
    """Return a transport like :data:`NEWRENO`, with other keys."""
    return {**NEWRENO, **more}


def _different_windows(setting: Setting, warm_up_s: float) -> dict[str, Any]:
    # 50 segments, between the RFC's 10 and 100; one transfer, once the long flow is steady. It starts anywhere in the
    # long flow's cycle: at one instant, replications of schemes that draw nothing would be the same.
    start = {"uniform": [f"{warm_up_s + 5:g} s", f"{warm_up_s + 35:g} s"]}
    short = Group("short", traffic={"kind": "transfer", "size": f"{50 * 1448} B"}, start=start)
    what = "a long NewReno flow, and a transfer of 50 segments"
    return of("windows", what, Group("long", start=None), short)(setting, warm_up_s)


def _udp(share: float) -> Member:
    """Return a sender of UDP at a share of the capacity."""

    def group(setting: Setting) -> Group:
        # 1472 B of payload make an IP packet of 1500 B.
        rate = setting.rate_mbit_s * share * 1472 / 1500
        traffic = {"kind": "cbr", "rate": f"{rate:.6g} Mbit/s", "packet_size": "1472 B"}
        return Group("udp", transport=UDP, traffic=traffic)

    return group


def _rtts(**more: Any) -> Build:
    groups = [Group(name, transport=tcp(**more), rtt_ms=100.0) for name in ("first", "second")]
    return of("rtts", "two long NewReno flows, of 100 ms and of another base RTT", *groups)


def _vary_rtt(_setting: Setting, is_quick: bool) -> Vary:
    # The hosts' link carries half the round trip but the bottleneck's millisecond.
    delays = [f"{rtt / 2 - NEAR_MS:g} ms" for rtt in (_RTTS_QUICK if is_quick else _RTTS)]
    return {"rtt": ["links.second_access.delay", *delays]}


def _rtt_of(delay: Any) -> str:
    return f"{2 * (float(str(delay).split()[0]) + NEAR_MS):g} ms"


VOIP: Final[dict[str, Any]] = {"transport": UDP, "traffic": {"kind": "voip"}}
_CBR: Final = {"kind": "cbr", "rate": "512 kbit/s", "packet_size": "172 B"}


def _web(count: int = 1) -> Group:
    return Group("web", count, transport=tcp(initial_window="10 p"), traffic={"kind": "web"})


_APPLICATION: Final = {
    "web": _web(),
    "cbr": Group("cbr", transport=UDP, traffic=_CBR),
    "video": Group("video", traffic={"kind": "video"}),
    "bulk": Group("bulk", start=None),
}


def _vary_level(setting: Setting, _is_quick: bool) -> Vary:
    return {"flows": ["nodes.bulk.count", *levels(setting, setting.buffer())]}


def _varying_congestion(setting: Setting, _warm_up_s: float) -> dict[str, Any]:
    mild, medium, heavy = levels(setting, setting.buffer())
    counts = {"mild": mild, "medium": max(1, medium - mild), "heavy": max(1, heavy - medium)}
    every = f"{3 * _PHASE_S} s"
    changes = [
        {"at": "1 s", "stop": ["medium", "heavy"], "phase": "mild"},
        {"at": f"{_PHASE_S} s", "every": every, "start": ["medium"], "phase": "medium"},
        {"at": f"{2 * _PHASE_S} s", "every": every, "start": ["heavy"], "phase": "heavy"},
        {"at": every, "every": every, "stop": ["medium", "heavy"], "phase": "mild"},
    ]
    what = "mild, medium and heavy congestion, each for 20 s in turn"
    groups = [Group(name, count) for name, count in counts.items()]
    # A whole turn does not count; then whole turns.
    return of("levels", what, *groups, measured_s=6 * _PHASE_S, changes=changes)(setting, 3 * _PHASE_S)


def _varying_capacity(turn_s: float, warm_up_s: float) -> Build:
    every = f"{2 * turn_s:g} s"
    changes: list[dict[str, Any]] = [
        {"at": "0 s", "every": every, "link": "bottleneck", "rate": "100 Mbit/s", "phase": "100 Mbit/s"},
        {"at": f"{turn_s:g} s", "every": every, "link": "bottleneck", "rate": "10 Mbit/s", "phase": "10 Mbit/s"},
    ]
    what = f"long NewReno flows; the capacity alternates between 100 and 10 Mbit/s every {turn_s:g} s"
    return lambda setting, _: of(
        "capacity", what, mild("bulk"), measured_s=max(setting.measured_s, 80.0), changes=changes
    )(setting, warm_up_s)


def _two_queues(first: str | None = None) -> Build:
    what = "two bottlenecks behind each other; half of the flows pass both, half the second"
    return of("two", what, mild("through", 0.5), middle=[mild("second", 0.5)], first=first)


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


_LEDBAT: Final = tcp(congestion_control="ledbat", ledbat_target="5 ms", ledbat_gain=10.0)
_CONGESTION: Final = of("congestion", "long NewReno flows, as many as a level of congestion needs", mild("bulk"))
_TARGETS: Final = ("2 ms", "5 ms", "10 ms", "20 ms", "50 ms")


SUITE: Final = (
    Scenario(
        "4.3", "should", "Similar parameters, over a range",
        "How do delay and goodput compare when the schemes have the same target?",
        _CONGESTION, parameter="target",
        vary=lambda _, is_quick: {"target": ["scheme.target", *(_TARGETS[::2] if is_quick else _TARGETS)]},
    ),
    Scenario(
        "4.4", "should", "Packet sizes and congestion notification",
        "Do flows with small packets lose or keep more than flows with large ones?",
        # With the timestamp option an IP packet has 52 B of headers.
        of("sizes", "mild congestion; half of the flows send packets of 500 B, half of 1500 B",
           mild("small", 0.5, transport=tcp(mss=f"{500 - 52} B")),
           mild("large", 0.5, transport=tcp(mss=f"{1500 - 52} B"))),
        groups=(("small", "packets of 500 B"), ("large", "packets of 1500 B")),
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
        of("bulk", "one long NewReno flow", Group("bulk", transport=tcp(initial_window="3 p"), start=None)),
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
        of("bulk", "one long CUBIC flow", Group("bulk", transport=tcp(congestion_control="cubic"), start=None)),
    ),
    Scenario(
        "5.3a", "must", "Unresponsive sender", "What remains when UDP sends more than the capacity?",
        of("unresponsive", "UDP at 1.25 of the capacity", _udp(1.25)),
    ),
    Scenario(
        "5.3b", "must", "Unresponsive sender beside TCP",
        "What does a NewReno flow keep beside UDP at three quarters of the capacity?",
        of("unresponsive", "UDP at 0.75 of the capacity and a long NewReno flow",
           _udp(0.75), Group("tcp", start=None)),
        groups=(("udp", "UDP"), ("tcp", "NewReno")),
    ),
    Scenario(
        "5.4", "may", "Less-than-best-effort sender", "Do LEDBAT flows still yield to a NewReno flow?",
        of("lbe", "a long NewReno flow and four LEDBAT flows", Group("newreno"), Group("ledbat", 4, _LEDBAT)),
        groups=(("newreno", "NewReno"), ("ledbat", "LEDBAT")),
    ),
    Scenario(
        "6.2", "must", "Round-trip times and fairness",
        "How do two NewReno flows share the link when one has 100 ms of base RTT and the other 5 to 560 ms?",
        _rtts(), groups=(("first", "100 ms"), ("second", "the other RTT")),
        vary=_vary_rtt, level=_rtt_of, largest_rtt_ms=560.0,
    ),
    *(
        Scenario(
            f"7.2-{case}", "must", f"Bursts, case {case}",
            f"What do applications see when {listed([_TITLES[kind] for kind in kinds])} share the link?",
            of("bursts", f"one each of {', '.join(kinds)}", *(_APPLICATION[kind] for kind in kinds)),
            groups=_titled(*kinds), of_groups=_APPLICATIONS[:8],
        )
        for case, kinds in _BURSTS
    ),
    Scenario(
        "8.2.2", "should", "Mild, medium and heavy congestion (8.2.2 to 8.2.4)",
        "How do delay and goodput change with the level of congestion?",
        _CONGESTION, vary=_vary_level, metrics=_LOSSES,
    ),
    Scenario(
        "8.2.5", "must", "Varying congestion",
        "How does the queue follow when the level of congestion changes every 20 s?",
        _varying_congestion, settles=False, phases=True, metrics=_LOSSES,
    ),
    Scenario(
        "8.2.6-1", "must", "Varying capacity, every 20 s",
        "How does the queue follow when the capacity alternates between 100 and 10 Mbit/s every 20 s?",
        _varying_capacity(20.0, 40.0), settles=False, phases=True, rate_mbit_s=100.0,
    ),
    Scenario(
        "8.2.6-2", "must", "Varying capacity, every 100 ms",
        "And when it changes every 100 ms?",
        _varying_capacity(0.1, 40.0), settles=False, phases=True, rate_mbit_s=100.0,
    ),
    Scenario(
        "9.1", "recommended", "Traffic mix",
        "What does each application see in a mix of calls, web, CBR, video and bulk TCP?",
        of("mix", "a call in both directions, six web users, a CBR flow, a video and five bulk flows",
           Group("voip", **VOIP), Group("voip_back", is_back=True, **VOIP), _web(6), _APPLICATION["cbr"],
           _APPLICATION["video"], Group("bulk", 5)),
        groups=_titled("voip", "voip_back", "web", "cbr", "video", "bulk"), of_groups=_APPLICATIONS,
    ),
    Scenario(
        "9.2", "may", "Traffic in both directions", "What changes with mild congestion in both directions?",
        of("both", "mild congestion in both directions",
           mild("forward"), mild("backward", is_back=True), both_ways=True),
        groups=(("forward", "left to right"), ("backward", "right to left")),
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


RFC: Final = Suite(
    title="by RFC 7928",
    lead="This page characterises it by the guidelines of RFC 7928, beside {others}. Each section gives a question, "
    "the network, the results with 95 % intervals, and a sentence.",
    place=("Bottleneck", "{rate:g} Mbit/s"),
    setup_title="Setup (sections 3 and 4.1)",
    setup=(
        "All networks are dumbbells: groups of hosts with links of 10 Gbit/s, and one bottleneck. The queue of the "
        "bottleneck is under test. Its buffer is the bandwidth-delay "
        "product with the largest round-trip time, the same for every scheme that has a limit in packets (section "
        "3.2).",
    ),
    headlines=(
        Headline("sojourn_ms_mean", "a mean queueing delay of {} ms", "delay", "mean queueing delay"),
        Headline("goodput_bit_s", "a goodput of {} Mbit/s", "goodput", "goodput"),
    ),
    asked="Weight",
    items=requirements.TABLE,
    parts={"scheduling": "4.6", "stability": "8.3", "cost": "11", "control": "12", "checklist": "13"},
    scenarios=SUITE,
    setting=Setting(),
)
"""RFC 7928."""


__all__ = ["RFC", "SUITE", "VOIP", "WARM_UP_S", "Headline", "Scenario", "Suite", "levels", "mild", "of", "tcp"]
