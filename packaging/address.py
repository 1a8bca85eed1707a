"""Writes the public addresses of packaging/address.toml where they belong, and the metadata for Zenodo.

    packaging/address.py           writes them into the files of FILES
    packaging/address.py --check   ends with status 1 where a file says something else
    packaging/address.py NAME      prints one of them

The Debian package and the site read them when they are built.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Addresses = dict[str, str]


class AddressError(Exception):
    """An address that is none, or a file that has no place for it."""


def addresses() -> Addresses:
    """Read the addresses."""
    file = ROOT / "packaging" / "address.toml"
    found: Addresses = tomllib.loads(file.read_text(encoding="utf-8"))
    forms = {"repository": r"https://\S+", "site": r"https://\S+/", "contact": r"[^@\s]+@[^@\s]+"}
    for name, form in forms.items():
        if not re.fullmatch(f"({form})?", found.get(name, "")):
            raise AddressError(f'{file}: {name} = "{found[name]}"; allowed: {form} or ""')
    return found


def urls(at: Addresses) -> str:
    """Return the table of pyproject.toml."""
    lines = {"Repository": at["repository"], "Documentation": at["site"]}
    text = "".join(f'{name} = "{url}"\n' for name, url in lines.items() if url)
    return f"[project.urls]\n{text}\n" if text else ""


def citation(at: Addresses) -> str:
    """Return the lines of CITATION.cff."""
    lines = {"repository-code": at["repository"], "url": at["site"]}
    return "".join(f'{name}: "{url}"\n' for name, url in lines.items() if url)


def people(at: Addresses) -> str:
    """Return whom to write to, for SECURITY.md and CODE_OF_CONDUCT.md."""
    if at["contact"]:
        return f"Write to <{at['contact']}>.\n"
    return (
        "Write to the people from whom you have the package or the sources. A Debian package names them in its\n"
        "field `Maintainer`.\n"
    )


#: What is replaced in each file: a pattern whose first group stays before the text, and the text.
FILES = {
    "Cargo.toml": (r'(license = ".*"\n)(?:repository = ".*"\n)?', lambda at: _line("repository", at["repository"])),
    "crates/*/Cargo.toml": (
        r"(license\.workspace = true\n)(?:repository\.workspace = true\n)?",
        lambda at: "repository.workspace = true\n" if at["repository"] else "",
    ),
    "pyproject.toml": (r"(\n)(?:\[project\.urls\]\n(?:.+\n)+\n)?(?=\[project\.optional-dependencies\])", urls),
    "CITATION.cff": (r"(\ndate-released: .*\n)(?:(?:repository-code|url): .*\n)*", citation),
    "SECURITY.md": (r"(<!-- contact -->\n\n)(?:.+\n)*(?=\n<!-- end of contact -->)", people),
    "CODE_OF_CONDUCT.md": (r"(<!-- contact -->\n\n)(?:.+\n)*(?=\n<!-- end of contact -->)", people),
}


def _line(key: str, value: str) -> str:
    return f'{key} = "{value}"\n' if value else ""


def texts(at: Addresses) -> dict[Path, str]:
    """Return what each file must say."""
    found = {}
    for glob, (pattern, text) in FILES.items():
        for file in sorted(ROOT.glob(glob)):
            value = text(at)
            new, count = re.subn(pattern, lambda match, value=value: match[1] + value, file.read_text("utf-8"))
            if count != 1:
                raise AddressError(f"{file}: {count} places for an address; allowed: 1")
            found[file] = new
    found[ROOT / ".zenodo.json"] = zenodo(at)
    return found


def zenodo(at: Addresses) -> str:
    """Return the metadata with which Zenodo archives a release, from CITATION.cff and pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")

    def said(key: str) -> str:
        return re.search(rf"(?m)^{key}: \"?(.*?)\"?$", cited)[1]

    abstract = re.search(r"(?s)\nabstract: >-\n(.*)", cited)[1]
    metadata = {
        "title": said("title"),
        "description": " ".join(abstract.split()),
        "upload_type": "software",
        "access_right": "open",
        "creators": [{"name": author["name"]} for author in project["authors"]],
        # Zenodo knows no choice of two; both texts are in the archive.
        "license": "MIT",
        "keywords": project["keywords"],
        "version": said("version"),
        "publication_date": said("date-released"),
        "language": "eng",
    }
    if at["repository"]:
        metadata["related_identifiers"] = [{"identifier": at["repository"], "relation": "isSupplementTo"}]
    return json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=("repository", "site", "contact"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    at = addresses()
    if options.name:
        print(at[options.name])
        return 0
    new = {file: text for file, text in texts(at).items() if not file.exists() or file.read_text("utf-8") != text}
    for file, text in new.items():
        if options.check:
            print(f"{file.relative_to(ROOT)} is out of date: packaging/address.py", file=sys.stderr)
        else:
            file.write_text(text, encoding="utf-8")
    return int(options.check and bool(new))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AddressError as error:
        print(f"address: {error}", file=sys.stderr)
        sys.exit(2)
