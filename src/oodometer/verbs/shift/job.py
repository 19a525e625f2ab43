"""Job: what is shifted, how and where to; what every copy has in common: its place, its manifest, going on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...engines import Engine
from ...errors import InputError, UsageError, WorkError
from ...results.shifting import ShiftedCopy, Shifting
from ...runs import LOCK, Manifest, cleared, places_said, running
from ...runs import MANIFEST as RUN
from ...shifts import ImageShift
from ...store.artifact_cache import checksum, read_artifact, write_artifact
from ...version import __version__

MANIFEST = "manifest.json"
_JOB = "job.json"
Skipped = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Job:
    """One call: ``shifts`` are pairs of a shift and a severity, ``skip`` leaves out what does not decode.

    ``engine`` runs tasks; None does all in this process.
    """

    source: Path
    out: Path
    shifts: tuple[tuple[ImageShift, int], ...]
    seed: int
    skip: bool
    argv: str | None
    progress: Callable[[int, int], None] | None
    run: Manifest | None = None
    engine: Engine | None = None

    @property
    def sent(self) -> Job:
        """The job as it travels to a worker."""
        return replace(self, progress=None, run=None, engine=None)

    @property
    def several(self) -> bool:
        """Whether each copy gets a subfolder of its own."""
        return len(self.shifts) > 1

    @property
    def about(self) -> dict[str, str]:
        """What the run is, for whoever lists runs."""
        return {"verb": "shift image", **places_said(data=self.source, out=self.out)}

    def folder(self, home: Path, shift: ImageShift, severity: int) -> Path:
        """Where a copy lies below a folder."""
        return home / f"{shift.name}-{severity}" if self.several else home

    def fingerprint(self, stamp: Any) -> str:
        """A short name of source and settings: the same job writes the same pixels."""
        asked = [[shift.name, severity] for shift, severity in self.shifts]
        settings = {"source": stamp, "shifts": asked, "seed": self.seed, "skip": self.skip, "version": __version__}
        return checksum(json.dumps(settings, sort_keys=True, default=str))

    def tell(self, done: int, total: int) -> None:
        """Say how far the work is."""
        if self.progress is not None:
            self.progress(done, total)

    def finished(self, done: int, total: int, worked: int = 0) -> None:
        """Note what is finished, for whoever lists runs; ``worked``: so much of it just now."""
        if self.run is not None:
            self.run.tell(done, total, worked)


def manifest(
    job: Job, shift: ImageShift, severity: int, fingerprint: str, rows: int, skipped: Skipped, **more: Any
) -> str:
    """How a copy was made, as JSON."""
    told = {
        "version": __version__,
        "command": "shift image",
        "argv": job.argv,
        "source": str(job.source),
        "fingerprint": fingerprint,
        "kind": shift.name,
        "severity": severity,
        "constants": shift.constants[severity - 1],
        "lengths": "in pixels of an image whose shorter side is 32; multiplied by the shorter side / 32",
        "deviation": shift.deviation,
        "citation": shift.citation,
        "seed": job.seed,
        "rows": rows,
        **more,
        "skipped": [{"name": name, "why": why} for name, why in skipped],
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


@contextmanager
def filling(out: Path, fingerprint: str, about: Mapping[str, str]) -> Iterator[tuple[Path, Manifest]]:
    """A folder beside the result to fill, and its manifest; it becomes the result at the end of the block.

    What the same job left there when it was interrupted is still in it; input that is refused leaves nothing. Raises
    `UsageError` where another process fills it.
    """
    home = out.resolve()
    part = home.with_name(f".{home.name}.part")
    mine = False
    try:
        part.mkdir(exist_ok=True)
        with running(Manifest(part, about)) as run:
            mine = True
            if read_artifact(part / _JOB, "shift") != fingerprint:
                cleared(part)
                write_artifact(part / _JOB, "shift", fingerprint)
            yield part, run
        for name in (RUN, LOCK):
            (part / name).unlink(missing_ok=True)
        if home.is_dir():
            home.rmdir()  # it was empty
        os.replace(part, home)
        (home / _JOB).unlink()
    except (InputError, UsageError):
        if mine:
            shutil.rmtree(part, ignore_errors=True)
        raise
    except OSError as error:
        raise WorkError(
            f"cannot write {out}: {error.strerror or error}; free some space or choose another place"
        ) from error


def outcome(job: Job, rows: int, skipped: Skipped, places: Sequence[tuple[Path, Path]], version: str) -> Shifting:
    """The result of a call, ``places`` being file or folder and manifest of each copy."""
    copies = tuple(
        ShiftedCopy(shift.name, severity, str(place), str(told))
        for (shift, severity), (place, told) in zip(job.shifts, places, strict=True)
    )
    notes = dict.fromkeys(f"{shift.name}: {shift.deviation}" for shift, _ in job.shifts if shift.deviation)
    return Shifting(version, str(job.source), job.seed, rows, copies, tuple(skipped), tuple(notes))
