"""Reading a paper's folder."""

from __future__ import annotations

import csv
import io
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from sojourn.base import foreign, suggest
from sojourn.base.core import SojournError
from sojourn.studies.papers import runs as running
from sojourn.studies.papers.checks import as_tuples, need, read_toml
from sojourn.studies.papers.model import Claim, Paper, Published, Row

DOCUMENTS: Final = ("claims.toml", "schemes.toml", "readings.toml", "traffic.toml", "runs.toml", "published.csv")

_RENAMED: Final = {"except": "left_out", "negated": "is_negated", "best_of": "is_best_of", "slightly": "is_slight"}
_NEEDED: Final = ("id", "section", "place", "quote", "subject", "comparison", "metric")

STUDIES: Final = Path(__file__).parent / "studies"


def is_ours(study: Path) -> bool:
    """Return whether a study's folder is one of the package's."""
    return study.resolve().parent == STUDIES.resolve() and study.is_dir()


def folder() -> Path:
    """Return the folder of papers: in a checkout of the sources a link to ``papers/``."""
    if not STUDIES.is_dir():
        raise SojournError(
            f"there are no papers at {STUDIES}: in a checkout of Sojourn's sources this is a link to papers/, which "
            "some systems do not make; an installed package has them"
        )
    return STUDIES


def names() -> list[str]:
    """Return the names of all papers."""
    return sorted(one.name for one in folder().iterdir() if (one / "README.md").is_file())


def located(given: str) -> tuple[str, Path]:
    """Return a study's name and the folder that it is in: of a path (``./my-study``), or of the package's."""
    path = Path(given)
    if path.parent == Path() and not given.startswith("."):
        return given, folder()
    path = path.resolve()
    return path.name, path.parent


def load(name: str, where: Path | None = None) -> Paper:
    """Read a paper."""
    where = where or folder()
    place = where / name
    if not place.is_dir():
        known = sorted(one.name for one in where.iterdir() if one.is_dir())
        listed = ", ".join(known) or "none"
        raise SojournError(f"there is no study {name!r}{suggest.hint(name, known)}; the studies are: {listed}")
    missing = [one for one in DOCUMENTS if not (place / one).is_file()]
    if missing:
        raise SojournError(f"{place}: {', '.join(missing)} missing: this paper cannot be run")
    claims, schemes, readings, runs = (read_toml(place / one) for one in DOCUMENTS[:3] + DOCUMENTS[4:5])
    entries = [*need(schemes, "scheme", place / "schemes.toml"), *schemes.get("variant", ())]
    file = place / "runs.toml"
    replications = {key: int(value) for key, value in need(runs, "replications", file).items()}
    shared = of_study(place, runs, file, claims, schemes.get("groups", {}))
    conditions = running.conditions(runs, shared["groups"], tuple(replications), file)
    paper = Paper(
        **shared,
        scenario=str(need(runs, "scenario", file)),
        replications=replications,
        texts={entry["id"]: entry["text"] for entry in entries},
        other_texts={entry["id"]: dict(entry.get("readings", {})) for entry in entries},
        printed={entry["id"]: entry["printed"] for entry in entries},
        figures=dict(claims.get("figures", {})),
        published=_published(place / "published.csv"),
        conditions=conditions,
        readings=running.readings(runs, readings, conditions, tuple(replications), file),
        open_readings=readings,
        places=tuple(runs.get("places", ())),
        kinds=tuple(runs.get("kinds", ())),
        on={entry["id"]: tuple(entry["on"]) for entry in entries if "on" in entry},
    )
    used = {f"claims.toml: claim {one.id}": (*paper.subject_of(one), *paper.against_of(one)) for one in paper.claims}
    used |= {f"runs.toml: condition {one.name}": (*one.schemes, *one.beside) for one in paper.conditions}
    check_schemes(paper.folder, used, paper.texts)
    return paper


def check_schemes(folder: Path, used: Mapping[str, Iterable[str]], known: Container[str]) -> None:
    """Refuse a scheme that is not known; `used` are schemes by where they are named."""
    for where, schemes in used.items():
        for one in schemes:
            if one not in known:
                raise SojournError(f"{folder}/{where}: unknown scheme {one!r}")


def of_study(
    folder: Path, head: Mapping[str, Any], file: Path, claims: Mapping[str, Any], groups: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of :class:`Study`; title and source are those of `head`, which `file` holds."""
    place = folder / "claims.toml"
    rows = need(claims, "rows", place).items()
    return {
        "folder": folder,
        "title": str(need(head, "title", file)),
        "source": str(need(head, "source", file)),
        "groups": {key: tuple(value) for key, value in groups.items()},
        "rows": tuple(
            Row(name, one["name"], one["metrics"][0], one["unit"], float(one["scale"])) for name, one in rows
        ),
        "claims": _claims(need(claims, "sentence", place), claims.get("main", ()), place),
        "labels": {key: str(value) for key, value in claims.get("labels", {}).items()},
    }


def _published(file: Path) -> tuple[Published, ...]:
    found = []
    try:
        content = foreign.read_text(file)
    except UnicodeDecodeError as error:
        raise SojournError(f"{file}: {error}") from None
    with io.StringIO(content, newline="") as text:
        reader = csv.DictReader(text)
        for row in reader:
            if None in row:
                raise SojournError(f"{file}: line {reader.line_num} has more values than columns")
            try:
                value = float(row["value"])
                of = (row["table"], row["scheme"], row["row_as_printed"], row["metric"])
            except KeyError as error:
                raise SojournError(f"{file}: the column {error} is missing") from None
            except (ValueError, TypeError) as error:
                raise SojournError(f"{file}: line {reader.line_num}: {error}") from None
            found.append(Published(*of, value, row["value"]))
    return tuple(found)


def _claims(sentences: list[dict[str, Any]], main: Container[str], file: Path) -> tuple[Claim, ...]:
    """Return the claims of sentences, each with what its sentence says of all of them; `main` are sections."""
    found = []
    for sentence in sentences:
        shared = {key: value for key, value in sentence.items() if key != "claims"}
        for one in need(sentence, "claims", file):
            whole = {_RENAMED.get(key, key): value for key, value in (shared | one).items()}
            for key in _NEEDED:
                need(whole, key, f"{file}: claim {whole.get('id', 'without id')}")
            # What is not of a claim yet (ranges of sweeps, other conditions) belongs to comparisons to come.
            known = {key: value for key, value in as_tuples(whole).items() if key in Claim.__slots__}
            is_main = any(section in main for section in (known["section"], *known.get("also", ())))
            found.append(Claim(**known, is_main=is_main))
    return tuple(found)
