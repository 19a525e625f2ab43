"""Folder of judges: a training in progress lies beside it, what is finished is renamed into place and read back."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...discriminators import Panel, RegressionDiscriminator, load_discriminator
from ...errors import InputError, UsageError
from ...models.artifacts import described
from ...results import Interval
from ...store import whole_folder, write_atomic
from ...store.artifact_cache import checksum

ABOUT = "judges.json"
HELD_OUT = "held_out.jsonl"
CUTS = "cuts.json"
_PANEL = "oodometer_panel.json"
_CUT = r"\d+ of \d+ pairs .* are longer"
_INTERVAL = {"value", "lower", "upper", "level", "kind"}


def training_home(home: Path) -> Path:
    """The folder beside ``home`` in which an unfinished training keeps its state.

    >>> training_home(Path("models/judges")).name
    'judges.training'
    """
    return home.with_name(f"{home.name}.training")


def finished(home: Path, training: str) -> dict[str, Any] | None:
    """What ``judges.json`` says of this very training; None where there is no such folder, or an empty one.

    Raises `UsageError` where the place is taken by something else: judges that took long to train are not written over.
    """
    if not home.exists() or (home.is_dir() and not any(home.iterdir())):
        return None
    if not home.is_dir():
        raise UsageError(f"expected a folder, {home} is a file; name another with --out")
    about = _about(home)
    if about.get("training") == training:
        return about
    what = "judges of another training" if about else "something else"
    raise UsageError(f"{home} holds {what}, which is not written over; name another folder with --out, or remove it")


def finish(home: Path, panel: Panel, about: Mapping[str, Any], write_more: Callable[[Path], Any]) -> None:
    """Write the judges, ``about`` and whatever ``write_more(folder)`` writes; ``home`` appears whole or not at all."""
    with whole_folder(home) as part:
        panel.save(part)
        write_more(part)
        sealed = {**about, "checksum": _checksum(about)}
        write_atomic(part / ABOUT, json.dumps(sealed, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        if home.is_dir():
            home.rmdir()  # only an empty one


@contextmanager
def noting_cuts(folder: Path | None) -> Iterator[list[str]]:
    """Collect what discriminators say of pairs that are too long; a training that goes on still knows it."""
    said: list[str] = []
    if folder is not None:
        with suppress(OSError, ValueError):
            said += [str(one) for one in json.loads((folder / CUTS).read_text(encoding="utf-8"))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message=_CUT)
        try:
            yield said
        finally:
            cuts = [str(one.message) for one in caught if "their longer side was cut" in str(one.message)]
            others = [one for one in caught if str(one.message) not in cuts]
            said += [one for one in dict.fromkeys(cuts) if one not in said]
            if said and folder is not None and folder.is_dir():
                write_atomic(folder / CUTS, json.dumps(said) + "\n")
    for one in others:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def holds_judges(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds what `open_judges` takes.

    >>> holds_judges("no-such-folder")
    False
    """
    home = Path(folder)
    return home.is_dir() and ((home / _PANEL).is_file() or described(home) is not None)


def open_judges(folder: str | os.PathLike[str]) -> tuple[Panel, dict[str, Any]]:
    """The judges of a folder and what is known of them: ``metric`` at least.

    Takes what `train_judges` or `Panel.save` wrote, or a single saved discriminator. Raises `InputError` for another
    folder, and for a training that was not finished.
    """
    home = Path(folder)
    if (home / _PANEL).is_file():
        panel = Panel.load(home)
    elif described(home) is not None:
        panel = Panel([load_discriminator(home)])
    else:
        got = "a folder of something else" if home.is_dir() else "no such folder"
        remedy = "name the folder that `oodometer discriminate train --out` wrote"
        if training_home(home).is_dir():
            got, remedy = "a training that was not finished", "run the same training again, it goes on"
        raise InputError("a folder of judges", got=got, remedy=remedy, file=str(home))
    metrics = {isinstance(one, RegressionDiscriminator) for one in panel.members}
    if len(metrics) > 1:
        expected, remedy = "judges that all judge right and wrong, or all a metric", "put them into two folders"
        raise InputError(expected, got="both", file=str(home), remedy=remedy)
    usual = "metric" if metrics == {True} else "exact"
    return panel, {"metric": usual, **_about(home)}


def _about(home: Path) -> dict[str, Any]:
    """What ``judges.json`` says, empty where there is none; `InputError` where it is damaged."""
    try:
        about = json.loads((home / ABOUT).read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError:
        about = None
    if isinstance(about, dict) and about.pop("checksum", None) in (None, _checksum(about)):
        return about
    expected, remedy = "what is known of the judges, as it was written", "remove the folder and train again"
    where: dict[str, Any] = {"file": str(home / ABOUT), "remedy": f"{remedy}, or name another with --out"}
    raise InputError(expected, got="a damaged file", **where)


def _checksum(about: Mapping[str, Any]) -> str:
    return checksum(json.dumps(about, sort_keys=True, ensure_ascii=False))


def revived(value: Any) -> Any:
    """What JSON says of intervals as intervals again.

    >>> revived([{"value": 0.5, "lower": 0.4, "upper": 0.6, "level": 0.95, "kind": "exact"}])[0].width.__round__(1)
    0.2
    """
    if isinstance(value, Mapping):
        if set(value) == _INTERVAL and None not in value.values():
            return Interval(**value)
        return {name: revived(one) for name, one in value.items()}
    if isinstance(value, list):
        return [revived(one) for one in value]
    return value
