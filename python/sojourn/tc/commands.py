"""The commands of tc that install a scheme on a device."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Final

from sojourn.base.core import SojournError
from sojourn.base.errors import SchemeError
from sojourn.model.scheme import Scheme, SchemeLike, as_scheme
from sojourn.tc import red, values
from sojourn.tc.kinds import KINDS, NEAREST, Kind, Switch, Value

_DEFAULT_RATE: Final = 10_000_000
"""What tc takes for RED's idle times where no rate is given (tc-red(8))."""

_JIFFY_NS: Final = 4_000_000
"""In which PIE's period is held (Debian's kernels)."""


PLACEHOLDER: Final = "DEV"
"""Stands for the interface where none is named."""


def commands(scheme: SchemeLike, *, dev: str | None = None, rate: str | None = None) -> list[str]:
    """Return the commands that install a scheme on a device of Linux.

    Parameters
    ----------
    scheme
        A scheme that Linux has: its text as tc writes it, or a whole line of tc.
    dev
        The network interface: ``eth0``. By default the one that a whole line of tc names, else the word ``DEV``,
        which a comment asks the reader to replace.
    rate
        Bit rate to shape to, by an HTB class above the scheme, or by CAKE itself; by default no shaping.

    Returns
    -------
    Lines for a shell. Comments among them say where Linux's behaviour or granularity differs from the scheme's, and
    which words of the text are repeated although the simulator gives them no effect.

    Raises
    ------
    SojournError
        If Linux does not have the algorithm, or not with these parameters (the message names the nearest that it
        has), or if the scheme and `rate` name two different rates.

    Examples
    --------
    >>> commands("codel target 10ms", dev="eth0")[-1]
    'tc qdisc replace dev eth0 root codel limit 1000 target 10ms interval 100ms noecn'
    """
    scheme = as_scheme(scheme)
    line = _place(scheme.text)
    named = line.pop("dev", None) if dev is None else dev
    if named is not None and not re.fullmatch(r"[A-Za-z0-9_.:@-]{1,15}", named):
        raise SchemeError(f"dev={named!r} is not the name of a network interface")
    device = named or PLACEHOLDER
    bit_s = None if rate is None else values.rate(rate)
    if not scheme.text:
        raise SchemeError("no scheme to export: name one, as in `codel target 10ms`")
    kind = scheme.algorithm
    if kind not in KINDS:
        has = ", ".join(KINDS)
        raise SchemeError(
            f"Linux has no `{kind}`; the nearest that it has is `{NEAREST.get(kind, 'fq_codel')}` (it has: {has})"
        )
    export = _Export(scheme, bit_s)
    options = export.words()
    if named is None:
        export.notes.insert(0, f"replace {PLACEHOLDER} with the name of the interface, or give it with --dev")
    if line := {word: value for word, value in line.items() if word != "dev"}:
        left = " ".join(f"{word} {value}" for word, value in line.items())
        export.notes.append(f"`{left}` of the given line is left out: the commands below say where the qdisc goes")
    shaper = kind == "cake"
    if bit_s is None or shaper:
        lines = [f"tc qdisc replace dev {device} root {kind} {options}"]
    else:
        lines = [
            f"tc qdisc replace dev {device} root handle 1: htb default 10",
            f"tc class replace dev {device} parent 1: classid 1:10 htb rate {bit_s}bit ceil {bit_s}bit quantum 1514",
            f"tc qdisc replace dev {device} parent 1:10 handle 10: {kind} {options}",
        ]
    return [*(f"# {note}" for note in export.notes), *lines]


def _place(text: str) -> dict[str, str]:
    """Return where a whole line of tc puts its qdisc: device, parent, handle."""
    words = text.split()
    kinds = [place for place, word in enumerate(words) if word in KINDS]
    head = words[: kinds[0]] if kinds else []
    return {word: value for word, value in pairwise(head) if word in ("dev", "parent", "handle") and value != "root"}


class _Export:
    """Translates one scheme into tc's words."""

    def __init__(self, scheme: Scheme, bit_s: int | None) -> None:
        self.kind = scheme.algorithm
        self.given = scheme.parameters()
        self.parameters = {parameter.name: parameter.value for parameter in self.given}
        self.text = scheme.text.split()
        self.bit_s = bit_s
        self.notes: list[str] = []

    def words(self) -> str:
        kind = KINDS[self.kind]
        self._fixed(kind)
        words: list[str] = []
        for option in kind.options:
            words += self._switch(option) if isinstance(option, Switch) else self._value(option)
        if self.kind in {"red", "choke"}:
            words += [*self._average(), "bandwidth", self._idle_rate()]
        if self.kind == "sfq" and self.parameters["max"] != "none":
            words += self._red_of_queues()
        words += self._carried(kind)
        return " ".join(words)

    def _written(self, word: str) -> str | None:
        """Return the value that the text gives a word of tc's that is no parameter here."""
        places = [place for place, found in enumerate(self.text[:-1]) if found == word]
        return self.text[places[-1] + 1] if places else None

    def _idle_rate(self) -> str:
        """Return RED's bandwidth: as the text has it, else the rate to shape to, else tc's default."""
        if written := self._written("bandwidth"):
            # A rate in bytes, which is tc's alone, stays as it is.
            return written if written.endswith("ps") else f"{values.rate(written)}bit"
        if self.bit_s is None:
            self.notes.append(
                "without --rate, tc's bandwidth is 10 Mbit/s: it counts for the average after idle times"
            )
        return f"{self.bit_s or _DEFAULT_RATE}bit"

    def _carried(self, kind: Kind) -> list[str]:
        """Repeat the words of the text that Linux acts on and the simulator does not."""
        carried: list[str] = []
        words = iter(self.text)
        for word in words:
            if word in kind.printed:
                value = [next(words) for _ in range(kind.printed[word])]
                self.notes.append(f"`{' '.join([word, *value])}` is left out: tc prints it and does not take it")
            elif word in kind.carried:
                carried.append(" ".join([word, *(next(words) for _ in range(kind.carried[word]))]))
        if carried:
            listed = ", ".join(f"`{one}`" for one in carried)
            verb = "has" if len(carried) == 1 else "have"
            self.notes.append(f"{listed} {verb} no effect in the simulator and {verb} been repeated from the scheme")
        return carried

    def _red_of_queues(self) -> list[str]:
        """RED inside sfq. tc wants a redflowlimit, though only for what is left out; Linux has no use for it."""
        least, most = (self._bytes(Value(name, "bytes"), self.parameters[name]) for name in ("min", "max"))
        words = [
            "redflowlimit",
            self._written("redflowlimit") or str(4 * most),
            "min",
            str(least),
            "max",
            str(most),
            *self._average(),
        ]
        return words + [name for name in ("ecn", "harddrop") if self.parameters[name] == "on"]

    def _fixed(self, kind: Kind) -> None:
        """Refuse parameters that Linux does not have, and note where Linux behaves differently."""
        known = {option.name for option in kind.options}
        differing = []
        for parameter in self.given:
            name, value = parameter.name, parameter.value
            linux = kind.fixed.get(name)
            if name in known or linux == ():
                continue
            if linux is None or value not in linux:
                raise self._refusal(f"Linux's {self.kind} has no `{name}`", without=name, instead=(linux or ("",))[0])
            if value != linux[0]:
                differing.append({"on": name, "off": f"no{name}"}.get(linux[0], f"{name} {linux[0]}"))
        if self.parameters.get("delay") == "timestamps":
            differing.append("delay departures")
        if differing:
            self.notes.append(f"Linux's {self.kind} behaves as this scheme with `{' '.join(differing)}`")

    def _refusal(self, why: str, *, without: str, instead: str) -> SojournError:
        """Name the nearest scheme: the parameter `without` is `instead`, or left out where that is empty."""
        nearest = KINDS[self.kind].nearest
        if nearest and any(parameter.is_default and parameter.name == without for parameter in self.given):
            return SchemeError(f"{why}; the nearest that can be exported is `{nearest}`")
        words = [self.kind]
        for parameter in self.given:
            value = instead if parameter.name == without else parameter.value
            if (parameter.is_default and parameter.name != without) or value in {"", "off"}:
                continue
            words += [parameter.name] if value == "on" else [parameter.name, value]
        return SchemeError(f"{why}; the nearest that can be exported is `{' '.join(words)}`")

    def _switch(self, option: Switch) -> list[str]:
        word = option.words.get(self.parameters[option.name])
        if word is None:
            first = next(iter(option.words))
            raise self._refusal(
                f"Linux's {self.kind} has no `{option.name} {self.parameters[option.name]}`",
                without=option.name,
                instead=first,
            )
        return [word] if word else []

    def _value(self, option: Value) -> list[str]:
        text = self.parameters[option.name]
        if option.unit == "rate":
            # CAKE shapes by itself.
            bit_s = self.bit_s if text == "none" else values.rate(text)
            if self.bit_s is not None and bit_s != self.bit_s:
                raise SchemeError(
                    f"the scheme has {option.name} {text} and --rate says {self.bit_s}bit: name one rate"
                )
            return ["unlimited"] if bit_s is None else [option.name, f"{bit_s}bit"]
        # An overhead, even of 0, would make Linux count from the IP header on.
        if text == "none" or (option.name, text) in {("mpu", "0B"), ("overhead", "0")}:
            return []
        return [option.word or option.name, self._number(option, text)]

    def _number(self, option: Value, text: str) -> str:
        match option.unit:
            case "packets":
                number = str(self._amount(option, values.packets(text), text, "packets, as in `1000p`", "1000p"))
            case "bytes":
                number = str(self._bytes(option, text))
            case "time":
                if option.name == "tupdate" and self.kind in {"pie", "fq_pie"}:
                    self._jiffies(option.name, text)
                number = text if values.packets(text) is not None else values.time_text(option.name, text)
            case "ms" | "s":
                exact = (values.nanoseconds(text) or 0) / (1_000_000 if option.unit == "ms" else 1_000_000_000)
                unit = "whole milliseconds" if option.unit == "ms" else "whole seconds"
                number = self._multiple(option, exact, f"{round(exact)}{option.unit}", unit)
            case "sixteenths":
                number = self._sixteenths(option, float(text) * 16)
            case "per cent":
                exact = float(text) * 100
                number = self._multiple(option, exact, f"{round(exact) / 100}", "whole per cent")
                number += "%" if self.kind == "dualpi2" else ""
            case "count":
                number = self._multiple(option, float(text), str(round(float(text))), "whole numbers")
            case _:
                number = text
        return number

    def _jiffies(self, name: str, text: str) -> None:
        held = -(-(values.nanoseconds(text) or 0) // _JIFFY_NS) * _JIFFY_NS
        if held != values.nanoseconds(text):
            becomes = values.time_text(name, f"{held}ns")
            self.notes.append(f"{name} {text} becomes {becomes} in a Linux of 250 jiffies a second, as Debian's is")

    def _sixteenths(self, option: Value, exact: float) -> str:
        # 0 is not a value to tc, but the parameter left out.
        whole = min(max(round(exact), 1), 32)
        if not math.isclose(exact, whole, rel_tol=1e-12, abs_tol=0):
            why = f"Linux holds {option.name} in sixteenths of a Hz, 1 to 32"
            raise self._refusal(why, without=option.name, instead=str(whole / 16))
        return str(whole)

    def _multiple(self, option: Value, exact: float, nearest: str, unit: str) -> str:
        if not math.isclose(exact, round(exact), rel_tol=1e-9, abs_tol=0):
            raise self._refusal(
                f"Linux holds {option.name} in {unit}",
                without=option.name,
                instead=nearest,
            )
        return str(round(exact))

    def _amount(self, option: Value, amount: int | None, text: str, allowed: str, instead: str) -> int:
        if amount is None:
            raise self._refusal(
                f"Linux's {self.kind} takes {option.name} in {allowed}, not `{text}`",
                without=option.name,
                instead=instead,
            )
        return amount

    def _bytes(self, option: Value, text: str) -> int:
        count = values.packets(text)
        if self.kind == "red" and count is not None:
            mean = self._mean()
            note = f"Linux's red counts bytes: a packet is taken as avpkt, {mean} bytes"
            if note not in self.notes:
                self.notes.append(note)
            return count * mean
        return self._amount(option, values.size(text), text, "bytes, as in `1514B`", "1514B")

    def _mean(self) -> int:
        # tc's own mean packet where the scheme has none.
        return values.size(self.parameters.get("avpkt", "1000B")) or 1

    def _average(self) -> list[str]:
        """RED's averaging, which tc takes as a burst."""
        parameters, mean = self.parameters, self._mean()
        for name in ("min", "max", "w"):
            if parameters[name] == "none":
                raise self._refusal(
                    f"Linux's {self.kind} computes no {name} from the rate",
                    without=name,
                    instead={"min": "5p", "max": "15p", "w": "0.002"}[name],
                )
        count = values.packets(parameters["min"])
        least = float(count) if count is not None else (values.size(parameters["min"]) or 0) / mean
        weight = float(parameters["w"])
        wanted = min(max(round(-math.log2(weight)), 1), 31)
        burst = red.burst_for(wanted, least)
        computed = None if burst is None else red.exponent(burst, least)
        if computed is None:
            raise SchemeError(
                f"min is {least:g} mean packets, from which tc computes no weight near {weight}; allowed: "
                "min above one mean packet"
            )
        if weight != 0.5**computed:
            becomes = f"2^-{computed} = {0.5**computed:.6g}"
            self.notes.append(f"w {parameters['w']} becomes {becomes}, the nearest that tc computes")
        return ["avpkt", str(mean), "burst", str(burst), "probability", parameters["max_p"]]
