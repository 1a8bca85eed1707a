"""Export to tc, and statistics in tc's shape."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest

from shared import Command, small_network
from sojourn import tc
from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.tc import red
from sojourn.tc.kinds import KINDS, NEAREST

SCHEMES = {
    "pfifo limit 60p": "pfifo limit 60",
    "bfifo limit 64Kb": "bfifo limit 65536",
    "codel ecn": "codel limit 1000 target 5ms interval 100ms ecn",
    "codel target 999us ce_threshold 1ms": "codel limit 1000 target 999us ce_threshold 1ms interval 100ms noecn",
    "fq_codel ce_threshold 1ms ce_threshold_selector 0x1/0x3": (
        "fq_codel limit 10240 flows 1024 quantum 1514 target 5ms ce_threshold 1ms ce_threshold_selector 0x1/0x3 "
        "interval 100ms memory_limit 33554432 ecn drop_batch 64"
    ),
    # 0.125 and 1.25 Hz are 2 and 20 sixteenths.
    "pie": "pie limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator",
    "pie delay departure_rate alpha 1 beta 32": (
        "pie limit 1000 target 15ms tupdate 15ms alpha 1 beta 32 noecn nobytemode dq_rate_estimator"
    ),
    "fq_pie ecn ecn_prob 20": (
        "fq_pie limit 10240 flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 quantum 1514 memory_limit 33554432 "
        "ecn_prob 20 ecn nobytemode no_dq_rate_estimator"
    ),
    # tc-red(8)'s example: burst 55 makes 2^-5, and so do all from 45, where 45 + 1 - 30 = 16 exceeds
    # (1 - (15/16)^45) 16 = 15.1; at 44 the excess 15 does not exceed (1 - (15/16)^44) 16 = 15.06.
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive": (
        "red limit 400000 min 30000 max 90000 ecn adaptive avpkt 1000 burst 45 probability 0.02 bandwidth 10000000bit"
    ),
    "choke limit 1000 min 10 max 30 burst 20 bandwidth 10mbit": (
        "choke limit 1000 min 10 max 30 avpkt 1000 burst 17 probability 0.02 bandwidth 10000000bit"
    ),
    "sfb rehash 300s": (
        "sfb rehash 300000 db 60000 limit 1000 max 25 target 20 increment 0.001 decrement 0.00016666666666666666 "
        "penalty_rate 10 penalty_burst 20"
    ),
    "sfq perturb 10": "sfq limit 127 quantum 1514 depth 127 flows 127 divisor 1024 perturb 10",
    "cake": "cake unlimited diffserv3 triple-isolate nowash egress no-ack-filter rtt 100ms noatm",
    # tc-cake(8): docsis is overhead 18 and mpu 64; 1mbps is 8 Mbit/s.
    "cake bandwidth 1mbps docsis besteffort dual-srchost wash ingress ack-filter satellite memlimit 4Mb": (
        "cake bandwidth 8000000bit besteffort dual-srchost wash ingress ack-filter rtt 1000ms noatm overhead 18 "
        "mpu 64 memlimit 4194304"
    ),
    "dualpi2 preset linux-7.2": (
        "dualpi2 limit 10000 target 15ms tupdate 16ms alpha 0.16015625 beta 3.19921875 step_thresh 1ms "
        "min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso"
    ),
}
"""Schemes and their options in tc's words, written down from the manual pages."""


def last(scheme: str, rate: str | None = None) -> str:
    return tc.commands(scheme, dev="eth0", rate=rate)[-1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_command_that_installs_a_scheme(scheme: str) -> None:
    assert last(scheme) == f"tc qdisc replace dev eth0 root {SCHEMES[scheme]}"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_exported_reads_back_as_the_scheme(scheme: str) -> None:
    line, given = last(scheme), core.parse_aqm(scheme)
    # A line for dualpi2 says all that tc knows of it; that the rest is Linux's is the preset's to say.
    if given.startswith("dualpi2"):
        line = f"{line.partition('root ')[2]} marking random nqb none"
    assert core.parse_aqm(line) == given


def test_every_kind_of_linux_is_exported_and_every_other_has_a_nearest() -> None:
    assert {scheme.partition(" ")[0] for scheme in SCHEMES} == set(KINDS)
    others = {str(entry["name"]) for entry in core.aqms()} - set(KINDS)
    assert others <= set(NEAREST)
    for name in others & set(NEAREST):
        with pytest.raises(
            SojournError, match=f"Linux has no `{name}`; the nearest that it has is `{NEAREST[name]}`"
        ):
            last("daqm interarrival measured" if name == "daqm" else _plain(name))
    for nearest in NEAREST.values():
        if nearest.split()[0] in KINDS:
            assert last(nearest)


def _plain(name: str) -> str:
    return f"{name} interarrival measured" if name == "fq_daqm" else name


def test_a_rate_is_a_class_of_htb_above_the_scheme() -> None:
    assert tc.commands("pfifo", dev="lan0.1", rate="20 Mbit/s") == [
        "tc qdisc replace dev lan0.1 root handle 1: htb default 10",
        "tc class replace dev lan0.1 parent 1: classid 1:10 htb rate 20000000bit ceil 20000000bit quantum 1514",
        "tc qdisc replace dev lan0.1 parent 1:10 handle 10: pfifo limit 1000",
    ]
    # CAKE shapes by itself.
    assert tc.commands("cake control_law newton", dev="eth0", rate="20 Mbit/s") == [
        "tc qdisc replace dev eth0 root cake bandwidth 20000000bit diffserv3 triple-isolate nowash egress "
        "no-ack-filter rtt 100ms noatm"
    ]
    # RED's idle times are in packets of the link's own rate.
    assert last("red limit 400000 min 30000 max 90000", rate="2.5gbit").endswith("bandwidth 2500000000bit")


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        # 25 + 1 - 8 = 18 is more than (1 - (31/32)^25) * 32 = 17.5, not more than (1 - (63/64)^25) * 64 = 20.8: 2^-6.
        # One less: 17 is not more than (1 - (31/32)^24) * 32 = 17.1: 2^-5. redflowlimit is what max is a quarter of.
        (
            "sfq min 8kB max 60kB max_p 0.2 ecn headdrop",
            "headdrop flows 127 divisor 1024 perturb 0 redflowlimit 240000 min 8000 max 60000 avpkt 1000 burst 25 "
            "probability 0.2 ecn",
        ),
        # 4 + 1 - 3 = 2 is more than (1 - (1/2)^4) * 2 = 1.9, not more than (1 - (3/4)^4) * 4 = 2.7: 2^-2.
        # 3 + 1 - 3 = 1 is not more than (1 - (1/2)^3) * 2 = 1.75.
        (
            "sfq min 3kB max 9kB w 0.25 ecn harddrop",
            "flows 127 divisor 1024 perturb 0 redflowlimit 36000 min 3000 max 9000 avpkt 1000 burst 4 "
            "probability 0.02 ecn harddrop",
        ),
    ],
)
def test_red_inside_sfq_is_exported_where_it_is_on(scheme: str, words: str) -> None:
    line = last(scheme)
    assert line == f"tc qdisc replace dev eth0 root sfq limit 127 quantum 1514 depth 127 {words}"
    assert core.parse_aqm(line) == core.parse_aqm(scheme)


def test_notes_say_where_linux_differs() -> None:
    def notes(scheme: str) -> list[str]:
        return [line for line in tc.commands(scheme, dev="eth0", rate="1mbit") if line.startswith("#")]

    assert notes("codel") == ["# Linux's codel behaves as this scheme with `control_law newton`"]
    assert notes("codel control_law newton") == []
    assert notes("pie preset linux-6.12 tupdate 16ms") == []
    # As crosscheck/recorded/linux_tc.jsonl has it.
    jiffies = "# tupdate 15ms becomes 16ms in a Linux of 250 jiffies a second, as Debian's is"
    assert notes("pie preset linux-6.12") == [jiffies]
    assert notes("dualpi2 preset linux-7.2") == []
    # 2^-9 = 0.001953125 is nearer to 0.002 than 2^-8.
    assert notes("red min 30p max 90p") == [
        "# Linux's red counts bytes: a packet is taken as avpkt, 1000 bytes",
        "# w 0.002 becomes 2^-9 = 0.00195312, the nearest that tc computes",
    ]


@pytest.mark.parametrize(
    ("scheme", "part"),
    [
        (
            "red gentle min 30p max 90p",
            "Linux's red has no `gentle`; the nearest that can be exported is `red min 30p max 90p`",
        ),
        ("pie alpha 0.13", "sixteenths of a Hz, 1 to 32; the nearest that can be exported is `pie alpha 0.125`"),
        ("pie alpha 0", "`pie alpha 0.0625`"),
        ("pie variant ns3", "`pie variant linux`"),
        ("codel limit 15kB", "takes limit in packets"),
        ("codel target 1500ns", "the nearest is target 2us"),
        ("sfb noecn", "Linux's sfb has no `ecn`; the nearest that can be exported is `sfb ecn`"),
        ("sfb db 1500us", "whole milliseconds; the nearest that can be exported is `sfb db 2ms`"),
        ("red min 1p max 90p", "min above one mean packet"),
        ("dualpi2", "`dualpi2 preset linux-7.2`"),
        ("red min none max none", "Linux's red computes no min from the rate"),
        ("cobalt", "`cake besteffort flowblind`"),
        ("nonsense", "unknown algorithm"),
        ("", "no scheme to export"),
    ],
)
def test_refusals_name_the_nearest(scheme: str, part: str) -> None:
    with pytest.raises(SojournError) as error:
        last(scheme)
    assert part in str(error.value)


CARRIED = {
    "cake nat autorate-ingress bandwidth 20mbit": "noatm nat autorate-ingress",
    "cake nonat no-split-gso fwmark 0xff": "noatm nonat no-split-gso fwmark 0xff",
    "red limit 400000 min 30000 qevent early_drop block 10": "bandwidth 10000000bit qevent early_drop block 10",
    "red limit 400000 min 30000 bandwidth 100Mbit": "bandwidth 100000000bit",
    "choke limit 1000 min 10 max 30 bandwidth 1mbps": "bandwidth 1mbps",
    # By default it would be four times max.
    "sfq redflowlimit 50000 min 3kB max 9kB w 0.25": (
        "redflowlimit 50000 min 3000 max 9000 avpkt 1000 burst 4 probability 0.02"
    ),
}
"""Schemes with words that the simulator ignores, and the end of the command that repeats them."""


@pytest.mark.parametrize("scheme", CARRIED)
def test_words_that_the_simulator_ignores_are_repeated(scheme: str) -> None:
    line = last(scheme)
    assert line.endswith(CARRIED[scheme])
    assert core.parse_aqm(line) == core.parse_aqm(scheme)


def test_a_comment_names_what_is_repeated_and_what_is_left_out() -> None:
    def notes(scheme: str) -> list[str]:
        return [line for line in tc.commands(scheme, dev="eth0") if line.startswith("#")]

    assert "# `nat`, `fwmark 1` have no effect in the simulator and have been repeated from the scheme" in notes(
        "cake nat fwmark 1"
    )
    assert "# `Scell_log 3` is left out: tc prints it and does not take it" in notes(
        "choke limit 1000 min 10 max 30 Scell_log 3"
    )
    line = "tc qdisc add dev wan0 parent 1:10 handle 10: codel control_law newton"
    assert tc.commands(line) == [
        "# `parent 1:10 handle 10:` of the given line is left out: the commands below say where the qdisc goes",
        "tc qdisc replace dev wan0 root codel limit 1000 target 5ms interval 100ms noecn",
    ]


def test_the_interface_need_not_be_named() -> None:
    assert tc.commands("pfifo limit 60p") == [
        "# replace DEV with the name of the interface, or give it with --dev",
        "tc qdisc replace dev DEV root pfifo limit 60",
    ]
    assert tc.commands("tc qdisc add dev wan0 root pfifo limit 60", dev="lan0") == [
        "tc qdisc replace dev lan0 root pfifo limit 60"
    ]


def test_two_rates_are_refused() -> None:
    with pytest.raises(SojournError, match="the scheme has bandwidth 20Mbit/s and --rate says 10000000bit"):
        tc.commands("cake bandwidth 20mbit", rate="10mbit")
    assert "bandwidth 20000000bit" in last("cake bandwidth 20mbit", rate="20 Mbit/s")


@pytest.mark.parametrize("dev", ["", "eth0; rm -rf /", "$(id)", "sixteen-letters-"])
def test_only_names_of_interfaces_go_into_a_command(dev: str) -> None:
    with pytest.raises(SojournError, match="is not the name of a network interface"):
        tc.commands("codel", dev=dev)


@pytest.mark.parametrize("rate", ["20", "0 Mbit/s", "fast", "-1mbit"])
def test_rates_that_are_none(rate: str) -> None:
    with pytest.raises(SojournError, match="is not a rate"):
        tc.commands("codel", dev="eth0", rate=rate)


@pytest.mark.parametrize("least", [1.5, 5, 30, 333.3])
@pytest.mark.parametrize("wanted", [1, 2, 5, 9, 15, 24])
def test_the_burst_is_the_smallest_that_makes_the_weight(least: float, wanted: int) -> None:
    burst = red.burst_for(wanted, least)
    assert burst is not None
    made, before = red.exponent(burst, least), red.exponent(burst - 1, least)
    assert made is not None
    assert before is None or before < wanted <= made
    # tc skips a weight only where thresholds are hardly more than a packet.
    assert made == wanted or least < 2


COMMON = [
    "kind",
    "handle",
    "dev",
    "root",
    "options",
    "bytes",
    "packets",
    "drops",
    "overlimits",
    "requeues",
    "backlog",
    "qlen",
]

RED_FLAGS = {"ecn": False, "harddrop": False, "adaptive": False, "nodrop": False}

STATISTICS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "pfifo limit 60p": ({"limit": 60}, []),
    "bfifo limit 64Kb": ({"limit": 65536}, []),
    "red limit 60Kb avpkt 1000 ecn": (
        {"limit": 61440, "min": 5120, "max": 15360, **RED_FLAGS, "ecn": True},
        ["marked", "early", "pdrop", "other"],
    ),
    "red min 5p max 15p limit 100p": (
        {"limit": 100_000, "min": 5000, "max": 15_000, **RED_FLAGS},
        ["marked", "early", "pdrop", "other"],
    ),
    "choke min 5 max 15": (
        {"limit": 1000, "min": 5, "max": 15, **RED_FLAGS},
        ["marked", "early", "pdrop", "other", "matched"],
    ),
    "sfb": (
        {
            # Microseconds, though tc takes milliseconds.
            "rehash": 600_000_000,
            "db": 60_000_000,
            "limit": 1000,
            "max": 25,
            "target": 20,
            "increment": 0.001,
            "decrement": 1 / 6000,
            "penalty_rate": 10,
            "penalty_burst": 20,
        },
        ["earlydrop", "queuedrop", "childdrop", "marked", "maxqlen", "maxprob"],
    ),
    "sfq": ({"limit": 127, "quantum": 1514, "depth": 127, "divisor": 1024}, []),
    "codel": (
        {"limit": 1000, "target": 5000, "interval": 100_000},
        ["count", "drop_next", "ecn_mark", "drop_overlimit"],
    ),
    "fq_codel": (
        {
            "limit": 10240,
            "flows": 1024,
            "quantum": 1514,
            "target": 5000,
            "interval": 100_000,
            "memory_limit": 33_554_432,
            "ecn": True,
            "drop_batch": 64,
        },
        ["drop_overlimit", "ecn_mark", "memory_used", "new_flows_len", "old_flows_len"],
    ),
    "pie delay departure_rate bytemode": (
        {
            "limit": 1000,
            "target": 15_000,
            "tupdate": 15_000,
            "alpha": 2,
            "beta": 20,
            "bytemode": True,
            "dq_rate_estimator": True,
        },
        ["prob", "delay", "avg_dq_rate", "pkts_in", "overlimit", "dropped", "ecn_mark"],
    ),
    "fq_pie": (
        {
            "limit": 10240,
            "flows": 1024,
            "target": 15_000,
            "tupdate": 15_000,
            "alpha": 2,
            "beta": 20,
            "quantum": 1514,
            "memory_limit": 33_554_432,
            "ecn_prob": 10,
        },
        ["pkts_in", "overlimit", "dropped", "ecn_mark", "new_flows_len", "old_flows_len", "memory_used"],
    ),
    "cake bandwidth 4mbit diffserv4 ethernet": (
        {
            # Bytes a second.
            "bandwidth": 500_000,
            "diffserv": "diffserv4",
            "flowmode": "triple-isolate",
            "wash": False,
            "ingress": False,
            "ack-filter": "disabled",
            "rtt": 100_000,
            "atm": "noatm",
            "overhead": 38,
            "mpu": 84,
            "nat": False,
            "split_gso": True,
            "fwmark": "0",
            "raw": False,
        },
        ["memory_used", "memory_limit", "tins"],
    ),
    "dualpi2 preset linux-7.2 memlimit 1mb step_thresh 5p": (
        {
            "limit": 10_000,
            "memory-limit": 1_048_576,
            "target": 15_000,
            "tupdate": 16_000,
            "alpha": 41 / 256,
            "beta": 819 / 256,
            "step-thresh-pkts": 5,
            "min-qlen-step": 0,
            "coupling": 2,
            "drop-overload": "drop",
            "drop-early": "drop-dequeue",
            "c-protection": 10,
            "ecn-mask": "l4s-ect",
            "split-gso": None,
        },
        ["prob", "ecn-mark", "credit", "memory-used", "memory-limit"],
    ),
    "cobalt": (
        {
            "limit": "1000p",
            "target": "5ms",
            "interval": "100ms",
            "ecn": "off",
            "p_inc": "0.00390625",
            "p_dec": "0.000244140625",
            "control_law": "exact",
        },
        ["internals"],
    ),
}
"""Schemes, the options that tc's JSON has for them, and the keys of their own statistics."""


def result(scheme: str) -> core.Document:
    task = {"scheme": scheme, "seed": 1, "replication": 0, "series": None}
    (document,) = core.run_many(small_network().canonical(), [task], jobs=1)
    return document


@pytest.mark.parametrize("scheme", STATISTICS)
def test_statistics_have_the_shape_of_tc(scheme: str) -> None:
    document = result(scheme)
    (shown,) = tc.statistics(document)
    options, own = STATISTICS[scheme]
    assert shown["kind"] == scheme.partition(" ")[0]
    assert shown["options"] == options
    keys = [key for key in shown if key != "dropping"]
    assert keys == [*COMMON, *own]
    assert (shown["handle"], shown["root"], shown["dev"]) == ("8001:", True, "left->right")
    json.dumps(shown, allow_nan=False)
    (queue,) = [queue for queue in document["queues"] if queue["under_test"]]
    counts = queue["counts"]
    for unit, left in (("packets", shown["qlen"]), ("bytes", shown["backlog"])):
        dropped = sum(counts[f"dropped_{reason}"][unit] for reason in ("overflow", "early", "flow"))
        assert counts["arrived"][unit] == shown[unit] + dropped + left
    # 5 Mbit/s for 4 s are 1666 packets of 1500 bytes: counted from the start, warm-up included.
    assert 1000 < shown["packets"] <= 1667
    assert shown["drops"] > 0


def test_statistics_agree_with_the_algorithm() -> None:
    (pie,) = tc.statistics(result("pie"))
    assert pie["pkts_in"] == pie["packets"] + pie["qlen"]
    assert pie["dropped"] + pie["overlimit"] == pie["drops"]
    assert 0 < pie["prob"] < 1
    (choke,) = tc.statistics(result("choke min 5 max 15"))
    # A match drops two.
    assert choke["drops"] == 2 * choke["matched"] + choke["early"] + choke["pdrop"]
    (sfq,) = tc.statistics(result("sfq min 3kB max 9kB w 0.25"))
    assert 0 < sfq["options"]["prob_drop"] <= sfq["overlimits"] <= sfq["drops"]
    assert sfq["options"]["prob_drop"] + sfq["options"]["forced_drop"] == sfq["overlimits"]
    (cake,) = tc.statistics(result("cake diffserv3"))
    # Bulk is shown first, and everything here is best effort.
    assert [tin["sent_packets"] for tin in cake["tins"]] == [0, cake["packets"], 0]
    assert sum(tin["drops"] for tin in cake["tins"]) == cake["drops"]
    assert sum(tin["backlog_bytes"] for tin in cake["tins"]) == cake["backlog"]
    (codel,) = tc.statistics(result("codel"))
    assert codel.get("dropping", False) or codel["drop_next"] == 0


def test_a_scenario_without_a_queue_under_test_is_refused() -> None:
    document = result("pfifo")
    untested = [{**queue, "under_test": False} for queue in document["queues"]]
    with pytest.raises(SojournError, match="no queue under test"):
        tc.statistics({**document, "queues": untested})


def test_the_command_line(command: Command, small_file: object) -> None:
    done = command("export", "tc", "codel target 10ms", "--dev", "eth0", "--rate", "20 Mbit/s")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("# Linux's codel")
    assert lines[-1].endswith("parent 1:10 handle 10: codel limit 1000 target 10ms interval 100ms noecn")
    refused = command("export", "tc", "cobalt", "--dev", "eth0")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("sojourn: Linux has no `cobalt`; the nearest that it has is")
    shown = json.loads(command("run", small_file, "--tc").stdout)
    assert [queue["kind"] for queue in shown] == ["pfifo"]
    both = command("run", small_file, "--tc", "--json")
    assert both.returncode == 2
    assert "--tc prints the queues of one run and nothing else" in both.stderr


def in_namespace(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a network namespace of its own, with a pair of interfaces, or skip."""
    if not (shutil.which("tc") and shutil.which("unshare")):
        pytest.skip("needs tc and unshare")
    setting = "ip link add eth0 type veth peer name eth1 && ip link set eth0 up"
    if subprocess.run(["unshare", "-rn", "sh", "-c", setting], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a network namespace with a veth pair")
    return subprocess.run(
        ["unshare", "-rn", "sh", "-c", f"{setting}\n{script}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tc_itself_takes_the_command(scheme: str) -> None:
    kind = scheme.partition(" ")[0]
    done = in_namespace(last(scheme))
    if f'Unknown qdisc "{kind}"' in done.stderr:
        pytest.skip(f"this tc is older than {kind}")
    if done.returncode:
        # tc has understood every word; the kernel of this machine was built without the discipline.
        assert "Specified qdisc kind is unknown" in done.stderr


@pytest.mark.parametrize("scheme", ["pfifo limit 60p", "bfifo limit 64Kb"])
def test_the_kernel_shows_what_the_statistics_show(scheme: str) -> None:
    done = in_namespace(
        "\n".join([*tc.commands(scheme, dev="eth0", rate="20 Mbit/s"), "tc -s -j qdisc show dev eth0"])
    )
    if "Specified qdisc kind is unknown" in done.stderr:
        pytest.skip("this kernel has no HTB")
    assert done.returncode == 0, done.stderr
    (kernel,) = [shown for shown in json.loads(done.stdout) if shown["kind"] == scheme.partition(" ")[0]]
    (ours,) = tc.statistics(result(scheme))
    assert kernel["options"] == ours["options"]
    # A child has a parent where a root has "root"; "dev" was asked for.
    assert [key for key in kernel if key != "parent"] == [key for key in ours if key not in {"root", "dev"}]
