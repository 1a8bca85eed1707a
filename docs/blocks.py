"""The blocks of code in README and documentation: each is run, or says why not.

    python docs/blocks.py PAGE...       runs the blocks of pages in a temporary folder, in their order
    python docs/blocks.py --list        prints every block with what is done with it
    python docs/blocks.py --changed     runs the pages that changed since they were recorded, and those under a second
    python docs/blocks.py --all         runs every page
    python docs/blocks.py ... --record  and notes in docs/blocks.json what ran, with its CPU time

What a block is follows from its language, or, where it is indented, from its first words. Python and commands are
run, TOML is read; ``text`` is output. All blocks of a page share a folder and a namespace. A comment before a block
changes this:

    <!-- not run: needs root -->    it is not run
    <!-- file: plan.toml -->        it is written to that file (as is TOML below the words "Save this as `plan.toml`")
    <!-- status: 1 -->              its last command ends with that status
    <!-- output -->                 it shows what a command printed

Some commands are never run, for the reason that :data:`WHY` or :data:`ABSENT` gives.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "blocks.json"
#: Pages under this are run whether they changed or not.
CHEAP_S: Final = 1.0
#: A command that takes longer hangs.
TIMEOUT_S: Final = 1200

WHY: Final = {
    "builds or installs": ("make",),
    "builds": ("cargo", "packaging/", "python3 packaging/"),
    "installs": ("rustup", "apt", "apt-get", "pip", "pipx", "uv"),
    "needs the network": ("git",),
    "needs a cluster": ("helm",),
    "needs a running device": (
        "curl",
        "sojournd status",
        "sojournd windows",
        "sojournd switch",
        "sojournd set",
        "sojournd schedule",
        "sojournd reload",
    ),
    "needs an installed device": ("systemctl", "journalctl"),
    "changes network interfaces": ("ethtool", "ip", "tc"),
    "starts a server": ("jupyter",),
    "needs another machine": ("ssh",),
    "needs a device that has measured": ("sqlite3",),
    "is another program": ("flent", "tshark", "mergecap", "prometheus"),
    "needs another program": ("docker",),
    "needs root and network interfaces": ("sojournd run",),
    "needs the interfaces of the configuration": ("sojournd doctor",),
    "needs a configuration of the reader": ("sojournd check",),
    "needs a capture": ("sojournd replay",),
    "needs root, or a device that has measured": ("sojourn device",),
    "needs root": ("SOJOURND=",),
    "takes minutes; the tests of the studies run it": ("sojourn papers run",),
    "takes minutes; the tests of the peers run it": ("sojourn crosscheck",),
    "is the test run": (".ci/",),
    "runs a script of the repository": (".venv/",),
    "takes minutes; .ci/run does it": ("fuzz/",),
    "writes a page": ("python docs/",),
    "measures speed": ("python3 benches/",),
}
"""Commands that no test runs, by the reason: the words that they begin with."""
NEVER: Final = {start: why for why, starts in WHY.items() for start in starts}
#: What a block names that no test has, and why it is not run then.
ABSENT: Final = {
    "/var/lib/sojournd/": "needs a device that has measured",
    "dask_jobqueue": "needs a cluster",
    "dask_kubernetes": "needs a cluster",
    "tcp://": "needs a cluster",
    "--format flent": "needs a plan with time series",
}
_COMMANDS = {word.split()[0] for word in NEVER} | {
    "sojourn",
    "sojournd",
    "python",
    "python3",
    "man",
    "source",
    "eval",
}
_SHELL = {"console", "sh", "bash", "shell"}
_MARKER = re.compile(r"^\s*<!-- (?:(not run|file|status): (.+?)|(output)) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A block of code on a page.

    ``kind`` is ``python``, ``shell``, ``toml``, ``json`` or ``text``; ``reason`` is why it is not run.
    """

    line: int
    kind: str
    text: str
    reason: str = ""
    file: str = ""
    status: int = 0

    def commands(self) -> list[str]:
        """Return the commands of a block of kind shell."""
        joined = self.text.replace("\\\n", " ").splitlines()
        prompt = any(line.startswith("$ ") for line in joined)
        lines = [line.removeprefix("$ ") for line in joined if not prompt or line.startswith("$ ")]
        return [line for line in map(str.strip, lines) if line and not line.startswith("#")]

    def runs(self) -> bool:
        """Whether a part of it is run or read."""
        if self.reason or self.kind == "text":
            return False
        return self.kind != "shell" or any(not never(command) for command in self.commands())


def never(command: str) -> str:
    """Return why a command is not run; an empty text where it is."""
    words = re.sub(r"\s+", " ", command.removeprefix("sudo "))
    if re.search(r" \.\.\.$", words):
        return "is shortened"
    for what, why in ABSENT.items():
        if what in words:
            return why
    for start, why in NEVER.items():
        if words.startswith(start) and (start[-1] in "/=" or words[len(start) :][:1] in ("", " ")):
            return why
    return ""


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages whose blocks count."""
    # What is generated from records of other programs, and the history, show no commands to run.
    return sorted(
        [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/**/*.md"), *root.glob("papers/*/README.md")]
    )


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in their order."""
    found: list[Block] = []
    lines = page.read_text().splitlines()
    marks: dict[str, str] = {}
    saved = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        if mark := _MARKER.match(line):
            marks[mark[1] or mark[3]] = mark[2] or ""
            at += 1
            continue
        fence = re.match(r"^(\s*)(```+|~~~+)\s*([\w+-]*)", line)
        if fence:
            end = next(n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(fence[2]))
            text = "\n".join(one.removeprefix(fence[1]) for one in lines[at + 1 : end]) + "\n"
            found.append(_block(at + 1, fence[3].lower(), text, marks, saved))
            at, marks, saved = end + 1, {}, ""
            continue
        # Indented by four, below an empty line and not inside a list.
        if (
            line.startswith("    ")
            and (at == 0 or not lines[at - 1].strip() or _MARKER.match(lines[at - 1]))
            and not _in_list(lines, at)
        ):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(one[4:] for one in lines[at:end]).rstrip() + "\n"
            for skipped, part in _parts(text):
                found.append(_block(at + 1 + skipped, "", part, marks, saved))
            at, marks, saved = end, {}, ""
            continue
        if line.strip():
            marks = {}
            names = re.findall(r"[Ss]ave (?:this|it) as `([^`]+)`", line)
            saved = names[-1] if names else saved if not line.startswith("#") else ""
        at += 1
    return found


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Split commands from the TOML below them: Markdown joins indented blocks over an empty line."""
    first = 0
    for empty in re.finditer(r"\n\n+", text):
        kinds = [_kind("", part) for part in (text[first : empty.start()], text[empty.end() :].partition("\n\n")[0])]
        if set(kinds) == {"shell", "toml"}:
            yield text[:first].count("\n"), text[first : empty.start()] + "\n"
            first = empty.end()
    yield text[:first].count("\n"), text[first:]


def _in_list(lines: list[str], at: int) -> bool:
    for line in reversed(lines[:at]):
        if line.strip() and not line.startswith(" "):
            return bool(re.match(r"([*-]|\d+\.) ", line))
    return False


def _block(line: int, language: str, text: str, marks: dict[str, str], saved: str) -> Block:
    kind = "text" if "output" in marks else _kind(language, text)
    file = marks.get("file", saved if kind == "toml" else "")
    first = re.match(r"# (\S+\.(?:toml|py))\b", text)
    if not file and first and kind in {"toml", "python"}:
        file = first[1]
    absent = [why for what, why in ABSENT.items() if kind == "python" and what in text]
    reason = marks.get("not run") or "".join(absent[:1])
    return Block(line, kind, text, reason, file, int(marks.get("status", 0)))


def _kind(language: str, text: str) -> str:
    known = {"python": "python", "py": "python", "toml": "toml", "json": "json", "text": "text", "txt": "text"}
    if language:
        return "shell" if language in _SHELL else known.get(language, language)
    first = next(line for line in text.splitlines() if line.strip())
    word = first.removeprefix("$ ").removeprefix("sudo ").split()[0]
    if (
        first.startswith("$ ")
        or word in _COMMANDS
        or word.startswith(("SOJOURND=", ".ci/", "fuzz/", "packaging/", ".venv/"))
    ):
        return "shell"
    if re.match(r"(from|import) \w|#.*\.py\b", first):
        return "python"
    with contextlib.suppress(tomllib.TOMLDecodeError):
        tomllib.loads(text)
        return "toml"
    return "text"


def digest(page: Path) -> str:
    """Return what changes when a block that is run changes."""
    text = json.dumps([[one.kind, one.text, one.file, one.status] for one in blocks(page) if one.runs()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class BlockError(Exception):
    """A block that does not run."""


@dataclass
class Runner:
    """Runs the blocks of one page in a folder."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def page(self, page: Path) -> None:
        """Run every block."""
        self.prepare()
        for block in blocks(page):
            if block.runs():
                try:
                    self.block(block)
                except Exception as error:
                    where = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
                    raise BlockError(f"{where}:{block.line}: {error}") from error

    def prepare(self) -> None:
        """Make the commands and the folders that a reader has."""
        bin_ = self.folder / ".bin"
        bin_.mkdir()
        sojourn = bin_ / "sojourn"
        sojourn.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sojourn "$@"\n')
        sojourn.chmod(sojourn.stat().st_mode | stat.S_IEXEC)
        for name in ("python", "python3"):
            # No link: an interpreter finds its environment beside the name that it was started by.
            interpreter = bin_ / name
            interpreter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            interpreter.chmod(interpreter.stat().st_mode | stat.S_IEXEC)
        device = os.environ.get("SOJOURND") or shutil.which(str(ROOT / "target/release/sojournd"))
        if device:
            (bin_ / "sojournd").symlink_to(Path(device).resolve())
        for name in ("scenarios", "docs", "papers", "examples"):
            if (ROOT / name).exists():
                (self.folder / name).symlink_to((ROOT / name).resolve())

    def block(self, block: Block) -> None:
        """Run one block."""
        if block.file:
            # Next to the page's own files, never through a link into the repository.
            (self.folder / block.file).write_text(block.text)
        if block.kind == "toml":
            tomllib.loads(block.text)
        elif block.kind == "json":
            json.loads(block.text)
        elif block.kind == "python":
            if not block.file:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block.text, f"line {block.line}", "exec"), self.names)  # noqa: S102
        elif block.kind == "shell":
            self.shell(block)
        else:
            raise BlockError(f"a block of {block.kind}: nothing runs it; say why with <!-- not run: ... -->")

    def shell(self, block: Block) -> None:
        """Run the commands of a block one after the other."""
        commands = [command for command in block.commands() if not never(command)]
        environment = {
            **os.environ,
            "PATH": f"{self.folder / '.bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "python"),
            "COLUMNS": "140",
        }
        for number, command in enumerate(commands):
            wanted = block.status if number == len(commands) - 1 else 0
            done = subprocess.run(  # noqa: S603
                ["bash", "-o", "pipefail", "-c", command],  # noqa: S607
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
                stdin=subprocess.DEVNULL,
            )
            # Who closes a pipe early (`| head`) is no failure.
            if done.returncode != wanted and not (done.returncode == 141 and "| head" in command):
                raise BlockError(
                    f"{command}\nstatus {done.returncode}, not {wanted}\n{done.stdout[-500:]}{done.stderr[-1500:]}"
                )


def run(page: Path) -> float:
    """Run the blocks of a page and return the CPU time, in seconds."""
    before = _cpu()
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="blocks-") as folder:
        os.chdir(folder)
        try:
            Runner(Path(folder)).page(page)
        finally:
            os.chdir(here)
    return _cpu() - before


def _cpu() -> float:
    of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in of)


def recorded() -> dict[str, Any]:
    """Return what ran, by page."""
    known: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return known


def wanted(page: Path) -> bool:
    """Whether a page changed since it was recorded, or is cheap."""
    known = recorded().get(str(page.relative_to(ROOT)))
    return known is None or known["digest"] != digest(page) or known["cpu_s"] < CHEAP_S


def listing(root: Path) -> Iterator[str]:
    """Yield a line for each block."""
    for page in pages(root):
        for block in blocks(page):
            if block.kind == "text":
                what = "output"
            elif block.reason:
                what = f"not run: {block.reason}"
            elif block.runs():
                what = "run" if block.kind in {"python", "shell"} else "read"
            else:
                what = "not run: " + ", ".join(dict.fromkeys(never(command) for command in block.commands()))
            yield f"{page.relative_to(root)}:{block.line} {block.kind} {what}"


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT, help="list the pages of another copy of the repository")
    options = parser.parse_args()
    if options.list:
        print("\n".join(listing(options.root.resolve())))
        return 0
    chosen = [path.resolve() for path in options.pages]
    if options.all:
        chosen = pages()
    elif options.changed:
        chosen = [page for page in pages() if wanted(page)]
    known = recorded()
    failed = 0
    for page in chosen:
        if not any(block.runs() for block in blocks(page)):
            continue
        name = str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else str(page)
        try:
            cpu_s = run(page)
        except BlockError as error:
            failed += 1
            print(f"FAILED {error}", file=sys.stderr)
            if error.__cause__ is not None and not isinstance(error.__cause__, BlockError):
                traceback.print_exception(error.__cause__, limit=-3)
            continue
        print(f"{name}: {cpu_s:.1f} s of CPU")
        known[name] = {"digest": digest(page), "cpu_s": round(cpu_s, 1)}
    if options.record:
        present = {str(page.relative_to(ROOT)) for page in pages()}
        kept = {name: known[name] for name in sorted(known) if name in present}
        RECORD.write_text(json.dumps(kept, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
