"""Classes of folders, buckets and run folders: what does not belong together, is not there, or is another's."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from oodometer.runs import Lock

from .base import DONE, METHODS, REFUSED, SAME, Call, Kit, Outcome, trial

FOLDERS = "Folders, buckets and run folders"
FORMS = ("csv", "parquet", "jsonl")


def _in_two(kit: Kit, form: str, second: Any = None) -> Path:
    """The target in two files of a folder, the second one changed."""
    columns = kit.target()
    half = len(columns["label"]) // 2
    home = kit.path("lake")
    (home / "b").mkdir(parents=True, exist_ok=True)
    kit.put(f"lake/a.{form}", {name: cells[:half] for name, cells in columns.items()})
    rest = {name: cells[half:] for name, cells in columns.items()}
    kit.put(f"lake/b/b.{form}", rest if second is None else second(rest))
    return home


trial(FOLDERS, "a folder in the place of a file", "two files, one in a folder of it", SAME, (), FORMS,
    lambda kit, form: kit.estimate(None, _in_two(kit, form)))  # fmt: skip


@trial(
    FOLDERS,
    "what Spark leaves beside its files",
    "`_SUCCESS`, `.part-0.crc`, `_temporary/`",
    SAME,
    (),
    FORMS,
)
def _(kit: Kit, form: str) -> Call:
    home = _in_two(kit, form)
    (home / "_temporary").mkdir(exist_ok=True)
    for name in ("_SUCCESS", f".a.{form}.crc", f"_temporary/half.{form}"):
        (home / name).write_bytes(b"no predictions")
    return kit.estimate(None, home)


trial(FOLDERS, "a pattern", "`lake/**/*.csv`", SAME, (), FORMS,
    lambda kit, form: kit.estimate(None, f"{_in_two(kit, form)}/**/*.{form}"))  # fmt: skip


def _differs(name: str, came: str, words: Any, second: Any) -> None:
    trial(
        FOLDERS,
        name,
        came,
        REFUSED,
        words,
        FORMS,
        lambda kit, form: kit.estimate(None, _in_two(kit, form, second)),
    )


def _without(column: str) -> Any:
    return lambda rest: {name: cells for name, cells in rest.items() if name != column}


_differs(
    "a file without a column of the others",
    "no `prob_a` in `b/b.csv`",
    ("b/b.", "prob_"),
    _without("prob_cat"),
)
_differs(
    "a file without labels", "no `label` in `b/b.csv`", ("b/b.", "column label"), _without("label")
)
_differs("a file with a class of its own", "`prob_whale` in `b/b.csv` alone", ("prob_whale", "b/b."),
    lambda rest: {**rest, "prob_whale": [0.0] * len(rest["label"])})  # fmt: skip
_differs("a wrong cell in the second file", "a probability of 7", ("b/b.", "row 3"),
    lambda rest: {**rest, "prob_cat": [*rest["prob_cat"][:2], 7.0, *rest["prob_cat"][3:]]})  # fmt: skip


@trial(FOLDERS, "a damaged `files.json` in a run folder", "half of it", SAME, (), ("csv",))
def _(kit: Kit, form: str) -> Call:
    home = kit.path("known")
    home.mkdir(exist_ok=True)
    (home / "files.json").write_text('{"oodometer": "0.1.0", "files": {"lake/a')
    return kit.estimate(None, _in_two(kit, form), "--run-folder", str(home))


@trial(FOLDERS, "a column of another type in the second file", '`"site": 1`, then `"site": "1"`', REFUSED,
    ("b/b.jsonl", "row 1", "column site", "one type"), ("jsonl",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    home = _in_two(kit, form, lambda rest: {**rest, "site": ["1"] * len(rest["label"])})
    first = home / f"a.{form}"
    first.write_text(
        "".join(f'{line[:-1]}, "site": 1}}\n' for line in first.read_text().splitlines())
    )
    return kit.estimate(None, home, "--by", "site")


@trial(FOLDERS, "an empty folder", "nothing in it", REFUSED, "predictions files in the folder")
def _(kit: Kit, form: str) -> Call:
    home = kit.path("empty")
    home.mkdir(exist_ok=True)
    return kit.estimate(None, home)


@trial(
    FOLDERS, "a folder of other files", "`notes.txt`", REFUSED, "predictions files in the folder"
)
def _(kit: Kit, form: str) -> Call:
    home = kit.path("notes")
    home.mkdir(exist_ok=True)
    (home / "notes.txt").write_text("no predictions")
    return kit.estimate(None, home)


@trial(FOLDERS, "files of two formats", "a.csv, b.parquet", REFUSED, ("1 csv", "1 parquet", "**/*"))
def _(kit: Kit, form: str) -> Call:
    home = kit.path("mixed")
    home.mkdir(exist_ok=True)
    kit.put("mixed/a.csv", kit.target())
    kit.put("mixed/b.parquet", kit.target())
    return kit.estimate(None, home)


trial(FOLDERS, "a pattern that matches nothing", "`lake/*.nothing`", REFUSED, "matches",
    make=lambda kit, form: kit.estimate(None, f"{_in_two(kit, 'csv')}/*.nothing"))  # fmt: skip
trial(FOLDERS, "a URL of a store that nobody knows", "`moon://bucket/p.csv`", REFUSED, "moon://bucket",
    make=lambda kit, form: kit.estimate(None, "moon://bucket/p.csv"))  # fmt: skip


@trial(FOLDERS, "a result in the folder that is read", "`--json lake/answer.json`", REFUSED, "that is read",
    ("estimate",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    home = _in_two(kit, "csv")
    return kit.estimate(None, home, "--json", str(home / "answer.json"))


def _heard(*words: str) -> Any:
    def check(found: Outcome) -> str | None:
        lines = found.stderr.strip().splitlines()
        return (
            None
            if len(lines) == 1 and all(word in lines[0] for word in words)
            else f"standard error: {found.stderr}"
        )

    return check


def _once(name: str, came: str, words: str, link: Any) -> None:
    @trial(FOLDERS, name, came, SAME, (), ("csv", "parquet"))
    def _(kit: Kit, form: str) -> Call:
        home = _in_two(kit, form)
        if not (home / f"again.{form}").exists() and not (home / "again").is_symlink():
            link(home, form)
        return kit.estimate(
            None, home, process=form == "csv", check=_heard(words) if form == "csv" else None
        )


_once("a link that leads back", "`lake/again -> lake`", "is read already",
    lambda home, form: (home / "again").symlink_to(home))  # fmt: skip
_once("two names of one file", "a hard link", "are one file, which is read once",
    lambda home, form: os.link(home / f"a.{form}", home / f"again.{form}"))  # fmt: skip
_once("a link beside its file", "`again.csv -> a.csv`", "are one file, which is read once",
    lambda home, form: (home / f"again.{form}").symlink_to(home / f"a.{form}"))  # fmt: skip


@trial(FOLDERS, "one file in two folders that say two things", "`day=2/a.csv -> day=1/a.csv`", REFUSED,
    ("day=2", "by a link"))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    home = kit.path("days")
    for day in (1, 2):
        (home / f"day={day}").mkdir(parents=True, exist_ok=True)
    kit.put("days/day=1/a.csv", kit.target())
    if not (home / "day=2/a.csv").exists():
        os.link(home / "day=1/a.csv", home / "day=2/a.csv")
    return kit.estimate(None, home)


@trial(FOLDERS, "a folder and a column that say two things", "`site=A`, a column `site` of B", DONE)
def _(kit: Kit, form: str) -> Call:
    home = kit.path("sites")
    (home / "site=A").mkdir(parents=True, exist_ok=True)
    columns = kit.target()
    kit.put("sites/site=A/a.csv", {**columns, "site": ["B"] * len(columns["label"])})
    return kit.estimate(
        None,
        home,
        "--by",
        "site",
        clean=None,
        process=True,
        check=_heard("site=A", "'B'", "the column counts"),
    )


def _in_run_folder(name: str, came: str, must: str, words: Any, change: Any) -> None:
    @trial(FOLDERS, name, came, must, words, ("csv",))
    def _(kit: Kit, form: str) -> Call:
        from oodometer import estimate

        home, run = _in_two(kit, form), kit.path("nightly")
        if not run.exists():
            files = str(kit.clean("reference")), str(home)
            estimate(*files, methods=list(METHODS), backtest=None, run_folder=run, workers=1)
            change(run, sorted((run / "parts").iterdir()), kit.path("mine", "mine"))
        found = kit.estimate(None, home, "--run-folder", str(run))

        def mine(_: Outcome) -> str | None:
            return (
                None
                if kit.path("mine").read_text() == "mine"
                else "a file outside of the folder was written"
            )

        return replace(found, check=mine)


def _linked(place: Path, other: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(other)


_in_run_folder("a state that is copied over another", "`cp parts/a.state parts/b.state`", SAME,
    "the state of other rows", lambda run, parts, mine: shutil.copyfile(parts[0], parts[1]))  # fmt: skip
for _name in ("lock", "run.json"):
    _in_run_folder(
        f"a link in the place of {_name}",
        "to a file elsewhere",
        REFUSED,
        _name,
        lambda run, parts, mine, name=_name: _linked(run / name, mine),
    )
_in_run_folder("a link in the place of a state", "to a file elsewhere", REFUSED, ("a link", "not followed"),
    lambda run, parts, mine: _linked(parts[0], mine))  # fmt: skip


def _where(name: str, condition: str, words: Any) -> None:
    trial(FOLDERS, name, f'`--where "{condition}"`', REFUSED, words, FORMS,
        lambda kit, form: kit.estimate(None, _in_two(kit, form), "--where", condition))  # fmt: skip


_where("a condition on a column that is not there", "ages > 5", ("no column ages", "ages > 5"))
_where(
    "a condition with a value of another type",
    "prob_cat > high",
    ("a.", "prob_cat holds numbers", "'high'"),
)
_where(
    "a condition that holds of no row",
    "prob_cat > 2",
    ("expected rows where prob_cat > 2", "got none"),
)
_where(
    "what is no condition",
    "prob_cat about 5",
    ("expected a condition such as", "'prob_cat about 5'"),
)
_where(
    "two conditions by another sign",
    "prob_cat > 0.1 && prob_dog > 0.1",
    ("'&&' at character 16", "and"),
)
_where("two conditions of which one is enough", "prob_cat > 0.1 or prob_dog > 0.1",
    ("'or' at character 16", "in (a, b)"))  # fmt: skip
_where("a comparison of another language", "label !== cat", ("'!==' at character 7",))
_where("a condition and a comment", "prob_cat > 0.1 # sure", ("'#' at character 16",))
_where("a column beside a column", "prob_cat > prob_dog", ("prob_dog is a column", "with values"))


def _dated(name: str, condition: str, must: str, words: Any, days: Any = None) -> None:
    @trial(
        FOLDERS, name, f'`--where "{condition}"`', must, words, ("csv",) if must == SAME else FORMS
    )
    def _(kit: Kit, form: str) -> Call:
        home = kit.path("dated")
        home.mkdir(exist_ok=True)
        columns = kit.target()
        rows = len(columns["label"])
        kit.put(f"dated/a.{form}", {**columns, "day": [days or "2026-01-10"] * rows})
        other = {**columns, "prob_cat": columns["prob_dog"], "prob_dog": columns["prob_cat"]}
        kit.put(f"dated/b.{form}", {**other, "day": ["2026-01-12"] * rows})
        return kit.estimate(None, home, "--where", condition)


_dated("two days in one condition", "day >= 2026-01-09 and day < 2026-01-12", SAME, ())
_dated(
    "a day in another form",
    "day < 12.01.2026",
    REFUSED,
    ("day holds dates", "'12.01.2026'", "2026-01-31"),
)
_dated("a day beside days in another form", "day < 2026-01-12", REFUSED,
    ("a.", "row 1", "column day", "ISO 8601", "'10.01.2026'"), "10.01.2026")  # fmt: skip


@trial(FOLDERS, "a damaged file in a folder that a condition leaves out", "`day=1/c.csv`, `day != 1`", SAME, (),
    ("csv",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    home = kit.path("days")
    (home / "day=1").mkdir(parents=True, exist_ok=True)
    (home / "day=2").mkdir(exist_ok=True)
    kit.put(f"days/day=2/a.{form}", kit.target())
    (home / "day=1" / f"c.{form}").write_bytes(b"damaged")
    return kit.estimate(None, home, "--where", "day != 1")


@trial(FOLDERS, "labels in their order beside a condition", "`--labels l.csv --where ...`", REFUSED, "--key",
    ("estimate",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    kit.put("l.csv", {"label": kit.target()["label"]})
    return kit.estimate(None, None, "--labels", str(kit.path("l.csv")), "--where", "prob_cat > 0")


def _run(name: str, came: str, words: Any, fill: Any) -> None:
    @trial(FOLDERS, name, came, REFUSED, words, ("estimate",))
    def _(kit: Kit, form: str) -> Call:
        home = kit.path("run")
        home.mkdir(exist_ok=True)
        fill(home)
        return kit.estimate(None, None, "--run-folder", str(home))


def _manifest(home: Path, states: Sequence[str] = (), **told: Any) -> None:
    (home / "parts").mkdir(exist_ok=True)
    for name in states:
        (home / "parts" / name).write_bytes(b"a state")
    (home / "run.json").write_text(json.dumps(told))


_run("a run folder of another target", "its `run.json` names another", ("is of a run with the reference",
    "--run-folder"), lambda home: _manifest(home, ["of-another.state"], format=1,
    about={"verb": "estimate", "reference": "/a", "target": "/b"}))  # fmt: skip
_run("a run folder of another version", "`run.json` of format 9", ("format 9", "run.json"),
    lambda home: _manifest(home, format=9, about={}))  # fmt: skip
_run("a run folder with a damaged manifest", "half of `run.json`", "run.json",
    lambda home: (home / "run.json").write_text('{"format": 1, "ab'))  # fmt: skip
_run("a folder with other files as run folder", "`thesis.tex` in it", "holds other files",
    lambda home: (home / "thesis.tex").write_text("mine"))  # fmt: skip
trial(FOLDERS, "a file as run folder", "`--run-folder answer.txt`", REFUSED, "--run-folder", ("estimate",),
    lambda kit, form: kit.estimate(None, None, "--run-folder", str(kit.path("answer.txt", "42"))))  # fmt: skip


VERBS = ("evaluate", "diagnose", "audit", "backtest", "compare", "fit")
_HELD: list[Lock] = []  # until this process ends


def _held(home: Path) -> Path:
    home.mkdir(exist_ok=True)
    lock = Lock(home / "lock", home)
    lock.__enter__()
    _HELD.append(lock)
    return home


def _words(kit: Kit, verb: str) -> list[str]:
    reference, target = str(kit.clean("reference")), str(kit.clean("target"))
    few = kit.path("few.csv", "row,label\n0,cat\n7,dog\n21,emu\n")
    return {"evaluate": ["evaluate", reference], "diagnose": ["diagnose", reference, target],
        "audit": ["audit", reference, target, "--labels", str(few), "--method", "ac"],
        "backtest": ["backtest", reference, "--no-cache", "--family", "none", "--method", "ac"],
        "compare": ["compare", reference, target],
        "fit": ["fit", reference, "--out", str(kit.path("model.oodo")), "--method", "ac"]}[verb]  # fmt: skip


@trial(
    FOLDERS,
    "a run folder of another command",
    "one of `estimate`",
    REFUSED,
    "with the verb estimate",
    VERBS,
)
def _(kit: Kit, form: str) -> Call:
    home = kit.path("run")
    home.mkdir()
    _manifest(
        home, ["a.state"], format=1, about={"verb": "estimate", "reference": "/a", "target": "/b"}
    )
    return Call([*_words(kit, form), "--run-folder", str(home)])


trial(FOLDERS, "a run folder in use", "a second run in it", REFUSED, "is in use by another run", VERBS,
    lambda kit, form: Call([*_words(kit, form), "--run-folder", str(_held(kit.path("run")))]))  # fmt: skip
trial(FOLDERS, "an engine that is not there, of another command", "`--engine moon`", REFUSED, "moon", VERBS,
    lambda kit, form: Call([*_words(kit, form), "--engine", "moon"]))  # fmt: skip


@trial(
    FOLDERS,
    "standard input beside a run folder",
    "`- --run-folder run`",
    REFUSED,
    "for files",
    ("backtest", "fit"),
)
def _(kit: Kit, form: str) -> Call:
    rows, out = kit.clean("reference").read_bytes(), str(kit.path("model.oodo"))
    more = ["--out", out] if form == "fit" else []
    return Call([form, "-", "--run-folder", str(kit.path("run")), *more], stdin=rows, process=True)


@trial(
    FOLDERS,
    "shifted copies that another run writes",
    "the same `--out`",
    REFUSED,
    "is in use",
    ("shift",),
)
def _(kit: Kit, form: str) -> Call:
    texts = kit.path(
        "texts.jsonl", "".join(json.dumps({"text": f"up we go {i}"}) + "\n" for i in range(30))
    )
    _held(kit.path(".copies.part"))
    wanted = ["--kind", "casing", "--severity", "0.3", "--severity", "0.6"]
    return Call([*form.split(), str(texts), *wanted, "--out", str(kit.path("copies"))])
