"""Writes the licence notices of all crates that are linked into Sojourn's programs.

    packaging/notices.py                 writes packaging/THIRD-PARTY-LICENSES.txt
    packaging/notices.py --check         ends with status 1 where that file is not what would be written
    packaging/notices.py --linked FILE   ends with status 1 where a built program links a crate without a notice
    packaging/notices.py --std FOLDER    writes packaging/std-licenses.txt, from the sources of the standard library
                                         (`rustup component add rust-src`: lib/rustlib/src/rust/library)

Wheel and Debian package carry the file. It holds what the licences ask for: name, version, source and the text of the
licence under which the crate is used, which is MIT where the crate offers it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTICES = ROOT / "packaging" / "THIRD-PARTY-LICENSES.txt"
STANDARD_LIBRARY = ROOT / "packaging" / "std-licenses.txt"
#: What is linked: sojournd, and the module of Python.
PACKAGES = ("sojourn-device", "sojourn-python")
#: Where wheel and package are built for; other platforms link a subset of the same crates.
TARGET = "x86_64-unknown-linux-gnu"
_TEXTS = re.compile(r"(licen[cs]e|copying|notice|copyright|unlicense)", re.IGNORECASE)
#: C sources inside a crate that have terms of their own.
_INSIDE = {"libsqlite3-sys": "The crate contains SQLite, which is in the public domain (sqlite.org/copyright.html)."}
#: The licence that most crates offer, without the copyright line.
_MIT = "Permission" + (ROOT / "LICENSE-MIT").read_text().partition("Permission")[2]


@dataclass(frozen=True, order=True)
class Crate:
    """A crate with what its licence asks to keep."""

    name: str
    version: str
    licence: str
    source: str
    texts: tuple[str, ...]


class NoticeError(Exception):
    """A crate whose licence text is nowhere to be found."""


def _cargo(*words: str) -> str:
    command = ["cargo", *words, "--locked", "--manifest-path", str(ROOT / "Cargo.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoticeError(f"cargo {words[0]}: {done.stderr.strip()}")
    return done.stdout


def linked() -> list[Crate]:
    """Return every crate of others that is linked into one of the packages.

    Raises
    ------
    NoticeError
        Cargo fails, or a crate has no licence text.
    """
    metadata = json.loads(_cargo("metadata", "--format-version", "1", "--filter-platform", TARGET))
    known = {(package["name"], package["version"]): package for package in metadata["packages"]}
    wanted = set()
    for package in PACKAGES:
        # Macros run in the compiler; what they depend on is not linked.
        words = [
            "-p",
            package,
            "-e",
            "normal,no-proc-macro",
            "--target",
            TARGET,
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]
        for line in _cargo("tree", *words).splitlines():
            name, version = line.split()[:2]
            wanted.add((name, version.removeprefix("v")))
    others = (known[key] for key in sorted(wanted) if known[key]["source"] is not None)
    return [_crate(package, Path(package["manifest_path"]).parent) for package in others]


def _crate(package: dict[str, str], folder: Path) -> Crate:
    licence = (package["license"] or "").replace("/", " OR ")
    texts = _texts(folder, licence)
    if not texts and "MIT" in licence.split(" OR "):
        # The crate names the licence and leaves its text out.
        texts = [f"Copyright (c) {', '.join(package['authors'])}\n\n{_MIT}"]
    if not texts:
        raise NoticeError(f"{package['name']} {package['version']} ({licence}): {folder} has no licence text")
    if package["name"] in _INSIDE:
        texts.append(_INSIDE[package["name"]] + "\n")
    source = f"https://crates.io/crates/{package['name']}/{package['version']}"
    return Crate(package["name"], package["version"], licence, source, tuple(texts))


def _texts(folder: Path, licence: str) -> list[str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and _TEXTS.match(path.name))
    mit = [path for path in files if "mit" in path.name.lower()]
    if mit and "MIT" in licence.split(" OR "):
        # Notices and third parties count under any licence.
        files = mit + [path for path in files if re.search("notice|copyright|third", path.name, re.IGNORECASE)]
    return [_tidy(path.read_text(errors="replace")) for path in files]


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def _list(crates: Iterable[Crate]) -> str:
    """Each crate with its texts; a text that several share comes once, after all that share it."""
    groups: dict[tuple[str, ...], list[Crate]] = {}
    for crate in sorted(crates):
        groups.setdefault(crate.texts, []).append(crate)
    sections = []
    for texts, members in groups.items():
        names = "".join(f"{crate.name} {crate.version}\n    {crate.licence}, {crate.source}\n" for crate in members)
        sections.append("\n".join(["=" * 80, names, *texts]))
    return "\n".join(sections)


def render(crates: Iterable[Crate]) -> str:
    """Return the whole file."""
    head = (
        "Licences of the software that is linked into sojournd and into the Python module of Sojourn.\n"
        "Written by packaging/notices.py.\n\n"
    )
    return head + _list(crates) + "\n" + STANDARD_LIBRARY.read_text()


def named(text: str) -> set[tuple[str, str]]:
    """Return name and version of each crate that a file of notices names."""
    return {(name, version) for name, version in re.findall(r"^(\S+) (\d\S*)\n    \S", text, re.MULTILINE)}


def inside(program: bytes) -> set[tuple[str, str]]:
    """Return name and version of the crates whose source files a built program names.

    Messages of a panic say where it was, so that nearly every crate has its path in the program.
    """
    pattern = rb"registry/src/[^/]+/([A-Za-z0-9_-]+?)-(\d+\.\d+\.\d+[A-Za-z0-9.+-]*)/src/"
    return {(name.decode(), version.decode()) for name, version in re.findall(pattern, program)}


def standard_library(folder: Path) -> str:
    """Return the notices of the Rust standard library, from its sources."""
    # What the toolchain links into each program for Linux: the libraries beside std in its folder lib/.
    parts = ["addr2line", "adler2", "cfg-if", "gimli", "hashbrown"]
    parts += ["libc", "memchr", "miniz_oxide", "object", "rustc-demangle"]
    crates = []
    for name in parts:
        [found] = (folder / "vendor").glob(f"{name}-[0-9]*")
        manifest = (found / "Cargo.toml").read_text()
        licence = re.findall(r'^license = "(.*)"', manifest, re.MULTILINE)[0].replace("/", " OR ")
        version = found.name.removeprefix(f"{name}-")
        texts = _texts(found, licence)
        if not texts:
            raise NoticeError(f"{found} has no licence text")
        crates.append(Crate(name, version, licence, f"https://crates.io/crates/{name}/{version}", tuple(texts)))
    unicode = folder.parents[4] / "share/doc/rust/licenses/Unicode-3.0.txt"
    own = (folder / "compiler-builtins" / "LICENSE.txt").read_text()
    rule = "=" * 80 + "\n"
    return "".join(
        [
            f"{rule}The Rust standard library\n    MIT OR Apache-2.0, https://github.com/rust-lang/rust\n\n",
            f"Copyright (c) The Rust Project Contributors\n\n{_MIT}\n",
            "Its tables of characters are Copyright (c) 1991-2024 Unicode, Inc., under Unicode-3.0:\n\n",
            f"{_tidy(unicode.read_text())}\n",
            f"{rule}compiler-builtins, part of the standard library\n",
            "    MIT AND Apache-2.0 WITH LLVM-exception AND (MIT OR Apache-2.0),",
            f" https://github.com/rust-lang/compiler-builtins\n\n{_tidy(own)}\n",
            "The crates that follow are parts of the standard library; their versions depend on that of Rust.\n\n",
            _list(crates),
        ]
    )


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--check", action="store_true")
    act.add_argument("--linked", type=Path, metavar="FILE")
    act.add_argument("--std", type=Path, metavar="FOLDER")
    parser.add_argument("--notices", type=Path, default=NOTICES, help="the file, in place of the one in this folder")
    options = parser.parse_args()
    if options.std:
        STANDARD_LIBRARY.write_text(standard_library(options.std))
        return 0
    if options.linked:
        found = inside(options.linked.read_bytes())
        missing = sorted(found - named(options.notices.read_text()))
        if missing or not found:
            names = ", ".join(f"{name} {version}" for name, version in missing) or "no crate recognised"
            print(f"{options.linked}: without a notice in {options.notices}: {names}", file=sys.stderr)
            return 1
        print(f"{options.linked}: {len(found)} crates recognised, each has its notice")
        return 0
    text = render(linked())
    if options.check:
        if options.notices.read_text() == text:
            return 0
        have, need = named(options.notices.read_text()), named(text)
        differ = ", ".join(f"{name} {version}" for name, version in sorted(have ^ need)) or "a text"
        print(f"{options.notices} is out of date ({differ}); write it with packaging/notices.py", file=sys.stderr)
        return 1
    options.notices.write_text(text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoticeError as error:
        sys.exit(str(error))
