"""Config: options of commands from oodometer.toml or pyproject.toml, as defaults that the command line overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, near_names

OWN, SHARED = "oodometer.toml", "pyproject.toml"


def options_taken(given: Sequence[str]) -> tuple[list[str], str | None, bool]:
    """The words without ``--config FILE`` and ``--no-config``; the file; whether any file is to be read."""
    words, file, wanted = list(given), None, True
    end = words.index("--") if "--" in words else len(words)
    rest, tail, out = iter(words[:end]), words[end:], []
    for word in rest:
        if word == "--no-config":
            wanted = False
        elif word == "--config":
            file = next(rest, "")
        elif word.startswith("--config="):
            file = word.removeprefix("--config=")
        else:
            out.append(word)
    if file == "":
        raise UsageError("expected --config FILE, got no file")
    if file is not None and not wanted:
        raise UsageError("give --config or --no-config, not both")
    return [*out, *tail], file, wanted


def defaults_for(
    parser: Any, words: Sequence[str], file: str | None, known: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """What the parser is to take for its defaults, by command, and what to say of it; empty without a file. The table
    of the command is read, ``[estimate]``, or ``[tool.oodometer.estimate]`` in pyproject.toml; ``known`` are all
    commands.
    """
    # The file that was named, oodometer.toml, or pyproject.toml, and its tables.
    name = file or (OWN if Path(OWN).is_file() else SHARED)
    if (
        file is None
        and name == SHARED
        and not (Path(SHARED).is_file() and b"oodometer" in Path(SHARED).read_bytes())
    ):
        return {}, ""
    import tomllib

    try:
        if Path(name).is_fifo():
            raise OSError(0, "it is a pipe")
        tables: Any = tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {name}: give --config a file of TOML") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name}: expected TOML, got {error}") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    if Path(name).name == SHARED:
        for way, key in (("tool", "tool"), ("tool.oodometer", "oodometer")):
            tables = tables.get(key, {})
            if not isinstance(tables, Mapping):
                raise UsageError(f"{name}: expected a table [{way}], got {way} = {tables!r}")
    for key, value in tables.items():
        if key not in known:
            near = near_names(key, known)
            hint = (
                f"did you mean [{near[0]}]?"
                if near
                else f"there is one for each command: {', '.join(known)}"
            )
            what = (
                f"table [{key}]"
                if isinstance(value, Mapping)
                else f"key {key} outside of a command's table"
            )
            raise UsageError(f"{name}: unknown {what}; {hint}")
        if not isinstance(value, Mapping):
            raise UsageError(f"{name}: expected a table [{key}] of options, got {key} = {value!r}")
    command, path, table = parser, [], tables
    for word in words:  # those that name the command: one, or group and command
        if word.startswith("-"):
            continue
        if word not in getattr(command, "commands", {}):
            break
        command, table = command.commands[word], table.get(word, {})
        path.append(word)
        if not isinstance(table, Mapping):
            raise UsageError(
                f"{name}: expected a table [{'.'.join(path)}] of options, got {word} = {table!r}"
            )
    if not path or not table or hasattr(command, "commands"):
        return {}, ""
    options = {
        opt.lstrip("-").replace("-", "_"): p
        for p in command.params
        for opt in p.opts
        if opt.startswith("--")
    }
    options.pop("help", None)
    out: dict[str, Any] = {}
    for key, value in table.items():
        parameter = options.get(key.replace("-", "_"))
        if parameter is None:
            near = near_names(key.replace("-", "_"), options)
            lists = f"oodometer {'.'.join(path)} --help lists them"
            hint = f"did you mean {near[0].replace('_', '-')}?" if near else lists
            raise UsageError(f"{name}: [{'.'.join(path)}] has no option {key}; {hint}")
        where = f"{name}: [{'.'.join(path)}] {key}"
        if parameter.name in out:
            raise UsageError(f"{where}: the option is given twice")
        out[parameter.name] = _value(where, value, parameter, command)
    for word in reversed(path):
        out = {word: out}
    return out, f"{name}: {', '.join(f'{key} = {value!r}' for key, value in table.items())}"


def _value(place: str, value: Any, parameter: Any, command: Any) -> Any:
    """The value as it would be typed, once the parser has taken it."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise UsageError(f"{place}: expected true or false, got {value!r}")
        return value
    if isinstance(value, Mapping):  # map = { y_true = "label" }
        value = [f"{theirs}={ours}" for theirs, ours in value.items()]
    if isinstance(value, list) and not parameter.multiple:
        raise UsageError(f"{place}: expected one value, got {len(value)}")
    typed = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise UsageError(f"{place}: expected a text or a number, got {item!r}")
        typed.append(str(item))
    out = typed if parameter.multiple else typed[0]
    try:
        parameter.process_value(command.make_context("", [], resilient_parsing=True), out)
    except Exception as error:
        reason = getattr(error, "message", None) or str(error)
        raise UsageError(f"{place}: {reason}") from None
    return out
