"""The benchmark on natural shifts: its cases, its scores by plain formulas, the guide's toy, what it refuses."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from oodometer import Predictions, registry
from oodometer.cli.main import main
from oodometer.errors import InputError, NotApplicable, UsageError, WorkError
from oodometer.estimators import Estimator, Sums
from oodometer.results import Estimate

from .snapshots import raises_snapshot

benchmarks = pytest.importorskip("oodometer_lab.benchmarks")
from oodometer_lab.benchmarks.natural import ask_shipped, shipped_answers  # noqa: E402
from oodometer_lab.benchmarks.natural_cases import SPLITS, TABLES  # noqa: E402
from oodometer_lab.benchmarks.natural_rankers import ORDERS, ask_rank  # noqa: E402
from oodometer_lab.results.benchmark import benchmark_view  # noqa: E402

pytestmark = pytest.mark.lab
GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "reproduce.md"


def steady(reference: Predictions, target: Predictions, level: float) -> tuple[float, float, float]:
    """As on the reference, give or take five points."""
    value = reference.accuracy
    return value, max(value - 0.05, 0), min(value + 0.05, 1)


@pytest.fixture(scope="module")
def found() -> Any:
    return benchmarks.natural(steady)


def test_cases_are_those_of_the_tables_and_hide_their_labels() -> None:
    cases = benchmarks.natural_cases()
    assert {case.split for case in cases} == {path.stem for path in TABLES.glob("*.parquet")}
    assert len({case.key for case in cases}) == len(cases)
    for case in cases[::9]:
        table = pq.read_table(TABLES / f"{case.split}.parquet").to_pydict()
        rows = [i for i, part in enumerate(table["part"]) if part == case.target]
        shares = {k: [v[i] for i in rows] for k, v in table.items() if k.startswith(case.model)}
        if len(shares) == 1:  # the probability of class 0 alone
            predicted = [int(p < 0.5) for p in next(iter(shares.values()))]
        else:
            predicted = np.argmax(list(shares.values()), axis=0).tolist()
        right = np.mean([p == table["label"][i] for p, i in zip(predicted, rows, strict=True)])
        assert case.truth == pytest.approx(right, abs=1.5 / len(rows))  # a probability of one half
        assert case.unlabelled.label is None
        assert len(case.unlabelled) == len(rows)


def test_every_table_is_named_with_its_licence() -> None:
    text = (TABLES / "SOURCES.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([\w-]+)(\*?)` \|.*\| (.+) \|$", text, re.MULTILINE)
    assert len(named) == len(benchmarks.SOURCES)
    for split in SPLITS:
        licence = [
            of for name, star, of in named if split == name or (star and split.startswith(name))
        ]
        assert licence[0] in ("US public domain", "public domain", "CC0", "CC BY 4.0")


@pytest.mark.parametrize("key", ["penguins-island/bayes/Dream", "votes-town/trees/country"])
def test_the_shipped_answers_are_what_estimate_says(key: str, tmp_path: Path) -> None:
    case = next(case for case in benchmarks.natural_cases() if case.key == key)
    said = ask_shipped(case, tmp_path)
    shipped = shipped_answers()[key]
    assert said.keys() == shipped.keys()
    for method, three in said.items():
        assert three == pytest.approx(shipped[method], abs=2e-6), method


def test_rows_are_plain_means_in_which_data_sets_count_alike(found: Any) -> None:
    row = next(row for row in found.rows if row.own and row.kind == "shift")
    by_source: dict[str, list[tuple[float, ...]]] = {}
    for case in found.cases:
        if case.kind == "none":
            continue
        value, low, high = case.answers["steady"]
        miss = low - case.truth if case.truth < low else max(case.truth - high, 0)
        numbers = (abs(value - case.truth), low <= case.truth <= high, high - low + 20 * miss)
        by_source.setdefault(case.source, []).append(numbers)
    means = np.array([np.mean(of_source, axis=0) for of_source in by_source.values()])
    error, coverage, score = means.mean(axis=0)
    assert (row.error["value"], row.coverage, row.score) == pytest.approx((error, coverage, score))
    low, high = stats.t.interval(0.9, len(means) - 1, error, stats.sem(means[:, 0]))
    assert (row.error["lower"], row.error["upper"]) == pytest.approx((low, high))
    assert (row.cases, row.sources) == (99, 7)


def test_kinds_make_up_all_cases_and_every_shipped_method_is_beside(found: Any) -> None:
    counts = {row.kind: row.cases for row in found.rows if row.own}
    assert counts["shift"] == sum(counts[kind] for kind in ("time", "place", "people"))
    assert counts["shift"] + counts["none"] == len(found.cases)
    methods = {row.method for row in found.rows if row.kind == "shift"}
    assert {"headline", "atc", "cbpe", "source", "steady"} <= methods
    gap = found.differences["steady"]
    assert gap["lower"] <= gap["value"] <= gap["upper"]


def test_the_page_and_the_json_say_the_same(found: Any, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    plain = json.loads(json.dumps(found.to_dict()))
    assert benchmark_view(plain) == found.view()
    page = found.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "steady" in page
    assert "headline" in page
    frame = found.to_frame(library="pyarrow").to_pylist()
    assert frame[0]["method"] == "headline"
    assert frame[0]["error"] == pytest.approx(plain["rows"][0]["error"]["value"], abs=1)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(400, False), (1200, True)])
def test_nothing_bars_anybody_from_the_page(
    browser: Any, axe: str, found: Any, tmp_path: Path, width: int, dark: bool
) -> None:
    pytest.importorskip("vl_convert")
    browser.open(found.save(tmp_path / "page.html"), width=width, dark=dark)
    assert browser.violations(axe) == []
    assert not browser.run("document.documentElement.scrollWidth > innerWidth")


class Middle(Estimator):
    """The middle between the reference's accuracy and one."""

    name = "middle-of-test"
    needs = ("probabilities",)
    assumes = "nothing that anybody would"
    citation = "guo2017"

    def _fit(self, reference: Predictions) -> None:
        if len(reference) < 110:
            raise NotApplicable("needs 110 rows")
        self._accuracy = reference.accuracy

    def summarize(self, batch: Predictions) -> Sums:
        return Sums(rows=len(batch))

    def finish(self, state: Sums) -> Estimate:
        return self._estimate(state, (1 + self._accuracy) / 2, self._accuracy, 1.0)


def test_a_class_is_asked_as_estimate_asks_it_and_leaves_the_registry_as_it_was() -> None:
    before = registry.names("estimator")
    result = benchmarks.natural([Middle, steady], kinds=["place"])
    assert registry.names("estimator") == before
    assert result.left_out == {"middle-of-test": {"needs 110 rows": 3}}  # penguins
    case = result.cases[0]
    reference = next(c for c in benchmarks.natural_cases() if c.key == case.case).reference
    assert case.answers["middle-of-test"][0] == pytest.approx((1 + reference.accuracy) / 2)


def wrong(reference: Predictions, target: Predictions, level: float) -> Any:
    return (math.nan, 0, 1) if len(target) > 1000 else (0.5, 0.6, 0.4)


def fails(reference: Predictions, target: Predictions, level: float) -> Any:
    return 1 / 0


@pytest.mark.parametrize(
    ("estimator", "kinds", "error"),
    [
        (wrong, ["place"], WorkError),
        (fails, ["place"], WorkError),
        ([steady, steady], [], UsageError),
        (3, [], UsageError),
        ([], [], UsageError),
        ("no_such_module:it", [], InputError),
        ("acc", [], UsageError),
        (steady, ["space"], UsageError),
    ],
)
def test_what_is_no_estimator_is_refused(estimator: Any, kinds: Any, error: Any) -> None:
    with raises_snapshot(error):
        benchmarks.natural(estimator, kinds=kinds)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    asked = 0

    def stops(reference: Predictions, target: Predictions, level: float) -> Any:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise KeyboardInterrupt
        return steady(reference, target, level)

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        benchmarks.natural(stops, kinds=["place"], run_folder=folder)
    result = benchmarks.natural(stops, kinds=["place"], run_folder=folder)
    assert asked == len(result.cases) + 1


def test_the_toy_of_the_guide_runs_in_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = re.search(r"```python\n(def damped.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    assert len(code[1].splitlines()) <= 12
    (tmp_path / "mine_of_guide.py").write_text(code[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out.json"
    assert main(["benchmark", "mine_of_guide:damped", "--kind", "place", "--json", str(out)]) == 0
    assert "interval score" in capsys.readouterr().out
    assert json.loads(out.read_text())["estimators"] == ["damped"]
    assert main(["benchmark", "mine_of_guide:nothing"]) == 2


LEAN = re.search(r"```python\n(def lean.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[1]  # type: ignore[index]


def test_a_task_of_rankers_hides_all_labels_but_ten() -> None:
    tasks = benchmarks.natural_rankings()
    assert len({task.key for task in tasks}) == len(tasks)
    for task in tasks[::31]:
        cases = [
            case
            for case in benchmarks.natural_cases()
            if (case.split, case.target) == (task.split, task.target)
        ]
        assert {case.model: case.truth for case in cases} == pytest.approx(task.truths)
        assert (task.labels >= 0).sum() == len(task.rows) == 10
        assert all(record.label is None for record in task.targets.values())
    assert not np.array_equal(tasks[0].rows, tasks[1].rows)


def test_what_rank_says_of_a_task_is_what_is_shipped() -> None:
    saved = json.loads(ORDERS.read_text(encoding="utf-8"))["scores"]
    tasks = benchmarks.natural_rankings()
    assert saved.keys() == {task.key for task in tasks}
    for task in (tasks[3], tasks[-1]):
        assert ask_rank(task) == saved[task.key]


def test_rankers_are_scored_by_plain_formulas() -> None:
    def truth(targets: Any, labels: Any, references: Any) -> dict[str, float]:
        return dict.fromkeys(targets, 0.0)

    found = benchmarks.natural_rankers(truth, kinds=["place"])
    rows = {(row.method, row.kind): row for row in found.rows}
    assert rows["truth", "place"].pairs_right["value"] == 0.5
    tasks = [task for task in found.tasks if task.kind == "place"]
    means: dict[str, list[float]] = {}
    for task in tasks:
        best = max(task.truths.values())
        means.setdefault(task.source, []).append(best - np.mean([*task.truths.values()]))
    expected = np.mean([np.mean(values) for values in means.values()])
    assert rows["truth", "place"].regret["value"] == pytest.approx(expected)
    for task in tasks:  # counting by hand
        said = task.scores["right answers"]
        assert all(score == int(score) and 0 <= score <= 10 for score in said.values())


def test_the_guides_ranker_runs_and_what_fails_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    half = "def half(targets, labels, references):\n    if len(labels) > 1000: raise ValueError('long')\n"
    Path("my_rankers.py").write_text(f"{LEAN}\n\n{half}    return dict.fromkeys(targets, 1)\n")
    assert main(["benchmark", "my_rankers:lean", "--json", "found.json"]) == 0
    assert "72.0 %" in capsys.readouterr().out  # as the guide shows it
    assert "lean puts in their true order: 72.0 %" in GUIDE.read_text(encoding="utf-8")
    found = benchmarks.natural_rankers("my_rankers:half")
    assert "long" in next(iter(found.left_out["half"]))
    for bad in (3, []):
        with pytest.raises(UsageError):
            benchmarks.natural_rankers(bad)
    with pytest.raises(InputError):
        benchmarks.natural_rankers("no_such_module:x")
    with pytest.raises(WorkError, match="finite"):
        benchmarks.natural_rankers(
            lambda targets, labels, references: dict.fromkeys(targets, math.nan), kinds=["place"]
        )
