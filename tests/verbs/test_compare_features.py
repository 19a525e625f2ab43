"""`compare` with the user's own columns: which moved, what that explains for each model, as `estimate` says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.errors import InputError, UsageError

ROWS = 900
NAMES = ["weak", "steady"]


def rows(seed: int, share: float, errs: float) -> dict[str, Any]:
    """A model that errs on the plan "free" so often; ``share`` of the rows are of it. Age stands still."""
    rng = np.random.default_rng(seed)
    free = rng.random(ROWS) < share
    label = rng.integers(0, 2, ROWS)
    wrong = rng.random(ROWS) < np.where(free, errs, 0.05)
    sure = rng.uniform(0.6, 0.95, ROWS)
    said = np.where(wrong, 1 - label, label)
    return {
        "id": np.arange(ROWS),
        "prob_1": np.where(said == 1, sure, 1 - sure),
        "label": label,
        "plan": np.where(free, "free", "pro"),
        "age": rng.normal(40, 9, ROWS).round(1),
    }


HOMES = [rows(0, 0.2, 0.4), rows(0, 0.2, 0.05)]
AWAYS = [rows(1, 0.7, 0.4), rows(1, 0.7, 0.05)]
TARGETS = [{name: values for name, values in one.items() if name != "label"} for one in AWAYS]


@pytest.fixture(scope="module")
def found() -> oodometer.Comparison:
    return oodometer.compare(
        HOMES,
        out_of_domain=AWAYS,
        target=TARGETS,
        names=NAMES,
        features="auto",
        steps=20,
        require=(0.9,),
    )


def test_what_moved_and_what_that_explains_for_each_model(found: oodometer.Comparison) -> None:
    for domain in ("out_of_domain", "target"):
        weak, steady = ({one.name: one for one in found[name].columns[domain]} for name in NAMES)
        assert set(weak) == {"plan", "age"}
        assert weak["plan"].matters
        assert weak["plan"].explains is not None
        assert weak["plan"].explains.value == pytest.approx(-0.5 * 0.35, abs=0.05)
        assert (steady["plan"].moved, steady["plan"].matters) == (True, False)
        assert not weak["age"].moved
    told = found.to_dict()
    assert told["settings"]["features"] == "auto"
    assert [one["name"] for one in told["models"][0]["columns"]["target"]] == ["plan", "age"]


def test_it_is_what_estimate_says_of_the_same_files(found: oodometer.Comparison) -> None:
    asked: dict[str, Any] = {"features": ["plan", "age"], "methods": ["ac"], "backtest": None}
    estimated = oodometer.estimate(HOMES[0], TARGETS[0], **asked)
    assert found["weak"].columns["target"] == estimated.diagnosis.columns


def test_the_rest_of_the_comparison_stays_as_it_is(found: oodometer.Comparison) -> None:
    plain = oodometer.compare(
        HOMES, out_of_domain=AWAYS, target=TARGETS, names=NAMES, steps=20, require=(0.9,)
    ).to_dict()
    assert all(model.pop("columns") == {} for model in plain["models"])
    told = found.to_dict()
    for model in told["models"]:
        del model["columns"]
    assert plain["settings"].pop("features") is None
    assert told["settings"].pop("features") == "auto"
    assert told == plain


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        (
            {},
            UsageError,
            "features tell which columns moved from the models' files to others; give target= or",
        ),
        (
            {"target": TARGETS, "features": "plan,colour"},
            InputError,
            "column colour: expected the column",
        ),
        (
            {"target": TARGETS, "features": "label"},
            UsageError,
            "label is the truth, an answer of the model or a time",
        ),
        ({"target": TARGETS, "features": "plan,plan"}, UsageError, "features names plan twice"),
    ],
)
def test_what_cannot_be_told_is_refused(
    more: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as told:
        oodometer.compare(HOMES, names=NAMES, **{"features": "auto", **more})
    assert says in str(told.value)


def test_the_command_prints_it_and_the_page_shows_it(
    found: oodometer.Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for at, one in enumerate([*HOMES, *TARGETS]):
        lines = [",".join(map(str, row)) for row in zip(*one.values(), strict=True)]
        files.append(tmp_path / f"{at}.csv")
        files[-1].write_text("\n".join([",".join(one), *lines]) + "\n")
    first, second, *targets = map(str, files)
    out, page = str(tmp_path / "out.json"), tmp_path / "page.html"
    words = [word for target in targets for word in ("--target", target)]
    assert (
        main(
            [
                "compare",
                first,
                second,
                *words,
                "--features",
                "plan,age",
                "--json",
                out,
                "--report",
                str(page),
                "-v",
            ]
        )
        == 0
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "your columns, from in domain to the target model column what changed explains 0 plan free"
        in printed
    )
    models = json.loads(Path(out).read_text())["models"]
    assert models[0]["columns"]["target"] == found.to_dict()["models"][0]["columns"]["target"]
    text = page.read_text()
    assert "<h2>Your columns, from in domain to the target</h2>" in text
    shown = text[text.index("<h2>Your columns") :].partition("<details>")[0]
    assert shown.count("<td>plan</td>") == shown.count("<tr>") - 1, "a row for each model"
