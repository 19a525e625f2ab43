"""Classes of calls: options, files that belong together, keys that join rows, alarms, places for outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .base import DONE, FAILED, REFUSED, SAME, WARNED, Call, Kit, Outcome, trial
from .material import ROWS, jsonl_text

LABELS = ("csv", "jsonl", "parquet")
CALLS, OUTPUTS, JOINS = (
    "Options of the command line",
    "Places for outputs",
    "Labels and slices beside the target",
)


def _call(name: str, came: str, words: Any, *more: str, must: Any = REFUSED) -> None:
    trial(
        CALLS,
        name,
        came,
        must,
        words,
        ("estimate",),
        lambda kit, form: kit.estimate(None, None, *more),
    )


_call("an unknown method", "`--method act`", "atc", "--method", "act")
_call("a method without a name", "`--method ''`", (), "--method", "")
_call("a level in percent", "`--level 95`", "level", "--level", "95")
_call("a level of zero", "`--level 0`", "level", "--level", "0")
_call("a level of one", "`--level 1`", "level", "--level", "1")
_call("a level that is not a number", "`--level nan`", "level", "--level", "nan")
_call("a level as text", "`--level high`", "level", "--level", "high")
_call("a duration that is none", "`--every 7x`", "7x", "--every", "7x")
_call("a duration of nothing", "`--every 0d`", "0d", "--every", "0d")
_call("chunks without a column of times", "`--every 7d`", "time", "--every", "7d")
_call("slices by a column that is not there", "`--by site`", "site", "--by", "site")
_call(
    "slices and chunks at once",
    "`--by group --every 7d`",
    "not both",
    "--by",
    "label",
    "--every",
    "7d",
)
_call("a mapping without a sign", "`--map label`", "theirs=ours", "--map", "label")
_call("a mapping of a column that is not there", "`--map y=label`", "y", "--map", "y=label")
_call(
    "a mapping onto a column that is there",
    "`--map prob_cat=prob_dog`",
    "prob_dog",
    "--map",
    "prob_cat=prob_dog",
)
_call("class names of another number", "`--classes cat,dog`", "prob_emu", "--classes", "cat,dog")
_call("a class name twice", "`--classes cat,dog,dog`", (), "--classes", "cat,dog,dog")
_call(
    "class names in another order",
    "`--classes emu,cat,dog`",
    (),
    "--classes",
    "emu,cat,dog",
    must=SAME,
)
_call("no worker", "`--workers 0`", "worker", "--workers", "0")
_call("workers below zero", "`--workers -3`", "worker", "--workers", "-3")
_call("a fraction of a worker", "`--workers 1.5`", "worker", "--workers", "1.5")
_call("a threshold in percent", "`--threshold 60`", ("0.6", "percents"), "--threshold", "60")
_call("a threshold that is no number", "`--threshold nan`", "a number", "--threshold", "nan")
_call("an engine that is not there", "`--engine moon`", "moon", "--engine", "moon")
_call(
    "a Ray cluster that is not there",
    "`--engine ray:127.0.0.1:9`",
    "no Ray cluster",
    "--engine",
    "ray:127.0.0.1:9",
)
_call("a calibrator that is not there", "`--calibrator hot`", "hot", "--calibrator", "hot")
_call("an accuracy in percent", "`--target-accuracy 95`", "95", "--target-accuracy", "95")
_call("a negative seed", "`--seed -1`", "seed", "--seed", "-1")
_call(
    "a huge seed",
    "`--seed 1000000000000000000000000`",
    "seed",
    "--seed",
    "1" + "0" * 24,
    must=(REFUSED, DONE),
)
_call("an unknown option", "`--fast`", "--fast", "--fast")
_call("a method that the data cannot feed", "`--method gde` alone, without members", "members", "--method", "gde",
    must=(SAME, REFUSED, WARNED))  # fmt: skip
trial(CALLS, "two files in the wrong order", "TARGET before REFERENCE", REFUSED, "REFERENCE", ("estimate",),
    lambda kit, form: kit.estimate(kit.clean("target", kit.target("prob_*")), kit.clean("reference")))  # fmt: skip
trial(CALLS, "the same file twice", "the reference as the target", (WARNED,), "same", ("estimate",),
    lambda kit, form: kit.estimate(kit.clean("reference"), kit.clean("reference"), clean=None))  # fmt: skip


def _measured(name: str, came: str, words: Any, *more: str) -> None:
    @trial(CALLS, name, came, REFUSED, words, ("evaluate",))
    def _(kit: Kit, form: str) -> Call:
        two = {"label": ["no", "yes"] * 60, "prediction": ["no", "yes", "yes"] * 40}
        return Call(["evaluate", str(kit.put("binary.csv", two)), *more])


_measured("a positive class that is not there", "`--positive =maybe`", "a positive class among no, yes", "--positive",
    "=maybe")  # fmt: skip
_measured("a metric that is not there", "`--metric f11`", "did you mean f1", "--metric", "f11")
_measured("a pay-off for one class of two", """`--payoff '{"no": {"no": 1, "yes": 0}}'`""", "none for 'yes'",
          "--payoff", '{"no": {"no": 1, "yes": 0}}')  # fmt: skip
_measured("a pay-off that is a text", """`--payoff '{"no": {"no": "much"}}'`""", "a number for truth 'no'",
          "--payoff", '{"no": {"no": "much"}}')  # fmt: skip
_measured(
    "a pay-off file that is not there",
    "`--payoff worth.json`",
    "worth.json",
    "--payoff",
    "worth.json",
)


def _no_file(name: str, came: str, words: Any, make: Any) -> None:
    @trial(
        CALLS, name, came, REFUSED, words, ("estimate", "evaluate", "audit", "backtest", "diagnose")
    )
    def _(kit: Kit, form: str) -> Call:
        path = str(make(kit))
        files = (
            [str(kit.clean("reference")), path]
            if form in ("estimate", "audit", "diagnose")
            else [path]
        )
        return Call([form, *files])


def _folder(kit: Kit) -> Path:
    path = kit.path("folder.csv")
    path.mkdir(exist_ok=True)
    return path


def _pipe(kit: Kit) -> Path:
    path = kit.path("pipe.csv")
    os.mkfifo(path)
    return path


def _loop(kit: Kit) -> Path:
    path = kit.path("loop.csv")
    path.symlink_to(path)
    return path


_no_file("a file that is not there", "`none.csv`", "none.csv", lambda kit: kit.path("none.csv"))
_no_file("a folder", "a folder named `folder.csv`", "folder.csv", _folder)
_no_file("a link to itself", "a symbolic link", "loop.csv", _loop)
_no_file(
    "a pickle",
    "`model.pkl`",
    "pickle is never read",
    lambda kit: kit.path("model.pkl", b"\x80\x04N."),
)
_no_file(
    "an unknown ending", "`data.xlsx`", "xlsx", lambda kit: kit.path("data.xlsx", b"PK\x03\x04")
)
_no_file(
    "no ending", "a file `data`", "data", lambda kit: kit.path("data", "prob_a,prob_b\n0.5,0.5\n")
)
_no_file("a device", "`/dev/null`", "/dev/null", lambda kit: "/dev/null")
_no_file("an empty name", "`''`", (), lambda kit: "")
_no_file(
    "an address of the web",
    "`https://example.org/p.csv`",
    "example.org",
    lambda kit: "https://example.org/p.csv",
)
_no_file("a zero byte in a name", "`a\\0b.csv`", (), lambda kit: "a\0b.csv")
_no_file("a name too long", "300 letters", (), lambda kit: "a" * 300 + ".csv")


def _config(name: str, came: str, text: str, words: Any) -> None:
    trial(CALLS, name, f"`{came}` in `--config` FILE", REFUSED, words, ("estimate",),
        lambda kit, form: kit.estimate(None, None, "--config", str(kit.path("options.toml", text))))  # fmt: skip


_config(
    "an option that is not there, in a file", "levle = 0.9", "[estimate]\nlevle = 0.9\n", "level"
)
_config(
    "a command that is not there, in a file", "[estimat]", "[estimat]\nlevel = 0.9\n", "[estimate]"
)
_config(
    "a value of another type, in a file", 'level = "high"', '[estimate]\nlevel = "high"\n', "level"
)
_config(
    "several values for one, in a file", "level = [0.9]", "[estimate]\nlevel = [0.9]\n", "one value"
)
_config("no TOML", "level =", "[estimate]\nlevel =\n", "TOML")


def _joined(kit: Kit, labels: dict[str, list[Any]], form: str = "csv", **call: Any) -> Call:
    """`estimate` with labels in a file of their own; its answer is that of the labels in the right order."""
    with_id = ("id", "prob_*")
    target = kit.clean("target", kit.target(*with_id))
    right = kit.clean("labels", kit.target("label"))
    clean = kit.estimate(None, target, "--labels", str(right), clean=None)
    return kit.estimate(
        None, target, "--labels", str(kit.put(f"labels.{form}", labels)), clean=clean, **call
    )


trial(JOINS, "labels in another order, with an `id`", "the rows of LABELS turned round", (SAME, REFUSED), (),
    ("csv", "jsonl", "parquet"),
    lambda kit, form: _joined(kit, {k: v[::-1] for k, v in kit.target("id", "label").items()}, form))  # fmt: skip


@trial(
    JOINS,
    "an `id` twice in the labels",
    "row 2 repeats row 1's",
    REFUSED,
    "id",
    ("csv", "jsonl", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target("id", "label")
    columns["id"][1] = columns["id"][0]
    return _joined(kit, columns, form)


@trial(
    JOINS,
    "fewer labels, with an `id`",
    "every second row of LABELS",
    (SAME, REFUSED),
    (),
    ("csv", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target("id", "label")
    holed = {"label": [v if i % 2 else None for i, v in enumerate(columns["label"])]}
    call = _joined(kit, {k: v[1::2] for k, v in columns.items()}, form)
    target = kit.clean("target", kit.target("id", "prob_*"))
    clean = kit.estimate(None, target, "--labels", str(kit.put("holed.parquet", holed)), clean=None)
    return Call(call.run, clean, call.close)


@trial(
    JOINS,
    "fewer labels, with a `row`",
    "a column `row` that counts from 0",
    SAME,
    (),
    ("csv", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    labels = kit.target()["label"]
    holed = {"label": [v if i % 2 else None for i, v in enumerate(labels)]}
    clean = kit.estimate(None, None, "--labels", str(kit.put("holed.parquet", holed)), clean=None)
    given = kit.put(f"labels.{form}", {"row": list(range(1, ROWS, 2)), "label": labels[1::2]})
    return kit.estimate(None, None, "--labels", str(given), clean=clean)


@trial(
    JOINS,
    "too few labels, with nothing to join by",
    "239 labels for 240 rows",
    REFUSED,
    "240",
    LABELS,
)
def _(kit: Kit, form: str) -> Call:
    given = kit.put(f"l.{form}", {"label": kit.target()["label"][:-1]})
    return kit.estimate(None, None, "--labels", str(given))


@trial(JOINS, "too many labels", "241 labels for 240 rows", REFUSED, "240", LABELS)
def _(kit: Kit, form: str) -> Call:
    labels = kit.target()["label"]
    return kit.estimate(
        None, None, "--labels", str(kit.put(f"l.{form}", {"label": [*labels, labels[0]]}))
    )


@trial(
    JOINS,
    "a `row` beyond the target",
    "`row` 240 of rows 0 to 239",
    REFUSED,
    "row",
    ("csv", "parquet"),
)
def _(kit: Kit, form: str) -> Call:
    given = kit.put(f"l.{form}", {"row": [0, ROWS], "label": ["cat", "dog"]})
    return Call(
        ["audit", str(kit.clean("reference")), str(kit.clean("target")), "--labels", str(given)]
    )


@trial(JOINS, "a slice of nothing beside a slice of the text `(missing)`", "null and `(missing)` in `group`", DONE, (),
    ("jsonl", "parquet"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = {
        **kit.target("prob_*"),
        "group": [("(missing)", None, "south")[i % 3] for i in range(ROWS)],
    }

    def sizes(found: Outcome) -> str | None:
        rows = sorted(s["rows"] for s in found.answer.get("slices", ()))
        return None if rows == [ROWS // 3] * 3 else f"slices of {rows} rows"

    return kit.estimate(None, kit.put(f"t.{form}", columns), "--by", "group", check=sizes)


@trial(
    JOINS,
    "times in words",
    "`yesterday` in row 7 of `time`",
    REFUSED,
    ("time", "row 7"),
    ("csv", "jsonl"),
)
def _(kit: Kit, form: str) -> Call:
    columns = kit.target("prob_*", "time")
    columns["time"][6] = "yesterday"
    return kit.estimate(None, kit.put(f"t.{form}", columns), "--every", "7d")


def _unchanged(*paths: Path) -> Any:
    before = {path: path.read_bytes() for path in paths}

    def check(found: Outcome) -> str | None:
        changed = [p.name for p, content in before.items() if p.read_bytes() != content]
        return f"{changed[0]} was overwritten" if changed else None

    return check


def _copies(kit: Kit) -> tuple[Path, Path]:
    return (kit.path("r.parquet", kit.clean("reference").read_bytes()),
        kit.path("t.parquet", kit.clean("target").read_bytes()))  # fmt: skip


def _over(name: str, came: str, arguments: Any, forms: Any) -> None:
    """A class in which an output names a file that is an input, or another output."""

    @trial(OUTPUTS, name, came, REFUSED, (), forms)
    def _(kit: Kit, form: str) -> Call:
        reference, target = _copies(kit)
        return Call(arguments(kit, form, reference, target), check=_unchanged(reference, target))


VERBS = ("estimate", "evaluate", "audit", "backtest", "diagnose")


def _verb(form: str, reference: Path, target: Path) -> list[str]:
    if form == "backtest":
        return ["backtest", str(reference), "--repeats", "1", "--method", "ac"]
    if form == "evaluate":
        return ["evaluate", str(target)]
    few = ["--backtest", "none", "--method", "ac"] if form == "estimate" else []
    return [form, str(reference), str(target), *few]


_over("the JSON over an input", "`--json t.parquet`",
    lambda kit, form, r, t: [*_verb(form, r, t), "--json", str(r if form == "backtest" else t)], VERBS)  # fmt: skip
_over("the JSON over an input by another path", "`--json ./sub/../t.parquet`",
    lambda kit, form, r, t: [*_verb(form, r, t), "--json",
    str(_aside(kit) / ".." / (r if form == "backtest" else t).name)], VERBS)  # fmt: skip
_over("the JSON over an input by a link", "a symbolic link to `t.parquet`",
    lambda kit, form, r, t: [*_verb(form, r, t), "--json", str(_link(kit, r if form == "backtest" else t))],
    VERBS)  # fmt: skip
_over("the page over an input", "`--report t.parquet`",
    lambda kit, form, r, t: [*_verb(form, r, t), "--report", str(r if form == "backtest" else t)], VERBS)  # fmt: skip
_over("a file of results over an input", "`--save t.parquet`",
    lambda kit, form, r, t: [*_verb(form, r, t), "--save", str(r if form == "backtest" else t)], VERBS)  # fmt: skip
_over("two outputs of one name", "`--json out.html --report out.html`", lambda kit, form, r, t: [*_verb(form, r, t),
    "--json", str(kit.path("out.html")), "--report", str(kit.path("out.html"))], VERBS)  # fmt: skip
_over("the suggested rows over an input", "`audit --suggest 5 --out t.parquet`",
    lambda kit, form, r, t: [*_verb("audit", r, t), "--suggest", "5", "--out", str(t)], ("audit",))  # fmt: skip


@trial(
    OUTPUTS,
    "a file of results of an unknown ending",
    "`--save out.xlsx`",
    REFUSED,
    "ends in",
    VERBS,
)
def _(kit: Kit, form: str) -> Call:
    reference, target = _copies(kit)
    out = kit.path("out.xlsx")
    arguments = [*_verb(form, reference, target), "--save", str(out)]
    return Call(arguments, check=lambda found: "it was written" if out.exists() else None)


def _aside(kit: Kit) -> Path:
    (kit.folder / "sub").mkdir(exist_ok=True)
    return kit.folder / "sub"


def _link(kit: Kit, to: Path) -> Path:
    path = kit.folder / "link.json"
    path.symlink_to(to)
    return path


def _nowhere(name: str, came: str, place: Any) -> None:
    """A class in which an output cannot be written: the work fails with one line, or the call is refused before it."""

    trial(OUTPUTS, name, came, (REFUSED, FAILED), "cannot write", ("json",),
        lambda kit, form: kit.estimate(None, None, "--json", str(place(kit)), methods=("ac",)))  # fmt: skip


_nowhere(
    "a folder that is not there",
    "`--json none/out.json`",
    lambda kit: kit.folder / "none" / "out.json",
)
_nowhere("a folder for a file", "`--json folder`", lambda kit: _aside(kit))
_nowhere("a full device", "`--json /dev/full`", lambda kit: "/dev/full")
_nowhere("a name too long", "300 letters", lambda kit: kit.folder / ("a" * 300))
trial(OUTPUTS, "JSON on standard output", "`--json -`", SAME, (), ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--json", "-"))  # fmt: skip


@trial(
    OUTPUTS,
    "an output that was there before",
    "`--json out.json` a second time",
    SAME,
    (),
    ("estimate",),
)
def _(kit: Kit, form: str) -> Call:
    out = kit.path("out.json", "of before")
    return kit.estimate(
        None,
        None,
        "--json",
        str(out),
        check=lambda found: None if json.loads(out.read_text()) else "no JSON",
    )


trial(CALLS, "standard input", "`-` for the target, JSONL through a pipe", SAME, (), ("stdin",),
    lambda kit, form: kit.estimate(None, "-", process=True, stdin=jsonl_text(kit.target()).encode()))  # fmt: skip
trial(CALLS, "nothing on standard input", "`-` for the target, an empty pipe", REFUSED, "nothing", ("stdin",),
    lambda kit, form: kit.estimate(None, "-", process=True, stdin=b""))  # fmt: skip
trial(CALLS, "binary data on standard input", "a Parquet file through a pipe", REFUSED, "binary", ("stdin",),
    lambda kit, form: kit.estimate(None, "-", process=True, stdin=kit.clean("target").read_bytes()))  # fmt: skip


KEYED = ("csv", "parquet")


def _refused(name: str, came: str, words: Any, *more: str) -> None:
    trial(
        CALLS,
        name,
        came,
        REFUSED,
        words,
        ("estimate",),
        lambda kit, form: kit.estimate(None, None, *more),
    )


_refused(
    "an alarm below a percentage", "`--fail-below 93`", ("0.93", "percents"), "--fail-below", "93"
)
_refused("an alarm below nothing", "`--fail-below=-0.1`", "between 0 and 1", "--fail-below=-0.1")
_refused("an alarm below no number", "`--fail-below nan`", "--fail-below", "--fail-below", "nan")
_refused("a drop below zero", "`--fail-drop=-0.02`", "between 0 and 1", "--fail-drop=-0.02")
_refused(
    "a bound twice",
    "`--fail-below 0.9 --fail-below 0.8`",
    "twice",
    "--fail-below",
    "0.9",
    "--fail-below",
    "0.8",
)
_refused(
    "an alarm of a metric that there is not",
    "`--fail-below f7=0.8`",
    "f7",
    "--fail-below",
    "f7=0.8",
)
_refused("an alarm judged by luck", "`--fail-when luck`", "value, likely, upper", "--fail-below", "1", "--fail-when",
    "luck")  # fmt: skip
_refused(
    "a unit that no calendar has",
    "`--every fortnight`",
    ("fortnight", "month"),
    "--every",
    "fortnight",
)
_refused("chunks of no rows", "`--every 0rows`", "1000rows", "--every", "0rows")
trial(CALLS, "an alarm without a reference", "one file, and `--fail-drop 0.02`", REFUSED, "TARGET", ("estimate",),
    lambda kit, form: Call(["estimate", str(kit.clean("target")), "--fail-drop", "0.02"]))  # fmt: skip


def _keyed(kit: Kit, form: str, name: str, *more: str, order: int = -1, ids: Any = None) -> Call:
    """`estimate` with labels whose ids stand in a column of this name; clean are the labels in their order."""
    target = kit.clean("target", kit.target("id", "prob_*"))
    clean = kit.estimate(
        None, target, "--labels", str(kit.clean("labels", kit.target("label"))), clean=None
    )
    columns = kit.target("id", "label")
    own = columns["id"] if ids is None else ids(columns["id"])
    given = {name: own[::order], "label": columns["label"][::order]}
    return kit.estimate(
        None, target, "--labels", str(kit.put(f"labels.{form}", given)), *more, clean=clean
    )


trial(JOINS, "a key of another name, turned round", "`case_id` for `id`, no `--key`", SAME, "joined by id=case_id",
    KEYED,
    lambda kit, form: _keyed(kit, form, "case_id"))  # fmt: skip
trial(JOINS, "a key in capitals, turned round", "`ID` for `id`, no `--key`", SAME, "joined by id=ID", KEYED,
    lambda kit, form: _keyed(kit, form, "ID"))  # fmt: skip
trial(JOINS, "a shared column that is no id, turned round", "`mail`, no `--key`", SAME, "joined by mail", KEYED,
    lambda kit, form: _shared(kit, form, "mail"))  # fmt: skip
trial(JOINS, "the index of a frame, turned round", "an unnamed column, no `--key`", SAME, "joined by index", KEYED,
    lambda kit, form: _shared(kit, form, "" if form == "csv" else "__index_level_0__"))  # fmt: skip
trial(JOINS, "the index of a frame that is named", "`--key index`", SAME, (), KEYED,
    lambda kit, form: _shared(kit, form, "" if form == "csv" else "__index_level_0__", "--key", "index"))  # fmt: skip


def _shared(kit: Kit, form: str, name: str, *more: str) -> Call:
    """`estimate` with labels turned round, and one column of this name in the target and the labels."""
    target, columns = kit.target("id", "prob_*"), kit.target("id", "label")
    own = {name: target.pop("id")}
    clean = kit.estimate(
        None,
        kit.clean("target", target),
        "--labels",
        str(kit.clean("labels", kit.target("label"))),
        clean=None,
    )
    labels = kit.put(f"labels.{form}", {name: own[name][::-1], "label": columns["label"][::-1]})
    return kit.estimate(
        None,
        kit.put(f"target.{form}", {**own, **target}),
        "--labels",
        str(labels),
        *more,
        clean=clean,
    )


trial(JOINS, "a key of another name that is named", "`--key id=case`", SAME, (), KEYED,
    lambda kit, form: _keyed(kit, form, "case", "--key", "id=case"))  # fmt: skip
trial(JOINS, "a key of another name, in the same order", "`case_id` for `id`, no `--key`", SAME, (), KEYED,
    lambda kit, form: _keyed(kit, form, "case_id", order=1))  # fmt: skip
trial(JOINS, "a key that does not exist", "`--key case`", REFUSED, ("case", "--key"), KEYED,
    lambda kit, form: _keyed(kit, form, "id", "--key", "case"))  # fmt: skip
trial(JOINS, "an `id` that is missing in the labels", "null in row 1", REFUSED, ("id", "row 1"), KEYED,
    lambda kit, form: _keyed(kit, form, "id", order=1, ids=lambda own: [None, *own[1:]]))  # fmt: skip
trial(JOINS, "an `id` that the target lacks", "`stranger` in row 1", WARNED, ("1 of", "not needed"), KEYED,
    lambda kit, form: _keyed(kit, form, "id", order=1, ids=lambda own: ["stranger", *map(str, own[1:])]))  # fmt: skip
trial(JOINS, "ids of which the target has none", "another one in every row", REFUSED, ("none of", "alike"), KEYED,
    lambda kit, form: _keyed(kit, form, "id", order=1,
        ids=lambda own: [f"other-{at}" for at in range(len(own))]))  # fmt: skip
