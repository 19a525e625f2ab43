"""oodometer: how good is your model on data that has no labels? The public face; everything loads on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .version import __version__

__all__ = [
    "Alarms",
    "Asking",
    "Audit",
    "Backtest",
    "Columns",
    "Comparison",
    "Curve",
    "Diagnosis",
    "Estimate",
    "Estimation",
    "Evaluation",
    "History",
    "Inference",
    "InputError",
    "Interval",
    "Oodometer",
    "OodometerError",
    "Perturbation",
    "Plan",
    "Predictions",
    "Run",
    "Selective",
    "__version__",
    "audit",
    "backtest",
    "cite",
    "compare",
    "diagnose",
    "estimate",
    "evaluate",
    "fit",
    "history",
    "load",
    "load_result",
    "methods",
    "plan",
    "predict",
    "rank",
    "read",
    "reproduce",
    "shift",
    "stress",
    "suggest_rows",
    "write",
    "write_report",
]

_HOMES = {
    "audits.result": "Audit",
    "errors": "InputError OodometerError",
    "predictions": "Predictions",
    "reports": "write_report",
    "reports.saved": "load_result",
    "results": "Curve Estimate Interval",
    "results.backtest": "Backtest",
    "results.comparison": "Comparison",
    "results.diagnosis": "Diagnosis",
    "results.estimation": "Estimation",
    "results.evaluation": "Evaluation",
    "results.history": "History",
    "results.plan": "Plan",
    "store": "load write",
    "verbs.audit": "audit suggest_rows",
    "verbs.backtest": "backtest",
    "verbs.compare": "compare",
    "verbs.diagnose": "diagnose",
    "verbs.estimate": "estimate",
    "verbs.evaluate": "evaluate",
    "verbs.fit": "Oodometer fit",
    "verbs.history": "history",
    "verbs.methods": "cite methods",
    "verbs.options": "Alarms Asking Columns Inference Run Selective",
    "verbs.plan": "plan",
    "verbs.rank": "rank",
    "verbs.read": "read",
}
_ELSEWHERE = {"load": "read_predictions", "write": "write_predictions"}
_ROOMS = ("datasets", "errors")
_WITH = {"Perturbation": "shift"}  # a group of options -> the verb of the lab that brings it
_OF_LAB = ("discriminate", "predict", "reproduce", "shift", "stress")


_FORMER = {"read_log": "read"}  # a name that goes -> what it is called now


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        import warnings

        now = f"oodometer.{_FORMER[name]}"
        warnings.warn(f"oodometer.{name} is {now} now", FutureWarning, stacklevel=2)
        name = _FORMER[name]
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _OF_LAB:
        from .plugins import load

        return load("parts", name, f"oodometer.{name}")
    if name in _WITH:
        from .options import Group

        __getattr__(_WITH[name])
        return Group.known[name]
    module = next((module for module, names in _HOMES.items() if name in names.split()), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), _ELSEWHERE.get(name, name))
    globals()[name] = value  # nobody asks again
    return value


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "discriminate"]


if TYPE_CHECKING:
    from oodometer_lab.recipes.reproduce import reproduce
    from oodometer_lab.verbs import discriminate as discriminate
    from oodometer_lab.verbs.options import Perturbation
    from oodometer_lab.verbs.predict import predict
    from oodometer_lab.verbs.shift import shift
    from oodometer_lab.verbs.stress import stress

    from . import datasets as datasets
    from . import errors as errors
    from .diagnoses import Diagnosis
    from .errors import InputError, OodometerError
    from .predictions import Predictions
    from .reports import write_report
    from .reports.saved import load_result
    from .results import Curve, Estimate, Interval
    from .results.comparison import Comparison
    from .results.estimation import Estimation
    from .results.history import History
    from .results.plan import Plan
    from .store import read_predictions as load
    from .store import write_predictions as write
    from .verbs.audit import Audit, audit, suggest_rows
    from .verbs.backtest import Backtest, backtest
    from .verbs.compare import compare
    from .verbs.diagnose import diagnose
    from .verbs.estimate import estimate
    from .verbs.evaluate import Evaluation, evaluate
    from .verbs.fit import Oodometer, fit
    from .verbs.history import history
    from .verbs.methods import cite, methods
    from .verbs.options import Alarms, Asking, Columns, Inference, Run, Selective
    from .verbs.plan import plan
    from .verbs.rank import rank
    from .verbs.read import read
