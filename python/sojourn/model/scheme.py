"""Schemes: an algorithm with its parameters, as tc writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from sojourn.base import core, suggest
from sojourn.base.errors import SchemeError, SojournError
from sojourn.base.units import Quantity, as_text
from sojourn.base.wording import one_line

DEFAULT_SCHEMES: Final = (
    "pfifo",
    "red",
    "pie",
    "codel",
    "fq_codel",
    "cobalt",
    "daqm preset c2 interarrival measured",
)
"""What a comparison compares when nothing is named: one scheme of every family."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a scheme with the value that it runs with."""

    name: str
    value: str
    is_default: bool


@dataclass(frozen=True)
class Scheme:
    """An algorithm with its parameters.

    Parameters
    ----------
    text
        As tc writes it: ``codel target 5ms interval 100ms``; empty for the queues as the scenario has them.
    label
        The name in tables and pictures; by default the text.

    Raises
    ------
    SojournError
        Unknown algorithm or parameter, missing unit, impossible value.

    Examples
    --------
    >>> Scheme("codel   target 5ms").label
    'codel target 5ms'
    """

    text: str
    label: str = ""
    canonical: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        text = " ".join(self.text.split())
        # Refuses and warns of what was written.
        canonical = _canonical(text)
        text = _with_present_presets(text, unversioned(canonical.partition(" ")[0]))
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "label", self.label or unversioned(text) or "as written")
        if why := one_line(self.label):
            raise SchemeError(f"the label {self.label!r} {why}")
        object.__setattr__(self, "canonical", canonical)

    @property
    def algorithm(self) -> str:
        """The algorithm's name in configuration: ``fq_codel``."""
        return unversioned(self.canonical.partition(" ")[0])

    @property
    def exact(self) -> str:
        """The text, with the version of an algorithm that a user added."""
        return self.canonical if "@" in self.canonical else self.text

    @property
    def title(self) -> str:
        """The algorithm's name in prose: ``FQ-CoDel``."""
        return str(entry_of(self.algorithm).get("title", self.algorithm))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return every parameter with the value that it runs with, defaults included."""
        given = _given(self.canonical)
        known = {str(p["name"]): _shown(p["default"]) for p in entry_of(self.algorithm).get("parameters", ())}
        extra = [Parameter(name, value, False) for name, value in given.items() if name not in known]
        return (
            *extra,
            *(Parameter(name, given.get(name, default), name not in given) for name, default in known.items()),
        )

    def __str__(self) -> str:
        return self.text


class HasScheme(Protocol):
    """What stands for a scheme: an instance of :class:`sojourn.Algorithm`."""

    @property
    def scheme(self) -> Scheme:
        """The scheme."""


SchemeLike: TypeAlias = Scheme | str | HasScheme
Schemes: TypeAlias = Sequence[SchemeLike] | Mapping[str, SchemeLike]


def aqm(name: str, *, label: str = "", **parameters: Quantity | timedelta | str | bool | float | None) -> Scheme:
    """Build a scheme from an algorithm's name and its parameters.

    Parameters
    ----------
    name
        The algorithm: one of ``sojourn list aqms``.
    label
        The name in tables and pictures; by default the text.
    **parameters
        Values by the algorithm's own names. Quantities with a unit are ``sj.ms(5)`` or text;
        True switches a flag on, False off, None leaves a parameter alone.

    Raises
    ------
    SojournError
        Unknown algorithm or parameter, missing unit, impossible value.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.aqm("codel", target=sj.ms(5)).text
    'codel target 5ms'
    """
    words = [name]
    for key, value in parameters.items():
        if value is None:
            continue
        if isinstance(value, bool):
            words.append(key if value else f"no{key}")
            continue
        words.append(key)
        is_quantity = isinstance(value, Quantity | timedelta)
        text = as_text(key, value, "time") if isinstance(value, timedelta) else str(value)
        text = _compact(text) if is_quantity else text
        # A formula may have blanks outside of parentheses.
        words.append(f'"{text}"' if key == "formula" and " " in text else text)
    return Scheme(" ".join(words), label)


def as_schemes(schemes: Schemes) -> tuple[Scheme, ...]:
    """Check a list of schemes, or a mapping of labels to schemes: at least one, and no label twice."""
    if isinstance(schemes, str | Scheme):
        raise TypeError("schemes must be a list of schemes, or a mapping of labels to schemes")
    if isinstance(schemes, Mapping):
        made = tuple(replace(as_scheme(scheme), label=label) for label, scheme in schemes.items())
    else:
        made = tuple(as_scheme(scheme) for scheme in schemes)
    if not made:
        raise SchemeError("no schemes to compare: name at least one")
    labels = [scheme.label for scheme in made]
    for label in labels:
        if labels.count(label) > 1:
            raise SchemeError(f"the scheme `{label}` is named twice: a comparison needs different schemes")
    return made


def _canonical(text: str) -> str:
    """Return a canonical text; that of results of a user's algorithm, which is not loaded, stays as it is."""
    try:
        return core.parse_aqm(text) if text else ""
    except SojournError:
        name, _, _ = text.partition(" ")
        if re.fullmatch(r"(?:fq:)?\w+@[0-9a-f]{12}", name) and not _is_algorithm(unversioned(name)):
            return text
        raise


def _with_present_presets(text: str, algorithm: str) -> str:
    """Return a text whose preset has its present name: what is recorded says which kernel `linux` was."""
    former = entry_of(algorithm).get("former_presets", {})
    return re.sub(r"(?<=\bpreset )\S+", lambda name: str(former.get(name[0], name[0])), text)


def as_scheme(scheme: SchemeLike) -> Scheme:
    """Return the scheme that a text or an instance of :class:`sojourn.Algorithm` stands for."""
    if isinstance(scheme, Scheme):
        return scheme
    return Scheme(scheme) if isinstance(scheme, str) else scheme.scheme


def unversioned(text: str) -> str:
    """Return a text without the version of an algorithm that a user added.

    Examples
    --------
    >>> unversioned("fq:my_pie@5f1d83a90c42 target 10ms")
    'fq:my_pie target 10ms'
    """
    return re.sub(r"^((?:fq:)?\w+)@\w+", r"\1", text)


def labelled(text: str) -> Scheme:
    """Return a scheme from ``LABEL=SCHEME`` or ``SCHEME``, as options of commands have them.

    Examples
    --------
    >>> labelled("strict=codel target 1ms").label
    'strict'
    """
    label, _, own = text.rpartition("=")
    return Scheme(own, label.strip())


def with_parameters(scheme: Scheme, parameters: Mapping[str, str | float | bool]) -> Scheme:
    """Return a scheme with some parameters changed, under the same label.

    Examples
    --------
    >>> with_parameters(Scheme("codel target 5ms ecn"), {"target": "10 ms"}).text
    'codel ecn target 10ms'
    """
    if not parameters:
        return scheme
    known = {str(p["name"]) for p in entry_of(scheme.algorithm).get("parameters", ())}
    for name in parameters:
        if name not in known and name != "preset":
            raise SchemeError(f"{scheme.algorithm}: {suggest.unknown('parameter', name, sorted(known))}")
    words = [scheme.canonical.partition(" ")[0]]
    kept = {name: value for name, value in _given(scheme.text).items() if name not in parameters}
    for name, value in {**kept, **parameters}.items():
        # 1 is a number, though it equals True.
        if value is True or value == "on":
            words.append(name)
        elif value is False or value == "off":
            words.append(f"no{name}")
        else:
            words += [name, str(value) if name in kept else _compact(str(value))]
    return Scheme(" ".join(words), scheme.label)


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return labels short enough for a picture: the algorithm and the parameters that differ.

    Schemes of one algorithm keep the parameters in which they differ. A scheme that is the only one of its algorithm
    keeps those that are not the defaults, except where all schemes that have such a parameter agree in it. A label
    that is not a scheme's text stays as it is.

    Examples
    --------
    >>> short_labels(["codel target 5ms", "pie target 20ms"])
    {'codel target 5ms': 'codel', 'pie target 20ms': 'pie target 20ms'}
    >>> short_labels(["red min 5p max 15p limit 100p", "red min 9p max 27p limit 100p", "pfifo limit 100p"])
    {'red min 5p max 15p limit 100p': 'red min 5p max 15p', 'red min 9p max 27p limit 100p': 'red min 9p max 27p', \
'pfifo limit 100p': 'pfifo'}
    """
    known = {label: found for label in labels if (found := _parsed(label)) is not None}
    short = {}
    for label, scheme in known.items():
        values = {parameter.name: parameter for parameter in scheme.parameters()}
        others = [
            {parameter.name: parameter.value for parameter in other.parameters()}
            for name, other in known.items()
            if name != label
        ]
        same = [other for name, other in known.items() if name != label and other.algorithm == scheme.algorithm]
        beside = [{parameter.name: parameter.value for parameter in other.parameters()} for other in same] or others
        words = [scheme.algorithm]
        for name, parameter in values.items():
            agree = all(other.get(name, parameter.value) == parameter.value for other in beside)
            shared = bool(same) or any(name in other for other in others)
            if (same and agree) or (not same and (parameter.is_default or (agree and shared))):
                continue
            words += {"on": [name], "off": [f"no{name}"]}.get(parameter.value, [name, parameter.value])
        short[label] = " ".join(words)
    texts = {label: short.get(label, label) for label in labels}
    # Two of one label would be one line of a legend.
    counts = [*texts.values()]
    return {label: text if counts.count(text) == 1 else label for label, text in texts.items()}


def _parsed(label: str) -> Scheme | None:
    head, _, _ = label.partition(" ")
    if not _is_algorithm(head):
        return None
    try:
        return Scheme(label)
    except SojournError:
        return None


def entry_of(name: str) -> core.Document:
    """Return what the library says of an algorithm; nothing of an unknown one."""
    return next((entry for entry in core.aqms() if entry["name"] == name), {})


def _is_algorithm(name: str) -> bool:
    return bool(entry_of(name))


def _given(text: str) -> dict[str, str]:
    """Split a canonical text into its parameters and their values; a flag has the value ``on`` or ``off``."""
    name, *words = unversioned(text).split() or [""]
    known = {str(p["name"]) for p in entry_of(name).get("parameters", ())} | {"preset"}
    values: dict[str, list[str]] = {}
    flags = {f"no{p['name']}": str(p["name"]) for p in entry_of(name).get("parameters", ()) if p["kind"] == "flag"}
    current: list[str] = []
    for word in words:
        if word in flags:
            values[flags[word]] = ["off"]
        elif word in known:
            current = values.setdefault(word, [])
        else:
            current.append(word)
    return {key: " ".join(value) or "on" for key, value in values.items()}


def _shown(default: object) -> str:
    return {"None": "none", "true": "on", "false": "off"}.get(str(default), str(default))


def _compact(text: str) -> str:
    """Write a quantity as tc does, in one word: ``5ms``, ``10Mbit/s``, ``100p``."""
    return re.sub(r"\s+", "", re.sub(r"(?<=[0-9])\s*packets", "p", text))
