"""The licence notices that wheel and Debian package carry: complete, and noticed when they are not."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import _native
from sojourn.real.device.lab import find_sojournd

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "packaging" / "notices.py"
NOTICES = ROOT / "packaging" / "THIRD-PARTY-LICENSES.txt"


def notices(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def programs() -> list[Path]:
    return [find_sojournd(), Path(_native.__file__)]


def without(folder: Path, crate: str) -> Path:
    """Return a copy of the file that does not name a crate."""
    text = NOTICES.read_text()
    copy = folder / "notices.txt"
    copy.write_text(re.sub(rf"^{crate} \d.*\n    .*\n", "", text, flags=re.MULTILINE))
    assert copy.read_text() != text
    return copy


def test_the_file_is_what_the_lock_file_and_the_crates_say() -> None:
    done = notices("--check")
    assert done.returncode == 0, done.stderr


def test_a_crate_that_was_left_out_is_named(tmp_path: Path) -> None:
    done = notices("--check", "--notices", without(tmp_path, "tokio"))
    assert done.returncode == 1
    assert "tokio 1." in done.stderr


# Not from Cargo's own account: from the paths of source files in what was built.
@pytest.mark.parametrize("program", programs(), ids=lambda path: path.name)
def test_every_crate_found_in_a_program_has_its_notice(program: Path, tmp_path: Path) -> None:
    done = notices("--linked", program)
    assert done.returncode == 0, done.stderr
    assert int(re.findall(r": (\d+) crates", done.stdout)[0]) > 5
    # serde_json is in both.
    done = notices("--linked", program, "--notices", without(tmp_path, "serde_json"))
    assert done.returncode == 1
    assert "serde_json 1." in done.stderr


def test_each_crate_has_a_text_after_it() -> None:
    for section in NOTICES.read_text().split("=" * 80 + "\n")[1:]:
        crates, _, text = section.partition("\n\n")
        assert re.match(r"^\S+.*\n    .*https://", crates), crates
        assert len(text) > 400, crates


def test_the_installed_package_has_the_notices() -> None:
    files = importlib.metadata.files("sojourn") or []
    [installed] = [file for file in files if file.name == NOTICES.name]
    assert "licenses" in installed.parts
    assert Path(str(installed.locate())).read_text() == NOTICES.read_text()
