"""The verdict "condition not reached": where nothing happened, a claim neither holds nor fails, in each study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.studies import papers
from sojourn.studies.papers import At, Claim, Outcome, Setting, ledger
from sojourn.studies.papers.judge import judge
from sojourn.studies.papers.shipped.dropping_functions import datasets, document
from synthetic import measure

ROWS = ("queue_packets_mean", "loss_ratio")
# Four replications that differ, so that equality is not that of constants.
SPREAD = np.array([0.0, 1.0, 2.0, 3.0])


def claim(comparison: str, metric: str = ROWS[0], against: tuple[str, ...] = ("b",), **more: str) -> Claim:
    return Claim("one", "1", "Figure 1", "q", ("a",), comparison, metric, against=against, **more)


def place(queue: dict[str, float], loss: float = 0.0, traffic: str = "http", used: float = 1.0) -> Setting:
    schemes = tuple(queue)
    values = {
        "queue_packets_mean": {name: mean * (1 + SPREAD / 100) for name, mean in queue.items()},
        "loss_ratio": dict.fromkeys(schemes, loss * (1 + SPREAD)),
        "utilisation": dict.fromkeys(schemes, used + 0 * SPREAD),
    }
    return Setting(("a",), ("b",), schemes, (At("", values),), traffic=(traffic,))


@pytest.mark.parametrize(
    ("where", "expected", "why"),
    [
        # The same values in every replication: neither lower nor "comparable" says anything.
        (place({"a": 5.0, "b": 5.0}, 0.1), Outcome.NOT_REACHED, "all schemes are equal in every replication"),
        # 0.001 and 0.002 packets differ, but below 0.01 nothing waits, and nothing is lost.
        (place({"a": 0.001, "b": 0.002}), Outcome.NOT_REACHED, "the queue is empty"),
        # Such a queue that loses packets (a policer) is a result.
        (place({"a": 0.001, "b": 0.002}, 0.1), Outcome.HOLDS, ""),
        # Half a packet on a link that is used to 30 % is no load; on one that is used to 60 % it is.
        (place({"a": 0.4, "b": 0.5}, used=0.3), Outcome.NOT_REACHED, "the link is not loaded"),
        (place({"a": 0.4, "b": 0.5}, used=0.6), Outcome.HOLDS, ""),
        (place({"a": 5.0, "b": 9.0}), Outcome.HOLDS, ""),
        # One of the schemes keeps the queue empty where another does not: that is what it is for.
        (place({"a": 0.0, "b": 9.0}), Outcome.HOLDS, ""),
        (place({"a": 9.0, "b": 5.0}), Outcome.FAILS, ""),
    ],
)
def test_where_nothing_happens_nothing_is_decided(where: Setting, expected: Outcome, why: str) -> None:
    found = judge(claim("lower"), [where], ROWS)
    assert (found.outcome, found.why) == (expected, why)
    assert judge(claim("comparable"), [where], ROWS).outcome in (expected, Outcome.FAILS)


def test_a_claim_is_judged_where_something_happens() -> None:
    quiet, loud, against = place({"a": 0.0, "b": 0.0}), place({"a": 5.0, "b": 9.0}), place({"a": 9.0, "b": 5.0})
    # Points of the same traffic: those that show something decide.
    assert judge(claim("lower"), [quiet, loud], ROWS).outcome is Outcome.HOLDS
    assert judge(claim("lower"), [quiet, against], ROWS).outcome is Outcome.FAILS
    # Of two kinds of traffic one shows nothing: it can refute, not confirm.
    ftp = replace(quiet, traffic=("ftp",))
    found = judge(claim("lower"), [ftp, loud], ROWS)
    assert (found.outcome, found.why) == (
        Outcome.NOT_REACHED,
        "all schemes are equal in every replication, and it holds elsewhere",
    )
    assert judge(claim("lower"), [ftp, against], ROWS).outcome is Outcome.FAILS


def test_a_value_alone_needs_no_load() -> None:
    empty = place({"a": 0.0, "b": 0.0})
    assert judge(claim("below", against=(), value="1 packet"), [empty], ROWS).outcome is Outcome.HOLDS
    assert judge(claim("equals", "loss_ratio", (), value="0"), [empty], ROWS).outcome is Outcome.HOLDS
    # A target of 20 packets is one for a queue that fills.
    assert judge(claim("equals", against=(), value="20"), [empty], ROWS).outcome is Outcome.NOT_REACHED


@pytest.mark.parametrize(
    ("study", "condition", "one"),
    [
        ("daqm", "http-cbr", "fig6a-c2-delay-lowest"),
        ("fairness", "wlan", "abstract-codel-jain-lowest"),
        ("threshold", "linux-reno-100-ms", "s63-throughput-alike-in"),
    ],
)
def test_each_study_has_the_verdict(study: str, condition: str, one: str) -> None:
    whole = papers.load(study)
    paper = replace(whole, readings=whole.readings[:1])
    flows = {of for claim in paper.claims if claim.id == one for of in (*claim.flow, *claim.instead_flow)}
    run = [of for of in paper.conditions if of.name == condition or (study == "threshold" and of.at == "100 ms")]
    assert flows <= {of.flow for of in run}
    measured = measure(paper, run)
    base = paper.readings[0].name
    assert ledger.make(paper, measured).verdicts[one][base].outcome in (Outcome.HOLDS, Outcome.FAILS)
    for of in measured.raw.values():
        for name in of:
            if name.split()[-1].partition("@")[0] in ROWS:
                of[name] = dict.fromkeys(of[name], 0 * SPREAD)
    found = ledger.make(paper, measured)
    assert found.verdicts[one][base].outcome is Outcome.NOT_REACHED
    assert found.verdicts[one][base].said == "condition not reached: the queue is empty"


def test_a_load_that_no_window_has_is_not_reached() -> None:
    paper = document.load("dropping-functions")
    schemes = [one.id for one in paper.study]
    metrics = {claim.metric for claim in paper.claims} | {row.metric for row in paper.rows}
    values = {metric: {scheme: k + SPREAD for k, scheme in enumerate(schemes)} for metric in metrics}
    # The device reached loads of up to 0.92 only: nothing is known at load 1.
    world = datasets.World("device", {paper.centres[0]: values}, values)
    judged = datasets.judge_all(paper, [world])
    assert judged["s2-dropping-queue-50"][0].verdict.outcome is Outcome.NOT_REACHED
    assert judged["fig4-none-queue-twice"][0].verdict.outcome in (Outcome.HOLDS, Outcome.FAILS)
