"""Classes of fitted files: damaged, of another version, of other classes, of no reference, and where none belongs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .base import METHODS, REFUSED, SAME, Call, Kit, trial

GROUP = "Fitted files"
_DIGEST = 40  # characters of the checksum at the end


def _fitted(kit: Kit, name: str = "model.oodo") -> Path:
    """A file fitted on the clean reference, with the methods that calls ask for."""
    import oodometer

    path = kit.path(name)
    oodometer.fit(str(kit.clean("reference")), out=path, methods=list(METHODS), backtest=None, workers=1)
    return path


def _sealed(body: bytes) -> bytes:
    """A file whose checksum fits, as somebody else's version would write it."""
    from hashlib import blake2b

    body = body[:-_DIGEST]
    return body + blake2b(body, digest_size=_DIGEST // 2).hexdigest().encode()


def _changed(name: str, came: str, words: str | tuple[str, ...], change: Callable[[bytes], bytes]) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("estimate", "audit", "backtest", "diagnose"))
    def _(kit: Kit, form: str) -> Call:
        path = kit.path("bad.oodo", change(_fitted(kit).read_bytes()))
        return Call([form, str(path), *([] if form == "backtest" else [str(kit.clean("target"))])])


_changed("cut off", "the first half of it", "cut off or damaged", lambda body: body[: len(body) // 2])
_changed(
    "one bit another", "a bit of a number in the middle", "cut off or damaged",
    lambda body: body[: len(body) // 2] + bytes([body[len(body) // 2] ^ 1]) + body[len(body) // 2 + 1 :],
)  # fmt: skip
_changed("empty", "no byte", "fitted file", lambda body: b"")
_changed(
    "no fitted file", "CSV under the ending .oodo", "fitted file", lambda body: b"prob_a,prob_b,label\n0.9,0.1,a\n"
)
_changed(
    "of another version", "one of oodometer 9.1.0", ("9.1.0", "fit it again"),
    lambda body: _sealed(body.replace(b'"oodometer": "0.1.0"', b'"oodometer": "9.1.0"')),
)  # fmt: skip
_changed(
    "a class that is not ours", "`os:system` in the place of an estimator", "damaged",
    lambda body: _sealed(body.replace(b'"estimators.source:SourceAccuracy"', b'"os:system                       "')),
)  # fmt: skip


@trial(GROUP, "the reference's place", "a whole file, no options", SAME, (), ("estimate",))
def _(kit: Kit, form: str) -> Call:
    return kit.estimate(_fitted(kit))


@trial(GROUP, "a target of other classes", "`prob_fox` in the place of `prob_emu`", REFUSED, "prob_emu", ("estimate",))
def _(kit: Kit, form: str) -> Call:
    columns = {("prob_fox" if k == "prob_emu" else k): v for k, v in kit.target("prob_*").items()}
    return kit.estimate(_fitted(kit), kit.put("t.parquet", columns))


@trial(GROUP, "another level than that of the fit", "`--level 0.5`", REFUSED, ("level", "fit"), ("estimate",))
def _(kit: Kit, form: str) -> Call:
    return kit.estimate(_fitted(kit), None, "--level", "0.5")


@trial(GROUP, "a method that was not fitted", "`--method pape`", REFUSED, "pape", ("estimate",))
def _(kit: Kit, form: str) -> Call:
    return kit.estimate(_fitted(kit), None, "--method", "pape")


@trial(GROUP, "as the target", "a fitted file as TARGET", REFUSED, "REFERENCE", ("estimate", "diagnose", "audit"))
def _(kit: Kit, form: str) -> Call:
    return Call([form, str(kit.clean("reference")), str(_fitted(kit))])


@trial(GROUP, "where predictions are judged", "a fitted file alone", REFUSED, "fitted file", ("evaluate", "compare"))
def _(kit: Kit, form: str) -> Call:
    return Call([form, str(_fitted(kit)), *([str(kit.clean("reference"))] if form == "compare" else [])])


@trial(GROUP, "another ending", "`fit --out model.pkl`", REFUSED, ".oodo", ("fit",))
def _(kit: Kit, form: str) -> Call:
    return Call(["fit", str(kit.clean("reference")), "--out", str(kit.path("model.pkl"))])
