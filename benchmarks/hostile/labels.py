"""Classes of labels that mislead, of wrong files of `discriminate`, and of logs of evaluation harnesses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .base import DONE, REFUSED, SAME, WARNED, Call, Kit, Outcome, trial
from .material import ROWS, Columns

LABELS = "Labels and predictions that are not what they seem"
FORMS = ("csv", "jsonl", "parquet")


def _holed(columns: Columns, name: str, word: Any) -> Columns:
    return {**columns, name: [word if i % 5 == 0 else v for i, v in enumerate(columns[name])]}


def _audit(kit: Kit, labels: Columns, form: str) -> Call:
    files = [str(kit.clean("reference")), str(kit.clean("target", kit.target("prob_*")))]
    return Call(
        ["audit", *files, "--labels", str(kit.put(f"labels.{form}", labels)), "--json", "-"]
    )


for _word in ("NA", "None", "<NA>", "#N/A", "?", "nan"):

    @trial(
        LABELS,
        f"a missing label written {_word}",
        f"`{_word}` in every fifth label",
        (SAME, WARNED),
        _word,
        FORMS,
    )
    def _(kit: Kit, form: str, word: str = _word) -> Call:
        two = {"prediction": ["no", "yes", "yes"] * 40, "label": ["no", "yes"] * 60}
        return kit.evaluate(
            kit.put(f"p.{form}", _holed(two, "label", word)),
            clean=kit.clean("right", _holed(two, "label", None)),
        )


trial(LABELS, "a class that the model does not know", "`owl` in every fifth label", WARNED, "'owl'", FORMS,
    lambda kit, form: _audit(kit, _holed({"label": kit.target()["label"]}, "label", "owl"), form))  # fmt: skip


@trial(
    LABELS,
    "such a class in the file itself",
    "`owl` in every fifth `label`",
    WARNED,
    "'owl'",
    FORMS,
)
def _(kit: Kit, form: str) -> Call:
    file = str(kit.put(f"p.{form}", _holed(kit.reference(), "label", "owl")))
    return Call(["compare", file, file, "--name", "a", "--name", "b", "--json", "-"])


@trial(
    LABELS,
    "predictions that could not be parsed",
    "null in every fifth `prediction`",
    WARNED,
    "wrong",
    FORMS,
)
def _(kit: Kit, form: str) -> Call:
    two = {"prediction": ["no", "yes", "yes"] * 40, "label": ["no", "yes"] * 60}
    return Call(
        ["evaluate", str(kit.put(f"p.{form}", _holed(two, "prediction", None))), "--json", "-"]
    )


@trial(
    LABELS,
    "labels of confirmed cases alone",
    "only rows of class cat are labelled",
    WARNED,
    "random",
    FORMS,
)
def _(kit: Kit, form: str) -> Call:
    rows = [i for i, v in enumerate(kit.target()["label"]) if v == "cat"]
    return _audit(kit, {"row": rows, "label": ["cat"] * len(rows)}, form)


@trial(
    LABELS,
    "a metric of a class without labelled rows",
    "no reference row is of class emu",
    WARNED,
    "'emu'",
    FORMS,
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.reference()
    rows = [i for i in range(ROWS) if columns["label"][i] != "emu"]
    few = {name: [values[i] for i in rows] for name, values in columns.items()}
    return kit.estimate(kit.put(f"r.{form}", few), None, "--metric", "recall:emu", clean=None)


@trial(LABELS, "a reference of one class", "all labels are cat", WARNED, "one class", FORMS)
def _(kit: Kit, form: str) -> Call:
    columns = {**kit.reference(), "label": ["cat"] * ROWS}
    return kit.estimate(kit.put(f"r.{form}", columns), None, clean=None)


@trial(LABELS, "probabilities under a name of one's own", "`score` beside yes and no", (WARNED, REFUSED), "score",
    FORMS)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    files = []
    for which, columns in (("reference", kit.reference()), ("target", kit.target())):
        score = [float(v) for v in columns["prob_cat"]]
        rows: Columns = {"score": score, "prediction": ["yes" if v >= 0.5 else "no" for v in score]}
        if which == "reference":
            rows["label"] = ["yes" if v == "cat" else "no" for v in columns["label"]]
        files.append(kit.put(f"{which}.{form}", rows))
    return kit.estimate(*files, clean=None)


trial(LABELS, "a positive class that nobody has", "`--positive =7` without a metric", REFUSED, "7", FORMS,
    lambda kit, form: kit.estimate(kit.put(f"r.{form}", kit.reference()), None, "--positive", "=7"))  # fmt: skip


GROUP = "Files of `discriminate`"
_NAMES = ("input", "output", "gold")


def _rows(
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
        row: dict[str, Any] = {
            "input": f"q {number}",
            "output": f"o {number % 3}",
            "gold": f"o {number % 2}",
        }
        said = {} if judge is None else {f"p_correct_{judge}": round(number / rows, 3)}
        row |= dict(changes or {}) if number == 2 else {}
        kept = {name: row[old] for old, name in zip(_NAMES, names, strict=True) if name is not None}
        out.append({**kept, **said, **{k: v for k, v in row.items() if k in said}})
    return "".join(json.dumps(row) + "\n" for row in out)


def _pairs(name: str, came: str, text: str, words: str | tuple[str, ...]) -> None:
    trial(GROUP, name, came, REFUSED, words, ("discriminate train",),
        lambda kit, form: Call([*form.split(), str(kit.path("pairs.jsonl", text)), "--out",
            str(kit.path("new"))]))  # fmt: skip


def _judged_outputs(
    name: str, came: str, text: str, words: str | tuple[str, ...], dev: str | None = None
) -> None:
    @trial(GROUP, name, came, REFUSED, words, ("discriminate predict",))
    def _(kit: Kit, form: str) -> Call:
        more = [] if dev is None else ["--calibrate", str(kit.path("dev.jsonl", dev))]
        return Call([*form.split(), str(kit.path("new.jsonl", text)), *more])


_JUDGED = _rows(names=("input", "output", None), judge="a")

_pairs(
    "pairs without inputs",
    "columns output and gold",
    _rows(names=(None, "output", "gold")),
    "column input",
)
_pairs(
    "pairs without gold",
    "`truth` in the place of `gold`",
    _rows(names=("input", "output", "truth")),
    "column gold",
)
_pairs(
    "names in capitals",
    "Input, Output, Gold",
    _rows(names=("Input", "Output", "Gold")),
    "--map Input=input",
)
_pairs("an empty input", '`"input": ""` in row 3', _rows({"input": ""}), ("row 3", "column input"))
_pairs("a number as output", "5 in row 3", _rows({"output": 5}), ("row 3", "column output"))
_pairs(
    "an object as gold", '`{"x": 1}` in row 3', _rows({"gold": {"x": 1}}), ("row 3", "column gold")
)
_pairs(
    "a conversation",
    '`{"messages": []}`',
    '{"messages": []}\n',
    "expected columns input, output and gold",
)
_judged_outputs("thresholds on a file without gold", "no column gold", _JUDGED, ("dev.jsonl", "labelled outputs"),
    _JUDGED)  # fmt: skip
_judged_outputs(
    "thresholds on outputs that are all right", "dev whose output is gold", _JUDGED, "got 12 of 12 right",
    _rows(names=("input", None, "output"), judge="a").replace("}\n", ', "correct": 1}\n'))  # fmt: skip
_judged_outputs(
    "an empty gold where thresholds are set", "a space in row 3", _JUDGED, ("dev.jsonl", "row 3", "column gold"),
    _rows({"gold": " "}, judge="a"))  # fmt: skip
_judged_outputs("judges of another panel", "p_correct_b for p_correct_a", _JUDGED, "of the same judges",
    _rows(judge="b"))  # fmt: skip
_judged_outputs(
    "a probability of 1.5", "p_correct_a in row 3", _rows({"p_correct_a": 1.5}, judge="a"), ("row 3", "p_correct_a"),
    _rows(judge="a"))  # fmt: skip
_judged_outputs(
    "outputs that no judge was asked of", "no p_correct column", _rows(), "judges", _rows(judge="a")
)


LOGS = "Logs of evaluation harnesses"
Row = Mapping[str, Any]


def _log(rows: Sequence[Row]) -> str:
    lines = []
    for number, row in enumerate(rows):
        own = ("doc_id", "target", "arguments", "filtered_resps", "filter")
        whole = {
            "doc_id": number,
            "doc": {},
            "target": "0",
            "arguments": {},
            "resps": [],
            "filtered_resps": ["x"],
        }
        lines.append({**whole, "metrics": [name for name in row if name not in own], **row})
    return "".join(json.dumps(one) + "\n" for one in lines)


def _choices(scores: Sequence[Any], **more: Any) -> Row:
    asked = {f"gen_args_{i}": {"arg_0": "Q", "arg_1": f" o{i}"} for i in range(len(scores))}
    return {
        "filtered_resps": [[str(one), "False"] for one in scores],
        "arguments": asked,
        "filter": "none",
        **more,
    }


def _samples(
    name: str,
    came: str,
    rows: Sequence[Row],
    words: str | tuple[str, ...],
    *more: str,
    must: str = REFUSED,
) -> None:
    @trial(LOGS, name, came, must, words, ("read",))
    def _(kit: Kit, form: str) -> Call:
        log = kit.path("samples_t.jsonl", _log(rows))
        return Call([form, str(log), "--out", str(kit.path("p.parquet")), *more])


def _marked(
    name: str,
    came: str,
    scores: Sequence[Mapping[str, Any]],
    words: str | tuple[str, ...],
    *more: str,
    must: str = REFUSED,
) -> None:
    @trial(LOGS, name, came, must, words, ("read",))
    def _(kit: Kit, form: str) -> Call:
        output = {"choices": [{"message": {"content": "x"}}]}
        samples = [
            {
                "id": i,
                "epoch": 1,
                "input": "Q",
                "target": "",
                "output": output,
                "scores": {k: {"value": v} for k, v in one.items()},
            }
            for i, one in enumerate(scores)
        ]
        about = {"task": "t", "model": "m", "dataset": {}}
        log = {"version": 2, "status": "success", "eval": about, "samples": samples}
        return Call(
            [
                form,
                str(kit.path("log.json", json.dumps(log))),
                "--out",
                str(kit.path("p.parquet")),
                *more,
            ]
        )


_samples("several metrics, one of them 0 or 1", "`pass@1` 0.2, `pass@5` 1",
    [{"filter": "none", "pass@1": share, "pass@5": float(share > 0)} for share in (0.2, 0.0, 1.0)], (),
    must=DONE)  # fmt: skip
_samples("a metric between 0 and 1", "`acc` 0.61, as of truthfulqa_mc2",
    [_choices([-1.0, -2.0], acc=share) for share in (0.61, 0.3, 0.8)], (), must=DONE)  # fmt: skip
_samples("a metric that is a list of verdicts", "`[true, false]`, as of ifeval",
    [{"filter": "none", "strict": 1.0, "each": [True, False]}] * 3, (), "--metric", "each", must=DONE)  # fmt: skip
_samples("a metric over all rows", '`bleu: ["x", "y"]`', [{"filter": "none", "bleu": ["x", "y"]}] * 3,
    ("a metric that is a number for each row", "--metric target"))  # fmt: skip
_samples("filters that are not named", "each document twice, as release 0.4.5 wrote them",
    [{"doc_id": i % 3, "exact_match": float(i > 2)} for i in range(6)], (), must=DONE)  # fmt: skip
_samples(
    "a log-likelihood that is no number",
    "`nan`",
    [_choices([-1.0, "nan"], acc=1.0)],
    ("row 1", "a log-likelihood"),
)
_marked("several scorers, one of them 0 or 1", "`quality` 0.5, `format_ok` C",
    [{"quality": i / 4, "format_ok": "C"} for i in range(5)], (), must=DONE)  # fmt: skip
_marked(
    "marks from 1 to 5", "`judge: 4`", [{"judge": mark} for mark in (1, 2, 4, 5)], (), must=DONE
)
_marked("a score that is no number", "`banana`", [{"judge": mark} for mark in (1, "banana")],
    ("row 2: column judge", "a number", "banana"))  # fmt: skip
_marked("a threshold of another scale", "`--metric 'judge>=0.5'` of marks from 1 to 5",
    [{"judge": mark} for mark in (1, 2, 4, 5)], ("a threshold within the scale, 1 to 5", "--metric 'judge>=4'"),
    "--metric", "judge>=0.5")  # fmt: skip


@trial(LOGS, "a log that is taken as it is", "`samples_t.jsonl`", DONE,
    (), ("evaluate", "estimate", "compare"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    log = str(kit.path("samples_t.jsonl", _log([_choices([-1.0, -2.0], acc=1.0)])))
    return Call([form, *[log] * (1 if form == "evaluate" else 2)])


@trial(
    LOGS,
    "logs of two kinds in a folder",
    "options that were scored, and texts",
    DONE,
    (),
    ("read",),
)
def _(kit: Kit, form: str) -> Call:
    (kit.folder / "logs").mkdir()
    kit.path("logs/samples_a.jsonl", _log([_choices([-1.0, -2.0], acc=1.0)]))
    kit.path("logs/samples_b.jsonl", _log([{"filter": "none", "exact_match": 1.0}]))
    return Call([form, str(kit.folder / "logs"), "--out", str(kit.path("p.parquet"))])


def _totals(
    name: str, came: str, must: str, words: tuple[str, ...], mean: float, asked: int
) -> None:
    """A log of two rows, of which one is right, beside a results file that says other figures."""

    @trial(LOGS, name, came, must, words, ("read",))
    def _(kit: Kit, form: str) -> Call:
        whole = {
            "results": {"t": {"acc,none": mean}},
            "n-samples": {"t": {"original": asked, "effective": asked}},
        }
        kit.path("results_2026-01-02T03-04-05.6.json", json.dumps(whole))
        rows = [_choices([-1.0, -2.0], acc=float(right), target=str(1 - right)) for right in (0, 1)]
        log = kit.path("samples_t_2026-01-02T03-04-05.6.jsonl", _log(rows))
        return Call([form, str(log), "--out", str(kit.path("p.parquet")), "--json", "-"])


_totals("a results file that contradicts its samples", "`acc` 0.75 of samples that give 0.5", REFUSED,
    ("acc is 0.5 in the log and 0.75 in results_", "--metric t=acc"), 0.75, 2)  # fmt: skip
_totals("a log with fewer samples than its results say", "2 of 4", WARNED,
    ("partial: 2 samples are in the log",), 0.75, 4)  # fmt: skip


@trial(LOGS, "logs of two models in a folder", "`out/a` and `out/b`", REFUSED,
    ("name one of its folders", "`oodometer read"), ("read",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    for model in "ab":
        (kit.folder / "out" / model).mkdir(parents=True)
        kit.path(f"out/{model}/samples_t.jsonl", _log([_choices([-1.0, -2.0], acc=1.0)]))
    return Call([form, str(kit.folder / "out"), "--out", str(kit.path("p.parquet"))])


@trial(LOGS, "minus infinity", "a log-likelihood of an option", DONE, (), ("read",))
def _(kit: Kit, form: str) -> Call:
    rows = [_choices([-1.0, "-inf", -3.0], acc=1.0), _choices(["-inf", "-inf", -3.0], acc=0.0)]
    log, answer = kit.path("samples_t.jsonl", _log(rows)), kit.path("answer.json")

    def wrong(found: Outcome) -> str | None:
        value = json.loads(answer.read_text())["accuracy"]["value"]
        return None if value == 0.5 else f"accuracy {value}"

    return Call(
        [form, str(log), "--out", str(kit.path("p.parquet")), "--json", str(answer)], check=wrong
    )
