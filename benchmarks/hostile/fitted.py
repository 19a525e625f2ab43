"""Classes of fitted files: damaged, of another version, of other classes, of no reference, and where none belongs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from .base import METHODS, REFUSED, SAME, Call, Kit, trial

GROUP = "Fitted files"
MANY = 400_000_000
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
    lambda body: body[: len(body) // 2] + bytes([body[len(body) // 2] ^ 1]) + body[len(body) // 2 + 1 :])  # fmt: skip
_changed("empty", "no byte", "fitted file", lambda body: b"")
_changed("no fitted file", "CSV under the ending .oodo", "fitted file",
    lambda body: b"prob_a,prob_b,label\n0.9,0.1,a\n")  # fmt: skip
_changed(
    "of another version", "one of oodometer 9.1.0", ("9.1.0", "fit it again"),
    lambda body: _sealed(body.replace(b'"oodometer": "0.1.0"', b'"oodometer": "9.1.0"')))  # fmt: skip
_changed(
    "a class that is not ours",
    "`os:system` in the place of an estimator",
    "damaged",
    lambda body: _sealed(re.sub(rb"[a-z_.]+:SourceAccuracy", lambda one: b"os:system".ljust(len(one[0])), body)),
)
trial(GROUP, "the reference's place", "a whole file, no options", SAME, (), ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit)))  # fmt: skip


@trial(GROUP, "a target of other classes", "`prob_fox` in the place of `prob_emu`", REFUSED, "prob_emu", ("estimate",))
def _(kit: Kit, form: str) -> Call:
    columns = {("prob_fox" if k == "prob_emu" else k): v for k, v in kit.target("prob_*").items()}
    return kit.estimate(_fitted(kit), kit.put("t.parquet", columns))


@trial(GROUP, "a target without the clusters of the fit", "no column passage", REFUSED, "--map", ("estimate", "audit"))
def _(kit: Kit, form: str) -> Call:
    import oodometer

    columns, path = kit.reference("prob_*", "label"), kit.path("clustered.oodo")
    given = {**columns, "passage": [row // 10 for row in range(len(columns["label"]))]}
    asked = {"methods": list(METHODS), "backtest": None, "workers": 1, "cluster": "passage"}
    oodometer.fit(str(kit.put("clustered.parquet", given)), out=path, **asked)  # type: ignore[arg-type]
    return Call([form, str(path), str(kit.clean("target"))])


trial(GROUP, "another level than that of the fit", "`--level 0.5`", REFUSED, ("level", "fit"), ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit), None, "--level", "0.5"))  # fmt: skip
trial(GROUP, "a method that was not fitted", "`--method pape`", REFUSED, "pape", ("estimate",),
    lambda kit, form: kit.estimate(_fitted(kit), None, "--method", "pape"))  # fmt: skip
trial(GROUP, "as the target", "a fitted file as TARGET", REFUSED, "REFERENCE", ("estimate", "diagnose", "audit"),
    lambda kit, form: Call([form, str(kit.clean("reference")), str(_fitted(kit))]))  # fmt: skip
trial(GROUP, "where predictions are judged", "a fitted file alone", REFUSED, "fitted file", ("evaluate", "compare"),
    lambda kit, form: Call([form, str(_fitted(kit)),
        *([str(kit.clean("reference"))] if form == "compare" else [])]))  # fmt: skip
trial(GROUP, "another ending", "`fit --out model.pkl`", REFUSED, ".oodo", ("fit",),
    lambda kit, form: Call(["fit", str(kit.clean("reference")), "--out", str(kit.path("model.pkl"))]))  # fmt: skip


def _array(descr: str, shape: int, content: bytes) -> bytes:
    """The `.npy` file of an array, whatever its length."""
    kind = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape},), }}"
    return b"\x93NUMPY\x01\x00v\x00" + kind.ljust(117).encode() + b"\n" + content


for _name, _section in (
    ("400,000,000 objects in few bytes", f'{{"~": "objects", "s": [{MANY}], "v": []}}'),
    ("400,000,000 empty texts in few bytes", '{"~": "array", "v": 0}'),
    ("one array of 1 MB 4,000 times", "[" + ", ".join(['{"~": "array", "v": 1}'] * 4000) + "]"),
):

    @trial(GROUP, _name, f"`{_section[:40]}`", REFUSED, "cut off or damaged", ("estimate",))
    def _(kit: Kit, form: str, section: str = _section) -> Call:
        # A whole file whose sections are one tree of somebody else's
        import json

        from oodometer.persistence import Archive, archive_of

        archive = Archive.open(_fitted(kit))
        about = json.loads(archive._entry("oodometer.json"))
        files = [one for one in archive._entries if one.endswith(".json") and "oodometer" not in one]
        sections = dict.fromkeys([one.removesuffix(".json") for one in files], json.loads(section))
        extra = {key: value for key, value in about.items() if key not in ("oodometer", "format", "arrays")}
        arrays = [_array("<U0", MANY, b""), _array("|u1", 1 << 20, bytes(1 << 20))]
        path = str(kit.path("evil.oodo", archive_of(extra, sections, arrays)))
        return Call([form, path, str(kit.clean("target"))], process=True, memory=3000)


def _other_piece(name: str, came: str, where: tuple[str, ...], value: object, remedy: str = "fit it again") -> None:
    @trial(GROUP, name, came, REFUSED, ("odd.oodo", remedy), ("estimate",))
    def _(kit: Kit, form: str) -> Call:
        import json

        from oodometer.persistence import Archive, archive_of

        archive = Archive.open(_fitted(kit))
        about = json.loads(archive._entry("oodometer.json"))
        sections = {one: archive.section(one) for one in ("fitted", "record")}
        piece = sections["fitted"]
        for key in where[:-1]:
            piece = piece[key]
        piece[where[-1]] = value
        extra = {key: told for key, told in about.items() if key not in ("oodometer", "format", "arrays")}
        path = kit.path("odd.oodo", archive_of(extra, sections, archive.arrays))
        return Call([form, str(path), str(kit.clean("target"))])


_other_piece("a text for a score", "`_score` of a method", ("plan", "v", "methods", "atc", "v", "_score"), "2026")
_other_piece("a number for what was asked", "`options.methods`", ("options", "methods"), [10**9])
_other_piece("a number for the drawings", "`figures`", ("figures",), -1, "write it again with `oodometer fit")


@trial(GROUP, "a pipe", "`mkfifo model.oodo`", REFUSED, ("a pipe or device",), ("estimate", "library"))
def _(kit: Kit, form: str) -> Call:
    path = kit.path("pipe.oodo")
    if not path.exists():
        os.mkfifo(path)
    if form == "library":
        return Call(kit.library(str(path), str(kit.clean("target"))), seconds=20)
    return Call([form, str(path), str(kit.clean("target"))], process=True, seconds=20)
