"""The settings of a tuning: a document that is checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from sojourn.base import core, foreign, nesting, suggest, toml
from sojourn.base.core import SojournError
from sojourn.model.network import load
from sojourn.model.scheme import Scheme, entry_of
from sojourn.results import metrics
from sojourn.studies.tune import space
from sojourn.studies.tune.evaluate import check_metric
from sojourn.studies.tune.settings import Setting, settings

_LISTS: Final = ("sets", "train", "holdout", "minimise", "maximise", "vary")
_NUMBERS: Final = {"trials": (1, 100_000), "replications": (1, 10_000), "fresh": (2, 10_000), "seed": (0, 2**63)}
PLAN: Final = "tune.toml"
SCENARIO: Final = "scenario.toml"
SAMPLERS: Final = ("tpe", "nsga2", "random")


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric and its better side."""

    name: str
    better: Literal["lower", "higher"]

    @property
    def metric(self) -> metrics.Metric:
        """Its definition."""
        return metrics.find(self.name)

    @property
    def sign(self) -> float:
        """1 where lower is better, -1 where higher is."""
        return 1.0 if self.better == "lower" else -1.0


@dataclass(frozen=True)
class Plan:
    """A tuning.

    Parameters
    ----------
    scheme
        The algorithm, with the parameters that stay as given: ``red`` or ``red gentle limit 200p``.
    scenario
        A file, or the name of a bundled scenario.
    sets
        Overrides of the scenario, ``KEY=VALUE``, everywhere.
    train
        Variants to learn from, ``KEY=A,B``; without, the scenario as written.
    holdout
        Variants that the search never sees, ``KEY=A,B``.
    minimise, maximise
        Metrics; one at least.
    vary
        ``NAME=LOW..HIGH``, ``NAME=LOW..HIGH:log``, ``NAME=A|B``, or a name for its default range.
    trials
        Number of parameter points to try; the first is the scheme as given, where the ranges hold it.
    replications
        Of each trial on each scenario.
    fresh
        Replications of the final comparison, on seeds that the search did not use.
    seed
        Seed of the search and of all runs.
    sampler
        ``tpe`` (tree-structured Parzen estimator), ``nsga2`` or ``random``.

    Raises
    ------
    SojournError
        Anything that cannot be run.
    """

    scheme: str
    scenario: str
    vary: tuple[str, ...]
    minimise: tuple[str, ...] = ()
    maximise: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    train: tuple[str, ...] = ()
    holdout: tuple[str, ...] = ()
    trials: int = 60
    replications: int = 3
    fresh: int = 10
    seed: int = 1
    sampler: str = "tpe"

    def __post_init__(self) -> None:
        for name, (least, greatest) in _NUMBERS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= greatest:
                raise SojournError(f"{name}={value!r} is impossible: allowed are whole numbers {least} to {greatest}")
        if self.sampler not in SAMPLERS:
            raise SojournError(f"sampler={self.sampler!r} is unknown; allowed: {', '.join(SAMPLERS)}")
        if not self.vary:
            raise SojournError("nothing to vary: name a parameter with its range, as in --vary min=5p..50p")
        if not (self.minimise or self.maximise):
            raise SojournError("no objective: name a metric, as in --minimise sojourn_ms_p99")
        twice = [
            name for name in (*self.minimise, *self.maximise) if (*self.minimise, *self.maximise).count(name) > 1
        ]
        if twice:
            raise SojournError(f"the objective {twice[0]} is named twice")
        names = [factor.name for factor in self.factors]
        for name in names:
            if names.count(name) > 1:
                raise SojournError(f"the parameter {name} is varied twice")
        # Scenarios are read here, so that a bad one is found before anything runs.
        labels = [setting.label for setting in self.settings]
        for label in labels:
            if labels.count(label) > 1:
                raise SojournError(f"the scenario `{label}` is there twice: held out means never seen")

    @cached_property
    def base(self) -> str:
        """The scheme as given, in canonical form."""
        return Scheme(self.scheme).canonical

    @cached_property
    def factors(self) -> tuple[space.Factor, ...]:
        """The parameters with their ranges."""
        return tuple(space.parse(Scheme(self.scheme).algorithm, text) for text in self.vary)

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """What to reach, in order."""
        return (
            *(Objective(check_metric(name), "lower") for name in self.minimise),
            *(Objective(check_metric(name), "higher") for name in self.maximise),
        )

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every scenario: those to learn from first."""
        return (
            *settings(self.scenario, self.sets, self.train, held_out=False),
            *settings(self.scenario, self.sets, self.holdout, held_out=True),
        )

    @cached_property
    def rivals(self) -> dict[str, str]:
        """Schemes that the result is compared with: as given, and the algorithm's published presets."""
        algorithm = Scheme(self.scheme).algorithm
        found = {"as given" if self.base != algorithm else "defaults": self.base}
        for preset in entry_of(algorithm)["presets"]:
            try:
                found[f"preset {preset}"] = core.parse_aqm(f"{algorithm} preset {preset}")
            except SojournError:
                # A preset that asks for a parameter beside it is not a scheme by itself.
                continue
        return found

    def to_document(self) -> dict[str, Any]:
        """Return the plan as a document."""
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in document.items()}

    def to_toml(self, **instead: Any) -> str:
        """Return the plan as TOML, which :meth:`read` takes; `instead` replaces what it says."""
        document = {**self.to_document(), **instead}
        return toml.dumps({key: value for key, value in document.items() if value != []})

    def packed(self) -> dict[str, str]:
        """Return the files that hold the plan: ``tune.toml``, and ``scenario.toml`` where the scenario is a file."""
        if not Path(self.scenario).is_file():
            return {PLAN: self.to_toml()}
        plain = [pair for pair in self.sets if pair.partition("=")[0].strip() != "flows"]
        canonical = load(self.scenario, sets=plain).canonical()
        return {PLAN: self.to_toml(scenario=SCENARIO), SCENARIO: toml.dumps(canonical)}

    @classmethod
    def read(cls, file: str | Path, **instead: Any) -> Plan:
        """Read a plan from a TOML file; `instead` replaces what it says.

        A scenario beside the file is meant before one of that name elsewhere. What is no plan is refused.
        """
        try:
            text = foreign.read_text(file)
        except (OSError, UnicodeDecodeError) as error:
            raise SojournError(f"cannot read {str(file)!r}: {getattr(error, 'strerror', error)}") from None
        document = nesting.loads_toml(text, file)
        beside = Path(file).parent / str(document.get("scenario", ""))
        if beside.is_file():
            document["scenario"] = str(beside)
        return cls.from_document({**document, **instead}, str(file))

    @classmethod
    def from_document(cls, document: Mapping[str, Any], source: str = "tuning") -> Plan:
        """Make a plan from a document; unknown or missing keys and values of the wrong kind are refused."""
        known = [field.name for field in fields(cls)]
        for key in document:
            if key not in known:
                raise SojournError(f"{source}: {suggest.unknown('key', key, known)}")
        for key in ("scheme", "scenario", "vary"):
            if key not in document:
                raise SojournError(f"{source}: `{key}` is missing")
        values = dict(document)
        for key in _LISTS:
            given = values.get(key, [])
            if not isinstance(given, list | tuple) or not all(isinstance(text, str) for text in given):
                raise SojournError(f"{source}: {key}={given!r} is not a list of texts")
            values[key] = tuple(given)
        return cls(**values)
