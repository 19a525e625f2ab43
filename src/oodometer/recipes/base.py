"""What a recipe is: steps that leave files; a step whose files and settings are unchanged is not done again."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..errors import InputError, MissingExtraError, UsageError, WorkError
from ..runs import Manifest
from ..store import write_atomic
from ..store.artifact_cache import checksum_of_files, made_anew, read_artifact, write_artifact

LACKS = (InputError, MissingExtraError, WorkError)
"""What is raised where something is not there."""


def check_all(needs: Iterable[tuple[str, Callable[[], Any]]]) -> None:
    """Do every check, each with a name of who needs it; what several of them raise is said in one line.

    Where one thing alone is missing its own error is raised. Otherwise `WorkError` where a hub or the work failed, else
    `InputError`; needs with the same error share an entry.

    >>> def absent(name):
    ...     raise InputError("a data file", got="no such file", file=name)
    >>> check_all([("A", lambda: absent("x")), ("B", lambda: absent("x")), ("C", lambda: absent("y"))])
    Traceback (most recent call last):
    oodometer.errors.InputError: expected all that the run needs, got 2 things missing: (1) A, B: x: expected a data
     file, got no such file (2) C: y: expected a data file, got no such file
    """
    found: dict[str, tuple[Exception, dict[str, None]]] = {}
    for name, check in needs:
        try:
            check()
        except LACKS as error:
            found.setdefault(str(error), (error, {}))[1][name] = None
    errors = [error for error, _ in found.values()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        entries = [f"({i}) {', '.join(names)}: {said}" for i, (said, (_, names)) in enumerate(found.items(), 1)]
        whole = InputError("all that the run needs", got=f"{len(errors)} things missing: {' '.join(entries)}")
        raise WorkError(str(whole)) if any(isinstance(error, WorkError) for error in errors) else whole


Report = Callable[[str, float], None]
"""Called with what is being done and the share of the whole work that is behind, from 0 to 1."""

Progress = Callable[[int, int], None]
"""Called by a step with (done, total)."""

Spent = Mapping[str, float]
"""``seconds`` on the clock and ``cpu_seconds`` that a step took."""

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

    def forget(self, step: str) -> None:
        """Remember nothing of a step."""
        (self.folder / _stamp_of(step)).unlink(missing_ok=True)


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
    always : whether it is done in every run, as a step is that reads whatever an earlier run left; no other needs it.
    checks : what must be there, such as a pretrained model, by its name; each raises where it is not. Those of all
        steps that are left are done before the first of them begins.
    """

    name: str
    about: str
    files: tuple[str, ...]
    work: Callable[[Workspace, Progress], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    weight: float = 1.0
    always: bool = False
    checks: Mapping[str, Callable[[], Any]] = field(default_factory=dict)


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
    side_by_side: ClassVar[bool] = False
    """Whether its steps name all that they need, so that several can be done at a time."""

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
        return dict(workspace.read_json("result.json"))

    def is_finished(self, result: Mapping[str, Any]) -> bool:
        """Whether a result has numbers that can be published."""
        return True

    @staticmethod
    def claims(result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the paper says, and what became of it in this result; none where nothing is checked."""
        return []

    def joined(self, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> dict[str, Any]:
        """What is published where an ``old`` result is: the new one, its claims checked again."""
        return {**new, "claims": self.claims(new)}

    @staticmethod
    @abstractmethod
    def to_markdown(result: Mapping[str, Any]) -> str:
        """The result as a page of Markdown, ours beside the paper's."""


class Beside(Protocol):
    """Whatever does several steps at a time."""

    def follow(self, course: Course) -> None:
        """Do steps that are left, those that are done in every run aside; what stays left is done in this process."""


def run_steps(
    steps: Sequence[Step],
    workspace: Workspace,
    report: Report | None = None,
    workers: Beside | None = None,
    manifest: Manifest | None = None,
) -> list[StepRun]:
    """Do the steps that are not done yet; interrupted, the next run goes on behind the last one finished.

    What the steps left to do need is looked for first, and all that is missing is said in one line (see `check_all`).
    With ``workers`` steps whose needs are met are done side by side; those that are done in every run stay in this
    process. ``manifest`` is told of each step that is behind.

    >>> import tempfile
    >>> place = Workspace(Path(tempfile.mkdtemp()))
    >>> step = Step("count", "counting", ("n.json",), lambda w, progress: w.write_json("n.json", 3))
    >>> [run.kept for _ in range(2) for run in run_steps([step], place)]
    [False, True]
    """
    names = [step.name for step in steps]
    if len(set(names)) < len(names):
        raise UsageError(f"two steps have the same name among {', '.join(names)}")
    course = Course(steps, workspace, report, manifest)
    left = [step for step in steps if step.checks and course.is_left(step)]
    if left:
        course.say("looking for what the run needs", 0.0)
        check_all({name: check for step in left for name, check in step.checks.items()}.items())
    if workers is not None and any(course.is_left(step) for step in steps if not step.always):
        workers.follow(course)
    for step in steps:
        course.do(step)
    course.say("done", 1.0)
    return [course.runs[name] for name in names]


class Course:
    """What is known of the steps while they are done; ``marks`` names all that the files of each depend on."""

    def __init__(
        self, steps: Sequence[Step], workspace: Workspace, report: Report | None, manifest: Manifest | None
    ) -> None:
        self.steps, self.workspace, self.report, self.manifest = steps, workspace, report, manifest
        self.runs: dict[str, StepRun] = {}
        self._left: set[str] = set()
        self._total = sum(step.weight for step in steps) or 1.0
        self._behind = 0.0
        self.marks = marks(steps)

    @property
    def share(self) -> float:
        """The share of the work that is behind, from 0 to 1."""
        return self._behind / self._total

    def say(self, what: str, share: float) -> None:
        """Report, where somebody listens."""
        if self.report is not None:
            self.report(what, share)

    def is_left(self, step: Step) -> bool:
        """Whether the step is to be done; one that is not is kept, and behind."""
        if step.name in self.runs or step.name in self._left:
            return step.name not in self.runs
        known = self.workspace.stamp(step.name)
        same = known.get("mark") == self.marks[step.name] and not step.always
        if not same or not _unchanged(self.workspace, _stamp_of(step.name), known, step):
            self._left.add(step.name)  # looked at once: a damaged file is told of once
            return True
        self.is_behind(step, known, kept=True)
        return False

    def longest_first(self) -> list[Step]:
        """Steps that are left, those that are done in every run aside: first those on which most work waits."""
        chains = _chains(self.steps)
        left = [step for step in self.steps if not step.always and self.is_left(step)]
        return sorted(left, key=lambda step: -chains[step.name])  # the order of the list where chains are as long

    def do(self, step: Step) -> None:
        """Do a step in this process, unless it is kept."""
        if not self.is_left(step):
            return
        self.say(step.about, self.share)

        def progress(done: int, of: int) -> None:
            if of:
                self.say(step.about, (self._behind + step.weight * done / of) / self._total)

        self.is_behind(step, do_step(step, self.workspace, self.marks[step.name], progress))

    def is_behind(self, step: Step, spent: Spent, *, kept: bool = False) -> None:
        """A step was done in this run, or kept from an earlier one."""
        self.runs[step.name] = StepRun(step.name, kept, float(spent["seconds"]), float(spent["cpu_seconds"]))
        if self.manifest is not None:
            self.manifest.tell(len(self.runs), len(self.steps), int(not kept))
        self._behind += step.weight


def do_step(step: Step, workspace: Workspace, mark: str, progress: Progress) -> Spent:
    """Do a step and remember it; what it took."""
    started, used = time.monotonic(), time.process_time()
    step.work(workspace, progress)
    spent = {"seconds": time.monotonic() - started, "cpu_seconds": time.process_time() - used}
    keep(workspace, step, mark, spent)
    return spent


def keep(workspace: Workspace, step: Step, mark: str, spent: Spent) -> None:
    """Remember a step as done; `WorkError` where it did not leave its files."""
    missing = [name for name in step.files if not (workspace.folder / name).is_file()]
    if missing:
        raise WorkError(f"the step {step.name} did not leave {', '.join(missing)}; report it")
    files = checksum_of_files(workspace.folder, step.files)
    write_artifact(workspace / _stamp_of(step.name), "step", {"mark": mark, **spent, "files": files})


def marks(steps: Sequence[Step]) -> dict[str, str]:
    """For each step, by name, what stands for all that its files depend on; whoever needs a step stands behind it."""
    out: dict[str, str] = {}
    for step in steps:
        # A name of all that the files of a step depend on
        needs = [out[name] for name in step.needs]
        said = json.dumps([step.name, step.files, dict(step.settings), list(needs)], sort_keys=True, default=str)
        out[step.name] = hashlib.sha256(said.encode()).hexdigest()[:24]
    return out


def _chains(steps: Sequence[Step]) -> dict[str, float]:
    """Weight of each step and of the heaviest chain of steps that wait for it.

    >>> leave = lambda workspace, progress: None
    >>> both = [Step("a", "", (), leave), Step("b", "", (), leave, needs=("a",), weight=5)]
    >>> _chains(both)
    {'a': 6.0, 'b': 5.0}
    """
    out = {step.name: float(step.weight) for step in steps}
    for step in reversed(steps):  # whoever needs a step stands behind it
        for name in step.needs:
            before = next(one.weight for one in steps if one.name == name)
            out[name] = max(out[name], before + out[step.name])
    return out


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
