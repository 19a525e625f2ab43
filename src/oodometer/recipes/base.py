"""What a recipe is: steps that leave files; a step whose files and settings are unchanged is not done again."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..errors import UsageError, WorkError
from ..store import write_atomic
from ..store.artifact_cache import checksum_of_files, made_anew, read_artifact, write_artifact

__all__ = ["Recipe", "Report", "Step", "StepRun", "Workspace", "run_steps"]

Report = Callable[[str, float], None]
"""Called with what is being done and the share of the whole work that is behind, from 0 to 1."""

Progress = Callable[[int, int], None]
"""Called by a step with (done, total)."""

_STAMPS = ".steps"


class Workspace:
    """The folder that a run works in; its files are named relative to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __truediv__(self, name: str) -> Path:
        """The path of a file; the folders above it are made."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write_json(self, name: str, value: Any) -> Path:
        """Write a value as JSON, whole or not at all."""
        return write_atomic(self / name, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """Read it back."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def stamp(self, step: str) -> dict[str, Any]:
        """What is remembered of a finished step, such as its seconds; empty where nothing is, or it is damaged."""
        found: dict[str, Any] | None = read_artifact(self.folder / _stamp_of(step), "step")
        return found or {}


@dataclass(frozen=True)
class Step:
    """A piece of work.

    Parameters
    ----------
    name : short, unique in the recipe.
    about : what is being done, for the progress bar.
    files : names of the files it leaves.
    work : does it; gets the workspace and a function to report (done, total) to.
    settings : all that the files depend on, ready for JSON.
    needs : names of the steps whose files it reads; it is done again when they are.
    weight : about how many seconds it takes; only the bar depends on it.
    always : whether it is done in every run, as a step is that reads whatever an earlier run left.
    """

    name: str
    about: str
    files: tuple[str, ...]
    work: Callable[[Workspace, Progress], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    weight: float = 1.0
    always: bool = False


@dataclass(frozen=True)
class StepRun:
    """What became of a step: whether it was kept from before, and the wall-clock and CPU seconds it took when done."""

    name: str
    kept: bool
    seconds: float
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        spent = {"seconds": round(self.seconds, 1), "cpu_seconds": round(self.cpu_seconds, 1)}
        return {"name": self.name, "kept": self.kept, **spent}


class Recipe(ABC):
    """A paper that can be reproduced.

    ``name`` is what `oodometer reproduce` takes, ``citation`` the BibTeX key, ``scales`` the sizes it comes in, the
    usual one first. A recipe compares models with one another, or does one thing on several tasks, each by itself: the
    one names `models`, the other `tasks`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    scales: ClassVar[tuple[str, ...]] = ("small", "paper")
    row_key: ClassVar[str] = "name"
    """First key of the objects that stand on a line of their own in the published result."""

    @property
    def home(self) -> Path:
        """The folder of the recipe, with its README and the published results."""
        return Path(inspect.getfile(type(self))).parent

    def models(self, scale: str) -> tuple[str, ...]:
        """Names of the models that the recipe knows at a scale; none where it has tasks instead."""
        return ()

    def tasks(self, scale: str) -> tuple[str, ...]:
        """Names of the tasks that the recipe knows at a scale; none where it has models instead."""
        return ()

    @abstractmethod
    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """The work, in order; with ``only`` no other models, or no other tasks where the recipe has tasks."""

    def result(self, workspace: Workspace) -> dict[str, Any]:
        """What was found, as written by the last steps."""
        found: dict[str, Any] = workspace.read_json("result.json")
        return found

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether a result has numbers that can be published."""
        return True

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the paper says, and what became of it in this result; none where nothing is checked."""
        return []

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """What is published where an ``old`` result is: the new one, its claims checked again."""
        return {**new, "claims": self.claims(new)}

    @abstractmethod
    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """The result as a page of Markdown, ours beside the paper's."""


def run_steps(steps: Sequence[Step], workspace: Workspace, report: Report | None = None) -> list[StepRun]:
    """Do the steps that are not done yet; interrupted, the next run goes on behind the last one finished.

    >>> import tempfile
    >>> place = Workspace(Path(tempfile.mkdtemp()))
    >>> step = Step("count", "counting", ("n.json",), lambda w, progress: w.write_json("n.json", 3))
    >>> [run.kept for _ in range(2) for run in run_steps([step], place)]
    [False, True]
    """
    names = [step.name for step in steps]
    if len(set(names)) < len(names):
        raise UsageError(f"two steps have the same name among {', '.join(names)}")
    total = sum(step.weight for step in steps) or 1.0
    behind = 0.0
    fingerprints: dict[str, str] = {}
    runs = []
    for step in steps:
        stamp = _stamp_of(step.name)
        fingerprints[step.name] = fingerprint = _fingerprint(step, [fingerprints[name] for name in step.needs])
        known = workspace.stamp(step.name)
        kept = known.get("mark") == fingerprint and not step.always and _unchanged(workspace, stamp, known, step)
        if not kept:
            if report is not None:
                report(step.about, behind / total)
            started, used = time.monotonic(), time.process_time()

            def progress(done: int, of: int, step: Step = step, behind: float = behind) -> None:
                if report is not None and of:
                    report(step.about, (behind + step.weight * done / of) / total)

            step.work(workspace, progress)
            missing = [name for name in step.files if not (workspace.folder / name).is_file()]
            if missing:
                raise WorkError(f"the step {step.name} did not leave {', '.join(missing)}; report it")
            spent = {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - used}
            known = {"mark": fingerprint, **spent, "files": checksum_of_files(workspace.folder, step.files)}
            write_artifact(workspace / stamp, "step", known)
        runs.append(StepRun(step.name, kept, float(known["seconds"]), float(known["cpu_seconds"])))
        behind += step.weight
    if report is not None:
        report("done", 1.0)
    return runs


def _fingerprint(step: Step, needs: Sequence[str]) -> str:
    """A name of all that the files of a step depend on."""
    said = json.dumps([step.name, step.files, dict(step.settings), list(needs)], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def _stamp_of(step: str) -> str:
    """The file in which a step is remembered."""
    return f"{_STAMPS}/{step}.json"


def _unchanged(workspace: Workspace, stamp: str, known: Mapping[str, Any], step: Step) -> bool:
    """Whether the files of a step are as it left them; those that are gone are made again without a word."""
    if not all((workspace.folder / name).is_file() for name in step.files):
        return False
    if checksum_of_files(workspace.folder, step.files) == known["files"]:
        return True
    made_anew(workspace.folder / stamp, f"a file of the step {step.name} has changed since")
    return False
