"""Every algorithm decides as its independent model does, event by event, and every algorithm has one.

``SOJOURN_MODEL_EXAMPLES=2000`` plays that many histories an algorithm, other ones at every run.
"""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from sojourn import _native
from sojourn.base.core import parse_aqm

from base import parameters, value
from history import Case, cases, compare
from library import MODELS

EXAMPLES = int(os.environ.get("SOJOURN_MODEL_EXAMPLES", "0"))
REGISTRY = {entry["name"]: entry for entry in json.loads(_native.aqms())}


def test_every_algorithm_has_a_model() -> None:
    missing = set(REGISTRY) - set(MODELS)
    assert not missing, f"write tests/models/NAME.py and its line in tests/models/library.py for {missing}"
    assert set(MODELS) - set(REGISTRY) == set(), "models of nothing"


def play(name: str, text: str, examples: int, seen: Counter[str]) -> None:
    """Play histories under one scheme."""
    model = MODELS[name]

    @settings(
        max_examples=examples,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(model, f"{name} {text}".strip()))
    def run(case: Case) -> None:
        compare(model, case, seen)

    run()


@pytest.mark.parametrize("name", MODELS)
def test_decides_as_its_model(name: str) -> None:
    model = MODELS[name]
    seen: Counter[str] = Counter()
    for text in model.TEXTS:
        play(name, text, max(12, (EXAMPLES or 150) // len(model.TEXTS)), seen)
    # A comparison in which nothing happens says nothing, and one that stops at ties says little.
    missing = {outcome for outcome in model.SEEN if not seen[outcome]}
    assert not missing, f"never happened: {missing} in {seen}"
    # With EXAMPLES the cases are drawn anew, so the share scatters: by three standard errors, 3 % of 1000 cases.
    assert seen["ties"] <= (0.15 if EXAMPLES else 0.1) * seen["cases"], seen
    assert seen["events"] >= 50 * seen["cases"], seen


@pytest.mark.parametrize("name", MODELS)
def test_parameters_and_defaults_are_those_of_the_sources(name: str) -> None:
    model = MODELS[name]
    library = {entry["name"]: value(entry["default"]) for entry in REGISTRY[name]["parameters"]}
    assert library == {key: value(text) for key, text in model.DEFAULTS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_is_varied(name: str) -> None:
    model = MODELS[name]
    varied: set[str] = set()
    presets: set[str] = set()
    plain = vars(parameters(model.DEFAULTS, []))
    for text in model.TEXTS:
        words = text.split()
        if words[:1] == ["preset"]:
            presets.add(words[1])
            words = model.PRESETS[words[1]].split() + words[2:]
        varied |= {key for key, given in vars(parameters(model.DEFAULTS, words)).items() if given != plain[key]}
    assert set(model.DEFAULTS) - varied - set(model.LEFT_OUT) == set()
    # Kernels that do not differ here are one preset under several names.
    known = (presets | set(model.LEFT_OUT)) & set(REGISTRY[name]["presets"])
    left = set(REGISTRY[name]["presets"]) - known
    same = {parse_aqm(f"{name} preset {preset}") for preset in known} if left else set()
    assert {preset for preset in left if parse_aqm(f"{name} preset {preset}") not in same} == set()
