"""Break one equation an algorithm and see which tests notice.

``python tests/mutations/run.py`` applies each entry of ``mutations.toml`` in a copy of the tree, builds, and runs the
algorithm's unit tests, its vectors and its model. It prints a table and fails where an entry survives all three.
``--check`` only looks that every registered algorithm has an entry that fits the sources.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = (
    "Cargo.toml",
    "Cargo.lock",
    "crates",
    "benches",
    "vectors",
    "python",
    "tests",
    "scenarios",
    "pyproject.toml",
)
KINDS = ("unit tests", "vectors", "model")


@dataclass(frozen=True)
class Mutation:
    """One wrong equation."""

    algorithm: str
    what: str
    file: str
    old: str
    new: str

    def apply(self, tree: Path) -> None:
        """Replace the old text in ``tree``."""
        path = tree / self.file
        path.write_text(path.read_text().replace(self.old, self.new))

    def wrong(self, tree: Path) -> str | None:
        """Say what keeps this entry from being applied."""
        path = tree / self.file
        found = path.read_text().count(self.old) if path.exists() else 0
        return None if found == 1 else f"{self.algorithm}: {self.old!r} stands {found} times in {self.file}"


def mutations() -> list[Mutation]:
    """Read the list."""
    entries = tomllib.loads((ROOT / "tests/mutations/mutations.toml").read_text())["mutation"]
    return [Mutation(**entry) for entry in entries]


def registered() -> set[str]:
    """Name the registered algorithms."""
    from sojourn import _native

    return {entry["name"] for entry in json.loads(_native.aqms())}


class Scratch:
    """A copy of the tree, built apart."""

    def __init__(self, target: Path, commit: str | None) -> None:
        self.tree = target / "tree"
        shutil.rmtree(self.tree, ignore_errors=True)
        self.tree.mkdir(parents=True)
        if commit:
            git = ("git", "-C", str(ROOT), "archive", commit)
            archive = subprocess.run(git, capture_output=True, check=True).stdout  # noqa: S603
            subprocess.run(("tar", "-x", "-m", "-C", str(self.tree)), input=archive, check=True)  # noqa: S603, S607
        for name in () if commit else COPIED:
            source = ROOT / name
            if source.is_dir():
                skip = shutil.ignore_patterns("target", "__pycache__", "*.so")
                # With the time of now: a target that is used again holds what the last run broke.
                shutil.copytree(source, self.tree / name, symlinks=True, ignore=skip, copy_function=shutil.copy)
            else:
                shutil.copy(source, self.tree / name)
        self.environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(target / "target"),
            "PYTHONPATH": str(self.tree / "python"),
            "RUST_BACKTRACE": "0",
        }

    def run(self, *command: str) -> bool:
        """Run a command in the copy; true when it succeeds."""
        done = subprocess.run(command, cwd=self.tree, env=self.environment, capture_output=True, check=False)  # noqa: S603
        self.said = done.stdout.decode() + done.stderr.decode()
        return done.returncode == 0

    def build(self, *, extension: bool = True) -> bool:
        """Build the tests and, for the model, the extension."""
        library = Path(self.environment["CARGO_TARGET_DIR"]) / "debug/lib_native.so"
        if extension:
            if not self.run("cargo", "build", "--offline", "-p", "sojourn-python"):
                return False
            shutil.copy2(library, self.tree / "python/sojourn/_native.abi3.so")
        return self.run("cargo", "test", "--offline", "-p", "sojourn-aqm", "--lib", "--test", "vectors", "--no-run")

    def noticed(self, algorithm: str, modules: str, *, first: bool = False) -> dict[str, bool]:
        """Say which of the three kinds of tests fail; with `first`, the model only where the others are silent."""
        cargo = ("cargo", "test", "--offline", "-q", "-p", "sojourn-aqm")
        pytest = (sys.executable, "-m", "pytest", "-q", "-x", "tests/models", "-p", "no:cacheprovider", "-k")
        found = {
            "unit tests": not self.run(*cargo, "--lib", f"{modules}::"),
            "vectors": not self.run(*cargo, "--test", "vectors", "every_vector"),
        }
        if first and any(found.values()):
            return found
        if first and not self.build():
            raise SystemExit(self.said)
        return found | {"model": not self.run(*pytest, f"decides and [{algorithm}]")}


def module(mutation: Mutation) -> str:
    """Name the module whose unit tests are the algorithm's."""
    if mutation.algorithm.startswith("fq_"):
        return "fair"
    own = mutation.algorithm
    return own if (ROOT / f"crates/aqm/src/schemes/{own}.rs").exists() else Path(mutation.file).stem


def main() -> int:
    """Run the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare the list with sources and registry")
    parser.add_argument(
        "--quick", action="store_true", help="ask the model only where unit tests and vectors are silent"
    )
    parser.add_argument("--target", type=Path, default=Path(tempfile.gettempdir()) / "sojourn-mutations")
    parser.add_argument("--commit", help="take the tree from git instead of the working copy")
    parser.add_argument("algorithms", nargs="*", help="all when none is named")
    options = parser.parse_args()
    chosen = [m for m in mutations() if not options.algorithms or m.algorithm in options.algorithms]
    scratch, survived = Scratch(options.target, options.commit), 0
    found = [text for mutation in chosen if (text := mutation.wrong(scratch.tree))]
    if not options.algorithms:
        found += [f"no mutation of {name}" for name in sorted(registered() - {m.algorithm for m in chosen})]
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    if options.check:
        return 0
    if not scratch.build():
        print(f"the tree does not build\n{scratch.said}", file=sys.stderr)
        return 1
    for number, mutation in enumerate(() if options.quick else chosen, 1):
        print(f"{number} of {len(chosen)}: {mutation.algorithm}, not broken", file=sys.stderr, flush=True)
        results = scratch.noticed(mutation.algorithm, module(mutation))
        if any(results.values()):
            print(f"{mutation.algorithm} fails before it is broken: {results}\n{scratch.said}", file=sys.stderr)
            return 1
    print(f"| algorithm | broken | {' | '.join(KINDS)} |\n|---|---|---|---|---|", flush=True)
    for number, mutation in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {mutation.algorithm}, broken", file=sys.stderr, flush=True)
        original = (scratch.tree / mutation.file).read_text()
        mutation.apply(scratch.tree)
        if not scratch.build(extension=not options.quick):
            # The compiler is no test: the entry has to be mended.
            print(f"{mutation.algorithm}: does not build\n{scratch.said}", file=sys.stderr)
            (scratch.tree / mutation.file).write_text(original)
            survived += 1
            continue
        results = scratch.noticed(mutation.algorithm, module(mutation), first=options.quick)
        (scratch.tree / mutation.file).write_text(original)
        words = [{True: "caught", False: "survived"}.get(results.get(kind), "not asked") for kind in KINDS]
        survived += not any(results.values())
        print(f"| {mutation.algorithm} | {mutation.what} | {' | '.join(words)} |", flush=True)
    print(f"\n{len(chosen)} broken equations, {survived} survived")
    return min(survived, 1)


if __name__ == "__main__":
    sys.exit(main())
