"""Settings without effect are told: every parameter and key changes a result somewhere, or has a reason shown."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator

import pytest

import settings
import sojourn as sj
from settings import NETWORKS, PARAMETERS
from shared import Command
from sojourn.base import core
from sojourn.results import notices

WHOLE = os.environ.get("SOJOURN_TEST_SETTINGS") == "all"
"""Look at every scenario where something has no effect; .ci/weekly does (step settings)."""
LOOKED_AT = NETWORKS if WHOLE else ("mix", "marked")


@pytest.mark.parametrize("algorithm", PARAMETERS)
def test_every_parameter_changes_a_result_or_is_told(algorithm: str) -> None:
    neither = [
        name
        for name in PARAMETERS[algorithm]
        if not settings.is_always_told(algorithm, name, LOOKED_AT) and settings.acting(algorithm, name) is None
    ]
    assert neither == [], (
        f"{algorithm}: nothing in tests/python/settings.py makes these change a result, and no warning names them. "
        "Declare without what they have no effect (crates/aqm/src/inert.rs), or add a scenario in which they have one"
    )


@pytest.mark.parametrize(("table", "key"), tuple(settings.keys()))
def test_every_key_of_a_scenario_changes_a_result_or_is_told(table: str, key: str) -> None:
    assert settings.outcome(table, key) != "neither", (
        f"{table}.{key}: CASES of tests/python/settings.py has no scenario in which it changes a result, and no "
        "warning names it"
    )


def unmet() -> Iterator[tuple[str, str, str]]:
    """Yield each parameter with a scheme in which something that it needs is missing."""
    for algorithm, parameters in PARAMETERS.items():
        for name, parameter in parameters.items():
            for need in parameter["needs"]:
                if "else" in need:
                    continue
                head = " ".join([algorithm, settings.HEADS.get(algorithm, ""), *_without(parameters, need)])
                yield algorithm, name, " ".join(head.split())


def _without(parameters: dict[str, settings.Json], need: settings.Json) -> list[str]:
    others = [parameters[one] for one in (*need.get("with", ()), *filter(None, [need.get("without")]))]
    found = []
    for other in others:
        kept = "without" in need
        choices = [word for word, _ in other["words"]]
        if choices:
            found.append(f"{other['name']} {next(one for one in choices if (one in need['values']) == kept)}")
        elif other["kind"] == "flag":
            found.append(other["name"] if ("true" in need["values"]) == kept else f"no{other['name']}")
        elif kept:
            found.append(f"{other['name']} {need['values'][0]}")
        elif need["values"] == ["none"]:
            found.append(settings.values(other)[-1])
        else:
            found.append(f"{other['name']} none")
    return found


UNMET = sorted({(algorithm, name, head) for algorithm, name, head in unmet()})


@pytest.mark.parametrize(("algorithm", "name", "head"), UNMET)
def test_what_is_told_of_a_scheme_has_no_effect(algorithm: str, name: str, head: str) -> None:
    # What does not fit is refused, which tells as well.
    changed = [f"{head} {value}" for value in settings.values(PARAMETERS[algorithm][name])]
    texts = [text for text in changed if settings.run("mix", text) is not None][: None if WHOLE else 2]
    silent = [text for text in texts if not settings.told("mix", text, name)]
    acting = [
        (place, text)
        for text in texts
        for place in LOOKED_AT
        if settings.told(place, text, name) and settings.run(place, text) != settings.run(place, head)
    ]
    here = [text for text in silent if settings.run("mix", text) == settings.run("mix", head)]
    assert (acting, here) == ([], [])


TCP = [
    ({"ecn_accept": False}, {}, "without `ecn = true`"),
    ({"ecn_feedback": "accecn"}, {}, "without `ecn = true`"),
    ({"accecn_option": False}, {"ecn": True}, 'without `ecn_feedback = "accecn"`'),
    ({"accecn_accept": False}, {"ecn": True}, 'without `ecn_feedback = "accecn"`'),
    ({"ecn": True}, {"ecn_accept": False}, "with `ecn_accept = false`"),
    ({"ect": 1}, {}, "without `ecn = true`"),
    ({"idle_restart": "initial"}, {"slow_start_after_idle": False}, "without `slow_start_after_idle = true`"),
    ({"delayed_ack": "5 ms"}, {"ack_every": "1 p"}, 'with `ack_every = "1 p"`'),
    ({"quick_acks": "0 p"}, {"ack_every": "1 p"}, 'with `ack_every = "1 p"`'),
    ({"pacing": True}, {"congestion_control": "bbr"}, 'with `congestion_control = "bbr" or "bbr3" or "prague"`'),
    ({"prr": False}, {"congestion_control": "bbr3"}, 'with `congestion_control = "bbr" or "bbr3"`'),
    (
        {"slow_start_after_idle": False},
        {"congestion_control": "ledbat"},
        'with `congestion_control = "bbr" or "bbr3" or "ledbat"`',
    ),
    ({"timestamp_tick": "10 ms"}, {"timestamps": False}, "without `timestamps = true`"),
    ({"timestamp_tick": "10 ms"}, {"rto": "ns3"}, 'with `rto = "ns3"`'),
    ({"hystart": False}, {"congestion_control": "bbr"}, 'without `congestion_control = "ns3_cubic" or "cubic"`'),
    ({"ledbat_target": "60 ms"}, {}, 'without `congestion_control = "ledbat"`'),
    ({"prague_reference_rtt": "5 ms"}, {}, 'without `congestion_control = "prague"`'),
]


def transfer(transport: settings.Json) -> settings.Json:
    """Losses, marks, idle times: what the keys of TCP are about."""
    link = {"name": "l", "from": "a", "to": "z", "rate": "2 Mbit/s", "delay": "10 ms", "queue": "pfifo limit 8p"}
    pages = {"kind": "request_response", "response_size": "60 kB", "pause": "1 s"}
    flow = {"from": "a", "to": "z", "transport": transport}
    flows = [{**flow, "name": "f", "count": 2}, {**flow, "name": "g", "traffic": pages}]
    return settings.load("8 s", [{**link, "under_test": True}], flows)


@pytest.mark.parametrize(("key", "beside", "why"), TCP, ids=lambda one: "" if isinstance(one, str) else "-".join(one))
def test_what_is_told_of_a_transport_has_no_effect(key: settings.Json, beside: settings.Json, why: str) -> None:
    with_it, without = transfer({**beside, **key}), transfer(beside)
    for scheme in ("pfifo limit 8p", "codel ecn"):
        assert settings.fingerprint(with_it, scheme) == settings.fingerprint(without, scheme)
    (name,) = key
    told = {
        one.text
        for one in notices.inert(with_it, [sj.Scheme("codel ecn")])
        if one.what == name and one.where[0] in "fg"
    }
    assert told == {f"flow `{flow}`: `{name}` has no effect {why}" for flow in "fg"}
    assert name not in {one.what for one in notices.inert(without, [sj.Scheme("codel ecn")])} or name == "ecn"


@pytest.mark.parametrize(
    "scheme",
    [
        "red adaptive interval 20ms ecn harddrop",
        "pie ecn mark_ecnth 0.5 delay departure_rate dq_threshold 4KiB",
        "codel ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        "sfq min 3kB max 9kB w 0.25 ecn",
        "dualpi2 min_th 1ms classic_protection 5%",
        "dualpi2 l4s_aqm step step_thresh 2ms",
        "daqm interarrival 1ms s1 0.1 s1_drop_rate 0.5",
        "fq_codel",
        "fq_codel preset linux-6.12",
        "pfifo limit 60p",
        "cake nonat split-gso nowash",
    ],
)
def test_what_acts_is_not_warned_of(scheme: str) -> None:
    assert notices.inert(settings.network("marked"), [sj.Scheme(scheme)]) == ()


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("cake nat", "`nat` has no effect: addresses are hashed as the packets carry them"),
        ("cake autorate-ingress", "`autorate-ingress` has no effect: the bandwidth stays as it is set"),
        ("cake no-split-gso", "`no-split-gso` has no effect: packets are never aggregated"),
        ("cake fwmark 0xff", "`fwmark` has no effect: packets have no marks of a firewall"),
        ("cake wash", "`wash` has no effect in a simulation: each queue sees the DSCP that the flow has"),
        ("cake ack-filter", "`ack_filter` has no effect: no acknowledgements pass the queue"),
        (
            "red ecn qevent early_drop block 10",
            "`qevent` has no effect: there are no filters that events could be given to",
        ),
        (
            "red ecn bandwidth 10mbit",
            "`bandwidth` has no effect: idle time is measured at the present rate of the link",
        ),
        ("codel ecn mtu_counts all", "`mtu_counts` has no effect in a single queue"),
        ("dualpi2 no_split_gso", "`split_gso` has no effect: packets are never aggregated"),
    ],
)
def test_words_without_effect_are_told_with_their_reason(scheme: str, why: str) -> None:
    (found,) = notices.inert(settings.network("marked"), [sj.Scheme(scheme)])
    assert found.text == f"{scheme}: {why}"
    if not scheme.startswith("red"):
        bare = "codel ecn" if scheme.startswith("codel") else scheme.partition(" ")[0]
        assert settings.run("marked", scheme) == settings.run("marked", bare)


def test_bytes_that_are_counted_twice_are_told() -> None:
    def line(**keys: str) -> settings.Json:
        link = {
            "name": "l",
            "from": "a",
            "to": "z",
            "rate": "20 Mbit/s",
            "delay": "10 ms",
            "under_test": True,
            **keys,
        }
        return settings.load("2 s", [link], [{"name": "f", "from": "a", "to": "z"}])

    scheme = sj.Scheme("cake bandwidth 19mbit ethernet overhead 40")
    assert notices.inert(line(), [scheme]) == ()
    for key, value in (("framing", "ethernet overhead 40"), ("overhead", "38 B")):
        # tc's word `ethernet` is an overhead and a least size.
        assert [found.text for found in notices.inert(line(**{key: value}), [scheme])] == [
            f"cake bandwidth 19mbit ethernet overhead 40: `{what}` counts bytes a second time: "
            f"`{key}` of the link counts them already"
            for what in ("overhead", "mpu")
        ]


def test_a_scheme_without_ecn_is_named_beside_the_flows_that_it_drops() -> None:
    (found,) = notices.inert(settings.network("mix"), [sj.Scheme("codel")])
    assert found.text == (
        "codel: flows `e`, `p` are ECN-capable, but `ecn` is off in this scheme: it drops their packets instead of "
        "marking them"
    )
    (found,) = notices.inert(settings.network("overload"), [sj.Scheme("codel ecn")])
    assert found.text == "codel ecn: `ecn` has no effect: no flow is ECN-capable"


def test_the_queues_as_written_are_looked_at() -> None:
    net = (
        sj.Network(name="n", duration=sj.s(3))
        .link(
            name="l", from_="a", to="b", rate=sj.mbit_s(5), delay=sj.ms(5), under_test=True,
            queue="red target 1ms", reverse_queue="red interval 1s",
        )
        .flow(name="f", from_="a", to="b", transport=sj.tcp(ledbat_target="60 ms"))
        .flow(name="g", from_="a", to="b", transport=sj.tcp(congestion_control="bbr", hystart=False))
    )  # fmt: skip
    flows = [
        'flow `f`: `ledbat_target` has no effect without `congestion_control = "ledbat"`',
        'flow `g`: `hystart` has no effect without `congestion_control = "ns3_cubic" or "cubic"`',
    ]
    back = "red interval 1s: `interval` has no effect without `adaptive`"
    assert [one.text for one in notices.inert(net.canonical(), [sj.Scheme("")])] == [
        "red target 1ms: `target` has no effect without `min none`", back, *flows,
    ]  # fmt: skip
    # What is not under test stays as it is written.
    assert [one.text for one in notices.inert(net.canonical(), [sj.Scheme("pfifo")])] == [back, *flows]


def test_words_that_the_canonical_form_does_not_have_are_told_when_a_scenario_is_read() -> None:
    text = settings.network("one") | {}
    text["links"] = [{**text["links"][0], "queue": "cake nat"}]
    with pytest.warns(FutureWarning, match="key `links\\[0\\].queue`: cake: `nat` has no effect"):
        settings.load("3 s", text["links"], text["flows"])


def test_of_several_scenarios_what_acts_in_one_is_not_told() -> None:
    ecn = sj.Scheme("codel ecn interval 50ms")
    deaf, capable = settings.network("overload"), settings.network("one")
    assert [one.what for one in notices.inert_everywhere([(deaf, [ecn]), (deaf, [ecn])])] == ["ecn"]
    assert notices.inert_everywhere([(deaf, [ecn]), (capable, [ecn])]) == ()
    assert [one.what for one in notices.inert_everywhere([(deaf, [sj.Scheme("cake nat")]), (capable, [ecn])])] == [
        "nat"
    ]


def test_each_warning_is_printed_once(command: Command) -> None:
    options = ("--set", "flows.bulk.transport.ecn=true", "--set", "duration=20 s", "--replicates", 2, "--json")
    done = command("compare", "dumbbell", "--aqm", "codel", "--aqm", "codel ecn", "--aqm", "pfifo", *options)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "ECN" in line]
    assert lines == [
        "sojourn: warning: codel: flow `bulk` is ECN-capable, but `ecn` is off in this scheme: it drops their "
        "packets instead of marking them"
    ]


ALIKE: dict[frozenset[str], str] = {
    frozenset(
        {"fq_pfifo", "fq_avq"}
    ): "AVQ's virtual queue is as long as the limit of the fair queue, 10240 packets, and "
    "no flow fills it here; `limit` or `buffer` makes it act",
}
"""Schemes that are equal in every generic scenario, each set with the reason."""


def test_no_two_schemes_are_alike_without_a_reason() -> None:
    """`sojourn atlas` has other networks, and says it itself."""
    sets: dict[tuple[str | None, ...], list[str]] = {}
    for entry in core.aqms():
        name = str(entry["name"])
        sets.setdefault(tuple(settings.run(place, name) for place in NETWORKS), []).append(name)
    assert {frozenset(names) for names in sets.values() if len(names) > 1} == set(ALIKE)


def compare(scenario: settings.Json, schemes: list[str]) -> sj.Results:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario, file)
        file.flush()
        return sj.compare(file.name, schemes, replicates=2, series=None)


def test_flows_that_deliver_nothing_are_told() -> None:
    """GREEN drops nearly everything of two flows at 64 kbit/s, and AVQ with a virtual queue of one packet all."""
    link = {"name": "l", "from": "a", "to": "z", "rate": "64 kbit/s", "reverse_rate": "1 Mbit/s", "delay": "25 ms"}
    flows = [
        {"name": "f", "from": "a", "to": "z", "count": 2},
        # Complete before anything is measured, where a packet gets through.
        {"name": "done", "from": "z", "to": "a", "traffic": {"kind": "transfer", "size": "1 kB"}},
    ]
    scenario = settings.load("60 s", [{**link, "under_test": True}], flows) | {"warm_up": "20 s"}
    found = compare(scenario, ["green", "avq limit 1p", "pfifo limit 30p"])
    told = [one.text for one in found.warnings if "delivered nothing" in one.text]
    assert [text for text in told if "`f`" in text or text.startswith("pfifo")] == [
        "green: 2 of 2 flows of `f` delivered nothing in the measured time in 2 of 2 replications",
        "avq limit 1p: 2 of 2 flows of `f` delivered nothing in the measured time in 2 of 2 replications",
    ]


def test_schemes_with_the_same_results_are_told() -> None:
    found = compare(settings.network("one"), ["codel", "codel mtu_counts all", "pfifo", "codel target 7ms"])
    assert [one.text for one in found.warnings if "same results" in one.text] == [
        "codel and codel mtu_counts all gave the same results in every run"
    ]
    one = {"goodput_bit_s": 1.0}
    runs = [("a", 1, one), ("a", 2, one), ("b", 1, one), ("b", 2, {"goodput_bit_s": 2.0}), ("c", 1, one)]
    assert notices.alike(runs) == ()
    assert [one.where for one in notices.alike([*runs, ("c", 2, one)])] == [("a", "c")]
