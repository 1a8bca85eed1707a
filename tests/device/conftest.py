"""Real packets between network namespaces. Root is needed: without it these tests fail, as nothing else
tests the sockets.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from laboratory import Lab
from namespaces import missing_for_the_shell
from packets import BACK_ENDS, MakeLab


@pytest.fixture
def make_lab() -> Iterator[MakeLab]:
    """Build laboratories that are gone after the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Lab(**{"name": "sojourn-test"} | options))


@pytest.fixture(params=list(BACK_ENDS))
def back_end(request: pytest.FixtureRequest) -> dict[str, str]:
    return BACK_ENDS[request.param]


@pytest.fixture
def namespaces() -> None:
    """Skip where the system lets this user make no network of its own."""
    missing = missing_for_the_shell()
    if missing is not None:
        pytest.skip(f"no network namespaces here: {missing}")
