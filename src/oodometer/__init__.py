"""oodometer: how good is your model on data that has no labels? The public face; everything loads on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .version import __version__

__all__ = [
    "Audit",
    "Backtest",
    "Comparison",
    "Curve",
    "Diagnosis",
    "Estimate",
    "Estimation",
    "Evaluation",
    "History",
    "InputError",
    "Interval",
    "Oodometer",
    "OodometerError",
    "Predictions",
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
    "load_result",
    "methods",
    "predict",
    "rank",
    "read",
    "shift_dialogue",
    "shift_image",
    "shift_text",
    "stress",
    "write",
    "write_report",
]

_HOMES = {
    "Audit": ("audits.result", "Audit"),
    "Backtest": ("results.backtest", "Backtest"),
    "Comparison": ("results.comparison", "Comparison"),
    "Curve": ("results", "Curve"),
    "Diagnosis": ("results.diagnosis", "Diagnosis"),
    "Estimate": ("results", "Estimate"),
    "Estimation": ("results.estimation", "Estimation"),
    "Evaluation": ("results.evaluation", "Evaluation"),
    "History": ("results.history", "History"),
    "InputError": ("errors", "InputError"),
    "Interval": ("results", "Interval"),
    "Oodometer": ("verbs.fit", "Oodometer"),
    "OodometerError": ("errors", "OodometerError"),
    "Predictions": ("predictions", "Predictions"),
    "audit": ("verbs.audit", "audit"),
    "backtest": ("verbs.backtest", "backtest"),
    "cite": ("verbs.cite", "cite"),
    "compare": ("verbs.compare", "compare"),
    "diagnose": ("verbs.diagnose", "diagnose"),
    "estimate": ("verbs.estimate", "estimate"),
    "evaluate": ("verbs.evaluate", "evaluate"),
    "fit": ("verbs.fit", "fit"),
    "history": ("verbs.history", "history"),
    "load_result": ("reports.saved", "load_result"),
    "methods": ("verbs.methods", "methods"),
    "predict": ("verbs.predict", "predict"),
    "rank": ("verbs.rank", "rank"),
    "read": ("store", "read_predictions"),
    "shift_dialogue": ("verbs.shift", "shift_dialogue"),
    "shift_image": ("verbs.shift", "shift_image"),
    "shift_text": ("verbs.shift", "shift_text"),
    "stress": ("verbs.stress", "stress"),
    "write": ("store", "write_predictions"),
    "write_report": ("reports", "write_report"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home, attribute = _HOMES[name]
        return getattr(importlib.import_module(f"{__name__}.{home}"), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from .diagnoses import Diagnosis
    from .errors import InputError, OodometerError
    from .predictions import Predictions
    from .reports import write_report
    from .reports.saved import load_result
    from .results import Curve, Estimate, Interval
    from .results.comparison import Comparison
    from .results.estimation import Estimation
    from .results.history import History
    from .store import read_predictions as read
    from .store import write_predictions as write
    from .verbs.audit import Audit, audit
    from .verbs.backtest import Backtest, backtest
    from .verbs.cite import cite
    from .verbs.compare import compare
    from .verbs.diagnose import diagnose
    from .verbs.estimate import estimate
    from .verbs.evaluate import Evaluation, evaluate
    from .verbs.fit import Oodometer, fit
    from .verbs.history import history
    from .verbs.methods import methods
    from .verbs.predict import predict
    from .verbs.rank import rank
    from .verbs.shift import shift_dialogue, shift_image, shift_text
    from .verbs.stress import stress
