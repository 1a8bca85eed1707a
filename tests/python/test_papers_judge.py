"""Claims become decisions: every comparison on values whose outcome is known by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from claims import claim
from sojourn.studies import papers
from sojourn.studies.papers import At, Claim, Outcome, Setting, Words, logic
from sojourn.studies.papers.judge import judge

ROWS = ("sojourn_ms_mean", "loss_ratio", "goodput_bit_s")
# Four replications; scatter of mean 0 and standard deviation sqrt(4/3) that all schemes share cancels in pairs.
SHARED = np.array([-1.0, -1.0, 1.0, 1.0])


def setting(one: Claim, means: dict[str, float], words: Words | None = None, **others: dict[str, float]) -> Setting:
    values = {
        metric: {name: mean + SHARED for name, mean in of.items()}
        for metric, of in ({one.metric: means} | others).items()
    }
    return Setting(one.subject, one.against, tuple(means), (At("", values),), words or Words())


def outcome(one: Claim, means: dict[str, float], words: Words | None = None) -> Outcome:
    return judge(one, [setting(one, means, words)], ROWS).outcome


HOLDS, FAILS = Outcome.HOLDS, Outcome.FAILS


@pytest.mark.parametrize(("first", "last"), [(5, 20), (16, 50), (5, 6)])
def test_two_looks_cost_what_whole_samples_say(first: int, last: int) -> None:
    # Normal replications with a mean of zero, decided as claims are; half of the decisions are of one sign.
    samples = np.random.default_rng(3).standard_normal((6_000, last))
    decided = []
    for one in samples:
        early = logic.decide(logic.Sign(one[:first])).truth
        decided.append(early if early is not None else logic.decide(logic.Sign(one)).truth)
    rate = logic.two_looks(first, last)
    # Binomial: sqrt(0.09 x 0.91/6000) = 0.0037.
    assert sum(one is not None for one in decided) / len(decided) == pytest.approx(rate, abs=0.015)
    assert sum(one is True for one in decided) / len(decided) == pytest.approx(rate / 2, abs=0.011)
    # Not less than one look, not more than the sum of two.
    assert 0.05 < rate < 0.1


def test_what_two_looks_cost_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs/concepts/measurement.md").read_text(encoding="utf-8")
    for name in ("daqm", "fairness", "threshold"):
        first, last = (papers.load(name).replications[size] for size in ("quick", "full"))
        assert re.search(rf"^\| {first}, then {last} .*\| {100 * logic.two_looks(first, last):.1f} % \|$", page, re.M)


# The shared scatter cancels in every difference, not in a - 0.9 b: means of 1000 make what is left of it small.
LEVELS = {"a": 1000.0, "b": 1050.0, "c": 1200.0, "d": 2000.0}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (claim("lower", "a", "b c"), HOLDS),
        (claim("lower", "b", "a c"), FAILS),
        (claim("lower", "a b", "c d"), HOLDS),
        # 1000 is 4.8 % below 1050 and 16.7 % below 1200: the margin is 10 %.
        (claim("lower", "a", "b", is_slight=True), HOLDS),
        (claim("lower", "a", "c", is_slight=True), FAILS),
        (claim("higher", "d", "a b c"), HOLDS),
        (claim("higher", "b", "a", is_slight=True), HOLDS),
        (claim("higher", "c", "a", is_slight=True), FAILS),
        (claim("higher", "a", "b", is_slight=True), FAILS),
        (claim("lowest", "a", "b c d"), HOLDS),
        (claim("lowest", "a b", "c d"), HOLDS),
        (claim("lowest", "b", "a c d"), FAILS),
        # The best of b and c does not beat a; that of a and d does.
        (claim("lowest", "b c", "a", is_best_of=True), FAILS),
        (claim("lowest", "a d", "b c", is_best_of=True), HOLDS),
        (claim("lowest", "a d", "b c"), FAILS),
        (claim("highest", "d", "a b c"), HOLDS),
        (claim("highest", "c", "a b d"), FAILS),
        (claim("nth_lowest", "b", "a c d", rank=2), HOLDS),
        (claim("nth_lowest", "b", "a c d", rank=1), FAILS),
        (claim("nth_lowest", "b", "a c d", rank=3), FAILS),
        (claim("among_lowest", "b", "a c d", rank=2), HOLDS),
        (claim("among_lowest", "b", "a c d", rank=3), HOLDS),
        (claim("among_lowest", "c", "a b d", rank=2), FAILS),
        (claim("among_lowest", "b d", "a c", rank=2), FAILS),
        (claim("among_lowest", "b d", "a c", rank=2, is_best_of=True), HOLDS),
        # 1 - 1000/2000 = 0.5.
        (claim("lower_by", "a", "d", amount="45 %", bound="at_least"), HOLDS),
        (claim("lower_by", "a", "d", amount="55 %", bound="at_least"), FAILS),
        (claim("lower_by", "a", "d", amount="54 %", bound="about"), HOLDS),
        (claim("lower_by", "a", "d", amount="60 %", bound="about"), FAILS),
        (claim("lower_by", "a", "d", amount="40 %", bound="about"), FAILS),
        (claim("lower_by", "a", "d", amount="40 % to 60 %", bound="between"), HOLDS),
        (claim("lower_by", "a", "d", amount="51 % to 60 %", bound="between"), FAILS),
        # (1200 - 1000)/2000 = 0.1 of the highest.
        (claim("higher_by", "c", "a", amount="9 %", bound="at_least"), HOLDS),
        (claim("higher_by", "c", "a", amount="15 %", bound="at_least"), FAILS),
        (claim("comparable", "a", "b"), HOLDS),
        (claim("comparable", "b", "a"), HOLDS),
        (claim("comparable", "a", "b c"), FAILS),
        (claim("comparable", "a", "c", is_negated=True), HOLDS),
        (claim("alike", "a b"), HOLDS),
        (claim("alike", "a b c"), FAILS),
        (claim("alike", "a b c", is_negated=True), HOLDS),
        (claim("better", "a", "b c"), HOLDS),
        (claim("better", "d", "b c"), FAILS),
        (claim("best", "a", "b c d"), HOLDS),
        (claim("best", "b", "a c d", is_negated=True), HOLDS),
        # None of the two is the best: but a is.
        (claim("best", "a b", "c d", is_negated=True), FAILS),
        (claim("below", "b", value="1100 packets"), HOLDS),
        (claim("below", "c", value="1100 packets"), FAILS),
        (claim("equals", "a", value="1020 ms"), HOLDS),
        (claim("equals", "a", value="1200 ms"), FAILS),
        # Two of the four are on each side of the median.
        (claim("low", "b"), HOLDS),
        (claim("low", "c"), FAILS),
        (claim("high", "c"), HOLDS),
        (claim("high", "b"), FAILS),
        (claim("unjudgeable", "a", reason="no"), Outcome.UNJUDGEABLE),
        (claim("prettier", "a"), Outcome.NOT_RUN),
    ],
    ids=lambda value: f"{value.comparison}-{'-'.join(value.subject)}" if isinstance(value, Claim) else None,
)
def test_a_comparison_decides_as_by_hand(one: Claim, expected: Outcome) -> None:
    assert outcome(one, LEVELS) == expected


def test_words_are_readings() -> None:
    # 1050 is 4.8 % above 1000, beyond a margin of 2 %; one of four is in the outer third (4 // 3 = 1).
    assert outcome(claim("comparable", "a", "b"), LEVELS, Words(margin=0.02)) == FAILS
    assert outcome(claim("low", "b"), LEVELS, Words(side="third")) == FAILS
    assert outcome(claim("low", "a"), LEVELS, Words(side="third")) == HOLDS
    # (1200 - 1000)/1000 = 0.2 of the other.
    higher = claim("higher_by", "c", "a", amount="15 %", bound="at_least")
    assert outcome(higher, LEVELS, Words(percent="of_other")) == HOLDS


def test_more_goodput_is_better() -> None:
    assert outcome(claim("better", "d", "a b", metric="goodput_bit_s"), LEVELS) == HOLDS
    assert outcome(claim("best", "a", "b c", metric="goodput_bit_s"), LEVELS) == FAILS


def test_no_quantity_named_is_most_of_the_rows() -> None:
    one = claim("better", "a", "b", metric="any")
    rising, falling = {"a": 1000.0, "b": 2000.0}, {"a": 2000.0, "b": 1000.0}

    def of(sojourn: dict[str, float], loss: dict[str, float], goodput: dict[str, float]) -> Setting:
        return setting(one, rising, None, sojourn_ms_mean=sojourn, loss_ratio=loss, goodput_bit_s=goodput)

    # Better in sojourn and loss, worse in goodput: two of three. Then in one of three.
    assert judge(one, [of(rising, rising, rising)], ROWS).outcome == HOLDS
    assert judge(one, [of(rising, falling, rising)], ROWS).outcome == FAILS
    # Not the best in any: best in goodput alone breaks it.
    none = claim("best", "a", "b", metric="any", is_negated=True)
    assert judge(none, [of(falling, falling, rising)], ROWS).outcome == HOLDS
    assert judge(none, [of(falling, falling, falling)], ROWS).outcome == FAILS


def test_equal_values_are_not_lower_but_alike() -> None:
    assert outcome(claim("lower", "a", "b"), {"a": 5.0, "b": 5.0}) == FAILS
    zeros = {"loss_ratio": {"a": np.zeros(4), "b": np.zeros(4)}}
    for comparison, expected in (("comparable", HOLDS), ("lower", FAILS)):
        one = claim(comparison, "a", "b", metric="loss_ratio")
        assert judge(one, [Setting(("a",), ("b",), ("a", "b"), (At("", zeros),))], ROWS).outcome == expected
    for comparison in ("low", "high"):
        one = claim(comparison, "a", metric="loss_ratio")
        assert judge(one, [Setting(("a",), (), ("a", "b"), (At("", zeros),))], ROWS).outcome == FAILS
    # 0 is not 60 % lower than 0: there is nothing to take a share of.
    share = claim("lower_by", "a", "b", metric="loss_ratio", amount="60 %", bound="at_least")
    assert judge(share, [Setting(("a",), ("b",), ("a", "b"), (At("", zeros),))], ROWS).outcome == FAILS
    zero = claim("equals", "a", metric="loss_ratio", value="0")
    assert judge(zero, [Setting(("a",), (), ("a",), (At("", zeros),))], ROWS).outcome == HOLDS
    some = {"loss_ratio": {"a": np.array([0.01, 0.011, 0.012, 0.011])}}
    assert judge(zero, [Setting(("a",), (), ("a",), (At("", some),))], ROWS).outcome == FAILS


def test_undecided_says_how_many_replications_would_decide() -> None:
    # Mean 0.5, s = sqrt((0.25 + 2.25 + 2.25 + 0.25)/3) = 1.291. t(27) s/sqrt(28) = 2.0518 * 0.24398 = 0.5006 is not
    # below 0.5, t(28) s/sqrt(29) = 2.0484 * 0.23973 = 0.4911 is.
    differences = np.array([1.0, -1.0, 2.0, 0.0])
    assert logic.decide(logic.Sign(differences)) == logic.Decision(None, 29)
    assert logic.decide(logic.Sign(np.array([1.0, -1.0]))) == logic.Decision(None, None)
    assert logic.decide(logic.Sign(np.array([1.0]))) == logic.Decision(None, None)
    # The other one decides a conjunction by being false.
    false = logic.Sign(np.array([-3.0, -3.1, -2.9, -3.0]))
    assert logic.decide(logic.every([logic.Sign(differences), false])).truth is False


def test_intervals_are_as_wide_as_their_place_in_the_claim_needs() -> None:
    # t = 3.5 on 3 degrees of freedom: p = 0.039, below 0.05 (t 3.182) and above 0.025 (t 4.177).
    values = SHARED + 3.5 * np.sqrt(4 / 3) / 2
    above, below, open_ = logic.Sign(values), logic.Sign(-values), logic.Sign(SHARED)
    assert logic.decide(above).truth is True
    # Each of two: to be wrong, one that is false must be taken for true, and each alone keeps that below 5 %.
    assert logic.decide(logic.every([above, logic.Sign(values.copy())])).truth is True
    # Any of two, and not each of two: two ways to be wrong, so 2.5 % each. An open one is a way, too.
    assert logic.decide(logic.some([above, open_])).truth is None
    assert logic.decide(logic.every([below, open_])).truth is None
    # At least two of three, both clear: one of two false ones must be taken for true, a / (3 - 2 + 1).
    assert logic.decide(logic.at_least(2, [above, logic.Sign(values.copy()), open_])).truth is None
    clear = [logic.Sign(SHARED + 4.2 * np.sqrt(4 / 3) / 2) for _ in range(2)]
    assert logic.decide(logic.at_least(2, [*clear, open_])).truth is True
    # Constant differences need no test, so they do not count.
    constant = logic.Sign(np.full(4, 2.0))
    assert logic.decide(logic.some([above, logic.Sign(np.full(4, -2.0))])).truth is True
    assert logic.decide(logic.at_least(2, [above, constant, logic.Sign(np.full(4, -2.0))])).truth is True


def test_a_statement_is_decided_wrongly_at_most_once_in_twenty() -> None:
    # Every claim here is as near to being decided wrongly as can be: means of zero where a strict sign is false, and
    # where its contrary would be.
    draw = np.random.default_rng(6)
    statements = {
        "each": (logic.every, [0.0, 9.0, 9.0], False),
        "not each": (logic.every, [1e-9, 1e-9, 1e-9], True),
        "any": (logic.some, [0.0, 0.0, 0.0], False),
        "two of three": (lambda s: logic.at_least(2, s), [0.0, 0.0, 9.0], False),
        "exactly one": (lambda s: logic.exactly(1, s), [9.0, 1e-9, 0.0], False),
        "any of each": (lambda s: logic.some([logic.every(s[:2]), logic.every(s[2:])]), [0.0, 0.0, 0.0, 0.0], False),
    }
    count = 1000
    for name, (of, means, truth) in statements.items():
        wrong = 0
        for _ in range(count):
            signs = [logic.Sign(mean + draw.standard_normal(5)) for mean in means]
            found = logic.decide(of(signs)).truth
            wrong += found is not None and found is not truth
        # Three standard errors of 5 % in 1000: 0.05 + 3 sqrt(0.05 * 0.95 / 1000) = 0.0707.
        assert wrong / count < 0.0707, name
        # And the bound is not kept by never deciding.
        if name == "each":
            assert wrong / count > 0.01


def test_several_conditions_hold_in_each_in_most_or_on_average() -> None:
    one = claim("lower", "a", "b", readings=("across",))
    low, high = {"a": 1000.0, "b": 1100.0}, {"a": 2000.0, "b": 1000.0}

    def over(across: str, *conditions: dict[str, float]) -> Outcome:
        return judge(one, [setting(one, means, Words(across=across)) for means in conditions], ROWS).outcome

    assert over("each", low, low, high) == FAILS
    assert over("most", low, low, high) == HOLDS
    # Normalised to the highest of each: a (0.909 + 0.909 + 1)/3 = 0.939, b (1 + 1 + 0.5)/3 = 0.833.
    assert over("mean", low, low, high) == FAILS
    assert over("mean", low, low) == HOLDS
    # A sentence that is not read so must hold in each.
    plain = claim("lower", "a", "b")
    found = judge(plain, [setting(plain, means, Words(across="most")) for means in (low, low, high)], ROWS)
    assert found.outcome == FAILS


def test_what_is_missing_is_not_run_and_says_what() -> None:
    one = claim("lower", "a", "b")
    assert judge(one, [], ROWS).outcome == Outcome.NOT_RUN
    no_scheme = judge(one, [setting(one, {"a": 1.0})], ROWS)
    assert (no_scheme.outcome, no_scheme.why) == (Outcome.NOT_RUN, "b has not been run")
    other = Setting(("a",), ("b",), ("a", "b"), (At("", {}),))
    assert judge(one, [other], ROWS).why == "sojourn_ms_mean is not measured yet"


def test_an_amount_that_is_none_is_refused() -> None:
    one = claim("lower_by", "a", "b", amount="much", bound="about")
    with pytest.raises(sj.SojournError, match="claim one: amount='much' is not a share"):
        outcome(one, LEVELS)
