"""Build the documentation site, from the same pages that are read in the repository.

    python docs/site.py                  the site in out/site
    python docs/site.py --out FOLDER     elsewhere
    python docs/site.py --sources        the gathered pages alone, in out/site-sources
    python docs/site.py --version 0.1.0  the site in out/site/0.1.0, and a page that lists the versions

Pages of ``docs`` are joined by those beside the sources that they link to (the published studies, the design), a page
for each command and a page for each public module of Python. A link that leads nowhere, a page without a place, and
every warning of MkDocs end the build with status 1. Nothing is fetched.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WEB = ROOT / "out" / "web" / "sojourn.html"

#: The sections, with the pages that come first in each; further pages of the folder follow by name.
SECTIONS: Final = {
    "Tutorial": ("tutorial", ["first-comparison"]),
    "Guides": (
        "guides",
        [
            *("browser", "access", "applications", "plans", "tune", "networks-that-change", "adaptive"),
            *("learning", "traces", "place", "real-programs", "real-applications", "gateway"),
            *("your-own-algorithm", "add-your-own"),
        ],
    ),
    "Concepts": ("concepts", ["measurement", "simulator", "simulation-practice", "fidelity", "timelines", "device"]),
    "Reference": (
        "reference",
        ["scenario", "algorithms", "kernels", "metrics", "traces", "device", "commands", "errors", "python"],
    ),
    "Papers": ("papers", ["index"]),
    "Project": ("project", ["design", "contributing", "changelog", "history", "security"]),
}
#: Pages outside docs that have a place of their own; the others that a page links to join "project".
PLACES: Final = {
    "README.md": "index.md",
    "DESIGN.md": "project/design.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "docs/history.md": "project/history.md",
    "docs/papers.md": "papers/index.md",
    "papers": "papers/index.md",
    "examples": "tutorial/notebooks.md",
}
#: The public modules of Python, in the order of a reader's way: page, what it is of.
PYTHON: Final = {
    "sojourn.model.network": "Networks",
    "sojourn.model.topologies": "Ready-made networks",
    "sojourn.model.lines": "Access lines and RRUL",
    "sojourn.results.under_load": "Results of RRUL",
    "sojourn.model.traffic": "Traffic and transport",
    "sojourn.model.recorded": "Traffic of one's own",
    "sojourn.results.applications": "Results of applications",
    "sojourn.studies.working_conditions": "Responsiveness under load",
    "sojourn.model.draw": "Random quantities",
    "sojourn.view.trace": "Rates over time",
    "sojourn.base.units": "Units",
    "sojourn.model.scheme": "Schemes",
    "sojourn.plugins": "Algorithms of one's own",
    "sojourn.plan.runner": "Running and comparing",
    "sojourn.plan.logs": "Packet traces and decision logs",
    "sojourn.results.results": "Results",
    "sojourn.results.data": "Data of results",
    "sojourn.results.notices": "Notices",
    "sojourn.view.plot": "Figures",
    "sojourn.stats": "Estimates",
    "sojourn.results.outcome": "Quality of outcome",
    "sojourn.results.harm": "Harm",
    "sojourn.results.smoothness": "Goodput over intervals",
    "sojourn.plan.stepping": "Stepping through a run",
    "sojourn.gym": "Environments for learning",
    "sojourn.plan": "Plans",
    "sojourn.plan.read": "Reading a store",
    "sojourn.studies.tune": "Tuning",
    "sojourn.studies.sensitivity": "Sensitivity",
    "sojourn.theory": "Theory",
    "sojourn.studies.topology": "Topologies",
    "sojourn.studies.placement": "Placement",
    "sojourn.studies.papers": "Executable papers",
    "sojourn.tc": "Linux's tc",
    "sojourn.real.shell.emulation": "Real programs on an emulated link",
    "sojourn.real.device.windows": "Windows of the device",
    "sojourn.base.errors": "Errors",
    "sojourn.base.core": "Version",
}

_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)((?:\s+\"[^\"]*\")?)\)")
_FENCE = re.compile(r"^(```|~~~)")
# In lunr.TokenSet.prototype.toString of the theme's search.
_NODE_NAME: Final = "e=e+s+o.id}return e"
_NODE_NAME_MENDED: Final = 'e=e+s+o.id+","}return e'
# Who made a page; see the head of generated pages.
_NOTE = re.compile(r"\A<!--.*?-->\n", re.DOTALL)


class SiteError(Exception):
    """A page that cannot be built."""


@dataclass
class Site:
    """Pages on their way into a folder."""

    folder: Path
    #: Where a file of the repository is in the site.
    places: dict[str, str] = field(default_factory=dict)
    queue: list[str] = field(default_factory=list)

    def gather(self) -> None:
        """Copy every page, and what pages link to."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.places.update(PLACES)
        pages = [str(path.relative_to(ROOT)) for path in sorted(DOCS.rglob("*.md"))]
        pages += ["DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
        pages += [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("papers/*/README.md"))]
        for page in pages:
            self.place(page)
        while self.queue:
            self.copy(self.queue.pop(0))
        for name in ("site.css", "favicon.svg", "iframe-worker.js"):
            shutil.copyfile(DOCS / name, self.folder / name)

    def place(self, source: str) -> str:
        """Return where a file of the repository is in the site, and see that it will be there."""
        if source not in self.places:
            path = PurePosixPath(source)
            if path.parts[0] == "docs":
                target = str(path.relative_to("docs"))
            elif path.parts[0] == "papers" and path.name == "README.md":
                target = f"papers/{path.parts[1]}.md"
            elif path.suffix == ".md":
                target = "project/" + "-".join(path.with_suffix("").parts).replace("-README", "").lower() + ".md"
            else:
                # Text that a browser shows rather than saves.
                target = f"files/{source}" + ("" if path.suffix in {".png", ".svg"} else ".txt")
            self.places[source] = target
            self.queue.append(source)
        elif source not in self.queue and self.is_due(source):
            self.queue.append(source)
        return self.places[source]

    def is_due(self, source: str) -> bool:
        """Whether a page with a place of its own is still to be copied."""
        # README.md stands for the page that docs/index.md is.
        known = source in PLACES and source != "README.md" and (ROOT / source).is_file()
        return known and not (self.folder / self.places[source]).exists()

    def copy(self, source: str) -> None:
        """Write a file of the repository into the site, its links changed."""
        target = self.folder / self.places[source]
        target.parent.mkdir(parents=True, exist_ok=True)
        if not source.endswith(".md"):
            shutil.copyfile(ROOT / source, target)
            return
        target.write_text(self.page(source))

    def page(self, source: str) -> str:
        """Return a page as Python-Markdown wants it, with the links of the site."""
        lines: list[str] = []
        fenced = False
        # MkDocs takes a page's title from a heading that is the first element, which a comment would be.
        text = _NOTE.sub("", (ROOT / source).read_text())
        for line in text.splitlines():
            opens = bool(_FENCE.match(line.lstrip()))
            if not fenced and not opens and not line.startswith("    "):
                # GitHub begins a list below a paragraph without an empty line between them.
                if re.match(r"([*-]|\d+\.) ", line) and lines and _paragraph(lines[-1]):
                    lines.append("")
                lines.append(_LINK.sub(lambda found: self.link(source, found), line))
            else:
                lines.append(line)
            fenced ^= opens
        return "\n".join(lines) + "\n"

    def link(self, source: str, found: re.Match[str]) -> str:
        """Return a link of a page with its target in the site."""
        text, target, title = found.groups()
        path, hash_, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        wanted = os.path.normpath(PurePosixPath(source).parent / path)
        # The bundled scenarios are reached through a link.
        real = os.path.relpath((ROOT / wanted).resolve(), ROOT)
        if wanted.startswith("..") or not (ROOT / wanted).exists():
            raise SiteError(f"{source}: {target} does not exist")
        if (ROOT / wanted).is_dir() and wanted not in self.places:
            raise SiteError(f"{source}: {target} is a folder without a page")
        place = self.place(wanted if wanted in self.places else real)
        here = PurePosixPath(self.places[source]).parent
        return f"{text}({os.path.relpath(place, here)}{hash_}{anchor}{title})"


def _paragraph(line: str) -> bool:
    return bool(line.strip()) and not re.match(r"\s|([*-]|\d+\.) |#|\||>|<!--", line)


def command_pages() -> dict[str, str]:
    """Return a page for each command: what ``--help`` says of it and of those below it."""
    from sojourn.cli import manual

    pages = {}
    program = manual.program()
    rows = "\n".join(f"| [`sojourn {verb.name}`]({verb.name}.md) | {verb.help} |" for verb in program.commands)
    pages["index"] = (
        "# Commands\n\n`sojourn COMMAND --help` prints the same.\n\n"
        f"| command | what it does |\n| --- | --- |\n{rows}\n"
    )
    for verb in program.commands:
        pages[verb.name] = manual.markdown(verb)
    return pages


def python_pages() -> dict[str, str]:
    """Return a page for each public module, of which mkdocstrings makes the reference."""
    pages = {}
    rows = []
    seen: set[str] = set()
    for name, title in PYTHON.items():
        module = importlib.import_module(name)
        first = inspect.getdoc(module)
        if first is None:
            raise SiteError(f"{name} has no docstring")
        # Roles of Sphinx are code, as roles.py has it for the docstrings below.
        summary = re.sub(r":[a-z]+:`", "`", first.split("\n\n")[0].replace("\n", " "))
        page = name.removeprefix("sojourn.")
        rows.append(f"| [`{name}`]({page}.md) | {title.lower() if title[1].islower() else title} | {summary} |")
        parts = [f"# {title}", f"`{name}`: {summary}"]
        # A name that several modules offer is explained once.
        own = [path for path in _public(module) if path not in seen]
        seen.update(own)
        # The methods of Network that add elements are those of its base class.
        more = "\n    options:\n      inherited_members: true"
        parts += [f"::: {path}{more if path == 'sojourn.model.network.Network' else ''}" for path in own]
        pages[page] = "\n\n".join(parts) + "\n"
    pages["index"] = "\n".join(
        [
            "# Python reference",
            "",
            "Names of the modules for networks, schemes, runs and results are also in `sojourn` itself.",
            "",
            "| module | what | |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )
    return pages


def _public(module: Any) -> Iterator[str]:
    """Name what a module offers, each by the module that defines it."""
    import sojourn

    home = {
        name
        for name in sojourn.__all__
        if sojourn._HOME.get(module.__name__) and name in sojourn._HOME[module.__name__]
    }
    names = sorted(home) or getattr(module, "__all__", None)
    if names is None:
        own = (name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__)
        names = [name for name in own if not name.startswith("_")]
    for name in names:
        value = getattr(module, name)
        where = getattr(value, "__module__", None)
        if where and where.startswith("sojourn") and hasattr(value, "__qualname__"):
            yield f"{where}.{value.__qualname__}"
        elif inspect.ismodule(value):
            continue
        else:
            yield f"{module.__name__}.{name}"


def navigation(folder: Path) -> list[Any]:
    """Return the order of the pages."""
    sections: list[Any] = [{"Home": "index.md"}]
    for title, (name, first) in SECTIONS.items():
        sections.append({title: _section(folder, folder / name, first)})
        if title == "Papers":
            sections.append({"Comparison": "comparison.md"})
    return sections


def _section(top: Path, folder: Path, first: list[str]) -> list[Any]:
    """Order the pages of a folder: ``index`` and those named first, then the others, and the folders below."""
    names = {path.stem for path in folder.glob("*.md")} | {path.name for path in folder.iterdir() if path.is_dir()}
    missing = [name for name in first if name not in names]
    if missing:
        raise SiteError(f"{folder.name}: no page {', '.join(missing)}")
    order = [name for name in ["index", *first] if name in names]
    if folder.name == "python":
        order = ["index", *(name.removeprefix("sojourn.") for name in PYTHON)]
    order += sorted(names - set(order))
    pages: list[Any] = []
    for name in dict.fromkeys(order):
        page, below = folder / f"{name}.md", folder / name
        if below.is_dir():
            inner = _section(top, below, [])
            title = _title(page if page.exists() else below / "index.md")
            pages.append({title: [*([str(page.relative_to(top))] if page.exists() else []), *inner]})
        elif page.exists():
            pages.append(str(page.relative_to(top)))
    return pages


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", page.read_text(), re.MULTILINE)
    if not found:
        raise SiteError(f"{page} has no heading")
    return found[1]


def page_of_browser(folder: Path) -> None:
    """Add the page of `make web`, and a link to it, where it has been built."""
    if not WEB.exists():
        return
    _write(folder / "web" / WEB.name, WEB.read_text())
    guide = folder / "guides" / "browser.md"
    guide.write_text(guide.read_text().replace("<!-- page -->", f"[Open the page](../web/{WEB.name})"))


def sources(folder: Path) -> None:
    """Gather every page of the site."""
    site = Site(folder)
    site.gather()
    page_of_browser(folder)
    for name, text in command_pages().items():
        _write(folder / "reference" / "commands" / f"{name}.md", text)
    for name, text in python_pages().items():
        _write(folder / "reference" / "python" / f"{name}.md", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def build(gathered: Path, out: Path, version: str | None = None) -> int:
    """Build the site, of a version or of these sources, and return the status of MkDocs."""
    text = (DOCS / "mkdocs.yml").read_text()
    at = tomllib.loads((ROOT / "packaging" / "address.toml").read_text())
    if at["site"]:
        text = text.replace('site_url: ""', f'site_url: "{at["site"]}{f"{version}/" if version else ""}"')
    if at["repository"]:
        # Not `repo_url`, for which the theme asks another host.
        link = (
            f"  social:\n    - {{ icon: material/source-repository, link: '{at['repository']}', name: Repository }}\n"
        )
        text = text.replace("extra:\n", "extra:\n" + link)
    text = text.replace("@PYTHON@", str(ROOT / "python")).replace("@DOCS@", str(DOCS))
    paths = {"docs_dir": str(gathered), "site_dir": str(out), "nav": navigation(gathered)}
    config = gathered.parent / f"{gathered.name}.yml"
    config.write_text(text + yaml.safe_dump(paths, sort_keys=False, allow_unicode=True))
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(config)]
    # The theme's notice about its successor says nothing of these pages.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    status = subprocess.run(words, check=False, env=environment).returncode  # noqa: S603
    if not status:
        mend_search(out)
    return status


def list_versions(folder: Path) -> None:
    """Write the page that lists the versions in a folder, and one of the name `latest` that leads to the newest."""

    def age(name: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", name)]

    names = [path.parent.name for path in folder.glob("*/index.html") if path.parent.name != "latest"]
    names.sort(key=age, reverse=True)
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sojourn: versions of the documentation</title>'
    )
    rows = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
    _write(folder / "index.html", f"{head}<h1>Sojourn: versions of the documentation</h1><ul>{rows}</ul></html>\n")
    newest = f"../{names[0]}/index.html"
    leads = f'{head}<meta http-equiv="refresh" content="0; url={newest}"><a href="{newest}">{names[0]}</a></html>\n'
    _write(folder / "latest" / "index.html", leads)


def mend_search(out: Path) -> None:
    """Give the search's nodes of tokens names of which no two are equal.

    lunr 2.3.9 names a node by the characters and numbers of its edges in a row, so "1" to node 23 and "12" to 3
    look alike. Different nodes are then merged, and a word is not found or ends the search with an error
    (https://github.com/olivernn/lunr.js/issues/503).
    """
    workers = list((out / "assets" / "javascripts" / "workers").glob("search.*.js"))
    for worker in workers:
        text = worker.read_text()
        if text.count(_NODE_NAME) != 1:
            raise SiteError(f"{worker.name}: lunr's name of a node is not as it was in mkdocs-material 9.8.1")
        worker.write_text(text.replace(_NODE_NAME, _NODE_NAME_MENDED))
    if len(workers) != 1:
        raise SiteError(f"{len(workers)} workers of the search instead of 1")


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "site")
    parser.add_argument("--sources", action="store_true")
    parser.add_argument("--version")
    options = parser.parse_args()
    out = options.out.resolve() / (options.version or "")
    gathered = options.out.resolve().with_name(options.out.name + "-sources")
    try:
        sources(gathered)
        status = 0 if options.sources else build(gathered, out, options.version)
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    if not status and not options.sources:
        if options.version:
            list_versions(options.out.resolve())
        print(out / "index.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
