"""Folder of judges: a training in progress lies beside it, what is finished is renamed into place and read back."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from oodometer.errors import InputError, UsageError
from oodometer.results import Interval
from oodometer.store import whole_folder, write_atomic
from oodometer.store.artifact_cache import checksum

from ...discriminators import Panel, RegressionDiscriminator, load_discriminator
from ...models.artifacts import described

ABOUT = "judges.json"
# pairs that judges are measured on; rows that set thresholds
HELD_OUT, SET_ON = ("held_out.jsonl", "set_on.jsonl")
CUTS = "cuts.json"
_PANEL = "oodometer_panel.json"
_CUT = r"\d+ of \d+ pairs .* are longer"
_INTERVAL = {"value", "lower", "upper", "level", "kind"}


def training_home(path: Path) -> Path:
    """The folder beside ``path`` in which an unfinished training keeps its state."""
    return path.with_name(f"{path.name}.training")


def finished(path: Path, training: str) -> dict[str, Any] | None:
    """What ``judges.json`` says of this very training, None without a folder; `UsageError` where its path is taken."""
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return None
    if not path.is_dir():
        raise UsageError(f"expected a folder, {path} is a file; name another with --out")
    about = _about(path)
    if about.get("training") == training:
        return about
    what = "judges of another training" if about else "something else"
    raise UsageError(
        f"{path} holds {what}, which is not written over; name another folder with --out, or remove it"
    )


def finish(
    path: Path, panel: Panel, about: Mapping[str, Any], write_more: Callable[[Path], Any]
) -> None:
    """Write the judges, ``about`` and whatever ``write_more(folder)`` writes; ``path`` appears whole or not at all."""
    with whole_folder(path) as part:
        panel.save(part)
        write_more(part)
        sealed = {**about, "checksum": _checksum(about)}
        write_atomic(
            part / ABOUT, json.dumps(sealed, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
        if path.is_dir():
            path.rmdir()  # only an empty one


@contextmanager
def noting_cuts(folder: Path | None) -> Iterator[list[str]]:
    """Collect what discriminators say of pairs that are too long; a training that goes on still knows it."""
    messages: list[str] = []
    if folder is not None:
        with suppress(OSError, ValueError):
            messages += [
                str(warning) for warning in json.loads((folder / CUTS).read_text(encoding="utf-8"))
            ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=_CUT)
        try:
            yield messages
        finally:
            cuts = [
                str(warning.message)
                for warning in caught
                if "their longer side was cut" in str(warning.message)
            ]
            unrelated = [warning for warning in caught if str(warning.message) not in cuts]
            messages += [warning for warning in dict.fromkeys(cuts) if warning not in messages]
            if messages and folder is not None and folder.is_dir():
                write_atomic(folder / CUTS, json.dumps(messages) + "\n")
    for warning in unrelated:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def holds_judges(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what `open_judges` takes."""
    path = Path(folder)
    return path.is_dir() and ((path / _PANEL).is_file() or described(path) is not None)


def open_judges(folder: str | os.PathLike[str]) -> tuple[Panel, dict[str, Any]]:
    """The judges of a folder (`train_judges`, `Panel.save` or one discriminator), and about them, with ``metric``."""
    path = Path(folder)
    if (path / _PANEL).is_file():
        panel = Panel.load(path)
    elif described(path) is not None:
        panel = Panel([load_discriminator(path)])
    else:
        got = "a folder of something else" if path.is_dir() else "no such folder"
        remedy = "name the folder that `oodometer discriminate train --out` wrote"
        if training_home(path).is_dir():
            got, remedy = (
                "a training that was not finished",
                "run the same training again, it goes on",
            )
        raise InputError("a folder of judges", got=got, remedy=remedy, file=str(path))
    metrics = {isinstance(member, RegressionDiscriminator) for member in panel.members}
    if len(metrics) > 1:
        expected, remedy = (
            "judges that all judge right and wrong, or all a metric",
            "put them into two folders",
        )
        raise InputError(expected, got="both", file=str(path), remedy=remedy)
    return panel, {"metric": "metric" if metrics == {True} else "exact", **_about(path)}


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError:
        about = None
    if isinstance(about, dict) and about.pop("checksum", None) in (None, _checksum(about)):
        return about
    raise InputError(
        "what is known of the judges, as it was written",
        got="a damaged file",
        file=str(path / ABOUT),
        remedy="remove the folder and train again, or name another with --out",
    )


def _checksum(about: Mapping[str, Any]) -> str:
    return checksum(json.dumps(about, sort_keys=True, ensure_ascii=False))


def revived(value: Any) -> Any:
    """What JSON says of intervals as intervals again."""
    if isinstance(value, Mapping):
        if set(value) == _INTERVAL and None not in value.values():
            return Interval(**value)
        return {name: revived(part) for name, part in value.items()}
    if isinstance(value, list):
        return [revived(part) for part in value]
    return value
