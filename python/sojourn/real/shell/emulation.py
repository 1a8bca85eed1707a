"""Programs on an emulated link, from Python: :func:`emulate`."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sojourn.base.core import Document
from sojourn.base.errors import RunError
from sojourn.model.network import Network, load
from sojourn.real.shell.link import OPTIONS, Link, configuration, the_link
from sojourn.real.shell.outcome import Outcome, measured
from sojourn.real.shell.world import HOSTS, World, WorldError, check_command

SERVES_S: Final = 30.0
"""A program on the far side that does not listen within this time counts as ready."""


class Emulation:
    """Two hosts, ``client`` and ``server``, with an emulated link between them; a context manager.

    Programs in it see the other host by its name, and nothing else of the network. When the block ends, every program
    that still runs is ended, and nothing remains.

    Parameters
    ----------
    link
        The link: :class:`Link`, a network or scenario with one link, or a scenario's file.
    seed
        Of the random losses, delays and drops; drawn by default.
    pcapng
        A folder for the packets that pass both ends of the link: ``server.pcapng`` and ``client.pcapng``.
    attached
        Whether the far side is the network of this process, in place of a host.
    leftovers
        What :func:`sojourn.plan.folder.leftovers` says of a folder that is written before the block ends; it is
        removed if this process is killed.
    ecn
        Whether TCP of both hosts asks for ECN; by default it takes it when asked.
    privileged
        Whether programs that root starts keep its capabilities and see the file system as it is. By default they have
        rights over the network of their host alone, and write in the current folder and those of temporary files.

    Raises
    ------
    SojournError
        The link cannot be emulated, or the system has no namespaces for this user.
    """

    def __init__(
        self,
        link: Link | Network | Document | str | Path,
        *,
        seed: int | None = None,
        pcapng: str | Path | None = None,
        attached: bool = False,
        leftovers: Mapping[str, Any] | None = None,
        ecn: bool = False,
        privileged: bool = False,
    ) -> None:
        self.scenario = _scenario(link)
        self.seed = int.from_bytes(os.urandom(4), "big") if seed is None else seed
        folder = None if pcapng is None else Path(pcapng)
        text = configuration(self.scenario, seed=self.seed, pcapng=folder)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._world = World(text, attached=attached, leftovers=leftovers, ecn=ecn, privileged=privileged)
        self._first: int | None = None
        self._began_s = 0.0

    def __enter__(self) -> Self:
        self._world.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._world.close()

    def address(self, host: str) -> str:
        """Return the IPv4 address of a host."""
        return self._world.address(_host(host))

    def start(
        self,
        host: str,
        command: Sequence[str],
        *,
        streams: tuple[int, int, int] = (0, 1, 2),
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Program:
        """Start a program in the host ``client`` or ``server``.

        `streams` are descriptors of its standard input, output and error; these, its environment and its folder are
        by default those of this process.

        Raises
        ------
        SojournError
            There is no such host or program.
        """
        check_command(command, _host(host))
        return Program(self._world, self._world.start(host, command, streams=streams, env=env, cwd=cwd), command)

    def serve(self, command: Sequence[str], *, limit_s: float = SERVES_S) -> Program:
        """Start a program on the far side, and wait until it listens; after `limit_s` it counts as ready in any case.

        Raises
        ------
        SojournError
            There is no such program, or it fails before it listens.
        """
        with Path(os.devnull).open("r+b") as nothing:
            program = self.start("server", command, streams=(nothing.fileno(), nothing.fileno(), 2))
        until = time.monotonic() + limit_s
        while time.monotonic() < until and not self._world.is_listening(program.number):
            status = program.poll()
            if status is not None:
                if status != 0:
                    raise RunError(f"{command[0]!r} on the far side ended with status {status} before it listened")
                break
            time.sleep(0.02)
        return program

    def run(
        self,
        host: str,
        command: Sequence[str],
        *,
        input: str | bytes = b"",  # noqa: A002 - as subprocess.run calls it
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in a host as :meth:`start` does, and return its exit status and what it wrote.

        It reads `input`, and is ended after `timeout_s`.

        Raises
        ------
        subprocess.TimeoutExpired
            It ran for `timeout_s`.
        SojournError
            There is no such host or program.
        """
        self.begin()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(input.encode() if isinstance(input, str) else input)
            given.seek(0)
            program = self.start(
                host, command, streams=(given.fileno(), out.fileno(), err.fileno()), env=env, cwd=cwd
            )
            status = program.wait(timeout_s)
            if status is None:
                program.signal(signal.SIGKILL)
                program.wait(10.0)
                raise subprocess.TimeoutExpired(list(command), timeout_s or 0.0)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return subprocess.CompletedProcess(list(command), status, *texts)

    def begin(self) -> None:
        """Begin to measure, unless that has begun: :meth:`run` does it."""
        if self._first is None:
            self._first = self._world.states - 1
            self._began_s = time.monotonic()

    def states(self) -> list[dict[str, Any]]:
        """End the link, and return every state that the device showed."""
        return self._world.finish()

    @property
    def state_times(self) -> list[float]:
        """When each state came, by the monotonic clock."""
        return self._world.times

    def finish(self, status: int = 0) -> Outcome:
        """End the link, and return what it measured since the first program that was run.

        Parameters
        ----------
        status
            The exit status that the outcome has.
        """
        self.begin()
        duration_s = time.monotonic() - self._began_s
        states = self.states()
        return measured(
            self.scenario, states, first=self._first or 0, seed=self.seed, duration_s=duration_s, status=status
        )


class Program:
    """A program that was started in a host."""

    def __init__(self, world: World, number: int, command: Sequence[str]) -> None:
        self._world = world
        self.number = number
        self.command = list(command)

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while it runs."""
        return self._world.poll(self.number)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end, and return the exit status; None if it still runs after this time."""
        return self._world.wait(self.number, limit_s=timeout_s)

    def signal(self, which: int) -> None:
        """Send it a signal."""
        self._world.signal(self.number, which)

    def heard(self, which: int) -> bool:
        """Whether a signal that came to this process came to the world's, too, as one of a terminal does."""
        return self._world.heard(which)


def emulate(
    link: Link | Network | Document | str | Path | None = None,
    *,
    seed: int | None = None,
    pcapng: str | Path | None = None,
    ecn: bool = False,
    privileged: bool = False,
    **keys: Any,
) -> Emulation:
    """Emulate a link between two hosts, for real programs on the kernel's own network stack.

    Parameters
    ----------
    link
        A network or scenario with one link, or a scenario's file; or no link, and the parameters of :class:`Link`.
    seed, pcapng, ecn, privileged
        As for :class:`Emulation`.
    **keys
        Parameters of :class:`Link`, in place of `link`.

    Returns
    -------
    Emulation
        A context manager with the hosts ``client`` and ``server``.

    Raises
    ------
    SojournError
        The link cannot be emulated.

    Examples
    --------
    >>> with emulate(down="20 Mbit/s", up="5 Mbit/s", rtt="30 ms", aqm="fq_codel") as lab:  # doctest: +SKIP
    ...     lab.serve(["python3", "-m", "http.server", "80"])
    ...     lab.run("client", ["curl", "-s", "http://server/"]).returncode
    0
    """
    if link is not None and keys:
        raise RunError(f"emulate: {next(iter(keys))} is given beside a link; allowed: one of the two")
    if link is None:
        try:
            link = Link(**keys)
        except TypeError:
            known = ", ".join(OPTIONS)
            wrong = next((key for key in keys if key not in OPTIONS), "")
            raise RunError(f"emulate: {wrong} is unknown; allowed: {known}") from None
    return Emulation(link, seed=seed, pcapng=pcapng, ecn=ecn, privileged=privileged)


def _scenario(link: Link | Network | Document | str | Path) -> Document:
    """Return the scenario in canonical form, checked to be one that can be emulated."""
    if isinstance(link, Link):
        found = link.scenario()
    elif isinstance(link, Network):
        found = link.canonical()
    elif isinstance(link, (str, Path)):
        found = load(link).canonical()
    else:
        found = Network.from_dict(link).canonical()
    the_link(found)
    return found


def _host(host: str) -> str:
    if host not in HOSTS:
        raise RunError(f"there is no host {host!r}; allowed: {', '.join(HOSTS)}")
    return host


__all__ = ["Emulation", "Link", "Outcome", "Program", "WorldError", "emulate"]
