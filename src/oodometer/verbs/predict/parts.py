"""Parts: predictions batch by batch in a folder beside the file, so that an interrupted job goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from ...predictions import Predictions
from ...runs import Manifest, cleared
from ...store import as_source
from ...store.artifact_cache import read_artifact, write_artifact
from ...store.write import write_part


@final
class Parts:
    """The finished batches of one job.

    Parameters
    ----------
    home : the folder that they lie in; None keeps them in memory.
    job : fingerprint of model, data and options; what another job left in the folder is removed.
    extra : further columns that the parts carry.
    run : where it is noted how far the job is, in the same folder.
    """

    def __init__(self, home: Path | None, job: str, extra: tuple[str, ...], run: Manifest | None = None) -> None:
        self.home, self.job, self.extra, self._run = home, job, extra, run
        self._held: list[Predictions] = []
        self.notes: list[dict[str, Any]] = []
        if home is None:
            return
        found = read_artifact(home / "job.json", "predictions") if home.is_dir() else None
        if found != job:
            home.mkdir(parents=True, exist_ok=True)
            cleared(home)
            write_artifact(home / "job.json", "predictions", job)
        self.look()

    @property
    def done(self) -> int:
        """Number of batches that are finished, from the first on."""
        return len(self.notes)

    def look(self) -> None:
        """See what else is finished, by tasks elsewhere."""
        while self.home is not None and (note := self._note(len(self.notes))) is not None:
            self.notes.append(note)

    def has(self, place: int) -> bool:
        """Whether the batch at a place is finished, though others before it may not be."""
        return place < self.done or (self.home is not None and self._note(place) is not None)

    def add(self, record: Predictions | None, note: dict[str, Any], place: int) -> None:
        """Keep the batch at a place, None where nothing of it could be read, and what is to be known of it."""
        if self.home is None:
            self._held += [] if record is None else [record]
        else:
            name = self._name(place)
            if record is not None:
                write_part(record, self.home / f"{name}.parquet")
            write_artifact(self.home / f"{name}.json", "note", {**note, "empty": record is None})
        if place == self.done:
            self.notes.append(note)

    def tell(self, many: int, worked: int = 0) -> None:
        """Note how far the job is: ``many`` batches in all, as far as that is known."""
        if self._run is not None:
            self._run.tell(self.done, many, worked)

    def records(self) -> Iterator[Predictions]:
        """All batches in their order."""
        if self.home is None:
            yield from self._held
            return
        for place, note in enumerate(self.notes):
            if not note.get("empty"):
                yield read_all(self.home / f"{self._name(place)}.parquet", self.extra)

    def _note(self, place: int) -> dict[str, Any] | None:
        assert self.home is not None
        name = self.home / self._name(place)
        path = name.with_suffix(".json")
        if not path.is_file():
            return None
        found: dict[str, Any] | None = read_artifact(path, "note")
        if found is None or (not found["empty"] and not name.with_suffix(".parquet").is_file()):
            return None
        return found

    @staticmethod
    def _name(place: int) -> str:
        return f"part-{place:06d}"


def read_all(path: Path, extra: tuple[str, ...]) -> Predictions:
    """A predictions file with every field, texts too, and such further columns as there are."""
    columns = as_source(path).columns
    source = as_source(path, extra_columns=tuple(name for name in extra if name in columns))
    return source.read(source.fields)
