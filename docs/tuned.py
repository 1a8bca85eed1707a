"""The study of the page on tuned dAQM, as tuned.toml fixes it: dAQM, PIE, CoDel and COBALT tuned over many networks.

``docs/tuned.py`` prints the tables of the page and draws its picture. Finished runs are kept in ``out/tuned``, so the
same command continues.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pages import BLUE, DOCS, RED, lines, protocol, save, with_p
from scipy.stats import wilcoxon

from sojourn import stats
from sojourn.base import core
from sojourn.stats import Floats
from sojourn.studies import sensitivity, tune
from sojourn.studies.tune.evaluate import Evaluator
from sojourn.studies.tune.settings import Setting, settings
from sojourn.view.palette import INK
from sojourn.view.plot import WIDTH, new_figure

PROTOCOL = protocol("tuned")
OUT = DOCS.parent / "out/tuned"
NETWORK = str(DOCS / "tuned-network.toml")
DELAY, GOODPUT = "sojourn_ms_p99", "goodput_bit_s"
MEASURES = (DELAY, GOODPUT)
REFERENCE = core.parse_aqm("codel limit 1000p")
JOBS = int(os.environ.get("JOBS", "1"))


def networks() -> tuple[list[str], list[str]]:
    """The drawn networks, as overrides: to learn from, and held out."""
    random = np.random.Generator(np.random.PCG64(PROTOCOL["draw"]))

    def even(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    found = []
    for _ in range(PROTOCOL["training"] + PROTOCOL["held_out"]):
        rate, rtt, flows = even(4, 60), even(10, 160), round(even(2, 40))
        control = ("cubic", "reno")[int(random.integers(2))]
        udp = random.uniform(0.0, 0.2) * rate
        pairs = {
            "links.bottleneck.rate": f"{rate:.1f} Mbit/s",
            "links.bottleneck.delay": f"{rtt / 2 - 2:.1f} ms",
            "nodes.sender.count": str(flows),
            "nodes.receiver.count": str(flows),
            "flows.bulk.transport.congestion_control": control,
            "flows.short.transport.congestion_control": control,
            "flows.udp.traffic.rate": f"{udp * 1000:.0f} kbit/s",
        }
        found.append("; ".join(f"{key}={value}" for key, value in pairs.items()))
    return found[: PROTOCOL["training"]], found[PROTOCOL["training"] :]


def plan_of(scheme: Mapping[str, Any]) -> tune.Plan:
    """What `sojourn tune` is asked for."""
    ranges = [PROTOCOL["ranges"][name] for name in scheme.get("features", ())]
    return tune.Plan(
        scheme=scheme["text"],
        scenario=NETWORK,
        vary=(*ranges, *scheme["vary"]),
        minimise=(DELAY,),
        maximise=(GOODPUT,),
        train=tuple(networks()[0]),
        trials=scheme.get("trials", PROTOCOL["trials"]),
        replications=PROTOCOL["replications"],
        fresh=PROTOCOL["fresh"],
        seed=PROTOCOL["seed"],
    )


@dataclass(frozen=True)
class Judge:
    """Logarithms of the measures relative to CoDel with defaults, a value a network."""

    networks: tuple[Setting, ...]
    evaluator: Evaluator

    @classmethod
    def over(cls, overrides: list[str]) -> Judge:
        """A judge on networks."""
        OUT.mkdir(parents=True, exist_ok=True)
        of = settings(NETWORK, (), overrides, held_out=True)
        return cls(of, Evaluator(of, MEASURES, jobs=JOBS, log=OUT / "judged.jsonl"))

    def means(self, text: str, measure: str) -> Floats:
        """The mean over replications in each network."""
        size = {"seed": PROTOCOL["judge_seed"], "replications": PROTOCOL["fresh"]}
        return np.array([self.evaluator.values([text], each, **size)[0][measure].mean() for each in self.networks])

    def scores(self, text: str, measure: str) -> Floats:
        """The logarithm of a measure over that of the reference, in each network."""
        found: Floats = np.log(self.means(text, measure) / self.means(REFERENCE, measure))
        return found


def chosen(scheme: Mapping[str, Any], judge: Judge) -> str:
    """The parameters that the protocol chooses: on fresh replications of the training networks."""
    found = tune.run(plan_of(scheme), OUT / scheme["id"], jobs=JOBS, progress=False)
    return best([trial.text for trial in found.candidates], judge)


def best(texts: Iterable[str], judge: Judge) -> str:
    """Of some candidates, the one with the least delay among those with enough goodput, else the most goodput."""
    scored = [(*(float(judge.scores(text, measure).mean()) for measure in MEASURES), text) for text in texts]
    able = [one for one in scored if one[1] >= PROTOCOL["least_goodput"]]
    return min(able)[2] if able else max(scored, key=lambda one: one[1])[2]


def without(text: str, feature: str) -> str:
    """A dAQM with one feature switched off."""
    return core.parse_aqm(f"{text} {feature} none")


def change(values: Floats) -> tuple[float, float, float]:
    """A mean of logarithms as a change in per cent, and the ends of its interval."""
    of = stats.estimate(values)
    mean, low, high = (float(100 * np.expm1(value or 0.0)) for value in (of.mean, of.low, of.high))
    return mean, low, high


def shown(values: Floats) -> str:
    """A mean of logarithms as a change in per cent, with its interval."""
    mean, low, high = change(values)
    return f"{mean:+.1f} % [{low:+.1f}, {high:+.1f}]"


def compared(judge: Judge, texts: dict[str, str]) -> list[list[str]]:
    """The protocol's family of tests: rows of what is compared, the measure, the difference and its p value."""
    full = texts["daqm"]
    pairs = [("dAQM minus " + key, full, texts[key]) for key in ("pie", "codel", "cobalt")]
    pairs += [(f"{key} minus dAQM", texts[key], full) for key in ("levels", "sojourn", "derivatives")]
    features = next(one for one in PROTOCOL["scheme"] if one["id"] == "daqm")["features"]
    pairs += [(f"dAQM without {name} minus dAQM", without(full, name), full) for name in features]
    rows = []
    for name, ours, theirs in pairs:
        for measure in MEASURES:
            off = judge.scores(ours, measure) - judge.scores(theirs, measure)
            better = int((off < 0).sum()) if measure == DELAY else int((off > 0).sum())
            row = [name, measure, shown(off), f"{better} of {off.size}"]
            rows.append((row, float(wilcoxon(off).pvalue) if np.any(off) else 1.0))
    return with_p(rows)


def picture(found: Mapping[str, Sequence[tuple[float, float, float]]]) -> None:
    """Draw the change of each measure, with its interval, over the held-out networks: a row a scheme."""
    with new_figure(WIDTH, 3.4) as figure:
        panels = figure.subplots(1, len(MEASURES), sharey=True)
        for panel, (axes, name) in enumerate(zip(panels, ("p99 queueing delay", "goodput"), strict=True)):
            for row, (scheme, changes) in enumerate(found.items()):
                mean, low, high = changes[panel]
                color = RED if scheme.startswith("dAQM") else BLUE
                axes.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", color=color, markersize=5)
            axes.axvline(0, color=INK, linewidth=1)
            axes.set_xlabel(f"{name}, change (%)")
        panels[0].set_yticks(range(len(found)), list(found))
        panels[0].set_ylim(len(found) - 0.5, -0.5)
    save(figure, "tuned.png")


def sobol() -> list[list[str]]:
    """Sobol's indices of dAQM's parameters on the first training network."""
    scheme = next(one for one in PROTOCOL["scheme"] if one["id"] == "daqm")
    plan = plan_of(scheme)
    pairs = tuple(part.strip() for part in networks()[0][0].split(";"))
    found = sensitivity.run(
        plan.scheme,
        NETWORK,
        vary=plan.vary,
        sets=pairs,
        metrics=MEASURES,
        method="sobol",
        samples=PROTOCOL["sobol_samples"],
        replications=1,
        seed=PROTOCOL["seed"],
        jobs=JOBS,
    )
    return [
        [measure, each.name, f"{each.first:.2f} ± {each.first_half:.2f}", f"{each.total:.2f} ± {each.total_half:.2f}"]
        for measure in MEASURES
        for each in sorted(found.indices[measure], key=lambda one: -one.total)
    ]


def main() -> None:
    """Runs the study."""
    learnt, held = networks()
    learning, judge = Judge.over(learnt), Judge.over(held)
    texts = {}
    for one in PROTOCOL["scheme"]:
        texts[one["id"]] = chosen(one, learning)
        print(f"`{texts[one['id']]}`", flush=True)
    defaults = {f"{one['name']}, defaults": core.parse_aqm(one["text"]) for one in PROTOCOL["scheme"][:4]}
    tuned = {one["name"]: texts[one["id"]] for one in PROTOCOL["scheme"]}
    every = {**tuned, **defaults}
    print(lines([name, *(shown(judge.scores(text, one)) for one in MEASURES)] for name, text in every.items()))
    print(lines(compared(judge, texts)), flush=True)
    picture({name: [change(judge.scores(text, measure)) for measure in MEASURES] for name, text in tuned.items()})
    print(lines(sobol()))


if __name__ == "__main__":
    main()
