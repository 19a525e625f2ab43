"""Fuzzes files and pairs of them: no exception but our own, no hang, no answer that an independent reading lacks."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import kit

from .damage import HARMLESS, LAYOUTS, STRUCTURE, clean_columns, damaged, put
from .material import FORMATS, write
from .plain import Plain, Unreadable, accuracy_and_brier, as_arrays, differs, read_plain

SECONDS = 20.0  # a file that takes longer hangs
MEMORY = 6 << 30  # bytes of address space of a worker; a small file that wants more is a bomb
METHODS = ["source", "ac", "atc", "bbse"]
GOOD = ("refused", "same", "other data", "warned")


@dataclass
class Case:
    """One fuzzed file (or pair), what was done to it and what came."""

    number: int
    form: str
    layout: str
    change: str
    pair: bool
    outcome: str = ""
    detail: str = ""


def make(number: int, seed: int, folder: Path) -> tuple[Case, Path]:
    """Fuzzed file `number`; its case says how it was made."""
    rng = np.random.default_rng([seed, number])
    form, layout = FORMATS[number % 5], str(rng.choice(list(LAYOUTS)))
    which = "target" if rng.random() < 0.5 else "reference"
    pair = bool(rng.random() < 0.2) and layout in ("wide", "predicted")
    path = folder / f"{which}.{form}"
    columns = clean_columns(layout, which)
    if rng.random() < 0.55:
        put(path, columns, rng)
        content, how = damaged(path.read_bytes(), rng)
        path.write_bytes(content)
        return Case(number, form, layout, how, pair), path
    change = STRUCTURE[int(rng.integers(len(STRUCTURE)))]
    changed = change(columns, rng)
    try:
        put(path, changed, rng)
    except Exception:  # no such file can be written in this format: as text, then
        path = folder / f"{which}.jsonl"
        lengths = [len(v) for v in changed.values()]
        changed = {k: v[: min(lengths, default=0)] for k, v in changed.items()}
        write(path, json.loads(json.dumps(changed, default=str)))
    return Case(number, path.suffix[1:], layout, change.__name__, pair), path


def judge(case: Case, path: Path, folder: Path) -> Case:
    """Let the program read the file, and set what it says against the independent reading."""
    import oodometer
    from oodometer import OodometerError

    try:
        record = oodometer.load(path)
        if case.pair:
            pair = [path, _partner(case, path)]
            told = _asked(*(pair if path.stem == "reference" else pair[::-1]))
        else:
            judged = record.has("label") and (
                record.has("probabilities") or record.has("prediction")
            )
            told = (
                oodometer.evaluate(path, metrics=["accuracy", "brier"], workers=1)
                if judged
                else None
            )
    except OodometerError as error:
        message = str(error)
        named = path.name in message or case.pair
        if case.change in {c.__name__ for c in HARMLESS}:
            return _end(case, "refused without need", message)
        return _end(case, "refused" if named else "no file named", message)
    except BaseException:
        return _end(case, "traceback", traceback.format_exc()[-800:])
    try:
        plain = read_plain(path, case.form)
    except Unreadable as error:
        return _end(case, "accepted what none should", str(error)[:300])
    problem = differs(plain, record) or _answer_differs(plain, told, case, folder)
    if problem:
        return _end(case, "silent difference", problem)
    same = not differs(read_plain(_clean(case, path), "parquet"), record)
    return _end(case, "same" if same else "other data", "")


def _clean(case: Case, path: Path) -> Path:
    clean = path.parent.parent / f"clean-{case.layout}-{path.stem}.parquet"
    return clean if clean.exists() else write(clean, clean_columns(case.layout, path.stem))


def _partner(case: Case, path: Path) -> Path:
    other = "reference" if path.stem == "target" else "target"
    return _clean(case, path.with_name(f"{other}{path.suffix}"))


def _asked(reference: Any, target: Any) -> Any:
    import oodometer

    return oodometer.estimate(
        reference,
        target,
        methods=METHODS,
        backtest=None,
        diagnosis=False,
        calibrator="none",
        workers=1,
    )


def _answer_differs(plain: Plain, told: Any, case: Case, folder: Path) -> str:
    """Where the answer is not that of the content read independently."""
    if told is None:
        return ""
    if case.pair:
        path = next(p for p in folder.iterdir() if p.stem in ("reference", "target"))
        other = read_plain(_partner(case, path), "parquet")
        first, second = (plain, other) if path.stem == "reference" else (other, plain)
        again = _asked(as_arrays(first), as_arrays(second))
        for one, two in zip(told.estimates, again.estimates, strict=False):
            if one.method != two.method or abs(one.value - two.value) > 1e-5:
                return f"{one.method} {one.value:.6f}, and of the same content {two.method} {two.value:.6f}"
        return "" if len(told.estimates) == len(again.estimates) else "other methods answered"
    expected = accuracy_and_brier(plain)
    if expected is None:
        return ""
    got = (told["accuracy"].value, told["brier"].value)
    slack = 5e-3 if abs(got[1] - expected[1]) < 5e-3 and _rounded(plain) else 1e-6
    wrong = [
        f"{n} {a:.6f} for {b:.6f}"
        for n, a, b in zip(("accuracy", "brier"), got, expected, strict=True)
        if abs(a - b) > slack
    ]
    return ", ".join(wrong)


def _rounded(plain: Plain) -> bool:
    rows = zip(*plain.named.get("probabilities", {}).values(), strict=True)
    return any(abs(sum(row) - 1) > 1e-7 for row in rows)


def _end(case: Case, outcome: str, detail: str) -> Case:
    case.outcome, case.detail = outcome, " ".join(detail.split())[:600]
    return case


def _work(seed: int, numbers: range, at: Any, since: Any, out: Any, keep: str) -> None:
    """Take the numbers one after another; `at` and `since` let the parent see a hang."""
    import warnings

    warnings.simplefilter("ignore")
    os.environ["OODOMETER_CACHE"] = ""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    root = Path(keep) / f"worker-{os.getpid()}"
    for number in numbers:
        folder = root / "case"
        folder.mkdir(parents=True)
        try:
            case, path = make(number, seed, folder)
            at.value, since.value = number, time.time()
            case = judge(case, path, folder)
        except BaseException:
            case = Case(
                number,
                FORMATS[number % 5],
                "",
                "",
                False,
                "fuzzer failed",
                traceback.format_exc()[-600:],
            )
        since.value = 0.0
        if case.outcome not in GOOD:
            shutil.copytree(folder, Path(keep) / "found" / f"{number}", dirs_exist_ok=True)
        shutil.rmtree(folder)
        out.send(asdict(case))
    out.send(None)
    shutil.rmtree(root, ignore_errors=True)


class Worker:
    """A process that works through its numbers, and is begun anew behind a file that hangs or kills it."""

    def __init__(self, seed: int, numbers: range, keep: Path) -> None:
        self.seed, self.numbers, self.keep, self.context = (
            seed,
            numbers,
            keep,
            multiprocessing.get_context("spawn"),
        )
        self.at, self.since = self.context.Value("q", -1), self.context.Value("d", 0.0)
        self.done = False
        self._begin()

    def _begin(self) -> None:
        self.pipe, child = self.context.Pipe(duplex=False)
        self.process = self.context.Process(
            target=_work,
            args=(self.seed, self.numbers, self.at, self.since, child, str(self.keep)),
            daemon=True,
        )
        self.since.value = 0.0
        self.process.start()
        child.close()

    def take(self) -> list[dict[str, Any]]:
        """What it has finished since the last call."""
        found = []
        try:
            while self.pipe.poll(0.05):
                one = self.pipe.recv()
                if one is None:
                    self.done = True
                    break
                self.numbers = range(
                    one["number"] + self.numbers.step, self.numbers.stop, self.numbers.step
                )
                found.append(one)
        except EOFError:
            pass
        if not self.done:
            late = self.since.value and time.time() - self.since.value > SECONDS
            if late or not self.process.is_alive():
                self.process.kill()
                number = self.at.value
                lost = Case(
                    number, FORMATS[number % 5], "", "", False, "hang" if late else "process died"
                )
                found.append(asdict(lost))
                folder = self.keep / "found" / f"{number}"
                folder.mkdir(parents=True, exist_ok=True)
                make(number, self.seed, folder)
                self.numbers = range(
                    number + self.numbers.step, self.numbers.stop, self.numbers.step
                )
                self._begin()
        return found


def fuzz(
    files: int, seed: int, workers: int = 2, first: int = 0
) -> tuple[list[dict[str, Any]], Path, float]:
    """Fuzz so many files; the cases, the folder of reproducers, and the seconds that it took."""
    keep = Path(tempfile.mkdtemp(prefix="oodometer-fuzz-"))
    (keep / "found").mkdir()
    start = time.perf_counter()
    pool = [Worker(seed, range(first + i, first + files, workers), keep) for i in range(workers)]
    cases: list[dict[str, Any]] = []
    while not all(worker.done for worker in pool):
        for worker in pool:
            if not worker.done:
                cases += worker.take()
        if sys.stderr.isatty():
            print(f"\r{len(cases)} of {files}", end="", file=sys.stderr)
    return sorted(cases, key=lambda c: c["number"]), keep / "found", time.perf_counter() - start


def page(cases: list[dict[str, Any]], seed: int) -> str:
    outcomes = [*GOOD[:3], *sorted({c["outcome"] for c in cases} - set(GOOD))]
    out = [
        f"# {len(cases):,} fuzzed files",
        "",
        f"`python -m benchmarks.hostile fuzz --files {len(cases)} --seed {seed}`. Refused: one line of ours. "
        "Same: accepted, and the content and the numbers are those of the clean file. Other data: accepted, "
        "and what was read is what csv, json, pyarrow and numpy read in the same bytes.",
    ]
    for key in ("form", "change"):
        held = Counter((c[key] if "+" not in c[key] else "several", c["outcome"]) for c in cases)
        out += [
            "",
            f"| {key} | files | {' | '.join(outcomes)} |",
            "|---|" + "--:|" * (len(outcomes) + 1),
        ]
        for name in sorted({name for name, _ in held}):
            counts = [held[name, o] for o in outcomes]
            out.append(f"| {name} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return kit.joined(
        [
            *out,
            "",
            f"Pairs of a reference and a target among them: {sum(c['pair'] for c in cases)}.",
        ]
    )


def main(files: int, seed: int, workers: int, write_results: bool, first: int = 0) -> int:
    cases, found, seconds = fuzz(files, seed, workers, first)
    print(page(cases, seed))
    bad = [c for c in cases if c["outcome"] not in GOOD]
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for c in bad:
        kinds.setdefault((c["outcome"], c["form"]), []).append(c)
    for (outcome, form), members in sorted(kinds.items()):
        print(f"{outcome}, {form}: {len(members)} files")
        for c in members[:8]:
            print(f"  {found}/{c['number']} ({c['layout']}, {c['change']}): {c['detail'][-220:]}")
    print(
        f"{len(cases)} files in {seconds:.0f} s, {len(bad)} findings"
        + (f" in {found}" if bad else "")
    )
    if write_results:
        counts = Counter((c["form"], c["outcome"]) for c in cases)
        plain = {"files": len(cases), "seed": seed, "seconds": round(seconds, 1),
            "pairs": sum(c["pair"] for c in cases),
            "counts": [{"form": f, "outcome": o, "files": n} for (f, o), n in sorted(counts.items())],
            "findings": bad}  # fmt: skip
        kit.save(kit.RESULTS / "hostile", plain, lambda result: page(cases, seed))
    if not bad:
        shutil.rmtree(found.parent, ignore_errors=True)
    return int(bool(bad))
