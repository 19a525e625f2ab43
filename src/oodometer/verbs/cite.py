"""The verb `cite`: the BibTeX entry of a method, or of the key it carries."""

from __future__ import annotations

from ..citations import BIBTEX, bibtex
from ..errors import UsageError
from ..registry import MethodKind, find

__all__ = ["cite"]

_KINDS: tuple[MethodKind, ...] = ("estimator", "score", "metric", "calibrator")


def cite(method: str) -> str:
    """BibTeX of the paper behind a method (an estimator, score, metric or calibrator), or under a key.

    Raises `UsageError` for a name that is neither.

    >>> cite("atc").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    if method in BIBTEX:
        return bibtex(method)
    near: UsageError | None = None
    for kind in _KINDS:
        try:
            return bibtex(find(kind, method).citation)
        except UsageError as error:
            near = near or error
    raise UsageError(str(near))
