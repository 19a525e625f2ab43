"""The tasks at each scale: which data, which test sets, what each stands for in the paper, and how large the run is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

from ... import datasets as sequences
from ...datasets import Dataset
from ...errors import UsageError
from ..kit.sources import beside_the_data, check_pretrained


@final
@dataclass(frozen=True)
class RunConfig:
    """How large the run of a task is.

    Parameters
    ----------
    longest : most words of an input or an output that a row may have to be kept; None keeps all.
    train_rows, dev_rows, test_rows : rows drawn of each set, as many of each type as can be; None for all.
    tokens : "words" or "pieces" of a parser from scratch.
    rare : words met fewer times than this in training are replaced by a signature of their form; 0 replaces none.
    parser : what the parser is made of, ``source`` or ``config``, and further arguments of `EncoderDecoder`.
    parser_plan : arguments of its `Plan`.
    every : steps between two checkpoints of the parser (the paper's K).
    checkpoints : how many of the first ones give negatives.
    example_rows : training rows whose gold pairs the judges learn from, drawn; None for all.
    per_checkpoint : rows of those that each of the first checkpoints decodes, drawn; None for all.
    per_input : negatives kept of a row and checkpoint.
    balance : most negatives for each positive.
    beams : width of the search.
    judges : members of the panel.
    halves : whether parsers are trained on two halves of the training set: they judge, each by how probable it finds an
        output, and their mistakes on the half that they have not seen take the place of half of the negatives.
    aligned : whether judges read each word beside its tag, instead of all words and then all tags.
    judge : kind of discriminator ("generative" or "classifier") and what it is made of.
    pretraining : arguments of the `Plan` by which an encoder with the judges' ``config`` learns to fill gaps in gold
        pairs of the whole training set; all judges start from it. None: they start from scratch.
    judge_plan : arguments of its `Plan`; members differ by its seed.
    metric_judge : what a discriminator of another metric is made of, where the task has one.
    longest_output : tokens after which an output is cut.
    draws : subsets of each size in the study of small test sets (Figure 4).
    seed : of the parser, its mistakes and the judges.
    data_seed : of the draws of rows, the same in every run of a task, so that runs are compared on the same rows.
    """

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
    """A labelled test set of a task.

    Parameters
    ----------
    name : in files, such as ``gen``.
    title : in tables, such as ``COGS``.
    domain : "in" or "out" of the training distribution.
    load : reads it.
    paper : the paper's name of the same data; None where the paper has it not, or has other data.
    resembles : the paper's name of the data in whose place it stands.
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
    """A sequence task with its data.

    Parameters
    ----------
    name, title : in commands and in tables.
    family : "semantic", "tagging" or "parsing": the paper's Tables 2, 3 and 4.
    train, dev : read the training and the development set (in distribution).
    tests : the test sets.
    config : how large the run is.
    brackets : whether missing brackets are closed before outputs are compared.
    pseudo_labels : the test set whose accepted outputs are learnt from in one round of self-training; None for none.
    metric : "token_f1" where a discriminator of that metric is trained as well.
    weight : about how many minutes all steps take; only the bar depends on it.
    replicate_of : name of the task that this is another training of; None for the first one.
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


def tasks_of(scale: str) -> tuple[Task, ...]:
    """The tasks of a scale, in the order of the paper's tables; `UsageError` for an unknown scale.

    >>> [task.name for task in tasks_of("small")]
    ['cogs', 'amr', 'pos-cogs', 'pos-ud', 'pos-wsj', 'syn-gum']
    """
    if scale == "small":
        return _small()
    if scale == "paper":
        # T5-base, the paper's data by path or hub
        mcd1, mcd2 = partial(sequences.cfq, "mcd1"), partial(sequences.cfq, "mcd2")
        cogs, amr, top = sequences.cogs, sequences.news_amr, sequences.topv2
        pos, tags, trees = sequences.pos_cogs, sequences.penn_tags, sequences.penn_trees
        of_amr = (_test(amr, "AMR", domain="in"),)

        def brown_and_wsj(read: Callable[..., Dataset], title: str) -> tuple[TestSet, ...]:
            near = TestSet("wsj", f"{title}-WSJ", "in", partial(read, "test"), paper=f"{title}-WSJ")
            return _test(read, f"{title}-Brown", "brown"), near

        gen = _test(cogs, "COGS", "gen")
        return (
            _task("cfq-mcd1: CFQ MCD1", "semantic", mcd1, (_test(mcd1, "MCD1"),), _PAPER),
            _task("cfq-mcd2: CFQ MCD2", "semantic", mcd2, (_test(mcd2, "MCD2"),), _PAPER),
            _task("cogs: COGS", "semantic", cogs, (gen,), _PAPER, brackets=True, pseudo_labels="gen"),
            _task("topv2: TOPv2", "semantic", top, (_test(top, "TOP"),), _PAPER),
            _task("amr-2.0: AMR 2.0", "semantic", amr, of_amr, _PAPER, brackets=True, metric="token_f1"),
            _task("pos-cogs: POS-COGS", "tagging", pos, (_test(pos, "POS-COGS", "gen"),), _PAPER),
            _task("ptb-pos: PTB tags", "tagging", tags, brown_and_wsj(tags, "POS"), _PAPER),
            _task("ptb-syn: PTB trees", "parsing", trees, brown_and_wsj(trees, "Syn"), _PAPER, brackets=True),
        )
    raise UsageError(f"unknown scale {scale!r}; expected small or paper")


def replicates_of(task: Task) -> tuple[Task, ...]:
    """The task trained again from other seeds, on the same rows; a judge of another metric is trained once.

    >>> [one.name for one in replicates_of(tasks_of("small")[0])]
    ['cogs-seed-1', 'cogs-seed-2']
    """
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


# Small: data at hand, models from scratch.
_TINY_T5 = {"d_model": 128, "d_ff": 512, "d_kv": 32, "num_layers": 2, "num_heads": 4}
# Without dropout a model of this size learns faster, and no data set here is so small that it would matter.
_TINY_BART: dict[str, Any] = {"model_type": "bart", "d_model": 128}
for _what, _many in (("layers", 2), ("ffn_dim", 512), ("attention_heads", 4)):
    _TINY_BART |= {f"{_side}_{_what}": _many for _side in ("encoder", "decoder")}
_TINY_BART |= {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
_TINY_BART |= {"max_position_embeddings": 512, "init_std": 0.1}
_TINY_ENCODER = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}
_STEADY = {"batch_size": 64, "learning_rate": 1e-3, "warmup": 0.1, "weight_decay": 0.01}
_SMALL = RunConfig(
    example_rows=8000,
    per_checkpoint=3000,
    judges=3,
    halves=True,
    parser={"config": _TINY_BART},
    parser_plan={"batch_size": 32, "learning_rate": 1e-3, "warmup": 0.05},
    judge={"kind": "classifier", "config": _TINY_ENCODER, "head": "tokens"},
    metric_judge={"config": _TINY_ENCODER},
)
_PAPER = RunConfig(
    parser={"source": "t5-base"},
    parser_plan={"epochs": 30, "batch_tokens": 4096, "learning_rate": 1e-4, "warmup": 0.05},
    judge={"kind": "generative", "source": "t5-base"},
    metric_judge={"source": "roberta-base"},
    judge_plan={"epochs": 5, "batch_tokens": 8192, "learning_rate": 1e-4, "weight_decay": 0.001, "warmup": 0.05},
)


def _sized(epochs: int, every: int, pretraining: int, judge_epochs: int = 6, **others: Any) -> RunConfig:
    """The run config of the small scale with other values replaced."""
    plan = {**_SMALL.parser_plan, **others.pop("plan", {}), "epochs": epochs}
    others |= {"pretraining": {**_STEADY, "epochs": pretraining}, "judge_plan": {**_STEADY, "epochs": judge_epochs}}
    return replace(_SMALL, parser_plan=plan, every=every, **others)


def _task(
    names: str, family: str, read: Callable[..., Dataset], tests: tuple[TestSet, ...], config: RunConfig, **others: Any
) -> Task:
    """A task whose reader takes the part; ``names`` are its name and its title."""
    name, _, title = names.partition(": ")
    return Task(name, title, family, partial(read, "train"), partial(read, "dev"), tests, config, **others)


def _test(
    read: Callable[..., Dataset], title: str, part: str = "test", domain: str = "out", paper: str | None = None
) -> TestSet:
    """A test set of which the paper has the same data, by default of its title; an empty name is none."""
    return TestSet(part, title, domain, partial(read, part), title if paper is None else paper or None)


def _small() -> tuple[Task, ...]:
    cogs, pos, tags, trees = sequences.cogs, sequences.pos_cogs, sequences.ud_tags, sequences.wsj_trees
    wsj, amr = sequences.wsj_tags, sequences.little_prince
    generalising: dict[str, Any] = {"example_rows": None, "dev_rows": 1000, "test_rows": 4200}
    short: dict[str, Any] = {"aligned": True, "longest": 20, "rare": 3, "test_rows": 2000, "longest_output": 40}
    of_cogs = {"parser": {"config": _TINY_T5}, "plan": {"batch_size": 64}, "per_input": 2, "longest_output": 160}
    of_amr = {"longest": 60, "tokens": "pieces", "example_rows": None, "per_checkpoint": None, "longest_output": 200}
    read = partial(trees, words=False)
    return (
        _task(
            "cogs: COGS",
            "semantic",
            cogs,
            (_test(cogs, "COGS", "gen"), _test(cogs, "COGS in distribution", "test", "in", "")),
            _sized(8, 200, 6, 2, **of_cogs, **generalising),
            brackets=True,
            pseudo_labels="gen",
            weight=40,
        ),
        _task(
            "amr: AMR",
            "semantic",
            amr,
            (TestSet("test", "AMR Little Prince", "in", partial(amr, "test"), resembles="AMR"),),
            _sized(60, 200, 60, 10, **of_amr),
            brackets=True,
            metric="token_f1",
        ),
        _task(
            "pos-cogs: POS-COGS",
            "tagging",
            pos,
            (_test(pos, "POS-COGS", "gen"), _test(pos, "POS-COGS in distribution", "test", "in", "")),
            _sized(4, 200, 4, 3, aligned=True, longest_output=80, **generalising),
        ),
        Task(
            "pos-ud",
            "POS-UD",
            "tagging",
            partial(tags, "ewt", ("train",)),
            partial(tags, "ewt", ("dev",)),
            (
                TestSet("gum", "POS-GUM", "out", partial(tags, "gum")),
                TestSet("gentle", "POS-GENTLE", "out", partial(tags, "gentle")),
                TestSet("ewt", "POS-EWT", "in", partial(tags, "ewt", ("test",))),
            ),
            _sized(8, 400, 15, **short),
        ),
        _task(
            "pos-wsj: POS-WSJ",
            "tagging",
            wsj,
            (
                TestSet("brown", "POS-Brown", "out", partial(wsj, "brown"), resembles="POS-Brown"),
                TestSet("masc", "POS-MASC", "out", partial(wsj, "masc")),
                TestSet("wsj", "POS-WSJ", "in", partial(wsj, "test"), resembles="POS-WSJ"),
            ),
            _sized(16, 400, 24, **short),
        ),
        Task(
            "syn-gum",
            "Syn-GUM",
            "parsing",
            partial(read, "train", clauses=True),
            partial(read, "dev"),
            (
                TestSet("gum", "Syn-GUM", "out", partial(sequences.gum_trees, words=False), resembles="Syn-Brown"),
                TestSet("wsj", "Syn-WSJ", "in", partial(read, "test"), resembles="Syn-WSJ"),
            ),
            _sized(10, 500, 6, longest=50, test_rows=2000, longest_output=70),
            brackets=True,
        ),
    )


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
    models = {"parser": config.parser, "self-training": config.parser, "half": config.parser, "judge": config.judge}
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
