"""The Debian package: that it can be made, and has what its unit and its scripts rely on."""

from __future__ import annotations

import configparser
import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from sojourn.real.device.lab import find_sojournd

_ROOT = Path(__file__).parents[2]


def run(*command: object, **options: str) -> str:
    """Return what a command printed."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **options}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    # Compressing takes most of the time.
    run(_ROOT / "packaging" / "deb", find_sojournd(), folder, DPKG_DEB_COMPRESSOR_TYPE="none")
    [path] = folder.glob("*.deb")
    run("dpkg-deb", "--raw-extract", path, folder / "root")
    return path


def test_what_the_unit_names_is_in_the_package(package: Path) -> None:
    root = package.parent / "root"
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(root / "usr/lib/systemd/system/sojournd.service")
    documentation = unit["Unit"]["Documentation"].removeprefix("file://")
    program, verb, config = unit["Service"]["ExecStart"].split()
    assert verb == "run"
    for path in (program, config, documentation):
        assert (root / path.lstrip("/")).is_file(), path
    assert os.access(root / program.lstrip("/"), os.X_OK)
    assert config in (root / "DEBIAN/conffiles").read_text().split()
    # An interface that vanished comes back at some time; five attempts in ten seconds are systemd's own limit.
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["Restart"] == "always"
    # The process installs a filter of its own, which `@system-service` does not allow.
    assert "seccomp" in unit["Service"]["SystemCallFilter"].split()
    # `systemctl start` returns when frames are forwarded, and a hang ends.
    assert unit["Service"]["Type"] == "notify"
    assert unit["Service"]["WatchdogSec"]
    assert unit["Service"]["User"] in (root / "DEBIAN/postinst").read_text()


def test_files_are_of_root_and_the_configuration_is_good_and_not_for_everybody(package: Path) -> None:
    root = package.parent / "root"
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    content = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = {member.name: member for member in archive}
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}
    # Nobody but the owner writes, nothing changes its user.
    assert [name for name, member in members.items() if member.mode & 0o6022] == []
    # It may name networks; root and the unit's user read it.
    assert members["./etc/sojournd.toml"].mode == 0o640
    assert run(root / "usr/bin/sojournd", "check", root / "etc/sojournd.toml").endswith("good\n")


def test_the_notices_of_the_crates_that_it_contains_are_in_the_package(package: Path) -> None:
    installed = package.parent / "root/usr/share/doc/sojournd/THIRD-PARTY-LICENSES.txt.gz"
    assert gzip.decompress(installed.read_bytes()) == (_ROOT / "packaging/THIRD-PARTY-LICENSES.txt").read_bytes()


def test_installing_makes_the_user_once_and_starts_nothing(package: Path, tmp_path: Path) -> None:
    scripts = package.parent / "root" / "DEBIAN"
    for script in ("postinst", "prerm", "postrm"):
        run("sh", "-n", scripts / script)
    # What it would do, as words in a file. There is a user when the file `user` is there.
    stub = '#!/bin/sh\necho "${0##*/} $*" >> "$CALLS"\n'
    stubs = {
        "getent": stub + 'test -e "$USER_FILE"\n',
        "useradd": stub + 'touch "$USER_FILE"\n',
        "chown": stub,
        "systemctl": stub + 'test "$1" != is-active\n',
    }
    for name, text in stubs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    calls = tmp_path / "calls"
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "USER_FILE": str(tmp_path / "user"),
    }
    for _ in range(2):
        run(scripts / "postinst", "configure", **environment)
    made = [line.split()[0] for line in calls.read_text().splitlines()]
    assert made.count("useradd") == 1
    assert made.count("chown") == 2
    assert "chown root:sojournd /etc/sojournd.toml" in calls.read_text()
    assert not {"start", "restart", "enable"} & set(calls.read_text().split())
