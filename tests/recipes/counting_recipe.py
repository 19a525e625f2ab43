"""A recipe of small steps that can be done side by side, found by name from another process."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

from oodometer.errors import WorkError
from oodometer.kernels import cores
from oodometer_lab.recipes.base import Progress, Recipe, Step, Workspace

PAUSE = 0.3  # seconds of a step, so that two processes share them


def leave(name: str, workspace: Workspace, progress: Progress) -> None:
    """Write who did it, and of which files."""
    seen = sorted(one.name for one in workspace.folder.glob("*.json"))
    time.sleep(PAUSE)
    workspace.write_json(f"{name}.json", {"process": os.getpid(), "cores": cores(), "seen": seen})
    progress(1, 1)


def fail(workspace: Workspace, progress: Progress) -> None:
    raise WorkError("the disk is full")


def end(workspace: Workspace, progress: Progress) -> None:
    os._exit(3)


def meet(name: str, workspace: Workspace, progress: Progress) -> None:
    """End when another file is there; it never is where the step that leaves it must wait for this one."""
    end = time.monotonic() + 60
    while not (workspace.folder / name).exists():
        if time.monotonic() > end:
            raise WorkError(f"{name} never came")
        time.sleep(0.01)
    leave("slow", workspace, progress)


@final
class Counting(Recipe):
    """Four steps that need nothing, one that needs two of them, and one that is always done."""

    name, title, citation = "counting", "Counting", "none"
    scales = ("small", "failing", "ending", "meeting")
    side_by_side = True

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        out = [
            Step(f"{one}", f"counting {one}", (f"{one}.json",), partial(leave, one))
            for one in "abcd"
        ]
        out.append(
            Step("both", "counting both", ("both.json",), partial(leave, "both"), needs=("a", "b"))
        )
        if scale == "meeting":
            out.append(
                Step(
                    "slow", "waiting for both", ("slow.json",), partial(meet, "both.json"), weight=9
                )
            )
        elif scale != "small":
            bad = fail if scale == "failing" else end
            out.append(Step("bad", "failing", ("bad.json",), bad, needs=("a", "b")))
        out.append(
            Step(
                "last", "last", ("last.json",), partial(leave, "last"), needs=("both",), always=True
            )
        )
        return out

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        return ""


RECIPE = Counting()
