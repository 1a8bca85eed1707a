"""What commands import: start-up is short because the slow packages are imported only where they are used."""

import subprocess
import sys

import pytest

from sojourn.base import provided

SLOW = {"pandas", "pyarrow", "scipy", "matplotlib", "duckdb", "dask", "jinja2", "rich"}


def imported(arguments: list[str]) -> set[str]:
    """Return every module that a command imports."""
    program = (
        "import sys, runpy, atexit\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
        f"sys.argv = ['sojourn', *{arguments!r}]\n"
        "runpy.run_module('sojourn', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"], ["compare", "--help"]])
def test_help_and_version_import_nothing_slow(arguments: list[str]) -> None:
    found = imported(arguments)
    assert "sojourn.cli" in found
    assert not found & {*SLOW, "numpy"}


def test_a_run_as_json_imports_numpy_alone() -> None:
    found = imported(["run", "dumbbell", "--json"])
    assert "sojourn.plan.runner" in found
    assert not found & {*SLOW, "sojourn.tc"}


def test_a_verb_imports_no_other_verb() -> None:
    found = imported(["theory", "--help"])
    assert "sojourn.cli.theory" in found
    assert not {name for name in found if name.endswith(".command")} - {"sojourn.cli.theory"}


def test_importing_the_package_imports_nothing_slow() -> None:
    program = "import sys, sojourn; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {*SLOW, "numpy"}


def test_every_public_name_can_be_had() -> None:
    import sojourn as sj

    assert {name for name in sj.__all__ if getattr(sj, name) is None} == set()
    assert set(sj.__all__) <= set(dir(sj))
    assert sj.__version__ == sj.version()
    with pytest.raises(AttributeError, match="no attribute 'dumbell'"):
        _ = sj.dumbell  # type: ignore[attr-defined]


def test_what_is_given_from_above_is_there() -> None:
    assert {"plots", "report", "run folder"} <= set(provided.names())
    assert all(provided.get(name) for name in provided.names())
