"""Everything that runs on an engine, as JSON: ``python everything.py ENGINE FOLDER``, started once an engine.

A process of its own, since clusters leave much behind in the one that starts them.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from oodometer import audit, backtest, compare, diagnose, estimate, evaluate, fit
from oodometer.engines import create_engine
from oodometer.errors import OodometerError
from oodometer.passes.plan import default_methods


def add(a: int, b: int) -> int:
    return a * 10 + b


def square(part: int) -> int:
    return part * part


def refuse(part: int) -> int:
    if part == 2:
        raise ValueError(f"part {part} is odd")
    return part


def die_once(place: str, part: int) -> int:
    """End the whole worker at the third part, the first time that anybody is asked for it."""
    if part == 2 and not os.path.exists(place):
        Path(place).touch()
        os._exit(1)
    return part


def die(part: int) -> int:
    if part == 2:
        os._exit(1)
    return part


def die_sending(part: int) -> bytes:
    """End the worker from outside, most often while it sends its long answer."""
    threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes(200_000_000)


def said(call: Any) -> str:
    """How a call failed, in one line."""
    try:
        call()
    except OodometerError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"not ours: {type(error).__name__}: {error}"
    return "nothing"


def verbs(engine: str, runner: Any, folder: Path) -> dict[str, Any]:
    """What each verb answers."""
    reference, target = folder / "reference.parquet", folder / "target.parquet"
    on: dict[str, Any] = {"engine": runner, "workers": 2}
    return {
        "estimate": estimate(
            reference, target, by="site", metrics=["f1"], backtest=None, **on
        ).to_dict(),
        "chunks": estimate(reference, target, every="700rows", backtest=None, **on).to_dict(),
        "text": estimate(
            reference, folder / "lake", every="700rows", backtest=None, **on
        ).to_dict(),
        "where": estimate(
            reference, folder / "lake", where="site = north", backtest=None, **on
        ).to_dict(),
        "evaluate": evaluate(reference, by="site", **on).to_dict(),
        "diagnose": diagnose(reference, target, engine=engine, workers=2).to_dict(),
        "audit": audit(reference, target, labels=folder / "labels.csv", **on).to_dict(),
        "fit": hashlib.sha256(
            fit(reference, backtest=None, **on).save(folder / f"{engine}.oodo").read_bytes()
        ).hexdigest(),
        "frame": frame(engine, runner, folder),
        "damaged": said(
            lambda: estimate(reference, folder / "damaged.parquet", backtest=None, **on)
        ),
        "partial": said(lambda: evaluate(folder / "empty.parquet", **on)),
    }


def methods(runner: Any, folder: Path) -> dict[str, Any]:
    """Every estimator, metric and test of the diagnosis, and a backtest of slow and quick methods."""
    rich, moved = folder / "rich.parquet", folder / "moved.parquet"
    on: dict[str, Any] = {"engine": runner, "workers": 2}
    few: dict[str, Any] = {
        "families": ["none", "class_prior", "logit_noise"],
        "repeats": 2,
        "cache": None,
    }
    found = {
        "every estimator": estimate(rich, moved, methods=default_methods(), backtest=None, **on),
        "every metric": evaluate(
            rich, payoff={a: {b: int(a == b) for b in "012"} for a in "012"}, **on
        ),
        "metrics of replies": evaluate(folder / "replies.parquet", **on),
        "metrics of answers": evaluate(folder / "answers.parquet", **on),
        "metrics of repeats": evaluate(folder / "repeats.parquet", **on),
        "metrics of many classes": evaluate(folder / "many.parquet", **on),
        "labels of its own": evaluate(moved, labels=folder / "few.csv", **on),
        "comparison": compare([rich, moved], target=[moved, moved], names=["a", "b"], **on),
        "rich diagnosis": diagnose(rich, moved, **on),
        "rich audit": audit(rich, moved, labels=folder / "few.csv", **on),
        "backtest": backtest(
            rich, methods=["source", "doc", "importance", "cot", "atc"], **few, **on
        ),
    }
    judged: list[Any] = [one for name, one in found.items() if "metric" in name]
    return {
        **{name: one.to_dict() for name, one in found.items()},
        "answered": sorted(
            {name for one in judged for name in (*one.metrics, *one.curves, *one.tables)}
        ),
        "trials": [one.to_dict() for one in found["backtest"].trials],
    }


def folds(engine: str, runner: Any, folder: Path) -> dict[str, Any]:
    """Order, errors, and workers that die."""
    done: list[int] = []
    return {
        "order": runner.fold(range(7), square, add, done.append),
        "done": done,
        "error": said(lambda: runner.fold(range(5), refuse, add)),
        "none": said(lambda: runner.fold([], square, add)),
        "lost once": said(
            lambda: runner.fold(
                range(5), functools.partial(die_once, str(folder / f"died-{engine}")), add
            )
        ),
        "lost": said(lambda: runner.fold(range(5), die, add)),
        "lost in sending": said(lambda: runner.fold(range(6), die_sending, lambda a, b: a))
        if engine == "processes"
        else "",
        "after": runner.fold(range(3), square, add),
    }


def frame(engine: str, runner: Any, folder: Path) -> Any:
    """The estimate of a frame of the cluster; its copy on disk must go with it."""
    if engine == "ray":
        import ray.data

        data: Any = ray.data.read_parquet(str(folder / "target.parquet"))
    elif engine == "spark":
        from pyspark.sql import SparkSession

        data = SparkSession.getActiveSession().read.parquet(str(folder / "target.parquet"))
    else:
        data = folder / "target.parquet"
    on: dict[str, Any] = {"engine": runner, "workers": 2}
    return estimate(folder / "reference.parquet", data, by="site", backtest=None, **on).to_dict()[
        "slices"
    ]


def guest(engine: str) -> dict[str, Any]:
    """What is left of a cluster when its engine is gone."""
    gc.collect()
    if engine == "ray":
        import ray

        return {"left": ray.is_initialized()}
    if engine == "spark":
        from pyspark.sql import SparkSession

        return {"left": SparkSession.getActiveSession() is not None}
    return {"left": False}


def main(engine: str, folder: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), dict(os.environ)
    import every_task  # beside this file, where only those who run it look

    runner = create_engine(engine, 2)
    found: dict[str, Any] = {"verbs": verbs(engine, runner, folder) | methods(runner, folder)}
    found["tasks"] = every_task.work(engine, runner)
    if engine != "local":
        found["own"] = every_task.engines_own(runner, Path("out") / engine)
        found["folds"] = folds(engine, runner, folder)
    del runner
    found["guest"] = guest(engine)
    after = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), dict(os.environ)
    found["guest"] |= {
        "signals": before[:2] == after[:2],
        "environment": sorted(
            key for key in {**before[2], **after[2]} if before[2].get(key) != after[2].get(key)
        ),
    }
    (folder / f"{engine}.json").write_text(json.dumps(found, default=str, sort_keys=True))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    main(sys.argv[1], Path(sys.argv[2]))
