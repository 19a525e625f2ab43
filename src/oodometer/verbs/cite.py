"""The verb `cite`: the BibTeX entry of a method, or of the key it carries."""

from __future__ import annotations

from ..arguments import checked
from ..citations import BIBTEX, bibtex
from ..errors import UsageError
from ..registry import MethodKind, find

__all__ = ["cite"]

_KINDS: tuple[MethodKind, ...] = ("estimator", "score", "metric", "calibrator", "shift")


@checked()
def cite(method: str) -> str:
    """BibTeX of the paper behind a method (an estimator, score, metric, calibrator or shift), or under a key.

    Raises `UsageError` for a name that is neither.

    >>> cite("atc").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    if method in BIBTEX:
        return bibtex(method)
    near: UsageError | None = None
    for kind in _KINDS:
        try:
            found = find(kind, method)
            own: str | None = getattr(found, "bibtex", None)  # a plugin carries its own entry
            return own if own is not None else bibtex(found.citation)
        except UsageError as error:
            near = near or error
    raise UsageError(str(near))
