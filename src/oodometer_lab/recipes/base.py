"""What a recipe is: steps that leave files; a step whose files and settings are unchanged is not done again."""

from __future__ import annotations

import inspect
import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from oodometer.errors import InputError, MissingExtraError, WorkError
from oodometer.intervals import holm
from oodometer.store import write_atomic
from oodometer.store.artifact_cache import read_artifact

LACKS = (InputError, MissingExtraError, WorkError)
"""What is raised where something is not there."""


def check_all(needs: Iterable[tuple[str, Callable[[], Any]]]) -> None:
    """Do every check, each with a name of who needs it; what several of them raise is said in one line."""
    failures: dict[str, tuple[Exception, dict[str, None]]] = {}
    for name, check in needs:
        try:
            check()
        except LACKS as error:
            failures.setdefault(str(error), (error, {}))[1][name] = None
    errors = [error for error, _ in failures.values()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        entries = [
            f"({i}) {', '.join(names)}: {message}"
            for i, (message, (_, names)) in enumerate(failures.items(), 1)
        ]
        combined = InputError(
            "all that the run needs", got=f"{len(errors)} things missing: {' '.join(entries)}"
        )
        raise (
            WorkError(str(combined))
            if any(isinstance(error, WorkError) for error in errors)
            else combined
        )


Report = Callable[[str, float], None]
"""Called with what is being done and the share of the whole work that is behind, from 0 to 1."""

Progress = Callable[[int, int], None]
"""Called by a step with (done, total)."""

Spent = Mapping[str, float]
"""``seconds`` on the clock and ``cpu_seconds`` that a step took."""


def part_of(progress: Progress, number: int, parts: int) -> Progress:
    """The progress of one of some parts, counted from 0, of a step."""
    return lambda done, total: progress(number * total + done, parts * total)


def stamp_of(step: str) -> str:
    """The file in which a step is remembered."""
    return f".steps/{step}.json"


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
        return write_atomic(
            self / name, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        )

    def read_json(self, name: str) -> Any:
        """Read it back."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def stamp(self, step: str) -> dict[str, Any]:
        """What is remembered of a finished step, such as its seconds; empty where nothing is, or it is damaged."""
        stamp: dict[str, Any] | None = read_artifact(self.folder / stamp_of(step), "step")
        return stamp or {}

    def forget(self, step: str) -> None:
        """Remember nothing of a step."""
        (self.folder / stamp_of(step)).unlink(missing_ok=True)


@dataclass(frozen=True)
class Step:
    """A piece of work: ``name`` and ``about`` (for the bar), the ``files`` that ``work`` leaves, ``settings`` that they
    depend on, the steps that it ``needs``, its ``weight`` in seconds, whether it is done ``always``, and ``checks`` of
    what must be there, by name, which are done before any step begins.
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
        return {
            **asdict(self),
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
        }


class Recipe(ABC):
    """A paper that can be reproduced: ``name`` for the command, ``citation`` (BibTeX key). It compares models or does
    one thing on several tasks: the one names `models`, the other `tasks`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    side_by_side: ClassVar[bool] = False
    """Whether its steps name all that they need, so that several can be done at a time."""
    form: ClassVar[int | None] = None
    """Number of the form of its results, where they have one."""
    findings: Any = None
    """Its module with ``claims_of`` and ``markdown`` of a result, and its drawings, ``FIGURES``."""
    configs: ClassVar[Mapping[str, Any]] = {}
    """How large a run is, by scale; ``config`` of an instance has others in tests."""

    def __init__(self) -> None:
        self.config = dict(self.configs)

    @property
    def home(self) -> Path:
        """The folder of the recipe, with its README and the published results."""
        return Path(inspect.getfile(type(self))).parent

    @property
    def scales(self) -> tuple[str, ...]:
        """Those that ``sizes.toml`` beside the recipe has, the usual one first, such as small, tiny and paper."""
        sizes = self.home / "sizes.toml"
        return (
            tuple(tomllib.loads(sizes.read_text("utf-8")))
            if sizes.is_file()
            else ("small", "paper")
        )

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

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the paper says, and what became of it in this result; none where nothing is checked."""
        return [] if self.findings is None else judged(self.findings.claims_of(result))

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """The result as a page of Markdown, ours beside the paper's."""
        return str(self.findings.markdown(result))


def judged(claims: Sequence[Any]) -> list[dict[str, Any]]:
    """Claims ready for JSON, with verdicts and two-sided p-values; ``p_all`` is corrected for the number of claims
    (Holm); ``effect``, in ``unit``, is the mean over the things and ``seen`` on how many of how many the claim is seen;
    ``visible`` the smallest effect that a test without a verdict would see with power 0.8, and ``p_smaller`` the
    p-value of an effect as large as the paper's, where that is tested and the effect is below it.
    """
    tested = (claim.row for claim in claims if claim.row.is_tested)
    corrected, judgements = iter(holm([row.look.p for row in tested])), []
    for claim in claims:
        row, size = claim.row, claim.row.size
        judgement = {
            "name": row.name,
            "claim": claim.claim,
            "verdict": claim.verdict,
            "evidence": claim.evidence,
            "quantity": row.quantity,
            "seen": [sum(bool(effect > 0) for effect in row.effects), len(row.effects)],
            "drawn": row.drawn,
            "effect": claim.effect,
            "unit": claim.unit,
            "test": row.test if row.is_tested else None,
        }
        if row.is_tested:
            judgement |= {"p": round(row.look.p, 6), "p_all": round(next(corrected), 6)}
            if claim.verdict == "undecided":
                judgement["visible"] = claim.visible
                if size and size.refutes < size.supports:
                    judgement["p_smaller"] = round(size.p, 6)
        judgements.append(judgement)
    return judgements
