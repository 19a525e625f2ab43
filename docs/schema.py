"""Schema: the JSON that commands write, as JSON Schema, made from the records of the results.

    python docs/schema.py    # writes docs/schema/results.json; a test says where that has drifted

What a record writes follows from its fields and their types. A record with a `to_dict` of its own stands in `OWN`, with
the keys that it adds or writes otherwise.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from oodometer.audits.judge import Believed
from oodometer.audits.judges_result import JudgeAudit
from oodometer.audits.result import Audit
from oodometer.metrics.base import Measure
from oodometer.results import Estimate, Interval
from oodometer.results.alarms import Alarms, Failing
from oodometer.results.backtest import Backtest, BacktestRow
from oodometer.results.comparison import Comparison
from oodometer.results.diagnosis import ColumnChange, Diagnosis
from oodometer.results.estimation import Estimation
from oodometer.results.evaluation import Evaluation, Evaluations, Slice
from oodometer.results.history import History, Job, PastPart, Seen
from oodometer.results.plan import Plan
from oodometer.results.prediction import Prediction
from oodometer.results.preferences import Preferences
from oodometer.results.ranking import Evidence, FewShotRanking
from oodometer.results.reading import Reading
from oodometer.results.values import Record
from oodometer_lab.results.benchmark import Benchmark, BenchmarkRow
from oodometer_lab.results.ranker_benchmark import RankerBenchmark, RankerRow

OUT = Path(__file__).parent / "schema" / "results.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Json = dict[str, Any]

COMMANDS: Mapping[str, tuple[type, ...]] = {
    "audit": (Audit, JudgeAudit),
    "backtest": (Backtest,),
    "benchmark": (Benchmark, RankerBenchmark),
    "compare": (Comparison,),
    "diagnose": (Diagnosis,),
    "estimate": (Estimation,),
    "evaluate": (Evaluation, Evaluations),
    "history": (History,),
    "plan": (Plan,),
    "predict": (Prediction,),
    "rank": (FewShotRanking, Preferences),
    "read": (Reading,),
}
"""The records that each command writes."""

Field = object()
"""In `OWN`: the type of the record's field of this name."""


@dataclass(frozen=True)
class Own:
    """What a record writes besides its fields, or in their place.

    keys : key -> type. optional : those of them that are not always there.
    free : whether keys follow that depend on the data, such as curves by their names.
    """

    keys: Mapping[str, Any]
    optional: frozenset[str] = frozenset()
    free: bool = False


def _of_fields(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), Field)


_NAMED = {"command": str, "version": str, "argv": str | list[str] | None}
_SIDE = Mapping[str, Any]
_AUDIT = Own(
    {
        **_NAMED,
        **_of_fields("level seed reference target labels correct weighted"),
        "estimate": Interval | None,
        "method": str | None,
        "assumes": str | None,
        "label_only": Interval | None,
        **_of_fields("effective_labels believed headline fell alarms"),
        "needed_labels": int | None,
        **_of_fields("decisions"),
        "refuted": bool,
        **_of_fields("p_value noticeable"),
        "intervals": list[Estimate],
        "confidence": Mapping[str, float | None],
        **_of_fields("proxy strata"),
        "outlook": Any,
        **_of_fields("suggest_by not_random"),
        "suggested": list[int] | None,
        **_of_fields("warnings"),
    }
)
_NOT_OF_JUDGES = frozenset(
    ["believed", "noticeable", "confidence", "proxy", "strata", "outlook", "suggest_by"]
)
_OF_JUDGES = {
    "headline": None,
    "rate": Mapping[str, Any] | None,
    "judge": Mapping[str, Any] | None,
    "methods": list[Estimate],
    **_of_fields("judges bias groups labels_for_width changed scale label compared not_given"),
    **_of_fields("population label_counts gate"),
    "difference": Mapping[str, Any],
}
_SEEN = typing.get_type_hints(Seen)
_PREDICTION = Own(
    {"examples": list[Mapping[str, str]], "argv": _NAMED["argv"]}, optional=frozenset({"argv"})
)
OWN: Mapping[type, Own] = {
    Benchmark: Own({"rows": list[BenchmarkRow], "differences": Mapping[str, Any]}),
    RankerBenchmark: Own({"rows": list[RankerRow]}),
    Alarms: Own(
        {
            "raised": bool,
            "when": str,
            "rule_when": str,
            "rules": list[Mapping[str, Any]],
            "judged": int,
            "of": str,
            "asked": str | None,
            "new": int,
            "where": list[Failing],
            "by_chance": list[Failing],
            "unjudged": list[str],
        },
        optional=frozenset({"asked", "new"}),
    ),
    Failing: Own(
        {
            "name": Any,
            **_of_fields("rows bound reference changed truth by_labels known_since"),
            "metric": str,
            "rule": str,
            **dict.fromkeys(("value", "lower", "upper", "level", "p"), float),
            "kind": str,
            "upper_below": bool,
            **dict.fromkeys(("start", "end", "by", "slice"), Any),
        },
        optional=frozenset({"known_since", "start", "end", "by", "slice"}),
    ),
    Audit: _AUDIT,
    JudgeAudit: Own(
        {name: kind for name, kind in _AUDIT.keys.items() if name not in _NOT_OF_JUDGES}
        | _OF_JUDGES,
        optional=frozenset({"difference"}),
    ),
    Believed: Own(
        {
            **_of_fields("assumes effective_labels why fell by_history"),
            **dict.fromkeys(("value", "lower", "upper", "level"), float),
            "kind": str,
        },
        optional=frozenset({"value", "lower", "upper", "level", "kind", "by_history"}),
    ),
    Backtest: Own(
        {
            **_NAMED,
            **_of_fields("level seed reference families reused skipped warnings"),
            "trials": int,
            "overall": list[BacktestRow],
            "rows": list[BacktestRow],
        }
    ),
    ColumnChange: Own({"matters": bool}),
    Comparison: Own({}, free=True),  # the orders by their names
    Diagnosis: Own(
        {**_NAMED, "seed": int | None, "reference": _SIDE, "target": _SIDE},
        optional=frozenset({*_NAMED, "seed", "reference", "target"}),
    ),
    Estimate: Own({"effective_labels": float | None}, optional=frozenset({"effective_labels"})),
    Estimation: Own({"truth": Mapping[str, Any] | None}),
    Evaluation: Own(
        {
            **_NAMED,
            **_of_fields("name rows unlabelled level seed warnings slices costs weights"),
            "metrics": Mapping[str, Measure],
            "per_class": list[Mapping[str, Any]],
            "skipped": list[Mapping[str, Any]],
        },
        # inside a comparison, which says these once
        optional=frozenset(
            {"slices", "costs", "weights", *_NAMED, "unlabelled", "level", "seed", "per_class"}
        ),
        free=True,  # tables and curves by their names
    ),
    Evidence: Own({"order": list[str], "agreement": float | None}),
    FewShotRanking: Own(
        {
            "labels": int,
            "likeliest": str,
            "open": bool,
            "open_among": list[str],
            "by_right": list[list[str]],
            "ranking": list[Mapping[str, Any]],
            "evidence": list[Evidence],
            "suggested": list[Mapping[str, Any]],
            "suggested_are_random": bool,
        }
    ),
    Job: Own({"job": str, **_of_fields("runs parts")}),
    PastPart: Own({field.name: _SEEN[field.name] for field in fields(Seen)}),
    Prediction: _PREDICTION,
    Preferences: Own({"likeliest": str}),
    Reading: _PREDICTION,
    Slice: Own({"metrics": Mapping[str, Measure]}),
}
_LEAST = {"value": "number", "lower": "number", "upper": "number", "level": "number"}


class Writer:
    """Definitions of records, each under the name of its class, gathered as types name them."""

    def __init__(self) -> None:
        self.definitions: dict[str, Json] = {}

    def of(self, hint: Any) -> Json:
        """The schema of a type; what is not finite is null in JSON."""
        simple: dict[Any, Json] = {
            bool: {"type": "boolean"},
            int: {"type": "integer"},
            float: {"type": ["number", "null"]},
            str: {"type": "string"},
            None: {"type": "null"},
            NoneType: {"type": "null"},
        }
        if hint in simple:
            return simple[hint]
        origin, parts = get_origin(hint), get_args(hint)
        if origin is Literal:
            return {"enum": [*parts]}
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(part) for part in parts]}
        if origin in (tuple, list, Sequence):
            return self._sequence(origin, parts)
        if hint is np.ndarray or origin is np.ndarray:
            return {"type": "array"}
        if origin in (dict, Mapping) or hint in (dict, Mapping):
            values = self.of(parts[1]) if parts else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
            return self.record(hint)
        return {}

    def _sequence(self, origin: Any, parts: tuple[Any, ...]) -> Json:
        if origin is tuple and len(parts) > 1 and parts[-1] is not ...:
            return {"type": "array", "prefixItems": [self.of(part) for part in parts]}
        items = self.of(parts[0]) if parts else {}
        return {"type": "array", **({"items": items} if items else {})}

    def record(self, cls: type) -> Json:
        """A reference to the definition of a record."""
        if cls.__name__ not in self.definitions:
            self.definitions[cls.__name__] = {}  # a record may hold records of its own kind
            self.definitions[cls.__name__] = self._definition(cls)
        return {"$ref": f"#/$defs/{cls.__name__}"}

    def _definition(self, cls: Any) -> Json:
        own, hints = OWN.get(cls, Own({})), typing.get_type_hints(cls)
        properties, required = dict[str, Json](), list[str]()
        is_free = own.free
        if issubclass(cls, Record) or cls not in OWN:
            properties, required, spreads_data = self._of_fields(cls, hints)
            is_free = is_free or spreads_data
        for name, hint in own.keys.items():
            properties[name] = self.of(hints[name] if hint is Field else hint)
            required += [] if name in own.optional or name in required else [name]
        summary = (cls.__doc__ or "").strip().partition("\n\n")[0]
        out: Json = {"description": " ".join(summary.split()), "type": "object"}
        if issubclass(cls, Interval):
            properties |= {name: {"type": kind} for name, kind in _LEAST.items()}
        out |= {"properties": properties, "required": [*dict.fromkeys(required)]}
        return out | ({"additionalProperties": True} if is_free else {})

    def _of_fields(self, cls: Any, hints: Plain) -> tuple[dict[str, Json], list[str], bool]:
        """Properties that follow from the fields, those that are always there, and whether data name further ones."""
        properties, required, is_free = dict[str, Json](), list[str](), False
        spread, spare = getattr(cls, "_spread", ()), getattr(cls, "_spare", ())
        if getattr(cls, "_command", ""):
            properties = {"command": {"const": cls._command}, "version": {"type": "string"}}
            required = [*properties]
        names = dict.fromkeys((*getattr(cls, "_first", "").split(), *(f.name for f in fields(cls))))
        for name in names:
            if name in getattr(cls, "_untold", ()) or name not in hints:
                continue
            if name not in spread:
                properties[name] = self.of(hints[name])
                required += [] if name in spare else [name]
                continue
            kinds = [k for k in get_args(hints[name]) or (hints[name],) if k is not NoneType]
            inner = kinds[0]
            if not hasattr(inner, "__dataclass_fields__"):
                is_free = True
                continue
            self.record(inner)
            definition = self.definitions[inner.__name__]
            properties |= definition["properties"]
            required += definition["required"] if hints[name] is inner else []
        return properties, required, is_free


Plain = Mapping[str, Any]


def schema() -> Json:
    """The schema of what every command writes."""
    writer = Writer()
    branches = []
    for command, records in COMMANDS.items():
        kinds = [writer.record(record) for record in records]
        then = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
        has_name = {"properties": {"command": {"const": command}}, "required": ["command"]}
        branches.append({"if": has_name, "then": then})
    return {
        "$schema": DRAFT,
        "title": "Results of oodometer",
        "description": "What `--json` of a command, `save` to .json and `to_dict` write. Rates are fractions; a number "
        "that is not finite is null. Later versions may add keys; a key that is here keeps its meaning until the major "
        "version changes.",
        "type": "object",
        "properties": {"command": {"enum": [*COMMANDS]}},
        "required": ["command"],
        "allOf": branches,
        "$defs": dict(sorted(writer.definitions.items())),
    }


def text() -> str:
    """The schema as the file holds it."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text(), encoding="utf-8")
