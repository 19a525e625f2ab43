"""Samples: ``--sample NAME`` in the place of files, which are small tables that ship with the package."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError, near_names

_TABLES = Path(__file__).parents[1] / "datasets" / "tables"  # a path, as to import the loaders takes a while
_MODELS = ("bayes", "forest", "logistic", "neighbors", "svm", "tree")
_LOAN = " --map repaid=label --map y_pred=prediction --map timestamp=time --positive y_pred_proba"
COMMANDS = {
    "car-loan": {
        "estimate": f"reference.csv target.csv{_LOAN}",
        "audit": f"reference.csv target.csv --labels ten.csv{_LOAN}",
        "diagnose": f"reference.csv target.csv{_LOAN}",
        "fit": f"reference.csv{_LOAN}",
        "backtest": f"reference.csv{_LOAN}",
        "evaluate": f"reference.csv{_LOAN}",
    },
    "digits": {
        "rank": " ".join(f"{name}=target/{name}.csv" for name in _MODELS) + " --examples ten.csv",
        "compare": " ".join(f"reference/{name}.csv" for name in _MODELS),
        "estimate": "reference/svm.csv target/svm.csv",
        "audit": "reference/svm.csv target/svm.csv --labels ten.csv",
        "diagnose": "reference/svm.csv target/svm.csv",
        "fit": "reference/svm.csv",
        "backtest": "reference/svm.csv",
        "evaluate": "reference/svm.csv",
    },
}
"""Sample -> command -> the words that ``--sample`` stands for."""


def _of(command: str) -> list[str]:
    """The samples that a command takes."""
    return [name for name, commands in COMMANDS.items() if command in commands]


def offered(command: str) -> str:
    """The sentence of ``-h`` on the samples of a command."""
    names = _of(command)
    return f"No files yet? --sample {' or --sample '.join(names)} stands for some. " if names else ""


def filled(words: Sequence[str]) -> tuple[list[str], str]:
    """A command with the files of its ``--sample NAME`` in the place of that, and what it stands for; both as they were
    without one.
    """
    command, *rest = words
    given = [i for i, word in enumerate(rest) if word.partition("=")[0] == "--sample"]
    if command == "demo" or not given or not _of(command):
        return [*words], ""
    at = given[0]
    name = rest[at].partition("=")[2] or "".join(rest[at + 1 : at + 2])
    rest = rest[:at] + rest[at + (1 if "=" in rest[at] else 2) :]
    fitting = _of(command)
    if name not in fitting:
        near = near_names(name, fitting)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"expected {command} --sample {' or '.join(fitting)}, got {name or 'nothing'}{meant}")
    stands = COMMANDS[name][command]
    if any(word.startswith(("--labels", "--suggest")) for word in rest):  # rows of one's own choice
        stands = stands.replace(" --labels ten.csv", "")
    paths = []
    for word in shlex.split(stands):
        model, link, file = word.rpartition("=") if word.endswith(".csv") else (word, "", "")
        paths.append(f"{model}{link}{(_TABLES / name / file).with_suffix('.parquet')}" if file else word)
    return [command, *paths, *rest], f"sample {name}: {stands} (oodometer demo --sample {name} writes the files)"
