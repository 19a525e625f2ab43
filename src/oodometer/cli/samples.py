"""Samples: ``--sample NAME`` in the place of files, which are small tables that ship with the package."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError, near_names

# a path, as to import the loaders takes a while
_TABLES = Path(__file__).parents[1] / "datasets" / "tables"
_MODELS = ("bayes", "forest", "logistic", "neighbors", "svm", "tree")


def _of_one_model(reference: str, target: str, alone: str = "") -> dict[str, str]:
    """``alone``: what the reference needs where no target shows which of its columns is the truth."""
    both = f"{reference} {target}"
    words = {"estimate": both, "audit": f"{both} --labels ten.csv", "diagnose": both}
    words["fit"] = f"{reference}{alone} --out model.oodo"
    return words | dict.fromkeys(("backtest", "evaluate"), reference + alone)


COMMANDS = {
    "car-loan": _of_one_model("reference.csv", "target.csv", " --map repaid=label"),
    "digits": {
        "rank": " ".join(f"{name}=target/{name}.csv" for name in _MODELS) + " --examples ten.csv",
        "compare": " ".join(f"reference/{name}.csv" for name in _MODELS),
        **_of_one_model("reference/svm.csv", "target/svm.csv"),
    },
    "judged": {
        "read": "verdicts.csv",
        "audit": "verdicts.csv --judge judge_passed --labels human_passed",
    },
    "runs": {
        "compare": "small.csv large.csv",
        "evaluate": "small.csv",
        "read": "small/ --out small.parquet",
    },
    "sums": {"read": "samples_two_digits.jsonl --out two_digits.parquet"},
}
"""Sample -> command -> the words that ``--sample`` stands for."""


def _of(command: str) -> list[str]:
    """The samples that a command takes."""
    return [name for name, commands in COMMANDS.items() if command in commands]


def offered(command: str) -> str:
    """What ``-h``, and an error of usage, say of the samples of a command."""
    names = _of(command)
    return f"no files yet? oodometer {command} --sample {names[0]}; " if names else ""


def filled(words: Sequence[str]) -> tuple[list[str], str]:
    """A command with the files of its ``--sample NAME`` in the place of that, and what it stands for; both as they were
    without one.
    """
    command, *rest = words
    fitting = _of(command)
    positions = [i for i, word in enumerate(rest) if word.partition("=")[0] == "--sample"]
    if command == "demo" or not positions or not fitting:
        return [*words], ""
    at = positions[0]
    name = rest[at].partition("=")[2] or "".join(rest[at + 1 : at + 2])
    rest = rest[:at] + rest[at + (1 if "=" in rest[at] else 2) :]
    if name not in fitting:
        raise _no_sample(command, name, fitting)
    stands = COMMANDS[name][command]
    if any(word.startswith(("--labels", "--suggest")) for word in rest):  # rows of one's own choice
        stands = stands.replace(" --labels ten.csv", "")
    # a fitted file stands in the reference's place
    fitted = [word for word in rest if word.endswith(".oodo") and command != "fit"][:1]
    stands = stands.partition(" ")[2] if fitted else stands
    rest = [word for word in rest if word not in fitted]
    paths = [_with_path(word, name) for word in shlex.split(stands)]
    says = f"sample {name}: {stands} (oodometer demo --sample {name} writes the files)"
    return [command, *fitted, *paths, *rest], says


def _no_sample(command: str, name: str, fitting: Sequence[str]) -> UsageError:
    """The error for a sample that a command does not take."""
    near = near_names(name, fitting)
    meant = f"; did you mean {near[0]}?" if near else ""
    return UsageError(
        f"expected {command} --sample {' or '.join(fitting)}, got {name or 'nothing'}{meant}"
    )


def _with_path(word: str, sample: str) -> str:
    """A word of a command with the path of the sample's file that it names; other words as they are."""
    model, link, file = word.rpartition("=")
    stem, _, ending = file.rpartition(".")
    stored = {"csv": f"{stem}.parquet", "jsonl": f"{file}.gz"}.get(ending)
    if file.endswith("/"):
        stored = file
    return f"{model}{link}{_TABLES / sample / stored}" if stored else word
