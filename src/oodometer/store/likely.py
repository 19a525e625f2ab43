"""Likely columns: which of somebody's columns are the truth, the prediction and the probabilities, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..fields import FIELDS

_PREFIXES = tuple(field.prefix for field in FIELDS.values() if field.prefix is not None)
_PROBABILITY = re.compile(r"(^|_)(prob|proba|probs|probability|probabilities)(_|$)")
_SCORE = re.compile(r"(y_?|model_?|pred(iction)?_?)?(scores?|p)(_?1)?|p_?(pos|positive|yes|true)")


def likely_columns(columns: Sequence[str]) -> dict[str, str]:
    """Columns that are probably ours under other names, theirs -> ours; `prob_1` for a lone column of probabilities.

    Only what is not there under our name is looked for, and only where one column alone fits.

    >>> likely_columns(["id", "y_true", "y_pred", "y_pred_proba", "timestamp"])
    {'y_true': 'label', 'y_pred': 'prediction', 'timestamp': 'time', 'y_pred_proba': 'prob_1'}
    >>> likely_columns(["y_pred_proba_cat", "y_pred_proba_dog"])
    {'y_pred_proba_cat': 'prob_cat', 'y_pred_proba_dog': 'prob_dog'}
    """
    out: dict[str, str] = {}
    for ours, field in FIELDS.items():
        if field.elsewhere is None:
            continue
        fitting = [c for c in columns if re.fullmatch(field.elsewhere, re.sub("[ -]", "_", c.strip().lower()))]
        if ours not in columns and len(fitting) == 1:
            out[fitting[0]] = ours
    if any(c in FIELDS and FIELDS[c].of_classes for c in columns) or any(c.startswith(_PREFIXES) for c in columns):
        return out
    found = {c: match for c in columns if c not in FIELDS and (match := _PROBABILITY.search(c.lower())) is not None}
    lone = list(found) or [c for c in columns if _SCORE.fullmatch(c.lower())]
    if len(lone) == 1:
        out[lone[0]] = "prob_1"
    elif found:
        heads = {c[: match.end()] for c, match in found.items()}
        names = [c[match.end() :] for c, match in found.items()]
        if len(heads) == 1 and all(names) and len(set(names)) == len(names):
            out |= {c: f"prob_{name}" for c, name in zip(found, names, strict=True)}
    return out


def looks_like_probability(column: str) -> bool:
    """Whether a name that is none of ours is one that teams give a probability or a score.

    >>> [looks_like_probability(name) for name in ("y_pred_proba", "p_yes", "score", "prediction", "score_of_bureau")]
    [True, True, True, False, False]
    """
    low = column.strip().lower()
    return column not in FIELDS and (_PROBABILITY.search(low) is not None or _SCORE.fullmatch(low) is not None)


def likely_remedy(columns: Sequence[str]) -> str | None:
    """What to do where a file has no column that we know; None where its columns tell nothing.

    >>> likely_remedy(["y_pred", "y_pred_proba", "age"])
    'the file has y_pred, y_pred_proba: --map y_pred=prediction --positive y_pred_proba'
    """
    found = {theirs: ours for theirs, ours in likely_columns(columns).items() if ours != "time"}
    return f"the file has {', '.join(found)}: {as_options(found)}" if found else None


def as_options(renamings: dict[str, str]) -> str:
    """Renamings as options of a command.

    >>> as_options({"y": "label", "my score": "prob_1"})
    "--map y=label --positive 'my score'"
    >>> as_options({"score": "prob_yes"})
    '--positive score=yes'
    """
    import shlex

    wide = sum(ours.startswith("prob_") for ours in renamings.values())
    return " ".join(
        f"--positive {shlex.quote(theirs if ours == 'prob_1' else f'{theirs}={ours[5:]}')}"
        if ours.startswith("prob_") and wide == 1
        else f"--map {shlex.quote(f'{theirs}={ours}')}"
        for theirs, ours in renamings.items()
    )
