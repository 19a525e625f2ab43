"""Classes of wrong files of `discriminate`: pairs to learn from, outputs to judge, outputs to set thresholds on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .base import REFUSED, Call, Kit, trial

GROUP = "Files of `discriminate`"
_NAMES = ("input", "output", "gold")


def _lines(
    changes: Mapping[str, Any] | None = None,
    names: Sequence[str | None] = _NAMES,
    rows: int = 12,
    judge: str | None = None,
) -> str:
    """Rows of text, the third with other cells; a column whose name is None is left out.

    With ``judge`` they hold what a judge of this name said of them, so that no judge is needed.
    """
    out = []
    for number in range(rows):
        row: dict[str, Any] = {"input": f"q {number}", "output": f"o {number % 3}", "gold": f"o {number % 2}"}
        said = {} if judge is None else {f"p_correct_{judge}": round(number / rows, 3)}
        row |= dict(changes or {}) if number == 2 else {}
        kept = {name: row[old] for old, name in zip(_NAMES, names, strict=True) if name is not None}
        out.append({**kept, **said, **{k: v for k, v in row.items() if k in said}})
    return "".join(json.dumps(row) + "\n" for row in out)


def _pairs(name: str, came: str, text: str, words: str | tuple[str, ...]) -> None:
    trial(GROUP, name, came, REFUSED, words, ("discriminate train",))(
        lambda kit, form: Call([*form.split(), str(kit.path("pairs.jsonl", text)), "--out", str(kit.path("new"))])
    )


def _outputs(name: str, came: str, text: str, words: str | tuple[str, ...], dev: str | None = None) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("discriminate predict",))
    def _(kit: Kit, form: str) -> Call:
        more = [] if dev is None else ["--calibrate", str(kit.path("dev.jsonl", dev))]
        return Call([*form.split(), str(kit.path("new.jsonl", text)), *more])


_JUDGED = _lines(names=("input", "output", None), judge="a")

_pairs("pairs without inputs", "columns output and gold", _lines(names=(None, "output", "gold")), "column input")
_pairs(
    "pairs without gold", "`truth` in the place of `gold`", _lines(names=("input", "output", "truth")), "column gold"
)
_pairs("names in capitals", "Input, Output, Gold", _lines(names=("Input", "Output", "Gold")), "--map Input=input")
_pairs("an empty input", '`"input": ""` in row 3', _lines({"input": ""}), ("row 3", "column input"))
_pairs("a number as output", "5 in row 3", _lines({"output": 5}), ("row 3", "column output"))
_pairs("an object as gold", '`{"x": 1}` in row 3', _lines({"gold": {"x": 1}}), ("row 3", "column gold"))
_pairs("a conversation", '`{"messages": []}`', '{"messages": []}\n', "expected columns input, output and gold")
_outputs("thresholds on a file without gold", "no column gold", _JUDGED, ("dev.jsonl", "labelled outputs"), _JUDGED)
_outputs(
    "thresholds on outputs that are all right", "dev whose output is gold", _JUDGED, "got 12 of 12 right",
    _lines(names=("input", None, "output"), judge="a").replace("}\n", ', "correct": 1}\n'))  # fmt: skip
_outputs(
    "an empty gold where thresholds are set", "a space in row 3", _JUDGED, ("dev.jsonl", "row 3", "column gold"),
    _lines({"gold": " "}, judge="a"))  # fmt: skip
_outputs("judges of another panel", "p_correct_b for p_correct_a", _JUDGED, "of the same judges", _lines(judge="b"))
_outputs(
    "a probability of 1.5", "p_correct_a in row 3", _lines({"p_correct_a": 1.5}, judge="a"), ("row 3", "p_correct_a"),
    _lines(judge="a"))  # fmt: skip
_outputs("outputs that no judge was asked of", "no p_correct column", _lines(), "judges", _lines(judge="a"))
