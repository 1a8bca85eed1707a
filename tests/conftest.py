"""Which tests run, and which side by side: those of a file in one process, and all that use the network in one.

No example of Hypothesis has a deadline, because machines differ and are busy.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

settings.register_profile("sojourn", deadline=None)
settings.load_profile("sojourn")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the long tests where `SOJOURN_TEST_LONG` is 0, as in `.ci/run`."""
    if os.environ.get("SOJOURN_TEST_LONG") == "0":
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="long: SOJOURN_TEST_LONG is 0"))


# Not marks of groups: pytest-xdist 3.8 hands them over in the tests' ids, which pytest 9.2 keeps from it.
@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Give each process whole files, and to one all files of ``device``."""
    from xdist.scheduler import LoadScopeScheduling

    class Files(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return folder if folder.endswith("device") else file

    return Files(config, log)
