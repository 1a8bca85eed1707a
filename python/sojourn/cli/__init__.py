"""The command line: ``sojourn VERB``; the verbs are in :func:`parser`.

Standard output carries results alone: a table, or with ``--json`` one JSON document. Progress and messages go to
standard error. Exit status: 0 done, 1 a crosscheck that does not agree, a plan with failed runs, a damaged store or a
machine that cannot run the shell, 2 bad input or a file that cannot be read or written (one message, nothing
half-written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from sojourn.base import suggest
from sojourn.base.core import SojournError, version
from sojourn.base.escape import Stdout
from sojourn.base.wording import visible
from sojourn.cli.options import add_plugins

__all__ = ["main", "parser"]

BAD_INPUT = 2
INTERRUPTED = 130


COMMANDS: Final = {
    "run": ("cli.commands", "run a scenario as it is written"),
    "compare": ("cli.commands", "compare schemes on a scenario"),
    "list": ("cli.commands", "list algorithms, scenarios or metrics"),
    "demo": ("cli.commands", "compare five schemes on a home's access link; the first command to run"),
    "report": ("cli.commands", "draw the report of a folder again"),
    "plot": ("cli.plot_and_table", "write one figure of a folder for a paper"),
    "table": ("cli.plot_and_table", "write a table of a folder as LaTeX or CSV"),
    "plan": ("cli.plan", "run a sweep over schemes and parameters: check, run, continue, show"),
    "results": ("cli.plan", "query a store of runs, or export it for other programs"),
    "crosscheck": ("cli.crosscheck", "compare the simulator with Linux, ns-3 or ns-2"),
    "tune": ("cli.tune", "search an algorithm's parameters for one or several objectives"),
    "sensitivity": ("cli.sensitivity", "find which parameters of an algorithm matter"),
    "papers": ("cli.papers", "repeat a published study and judge its claims one by one"),
    "theory": (
        "cli.theory",
        "compute queueing and control theory: queues, designs, stability, rules of thumb",
    ),
    "characterize": ("cli.characterize", "characterise a scheme by the guidelines of RFC 7928"),
    "atlas": ("cli.atlas", "rank every scheme, need by need"),
    "advise": ("cli.advise", "recommend a scheme and a shaper for an access line"),
    "topology": ("cli.topology", "convert real topologies to scenarios"),
    "place": ("cli.placement", "find the routers of a topology where a scheme helps most"),
    "responsiveness": ("cli.responsiveness", "measure round trips per minute under load"),
    "trace": ("cli.trace", "look at the rate of a link over time, or make a trace"),
    "shell": ("cli.shell", "run a command behind an emulated link, on real packets"),
    "doctor": ("cli.doctor", "say whether this machine can run the shell, and how fast"),
    "device": ("cli.device", "read what sojournd measured on real packets"),
    "export": ("cli.tc", "convert a scheme to the commands of another program"),
    "new": (
        "cli.new",
        "write the skeleton of something new: an algorithm, a metric, a command, a scenario",
    ),
    "check": ("plugins.checks", "check an algorithm of your own as built-in ones are checked"),
    "schema": ("cli.commands", "print the JSON Schema of scenarios"),
    "completion": ("cli.completion", "print the completion script for bash, zsh or fish"),
    "manual": ("cli.completion", "print the manual page"),
}
"""Every verb: the module that adds and carries it out, imported when the verb is given, and its line of the help."""

_SCHEMES: Final = frozenset(
    (
        "run",
        "compare",
        "list",
        "plan",
        "results",
        "tune",
        "sensitivity",
        "papers",
        "characterize",
        "atlas",
        "place",
        "responsiveness",
    )
)
"""The verbs that take schemes, and so algorithms of users."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and a hint, without the whole usage."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse an unknown option where its command is known, so that the message can name a similar one."""
        found, left = super().parse_known_args(args, namespace)
        unknown = next((word for word in left if word.startswith("-")), None)
        if unknown is not None:
            name = unknown.partition("=")[0]
            self.error(f"unknown option {name}{suggest.hint(name, self._option_string_actions)}")
        return found, left

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            name = action.option_strings[-1] if action.option_strings else str(action.metavar or "argument").lower()
            raise argparse.ArgumentError(None, suggest.unknown(name, str(value), known))

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"sojourn: {visible(message)} (`{self.prog} --help` says more)\n")


class _Verbs:
    """Takes verbs with what :data:`COMMANDS` says of them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.added: dict[str, argparse.ArgumentParser] = {}

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        self.added[name] = self._inner.add_parser(name, help=COMMANDS[name][1], **options)
        return self.added[name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the process, and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    shown = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"sojourn: warning: {visible(message)}\n"
    out = sys.stdout
    sys.stdout = Stdout(out)
    try:
        options = parser(given[0] if given else "").parse_args(given)
        status: int = options.command(options) or 0
        sys.stdout.flush()
    except SojournError as error:
        print(f"sojourn: {visible(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt as stop:
        print(f"sojourn: interrupted; {str(stop) or 'nothing was written'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone: `sojourn list aqms | head`.
        _silence()
        return 0
    except OSError as error:
        # Those of a network have no number, and say more with their traceback.
        if error.errno is None:
            raise
        print(f"sojourn: {visible(error.filename) + ': ' if error.filename else ''}{error.strerror}", file=sys.stderr)
        if error.filename is None:
            _silence()
        return BAD_INPUT
    finally:
        warnings.formatwarning = shown
        sys.stdout = out
    return status


def _silence() -> None:
    """Discard unwritten standard output, which Python would otherwise try to write when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one verb beside the names of the others.

    Only the module of `verb` is imported, none where it is no verb, and all where it is None.
    """
    top = _Parser(
        prog="sojourn",
        description="Simulate and compare active queue management (AQM) schemes.",
        epilog="Start with: sojourn compare dumbbell --aqm pfifo --aqm codel --out out/first",
    )
    top.add_argument("--version", action="version", version=f"sojourn {version()}")
    verbs = _Verbs(top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser))
    wanted = {module for name, (module, _) in COMMANDS.items() if verb in (None, name)}
    for module in sorted(wanted):
        import_module(f"sojourn.{module}").add(verbs)
    for name in sorted(_SCHEMES & verbs.added.keys()):
        add_plugins(verbs.added[name])
    for name, (module, _) in COMMANDS.items():
        if module not in wanted:
            verbs.add_parser(name)
    return top
