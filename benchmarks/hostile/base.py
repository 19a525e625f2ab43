"""What a class of hostile input is: how it is made, what must happen, and how it is run and checked."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .material import Columns, as_lists, columns_of, select, write

REFUSED, SAME, WARNED, STOPPED, DONE = "refused", "same answer", "warned", "stopped", "done"
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
# What may come instead, none of which is ever right.
DIFFERENT, SILENT, TRACEBACK, HANG, FAILED, UNCLEAR = ("ANOTHER ANSWER", "NO WARNING", "TRACEBACK", "HANG", "FAILED",
    "UNCLEAR MESSAGE")  # fmt: skip

METHODS = ("source", "ac", "atc", "bbse", "sld")
QUICK_METRICS = ("accuracy", "brier")


@dataclass(frozen=True)
class Call:
    """One run of the program: the command line's arguments, or a function that calls the library.

    ``clean`` is the call whose answer this one must give. ``key`` says when two calls of the library are the same.
    ``check`` looks at what was left behind and returns a complaint or None. ``process``: run in a process of its own,
    with ``env``, ``stdin``, a limit of memory in MB, and the signal ``send`` once something lies in ``send_when``.
    """

    run: Sequence[str] | Callable[[], Any]
    clean: Call | None = None
    close: float = 1e-9
    check: Callable[[Outcome], str | None] | None = None
    key: tuple[str, ...] = ()
    process: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None
    memory: int | None = None
    seconds: float = 60.0
    terminal: bool = False
    send: int | None = None
    send_when: Path | None = None


@dataclass(frozen=True)
class Trial:
    """A class of input: where it belongs, what it is, an example, what must happen and what the message must say."""

    group: str
    name: str
    came: str
    must: tuple[str, ...]
    words: tuple[str, ...]
    forms: tuple[str, ...]
    make: Callable[[Kit, str], Call]


@dataclass
class Outcome:
    """What happened: ``kind`` (one of the words above), the exit code, the message, the answer, and a complaint."""

    kind: str
    code: int | None = None
    message: str = ""
    answer: Any = None
    stdout: str = ""
    stderr: str = ""
    complaint: str = ""
    seconds: float = 0.0


TRIALS: list[Trial] = []


Make = Callable[["Kit", str], Call]


def trial(
    group: str,
    name: str,
    came: str,
    must: str | tuple[str, ...],
    words: str | tuple[str, ...] = (),
    forms: Sequence[str] = ("",),
    make: Make | None = None,
) -> Callable[[Make], Make]:
    """Declare a class; ``make``, or the function below, makes the input in one of the ``forms``: the call."""
    must, words = ((one,) if isinstance(one, str) else one for one in (must, words))

    def add(make: Make) -> Make:
        TRIALS.append(Trial(group, name, came, must, words, tuple(forms), make))
        return make

    if make is not None:
        add(make)
    return add


class Kit:
    """A folder for one case, and the clean data: files and calls are made from it.

    ``quick``: estimates without further options are asked of the library and not of the command line.
    """

    def __init__(self, folder: Path, shared: Path, quick: bool = False) -> None:
        self.folder, self.shared, self.quick = folder, shared, quick
        folder.mkdir(parents=True, exist_ok=True)
        shared.mkdir(parents=True, exist_ok=True)

    def reference(self, *wanted: str, rows: int | None = None) -> Columns:
        """Columns of the clean reference, by default wide probabilities and labels."""
        return _few(columns_of(1), wanted, rows)

    def target(self, *wanted: str, rows: int | None = None) -> Columns:
        """Columns of the clean target."""
        return _few(columns_of(2, shift=0.8), wanted, rows)

    def path(self, name: str, content: bytes | str | None = None) -> Path:
        """A path in the folder of the case, written if content is given."""
        path = self.folder / name
        if content is not None:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def put(self, name: str, columns: Columns) -> Path:
        """Write columns to a file of this name."""
        return write(self.folder / name, columns)

    def clean(self, which: str, columns: Columns | None = None) -> Path:
        """The clean file of some columns as Parquet, written once for all cases."""
        columns = columns if columns is not None else getattr(self, which)()
        import hashlib

        mark = (
            ""
            f"{which}-{hashlib.blake2b(json.dumps(columns, default=str).encode(), digest_size=8).hexdigest()}.parquet"
        )
        path = self.shared / mark
        return path if path.exists() else write(path, columns)

    def estimate(
        self,
        reference: Path | str | None = None,
        target: Path | str | None = None,
        *more: str,
        methods: Sequence[str] = METHODS,
        **call: Any,
    ) -> Call:
        """`oodometer estimate` of two files, the clean ones by default; the answer must be that of the clean files."""
        clean = call.pop("clean", "clean")
        if clean == "clean":
            clean = self.estimate(methods=methods, clean=None)
        if self.quick and not more and not call.get("process"):
            files = str(reference or self.clean("reference")), str(target or self.clean("target"))
            run = self.library(*files, methods=list(methods), diagnosis=False)
            return Call(run, clean, key=(*files, *methods), **call)
        arguments = ["estimate", str(reference or self.clean("reference")), str(target or self.clean("target")),
            "--backtest", "none", *(word for name in methods for word in ("--method", name)), *more]  # fmt: skip
        if "--json" not in more:
            arguments += ["--json", str(self.folder / "answer.json")]
        return Call(arguments, clean, **call)

    def evaluate(
        self, file: Path | str, *more: str, clean: Path | None = None, **call: Any
    ) -> Call:
        """The library's `evaluate` on one file, with two quick metrics."""
        import oodometer

        def run_on(what: Any) -> Callable[[], Any]:
            return lambda: oodometer.evaluate(what, metrics=list(QUICK_METRICS), workers=1)

        return Call(run_on(file), Call(run_on(clean or self.clean("reference"))), **call)

    def library(
        self, reference: Any = None, target: Any = None, **options: Any
    ) -> Callable[[], Any]:
        """The library's `estimate`, on arrays of the clean data unless others are given."""
        import oodometer

        first = arrays(self.reference()) if reference is None else reference
        second = arrays(self.target()) if target is None else target
        options = {"methods": list(METHODS), "backtest": None, "workers": 1, **options}
        return lambda: oodometer.estimate(first, second, **options)


def arrays(columns: Columns) -> dict[str, Any]:
    """The columns as the library takes them from memory: lists packed, classes named."""
    import numpy as np

    from oodometer.fields import FIELDS

    from .material import CLASSES, arrays_of

    packed = arrays_of(as_lists(columns))
    out: dict[str, Any] = {name: np.asarray(value) for name, value in packed.items()}
    if "probabilities" in out or "logits" in out:
        out["classes"] = list(CLASSES)
        for name, field in FIELDS.items():
            if field.cell == "class" and name in out:
                out[name] = np.array(CLASSES)[out[name]]
    return out


def _few(columns: Columns, wanted: Sequence[str], rows: int | None) -> Columns:
    found = select(columns, *(wanted or ("prob_*", "label")))
    return {k: list(v[:rows]) for k, v in found.items()}
