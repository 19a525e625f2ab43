"""Remedies: what a message tells to do is done, and the next run succeeds or names something else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from functools import cache

# Options of other programs that messages name: lm-evaluation-harness, inspect, ray.
FOREIGN = frozenset(
    ("--log_samples", "--output_path", "--logprobs", "--top-logprobs", "--head")
)  # of harnesses, and of `ray start`
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_MANY = (
    "--map",
    "--where",
    "--method",
    "--metric",
    "--keep",
    "--input",
    "--kind",
    "--severity",
    "--features",
)
# Options outside of backquotes, where a word before them says that they are to be typed as they stand.
_TOLD = re.compile(
    r"(?:with|name|such as|example|say|give|take|is|:) ((?:--[a-z][\w-]* (?:'[^']*'|(?!or\b|and\b)[^\s,;:()]+) ?)+)"
)
_PLACEHOLDER = re.compile(r"(?:[A-Z][A-Z_0-9]*=?)+|.*\.\.\..*|theirs=.*|[A-Z]+=.*|.*=[A-Z]+|N")


@cache
def options_of_commands() -> dict[str, frozenset[str]]:
    """The options of each command, "discriminate train" among them."""
    from typer.main import get_command

    from oodometer.cli import samples
    from oodometer.cli.main import all_commands

    found: dict[str, frozenset[str]] = {}

    def walk(command: object, name: str) -> None:
        for word, one in getattr(command, "commands", {}).items():
            walk(one, f"{name} {word}".strip())
        own = frozenset(
            word
            for one in getattr(command, "params", ())
            for word in (*one.opts, *one.secondary_opts)
        )
        found[name] = own | {"--help", "--help-all", "--verbose", "--quiet", "--debug", "--config", "--no-config",
            "--version", *(("--sample",) if samples.offered(name) else ())}  # fmt: skip

    walk(get_command(all_commands()), "")
    return found


def command_of(arguments: Sequence[str]) -> str:
    """The command that these words call."""
    known = options_of_commands()
    two = " ".join(arguments[:2])
    return two if two in known else arguments[0] if arguments and arguments[0] in known else ""


def wrong_options(message: str, arguments: Sequence[str]) -> list[str]:
    """Options that a message names although neither its command nor one that the message names has them."""
    known = options_of_commands()
    own, typed = known[command_of(arguments)], {word.partition("=")[0] for word in arguments}
    named = [
        command_of(shlex.split(text, posix=False))
        for text in re.findall(r"oodometer ((?:[a-z]+ ?){1,2})", message)
    ]
    theirs = frozenset().union(*(known[name] for name in named if name))
    ours = re.sub(
        r"`(?!oodometer |--)[^`]*`", "", message
    )  # commands of other programs have their own
    return [one for one in _OPTION.findall(ours) if one not in own | theirs | FOREIGN | typed]


def remedies(message: str, arguments: Sequence[str]) -> list[list[str]]:
    """The commands that a message tells to type; options that it names are put into the command that was typed."""
    out: list[list[str]] = []
    advice = re.search(r"try: oodometer (.+?)(?:, where [A-Z]+ is .*)?$", message)
    texts = re.findall(r"`((?:oodometer |--)[^`]+)`", message)
    if advice:
        texts.append(f"oodometer {advice[1]}")
    rest = re.sub(
        r"^oodometer: |`[^`]*`|try: oodometer .*|usage: .*|.*No such option.*|fit the reference again .*",
        "",
        message,
    )
    texts += [found[1] for found in _TOLD.finditer(rest)]
    for text in texts:
        try:
            words = shlex.split(text)
        except ValueError:
            continue
        if any(_PLACEHOLDER.fullmatch(word) for word in words):
            continue
        if words[0] == "oodometer":
            if len(words) > 2:
                out.append(words[1:])
        elif (
            all(word.startswith("--") for word in words[::2])
            and set(words[::2]) <= options_of_commands()[command_of(arguments)]
        ):
            out.append(_with(list(arguments), words))
    return out


def _with(arguments: list[str], words: Sequence[str]) -> list[str]:
    """The typed command with further options, or other values of those that it has."""
    for option in words[::2]:
        if option not in _MANY or option == "--metric":
            while option in arguments:
                at = arguments.index(option)
                del arguments[at : at + 2]
    return [*arguments, *words]


def not_carried_out(
    message: str, arguments: Sequence[str], run: Callable[[list[str]], tuple[int, str]]
) -> list[str]:
    """Remedies that lead to the same message again, or to no line at all; ``run`` gives code and message."""
    faults = []
    for words in remedies(message, arguments):
        code, said = run(words)
        if code not in (0, 2, 3) or (code == 2 and said.strip() == message.strip()):
            faults.append(f"{shlex.join(words)}: exit {code}, {said[:200]}")
    return faults
