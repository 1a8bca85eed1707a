"""Writes the tutorial and the pages on simulation practice and on tuning, with the output and pictures of their runs.

``docs/practice.py`` runs all of it: about two minutes of CPU time. The runs depend on the seed alone, so the pages
change only when the library does. ``docs/practice.py tutorial`` makes one page, in about 15 s.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pages
from intervals import coverage, read_record
from pages import BLUE, DOCS, IMAGES, RED, Pages, save, table, write_named

import sojourn as sj
from sojourn import stats
from sojourn.studies import tune
from sojourn.studies.tune import picture
from sojourn.view.palette import INK, MUTED
from sojourn.view.plot import WIDTH, new_figure

LOAD = 0.9
MEAN = LOAD**2 / (1 - LOAD)
"""Packets waiting in an M/M/1 queue (Kleinrock 1975, section 3.2): 8.1 at 90 % load."""


def console(command: str, folder: str, last: int | None = None) -> str:
    """A command with what it prints, as a block; `last` lines of it where that is too much."""
    done = pages.run(command, folder)
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "runs now" not in line]
    shown = lines if last is None else ["...", *lines[-last:]]
    return pages.console(command, "\n".join(shown) + "\n")


def mm1(load: float, seconds: int, warm_up: int) -> sj.Network:
    """The M/M/1 queue of 1250 packets a second."""
    rate = f"flows.poisson.traffic.packets_per_second={1250 * load:g}"
    return sj.load("mm1", sets=[f"duration={seconds} s", f"warm_up={warm_up} s", rate])


def intervals() -> tuple[int, int]:
    """Draw intervals of the M/M/1 mean from single runs, naive and by batch means; return how many cover, of 100."""
    results = sj.run(mm1(LOAD, 210, 10), replicates=100, seed=1, series=sj.ms(20))
    label = results.labels[0]
    naive, batched = [], []
    for replication in range(100):
        part = results.series
        part = part[(part["name"] == "queue_packets") & (part["replication"] == replication) & (part["t_s"] > 10)]
        naive.append(stats.estimate(part["value"].to_numpy()))
        batched.append(results.batch_means(label, replication=replication).estimate)
    covered = [sum((each.low or 0) <= MEAN <= (each.high or 0) for each in found) for found in (naive, batched)]
    with new_figure(WIDTH, 3.4) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        titles = ("10,000 samples as independent", "batch means")
        for axes, found, title, count in zip(panels, (naive, batched), titles, covered, strict=True):
            for place, each in enumerate(found[:50]):
                holds = (each.low or 0) <= MEAN <= (each.high or 0)
                axes.plot([place, place], [each.low, each.high], color=BLUE if holds else RED, linewidth=1.6)
            axes.axhline(MEAN, color=INK, linewidth=1)
            axes.set_title(f"{title}:\n{count} of 100 contain the true mean", fontsize=9.5)
            axes.set_xlabel("run (50 of 100)")
        panels[0].set_ylabel("mean queue (packets)")
    save(figure, "practice-intervals.png")
    return covered[0], covered[1]


def warm_up() -> str:
    """Draw the M/M/1 queue started empty, averaged over replications, and what is made of it; return the warning."""
    results = sj.compare(mm1(0.95, 10, 0), ["pfifo limit 10000p"], replicates=200, seed=2, series=sj.ms(50))
    part = results.series[results.series["name"] == "queue_packets"]
    mean = part.groupby("t_s")["value"].mean()
    one = part[part["replication"] == 0]
    (found,) = [each for each in results.warnings if each.series == "queue_packets"]
    with new_figure(WIDTH, 3.2) as figure:
        axes = figure.add_subplot()
        axes.plot(one["t_s"], one["value"], color=MUTED, linewidth=0.8, alpha=0.7, label="one run")
        axes.plot(mean.index, mean, color=BLUE, label="mean of 200 runs")
        axes.axhline(0.95**2 / 0.05, color=INK, linewidth=1, linestyle=":", label="theory, steady state")
        if found.settled_s is not None:
            axes.axvline(found.settled_s, color=RED, label="MSER-5")
        axes.set_ylim(0, 60)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("packets waiting")
        axes.legend(loc="upper right", fontsize=8.5)
    save(figure, "practice-warm-up.png")
    return found.text


def pairing() -> str:
    """Half-widths of a difference of two schemes, taken as pairs and as if they were not."""
    cases = {
        "M/M/1 at 90 % load, limits of 30 and 20 packets": (mm1(LOAD, 60, 10), "pfifo limit 30p", "pfifo limit 20p"),
        "20 CUBIC flows, CoDel with targets of 5 and 6 ms": (
            sj.load("dumbbell"),
            "codel target 5ms",
            "codel target 6ms",
        ),
    }
    rows = []
    for title, (network, *schemes) in cases.items():
        results = sj.compare(network, schemes, replicates=10, seed=1, series=None)
        ours, theirs = (results.values(label, "sojourn_ms_mean") for label in results.labels)
        # The variance of the difference of two means is the sum of theirs; t with about 2 (n - 1) degrees of freedom.
        apart = stats.quantile_t(18) * float(np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 10))
        found = stats.paired(theirs, ours)
        rows.append([title, f"{found.mean:+.3f} ms", f"±{found.half_width or 0:.3f} ms", f"±{apart:.3f} ms"])
    return table(["mean sojourn time", "difference", "pairs", "no pairs"], rows)


def stopping() -> str:
    """Coverage of intervals that stop a study as soon as they are narrow enough, by the floor on replications."""
    draws = np.random.default_rng(1)
    rows = []
    for floor in (2, 3, 5, 10):
        covered, total = 0, 0
        for _ in range(2000):
            values = draws.normal(10.0, 3.0, 200)
            n = floor
            # Half-width within 15 % of the mean: about 18 replications are needed on average.
            while n < 200 and (stats.estimate(values[:n]).half_width or 0) > 0.15 * values[:n].mean():
                n += 1
            found = stats.estimate(values[:n])
            covered += (found.low or 0) <= 10 <= (found.high or 0)
            total += n
        rows.append([str(floor), f"{total / 2000:.1f}", f"{100 * covered / 2000:.1f} %"])
    return table(["floor", "replications, mean", "covered"], rows)


def practice() -> dict[str, Any]:
    """What the page on simulation practice shows, with its pictures."""
    naive, batched = intervals()
    warning, record = warm_up(), read_record()
    with tempfile.TemporaryDirectory() as folder:
        single = console('sojourn run mm1 --set duration="210 s"', folder, last=2)
        started = console(
            'sojourn compare dumbbell --set warm_up="0 s" --aqm codel --aqm pie --replicates 3 --seed 1', folder
        )
        many = console(
            'sojourn compare dumbbell --aqm codel --aqm "codel target 5.5ms" --aqm "codel target 6ms" '
            '--aqm "codel interval 110ms" --aqm fq_codel --replicates 10',
            folder,
        )
    return {
        "mean": MEAN,
        "naive": naive,
        "batched": batched,
        "warning": warning,
        "pairing": pairing(),
        "single": single,
        "started": started,
        "many": many,
        "stopping": stopping(),
        "coverage": coverage(record),
        "runs": f"{record['runs']:,}",
    }


def tuning() -> dict[str, Any]:
    """What the page on tuning shows, with its pictures."""
    command = (
        "sojourn tune red --scenario dumbbell --train flows=10,20 --vary min=2p..50p --vary max=5p..150p "
        "--vary max_p=0.01..0.5:log --vary w=0.0005..0.1:log --vary 'gentle=on|off' --minimise sojourn_ms_p99 "
        "--maximise goodput_bit_s --holdout flows=5,50 --holdout 'links.bottleneck.rate=5 Mbit/s,50 Mbit/s' "
        "--trials 60 --out tuned"
    )
    sense = (
        "sojourn sensitivity red --scenario dumbbell --set duration='20 s' --set warm_up='5 s' --vary min=5p..20p "
        "--vary max=30p..100p --vary max_p=0.01..0.5:log --vary w --method morris --metric sojourn_ms_p99"
    )
    with tempfile.TemporaryDirectory() as folder:
        printed = console(command, folder)
        tuned = Path(folder) / "tuned"
        found = tune.run(tune.Plan.read(tuned / "tune.toml"), tuned)
        save(picture.front(found), "tune-front.png")
        save(picture.gains(found), "tune-gains.png")
        shell = (tuned / "best.sh").read_text(encoding="utf-8")
        plan = (tuned / "tune.toml").read_text(encoding="utf-8")
        sensitivity = console(sense, folder)
    return {"printed": printed, "shell": shell, "plan": plan, "sensitivity": sensitivity}


def block(text: str, language: str) -> str:
    """The one code block of a page's template in a language, its braces as the page has them."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return found.replace("{{", "{").replace("}}", "}")


def waits() -> str:
    """Delays under CoDel and FQ-CoDel, with one thing changed at a time."""
    cases = []
    for flows, rate, seconds, schemes in (
        (4, 20, 120, ("codel", "fq_codel flows 1", "fq_codel")),
        (20, 20, 60, ("codel", "fq_codel flows 1", "fq_codel", "fq_codel flows 65536", "fq_codel interval 20ms")),
        (1, 1, 60, ("codel",)),
    ):
        net = sj.dumbbell(
            flows=flows,
            rate=sj.mbit_s(rate),
            base_rtt=sj.ms(40),
            duration=sj.s(seconds),
            warm_up=sj.s(20 if seconds > 60 else 12),
        )
        cases += pages.sides(sj.compare(net, list(schemes), replicates=10, seed=1), str(flows), str(rate))

    def drops_s(side: pages.Side) -> Iterable[float]:
        runs = side.results.runs[side.results.runs["scheme"] == side.label]
        found: Iterable[float] = runs["drops_packets"] / runs["measured_s"]
        return found

    return pages.measured(
        ["flows", "Mbit/s", "scheme"],
        cases,
        [
            ("delay (ms)", "sojourn_ms_mean", 1.0, 1),
            ("delay, p99 (ms)", "sojourn_ms_p99", 1.0, 1),
            ("queue, p99 (packets)", "queue_packets_p99", 1.0, 1),
            ("loss (%)", "loss_ratio", 100.0, 2),
            ("drops a second", drops_s, 1.0, 1),
        ],
    )


def tutorial() -> dict[str, Any]:
    """What the tutorial's commands and its program print; the program draws the figure."""
    text = (DOCS / "templates" / "first-comparison.md.in").read_text(encoding="utf-8")
    schemes = '--aqm "pfifo limit 250p" --aqm codel --aqm fq_codel --replicates 10'
    nodes = "--set nodes.sender.count=4 --set nodes.receiver.count=4"
    times = 'duration="120 s" --set warm_up="20 s"'
    with tempfile.TemporaryDirectory() as folder:
        first = console(f"sojourn compare dumbbell {nodes} --set {times} {schemes} --out out/first", folder)
        means = sj.Results.read(Path(folder) / "out" / "first")
        (Path(folder) / "home.toml").write_text(block(text, "toml"), encoding="utf-8")
        own = console(f"sojourn compare home.toml {schemes} --out out/home", folder)
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(compile(block(text, "python"), "tutorial", "exec"), {"__name__": "tutorial"})  # noqa: S102 - our own
        shutil.copyfile(Path(folder) / "two-groups.png", IMAGES / "tutorial-two-groups.png")
    delays = {
        f"first_{key}": f"{means.estimate(label, 'sojourn_ms_mean').mean:.0f}"
        for key, label in zip(("pfifo", "codel", "fq"), means.labels, strict=True)
    }
    # 3 ms and 5 ms of propagation; 228 bytes take 0.0912 ms at 20 Mbit/s and 0.0018 ms at 1 Gbit/s.
    return {
        "first": first,
        "own": own,
        "printed": printed.getvalue(),
        "base": f"{8 + 0.0912 + 0.0018:.2f}",
        "waits": waits(),
        **delays,
    }


PAGES: Pages = {
    "tutorial": ("tutorial/first-comparison.md", tutorial),
    "practice": ("concepts/simulation-practice.md", practice),
    "tune": ("guides/tune.md", tuning),
}


if __name__ == "__main__":
    write_named(PAGES)
