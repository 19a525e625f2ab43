"""Needs of a task: its data sets and the pretrained models that its steps start from, beside the data or on the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..kit.sources import beside_the_data, check_pretrained
from .tasks import Task


def located(made: Mapping[str, Any]) -> dict[str, Any]:
    """What a model is made of, its ``source`` a folder where the model lies beside the data.

    >>> located({"source": "owner/no-such-model", "kind": "generative"})
    {'source': 'owner/no-such-model', 'kind': 'generative'}
    """
    out = dict(made)
    if "source" in out:
        out["source"] = beside_the_data(str(out["source"]))
    return out


def pretrained_of(task: Task, step: str) -> dict[str, Callable[[], Any]]:
    """A check for the pretrained model that a step of the task starts from, by the model's name; none from scratch.

    >>> from .tasks import tasks_of
    >>> amr = next(task for task in tasks_of("paper") if task.metric is not None)
    >>> [list(pretrained_of(amr, step)) for step in ("parser", "judge-0", "ask-dev", "metric")]
    [['t5-base'], ['t5-base'], [], ['roberta-base']]
    """
    config = task.config
    models = {
        "parser": config.parser,
        "self-training": config.parser,
        "half": config.parser,
        "judge": config.judge,
        "metric": config.metric_judge,
    }
    source = models.get(step, models.get(step.rpartition("-")[0], {})).get("source")
    return {} if source is None else {str(source): partial(check_pretrained, str(source))}


def needs_of(tasks: Sequence[Task]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every data set that the tasks read, by the title of the task, then every pretrained model once."""
    models: dict[str, Callable[[], Any]] = {}
    for task in tasks:
        for load in (task.train, task.dev, *(test.load for test in task.tests)):
            yield task.title, load
        for step in ("parser", "judge-0", *(["metric"] if task.metric is not None else [])):
            models |= pretrained_of(task, step)
    yield from models.items()
