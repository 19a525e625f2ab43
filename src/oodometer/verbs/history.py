"""The verb `history`: past runs out of their store, or the runs of long commands below a folder, how far each came."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import InputError
from ..histories import open_store, read_history
from ..options import verb
from ..passes.run_folder import PARTS
from ..plain import Json, Plain
from ..results.history import History
from ..runs import LOCK, MANIFEST, is_locked, read_manifest
from .options import HistoryOptions


@verb(HistoryOptions)
def history(options: HistoryOptions) -> History:
    """Past runs that `estimate` added to a store (``store=``), job by job.

    Of each chunk the newest run's estimate counts, and the truth that labels last told; the estimates of all runs stand
    beside it. A chunk that was cut otherwise by older runs (another ``every`` or ``by``) is left out. Raises
    `InputError` for a store that is not there, is locked, does not answer or is of another version, `UsageError` for a
    job that it does not have.

    >>> import tempfile, oodometer
    >>> reference = {"probabilities": [[0.9, 0.1], [0.6, 0.4]] * 60, "label": [0, 1] * 60}
    >>> target = {"probabilities": [[0.9, 0.1], [0.7, 0.3]] * 60}
    >>> store = tempfile.mkdtemp() + "/runs.sqlite"
    >>> found = oodometer.estimate(reference, target, methods=["ac"], backtest=None, store=store, job="shop")
    >>> past = history(store)["shop"]
    >>> len(past.runs), past.of("target")[0].newest.value == found.headline.value
    (1, True)
    """
    return read_history(open_store(options.store), options.job, options.last)


_DEEP = 6  # folders in folders that are looked through


@dataclass(frozen=True)
class Run:
    """A run: its folder, what it is, and how it stands: "running", "finished", "failed", "killed" (it ended without a
    word) or "unreadable". Of its ``parts`` (files, row groups, tasks, steps, batches, copies, answers) so many are
    ``done``, and so many the last run had to ``read`` or to work on; ``why`` it failed, or what is wrong with the
    folder.
    """

    folder: str
    status: str
    verb: str = ""
    reference: str = ""
    target: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    began: str = ""
    ended: str | None = None
    parts: int = 0
    done: int = 0
    read: int = 0
    why: str | None = None


@dataclass(frozen=True)
class Runs:
    """All runs that were found, the one that began last at the end."""

    runs: tuple[Run, ...]

    def to_dict(self) -> Json:
        """As plain values."""
        return {"runs": [asdict(run) for run in self.runs]}


def runs(folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = ".") -> Runs:
    """The runs whose folders these are, or hold, up to six folders deep.

    They are run folders (``run_folder=``), folders of `reproduce` and `stress`, and what `predict`, `shift` and
    `discriminate` keep beside their results until these are finished. Raises `InputError` for a folder that is not
    there. A folder whose manifest is damaged or of another version is listed as unreadable, with the reason.

    >>> import tempfile
    >>> runs(tempfile.mkdtemp()).runs
    ()
    """
    out: dict[str, Run] = {}
    for top in [folders] if isinstance(folders, (str, os.PathLike)) else folders:
        if not os.path.isdir(top):
            raise InputError(
                "a folder", got="no such folder", remedy="check the path", file=os.fspath(top)
            )
        deepest = len(Path(top).parts) + _DEEP
        for below, names, files in os.walk(top):
            folder = Path(below)
            # unfinished results lie in such ones
            hidden = [name for name in names if name.startswith(".")]
            run_folders = [folder / name for name in hidden if _is_ours(folder / name)]
            if MANIFEST in files and (LOCK in files or _is_ours(folder)):
                run_folders = [folder]
                names.clear()
            elif len(folder.parts) >= deepest:
                names.clear()
            names[:] = [name for name in names if name not in hidden]
            for path in run_folders:
                out.setdefault(os.path.realpath(path), _run(path))
    return Runs(tuple(sorted(out.values(), key=lambda run: (run.began, run.folder))))


def _is_ours(folder: Path) -> bool:
    """Whether the manifest is one of ours: other programs have files of this name, too."""
    try:
        return read_manifest(folder) is not None
    except InputError:
        return False


def _run(folder: Path) -> Run:
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        return Run(str(folder), "unreadable", why=str(error))
    assert manifest is not None
    status = str(manifest.get("status"))
    if status == "running" and not is_locked(folder / LOCK):
        status = "killed"
    about: Plain = manifest["about"]
    parts, done = int(manifest.get("parts") or 0), int(manifest.get("done") or 0)
    if status == "killed" and (folder / PARTS).is_dir():  # before it could note its last parts
        states = sum(state.suffix == ".state" for state in (folder / PARTS).iterdir())
        done = min(parts, states)
    return Run(
        str(folder),
        status,
        verb=str(about.get("verb", "")),
        reference=str(about.get("reference", "")),
        target=str(about.get("target", "")),
        parts=parts,
        done=done,
        read=int(manifest.get("read") or 0),
        about={str(name): str(value) for name, value in about.items() if name != "verb"},
        began=str(manifest.get("began", "")),
        ended=manifest.get("ended"),
        why=manifest.get("why"),
    )
