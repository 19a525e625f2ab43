"""WordNet: the synonyms of a word, from the files of the database as it is published."""

from __future__ import annotations

import os
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import final

from ...errors import InputError

_PARTS = ("noun", "verb", "adj", "adv")
_RULES = {  # ending that is taken off, and what is put in its place
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
_ENDINGS = {part: [rule.split(":") for rule in rules.split()] for part, rules in _RULES.items()}
_USUAL = ("/usr/share/wordnet", "/usr/share/wordnet-3.0", "/usr/local/WordNet-3.0/dict")
_ARCHIVE = "wordnet30.tar.xz"
_REMEDY = "install it (Debian: apt install wordnet-base), or name its folder or archive in OODOMETER_WORDNET"


def find_wordnet(path: str | os.PathLike[str] | None = None) -> WordNet:
    """The database at a path, at ``OODOMETER_WORDNET``, where Debian puts it, or in ``OODOMETER_DATA``.

    ``path`` : a folder with the files ``index.noun``, ``data.noun``, ``noun.exc`` and so on, or a tar archive of one.
    Raises `InputError` with the way to get it where there is none.
    """
    named, data = path or os.environ.get("OODOMETER_WORDNET"), os.environ.get("OODOMETER_DATA")
    if named:
        return _opened(str(Path(named).absolute()))
    for usual in (*_USUAL, *([str(Path(data) / _ARCHIVE)] if data else [])):
        if (Path(usual) / "index.noun").is_file() or Path(usual).is_file():
            return _opened(usual)
    raise InputError("the WordNet database", got="none in the usual places", remedy=_REMEDY)


@final
class WordNet:
    """The WordNet database, read from its files (`wndb(5WN)`); its words are looked up as `morphy(7WN)` does.

    ``path`` as in `find_wordnet`. Raises `InputError` for what holds no such files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        names = [*(f"{kind}.{part}" for part in _PARTS for kind in ("index", "data")), *(f"{p}.exc" for p in _PARTS)]
        files: dict[str, bytes] = {}
        got = "a folder" if self.path.is_dir() else "an archive" if self.path.is_file() else "no such folder or file"
        if self.path.is_dir():
            files = {name: (self.path / name).read_bytes() for name in names if (self.path / name).is_file()}
        elif self.path.is_file():
            try:
                with tarfile.open(self.path) as archive:
                    for member in archive:
                        file = archive.extractfile(member) if Path(member.name).name in names else None
                        if file is not None:
                            files[Path(member.name).name] = file.read()
            except (tarfile.TarError, EOFError, OSError):
                files, got = {}, "a file that is no tar archive"
        lacking = next((name for name in names if name not in files), None)
        if lacking is not None:
            got = f"{got} without {lacking}" if got in ("a folder", "an archive") else got
            raise InputError("the files of the WordNet database", got=got, remedy=_REMEDY, file=str(path))
        self._data = {part: files[f"data.{part}"] for part in _PARTS}
        # word -> where meanings stand
        self._index: dict[str, dict[str, tuple[int, ...]]] = {part: {} for part in _PARTS}
        self._irregular: dict[str, dict[str, list[str]]] = {}
        for part in _PARTS:
            for line in files[f"index.{part}"].decode("ascii").splitlines():
                if not line.startswith(" "):  # the licence
                    cells = line.split()
                    self._index[part][cells[0]] = tuple(map(int, cells[len(cells) - int(cells[2]) :]))
            lines = files[f"{part}.exc"].decode("ascii").splitlines()
            self._irregular[part] = {line.split()[0]: line.split()[1:] for line in lines}

    def bases(self, word: str, part: str) -> tuple[str, ...]:
        """Base forms of a word as a part of speech ("noun", "verb", "adj", "adv") that the database knows."""
        other = self._irregular[part].get(word) or [
            word[: -len(end)] + new for end, new in _ENDINGS[part] if word.endswith(end) and len(word) > len(end)
        ]
        return tuple(dict.fromkeys(base for base in (word, *other) if base in self._index[part]))

    def synonyms(self, word: str) -> tuple[str, ...]:
        """All other words of all meanings of a word, whatever its part of speech, sorted.

        The word itself and its base forms are left out; what consists of several words has ``_`` or ``-`` in it.
        """
        small = word.lower()
        same = {small}
        out: set[str] = set()
        for part in _PARTS:
            for base in self.bases(small, part):
                same.add(base)
                data = self._data[part]
                for start in self._index[part][base]:  # where the line of a meaning begins
                    cells = data[start : data.index(b"\n", start)].split(b" ", 4 + 2 * 255)
                    words = cells[4 : 4 + 2 * int(cells[3], 16) : 2]
                    out.update(other.decode("ascii").partition("(")[0] for other in words)  # (p) marks adjectives
        return tuple(sorted(other for other in out if other.lower() not in same))


_opened = lru_cache(maxsize=2)(WordNet)
