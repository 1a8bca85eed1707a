"""Writes the guide on applications, with its picture: web, video, a call and five downloads under four schemes.

``docs/applications.py`` runs all of it: half a minute of CPU time. The runs depend on the seed alone, so the page
changes only when the library does.
"""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

from pages import save, write

import sojourn as sj

PROGRAM = """import sojourn as sj

line = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(5), rtt=sj.ms(40), duration=sj.s(120), warm_up=sj.s(20))
net = line.add(
    sj.web(),
    sj.video(),
    sj.voip(),
    sj.bulk(5),
)
schemes = ["pfifo limit 1000p", "codel", "fq_codel", "cake"]
results = sj.compare(net, schemes, replicates=5, seed=1)
summary = sj.ApplicationSummary(results)
print(summary)
summary.plot().savefig("applications.png")
"""
OWN = """import numpy as np
import sojourn as sj

random = np.random.default_rng(1)
times = np.cumsum(random.exponential(0.01, 3000))
sizes = random.integers(60, 1200, 3000)
telemetry = sj.source(np.column_stack([times, sizes]))
bursts = sj.source(((k / 10 + j / 1e4, 1000) for k in range(1000) for j in range(5)), until=sj.s(30))
net = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(5), rtt=sj.ms(40), duration=sj.s(30)).add(telemetry, bursts)
groups = sj.run(net, seed=1, series=None).groups
print(groups[["group", "sent_packets", "one_way_delay_ms_mean"]].to_string(index=False))
"""


def own() -> str:
    """What the second program prints."""
    out = StringIO()
    with redirect_stdout(out):
        exec(OWN.replace("series=None", "series=None, progress=False"), {})  # noqa: S102
    return out.getvalue().rstrip()


def main() -> None:
    """Writes the page."""
    names: dict[str, object] = {}
    # The program of the page, up to where it prints.
    exec(PROGRAM.partition("print(")[0].replace("seed=1)", "seed=1, progress=False)"), names)  # noqa: S102
    summary = names["summary"]
    if not isinstance(summary, sj.ApplicationSummary):
        raise TypeError(summary)
    save(summary.plot(), "applications.png")

    def of(label: str, group: str, metric: str, scale: float = 1.0) -> str:
        return f"{summary.estimate(label, group, metric).mean * scale:.3g}"

    words = {
        f"{short}_{key}": of(label, group, metric, scale)
        for short, label in (("tail", "pfifo limit 1000p"), ("codel", "codel"), ("fair", "fq_codel"))
        for key, group, metric, scale in (
            ("page", "web", "page_load_s_mean", 1.0),
            ("delay", "voip", "voip_mouth_to_ear_ms_mean", 1.0),
            ("mos", "voip", "voip_mos", 1.0),
            ("rate", "video", "video_bit_rate_bit_s", 1e-6),
        )
    }
    programs = {"program": PROGRAM.rstrip(), "own_program": OWN.rstrip(), "own": own()}
    write("guides/applications.md", {"table": summary, **programs, **words})


if __name__ == "__main__":
    main()
