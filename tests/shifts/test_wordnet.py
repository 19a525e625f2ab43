"""WordNet: a small database by hand, the published one, base forms, and files that are none."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from oodometer.errors import InputError
from oodometer.shifts.text.wordnet import WordNet, find_wordnet

LICENCE = "  1 This software and database is being provided\n"


def write_wordnet(home: Path) -> Path:
    """A database of three meanings: {house, home, dwelling_house}, {big(p), large} and {go, move}."""
    home.mkdir(parents=True)
    meanings = {
        "noun": [("n", ["house", "home", "dwelling_house"])],
        "adj": [("a", ["big(p)", "Large"])],
        "verb": [("v", ["go", "move"]), ("v", ["move", "affect"])],
        "adv": [],
    }
    exceptions = {"noun": "geese goose\n", "verb": "went go\ngone go\n", "adj": "", "adv": ""}
    for part, found in meanings.items():
        data, places = LICENCE, {}
        for kind, words in found:
            place = len(data)
            for word in words:
                places.setdefault(word.partition("(")[0].lower(), []).append(place)
            cells = " ".join(f"{word} 0" for word in words)
            data += f"{place:08d} 06 {kind} {len(words):02x} {cells} 000 | a meaning  \n"
        index = LICENCE
        for word, at in sorted(places.items()):
            index += f"{word} {part[0]} {len(at)} 1 @ {len(at)} 0 {' '.join(f'{one:08d}' for one in at)}  \n"
        (home / f"data.{part}").write_text(data)
        (home / f"index.{part}").write_text(index)
        (home / f"{part}.exc").write_text(exceptions[part])
    return home


def test_synonyms_of_all_meanings_and_parts_of_speech(tmp_path: Path) -> None:
    found = WordNet(write_wordnet(tmp_path / "wn"))
    assert found.synonyms("house") == ("dwelling_house", "home")
    assert found.synonyms("BIG") == ("Large",)
    assert found.synonyms("large") == ("big",)
    assert found.synonyms("move") == ("affect", "go")
    assert found.synonyms("nothing") == ()


@pytest.mark.parametrize(
    ("word", "bases"), [("went", ("go",)), ("goes", ("go",)), ("moving", ("move",)), ("moved", ("move",)), ("s", ())]
)
def test_base_forms_of_verbs(word: str, bases: tuple[str, ...], tmp_path: Path) -> None:
    assert WordNet(write_wordnet(tmp_path / "wn")).bases(word, "verb") == bases


def test_a_base_form_is_no_synonym(tmp_path: Path) -> None:
    found = WordNet(write_wordnet(tmp_path / "wn"))
    assert found.synonyms("went") == ("move",)
    assert found.synonyms("houses") == ("dwelling_house", "home")
    assert found.bases("bigger", "adj") == ()
    assert found.bases("larger", "adj") == ("large",)


def test_an_archive_is_read_as_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write_wordnet(tmp_path / "wn")
    with tarfile.open(tmp_path / "wn.tar.xz", "w:xz") as archive:
        archive.add(home, "wordnet30")
    monkeypatch.setenv("OODOMETER_WORDNET", str(tmp_path / "wn.tar.xz"))
    assert find_wordnet().synonyms("house") == find_wordnet(home).synonyms("house")


def test_what_is_no_database_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write_wordnet(tmp_path / "wn")
    (home / "data.verb").unlink()
    (tmp_path / "text.txt").write_text("nothing")
    with tarfile.open(tmp_path / "part.tar", "w") as archive:
        archive.add(home, "wordnet30")
    for place, words in (
        (home, "a folder without data.verb"),
        (tmp_path / "none", "no such folder or file"),
        (tmp_path / "text.txt", "no tar archive"),
        (tmp_path / "part.tar", "an archive without data.verb"),
    ):
        with pytest.raises(InputError, match=words) as refused:
            find_wordnet(place)
        assert "apt install wordnet-base" in str(refused.value)
    monkeypatch.delenv("OODOMETER_DATA", raising=False)
    monkeypatch.delenv("OODOMETER_WORDNET", raising=False)
    monkeypatch.setattr("oodometer.shifts.text.wordnet._USUAL", ())
    with pytest.raises(InputError, match="none in the usual places"):
        find_wordnet()


ARCHIVE = Path(os.environ.get("OODOMETER_DATA", "none")) / "wordnet30.tar.xz"


@pytest.mark.skipif(not ARCHIVE.is_file(), reason="needs wordnet30.tar.xz in OODOMETER_DATA")
def test_the_published_database() -> None:
    found = find_wordnet(ARCHIVE)
    assert found.bases("geese", "noun") == ("goose",)
    assert found.bases("churches", "noun") == ("church",)
    assert found.bases("better", "adj") == ("better", "good", "well")
    assert {"motorcar", "automobile", "railcar", "gondola", "auto"} <= set(found.synonyms("car"))
    assert found.synonyms("cars") == found.synonyms("car")
    assert set(found.synonyms("couch")) >= {"sofa", "lounge", "frame"}
    assert {"asleep", "benumbed"} <= set(found.synonyms("numb"))  # adjectives carry marks in the file
