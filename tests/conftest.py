"""Which tests may run side by side: those of a file in one process, and all that use the machine's network in one."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the group of each test for pytest-xdist."""
    for item in items:
        folder = Path(item.path).parent.name
        item.add_marker(pytest.mark.xdist_group(folder if folder == "device" else str(item.path)))
