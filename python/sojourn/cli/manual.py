"""The command line as data: every command with its options, and manual pages made of it.

:func:`program` reads the parser, so that manual pages, shell completion and the reference agree with ``--help``.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sojourn import cli
from sojourn.base.core import version

#: What a value is when neither its type nor its choices say so, by the word that stands for it.
_KINDS: Final = {
    "DIR": "file",
    "FILE": "file",
    "METRIC": "metric",
    "PATH": "file",
    "PLAN": "file",
    "SCENARIO": "scenario",
    "SCHEME": "scheme",
    "SCHEME|FILE": "scheme",
    "STORE": "file",
}


@dataclass(frozen=True)
class Argument:
    """An option, or an argument by its place.

    ``kind`` is what its value is: ``""`` (it takes none), ``choice``, ``scenario``, ``scheme``, ``metric``,
    ``file`` or ``other``.
    """

    flags: tuple[str, ...]
    value: str
    help: str
    kind: str
    choices: tuple[str, ...] = ()
    repeats: bool = False


@dataclass(frozen=True)
class Command:
    """A command, with those below it."""

    path: tuple[str, ...]
    help: str
    description: str
    usage: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Argument, ...] = ()
    commands: tuple[Command, ...] = ()

    @property
    def name(self) -> str:
        """The last word of it."""
        return self.path[-1]

    def everything(self) -> Iterator[Command]:
        """Yield it and all below it."""
        yield self
        for command in self.commands:
            yield from command.everything()


def program() -> Command:
    """Return ``sojourn`` with all its commands."""
    return _command(cli.parser(), ("sojourn",), "")


def _command(parser: argparse.ArgumentParser, path: tuple[str, ...], short: str) -> Command:
    arguments: list[Argument] = []
    options: list[Argument] = []
    commands: list[Command] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands = [
                _command(inner, (*path, name), lines[name]) for name, inner in action.choices.items() if name in lines
            ]
            commands.sort(key=lambda command: list(cli.COMMANDS).index(command.name) if len(path) == 1 else 0)
        elif action.help is not argparse.SUPPRESS:
            (options if action.option_strings else arguments).append(_argument(action))
    # Not as wide as the terminal of whoever makes the pages.
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=100)
    usage = parser.format_usage().removeprefix("usage: ").strip()
    description = (parser.description or "").strip()
    return Command(path, short, description, usage, tuple(arguments), tuple(options), tuple(commands))


def _argument(action: argparse.Action) -> Argument:
    formatter = argparse.HelpFormatter(prog="")
    choices = tuple(map(str, action.choices or ()))
    value, kind = "", ""
    if action.nargs != 0:
        by_default = (action.dest.upper(), action.dest)[not action.option_strings]
        # As usage shows it, "[SCENARIO ...]" or "{a,b}".
        value = formatter._format_args(action, by_default)
        kind = "choice" if choices else _KINDS.get(str(action.metavar or by_default), "other")
        # The first argument of `run` and `compare` is a file too.
        kind = "scenario" if action.dest in {"file", "scenario", "scenarios"} else kind
    text = formatter._expand_help(action) if action.help else ""
    repeats = isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+")
    return Argument(tuple(action.option_strings), value, re.sub(r"\s+", " ", text), kind, choices, repeats)


def markdown(command: Command) -> str:
    """Return the page of a command and of those below it."""
    sections = [f"# sojourn {command.name}"]
    for one in command.everything():
        words = " ".join(one.path)
        if one is not command:
            sections.append(f"## {words}")
        sections.append(_escaped(one.description or one.help))
        # A usage is not a command: nothing runs it.
        sections.append(f"```text\n{one.usage}\n```")
        for title, arguments in (("argument", one.arguments), ("option", one.options)):
            if arguments:
                rows = [f"| {_shown(argument)} | {_escaped(argument.help)} |" for argument in arguments]
                sections.append("\n".join([f"| {title} | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(sections) + "\n"


def _shown(argument: Argument) -> str:
    flags = ", ".join(f"`{flag}`" for flag in argument.flags)
    # Apart, so that a narrow table can break between them.
    choices = ", ".join(f"`{choice}`" for choice in argument.choices)
    value = choices or (f"*{_escaped(argument.value)}*" if argument.value else "")
    return f"{flags} {value}".strip()


def _escaped(text: str) -> str:
    # Backquotes are kept: they mean the same there.
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_<>\[\]])", r"\\\1", part) for part in parts
    ).replace("|", "\\|")


def man(program: Command) -> str:
    """Return the manual page ``sojourn(1)``, for ``groff -man``.

    The date of a page would differ from build to build; it has none.
    """
    lines = [
        f'.TH SOJOURN 1 "" "sojourn {_roff(version())}" "User Commands"',
        ".SH NAME",
        r"sojourn \- a laboratory for active queue management",
        ".SH SYNOPSIS",
        r".B sojourn",
        r".I COMMAND",
        r"[\fIoption\fR ...]",
        ".SH DESCRIPTION",
        _roff(program.description),
        "Each command explains itself:",
        r"\fBsojourn \fICOMMAND\fB \-\-help\fR.",
        ".SH COMMANDS",
    ]
    for command in program.everything():
        if command is program:
            continue
        words = " ".join(command.path)
        lines += [f".SS {_roff(words)}", _roff(command.description or command.help)]
        for argument in (*command.arguments, *command.options):
            if argument.flags == ("-h", "--help"):
                continue
            shown = ", ".join(rf"\fB{_roff(flag)}\fR" for flag in argument.flags)
            value = rf"\fI{_roff(argument.value)}\fR" if argument.value else ""
            lines += [".TP", f"{shown} {value}".strip(), _roff(argument.help) or r"\&"]
    lines += [
        ".SH EXIT STATUS",
        *(part for status, text in _STATUS.items() for part in (".TP", f".B {status}", text)),
        ".SH SEE ALSO",
        ".BR sojournd (1),",
        ".BR tc (8)",
    ]
    return "\n".join(lines) + "\n"


_STATUS: Final = {
    0: "The command is done.",
    1: "A crosscheck does not agree, a plan has failed runs, or a store is damaged.",
    2: "The input is wrong, or a file cannot be read or written.",
    130: "The command was interrupted.",
}


def _roff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return "\n".join(r"\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())
