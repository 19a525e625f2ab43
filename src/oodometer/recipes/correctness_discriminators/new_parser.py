"""The parser of a task before it is trained, from the run config."""

from __future__ import annotations

from ...models.seq2seq import EncoderDecoder
from ...models.torch.training import TrainingConfig
from .data import TaskData
from .needs import located


def new_parser(data: TaskData, seed: int) -> EncoderDecoder:
    """The parser of a run, not trained."""
    config = data.task.config
    made = located(config.parser)
    if "config" in made:
        made["tokens"] = config.tokens
    training = TrainingConfig(**{**config.parser_plan, "seed": seed})
    return EncoderDecoder(**made, max_output_length=config.longest_output, training=training)
