"""The command line: ``sojourn VERB``; the verbs are in :func:`parser`.

Standard output carries results alone: a table, or with ``--json`` one JSON document. Progress and messages go to
standard error. Exit status: 0 done, 1 a crosscheck that does not agree, a plan with failed runs or a damaged store, 2
bad input or a file that cannot be read or written (one message, nothing half-written), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from sojourn.core import SojournError, version

__all__ = ["main", "parser"]

BAD_INPUT = 2
INTERRUPTED = 130


COMMANDS: Final = {
    "run": ("cli.commands", "run a scenario as it is written"),
    "compare": ("cli.commands", "compare schemes on a scenario"),
    "list": ("cli.commands", "list algorithms, scenarios or metrics"),
    "demo": ("cli.commands", "eight schemes on a LAN beside the numbers published for them, and a dumbbell"),
    "report": ("cli.commands", "draw a run folder's report again"),
    "plan": ("plan.command", "sweeps: check, run, continue and show a plan"),
    "results": ("plan.command", "ask a store, or write it for other programs"),
    "crosscheck": ("crosscheck.command", "the same work on Linux, ns-3 or ns-2, and here"),
    "tune": ("tune.command", "search an algorithm's parameters for one or several objectives"),
    "sensitivity": ("sensitivity.command", "find which parameters of an algorithm matter"),
    "papers": ("papers.command", "published studies, run again and judged claim by claim"),
    "interarrival": ("cli.interarrival", "the mode of inter-arrival times at each queue, with a FIFO there"),
    "theory": (
        "theory.command",
        "what queueing theory and control theory say: queues, designs, stability, rules of thumb",
    ),
    "topology": ("topology.command", "real topologies as scenarios"),
    "place": ("placement.command", "find the routers of a topology where a scheme helps most"),
    "device": ("device.command", "what sojournd, the algorithms on real packets, measured"),
    "export": ("cli.tc", "write a scheme for another program"),
    "schema": ("cli.commands", "print the JSON Schema of scenarios"),
    "completion": ("cli.completion", "print the completion script for bash, zsh or fish"),
    "manual": ("cli.completion", "print the manual page"),
}
"""Every verb: the module that adds and carries it out, imported when the verb is given, and its line of the help."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and a hint, without the whole usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"sojourn: {message} (`{self.prog} --help` says more)\n")


class _Verbs:
    """Takes verbs with what :data:`COMMANDS` says of them."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def add_parser(self, name: str, **options: Any) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = self._inner.add_parser(name, help=COMMANDS[name][1], **options)
        return added


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    arguments
        Without the program's name; by default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser(given[0] if given else "").parse_args(given)
        status: int = options.command(options) or 0
        sys.stdout.flush()
    except SojournError as error:
        print(f"sojourn: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("sojourn: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has gone: `sojourn list aqms | head`.
        _silence()
        return 0
    except OSError as error:
        # Those of a network have no number, and say more with their traceback.
        if error.errno is None:
            raise
        print(f"sojourn: {f'{error.filename}: ' if error.filename else ''}{error.strerror}", file=sys.stderr)
        if error.filename is None:
            _silence()
        return BAD_INPUT
    return status


def _silence() -> None:
    """Drop what standard output has not taken, which Python would try again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line, or of one verb beside the names of the others.

    Parameters
    ----------
    verb
        The only one whose module is imported; another text imports none. None imports all.
    """
    top = _Parser(prog="sojourn", description="A laboratory for active queue management.")
    top.add_argument("--version", action="version", version=f"sojourn {version()}")
    verbs = _Verbs(top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser))
    wanted = {module for name, (module, _) in COMMANDS.items() if verb in (None, name)}
    for module in sorted(wanted):
        import_module(f"sojourn.{module}").add(verbs)
    for name, (module, _) in COMMANDS.items():
        if module not in wanted:
            verbs.add_parser(name)
    return top
