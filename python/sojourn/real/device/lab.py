"""``sojournd`` between hosts on one machine: clients and a server in network namespaces, connected by veth pairs.

The hosts use the Linux kernel's TCP/IP stack and interfaces. This needs root, and the tools of :mod:`.hosts`.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from sojourn.base import sources
from sojourn.real.device.hosts import Hosts, LabError

__all__ = ["Lab", "LabError", "find_sojournd"]

_FORWARDS_WITHIN_S = 10.0


def find_sojournd() -> Path:
    """Find ``sojournd``: the file that ``$SOJOURND`` names, the release build of these sources, or one on PATH."""
    given, clone = os.environ.get("SOJOURND"), sources.root()
    beside = clone / "target" / "release" / "sojournd" if clone else None
    found = given or (str(beside) if beside and beside.is_file() else shutil.which("sojournd"))
    if found is None or not Path(found).is_file():
        where = (
            f"$SOJOURND names {given}, which is not a file"
            if given
            else f"it is neither at {beside} nor on the path"
            if beside
            else "it is not on the path"
        )
        raise LabError(
            f"sojournd was not found: {where}; in the sources `make sojournd` builds it, and a wheel for Linux has it"
        )
    return Path(found)


class Lab(Hosts):
    """Hosts with ``sojournd`` between them; a context manager like :class:`Hosts`."""

    @property
    def _socket(self) -> Path:
        return self.folder / "control.sock"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to the device's control interface over its Unix socket; return the answer's JSON, parsed."""
        text = self.text(path, method=method, body=body)
        return json.loads(text) if text else None

    def text(self, path: str, *, method: str = "GET", body: object = None) -> str:
        """Return the answer to a request as :meth:`ask` makes it, as it is: ``/metrics`` is no JSON."""
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        try:
            connection.sock.connect(str(self._socket))
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise LabError(f"the device does not answer: {error}\n{self.device_log()}") from error
        finally:
            connection.close()
        if answer.status >= 300:
            raise LabError(f"{method} {path}: {answer.status} {text}")
        return text

    def status(self) -> dict[str, Any]:
        """Return the status that the device published last; its counters all belong to the same instant."""
        status: dict[str, Any] = self.ask("GET", "/status")
        return status

    def start_device(self, toml: str, *, wait: bool = True, program: Path | None = None) -> subprocess.Popen[str]:
        """Start ``sojournd`` with a configuration whose ports are the interfaces ``port-a`` and ``port-b``.

        With `wait`, a client reaches the server through the device when this returns.
        """
        path = self.folder / "sojournd.toml"
        path.write_text(toml)
        with (self.folder / "sojournd.log").open("w") as log:
            process = self.start("device", str(program or find_sojournd()), "run", str(path), stdout=log.fileno())
        if wait:
            self.wait_until_forwarding(process)
        return process

    def wait_until_forwarding(self, process: subprocess.Popen[str]) -> None:
        """Wait, for at most 10 s, until the device answers and a client reaches the server."""
        until = time.monotonic() + _FORWARDS_WITHIN_S
        while time.monotonic() < until:
            if process.poll() is not None:
                raise LabError(f"the device ended with status {process.returncode}:\n{self.device_log()}")
            try:
                # With a status its ports are open. The ping alone proves nothing: a bridge forwards it before that.
                self.status()
                self.run(self.clients[0], "ping", "-c1", "-W1", self.address("server"))
            except LabError:
                time.sleep(0.05)
                continue
            return
        raise LabError(f"the device has not begun to forward within {_FORWARDS_WITHIN_S} s:\n{self.device_log()}")

    def device_log(self) -> str:
        """Return the device's log so far."""
        path = self.folder / "sojournd.log"
        return path.read_text() if path.exists() else ""
