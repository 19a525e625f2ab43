"""Training of judges: from rows of right and wrong outputs to a folder of discriminators, and what they are worth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, final

import numpy as np

from oodometer.engines import task_engine
from oodometer.errors import InputError, UsageError, WorkError
from oodometer.metrics.one_vs_rest import roc_auc
from oodometer.options import verb
from oodometer.predictions import Predictions
from oodometer.results.values import Record
from oodometer.results.view import Shown, View
from oodometer.runs import Kept, places_said, running
from oodometer.store import write_predictions
from oodometer.verbs.opening import Opener
from oodometer.version import __version__

from ...discriminators import (
    SMALL,
    ClassifierDiscriminator,
    Discriminator,
    GenerativeDiscriminator,
    LikelihoodDiscriminator,
    Panel,
    PretrainingOptions,
    RegressionDiscriminator,
    pretrain,
)
from ...discriminators.pair_encoder import TRAINING
from ...models.artifacts import fingerprint
from ...models.base import Progress
from ...models.seq2seq import EncoderDecoder
from ...models.torch.library import idle_threads, on_gpu, one_torch_thread
from ...models.torch.library import torch as load_torch
from ..options import TrainOptions
from .folder import HELD_OUT, SET_ON, finish, finished, noting_cuts, revived, training_home
from .judged import trained_view
from .pairs import Pairs, TextRows, pairs_of, read_texts, split, squeezed
from .worth import (
    calibrated,
    judge_names,
    labelled,
    no_better_than_a_coin,
    shortest,
    with_probabilities,
    worth,
)

POOR = 0.6
"""Area under the ROC curve below which a judge is of no use."""


def stop_at_a_coin(judge: Discriminator, pairs: Pairs, judges: int) -> None:
    """`WorkError` where the first of several judges is surely of no use: where the upper 95 % limit of its area under
    the ROC curve on held-out pairs, by the variance of Mann and Whitney (1947) without effect, is below `POOR`.
    """
    positives, negatives = int(pairs.correct.sum()), int((~pairs.correct).sum())
    if not (positives and negatives):
        return
    area = roc_auc(pairs.correct, judge.probabilities(pairs.inputs, pairs.outputs))
    error = float(((positives + negatives + 1) / (12 * positives * negatives)) ** 0.5)
    upper = min(area + NormalDist().inv_cdf(0.95) * error, 1.0)
    if upper < POOR:
        raise WorkError(
            f"the first of {judges} judges is no better than a coin: P(Correct) of a right held-out output is above "
            f"that of a wrong one in {100 * area:.0f} % of the cases, at most in {100 * upper:.0f} %; train longer "
            "(--epochs), on more mistakes or from a pretrained model (--source); in Python pretraining=20 may help, "
            "and all_judges=True goes on all the same"
        )


_KINDS = ("encoder", "encoder-decoder", "likelihood")
SEEDS = 1000  # between the seeds of two panels
_NEEDS = ("input", "output", "gold")  # or correct in the place of gold
_HELD, _PRETRAINED = 0.02, 0.2  # of the work: what the judges are worth, and learning before them


@dataclass(frozen=True, repr=False)
class TrainedJudges(Shown, Record):
    """What `train_judges` left in a folder.

    folder : where the judges are. judges : their number. metric : "exact", or what they predict. settings : how they
    were trained. examples : counts of the pairs to learn from. dev : the same of the held-out ones, and where they come
    from. thresholds : from which P(Correct) each judge accepts, set on the outputs of ``dev``; None without. held_out :
    what the judges are worth on these (see `worth`); empty where nothing is known. kept : whether the very same
    training had been finished before.
    """

    folder: Path
    judges: int
    metric: str
    settings: Mapping[str, Any]
    examples: Mapping[str, Any]
    dev: Mapping[str, Any]
    held_out: Mapping[str, Any]
    warnings: tuple[str, ...]
    level: float
    seed: int
    kept: bool = False
    thresholds: Mapping[str, Any] | None = None
    argv: str | None = None

    @property
    def panel(self) -> Panel:
        """The judges, read from the folder."""
        return Panel.load(self.folder)

    def view(self) -> View:
        """What it says; see `Shown`."""
        return trained_view(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        about = {"command": "discriminate train", "version": __version__, **super().to_dict()}
        return about | {"folder": str(self.folder)}


@verb(TrainOptions)
def train_judges(options: TrainOptions) -> TrainedJudges:
    """Train judges that tell right outputs from wrong ones, and say what they are worth.

    Raises `InputError` for rows that cannot be judged or that are all right, `UsageError` for a call that makes no
    sense, `WorkError` where the first judge is a coin, `MissingExtraError` without torch. Source: Yao and Koller
    (2024).

    >>> train_judges({"input": ["a b"] * 20, "gold": ["A B"] * 20, "output": ["A  B"] * 20}, "judges")
    Traceback (most recent call last):
    oodometer.errors.InputError: expected outputs that are wrong, got none: all 1 pairs are right; judges learn from ...
    """
    _check_options(options)
    pairs, out, metric, level, seed = (
        options.pairs,
        options.out,
        options.metric,
        options.level,
        options.seed,
    )
    data = _read(options)
    learnt, held_out = data.learnt.augmented(options.augment, seed), data.held_out
    settings = {"kind": options.kind, "seed": seed, **_untrained(options, None, 0).options()}
    if options.pretraining:
        settings["pretraining"] = options.pretraining
    if options.augment:
        settings["augment"] = options.augment
    path = Path(os.path.abspath(out))
    texts = [[file.inputs, file.outputs, file.targets.tolist()] for file in (learnt, held_out)]
    training = fingerprint({**settings, "judges": options.judges, "metric": metric, "data": texts})
    result = TrainedJudges(
        folder=Path(out),
        judges=options.judges,
        metric=metric,
        settings=settings,
        examples=data.examples,
        dev={
            "from": data.origin,
            "learnt": len(learnt),
            "augmented": len(learnt) - len(data.learnt),
            **held_out.statistics(),
        },
        held_out={},
        warnings=tuple(data.warnings),
        level=level,
        seed=seed,
    )
    done = finished(path, training)
    if done is not None:
        return replace(
            result,
            held_out=revived(done["held_out"]),
            warnings=tuple(done["warnings"]),
            thresholds=done.get("thresholds"),
            kept=True,
        )
    load_torch()  # its absence is told before a folder is made
    run = {"verb": "discriminate train", **places_said(pairs=pairs, out=out)}
    with running(Kept(training_home(path), run), passing=True) as kept:
        with _threads(options), noting_cuts(training_home(path)) as cuts:
            panel = _panel(learnt, held_out, kept, options)
        with _threads(options), noting_cuts(None):
            progress = _part(options.progress, 1 - _HELD, 1.0)
            measured, record = worth(
                panel, held_out, metric=metric, level=level, seed=seed, progress=progress
            )
            warnings = [*data.warnings, *cuts, *no_better_than_a_coin(measured)]
            thresholds, records = None, {HELD_OUT: record}
            if data.away is not None and data.away.outputs is not None and metric == "exact":
                try:
                    thresholds, records[SET_ON] = _thresholds(panel, data.away, level)
                except InputError as error:
                    warnings.append(f"the judges accept from P(Correct) 0.5 on: {error}")
        result = replace(result, held_out=measured, warnings=tuple(warnings), thresholds=thresholds)
        about = {**result.to_dict(), "argv": None, "folder": None, "training": training}
        finish(
            path,
            panel,
            about,
            lambda folder: [write_predictions(r, folder / name) for name, r in records.items()],
        )
    return result


def _check_options(options: TrainOptions) -> None:
    """Raise `UsageError` for options that make no sense, or not together."""
    kind, passes, not_encoder = options.kind, options.pretraining, options.kind != "encoder"
    exact = options.metric == "exact"
    task_engine(options.engine, options.workers)
    kinds = f"expected a kind of {', '.join(_KINDS[:-1])} or {_KINDS[-1]}, got {kind!r}"
    for wrong, words in (
        (options.judges < 1, f"expected at least 1 judge, got {options.judges}; 5 are usual"),
        (passes < 0, f"expected 0 or more passes of pretraining, got {passes}"),
        (options.augment < 0, f"expected 0 or more copies to augment by, got {options.augment}"),
        (
            passes and (options.source is not None or not_encoder),
            "pretraining is for encoders from scratch; leave it out, or source and kind",
        ),
        (kind not in _KINDS, kinds),
        (
            not_encoder and not exact,
            f"a judge that predicts {options.metric} is an encoder; leave out --kind {kind}",
        ),
        (
            options.max_length < 8,
            f"expected max_length of at least 8 tokens, got {options.max_length}",
        ),
        (
            options.source is not None and options.config is not None,
            "give source or config, not both",
        ),
        (
            options.head is not None and (not_encoder or not exact),
            "head is for encoders that tell right from wrong; leave it out",
        ),
    ):
        if wrong:
            raise UsageError(words)


@final
class _Data(NamedTuple):
    """Pairs to learn from and held-out ones, counts of all that were read, where held-out ones are from, the rows of
    their file if they have one, and warnings.
    """

    learnt: Pairs
    held_out: Pairs
    examples: Mapping[str, Any]
    origin: str
    away: TextRows | None
    warnings: list[str]


def _read(options: TrainOptions) -> _Data:
    """The pairs of all files; held out is a file of its own, or a tenth of the inputs."""
    pairs, warnings, opener = options.pairs, list[str](), Opener(options.mapping)
    collect = partial(pairs_of, metric=options.metric, balance=options.balance, seed=options.seed)
    sources = list(pairs) if isinstance(pairs, list | tuple) else [pairs]
    files = [read_texts(file, opener, options.mapping, needs=_NEEDS) for file in sources]
    if not files:
        raise UsageError("give at least one file of pairs")
    away = None
    if options.dev is not None:
        away = read_texts(options.dev, opener, options.mapping, needs=_NEEDS)
    opener.check()
    # it learns from right pairs, and others say its worth
    learnt = collect(files, all_right=options.kind == "likelihood" and away is not None)
    examples = learnt.statistics()
    if learnt.counts["contradictions"]:
        count = learnt.counts["contradictions"]
        warnings.append(
            f"{count} pairs are judged differently by two rows; the better verdict is taken"
        )
    if away is None:
        return _Data(
            *split(learnt, options.seed), examples, "a tenth of the inputs", None, warnings
        )
    held_out = collect([away])
    both = set(map(squeezed, learnt.inputs)) & set(map(squeezed, held_out.inputs))
    if both:
        text = f"{len(both)} inputs are in both the pairs and {away.name}"
        warnings.append(
            f"{text}: the measured quality of the judges may be flattered; hold out other inputs"
        )
    return _Data(learnt, held_out, examples, away.name, away, warnings)


def _thresholds(
    panel: Panel, away: TextRows, level: float
) -> tuple[Mapping[str, Any], Predictions]:
    """From which P(Correct) each judge accepts, set on the outputs of a file; and these, judged."""
    outputs, names = away.outputs or [], judge_names(panel.members)
    filled = [row for row, output in enumerate(outputs) if output is not None]
    p = np.zeros((len(panel), len(outputs)))
    p[:, filled] = shortest(
        panel.probabilities(
            [away.inputs[row] for row in filled], [outputs[row] or "" for row in filled]
        )
    )
    truth = np.full(len(outputs), -1, dtype=np.int8)
    truth[filled] = labelled(away)[filled]
    thresholds = calibrated(p, replace(away, correct=truth, golds=None), level).to_dict(names)
    rows = replace(away.record, correct=truth, columns={}, _cache={})
    return thresholds, with_probabilities(rows, p, names)


def _panel(learnt: Pairs, held_out: Pairs, folder: Kept, options: TrainOptions) -> Panel:
    state = folder.path
    sent = replace(options, pairs=None, dev=None, progress=None)  # what tasks are sent
    make: Callable[[int], Discriminator] = partial(_untrained, sent, None)
    first = _PRETRAINED if options.pretraining else 0.0
    # One for both calls below: a cluster is started once.
    runner = task_engine(
        options.engine, options.workers, gpu=_in_tasks(options) and on_gpu(options.device)
    )
    if options.pretraining:
        right = [row for row, good in enumerate(learnt.correct.tolist()) if good]
        if not right:
            raise UsageError(
                "there is no right pair to learn from before the judges; leave out pretraining"
            )
        inputs, written = (
            [texts[row] for row in right] for texts in (learnt.inputs, learnt.outputs)
        )
        plan = replace(TRAINING, epochs=options.pretraining, seed=options.seed)
        how = PretrainingOptions(
            max_length=options.max_length, training=plan, device=options.device
        )
        start = pretrain(
            inputs,
            written,
            state / "pretrained",
            config=options.config or SMALL,
            options=how,
            checkpoint=state / "pretraining",
            progress=_part(options.progress, 0.0, first),
        )
        make = partial(_untrained, sent, str(start))
    seeds = range(options.seed * SEEDS, options.seed * SEEDS + options.judges)
    # judges that are trained, by all calls, and whether the next one is trained now
    counted, seen = (0, False)
    learn, check = (
        (
            pairs.inputs,
            pairs.outputs,
            (pairs.correct if options.metric == "exact" else pairs.targets).tolist(),
        )
        for pairs in (learnt, held_out)
    )

    def trained(chosen: Sequence[int], stop: float) -> Panel:
        progress = _part(options.progress, first, stop)

        def tell(done: int, total: int) -> None:
            nonlocal counted, seen
            finished, rest = divmod(done * len(chosen), max(total, 1))
            seen |= rest > 0  # of a judge that was kept only the end is told
            if finished > counted:
                folder.tell(finished, options.judges, int(seen))
                counted, seen = finished, False
            if progress is not None:
                progress(done, total)

        return Panel.train(
            make, chosen, *learn, dev=check, checkpoint=state, progress=tell, engine=runner
        )

    if len(seeds) > 1 and options.metric == "exact" and not options.all_judges:
        (judge,) = trained(seeds[:1], first + (1 - _HELD - first) / len(seeds)).members
        with noting_cuts(None):  # of held-out pairs it is told when all judges are trained
            stop_at_a_coin(judge, held_out, len(seeds))
    return trained(seeds, 1 - _HELD)  # the first one is kept


def _part(progress: Progress | None, start: float, stop: float) -> Progress | None:
    """Progress of a part of the work, told as a share of the whole."""
    if progress is None:
        return None

    def tell(done: int, total: int) -> None:
        progress(round(10_000 * (start + (stop - start) * done / max(total, 1))), 10_000)

    return tell


def _in_tasks(options: TrainOptions) -> bool:
    return options.engine is not None or options.workers is not None


def _threads(options: TrainOptions) -> AbstractContextManager[None]:
    return one_torch_thread() if _in_tasks(options) else idle_threads()


def _untrained(options: TrainOptions, start: str | None, seed: int) -> Discriminator:
    """The untrained judge of a seed; ``start`` is a folder with an encoder that was pretrained here."""
    longest, device = options.max_length, options.device

    def judge(how: Any, source: str | None) -> Any:
        sizes = None if source is not None else dict(options.config or {})
        if options.kind == "likelihood":
            return LikelihoodDiscriminator(
                EncoderDecoder(
                    source,
                    config=sizes,
                    tokens="pieces",
                    max_output_length=longest,
                    training=how,
                    max_length=longest,
                    device=device,
                )
            )
        if options.kind == "encoder-decoder":
            return GenerativeDiscriminator(
                source,
                config=sizes,
                tokens="pieces",
                training=how,
                max_length=longest,
                device=device,
            )
        sizes = None if source is not None else dict(options.config or SMALL)
        if options.metric != "exact":
            return RegressionDiscriminator(
                source, config=sizes, training=how, max_length=longest, device=device
            )
        verdict = options.head or ("tokens" if options.source is None else "mark")
        return ClassifierDiscriminator(
            source, config=sizes, head=verdict, training=how, max_length=longest, device=device
        )

    usual = judge(None, options.source)
    plan = getattr(usual, "training", None) or usual.model.training
    how = replace(
        plan,
        seed=seed,
        epochs=plan.epochs if options.epochs is None else options.epochs,
        batch_size=plan.batch_size if options.batch_size is None else options.batch_size,
        learning_rate=(
            plan.learning_rate if options.learning_rate is None else options.learning_rate
        ),
    )
    return judge(how, start or options.source)  # type: ignore[no-any-return]
