"""Decoding: the beams of one saved model, kept in a file where there is a place for it; several models as tasks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from ..engines import Engine, run_tasks, task_engine
from ..errors import UsageError, WorkError
from ..models.artifacts import fingerprint
from ..models.base import Progress
from ..models.seq2seq import EncoderDecoder
from ..models.torch.library import on_gpu, one_torch_thread
from ..store.artifact_cache import content_of, read_artifact, write_artifact

Outputs = list[list[str]]


@final
@dataclass(frozen=True)
class Question:
    """What a saved model is asked.

    home : its folder. inputs : texts. beams : how many outputs of each. file : where the beams are kept, or None.
    """

    home: Path
    inputs: tuple[str, ...]
    beams: int
    file: Path | None = None

    @classmethod
    def kept_in(cls, folder: Path, home: Path, inputs: tuple[str, ...], beams: int) -> Question:
        """A question whose beams are kept in a folder.

        The file is named once, before the model is asked: by all files of the model as they are now, and the inputs.
        """
        about = {"model": [str(home.resolve()), content_of(home)], "beams": beams, "inputs": list(inputs)}
        return cls(home, inputs, beams, folder / f"beams-{fingerprint(about)}.json")

    def known(self) -> Outputs | None:
        """The beams that were kept, or None."""
        found: Outputs | None = None if self.file is None else read_artifact(self.file, "beams")
        return found

    def keep(self, outputs: Outputs) -> None:
        """Keep them, where there is a place."""
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_artifact(self.file, "beams", outputs)


@final
@dataclass(frozen=True)
class _Task:
    """Opens the model of a question and decodes, with one thread; the beams, or None where they are in their file."""

    gpu: bool = True

    def __call__(self, question: Question) -> Outputs | None:
        with one_torch_thread():
            model = EncoderDecoder.load(question.home)
            outputs = model.decode(list(question.inputs), beams=question.beams).outputs
        if question.file is None:
            return outputs
        question.keep(outputs)
        return None


def decoding_engine(engine: str | Engine | None, workers: int | None, models: Sequence[Any]) -> Engine | None:
    """Where models are asked, None for this process; `UsageError` for a model that has no path by which it travels."""
    if engine is None and workers is None:
        return None
    for one in models:
        if not isinstance(one, str | os.PathLike):
            raise UsageError(
                f"workers open models by their paths, and a {type(one).__name__} is in memory; save it and give its "
                "folder, or leave engine and workers out"
            )
    return task_engine(engine, workers, gpu=on_gpu(None))


def decode_elsewhere(engine: Engine, questions: Sequence[Question], progress: Progress | None) -> list[Outputs]:
    """The beams of each question, in order; those that were kept are not asked again. Called with (inputs done, all).

    Raises `WorkError` where workers keep beams in a folder that is not seen from here.
    """
    found = {place: known for place, one in enumerate(questions) if (known := one.known()) is not None}
    rest = [place for place in range(len(questions)) if place not in found]
    done, total = 0, sum(len(one.inputs) for one in questions)

    def tell(question: Question) -> None:
        nonlocal done
        done += len(question.inputs)
        if progress is not None:
            progress(done, total)

    for place in found:
        tell(questions[place])
    answers = run_tasks(engine, _Task(), [questions[place] for place in rest], on_done=tell)
    for place, answer in zip(rest, answers, strict=True):
        outputs = questions[place].known() if answer is None else answer
        if outputs is None:
            raise WorkError(
                f"{questions[place].home} was asked, and {questions[place].file} does not hold its beams: the workers "
                "write to folders of other machines; name a checkpoint folder that all of them see"
            )
        found[place] = outputs
    return [found[place] for place in range(len(questions))]
