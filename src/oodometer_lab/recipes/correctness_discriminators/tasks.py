"""The tasks at each scale: which data, which test sets, what each stands for in the paper, and how large the run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

from oodometer.errors import UsageError

from ... import datasets as sequences
from ...datasets import Dataset
from ..kit.sources import built, check_pretrained, sizes_of


@final
@dataclass(frozen=True)
class RunConfig:
    """How large the run of a task is; sizes.toml has each scale and says what each value means."""

    longest: int | None = None
    train_rows: int | None = None
    dev_rows: int | None = None
    test_rows: int | None = None
    tokens: str = "words"
    rare: int = 0
    aligned: bool = False
    parser: Mapping[str, Any] = field(default_factory=dict)
    parser_plan: Mapping[str, Any] = field(default_factory=dict)
    every: int = 200
    checkpoints: int = 5
    example_rows: int | None = None
    per_checkpoint: int | None = None
    per_input: int = 1
    balance: float = 1.0
    beams: int = 4
    judges: int = 5
    halves: bool = False
    judge: Mapping[str, Any] = field(default_factory=dict)
    pretraining: Mapping[str, Any] | None = None
    judge_plan: Mapping[str, Any] = field(default_factory=dict)
    metric_judge: Mapping[str, Any] = field(default_factory=dict)
    longest_output: int = 512
    draws: int = 50
    seed: int = 0
    data_seed: int = 0


REPLICATES = (1, 2)
"""Seeds of the trainings that are done again, besides the first, 0."""

Load = Callable[[], Dataset]


@final
@dataclass(frozen=True)
class TestSet:
    """A labelled test set: ``name`` in files, ``title`` in tables, ``domain`` "in" or "out", ``load`` reads it,
    ``paper`` is the paper's name of the same data, ``resembles`` that of the data in whose place it stands.
    """

    name: str
    title: str
    domain: str
    load: Load
    paper: str | None = None
    resembles: str | None = None


@final
@dataclass(frozen=True)
class Task:
    """A sequence task: ``family`` is "semantic", "tagging" or "parsing" (the paper's Tables 2 to 4); ``brackets``:
    missing ones are closed; ``pseudo_labels``: the set learnt from in self-training; ``metric``: of a further
    discriminator; ``weight`` in minutes.
    """

    name: str
    title: str
    family: str
    train: Load
    dev: Load
    tests: tuple[TestSet, ...]
    config: RunConfig
    brackets: bool = False
    pseudo_labels: str | None = None
    metric: str | None = None
    weight: float = 15.0
    replicate_of: str | None = None

    @property
    def first(self) -> str:
        """Name of the first training of the task, this one or another."""
        return self.replicate_of or self.name


_SIZES = sizes_of(__file__)


def _task(
    names: str,
    family: str,
    read: Callable[..., Dataset],
    *tests: TestSet,
    scale: str,
    train: Any = (),
    **fields: Any,
) -> Task:
    """A task whose reader takes the part, and ``train`` more for training; ``names`` are its name and title."""
    name, _, title = names.partition(": ")
    layers = [_SIZES[layer] for layer in (["small", "tiny"] if scale == "tiny" else [scale])]
    parts = [sizes.get(part, {}) for sizes in layers for part in ("usual", name)]
    config = built(RunConfig, {key: value for part in parts for key, value in part.items()})
    return Task(
        name,
        title,
        family,
        partial(read, "train", **dict(train)),
        partial(read, "dev"),
        tests,
        config,
        **fields,
    )


def tasks_of(scale: str) -> tuple[Task, ...]:
    """The tasks of a scale in the paper's order; small: models from scratch on data at hand, of which tiny has those
    that its sizes name; paper: T5-base.
    """
    if scale not in _SIZES:
        raise UsageError(f"unknown scale {scale!r}; expected {' or '.join(_SIZES)}")
    task, cogs, pos = partial(_task, scale=scale), sequences.cogs, sequences.pos_cogs
    gen = TestSet("gen", "COGS", "out", partial(cogs, "gen"), "COGS")
    of_pos = TestSet("gen", "POS-COGS", "out", partial(pos, "gen"), "POS-COGS")
    if scale == "paper":
        mcd1, mcd2 = partial(sequences.cfq, "mcd1"), partial(sequences.cfq, "mcd2")
        amr, top, penn, trees = (
            sequences.news_amr,
            sequences.topv2,
            sequences.penn_tags,
            sequences.penn_trees,
        )
        of_amr = TestSet("test", "AMR", "in", partial(amr, "test"), "AMR")

        def brown_and_wsj(read: Callable[..., Dataset], title: str) -> tuple[TestSet, TestSet]:
            far = TestSet(
                "brown", f"{title}-Brown", "out", partial(read, "brown"), f"{title}-Brown"
            )
            return far, TestSet("wsj", f"{title}-WSJ", "in", partial(read, "test"), f"{title}-WSJ")

        return (
            task(
                "cfq-mcd1: CFQ MCD1",
                "semantic",
                mcd1,
                TestSet("test", "MCD1", "out", partial(mcd1, "test"), "MCD1"),
            ),
            task(
                "cfq-mcd2: CFQ MCD2",
                "semantic",
                mcd2,
                TestSet("test", "MCD2", "out", partial(mcd2, "test"), "MCD2"),
            ),
            task("cogs: COGS", "semantic", cogs, gen, brackets=True, pseudo_labels="gen"),
            task(
                "topv2: TOPv2",
                "semantic",
                top,
                TestSet("test", "TOP", "out", partial(top, "test"), "TOP"),
            ),
            task("amr-2.0: AMR 2.0", "semantic", amr, of_amr, brackets=True, metric="token_f1"),
            task("pos-cogs: POS-COGS", "tagging", pos, of_pos),
            task("ptb-pos: PTB tags", "tagging", penn, *brown_and_wsj(penn, "POS")),
            task(
                "ptb-syn: PTB trees", "parsing", trees, *brown_and_wsj(trees, "Syn"), brackets=True
            ),
        )
    ud, wsj, amr, gum = (
        sequences.ud_tags,
        sequences.wsj_tags,
        sequences.little_prince,
        sequences.gum_trees,
    )
    read = partial(sequences.wsj_trees, words=False)
    near = TestSet("test", "COGS in distribution", "in", partial(cogs, "test"))
    of_ud = (
        TestSet("gum", "POS-GUM", "out", partial(ud, "gum")),
        TestSet("gentle", "POS-GENTLE", "out", partial(ud, "gentle")),
        TestSet("ewt", "POS-EWT", "in", partial(ud, "ewt", ("test",))),
    )
    of_wsj = (
        TestSet("brown", "POS-Brown", "out", partial(wsj, "brown"), resembles="POS-Brown"),
        TestSet("masc", "POS-MASC", "out", partial(wsj, "masc")),
        TestSet("wsj", "POS-WSJ", "in", partial(wsj, "test"), resembles="POS-WSJ"),
    )
    of_gum = (
        TestSet("gum", "Syn-GUM", "out", partial(gum, words=False), resembles="Syn-Brown"),
        TestSet("wsj", "Syn-WSJ", "in", partial(read, "test"), resembles="Syn-WSJ"),
    )
    of_amr = TestSet("test", "AMR Little Prince", "in", partial(amr, "test"), resembles="AMR")
    near_pos = TestSet("test", "POS-COGS in distribution", "in", partial(pos, "test"))
    tasks = (
        task(
            "cogs: COGS",
            "semantic",
            cogs,
            gen,
            near,
            brackets=True,
            pseudo_labels="gen",
            weight=40,
        ),
        task("amr: AMR", "semantic", amr, of_amr, brackets=True, metric="token_f1"),
        task("pos-cogs: POS-COGS", "tagging", pos, of_pos, near_pos),
        task("pos-ud: POS-UD", "tagging", lambda part: ud("ewt", (part,)), *of_ud),
        task("pos-wsj: POS-WSJ", "tagging", wsj, *of_wsj),
        task("syn-gum: Syn-GUM", "parsing", read, *of_gum, train={"clauses": True}, brackets=True),
    )
    return (
        tasks if scale == "small" else tuple(task for task in tasks if task.name in _SIZES[scale])
    )


def replicates_of(task: Task) -> tuple[Task, ...]:
    """The task trained again from other seeds, on the same rows; a judge of another metric is trained once."""
    return tuple(
        replace(
            task,
            name=f"{task.name}-seed-{seed}",
            title=f"{task.title}, seed {seed}",
            config=replace(task.config, seed=seed),
            metric=None,
            replicate_of=task.name,
        )
        for seed in REPLICATES
    )


def pretrained_of(task: Task, step: str) -> dict[str, Callable[[], Any]]:
    """A check for the pretrained model that a step of the task starts from, by the model's name; none from scratch."""
    config = task.config
    models = {
        "parser": config.parser,
        "self-training": config.parser,
        "half": config.parser,
        "judge": config.judge,
    }
    models |= {"metric": config.metric_judge}
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
