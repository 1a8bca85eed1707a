"""Shell completion: ``sojourn completion bash|zsh|fish`` prints a script that the shell reads.

The script is complete in itself: pressing TAB starts no Python.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Final

from sojourn.cli.manual import Argument, Command, man, program

SHELLS: Final = ("bash", "zsh", "fish")


def add(verbs: Any) -> None:
    """Add the verbs."""
    verb = verbs.add_parser(
        "completion",
        description="Print a script with which a shell completes commands, options, scenarios and schemes. "
        "For bash: `sojourn completion bash > ~/.local/share/bash-completion/completions/sojourn`.",
    )
    verb.add_argument("shell", choices=SHELLS, help="the shell that shall read the script")
    verb.set_defaults(command=lambda options: _print(script(options.shell)))
    verb = verbs.add_parser(
        "manual", description="Print the manual page sojourn(1); `sojourn manual | man -l -` shows it."
    )
    verb.set_defaults(command=lambda _: _print(man(program())))


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


def script(shell: str) -> str:
    """Return the script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](program())


def _names() -> dict[str, list[str]]:
    """Return the words that a scenario, a scheme or a metric may be."""
    from sojourn.base import core
    from sojourn.model.network import bundled_scenarios

    return {
        "scenario": sorted(bundled_scenarios()),
        "scheme": [str(one["name"]) for one in core.aqms()],
        "metric": [str(one["name"]) for one in core.metrics()],
    }


def _words(argument: Argument, names: dict[str, list[str]]) -> list[str]:
    return list(argument.choices) or names.get(argument.kind, [])


def _wants_files(argument: Argument) -> bool:
    return argument.kind in {"scenario", "file"}


def _bash(top: Command) -> str:
    names = _names()
    paths, options, values, places = [], [], [], []
    for command in top.everything():
        key = "/".join(command.path)
        paths += [f"        '{key} {below.name}') path='{key}/{below.name}' place=0 ;;" for below in command.commands]
        flags = [flag for option in command.options for flag in option.flags]
        options.append(f"        '{key}') options='{' '.join(flags)}' ;;")
        for option in command.options:
            if option.kind:
                patterns = "|".join(f"'{key} {flag}'" for flag in option.flags)
                words = " ".join(_words(option, names))
                values.append(f"        {patterns}) taken=1 words='{words}' files={int(_wants_files(option))} ;;")
        if command.commands:
            places.append(f"        '{key} '*) words='{' '.join(below.name for below in command.commands)}' ;;")
        for index, argument in enumerate(command.arguments):
            pattern = f"'{key} '*" if argument.repeats else f"'{key} {index}'"
            words = " ".join(_words(argument, names))
            places.append(f"        {pattern}) words='{words}' files={int(_wants_files(argument))} ;;")
    return _BASH.format(
        paths="\n".join(paths), options="\n".join(options), values="\n".join(values), places="\n".join(places)
    )


_BASH: Final = """\
# Completion of sojourn for bash, made by `sojourn completion bash`.
_sojourn_value() {{
    taken=0 words='' files=0
    case "$1" in
{values}
    esac
}}
_sojourn() {{
    local current path=sojourn place=0 index word taken words='' files=0 options=''
    current=${{COMP_WORDS[COMP_CWORD]}}
    for ((index = 1; index < COMP_CWORD; index++)); do
        word=${{COMP_WORDS[index]}}
        if [[ $word == -* ]]; then
            _sojourn_value "$path $word"
            # Its value is not an argument by place.
            ((taken)) && ((index++))
            ((index >= COMP_CWORD)) && break
            continue
        fi
        ((place++))
        case "$path $word" in
{paths}
        esac
    done
    taken=0 words='' files=0
    if ((COMP_CWORD > 0)); then
        _sojourn_value "$path ${{COMP_WORDS[COMP_CWORD - 1]}}"
    fi
    if ! ((taken)); then
        case "$path" in
{options}
        esac
        if [[ $current == -* ]]; then
            words=$options
        else
            case "$path $place" in
{places}
            esac
        fi
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if ((files)) && [[ $current != -* ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -f -- "$current"))
    fi
}}
complete -F _sojourn sojourn
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _short(text: str) -> str:
    """The first sentence, without the marks of code."""
    return re.split(r"(?<=[a-z)])[.;:] | \(", text.replace("`", ""))[0][:90]


def _zsh(top: Command) -> str:
    names = _names()
    functions = [_zsh_function(command, names) for command in top.everything()]
    head = "#compdef sojourn\n# Completion of sojourn for zsh, made by `sojourn completion zsh`.\n\n"
    # Found on fpath it is called; read with `source` or `eval` it registers itself.
    tail = '\nif [ "$funcstack[1]" = _sojourn ]; then\n    _sojourn "$@"\nelse\n    compdef _sojourn sojourn\nfi\n'
    return head + "\n".join(functions) + tail


def _zsh_name(command: Command) -> str:
    return "_" + "_".join(part.replace("-", "_") for part in command.path)


def _zsh_action(argument: Argument, names: dict[str, list[str]]) -> str:
    words = _words(argument, names)
    label = re.sub(r"[^\w ]", "", argument.value) or "value"
    if words and _wants_files(argument):
        inner = " ".join(words)
        return f":{label}:{{_alternative 'names:name:({inner})' 'files:file:_files'}}"
    if words:
        return f":{label}:({' '.join(words)})"
    return f":{label}:_files" if _wants_files(argument) else f":{label}: "


def _zsh_function(command: Command, names: dict[str, list[str]]) -> str:
    specs = []
    for option in command.options:
        text = re.sub(r"([\[\]:\\])", r"\\\1", _short(option.help))
        action = _zsh_action(option, names) if option.kind else ""
        star = "*" if option.repeats else ""
        specs += [_quoted(f"{star}{flag}[{text}]{action}") for flag in option.flags]
    if command.commands:
        specs += ["'1: :->command'", "'*:: :->rest'"]
    else:
        for index, argument in enumerate(command.arguments, 1):
            specs.append(_quoted(("*" if argument.repeats else str(index)) + _zsh_action(argument, names)))
    lines = [f"{_zsh_name(command)}() {{"]
    if command.commands:
        lines.append('    local state line curcontext="$curcontext"')
    lines.append("    _arguments -C \\\n        " + " \\\n        ".join(specs))
    if command.commands:
        listed = " ".join(_quoted(f"{below.name}:{_short(below.help)}") for below in command.commands)
        cases = " ".join(f"{below.name}) {_zsh_name(below)} ;;" for below in command.commands)
        lines += [
            "    case $state in",
            f"        command) local -a commands=({listed}); _describe command commands ;;",
            f"        rest) case $words[1] in {cases} esac ;;",
            "    esac",
        ]
    return "\n".join([*lines, "}"]) + "\n"


def _fish(top: Command) -> str:
    names = _names()
    lines = ["# Completion of sojourn for fish, made by `sojourn completion fish`.", "complete -c sojourn -f"]
    for command in top.everything():
        condition = _fish_condition(command)
        lines += [
            f"complete -c sojourn -n {_quoted(condition)} -a {below.name} -d {_quoted(_short(below.help))}"
            for below in command.commands
        ]
        for argument in command.arguments:
            words = " ".join(_words(argument, names))
            if words:
                lines.append(f"complete -c sojourn -n {_quoted(condition)} -a {_quoted(words)}")
            if _wants_files(argument):
                lines.append(f"complete -c sojourn -n {_quoted(condition)} -F")
        for option in command.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            words = " ".join(_words(option, names))
            value = (
                f" -x -a {_quoted(words)}" if words and not _wants_files(option) else " -r -F" if option.kind else ""
            )
            lines.append(
                f"complete -c sojourn -n {_quoted(condition)} {flags}{value} -d {_quoted(_short(option.help))}"
            )
    return "\n".join(lines) + "\n"


def _fish_condition(command: Command) -> str:
    seen = [f"__fish_seen_subcommand_from {word}" for word in command.path[1:]]
    if command.commands:
        below = " ".join(one.name for one in command.commands)
        seen.append(f"not __fish_seen_subcommand_from {below}")
    return "; and ".join(seen)
