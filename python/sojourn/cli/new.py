"""``sojourn new``."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.base.core import SojournError
from sojourn.scaffold.kinds import KINDS, OF_SOURCES

if TYPE_CHECKING:
    from sojourn.scaffold.write import Draft


def add(verbs: Any) -> None:
    """Add the verb ``new`` to `verbs`."""
    parser = verbs.add_parser(
        "new",
        description="Write the skeleton of something new, with a failing test that says what to write. A paper or a "
        "scenario is added to the clone of Sojourn's sources that the present folder belongs to, or else to the "
        f"present folder. What is part of the sources ({', '.join(OF_SOURCES)}) is added to the clone, and "
        "registered everywhere it must be. All files are written, or none.",
        epilog="example: sojourn new aqm flow_red --dry-run",
    )
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"what to add: {', '.join(KINDS)}")
    parser.add_argument("name", metavar="NAME", help="its name in commands and scenarios, as in flow_red")
    parser.add_argument(
        "--title", metavar="TEXT", help='its name in prose, as in --title "Flow RED" (default: made of NAME)'
    )
    parser.add_argument(
        "--here",
        action="store_true",
        help="write a paper or a scenario into the present folder, even in a clone of the sources",
    )
    parser.add_argument(
        "--language",
        metavar="NAME",
        help="write an algorithm of your own outside of the sources, in the present folder, with its test: "
        "python, c or rust (with aqm only)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, and write nothing")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Write a skeleton, and print what was written and what is left to do."""
    from sojourn.scaffold import write

    if options.language is not None:
        made = _outside(options)
    else:
        made = write.draft(options.kind, options.name, start=Path.cwd(), title=options.title, here=options.here)
    if not options.dry_run:
        write.apply(made)
    print(said(made, dry=options.dry_run))
    return 0


def _outside(options: argparse.Namespace) -> Draft:
    from sojourn.scaffold import outside

    if options.kind != "aqm":
        raise SojournError(f"--language goes with aqm, not with {options.kind}; allowed: leave it out")
    return outside.draft(options.name, options.language, start=Path.cwd(), title=options.title)


def said(made: Draft, *, dry: bool) -> str:
    """Return what the command prints."""
    from sojourn.results import text

    verbs = ("would write", "would change") if dry else ("written", "changed")
    rows = [[verbs[not one.is_new], one.file, one.what] for one in made.changes if not one.by_hand]
    lines = [f"In {made.root}:", "", text.table(["", "file", "what"], rows)]
    hand = [one for one in made.changes if one.by_hand]
    if hand:
        lines += ["", "To be inserted by hand, because the place was not found in the file:"]
        for one in hand:
            lines += ["", f"{one.file}: {one.what}", "", textwrap.indent(one.by_hand.rstrip("\n"), "    ")]
    command, test = made.test
    told = f"One test fails and says what to write ({test}):" if test else "Its test passes once it is built:"
    lines += ["", told, "", f"    {command}", "", "Left to do:", ""]
    for number, step in enumerate(made.left, 1):
        lines += textwrap.wrap(f"{number}. {step.do}", 100, subsequent_indent="   ", break_on_hyphens=False)
        lines += [f"       {step.run}"] if step.run else []
    if dry:
        lines += ["", "Nothing was written (--dry-run)."]
    return "\n".join(lines)
