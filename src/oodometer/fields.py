"""Fields: the names and axes of everything a record may hold, and the checks that each must pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import checks
from .arrays import Array, Ragged, as_numpy, softmax
from .classes import ClassNames, encode, find_classes, truth_values
from .errors import InputError

__all__ = ["FIELDS", "check_fields"]

# field -> axes; the sample axis is where slicing happens
FIELDS: dict[str, tuple[str, ...]] = {
    "label": ("sample",),
    "prediction": ("sample",),
    "probabilities": ("sample", "class"),
    "logits": ("sample", "class"),
    "confidence": ("sample",),
    "members": ("model", "sample"),
    "member_probabilities": ("model", "sample", "class"),
    "token_logprobs": ("sample",),
    "views": ("view", "sample"),
    "votes": ("judge", "sample"),
    "features": ("sample", "feature"),
    "correct": ("sample",),
    "input": ("sample",),
    "output": ("sample",),
    "time": ("sample",),
    "group": ("sample",),
}
_CODED = ("label", "prediction", "members", "views")


def check_fields(
    given: dict[str, Any], classes: ClassNames | None
) -> tuple[int, ClassNames | None, dict[str, Any], dict[str, Any]]:
    """Number of rows, class names, checked arrays, and what the checks learnt on the way (``top``, ``rounded``).

    Rows in errors are counted from the start of these arrays.
    """
    out: dict[str, Any] = {}
    learnt: dict[str, Any] = {}
    if "logits" in given:
        out["logits"] = checks.check_finite(given["logits"], "logits", names=classes)
        if out["logits"].shape[1] < 2:
            raise InputError(
                "at least two classes", got="1", remedy="give one logit for each class", column="logits"
            )
        if "probabilities" not in given:
            out["probabilities"] = softmax(out["logits"])
    if "probabilities" in given:
        seen = checks.survey_probabilities(given["probabilities"], names=classes)
        out["probabilities"] = seen.values
        learnt |= {k: v for k, v in (("top", seen.top), ("rounded", seen.digits)) if v is not None}
    if "confidence" in given:
        out["confidence"] = checks.check_confidence(given["confidence"])
    if "member_probabilities" in given:
        out["member_probabilities"] = _member_probabilities(given["member_probabilities"], classes)
    if "features" in given:
        out["features"] = checks.check_finite(given["features"], "features", "sample, feature")
    if "token_logprobs" in given:
        out["token_logprobs"] = _token_logprobs(given["token_logprobs"])
    for name in ("correct", "votes"):
        if name in given:
            out[name] = truth_values(given[name], name)
            if out[name].ndim != len(FIELDS[name]):
                raise InputError(f"axes {FIELDS[name]}", got=f"shape {out[name].shape}", column=name)
    if "votes" in out and (out["votes"] < 0).any():
        row = int(np.argmax((out["votes"] < 0).any(axis=0))) + 1
        raise InputError(
            "a verdict from every judge", got="null", remedy="drop the row", row=row, column="votes"
        )
    classes = _settle_classes(given, out, classes)
    for name in _CODED:
        if name in given:
            out[name] = _coded(given[name], name, classes)
    for name in ("input", "output", "group"):
        if name in given:
            out[name] = as_numpy(given[name])
    if "time" in given:
        out["time"] = _time(given["time"])
    rows = _common_length(out)
    if "prediction" in out and "probabilities" in out:
        checks.check_prediction_is_argmax(out["prediction"], out["probabilities"], classes or ())
    return rows, classes, out, learnt


def _settle_classes(
    given: dict[str, Any], out: dict[str, Any], classes: ClassNames | None
) -> ClassNames | None:
    """The class names: as given, else 0..K-1 for a class axis, else the classes that occur."""
    widths = {
        name: out[name].shape[-1]
        for name in ("probabilities", "logits", "member_probabilities")
        if name in out
    }
    if classes is not None:
        for name, width in widths.items():
            if width != len(classes):
                raise InputError(
                    f"{len(classes)} classes",
                    got=f"{width}",
                    remedy="name every class once, in column order",
                    column=name,
                )
        return classes
    if widths:
        if len(set(widths.values())) > 1:
            raise InputError(
                "one number of classes",
                got=", ".join(f"{k}: {v}" for k, v in widths.items()),
                remedy="align them",
            )
        return tuple(range(next(iter(widths.values()))))
    coded = [given[name] for name in _CODED if name in given]
    return find_classes(coded) if coded else None


def _coded(value: Any, name: str, classes: ClassNames | None) -> Array:
    codes = encode(value, classes or (), name)
    if codes.ndim != len(FIELDS[name]):
        raise InputError(
            f"an array with axes ({', '.join(FIELDS[name])})",
            got=f"shape {codes.shape}",
            remedy="reshape it",
            column=name,
        )
    if name != "label" and (codes < 0).any():
        at = np.unravel_index(int(np.argmax(codes < 0)), codes.shape)
        raise InputError(
            "a predicted class", got="null", remedy="drop the row", row=int(at[-1]) + 1, column=name
        )
    return codes


def _member_probabilities(value: Any, classes: ClassNames | None) -> Array:
    array = as_numpy(value)
    if array.ndim != 3:
        raise InputError(
            "an array with axes (model, sample, class)", got=f"shape {array.shape}", column="member_probabilities",
            remedy="stack one (sample, class) array for each model",
        )  # fmt: skip
    parts = [
        checks.check_probabilities(m, f"member_probabilities[{i}]", classes) for i, m in enumerate(array)
    ]
    return np.stack(parts) if parts else array.astype(np.float64)


def _token_logprobs(value: Any) -> Ragged:
    try:
        ragged = value if isinstance(value, Ragged) else Ragged.from_rows(value)
    except (TypeError, ValueError):
        raise InputError(
            "a list of numbers a sample",
            got="other values",
            remedy="one log-probability a token",
            column="token_logprobs",
        ) from None
    bad = ~(ragged.values <= 1e-6)
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(ragged.offsets, position, side="right"))
        raise InputError(
            "log-probabilities (at most 0)",
            got=f"{ragged.values[position]:.6g}",
            remedy="take the logarithm of probabilities; use natural logarithms",
            row=row,
            column="token_logprobs",
        )
    return ragged


def _time(value: Any) -> Array:
    array = as_numpy(value)
    try:
        out = array.astype("datetime64[us]")
    except (TypeError, ValueError):
        raise InputError(
            "timestamps",
            got=repr(array.ravel()[0]),
            remedy="write them as ISO 8601, 2026-01-31T12:00:00",
            column="time",
        ) from None
    missing = np.isnat(out)
    if missing.any():
        raise InputError(
            "a timestamp", got="null", remedy="drop the row", row=int(np.argmax(missing)) + 1, column="time"
        )
    return out


def _common_length(out: dict[str, Any]) -> int:
    """Every field has the same number of samples; returns it."""
    lengths = {
        name: len(v) if isinstance(v, Ragged) else v.shape[FIELDS[name].index("sample")]
        for name, v in out.items()
    }
    rows = next(iter(lengths.values()))
    for name, length in lengths.items():
        checks.check_length(rows, length, name)
    return int(rows)
