"""Run config of a task: how much data, how long models train; the only numbers that a test makes smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final


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

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return asdict(self)
