"""No value of an option ends a command with a stack trace: it is taken, or one message names it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pytest

from sojourn import cli

# Commands that compute at once, with what they need to get as far as their options.
COMMANDS = {
    "theory queue": ["pfifo limit 20p"],
    "theory design": ["red", "--mean", "20"],
    "theory optimal": ["--loss-cost", "100", "--room", "10"],
    "theory stability": ["red", "--flows", "20", "--rate", "20 Mbit/s", "--rtt", "40 ms"],
    "theory rules": ["--flows", "20", "--rate", "20 Mbit/s", "--rtt", "40 ms"],
    "trace": ["lte"],
    "topology show": ["topohub:sndlib/abilene"],
    "export tc": ["codel"],
}
VALUES = ["nan", "-1", "0", "1e999", "1.2.3 ms", "5", "9" * 30, "", "a.b"]
# These write files or print something else.
APART = ("--out", "--force", "--json", "--help")


def leaves(parser: argparse.ArgumentParser, *path: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    inner = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not inner:
        yield " ".join(path), parser
    for action in inner:
        for name, other in action.choices.items():
            yield from leaves(other, *path, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_value_of_an_option_is_a_stack_trace(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = dict(leaves(cli.parser(command.split(maxsplit=1)[0])))[command]
    options = [action.option_strings[-1] for action in parser._actions if action.option_strings and action.nargs != 0]
    tried = 0
    for option in options:
        for value in VALUES if option not in APART else ():
            arguments = [*command.split(), *COMMANDS[command], f"{option}={value}"]
            try:
                status = cli.main(arguments)
            except SystemExit as error:
                status = int(error.code or 0)
            except Exception as error:
                pytest.fail(f"{arguments}: {type(error).__name__}: {error}")
            assert status in (0, 2), arguments
            said = capsys.readouterr().err
            assert status == 0 or said.startswith("sojourn: "), arguments
            tried += 1
    assert tried


def test_a_study_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["papers", "run", "dropping.functions", "--quick"]) == 2
    assert "no study 'dropping.functions' (did you mean `dropping-functions`?)" in capsys.readouterr().err


@pytest.mark.parametrize("time", ["nan", "inf", "0", "-1", "9" * 30])
def test_the_time_limit_of_a_check_is_a_time(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "aqm", "/dev/null", f"--time-limit={time}"]) == 2
    assert "allowed: above 0, up to 86400" in capsys.readouterr().err
