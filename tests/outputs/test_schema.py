"""The published JSON Schema: as the records make it, and every command's JSON holds to it, key by key."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

import oodometer
from oodometer.cli import main
from oodometer.outputs.files import json_text

from .conftest import KINDS, table

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra: dev)")
DOCS = Path(__file__).parents[2] / "docs"
RECORDS = [name for name in KINDS if name not in ("judges", "stress")]
QUICK = ("--method", "cbpe", "--backtest", "none")
MADE_AGAIN = "docs/schema/results.json has drifted; run: python docs/schema.py"


@pytest.fixture(scope="module")
def published() -> Any:
    return json.loads((DOCS / "schema" / "results.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def strict(published: Any) -> Any:
    """The schema, in which no key may stand that it does not tell of."""
    schema = copy.deepcopy(published)
    for definition in schema["$defs"].values():
        definition.setdefault("additionalProperties", False)
    return jsonschema.Draft202012Validator(schema)


def _broken(validator: Any, result: Any) -> list[str]:
    def leaves(error: Any) -> list[str]:
        if error.context:
            return [line for inner in error.context for line in leaves(inner)]
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"]

    return [line for error in validator.iter_errors(result) for line in leaves(error)]


@pytest.mark.lab
def test_the_file_is_what_the_records_make(published: Any) -> None:
    spec = importlib.util.spec_from_file_location("schema_of_docs", DOCS / "schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for its names
    spec.loader.exec_module(module)
    assert module.text() == (DOCS / "schema" / "results.json").read_text("utf-8"), MADE_AGAIN
    jsonschema.Draft202012Validator.check_schema(published)


@pytest.mark.parametrize("name", RECORDS)
def test_records_hold_to_the_schema(made: dict[str, Any], strict: Any, name: str) -> None:
    result = json.loads(json_text(made[name].to_dict()))
    result.setdefault("command", name)  # a diagnosis is told its command by the command line
    assert _broken(strict, result) == []


@pytest.mark.lab
def test_benchmarks_and_plans_hold_to_the_schema(strict: Any) -> None:
    from oodometer_lab.benchmarks import natural, natural_rankers

    def steady(reference: Any, target: Any, level: float) -> tuple[float, float, float]:
        return reference.accuracy, 0.0, 1.0

    def even(targets: Any, labels: Any, references: Any) -> dict[str, float]:
        return dict.fromkeys(targets, 0.0)

    plan = oodometer.plan(accuracy=0.7, difference=0.1)
    found = (natural(steady, kinds=["place"]), natural_rankers(even, kinds=["place"]), plan)
    for one in found:
        assert _broken(strict, json.loads(json_text(one.to_dict()))) == []


def _few(file: Path, to: Path) -> str:
    """The labels of the first 50 rows, as a file of their own."""
    rows = pyarrow.csv.read_csv(file).slice(0, 50).select(["id", "label"])
    pyarrow.csv.write_csv(rows, to)
    return str(to)


def test_what_commands_write_holds_to_the_schema(
    tables: Any, strict: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, one in zip(("reference", "target", "labelled"), tables, strict=True):
        pyarrow.csv.write_csv(one, tmp_path / f"{name}.csv")
    reference, target, labelled = (
        str(tmp_path / f"{n}.csv") for n in ("reference", "target", "labelled")
    )
    other = str(tmp_path / "other.csv")  # another model's answers on the reference
    pyarrow.csv.write_csv(table(500, 1, 2.0), other)
    few = _few(tmp_path / "labelled.csv", tmp_path / "few.csv")
    rules = ("--every", "7d", "--fail-below", "0.99", "--metric", "f1")
    store = ("--store", str(tmp_path / "runs.sqlite"))
    rows = str(tmp_path / "rows.csv")
    calls: dict[str, tuple[str, ...]] = {
        "estimate": ("estimate", reference, target, *QUICK, *rules, *store),
        "estimate with few labels": ("estimate", reference, target, *QUICK, "--labels", few),
        "estimate with all labels": ("estimate", reference, labelled, *QUICK, "--by", "place"),
        "evaluate": ("evaluate", reference, "--by", "place"),
        "evaluate two": ("evaluate", reference, labelled),
        "diagnose": ("diagnose", reference, target, "--features", "size"),
        "audit": ("audit", reference, target, "--labels", few, *QUICK[:2]),
        "audit before labels": ("audit", reference, target, "--suggest", "5", "--out", rows),
        "backtest": ("backtest", reference, *QUICK[:2], "--family", "none", "--no-cache"),
        "compare": ("compare", reference, other),
        "rank": ("rank", reference, other),
        "history": ("history", store[1]),
        "read": ("read", reference, "--out", str(tmp_path / "read.csv")),
    }
    wrong = {}
    for name, words in calls.items():
        file = tmp_path / f"{name}.json"
        code = main([*words, "--json", str(file)])
        told = capsys.readouterr()
        assert code in (0, 3), f"{name}: {told.err}"
        if lines := _broken(strict, json.loads(file.read_text("utf-8"))):
            wrong[name] = lines
    assert wrong == {}


def test_another_type_or_an_unknown_command_is_found(
    made: dict[str, Any], published: Any, strict: Any
) -> None:
    good = json.loads(json_text(made["methods"].to_dict()))
    lenient = jsonschema.Draft202012Validator(published)
    assert lenient.is_valid({**good, "later": 1})  # a later version may tell more
    assert not strict.is_valid({**good, "later": 1})
    assert not lenient.is_valid({**good, "headline": {**good["headline"], "value": "0.9"}})
    assert not lenient.is_valid({key: one for key, one in good.items() if key != "headline"})
    assert not lenient.is_valid({**good, "command": "guess"})
