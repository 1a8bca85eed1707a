"""Writes the pages that show the library at work, with the numbers of their runs in them.

``docs/comparisons.py`` runs all of them: about a minute on two cores. The runs depend on the seed alone, so the pages
change only when the library does. ``docs/comparisons.py l4s`` makes one page.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterable

import pandas as pd
from pages import DOCS, IMAGES, table

import sojourn as sj
from sojourn import _native, stats

SEED = 1
NOTE = "<!-- Made by docs/comparisons.py from runs of the library: change it there. -->\n"
INTERVAL = (
    "Each number is the mean over the replications ± the half-width of its 95 % confidence interval (Student's t)."
)


def shown(found: stats.Estimate, scale: float = 1.0, digits: int = 2) -> str:
    """A mean with the half width of its interval."""
    half = "" if found.half_width is None else f" ± {found.half_width * scale:.{digits}f}"
    return f"{found.mean * scale:.{digits}f}{half}"


def provenance(scenario: str, command: str) -> str:
    """Where the numbers of a page come from."""
    return f"{scenario} This command runs it:\n\n```console\n$ {command}\n```\n\n{INTERVAL}\n\n"


def group(results: sj.Results, scheme: str, name: str) -> pd.DataFrame:
    """Means over the flows of one group, one row per replication."""
    flows = results.flows
    rows = flows[(flows["scheme"] == scheme) & (flows["group"] == name)]
    return rows.groupby("replication").mean(numeric_only=True)


def queueing_ms(flows: pd.DataFrame, base_ms: float) -> stats.Estimate:
    """Mean one-way delay beyond what an unloaded network takes."""
    return stats.estimate(flows["one_way_delay_ms_mean"].to_numpy() - base_ms)


def all_schemes() -> str:
    """Every registered scheme on the demo's dumbbell."""
    about = tomllib.loads((DOCS / "algorithms.toml").read_text(encoding="utf-8"))
    # Best first by queueing delay says nothing of goodput: the order is the registry's.
    schemes = {entry["name"]: about[entry["name"]]["example"] for entry in json.loads(_native.aqms())}
    replications = 10
    results = sj.compare(sj.load("dumbbell"), list(schemes.values()), replicates=replications, seed=SEED)
    picture = results.plot.delay_throughput()
    picture.savefig(IMAGES / "all-schemes.png", dpi=90, facecolor="white", metadata={"Software": None})
    columns = [
        ("queueing delay (ms)", "sojourn_ms_mean", 1, 1),
        ("delay, 99th percentile (ms)", "sojourn_ms_p99", 1, 1),
        ("queue (packets)", "queue_packets_mean", 1, 1),
        ("goodput (Mbit/s)", "goodput_bit_s", 1e-6, 2),
        ("loss (%)", "loss_ratio", 100, 2),
        ("burst ratio", "burst_ratio", 1, 2),
        ("fairness (Jain)", "jain_index", 1, 3),
    ]
    rows = [
        [f"[`{name}`](../reference/algorithms/{name}.md)"]
        + [shown(results.estimate(label, metric), scale, digits) for _, metric, scale, digits in columns]
        for (name, _), label in zip(schemes.items(), results.labels, strict=True)
    ]
    texts = "".join(f"* `{text}`\n" for text in schemes.values())
    return (
        NOTE
        + f"# All {len(schemes)} schemes on one dumbbell\n\n"
        + "This page compares every scheme of the library on the same network: "
        + f"{results.scenario['description']}. There are {replications} replications with seed {SEED}, and in each "
        + "of them the flows start at the same times under every scheme.\n\n"
        + "Each scheme has the settings of its own page. They are not tuned for this network, so a scheme with poor "
        + "results here may be set for another rate.\n\n"
        + provenance(
            "The scenario is the bundled `dumbbell`.",
            'sojourn compare dumbbell --replicates 10 --aqm "pfifo limit 100p" --aqm codel ...',
        )
        + "![Mean queueing delay against goodput of every scheme](../images/all-schemes.png)\n\n"
        + table(["scheme", *(title for title, *_ in columns)], rows)
        + "\nThe parameters of each scheme:\n\n"
        + texts
    )


def l4s() -> str:
    """DualPI2 with a scalable and a classic flow."""
    replications = 10
    schemes = ["dualpi2", "dualpi2 preset linux-7.2", "pie", "fq_codel"]
    results = sj.compare(sj.load(DOCS / "l4s.toml"), schemes, replicates=replications, seed=SEED)
    # 10 ms of propagation; 1500 bytes take 0.3 ms at 40 Mbit/s and 0.012 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.3 + 2 * 0.012
    rows, ratios = [], {}
    for label in results.labels:
        scalable, classic = group(results, label, "l4s"), group(results, label, "classic")
        ratios[label] = stats.estimate((scalable["goodput_bit_s"] / classic["goodput_bit_s"]).to_numpy())
        rows.append(
            [
                f"`{label}`",
                shown(queueing_ms(scalable, base_ms)),
                shown(stats.estimate(scalable["one_way_delay_ms_sd"].to_numpy())),
                shown(queueing_ms(classic, base_ms), digits=1),
                shown(stats.estimate(scalable["goodput_bit_s"].to_numpy()), 1e-6),
                shown(stats.estimate(classic["goodput_bit_s"].to_numpy()), 1e-6),
                shown(ratios[label]),
                shown(results.estimate(label, "utilisation"), 100, 1),
            ]
        )
    head = [
        "scheme",
        "L4S queueing (ms)",
        "standard deviation (ms)",
        "classic queueing (ms)",
        "L4S (Mbit/s)",
        "classic (Mbit/s)",
        "L4S : classic",
        "utilisation (%)",
    ]
    return (
        NOTE
        + "# L4S and classic traffic on one link: DualPI2\n\n"
        + "L4S (low latency, low loss and scalable throughput, RFC 9330) lets flows that react to every ECN mark "
        + "keep a queue of less than a millisecond, while other, “classic” flows fill a longer one. This page shows "
        + "how DualPI2 shares a link between an L4S flow and a classic flow, and compares it with PIE and "
        + f"FQ-CoDel. Scenario: {results.scenario['description']}. There are {replications} replications with seed "
        + f"{SEED}.\n\nThe first flow sends ECT(1) and reduces its window in proportion to the number of marks (RFC "
        + "8257). The second flow reacts to drops.\n\n"
        + provenance(
            "The scenario is [l4s.toml](../l4s.toml).",
            f"sojourn compare docs/l4s.toml --replicates {replications} "
            + " ".join(f'--aqm "{scheme}"' for scheme in schemes),
        )
        + table(head, rows)
        + "\nQueueing is the mean one-way delay minus propagation and the transmission time of a full packet "
        + f"({base_ms:.3f} ms).\n\n"
        + "## Comparison with RFC 9332\n\n"
        + "* **The scalable flow waits less than a millisecond on average** (sections 2.2 and 2.4; appendix A gives "
        + "the values). Its queue has priority and marks packets from a shallow threshold of its own. The threshold "
        + "is a ramp from 0.8 to 1.2 ms, and with Linux's preset a step at 1 ms. Alone on the link, a scalable flow "
        + "fills its queue up to that millisecond. Beside classic traffic the coupling marks it earlier, so it waits "
        + "less.\n* **The classic flow waits nearly its target of 15 ms.** A PI controller holds it there (appendix "
        + "A). The sawtooth of a single CUBIC flow keeps the mean slightly below the target.\n"
        + "* **Both flows get about the same rate** (section 2.1). The classic drop probability is the square of the "
        + "base probability p', and the L4S marking probability is k p' with k = 2. This balances a flow that reacts "
        + "to the square root of its loss with a flow that reacts in proportion to its marks. Here the ratio is "
        + f"{shown(ratios['dualpi2'])}, and with Linux's preset {shown(ratios['dualpi2 preset linux-7.2'])}.\n\n"
        + "The other two schemes treat the flows differently:\n\n"
        + "* **`pie`** has a single queue and here drops from both flows. The scalable flow waits as long as the "
        + "classic one.\n"
        + "* **`fq_codel`** has a queue for each flow, and here marks the scalable flow as if it were classic. The "
        + "rates are equal, and each flow has its own delay. But the scheme must identify flows to do so.\n"
        + l4s_queues(replications)
        + l4s_single_queue(replications)
        + l4s_voice(replications)
    )


PRAGUE = "flows.l4s.transport.congestion_control=prague"
CLASSIC_ECN = "flows.classic.transport.ecn=true"


def sets_shown(sets: Iterable[str]) -> str:
    """Overrides as options of the command line."""
    return "".join(f" --set {one}" for one in sets)


def l4s_queues(replications: int) -> str:
    """The two queues of DualPI2, measured apart."""
    columns = [
        ("L4S delay, mean (ms)", "l4s_sojourn_ms_mean", 1, 2),
        ("99 % (ms)", "l4s_sojourn_ms_p99", 1, 2),
        ("classic delay, mean (ms)", "classic_sojourn_ms_mean", 1, 1),
        ("99 % (ms)", "classic_sojourn_ms_p99", 1, 1),
        ("L4S marks (%)", "l4s_mark_ratio", 100, 2),
        ("classic signals (%)", "classic_signal_ratio", 100, 3),
        ("coupling", "coupling_ratio", 1, 2),
    ]
    rows = []
    for name, sets in (("DCTCP", []), ("Prague", [PRAGUE])):
        results = sj.compare(
            sj.load(DOCS / "l4s.toml", sets=sets),
            ["dualpi2", "dualpi2 preset linux-7.2"],
            replicates=replications,
            seed=SEED,
        )
        rows += [
            [name, f"`{label}`"]
            + [shown(results.estimate(label, metric), scale, digits) for _, metric, scale, digits in columns]
            for label in results.labels
        ]
    return (
        "\n## The two queues\n\n"
        + "Reports measure the two queues of DualPI2 apart: delays, marks, drops and their coupling. `sojourn run` "
        + "prints them, and [metrics](../reference/metrics.md) defines them.\n\n"
        + f"```console\n$ sojourn run docs/l4s.toml --replicates {replications}{sets_shown([PRAGUE])}\n```\n\n"
        + table(["L4S sender", "scheme", *(title for title, *_ in columns)], rows)
        + "\nThe coupling is the share of L4S packets marked, divided by the root of the share of classic packets "
        + "dropped or marked. RFC 9332 (section 2.1) makes it k = 2, because p_CL = k p' and p_C = p'². The measured "
        + "value is a little lower, because p' varies and the mean of a variable is below the root of its mean "
        + "square. A value above 2 would show that the L4S queue's own ramp or step marks.\n"
    )


def l4s_single_queue(replications: int) -> str:
    """What happens to L4S flows at a single queue that marks as RFC 3168 says."""
    reno, refused = "flows.l4s.transport.congestion_control=cubic", "flows.l4s.transport.accecn_accept=false"
    cases = [
        ("Prague", [PRAGUE, CLASSIC_ECN], ["dualpi2", "fq_codel", "codel", "codel ecn", "pie ecn", "red ecn"]),
        ("Prague, receiver without AccECN", [PRAGUE, refused, CLASSIC_ECN], ["codel ecn", "pie ecn"]),
        ("CUBIC with ECN", [reno, "flows.l4s.transport.ect=0", CLASSIC_ECN], ["codel ecn", "pie ecn"]),
    ]
    rows, ratios = [], {}
    for name, sets, schemes in cases:
        results = sj.compare(sj.load(DOCS / "l4s.toml", sets=sets), schemes, replicates=replications, seed=SEED)
        for label in results.labels:
            first, classic = group(results, label, "l4s"), group(results, label, "classic")
            share = first["goodput_bit_s"] / classic["goodput_bit_s"]
            ratios[name, label] = stats.estimate(share.to_numpy())
            rows.append(
                [
                    name,
                    f"`{label}`",
                    shown(stats.estimate(first["goodput_bit_s"].to_numpy()), 1e-6, 1),
                    shown(stats.estimate(classic["goodput_bit_s"].to_numpy()), 1e-6, 1),
                    shown(ratios[name, label], digits=1),
                    shown(results.estimate(label, "sojourn_ms_mean"), digits=1),
                    shown(results.estimate(label, "mark_ratio"), 100, 2),
                ]
            )
    head = [
        "first flow",
        "scheme",
        "first (Mbit/s)",
        "classic (Mbit/s)",
        "first : classic",
        "delay (ms)",
        "marks (%)",
    ]
    command = f"sojourn compare docs/l4s.toml --replicates {replications}{sets_shown(cases[0][1])}"
    return (
        "\n## An L4S flow at a single queue of RFC 3168\n\n"
        + "A queue that supports ECN as in RFC 3168 marks instead of dropping, and marks an L4S packet as often as "
        + "any other. An L4S flow reduces its window by a fraction of the share of marks, where a classic flow "
        + "reduces it by 30 or 50 % for each round trip with a mark. So the L4S flow takes most of the link. "
        + "In the table, both flows use ECN: a Prague flow with ECT(1), and a CUBIC flow with ECT(0).\n\n"
        + f"```console\n$ {command} "
        + " ".join(f'--aqm "{scheme}"' for scheme in cases[0][2])
        + "\n```\n\n"
        + table(head, rows)
        + "\n* **A single queue that marks (`codel ecn`, `pie ecn`, `red ecn`).** The Prague flow gets "
        + f"{shown(ratios['Prague', 'codel ecn'], digits=1)} times the rate of the CUBIC flow under `codel ecn`. "
        + "Under a mark probability p, the window of a scalable flow is proportional to 1/p, and that of a classic "
        + "flow about to 1/√p. The smaller p is, the larger their ratio. Delays are those of the classic queue for "
        + "both.\n"
        + "* **A single queue that drops (`codel`).** Both flows see losses, and Prague halves its window after a "
        + "loss as Reno does.\n"
        + "* **A queue for each flow (`fq_codel`).** The scheduler gives both flows the same rate, whatever they do "
        + "about marks.\n"
        + "* **DualPI2.** The coupling gives the L4S flow the number of marks that makes the rates similar. A "
        + "Prague flow gets more than the DCTCP flow of the first table. Its RTT is shorter than that of the CUBIC "
        + "flow, which waits in the classic queue, and its window goes on growing after a reduction.\n"
        + "* **A receiver without Accurate ECN.** Prague asks for Accurate ECN (RFC 9768) in its SYN. The answer of "
        + "a receiver that only knows RFC 3168 shows this, and Prague falls back to Reno with ECT(0) (RFC 9331, "
        + "sections 4.2 and 4.3). Both flows then share the single queue like two classic flows, as in the last "
        + "two rows.\n\n"
        + "RFC 9331 (section 4.3) therefore asks an L4S sender to detect such queues and to respond to them as Reno "
        + "would. Prague's draft describes such a detection, which is off by default. It is not implemented here.\n"
    )


def l4s_voice(replications: int) -> str:
    """A call as non-queue-building traffic."""
    rows = []
    # 10 ms of propagation; 200 bytes take 0.04 ms at 40 Mbit/s and 0.0016 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.04 + 2 * 0.0016
    for dscp in ("NQB", "CS0"):
        scenario = sj.load(DOCS / "nqb.toml", sets=[f"flows.voice.dscp={dscp}"])
        schemes = ["dualpi2", "cake bandwidth 40mbit"]
        results = sj.compare(scenario, schemes, replicates=replications, seed=SEED)
        for label in results.labels:
            voice = results.groups[
                (results.groups["scheme"] == label) & (results.groups["group"] == "voice")
            ].set_index("replication")
            rows.append(
                [
                    f"`{label}`",
                    f"`{dscp}`",
                    shown(queueing_ms(voice, base_ms)),
                    shown(stats.estimate(voice["one_way_delay_ms_p99"].to_numpy() - base_ms)),
                    shown(stats.estimate(voice["loss_ratio"].to_numpy()), 100),
                ]
            )
    return (
        "\n## Non-queue-building traffic\n\n"
        + "RFC 9956 defines a DSCP, NQB (45), for flows that send little and evenly, such as a call. They then get a "
        + "short queue without ECN. DualPI2 puts such packets into the L4S queue and does not mark "
        + "them (`nqb`, by default NQB; `none` in Linux's preset). Where more than 10 ms of data waits there, a "
        + "non-queue-building packet is dropped (`nqb_limit`). CAKE keeps them in the tin of best effort, where "
        + "every flow has a queue of its own: the RFC asks for isolation and not for priority.\n\n"
        + "The scenario is [nqb.toml](../nqb.toml): a call of 80 kbit/s beside a Prague flow and a CUBIC flow.\n\n"
        + f"```console\n$ sojourn compare docs/nqb.toml --replicates {replications} --aqm dualpi2 "
        + '--aqm "cake bandwidth 40mbit" --set flows.voice.dscp=CS0\n```\n\n'
        + table(["scheme", "DSCP of the call", "queueing, mean (ms)", "99 % (ms)", "loss (%)"], rows)
        + f"\nQueueing is the one-way delay minus propagation and the transmission time ({base_ms:.3f} ms).\n"
    )


def cake() -> str:
    """CAKE's isolation of hosts and of sparse flows."""
    replications = 10
    schemes = ["cake bandwidth 50mbit", "cake bandwidth 50mbit flows", "fq_codel", "pfifo limit 200p"]
    results = sj.compare(sj.load(DOCS / "cake.toml"), schemes, replicates=replications, seed=SEED)
    # 10 ms of propagation; 200 bytes take 0.032 ms at 50 Mbit/s and 0.0016 ms at each of two links of 1 Gbit/s.
    base_ms = 10 + 0.032 + 2 * 0.0016
    rows = []
    for label in results.labels:
        one, eight = (group(results, label, name)["goodput_bit_s"].to_numpy() for name in ("one", "eight"))
        sparse = group(results, label, "sparse")
        rows.append(
            [
                f"`{label}`",
                shown(stats.estimate(one), 1e-6),
                shown(stats.estimate(8 * eight), 1e-6),
                shown(stats.estimate(one / (8 * eight)), digits=3),
                shown(queueing_ms(sparse, base_ms)),
                shown(stats.estimate(sparse["one_way_delay_ms_sd"].to_numpy())),
            ]
        )
    head = [
        "scheme",
        "host with 1 flow (Mbit/s)",
        "host with 8 flows (Mbit/s)",
        "ratio",
        "sparse flow's queueing (ms)",
        "standard deviation (ms)",
    ]
    return (
        NOTE
        + "# Hosts, flows and sparse flows: CAKE\n\n"
        + "This page shows how CAKE shares a link between two hosts and protects a sparse flow, beside FQ-CoDel and "
        + f"tail drop. Scenario: {results.scenario['description']}. There are {replications} replications with seed "
        + f"{SEED}. The sparse flow (50 packets of 200 bytes per second) belongs to the host with eight flows.\n\n"
        + provenance(
            "The scenario is [cake.toml](../cake.toml).",
            f"sojourn compare docs/cake.toml --replicates {replications} "
            + " ".join(f'--aqm "{scheme}"' for scheme in schemes),
        )
        + table(head, rows)
        + "\nQueueing is the mean one-way delay minus propagation and the transmission time of the packet "
        + f"({base_ms:.3f} ms).\n\n"
        + "* **Hosts.** By default CAKE shares the link first between hosts and then between the flows of a host "
        + "(`triple-isolate`: a flow's quantum is divided by the number of flows of its busier host). With `flows` "
        + "it ignores hosts and shares as `fq_codel` does. The host with one flow then gets one ninth of the link.\n"
        + "* **Sparse flows.** A flow that sends less than its share finds its queue empty whenever it sends. It is "
        + "served before all flows with a backlog. So it waits at most for the packet in transmission (0.24 ms for a "
        + "full frame) and for other sparse flows.\n"
    )


PAGES: dict[str, Callable[[], str]] = {"all-schemes": all_schemes, "l4s": l4s, "cake": cake}


def main() -> int:
    """Writes the pages named, or all."""
    names = sys.argv[1:] or list(PAGES)
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(PAGES)}", file=sys.stderr)
        return 2
    for name in names:
        (DOCS / "concepts" / f"{name}.md").write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
