"""Config: options of commands from oodometer.toml or pyproject.toml, as defaults that the command line overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError, near_names

OWN, SHARED = "oodometer.toml", "pyproject.toml"


def options_taken(given: Sequence[str]) -> tuple[list[str], str | None, bool]:
    """The words without ``--config FILE`` and ``--no-config``; the file; whether any file is to be read.

    >>> options_taken(["estimate", "a", "--config", "x.toml"]), options_taken(["evaluate", "a", "--no-config"])
    ((['estimate', 'a'], 'x.toml', True), (['evaluate', 'a'], None, False))
    """
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
    """What the parser is to take for its defaults, by command, and what to say of it; empty without a file.

    Of a file the table of the command in question is read: ``[estimate]``, or ``[tool.oodometer.estimate]`` in
    pyproject.toml; ``known`` are the names of all commands. Raises `UsageError` naming the file and the key.
    """
    found = _read(file)
    if found is None:
        return {}, ""
    name, tables = found
    path = _path_to(parser, words)
    _check_tables(name, tables, known)
    table: Any = tables
    for i, word in enumerate(path):
        table = table.get(word, {})
        if not isinstance(table, Mapping):
            raise UsageError(f"{name}: expected a table [{'.'.join(path[: i + 1])}] of options, got {word} = {table!r}")
    if not path or not table:
        return {}, ""
    command: Any = parser
    for word in path:
        command = command.commands[word]
    if hasattr(command, "commands"):
        return {}, ""
    values = _values(name, ".".join(path), table, command)
    out: dict[str, Any] = values
    for word in reversed(path):
        out = {word: out}
    return out, f"{name}: {', '.join(f'{key} = {value!r}' for key, value in table.items())}"


def _read(file: str | None) -> tuple[str, Mapping[str, Any]] | None:
    """Name and tables of the file that was named, of oodometer.toml, or of pyproject.toml; None without one."""
    if file is not None:
        tables = _toml(Path(file))
        return file, _own(file, tables, {}) if Path(file).name == SHARED else tables
    if Path(OWN).is_file():
        return OWN, _toml(Path(OWN))
    if Path(SHARED).is_file() and b"oodometer" in Path(SHARED).read_bytes():
        own = _own(SHARED, _toml(Path(SHARED)), None)
        return None if own is None else (SHARED, own)
    return None


def _own(name: str, tables: Any, absent: Any) -> Any:
    """The tables under ``tool.oodometer``; `UsageError` where one of the two is no table."""
    for way, key in (("tool", "tool"), ("tool.oodometer", "oodometer")):
        tables = tables.get(key, {} if key == "tool" else absent)
        if tables is not absent and not isinstance(tables, Mapping):
            raise UsageError(f"{name}: expected a table [{way}], got {way} = {tables!r}")
    return tables


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        if path.is_fifo():
            raise OSError(0, "it is a pipe")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}: give --config a file of TOML") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: expected TOML, got {error}") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _path_to(parser: Any, words: Sequence[str]) -> list[str]:
    """The words that name a command: one, or group and command."""
    out: list[str] = []
    for word in words:
        if word.startswith("-"):
            continue
        if word not in getattr(parser, "commands", {}):
            break
        out.append(word)
        parser = parser.commands[word]
    return out


def _check_tables(name: str, tables: Mapping[str, Any], known: Sequence[str]) -> None:
    for key, value in tables.items():
        if key not in known:
            near = near_names(key, known)
            hint = f"did you mean [{near[0]}]?" if near else f"there is one for each command: {', '.join(known)}"
            what = f"table [{key}]" if isinstance(value, Mapping) else f"key {key} outside of a command's table"
            raise UsageError(f"{name}: unknown {what}; {hint}")
        if not isinstance(value, Mapping):
            raise UsageError(f"{name}: expected a table [{key}] of options, got {key} = {value!r}")


def _values(name: str, section: str, table: Mapping[str, Any], command: Any) -> dict[str, Any]:
    """Values by the parser's names of the parameters, each checked by the type of its option."""
    options = {opt.lstrip("-").replace("-", "_"): p for p in command.params for opt in p.opts if opt.startswith("--")}
    options.pop("help", None)
    out: dict[str, Any] = {}
    for key, value in table.items():
        parameter = options.get(key.replace("-", "_"))
        if parameter is None:
            near = near_names(key.replace("-", "_"), options)
            hint = f"did you mean {near[0].replace('_', '-')}?" if near else f"oodometer {section} --help lists them"
            raise UsageError(f"{name}: [{section.replace(' ', '.')}] has no option {key}; {hint}")
        place = f"{name}: [{section}] {key}"
        if parameter.name in out:
            raise UsageError(f"{place}: the option is given twice")
        out[parameter.name] = _value(place, value, parameter, command)
    return out


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
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool) or not isinstance(one, (str, int, float)):
            raise UsageError(f"{place}: expected a text or a number, got {one!r}")
        typed.append(str(one))
    out = typed if parameter.multiple else typed[0]
    try:
        parameter.process_value(command.make_context("", [], resilient_parsing=True), out)
    except Exception as error:
        said = getattr(error, "message", None) or str(error)
        raise UsageError(f"{place}: {said}") from None
    return out
