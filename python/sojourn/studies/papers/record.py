"""Outcomes of an earlier run, kept in the study's folder, for reports that run less."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from sojourn.base import core, foreign, nesting
from sojourn.plan import folder
from sojourn.studies.papers.judge import Outcome, Verdict
from sojourn.studies.papers.ledger import Ledger
from sojourn.studies.papers.model import Claim, Study

FILE: Final = "recorded.json"


def write(judged: Ledger, size: str) -> None:
    """Store the outcomes of all claims under all readings; those of claims that were not run stay as they are."""
    judged = filled(judged)
    document: dict[str, Any] = {"build": core.build(), "date": datetime.now(UTC).strftime("%Y-%m-%d"), "size": size}
    document["readings"] = [one.name for one in judged.readings]
    signs = {key: "".join(one.outcome.sign for one in of.values()) for key, of in judged.verdicts.items()}
    document["claims"] = {one.id: f"{_digest(one)} {signs[one.id]}" for one in judged.paper.claims}
    folder.write_text(judged.paper.folder / FILE, json.dumps(document, ensure_ascii=False, indent=0) + "\n")


def filled(judged: Ledger) -> Ledger:
    """Return the ledger with recorded outcomes where a claim was not run; a claim that has changed since has none."""
    document = read(judged.paper)
    by_sign = {one.sign: one for one in Outcome}
    verdicts = {}
    for claim in judged.paper.claims:
        digest, _, signs = document.get("claims", {}).get(claim.id, "").partition(" ")
        known = dict(zip(document.get("readings", ()), signs, strict=True)) if digest == _digest(claim) else {}
        verdicts[claim.id] = {
            name: Verdict(by_sign[known[name]], is_recorded=True)
            if one.outcome is Outcome.NOT_RUN and known.get(name, Outcome.NOT_RUN.sign) != Outcome.NOT_RUN.sign
            else one
            for name, one in judged.verdicts[claim.id].items()
        }
    return replace(judged, verdicts=verdicts)


def read(paper: Study) -> Mapping[str, Any]:
    """Return what is recorded of a study; nothing without a record."""
    file = paper.folder / FILE
    found: Mapping[str, Any] = nesting.loads_json(foreign.read_text(file), file) if file.is_file() else {}
    return found


def _digest(claim: Claim) -> str:
    return f"{zlib.crc32(repr(claim).encode()):08x}"
