"""Members: models that are trained alike but for their seeds, as tasks; each finished one lies in its own folder."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engines import Engine, run_tasks
from ..errors import WorkError
from .artifacts import keep, trained_as
from .base import Progress
from .torch.library import on_gpu, one_torch_thread

STEPS = 1000
"""Progress of a member is told in thousandths."""


@dataclass(frozen=True)
class Member:
    """A training that may be done elsewhere: what is trained and where it goes, seen by every machine.

    model : untrained, so that little travels. training : the name of the training. kept : folder of the finished model.
    state : folder of the checkpoint until then.
    """

    model: Any
    training: str
    kept: Path
    state: Path

    @property
    def is_finished(self) -> bool:
        """Whether the model of this very training is there."""
        return trained_as(self.kept) == self.training


@dataclass(frozen=True)
class _Training:
    """The task: one thread trains a member and writes it to its folder."""

    fit: Callable[..., Any]
    gpu: bool

    def __call__(self, member: Member) -> None:
        with one_torch_thread():
            train_member(member, self.fit, None)


def train_member(member: Member, fit: Callable[..., Any], progress: Progress | None) -> None:
    """Train a member with ``fit(model, checkpoint=, progress=)``, or go on, and keep it; nothing where it is kept."""
    if member.is_finished:
        return
    fit(member.model, checkpoint=member.state, progress=progress)
    keep(member.kept, member.training, member.model.save)
    shutil.rmtree(member.state, ignore_errors=True)


def train_members(
    members: Sequence[Member], fit: Callable[..., Any], engine: Engine, *, progress: Progress | None = None
) -> None:
    """Train the members that are not finished, each a task of an engine; ``progress`` in thousandths of a member.

    What ``fit`` holds (the data) is sent once to a cluster, and with every task to a process. Raises `WorkError` where
    a member was trained on a machine whose folders are not seen from here.
    """
    rest = [one for one in members if not one.is_finished]
    done = len(members) - len(rest)

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            if more:  # as a training that is not kept: told of before its end
                progress(STEPS * done - 1, STEPS * len(members))
            progress(STEPS * done, STEPS * len(members))

    tell(0)
    gpu = any(_device(one.model) != "cpu" for one in rest)
    run_tasks(engine, _Training(fit, gpu), rest, on_done=lambda _: tell(1))
    lost = next((one for one in rest if not one.is_finished), None)
    if lost is not None:
        raise WorkError(
            f"a model was trained, and {lost.kept} does not hold it: the workers write to folders of other machines; "
            "name a checkpoint folder that all of them see, such as one of a shared disk"
        )


def uses_gpu(model: Any) -> bool:
    """Whether an untrained model will be trained on a GPU of this machine."""
    device = _device(model)
    return device != "cpu" and on_gpu(device)


def _device(model: Any) -> str | None:
    """What a model, or the one that a judge asks, is told of its device; None leaves it to the machine."""
    found: str | None = getattr(model, "device", getattr(getattr(model, "model", None), "device", "cpu"))
    return found


@contextmanager
def member_folder(checkpoint: Path | None) -> Iterator[Path]:
    """The folder of finished members: the one given, or one of this machine for as long as they are trained."""
    if checkpoint is not None:
        yield checkpoint
        return
    with tempfile.TemporaryDirectory(prefix="oodometer-") as home:
        yield Path(home)
