"""A pytest fixture that gives a test an emulated link.

Put ``pytest_plugins = ["sojourn.real.shell.fixture"]`` into ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from sojourn.real.shell.emulation import Emulation, emulate


@pytest.fixture
def sojourn_link() -> Iterator[Callable[..., Emulation]]:
    """Make links that are gone after the test; takes what :func:`sojourn.emulate` takes.

    Examples
    --------
    >>> def test_transfer(sojourn_link):  # doctest: +SKIP
    ...     lab = sojourn_link(down="20 Mbit/s", rtt="30 ms", loss="1%")
    ...     lab.serve(["my-server", "--port", "4433"])
    ...     assert lab.run("client", ["my-client", "server:4433"], timeout_s=30).returncode == 0
    """
    with ExitStack() as stack:
        yield lambda *link, **keys: stack.enter_context(emulate(*link, **keys))
