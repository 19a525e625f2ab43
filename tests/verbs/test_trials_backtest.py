"""Trials, the store that keeps them, and the backtest: seeds, resumption, caches, and the table by hand."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import Predictions
from oodometer.backtests import trials
from oodometer.backtests.trials import (
    BacktestOptions,
    Key,
    Trial,
    TrialStore,
    cache_folder,
    fingerprint,
    run_backtest,
    run_trials,
    tasks_of,
    trial_keys,
)
from oodometer.engines import LocalEngine
from oodometer.errors import InputError, UsageError
from oodometer.passes.folding import Execution
from oodometer.passes.plan import EstimationPlan, fit_plan
from oodometer.registry import create, register, unregister
from oodometer.results import Skipped
from oodometer.results.backtest import Backtest
from oodometer.simulations import Simulation
from oodometer.testing import example_record
from oodometer.verbs.backtest import backtest

from ..snapshots import assert_snapshot, raises_snapshot

RECORD = example_record(300, difficulty=1.3)
METHODS = ["source", "ac", "doc", "atc"]
FAMILIES = ["none", "class_prior", "confidence_tilt"]


def fit(part: Predictions) -> EstimationPlan:
    return fit_plan(part, METHODS)[0].lighter()


def run(cache: Path | str | None = None, **options: Any) -> Backtest:
    progress = options.pop("progress", None)
    asked = {"methods": METHODS, "families": FAMILIES, "repeats": 3, "cache": cache, **options}
    return run_backtest(RECORD, BacktestOptions(**asked), Execution(progress=progress))


def plain(found: Backtest) -> str:
    """Everything that was found, to the last digit."""
    return json.dumps([found.to_dict() | {"reused": 0}, [t.to_dict() for t in found.trials]])


def trial(
    family: str = "none",
    severity: float = 0.0,
    repeat: int = 0,
    truth: float = 0.8,
    **estimates: Any,
) -> Trial:
    return Trial(family, severity, repeat, 100, truth, 0.9, estimates, {"moved": 0.1})


# ------------------------------------------------------------------------------------------ trials


def test_keys_run_split_by_split_and_none_twice() -> None:
    keys = trial_keys(["none", "class_prior"], 5)
    assert len(keys) == len(set(keys)) == 5 * (1 + 4)
    splits = [repeat % 4 for _, _, repeat in keys]
    assert splits == sorted(splits)
    assert {k for k in keys if k[0] == "class_prior"} == {
        ("class_prior", s, r) for s in (0.25, 0.5, 0.75, 1.0) for r in range(5)
    }


def test_a_trial_does_not_depend_on_those_before() -> None:
    keys = trial_keys(FAMILIES, 3)
    whole = dict(run_trials(RECORD, fit, keys))
    for key in keys[::4]:
        ((_, alone),) = run_trials(RECORD, fit, [key])
        assert alone == whole[key]
    backwards = dict(run_trials(RECORD, fit, keys[::-1]))
    assert backwards == whole
    other = dict(run_trials(RECORD, fit, keys, seed=1))
    assert all(other[k] != whole[k] for k in keys)


def test_severities_of_either_sign_draw_rows_of_their_own() -> None:
    """Else two trials would be one, and a temperature and its inverse would be tried on the same rows."""
    keys: list[Key] = [("logit_temperature", s, 0) for s in (-0.5, 0.5)]
    first, second = (t for _, t in run_trials(example_record(600, difficulty=1.6), fit, keys))
    assert first.truth != second.truth


def test_a_trial_holds_what_methods_said_without_the_truth() -> None:
    """By hand: the same halves, the same draw, the labels taken away."""
    ((key, found),) = run_trials(RECORD, fit, [("class_prior", 0.5, 1)])
    order = np.random.default_rng([0, 0x51, 1]).permutation(300)
    fitting, pool = RECORD.take(np.sort(order[:150])), RECORD.take(np.sort(order[150:]))
    rng = np.random.default_rng([0, 1, 500, *b"class_prior"])
    target = create("simulation", "class_prior").draw(pool, 0.5, rng)
    assert found.key == key == ("class_prior", 0.5, 1)
    assert (found.rows, found.truth, found.source) == (
        len(target),
        target.accuracy,
        fitting.accuracy,
    )
    assert set(found.estimates) == set(METHODS)
    plan = fit(fitting)
    want = plan.methods["doc"].estimate(plan.choice.apply(target.without_labels()))
    assert found.estimates["doc"] == pytest.approx((want.value, want.lower, want.upper))
    assert found.signs["moved"] >= 0


def test_halves_share_no_row() -> None:
    seen: list[set[bytes]] = []

    @register("simulation")
    class Everything(Simulation):
        """The whole pool."""

        name = "everything"
        about = "the whole pool"
        severities = (1.0,)

        def draw(self, pool: Predictions, severity: float, rng: np.random.Generator) -> Predictions:
            seen.append({row.tobytes() for row in pool.probabilities})  # type: ignore[union-attr]
            return pool

    fitted: list[set[bytes]] = []

    def spy(part: Predictions) -> EstimationPlan:
        fitted.append({row.tobytes() for row in part.probabilities})  # type: ignore[union-attr]
        return fit(part)

    try:
        list(run_trials(RECORD, spy, [("everything", 1.0, r) for r in range(4)]))
    finally:
        unregister("simulation", "everything")
    assert len(fitted) == 4
    for a, b in zip(fitted, seen, strict=True):
        assert not a & b
        assert len(a | b) == 300
    assert len({frozenset(a) for a in fitted}) == 4, "four ways to split"


def test_a_family_that_cannot_be_drawn_gives_nothing() -> None:
    small = example_record(80).slice(0, 30)
    assert [t for _, t in run_trials(small, fit, [("none", 0.0, 0)])] == [None]
    assert [t for _, t in run_trials(RECORD, fit, [("periods", 1.0, 0)])] == [None]


def test_a_trial_survives_json() -> None:
    made = trial(doc=(0.1, 0.0, 1 / 3))
    assert Trial.from_dict(json.loads(json.dumps(made.to_dict()))) == made


# ------------------------------------------------------------------------------------------ the store


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OODOMETER_CACHE", "")
    assert cache_folder() is None
    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("OODOMETER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "oodometer"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache_folder() == tmp_path / ".cache" / "oodometer"

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert cache_folder() is None


def test_fingerprints_tell_rows_and_options_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(**fields: Any) -> Predictions:
        return replace(RECORD, _cache={}, **fields)

    label = RECORD.label.copy()
    label[7] = (label[7] + 1) % 4
    features = RECORD.features.copy()
    features[0, 0] += 1e-3
    group = RECORD.group.copy()
    group[3] = "else"
    prints = [
        fingerprint(RECORD), fingerprint(RECORD, seed=1), fingerprint(RECORD, seed=2),
        fingerprint(RECORD, methods=["a"]), fingerprint(changed(label=label)), fingerprint(changed(features=features)),
        fingerprint(changed(group=group)), fingerprint(changed(members=None)), fingerprint(RECORD.slice(0, 299)),
        fingerprint(RECORD.take(np.arange(300)[::-1])),
        fingerprint(changed(features=RECORD.features.astype(np.float64))),
    ]  # fmt: skip
    assert len(set(prints)) == len(prints)
    assert fingerprint(example_record(300, difficulty=1.3)) == prints[0]
    assert fingerprint(RECORD.slice(0, 300)) == prints[0]
    monkeypatch.setattr(trials, "__version__", "0.0.0.other")
    assert fingerprint(RECORD) != prints[0], "another version may compute otherwise"


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    store = TrialStore(tmp_path, "x")
    assert store.read() == ({}, [])
    first, second = trial(doc=(0.1, 0.0, 0.3)), trial(repeat=1, doc=(1 / 3, 0.0, 1.0))
    store.append([(first.key, first)])
    store.append(
        [(second.key, second), (("tilt", 0.5, 0), None)], [Skipped("gde", "needs `members`")]
    )
    kept = {first.key: first, second.key: second, ("tilt", 0.5, 0): None}
    assert TrialStore(tmp_path, "x").read() == (kept, [Skipped("gde", "needs `members`")])
    assert TrialStore(tmp_path, "y").read() == ({}, [])


RUBBISH = [
    "", "{", "null", "[]", "17", '"text"', '{"key": 3, "trial": null}', '{"key": ["none"], "trial": null}',
    '{"key": ["none", "x", 0], "trial": null}', '{"key": ["none", 0, 1e999], "trial": null}',
    '{"key": ["none", 0.0, 9]}', '{"key": ["none", 0.0, 9], "trial": {}}', '{"key": ["none", 0.0, 9], "trial": [1]}',
    '{"key": ["none", 0.0, 9], "trial": {"family": "none", "severity": 0, "repeat": 9, "rows": 1, "truth": 1,'
    ' "source": 1, "estimates": [], "signs": {}}}',
    '{"key": ["none", 0.0, 9], "trial": {"family": "none", "severity": 0, "repeat": 9, "rows": 1, "truth": 1,'
    ' "source": 1, "estimates": {"a": [1]}, "signs": {}}}',
    '{"skipped": 5}', '{"skipped": ["a"]}', "\udcff\udcfe", "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("line", RUBBISH, ids=range(len(RUBBISH)))
def test_a_line_of_rubbish_is_left_out(line: str, tmp_path: Path) -> None:
    store = TrialStore(tmp_path, "x")
    made = trial()
    store.append([(made.key, made)])
    with store.path.open("ab") as file:
        file.write(line.encode(errors="surrogateescape"))
    last = trial(repeat=3)
    store.append([(last.key, last)])
    want = ({made.key: made, last.key: last}, [])
    if line:
        with pytest.warns(
            UserWarning, match=r"1 of 3 cached trials there are damaged or cut off; it is made anew"
        ):
            assert store.read() == want, "nor does it swallow the line after it"
    assert store.read() == want, "and it is said once"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_flipped_bit_changes_a_number(data: st.DataObject) -> None:
    """Whatever happens to the file, a trial comes back as it was written or not at all."""
    with TemporaryDirectory() as folder:
        store = TrialStore(Path(folder), "x")
        made = [trial(repeat=i, doc=(0.5 + i / 100, 0.25, 0.75)) for i in range(4)]
        store.append([(one.key, one) for one in made])
        content = bytearray(store.path.read_bytes())
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] ^= 1 << data.draw(st.integers(0, 7))
        store.path.write_bytes(bytes(content[: data.draw(st.integers(at + 1, len(content)))]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = store.read()
        wanted = {one.key: one for one in made}
        assert all(wanted[key] == one for key, one in found.items())


def test_trials_of_another_backtest_and_impossible_ones_are_not_taken(tmp_path: Path) -> None:
    other, store = TrialStore(tmp_path, "other"), TrialStore(tmp_path, "x")
    other.append([(trial().key, trial())])
    assert store.path is not None
    other.path.rename(store.path)
    for impossible in ((math.nan, 0.0, 1.0), (0.5, 0.6, 0.7), (2.0, 0.0, 3.0)):
        store.append([(trial(repeat=1).key, trial(repeat=1, doc=impossible))])
    with pytest.warns(UserWarning, match="4 of 4 cached trials"):
        assert store.read() == ({}, [])


def test_several_runs_keep_their_trials_in_one_file(tmp_path: Path) -> None:
    def work(first: int) -> None:
        mine = TrialStore(tmp_path, "x")
        for i in range(first, first + 50):
            mine.append([(trial(repeat=i).key, trial(repeat=i))])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(0, 200, 50)))
    assert len(TrialStore(tmp_path, "x").read()[0]) == 200


def test_a_folder_that_cannot_be_used_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "file"
    taken.write_text("no folder")
    want = plain(run())
    assert plain(run(taken)) == want
    assert plain(run(Path("/proc/nothing/there"))) == want

    def forbidden(*_: Any, **__: Any) -> Any:
        raise PermissionError("no")

    run(tmp_path / "cache")
    monkeypatch.setattr(Path, "read_text", forbidden)
    monkeypatch.setattr(Path, "open", forbidden)
    monkeypatch.setattr(Path, "mkdir", forbidden)
    found = run(tmp_path / "cache")
    assert (plain(found), found.reused) == (want, 0)


# ------------------------------------------------------------------------------------------ resumption


def test_a_finished_backtest_is_reused(tmp_path: Path) -> None:
    methods = [*METHODS, "votes"]
    first = run(tmp_path, methods=methods)
    again = run(tmp_path, methods=methods)
    assert (first.reused, again.reused) == (0, len(trial_keys(FAMILIES, 3)))
    assert plain(again) == plain(first)
    more = run(tmp_path, methods=methods, repeats=4)
    assert more.reused == again.reused
    assert plain(more) == plain(run(methods=methods, repeats=4))
    assert run(tmp_path, methods=methods, seed=1).reused == 0
    assert run(tmp_path, methods=methods, level=0.9).reused == 0


def test_methods_that_do_not_apply_are_named_on_every_run(tmp_path: Path) -> None:
    """Also where all trials come from the cache, and nothing is fitted any more."""
    bare = Predictions.from_arrays(probabilities=RECORD.probabilities, label=RECORD.label)
    options: dict[str, Any] = {
        "methods": ["ac", "gde"],
        "families": ["none", "groups"],
        "repeats": 2,
    }
    first, again = (
        run_backtest(bare, BacktestOptions(cache=tmp_path, **options)) for _ in range(2)
    )
    assert [s.method for s in first.skipped] == ["groups", "gde"]
    assert again.reused == 2
    assert again.skipped == first.skipped
    assert first.families == ("none",)


@pytest.mark.parametrize("stop", [1, 7, 19, 20, 21, 26])
def test_an_interrupted_backtest_goes_on(stop: int, tmp_path: Path) -> None:
    class Interrupted(Exception):
        pass

    def progress(done: int, _: int) -> None:
        if done == stop:
            raise Interrupted

    with pytest.raises(Interrupted):
        run(tmp_path, progress=progress)
    seen: list[tuple[int, int]] = []
    again = run(tmp_path, progress=lambda done, total: seen.append((done, total)))
    total = len(trial_keys(FAMILIES, 3))
    assert again.reused == stop
    assert seen == [(i, total) for i in range(stop + 1, total + 1)]
    assert plain(again) == plain(run())


@pytest.mark.parametrize("workers", [1, 3])
def test_in_tasks_on_an_engine_the_trials_are_the_same_to_the_last_bit(
    workers: int, tmp_path: Path
) -> None:
    """Slow methods too, which run in threads here and in one thread there."""
    options = BacktestOptions(
        methods=["doc", "cot", "importance", "votes"], families=FAMILIES, repeats=5, cache=None
    )
    seen: list[tuple[int, int]] = []
    there = Execution(LocalEngine(workers), progress=lambda done, total: seen.append((done, total)))
    found = run_backtest(RECORD, options, there)
    assert plain(found) == plain(run_backtest(RECORD, options))
    total = len(trial_keys(FAMILIES, 5))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)
    assert (
        len(seen)
        == len(tasks_of(trial_keys(FAMILIES, 5)))
        == sum(
            -(-n // 8)
            for n in Counter(repeat % 4 for _, _, repeat in trial_keys(FAMILIES, 5)).values()
        )
    )
    kept = replace(options, cache=tmp_path)
    assert (run_backtest(RECORD, kept, there).reused, run_backtest(RECORD, kept, there).reused) == (
        0,
        total,
    )
    assert run_backtest(RECORD, kept).reused == total


def test_what_the_cache_lacks_is_done_in_tasks(tmp_path: Path) -> None:
    options: dict[str, Any] = {"methods": METHODS, "families": FAMILIES, "cache": tmp_path}
    run_backtest(RECORD, BacktestOptions(repeats=3, **options))
    more = run_backtest(RECORD, BacktestOptions(repeats=6, **options), Execution(LocalEngine(2)))
    assert more.reused == len(trial_keys(FAMILIES, 3))
    assert plain(more) == plain(
        run_backtest(RECORD, BacktestOptions(repeats=6, **{**options, "cache": None}))
    )
    (file,) = (tmp_path / "backtests").iterdir()
    assert len(file.read_text().splitlines()) == len(trial_keys(FAMILIES, 6)), "none is kept twice"


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    whole = run(tmp_path)
    (file,) = (tmp_path / "backtests").iterdir()
    text = file.read_bytes()
    file.write_bytes(text[: int(len(text) * 0.6)])
    with pytest.warns(UserWarning, match="damaged or cut off"):
        again = run(tmp_path)
    assert 0 < again.reused < len(trial_keys(FAMILIES, 3))
    assert plain(again) == plain(whole)
    assert run(tmp_path).reused == len(trial_keys(FAMILIES, 3))


def test_without_a_cache_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OODOMETER_CACHE", "")
    assert run("auto").reused == run("auto").reused == run(None).reused == 0
    assert list(tmp_path.rglob("*")) == []
    monkeypatch.setenv("OODOMETER_CACHE", str(tmp_path / "kept"))
    run("auto")
    assert run("auto").reused > 0
    monkeypatch.delenv("OODOMETER_CACHE")
    run("auto")
    assert (tmp_path / ".cache" / "oodometer" / "backtests").is_dir()


# ------------------------------------------------------------------------------------------ the verb


def test_what_backtest_refuses() -> None:
    with raises_snapshot(InputError):
        backtest(example_record(79), cache=None)
    unlabelled = replace(
        RECORD, label=np.where(np.arange(300) < 79, RECORD.label, -1).astype(np.int32), _cache={}
    )
    with raises_snapshot(InputError):
        backtest(unlabelled, cache=None)
    with raises_snapshot(UsageError):
        backtest(RECORD, methods=["atcc"], cache=None)
    with raises_snapshot(UsageError):
        backtest(RECORD, families=["tilted"], cache=None)
    for repeats in (0, -1):
        with raises_snapshot(UsageError):
            backtest(RECORD, repeats=repeats, cache=None)
    with pytest.raises(UsageError):
        backtest(RECORD, level=1.5, cache=None)


def test_slow_methods_are_tried_in_some_repeats_and_the_result_says_so() -> None:
    found = backtest(example_record(120), families=["none"], cache=None)
    cases = {row.method: row.cases for row in found.rows}
    assert {cases[m] for m in ("doc", "atc", "cbpe")} == {8}
    assert {cases[m] for m in ("cot", "importance", "pape")} == {3}
    (said,) = (one for one in found.warnings if "slow" in one)
    assert_snapshot(said)
    assert "cot, cott" in said
    assert "doc" not in said
    for asked in ({"repeats": 4}, {"methods": ["doc", "cot"]}):
        every = backtest(example_record(120), families=["none"], cache=None, **asked)  # type: ignore[arg-type]
        assert {row.cases for row in every.rows} == {asked.get("repeats", 8)}
        assert not every.warnings


def test_a_trial_in_which_slow_methods_take_no_part_is_not_reused_where_they_do(
    tmp_path: Path,
) -> None:
    methods = ["doc", "cot"]
    some = run_backtest(RECORD, BacktestOptions(families=["none"], cache=tmp_path))
    every = run_backtest(RECORD, BacktestOptions(families=["none"], repeats=8, cache=tmp_path))
    assert (some.reused, every.reused) == (0, 0)
    assert [
        {row.method: row.cases for row in one.rows}[m] for one in (some, every) for m in methods
    ] == [8, 3, 8, 8]
    assert some.trials[0] == every.trials[0]


def test_of_a_large_reference_a_sample_is_read_and_the_result_says_so(tmp_path: Path) -> None:
    found = backtest(
        example_record(6_000), methods=["source"], families=["none"], repeats=1, cache=None
    )
    assert [t.rows for t in found.trials] == [833]
    assert_snapshot(found.warnings)
    assert found.reference["rows"] == 6_000
    estimated = oodometer.estimate(
        example_record(6_000), RECORD, methods=["ac", "doc", "im", "atc"], backtest=tmp_path
    )
    assert estimated.backtest["rows"] == 5_000


def test_methods_of_a_trial_tell_target_from_reference_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import oodometer.inference.domain_classifier as module

    asked, compare = [], module.compare_domains
    monkeypatch.setattr(
        module, "compare_domains", lambda *given: asked.append(1) or compare(*given)
    )
    methods = ["importance", "pape"]
    found = backtest(RECORD, methods=methods, families=["none"], repeats=2, cache=None)
    assert {row.method for row in found.rows} == set(methods)
    assert len(asked) == 2


def test_eighty_rows_are_enough() -> None:
    found = backtest(
        example_record(80), methods=["source"], families=["none"], repeats=2, cache=None
    )
    assert [t.rows for t in found.trials] == [20, 20]
    assert found.reference["rows"] == 80


def test_a_name_given_twice_counts_once() -> None:
    found = run(families=["none", "none"], methods=["ac", "ac"])
    assert (found.families, len(found.trials), found.rows[0].cases) == (("none",), 3, 3)


def test_without_anything_to_draw_from_there_are_no_trials() -> None:
    asked = BacktestOptions(methods=["source"], families=["tilt"], cache=None)
    found = run_backtest(Predictions.from_arrays(correct=[1, 0] * 100), asked)
    assert (found.trials, found.rows, found.overall(), found.methods) == ((), [], [], [])
    assert [s.method for s in found.skipped] == ["tilt"]
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "record",
    [
        Predictions.from_arrays(correct=[1] * 100),
        Predictions.from_probabilities([[0.9, 0.1]] * 100, label=[0] * 100),
        Predictions.from_classes([0, 1] * 50, label=[1, 0] * 50),
        Predictions.from_confidence(np.linspace(0, 1, 100), correct=[0, 1] * 50),
        Predictions.from_arrays(members=RECORD.members, label=RECORD.label),
    ],
    ids=["all correct", "one class", "all wrong", "confidence", "members"],
)
def test_any_record_can_be_tried(record: Predictions) -> None:
    found = run_backtest(record, BacktestOptions(repeats=1, cache=None))
    assert found.trials
    for t in found.trials:
        assert 0 <= t.truth <= 1
        assert all(0 <= low <= value <= high <= 1 for value, low, high in t.estimates.values())
        assert all(math.isfinite(v) for v in t.signs.values())
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_table_by_hand() -> None:
    trials = (
        trial(truth=0.8, doc=(0.9, 0.85, 0.95), ac=(0.8, 0.7, 0.9)),
        trial(repeat=1, truth=0.8, doc=(0.7, 0.6, 0.8)),
        trial("tilt", 0.5, truth=0.5, doc=(0.8, 0.7, 0.9), ac=(0.4, 0.3, 0.6)),
        trial("tilt", 1.0, truth=0.4, doc=(0.4, 0.4, 0.6), ac=(0.5, 0.4, 0.6)),
    )
    found = Backtest({"rows": 9}, ("none", "tilt"), trials, (), 0.95, 0)
    rows = {(r.method, r.family, r.severity): r for r in found.rows}
    assert found.methods == ["doc", "ac"]
    assert set(rows) == {
        (m, f, s) for m in ("doc", "ac") for f, s in (("none", 0.0), ("tilt", 0.5), ("tilt", 1.0))
    }
    doc = rows["doc", "none", 0.0]
    assert (doc.error, doc.bias, doc.coverage, doc.width, doc.cases) == pytest.approx(
        (0.1, 0.0, 0.5, 0.15, 2)
    )
    far = rows["doc", "tilt", 0.5]
    assert (far.error, far.bias, far.coverage, far.width, far.cases) == pytest.approx(
        (0.3, 0.3, 0.0, 0.2, 1)
    )
    best, second = found.overall()
    # families count alike: doc errs by 0.1 at home, and by 0.3 and 0 on two tilts
    assert (best.method, second.method) == ("ac", "doc")
    assert second.error == pytest.approx((0.1 + 0.15) / 2)
    assert second.bias == pytest.approx((0.0 + 0.15) / 2)
    assert second.coverage == pytest.approx((0.5 + 0.5) / 2)
    assert best.error == pytest.approx((0.0 + 0.1) / 2)
    assert (best.cases, second.cases) == (3, 4)
    table = found.to_dict()
    assert [r["method"] for r in table["overall"]] == ["ac", "doc"]
    assert (table["trials"], table["command"]) == (4, "backtest")
