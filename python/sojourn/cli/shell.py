"""``sojourn shell``."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import systems
from sojourn.base.core import SojournError
from sojourn.cli.options import add_flag, add_out, add_seed
from sojourn.model.scheme import Scheme
from sojourn.plan import folder
from sojourn.real.shell.link import OPTIONS, Link
from sojourn.results import notices

if TYPE_CHECKING:
    from sojourn.real.shell.emulation import Program

NOT_TRUSTED: Final = 3
"""The status of a marked run with ``--strict``."""

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name))
INTERRUPTED_S: Final = 5.0
"""A command that does not end so long after a signal to the shell alone is killed."""


def add(verbs: Any) -> None:
    """Add the verb ``shell`` to `verbs`."""
    parser = verbs.add_parser(
        "shell",
        description="Run a command, or an interactive shell, behind an emulated access link. The command is on the "
        "host `client`, what --serve starts is on the host `server`, and sojournd forwards between them. The values "
        "are those of scenarios. The table at the end goes to standard error. The command has the files and the "
        "rights of an ordinary user; as root it has rights over its own network alone, and writes in the current "
        "folder, /tmp and /var/tmp.",
        epilog="example: sojourn shell --down 50Mbit/s --up 10Mbit/s --rtt 40ms --aqm fq_codel "
        "--serve 'python3 -m http.server 80' -- curl -so /dev/null http://server/",
    )
    for name, option in OPTIONS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=option.kind, help=option.help.replace("%", "%%"))
    parser.add_argument(
        "--serve", metavar="COMMAND", help="run this command on the far side, and wait until it listens"
    )
    add_flag(parser, "--host", "the far side is this machine's own network; as root, or within a shell")
    parser.add_argument("--pcapng", metavar="DIR", help="write the packets that pass both ends into this folder")
    add_out(parser, help="write a run folder with a report")
    add_seed(parser, "seed of losses, delays and random drops; drawn if it is not given")
    add_flag(parser, "--strict", f"end with status {NOT_TRUSTED} if the run is marked, even if the command succeeded")
    add_flag(parser, "--privileged", "as root: the command keeps root's capabilities, files and devices")
    add_flag(parser, "--quiet", "print no table")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Run the command, and return its exit status."""
    from sojourn.real.shell.emulation import Emulation
    from sojourn.real.shell.world import check_command, machine_forwards, own_level

    systems.need("sojourn shell")
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    interactive = not words
    command = words or [os.environ.get("SHELL") or "/bin/sh"]
    check_command(command, "the command")
    served = _words("--serve", options.serve)
    if served:
        check_command(served, "--serve")
    if options.host and own_level() == 0 and os.geteuid() != 0:
        raise SojournError(
            "--host connects to this machine's own network, which needs root; allowed: sudo, or --serve COMMAND, "
            "which needs none"
        )
    if options.host and not options.quiet and own_level() == 0 and not machine_forwards():
        print(
            "sojourn shell: this machine does not forward packets, so only its own addresses are reached; "
            "`sysctl -w net.ipv4.ip_forward=1` lets it",
            file=sys.stderr,
        )
    link = Link(**{name: getattr(options, name) for name in OPTIONS})
    for place in (options.out, options.pcapng):
        if place is not None:
            _free(Path(place), force=options.force)
    kept = folder.leftovers(options.out) if options.out is not None else None
    given: dict[str, Any] = {"seed": options.seed, "pcapng": options.pcapng, "attached": options.host}
    with Emulation(link, **given, leftovers=kept, privileged=options.privileged) as lab:
        notices.tell(notices.inert(lab.scenario, [Scheme("")], on_device=True))
        if served:
            lab.serve(served)
        if interactive and not options.quiet:
            print("sojourn shell: leave it with `exit`", file=sys.stderr)
        with _foreground() as sent:
            lab.begin()
            status = _wait(lab.start("client", command), sent)
        outcome = lab.finish(status)
        if not options.quiet:
            print(outcome.table(), file=sys.stderr)
        if options.strict and outcome.doubts:
            if options.quiet:
                print(f"sojourn shell: {'; '.join(outcome.doubts)}", file=sys.stderr)
            status = status or NOT_TRUSTED
        if options.out is not None:
            with folder.staged(options.out, force=options.force) as staging:
                folder.write(outcome.results(), staging, command=shlex.join(["sojourn", *sys.argv[1:]]))
            if not options.quiet:
                print(options.out, file=sys.stderr)
    return status if status >= 0 else 128 - status


def _wait(program: Program, sent: list[int]) -> int:
    """Wait for the command, and return its status.

    A terminal sends Ctrl-C to all processes here, and the command does with it what it wants. A signal to this
    process alone ends the command.
    """
    until, number = math.inf, 0
    while (status := program.wait(0.2)) is None:
        # By now the process that holds the network has said what came to it, too.
        if sent and not program.heard(sent[0]):
            number = sent[0]
            program.signal(number)
            until = time.monotonic() + INTERRUPTED_S
        del sent[:1]
        if time.monotonic() > until:
            program.signal(signal.SIGKILL)
            until = math.inf
    return -number if number and status == -signal.SIGKILL else status


def _words(option: str, text: str | None) -> list[str]:
    """Split a command as a shell does; one with more than words is left to a shell."""
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SojournError(f"{option}: {text!r} cannot be read: {error}") from None
    if not words:
        raise SojournError(f"{option} is empty; allowed: a command, as in --serve 'python3 -m http.server 80'")
    return words


def _free(place: Path, *, force: bool) -> None:
    """Refuse a place for results that is taken or cannot be written, before anything runs."""
    folder.refuse_foreign(place)
    folder.refuse_results(place, force=force)
    above = next(parent for parent in (place.absolute(), *place.absolute().parents) if parent.is_dir())
    try:
        # The only way to know.
        tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        raise SojournError(f"cannot write {str(place)!r}: {error.strerror}") from None


@contextmanager
def _foreground() -> Iterator[list[int]]:
    """Leave the terminal and its signals to the command; gives those that came."""
    sent: list[int] = []
    own = {number: signal.signal(number, lambda which, _: sent.append(which)) for number in ENDING}
    try:
        yield sent
    finally:
        if sys.stdin is not None and sys.stdin.isatty():
            # A shell with job control has taken the terminal.
            before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
            signal.signal(signal.SIGTTOU, before)
        for number, handler in own.items():
            signal.signal(number, handler)
