"""The verb `cite`: the BibTeX entry of a method, or of the key it carries."""

from __future__ import annotations

from ..citations import BIBTEX, bibtex
from ..errors import UsageError, near_names
from ..options import verb
from ..registry import MethodKind, find, named, names
from .options import CiteOptions

# What is our own, and whose results it is built on.
_OWN = {
    "headline": (
        "The headline is oodometer's own: methods weighed by their errors on simulated shifts, a weighted conformal",
        "quantile of these errors, and a prior of natural shifts. Cite the methods that the result names, too.",
        ("tibshirani2019", "claeskens2016"),
    )
}
_KINDS: tuple[MethodKind, ...] = ("estimator", "score", "metric", "calibrator", "shift")


@verb(CiteOptions)
def cite(options: CiteOptions) -> str:
    """BibTeX of the paper behind a method (an estimator, score, metric, calibrator or shift), or under a key.

    "headline" gives what the headline rests on. Raises `UsageError` for a name that is neither.

    >>> cite("atc").splitlines()[0]
    '@inproceedings{garg2022,'
    """
    method = options.method
    if method in _OWN:
        *words, keys = _OWN[method]
        return "\n".join([*(f"% {line}" for line in words), *map(bibtex, keys)])
    if method in BIBTEX:
        return bibtex(method)
    for kind in _KINDS:
        try:
            cls = find(kind, named(kind, method))
            own: str | None = getattr(cls, "bibtex", None)  # a plugin carries its own entry
            return own if own is not None else bibtex(cls.citation)
        except UsageError:
            continue
    near = near_names(method, [*_OWN, *BIBTEX, *(name for kind in _KINDS for name in names(kind))], 3)
    hint = f"did you mean {' or '.join(near)}" if near else "`oodometer methods` lists them"
    raise UsageError(f"unknown method {method!r}; {hint}")
