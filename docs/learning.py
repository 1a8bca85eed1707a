"""Trains small agents with `sojourn.gym`, tests them on networks that they were not trained on, and writes the guide.

``docs/learning.py`` does all of it, in about five minutes of CPU time. ``docs/learning.py NAME...`` trains and tests
only the named studies, and keeps the others in docs/learning.json. ``docs/learning.py --smoke`` does a very small one
of each and writes nothing. The results depend on the seeds alone, not on the number of threads.

Networks, rewards, observations and the amount of training were fixed before the first results on the test networks.
The tables show what came out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pages import DOCS, table, write

import sojourn as sj
from sojourn import gym, stats
from sojourn.base.processors import cores
from sojourn.gym.search import Policy
from sojourn.studies import papers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers" / "daqm"))
from daqm import model, traffic

RESULTS = DOCS / "learning.json"
BASELINES = ("pie", "codel", "fq_codel")
#: What tables show besides the reward. An evaluation observes these behind what the agent sees.
SUMS = (
    "sojourn_ms_mean * departures_packets",
    "departures_packets",
    "drops_packets",
    "arrivals_packets",
    "utilisation",
)
SEEN = (*gym.OBSERVATIONS, "action_0")
STEPS_MS = 100
ROUNDS, CANDIDATES, EPISODES = 10, 12, 8
TRAIN_SEED, TEST_SEED = 1, 1000


@dataclass(frozen=True)
class Study:
    """An agent, where it learns and where it is tested."""

    title: str
    action: gym.Action
    scheme: str | None
    baselines: tuple[str, ...]
    observations: tuple[str, ...]
    reward: str
    train: tuple[sj.Network, ...]
    test: tuple[sj.Network, ...]
    replications: int
    step_ms: int = STEPS_MS
    first_seed: int = TEST_SEED
    rounds: int = ROUNDS
    candidates: int = CANDIDATES
    episodes: int = EPISODES


def drawn(
    count: int, seed: int, *, rates: tuple[float, float], rtts: tuple[float, float], flows: tuple[int, int]
) -> tuple[sj.Network, ...]:
    """Draw dumbbells: capacity (Mbit/s), base RTT (ms) and number of flows, log-uniform between bounds."""
    random = np.random.default_rng(seed)

    def one(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    return tuple(
        sj.dumbbell(
            flows=round(one(*flows)),
            rate=sj.mbit_s(round(one(*rates), 2)),
            base_rtt=sj.ms(round(one(*rtts), 1)),
            duration=sj.s(13),
            warm_up=sj.s(3),
        )
        for _ in range(count)
    )


def studies() -> dict[str, Study]:
    """Return every study."""
    train = drawn(24, 11, rates=(5, 40), rtts=(10, 100), flows=(2, 20))
    # Others, and from a wider range than the agent knows.
    test = drawn(12, 12, rates=(3, 80), rtts=(5, 200), flows=(1, 50))
    pie = gym.parameters(
        target=(sj.ms(2), sj.ms(50)), alpha=("0.02Hz", "2Hz"), beta=("0.2Hz", "20Hz"), log=["target", "alpha", "beta"]
    )
    paper = papers.load("daqm")
    adaptive = model.load(paper).adaptive
    of_thesis = (traffic.network(adaptive),)
    return {
        "pie": Study(
            "PIE's target, alpha and beta, set every 100 ms", pie, "pie", BASELINES,
            (*SEEN, "internal_drop_probability * 10"), gym.REWARD, train, test, 4,
        ),
        "probability": Study(
            "a drop probability, set every 100 ms", gym.probability(1e-4, 0.3, log=True), None, BASELINES,
            SEEN, gym.REWARD, train, test, 4,
        ),
        "thesis": Study(
            "the target of PIE, set every 500 ms", gym.parameters(target=(sj.ms(1), sj.ms(100)), log=["target"]),
            paper.texts["pie"], tuple(paper.texts[name] for name in ("pie", "cobalt", "codel", "fq_codel")),
            ("s0/50", "s1/5", "s2/5", "s3/5", "q0/50", "q1/5", "q2/5", "q3/5"),
            # That of papers/daqm/future.toml, equal weights: where nothing left and packets wait, the delay is 1.
            "goodput_bit_s / 10e6 - min(1, loss_ratio)"
            " - max(min(1, sojourn_ms_mean/100), (departures_packets < 0.5) * (backlog_packets > 0))",
            of_thesis, of_thesis, 40, step_ms=500, first_seed=adaptive.evaluate_seed,
        ),
    }  # fmt: skip


def constant(study: Study) -> Study:
    """The same agent without observations: the best constants that the same search finds."""
    return replace(study, observations=("0",))


def learn(study: Study) -> Policy:
    """Train an agent."""
    episodes = gym.Episodes(
        study.train, action=study.action, scheme=study.scheme, observations=study.observations, reward=study.reward,
        step=sj.ms(study.step_ms), count=study.episodes, threads=cores(),
    )  # fmt: skip
    return gym.search(
        episodes,
        rounds=study.rounds,
        candidates=study.candidates,
        seed=TRAIN_SEED,
        progress=lambda number, reward: print(f"  round {number}: {reward:.4f}", flush=True),
    )


def tested(study: Study, policy: Policy | None, scheme: str | None) -> dict[str, list[float]]:
    """Play every test network with every replication: what each episode gives."""
    action = study.action if policy is not None else gym.schemes(str(scheme))
    width = len(study.observations)
    seen = study.observations if policy is not None else ("0",) * width
    episodes = gym.Episodes(
        study.test, action=action, scheme=scheme, observations=(*seen, *SUMS),
        reward=study.reward, step=sj.ms(study.step_ms), count=study.replications, threads=cores(),
    )  # fmt: skip
    found: dict[str, list[float]] = {"reward": [], "sojourn_ms": [], "loss_ratio": [], "utilisation": []}
    for number in range(len(study.test)):
        episodes.begin([(k, number, study.first_seed + k) for k in range(study.replications)])
        rewards, sums, steps = np.zeros(study.replications), np.zeros((study.replications, len(SUMS))), 0
        while not episodes.ended.any():
            given = policy(episodes.observations[:, :width]) if policy else np.zeros((study.replications, 1))
            episodes.step(given)
            rewards += episodes.rewards
            sums += episodes.observations[:, width:]
            steps += 1
        found["reward"] += (rewards / steps).tolist()
        found["sojourn_ms"] += (sums[:, 0] / np.maximum(sums[:, 1], 1)).tolist()
        found["loss_ratio"] += (sums[:, 2] / np.maximum(sums[:, 3], 1)).tolist()
        found["utilisation"] += (sums[:, 4] / steps).tolist()
    return found


def run(name: str, study: Study) -> dict[str, Any]:
    """Train and test an agent, the same without observations, and the baselines."""
    print(name, flush=True)
    policies = {"learnt": learn(study)}
    print(f"{name}, constants", flush=True)
    policies["constant"] = learn(constant(study))
    rows = {
        "learnt": tested(study, policies["learnt"], study.scheme),
        "constant": tested(constant(study), policies["constant"], study.scheme),
        **{scheme: tested(study, None, scheme) for scheme in study.baselines},
    }
    return {
        "title": study.title,
        "networks": len(study.test),
        "replications": study.replications,
        "weights": {key: np.round(policy.weights, 6).tolist() for key, policy in policies.items()},
        "constant": constants(policies["constant"]),
        "rows": {
            scheme: {key: np.round(values, 6).tolist() for key, values in row.items()} for scheme, row in rows.items()
        },
    }


def constants(policy: Policy) -> list[float]:
    """Return the constant action, from -1 to 1."""
    return [round(float(value), 4) for value in policy(np.zeros((1, 1)))[0]]


def by_network(result: dict[str, Any], row: dict[str, list[float]], metric: str) -> stats.Floats:
    """Return what an interval is over: each network's mean over its replications; of one network, its episodes."""
    values = np.asarray(row[metric]).reshape(result["networks"], result["replications"])
    return values.mean(axis=1) if result["networks"] > 1 else values[0]


def beside(result: dict[str, Any], names: dict[str, str], baseline: str) -> str:
    """Write a table: reward, its paired difference from a baseline, delay, loss and utilisation."""
    rows = []
    base = by_network(result, result["rows"][baseline], "reward")
    for scheme, title in names.items():
        row = result["rows"][scheme]
        reward = by_network(result, row, "reward")
        difference = "–" if scheme == baseline else _interval(stats.paired(reward, base))
        rest = [
            f"{scale * np.mean(by_network(result, row, metric)):.{digits}f}"
            for metric, scale, digits in (("sojourn_ms", 1, 1), ("loss_ratio", 100, 2), ("utilisation", 100, 1))
        ]
        rows.append([title, _interval(stats.estimate(reward)), difference, *rest])
    head = ["scheme", "reward", f"minus {names[baseline]}", "delay (ms)", "loss (%)", "utilisation (%)"]
    return table(head, rows).rstrip("\n")


def _interval(estimate: stats.Estimate) -> str:
    mean = f"{estimate.mean:+.3f}".replace("-", "−").replace("+", "")
    return mean if estimate.half_width is None else f"{mean} ± {estimate.half_width:.3f}"


def values(results: dict[str, Any]) -> dict[str, str]:
    """What the guide shows."""
    own = {"pie": "PIE", "codel": "CoDel", "fq_codel": "FQ-CoDel"}
    texts: dict[str, str] = {}
    for name, learnt in (("pie", "PIE, learnt policy"), ("probability", "drop probability, learnt policy")):
        result = results[name]
        names = {"learnt": learnt, "constant": f"{learnt.partition(',')[0]}, learnt constants", **own}
        texts[name] = beside(result, names, "pie")
    result, schemes = results["thesis"], studies()["thesis"].baselines
    names = {"learnt": "PIE, learnt policy", "constant": "PIE, learnt constant target"}
    names |= dict(zip(schemes, ("PIE", "COBALT", "CoDel", "FQ-CoDel"), strict=True))
    texts["thesis"] = beside(result, names, schemes[0])
    texts["constants"] = f"{result['constant'][0]:.2f}"
    texts["target"] = f"{100 ** ((result['constant'][0] + 1) / 2):.1f}"
    return texts


def smoke() -> None:
    """A very small one of each study."""
    for name, study in studies().items():
        nets = study.train[:1] if name == "thesis" else drawn(1, 1, rates=(5, 5), rtts=(20, 20), flows=(2, 2))
        tiny = replace(study, train=nets, test=nets, replications=2, rounds=1, candidates=2, episodes=1)
        result = run(name, tiny)
        if not all(np.isfinite(row["reward"]).all() for row in result["rows"].values()):
            raise SystemExit(f"{name}: a reward is not finite")


def main(names: Sequence[str] = ()) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="*", help="only these")
    parser.add_argument("--smoke", action="store_true", help="a very small one of each; writes nothing")
    parser.add_argument("--page", action="store_true", help="only write the page from what is kept")
    options = parser.parse_args(list(names) or None)
    if options.smoke:
        smoke()
        return
    for name in [] if options.page else options.study or list(studies()):
        result = run(name, studies()[name])
        # Read again: several may run at a time.
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(kept | {name: result}, indent=1) + "\n", encoding="utf-8")
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    if set(kept) >= set(studies()):
        write("guides/learning.md", values(kept))


if __name__ == "__main__":
    main()
