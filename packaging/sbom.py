"""Writes a bill of materials in CycloneDX's form, and has the library's validator check it; for packaging/release.py.

python sbom.py FILE <JSON    {"name", "version", "crates": [[name, version, licence]], "python": [[name, version]]}
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def component(kind: str, name: str, version: str, licence: str = "") -> Component:
    """Return a package of a registry; `kind` is that of a package URL."""
    licences = [LicenseFactory().make_from_string(licence)] if licence else []
    return Component(
        type=ComponentType.LIBRARY,
        name=name,
        version=version,
        purl=PackageURL(kind, None, name, version),
        bom_ref=f"{kind}:{name}@{version}",
        licenses=licences,
    )


def main() -> None:
    """Read standard input, and write the file."""
    given = json.load(sys.stdin)
    bom = Bom()
    bom.metadata.component = own = Component(
        type=ComponentType.APPLICATION,
        name=given["name"],
        version=given["version"],
        bom_ref=given["name"],
        licenses=[LicenseFactory().make_from_string("MIT OR Apache-2.0")],
    )
    parts = [component("cargo", *crate) for crate in given["crates"]]
    parts += [component("pypi", *package) for package in given["python"]]
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(own, parts)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"not valid: {str(error)[-500:]}")
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
