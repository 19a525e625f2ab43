"""WordNet: the synonyms of a word, from the files of the database as it is published."""

from __future__ import annotations

import os
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import final

from oodometer.errors import InputError

PARTS = ("noun", "verb", "adj", "adv")
# ending that is taken off, and what is put in its place
_RULES = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
_ENDINGS = {part: [rule.split(":") for rule in rules.split()] for part, rules in _RULES.items()}
# regular forms: the first rule that fits
_SPELLING = {
    "s": [
        (r"([^aeiou])y$", r"\1ies"),
        (r"(s|x|z|ch|sh|\bgo|ergo|echo|veto)$", r"\1es"),
        ("(?<!hu|er)man$", "men"),
        ("$", "s"),
    ],
    "ing": [("ie$", "ying"), ("(?<![eoy])e$", "ing"), ("$", "ing")],
    **{
        end: [(r"([^aeiou])y$", rf"\1i{end}"), ("e$", end), ("$", end)]
        for end in ("ed", "er", "est")
    },
}
_UNCHANGED = " bet burst cast cost cut hit hurt let put quit read rid set shed shut spread upset "
# the words before one -> the parts of speech that they speak for
_BEFORE = (
    (
        " a an the my your his her its our their this that these those some any every no ",
        ("noun", "adj"),
    ),
    (" to will would shall should can could may might must do does did don let ", ("verb",)),
    (" i you he she it we they who ", ("verb", "adj", "adv")),
)
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


_COUNTS = "cntlist.rev"  # counts of meanings, which not every copy has
_NEEDED = (
    *(f"{kind}.{part}" for part in PARTS for kind in ("index", "data")),
    *(f"{part}.exc" for part in PARTS),
)


def _files_of(named: str | os.PathLike[str]) -> dict[str, bytes]:
    """The files of the database in a folder or an archive, by name; `InputError` where one is lacking."""
    path = Path(named)
    files: dict[str, bytes] = {}
    names, got = (*_NEEDED, _COUNTS), "no such folder or file"
    if path.is_dir():
        got = "a folder"
        files = {n: (path / n).read_bytes() for n in names if (path / n).is_file()}
    elif path.is_file():
        got = "an archive"
        try:
            files = _unpacked(path, names)
        except (tarfile.TarError, EOFError, OSError):
            got = "a file that is no tar archive"
    lacking = next((name for name in _NEEDED if name not in files), None)
    if lacking is None:
        return files
    got = f"{got} without {lacking}" if got in ("a folder", "an archive") else got
    raise InputError("the files of the WordNet database", got=got, remedy=_REMEDY, file=str(named))


def _unpacked(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Those files of an archive that have such names."""
    files: dict[str, bytes] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = Path(member.name).name
            file = archive.extractfile(member) if name in names else None
            if file is not None:
                files[name] = file.read()
    return files


@final
class WordNet:
    """The WordNet database, read from its files (`wndb(5WN)`); its words are looked up as `morphy(7WN)` does.

    ``path`` as in `find_wordnet`. Raises `InputError` for what holds no such files.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        files = _files_of(path)
        self._tagged = files.get(_COUNTS, b"")
        self._data = {part: files[f"data.{part}"] for part in PARTS}
        # word -> where meanings stand
        self._index: dict[str, dict[str, tuple[int, ...]]] = {part: {} for part in PARTS}
        self._irregular: dict[str, dict[str, list[str]]] = {}
        self._forms: dict[str, dict[str, list[str]]] = {part: defaultdict(list) for part in PARTS}
        for part in PARTS:
            for line in files[f"index.{part}"].decode("ascii").splitlines():
                if not line.startswith(" "):  # the licence
                    cells = line.split()
                    self._index[part][cells[0]] = tuple(
                        map(int, cells[len(cells) - int(cells[2]) :])
                    )
            lines = files[f"{part}.exc"].decode("ascii").splitlines()
            self._irregular[part] = {line.split()[0]: line.split()[1:] for line in lines}
            for form, bases in self._irregular[part].items():
                self._forms[part][bases[0]].append(form)

    def bases(self, word: str, part: str) -> tuple[str, ...]:
        """Base forms of a word as a part of speech ("noun", "verb", "adj", "adv") that the database knows."""
        forms = self._irregular[part].get(word) or [
            word[: -len(end)] + new
            for end, new in _ENDINGS[part]
            if word.endswith(end) and len(word) > len(end)
        ]
        return tuple(dict.fromkeys(base for base in (word, *forms) if base in self._index[part]))

    def synonyms(
        self, word: str, part: str | None = None, *, inflect: bool = False
    ) -> tuple[str, ...]:
        """All other words of all meanings of a word as a part of speech, or as any, sorted.

        Left out are the word itself, its base forms, and meanings with a name in digits (of "two": 2, deuce); what
        consists of several words has ``_`` or ``-`` in it. With ``inflect`` they are `inflected` as the word is.
        """
        small = word.lower()
        same = {small}
        out: set[str | None] = set()
        for kind in PARTS if part is None else (part,):
            for base in self.bases(small, kind):
                same.add(base)
                data = self._data[kind]
                for start in self._index[kind][base]:  # where the line of a meaning begins
                    cells = data[start : data.index(b"\n", start)].split(b" ", 4 + 2 * 255)
                    words = cells[4 : 4 + 2 * int(cells[3], 16) : 2]
                    # (p) marks adjectives
                    names = [name.decode("ascii").partition("(")[0] for name in words]
                    if not any(name[0].isdigit() for name in names):
                        as_is = not inflect or small == base
                        out.update(
                            n if as_is else self.inflected(n, kind, small)
                            for n in names
                            if n.lower() != base
                        )
        return tuple(sorted(synonym for synonym in out if synonym and synonym.lower() not in same))

    def inflected(self, base: str, part: str, like: str) -> str | None:
        """A base form in the form of another word: plural, third person, -ing, past, comparative or superlative.

        Forms of the exception lists first, then the rules of spelling. None where English needs a second word (more
        prominent), where past and participle differ and ``like`` may be either (moved), or `bases` would not lead back.
        """
        end, small = _ending(like, part), base.lower()
        forms = sorted(form for form in self._forms[part][small] if _ending(form, part) == end)
        if end == "ed" and (forms or f" {small} " in _UNCHANGED):
            return self._past(small, like, part)
        form: str | None = forms[-1] if forms else None
        syllables = len(re.findall("[aeiouy]+", re.sub("[ey]$", "", small)))
        if form is None and (syllables == 1 or end not in ("er", "est")):
            form = next(
                re.sub(old, new, base) for old, new in _SPELLING[end] if re.search(old, base)
            )
        return form if form and small in self.bases(form.lower(), part) else None

    def _past(self, verb: str, like: str, part: str) -> str | None:
        """Past or participle of an irregular verb, whichever another word is; None where that may be either."""
        early, late = self._pasts(verb)
        past, participle = self._pasts((self.bases(like, part) or ("",))[-1])
        if early != late and past == participle:
            return None
        return late if like == participle else early

    def _pasts(self, verb: str) -> tuple[str, str]:
        """Past and participle of a verb, the same word for many."""
        forms = sorted(f for f in self._forms["verb"][verb] if _ending(f, "verb") == "ed") or [verb]
        late = [
            f
            for f in forms
            if re.search("([eriw]n|ne)$", f) or f.replace("u", "a") in {*forms} - {f}
        ] or forms
        early = [form for form in forms if form not in late] or forms
        return early[-1], verb if re.search("(come|run)$", verb) else late[-1]

    @cached_property
    def _counts(self) -> Counter[tuple[str, str]]:
        counts = Counter[tuple[str, str]]()
        for line in self._tagged.decode("ascii").splitlines():  # cook%1:18:00:: 1 5
            counts[line.partition("%")[0], (*PARTS, "adj")[int(line.partition("%")[2][0]) - 1]] += (
                int(line.split()[2])
            )
        return counts

    def parts_of_speech(self, words: Sequence[str]) -> list[str | None]:
        """A guess at the part of speech of each word of a text; None for what the database does not know.

        No tagger: what a word is most often in texts that the authors of WordNet tagged (``cntlist.rev``; without it
        the first of noun, verb, adj, adv), weighed by the word before: "the", "to", "he". It is right for 90.6 % of the
        nouns, verbs, adjectives and adverbs of the treebanks UD EWT, GUM and GENTLE (89.3 % without the word before).
        """
        out: list[str | None] = []
        for before, word in pairwise(["", *map(str.lower, words)]):
            likely = next((parts for befores, parts in _BEFORE if f" {before} " in befores), PARTS)
            seen = {
                part: sum(1 + self._counts[base, part] for base in self.bases(word, part))
                for part in PARTS
            }
            best = max(PARTS, key=lambda part: seen[part] / (1 if part in likely else 64))
            out.append(best if seen[best] else None)
        return out


def _ending(form: str, part: str) -> str:
    """What an inflected form ends in where it is regular."""
    if part == "verb":
        return (
            "ing" if form.endswith("ing") else "s" if form.endswith("s") and form != "was" else "ed"
        )
    return "s" if part == "noun" else "est" if form.endswith("st") else "er"


_opened = lru_cache(maxsize=2)(WordNet)
