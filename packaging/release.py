"""Checks and prepares a release: crates, wheels, source distribution, Debian package, site and what goes with them.

    packaging/release.py              checks dist/ and writes what it lacks; the first failure ends it with status 2
    packaging/release.py --dry-run    the same for a tree that is not ready: prints what is still open, and goes on
    packaging/release.py --only STEP  some steps; may be repeated

`make release` builds before: wheels, source distribution and Debian package. Nothing is uploaded; the last lines say
how. The tools of this script have an environment of their own (target/release-tools), hashes in release.lock.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import address
import notices

ROOT = Path(__file__).resolve().parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
TOOLS = TARGET / "release-tools"
BAD_INPUT = 2
#: The longest text of a paper in JOSS.
WORDS = 1000


class ReleaseError(Exception):
    """What is wrong, for good."""


class OpenError(ReleaseError):
    """What a release needs and a tree under development lacks."""


def said(*words: str | Path, where: Path = ROOT, **environment: str) -> str:
    """Return what a program prints; its failure is an error with its last lines."""
    done = subprocess.run(
        words, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise ReleaseError(f"{Path(words[0]).name}: " + "\n    ".join(lines[-12:]))
    return done.stdout


def tool(name: str) -> Path:
    """Return a tool of the environment, which is made if it is not there or its lock has changed."""
    lock = (ROOT / "packaging" / "release.lock").read_bytes()
    stamp = TOOLS / hashlib.sha256(lock).hexdigest()
    if not stamp.exists():
        shutil.rmtree(TOOLS, ignore_errors=True)
        said(sys.executable, "-m", "venv", TOOLS)
        # cffconvert asks for an old jsonschema, see release.in.
        pip = (TOOLS / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        said(*pip, "--no-deps", "--require-hashes", "-r", ROOT / "packaging" / "release.lock")
        stamp.touch()
    return TOOLS / "bin" / name


def version() -> str:
    """Return the version of the workspace."""
    found: str = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    return found


def built(dist: Path, pattern: str, make: str) -> list[Path]:
    """Return files of dist/ of this version, at least one."""
    found = sorted(dist.glob(pattern))
    if not found:
        raise OpenError(f"{dist.name}/{pattern} is missing: {make}")
    return found


def check_version(_: Path) -> str:
    """Whether the version is the same in every place."""
    number = version()
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    places = {
        "CITATION.cff": re.findall(r"(?m)^version: (.*)$", cited),
        "packaging/conda/recipe.yaml": re.findall(r'(?m)^  version: "(.*)"$', recipe),
    }
    for name, entry in tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["dependencies"].items():
        if name.startswith("sojourn-"):
            places[f"Cargo.toml, {name}"] = [entry.get("version", "none")]
    for place, found in places.items():
        if found != [number]:
            raise ReleaseError(f"the version in {place} is {', '.join(found) or 'missing'}; allowed: {number}")
    return number


def check_changelog(_: Path) -> str:
    """Whether the change log has this version with the date of CITATION.cff."""
    heading = re.search(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    [date] = re.findall(r"(?m)^date-released: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"))
    wanted = f"{version()} ({date})"
    if heading is None or heading[1] != wanted:
        raise OpenError(f"CHANGELOG.md begins with {heading and heading[1]!r}; allowed: '{wanted}'")
    return wanted


def check_tree(_: Path) -> str:
    """Whether everything is committed, and the commit has the tag of the version."""
    if changed := said("git", "status", "--porcelain").splitlines():
        raise OpenError(f"{len(changed)} files are not committed, such as {changed[0][3:]}")
    tag = f"v{version()}"
    if tag not in said("git", "tag", "--points-at", "HEAD").split():
        raise OpenError(f"this commit has no tag {tag}: git tag --sign {tag}")
    return tag


def check_address(_: Path) -> str:
    """Whether the public addresses are set, and written where they belong."""
    said(sys.executable, ROOT / "packaging" / "address.py", "--check")
    at = address.addresses()
    if missing := [name for name, value in at.items() if not value]:
        raise OpenError(f"packaging/address.toml has no {' and no '.join(missing)}")
    return at["repository"]


def check_crates(dist: Path) -> str:
    """Whether every crate but those with `publish = false` can be published, each built from its package alone."""
    words = ["cargo", "publish", "--workspace", "--dry-run", "--locked", "--allow-dirty"]
    said(*words, CARGO_TARGET_DIR=str(TARGET / "publish"))
    metadata = json.loads(said("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))
    names = [one["name"] for one in metadata["packages"] if one["publish"] != []]
    if foreign := [name for name in names if not name.startswith("sojourn-")]:
        raise ReleaseError(f"{', '.join(foreign)} would be published; allowed: sojourn-*")
    (dist / "crates").mkdir(parents=True, exist_ok=True)
    for name in names:
        file = f"{name}-{version()}.crate"
        # Cargo keeps each twice, where it builds from and where it would upload from.
        package, *_ = sorted((TARGET / "publish" / "package").rglob(file))
        shutil.copyfile(package, dist / "crates" / file)
    return f"{len(names)} crates"


def check_wheels(dist: Path) -> str:
    """Whether wheels and source distribution are there, and a registry would take them."""
    wheels = built(dist, f"sojourn-{version()}-*.whl", "make wheel")
    sources = built(dist, f"sojourn-{version()}.tar.gz", "make sdist")
    said(tool("twine"), "check", "--strict", *wheels, *sources)
    return ", ".join(path.name.removeprefix(f"sojourn-{version()}") for path in (*wheels, *sources))


def check_deb(dist: Path) -> str:
    """Whether the Debian package is there, and lintian finds nothing."""
    if not shutil.which("lintian"):
        raise OpenError("lintian is not installed: apt-get install lintian")
    packages = built(dist, f"sojournd_{version()}_*.deb", "make deb")
    words = ["lintian", "--allow-root", "--fail-on", "error,warning"]
    unset = "" if address.addresses()["contact"] else " but for tags about the contact, which is not set"
    if unset:
        words += ["--suppress-tags", "bogus-mail-host,bogus-mail-host-in-debian-changelog,root-in-contact"]
    said(*words, *packages)
    return f"{', '.join(path.name for path in packages)}: lintian found nothing{unset}"


def check_citation(_: Path) -> str:
    """Whether CITATION.cff and the paper are as their readers want them."""
    said(tool("cffconvert"), "--validate", "--infile", ROOT / "CITATION.cff")
    text = (ROOT / "paper" / "paper.md").read_text("utf-8")
    body = text.split("---\n", 2)[2]
    for heading in ("Summary", "Statement of need", "State of the field", "References"):
        if f"\n# {heading}\n" not in body:
            raise ReleaseError(f"paper/paper.md has no heading {heading!r}")
    keys = set(re.findall(r"(?m)^@\w+\{(.+),$", (ROOT / "paper" / "paper.bib").read_text("utf-8")))
    cited = set(re.findall(r"@([a-z]+\d{4}\w*)", body))
    if cited != keys:
        raise ReleaseError(f"paper.md and paper.bib differ in {', '.join(sorted(cited ^ keys))}")
    for picture in re.findall(r"!\[.*\]\((\S+?)\)", body):
        if not (ROOT / "paper" / picture).is_file():
            raise ReleaseError(f"paper/paper.md: {picture} does not exist")
    if (words := len(body.split())) > WORDS:
        raise ReleaseError(f"paper/paper.md has {words} words; allowed: {WORDS}")
    return f"CITATION.cff is valid; the paper has {words} words and {len(keys)} references"


def check_site(_: Path) -> str:
    """Build the documentation in a folder of its version, and follow every link in it."""
    site = ROOT / "out" / "site"
    said(sys.executable, ROOT / "docs" / "site.py", "--out", site, "--version", version())
    words = ("-m", "pytest", "-q", "tests/python/test_site.py", "-k", "link_inside or another_host and not browser")
    said(sys.executable, *words, SOJOURN_TEST_SITE=str(site / version()))
    pages = sum(1 for _ in (site / version()).rglob("*.html"))
    return f"{pages} pages in out/site/{version()}, every link leads somewhere"


def write_sbom(dist: Path) -> str:
    """Write the bill of materials (CycloneDX) of what wheel and package contain and of what the wheel needs."""
    crates = [[crate.name, crate.version, crate.licence] for crate in notices.linked()]
    locked = re.findall(r"(?m)^([\w.-]+)==([^ \\]+)", (ROOT / "requirements.lock").read_text("utf-8"))
    given = {"name": "sojourn", "version": version(), "crates": crates, "python": locked}
    words = (tool("python"), ROOT / "packaging" / "sbom.py", dist / f"sojourn-{version()}.cdx.json")
    done = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"sbom.py: {done.stderr.strip()[-800:]}")
    return f"{len(crates)} crates and {len(locked)} Python packages; valid by the schema"


def write_provenance(dist: Path) -> str:
    """Write SHA256SUMS, and what was built from which commit as an in-toto statement (SLSA provenance 1)."""
    own = ("SHA256SUMS", "provenance.json")
    files = sorted(path for path in dist.rglob("*") if path.is_file() and path.name not in own)
    digests = {str(path.relative_to(dist)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    commit = said("git", "rev-parse", "HEAD").strip()
    rust = said("rustc", "--version").strip()
    source = address.addresses()["repository"] or "file:."
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in digests.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{source}#make-release",
                "externalParameters": {"version": version()},
                "internalParameters": {"rustc": rust, "python": sys.version.split()[0]},
                "resolvedDependencies": [
                    {"uri": f"git+{source}", "digest": {"gitCommit": commit}},
                    *(
                        {"uri": name, "digest": {"sha256": hashlib.sha256((ROOT / name).read_bytes()).hexdigest()}}
                        for name in ("Cargo.lock", "requirements-dev.lock")
                    ),
                ],
            },
            "runDetails": {
                "builder": {"id": f"{source}#packaging/release.py"},
                "metadata": {"finishedOn": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")},
            },
        },
    }
    (dist / "provenance.json").write_text(json.dumps(statement, indent=2) + "\n", encoding="utf-8")
    digests["provenance.json"] = hashlib.sha256((dist / "provenance.json").read_bytes()).hexdigest()
    sums = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    (dist / "SHA256SUMS").write_text(sums, encoding="utf-8")
    return f"{len(files)} files, commit {commit[:12]}; not signed"


#: In order; those that write come last.
STEPS: dict[str, Callable[[Path], str]] = {
    "version": check_version,
    "changelog": check_changelog,
    "tree": check_tree,
    "address": check_address,
    "citation": check_citation,
    "crates": check_crates,
    "wheels": check_wheels,
    "deb": check_deb,
    "site": check_site,
    "sbom": write_sbom,
    "provenance": write_provenance,
}
UPLOAD = """
To publish, with the accounts of the project:
    git push origin v{version}
    cargo publish --workspace --locked
    {twine} upload {dist}/sojourn-{version}*.whl {dist}/sojourn-{version}.tar.gz
    gpg --detach-sign --armor {dist}/SHA256SUMS"""


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--only", action="append", choices=STEPS, metavar="STEP", help=", ".join(STEPS))
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    dist = options.dist.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    is_open = False
    for name in options.only or STEPS:
        began = time.monotonic()
        try:
            outcome, text = "ok", STEPS[name](dist)
        except OpenError as error:
            if not options.dry_run:
                raise ReleaseError(f"{name}: {error}") from None
            outcome, text, is_open = "open", str(error), True
        except ReleaseError as error:
            raise ReleaseError(f"{name}: {error}") from None
        print(f"{outcome:<5} {name:<11} {text} [{time.monotonic() - began:.0f} s]", flush=True)
    if is_open:
        print("Not ready: what is open above is needed for a release.")
    elif not options.only:
        print(UPLOAD.format(version=version(), dist=dist.name, twine=tool("twine")))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ReleaseError, address.AddressError, notices.NoticeError) as error:
        print(f"release: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
