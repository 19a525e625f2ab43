"""Config: options of commands from oodometer.toml or pyproject.toml, as defaults that the command line overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, near_names
from ..plain import Json, Plain

OWN, SHARED = "oodometer.toml", "pyproject.toml"


def options_taken(arguments: Sequence[str]) -> tuple[list[str], str | None, bool]:
    """The words without ``--config FILE`` and ``--no-config``; the file; whether any file is to be read."""
    words, file, enabled = list(arguments), None, True
    end = words.index("--") if "--" in words else len(words)
    rest, tail, out = iter(words[:end]), words[end:], []
    for word in rest:
        if word == "--no-config":
            enabled = False
        elif word == "--config":
            file = next(rest, "")
        elif word.startswith("--config="):
            file = word.removeprefix("--config=")
        else:
            out.append(word)
    if file == "":
        raise UsageError("expected --config FILE, got no file")
    if file is not None and not enabled:
        raise UsageError("give --config or --no-config, not both")
    return [*out, *tail], file, enabled


def defaults_for(
    parser: Any, words: Sequence[str], file: str | None, commands: Sequence[str]
) -> tuple[Json, str]:
    """What the parser is to take for its defaults, by command, and what to say of it; empty without a file. The table
    of the command is read, ``[estimate]``, or ``[tool.oodometer.estimate]`` in pyproject.toml; ``commands`` are all
    commands.
    """
    name = file or _usual_file()
    if name is None:
        return {}, ""
    tables = _tables(name)
    _check_commands(name, tables, commands)
    path, command, table = _table_of(name, tables, parser, words)
    if not path or not table or hasattr(command, "commands"):
        return {}, ""
    out = _defaults(f"{name}: [{'.'.join(path)}]", table, command, path)
    for word in reversed(path):
        out = {word: out}
    return out, f"{name}: {', '.join(f'{key} = {value!r}' for key, value in table.items())}"


def _usual_file() -> str | None:
    """The file that is read where none is named: oodometer.toml, or a pyproject.toml that speaks of us."""
    if Path(OWN).is_file():
        return OWN
    shared = Path(SHARED)
    return SHARED if shared.is_file() and b"oodometer" in shared.read_bytes() else None


def _tables(name: str) -> Plain:
    """The tables of a file that are ours."""
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
    ours: Plain = tables
    return ours


def _check_commands(name: str, tables: Plain, commands: Sequence[str]) -> None:
    """Raise `UsageError` where a table is of no command, or a command has no table."""
    for key, value in tables.items():
        is_table = isinstance(value, Mapping)
        if key not in commands:
            near = near_names(key, commands)
            what = f"table [{key}]" if is_table else f"key {key} outside of a command's table"
            hint = f"there is one for each command: {', '.join(commands)}"
            hint = f"did you mean [{near[0]}]?" if near else hint
            raise UsageError(f"{name}: unknown {what}; {hint}")
        if not is_table:
            raise UsageError(f"{name}: expected a table [{key}] of options, got {key} = {value!r}")


def _table_of(
    name: str, tables: Plain, parser: Any, words: Sequence[str]
) -> tuple[list[str], Any, Plain]:
    """The words that name the command, one, or group and command; the command, and its table."""
    command, path, table = parser, [], tables
    for word in words:
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
    return path, command, table


def _defaults(location: str, table: Plain, command: Any, path: Sequence[str]) -> Json:
    """The defaults that a table gives to the options of a command."""
    options = {
        opt.lstrip("-").replace("-", "_"): p
        for p in command.params
        for opt in p.opts
        if opt.startswith("--")
    }
    options.pop("help", None)
    out: Json = {}
    for key, value in table.items():
        parameter = options.get(key.replace("-", "_"))
        if parameter is None:
            near = near_names(key.replace("-", "_"), options)
            lists = f"oodometer {'.'.join(path)} --help lists them"
            hint = f"did you mean {near[0].replace('_', '-')}?" if near else lists
            raise UsageError(f"{location} has no option {key}; {hint}")
        if parameter.name in out:
            raise UsageError(f"{location} {key}: the option is given twice")
        out[parameter.name] = _value(f"{location} {key}", value, parameter, command)
    return out


def _value(location: str, value: Any, parameter: Any, command: Any) -> Any:
    """The value as it would be typed, once the parser has taken it."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise UsageError(f"{location}: expected true or false, got {value!r}")
        return value
    if isinstance(value, Mapping):  # map = { y_true = "label" }
        value = [f"{theirs}={ours}" for theirs, ours in value.items()]
    if isinstance(value, list) and not parameter.multiple:
        raise UsageError(f"{location}: expected one value, got {len(value)}")
    typed = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or not isinstance(item, (str, int, float)):
            raise UsageError(f"{location}: expected a text or a number, got {item!r}")
        typed.append(str(item))
    out = typed if parameter.multiple else typed[0]
    try:
        parameter.process_value(command.context_class(command, resilient_parsing=True), out)
    except Exception as error:
        reason = getattr(error, "message", None) or str(error)
        raise UsageError(f"{location}: {reason}") from None
    return out
