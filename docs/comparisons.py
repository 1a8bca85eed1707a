"""Writes the pages that show the library at work, with the numbers of their runs in them.

``docs/comparisons.py`` runs all of them: about a minute on two cores. The runs depend on the seed alone, so the pages
change only when the library does. ``docs/comparisons.py l4s`` makes one page.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd

import sojourn as sj
from sojourn import _native, stats

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
SEED = 1
NOTE = "<!-- Made by docs/comparisons.py from runs of the library: change it there. -->\n"
INTERVAL = (
    "Each number is the mean over the replications ± the half-width of its 95 % confidence interval (Student's t)."
)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


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
    schemes = ["dualpi2", "dualpi2 preset linux", "pie", "fq_codel"]
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
        + "This page shows how DualPI2 shares a link between an L4S flow and a classic flow, beside PIE and "
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
        + f"{shown(ratios['dualpi2'])}, and with Linux's preset {shown(ratios['dualpi2 preset linux'])}.\n\n"
        + "The other two schemes treat the flows differently:\n\n"
        + "* **`pie`** has a single queue and here drops from both flows. The scalable flow waits as long as the "
        + "classic one.\n"
        + "* **`fq_codel`** has a queue for each flow, and here marks the scalable flow as if it were classic. The "
        + "rates are equal, and each flow has its own delay. But the scheme must identify flows to do so.\n"
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
