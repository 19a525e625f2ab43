"""WordNet: a small database by hand, the published one, base forms, and files that are none."""

from __future__ import annotations

import json
import lzma
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.shifts.text import KnownWords, ShiftedText, UnknownWords, Vocabulary
from oodometer_lab.shifts.text.wordnet import PARTS, WordNet, find_wordnet
from oodometer_lab.shifts.text.words import FUNCTION_WORDS, NUMBERS, is_piece, words_of

from ..snapshots import raises_snapshot

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
    ("word", "bases"),
    [("went", ("go",)), ("goes", ("go",)), ("moving", ("move",)), ("moved", ("move",)), ("s", ())],
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
    monkeypatch.setattr("oodometer_lab.shifts.text.wordnet._USUAL", ())
    with raises_snapshot(InputError):
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
    assert {"asleep", "benumbed"} <= set(
        found.synonyms("numb")
    )  # adjectives carry marks in the file


@pytest.fixture(scope="module")
def published() -> WordNet:
    if not ARCHIVE.is_file():
        pytest.skip("needs wordnet30.tar.xz in OODOMETER_DATA")
    return find_wordnet(ARCHIVE)


def test_meanings_in_digits_are_numbers(published: WordNet) -> None:
    assert published.synonyms("two") == ("deuce",)  # that of cards
    assert UnknownWords(Vocabulary.of(["a"]), synonyms=published).synonym("two") is None
    assert "C" not in published.synonyms("hundred")
    assert "devil" in published.synonyms("deuce")
    assert "1st" not in published.synonyms("first")
    assert {"instant", "moment"} <= set(published.synonyms("second"))


@pytest.mark.parametrize(
    ("base", "part", "like", "expected"),
    [
        ("automobile", "noun", "cars", "automobiles"),
        ("child", "noun", "cars", "children"),
        ("policeman", "noun", "cars", "policemen"),
        ("German", "noun", "cars", "Germans"),
        ("box", "noun", "cars", "boxes"),
        ("family", "noun", "cars", "families"),
        ("try", "verb", "goes", "tries"),
        ("go", "verb", "moves", "goes"),
        ("lie", "verb", "moving", "lying"),
        ("stop", "verb", "moving", "stopping"),
        ("agree", "verb", "moving", "agreeing"),
        ("journey", "verb", "went", "journeyed"),
        ("move", "verb", "went", "moved"),
        ("take", "verb", "went", "took"),
        ("take", "verb", "gone", "taken"),
        ("sing", "verb", "drank", "sang"),
        ("sing", "verb", "drunk", "sung"),
        ("run", "verb", "took", "ran"),
        ("become", "verb", "taken", "become"),
        ("put", "verb", "moved", "put"),
        ("build", "verb", "moved", "built"),
        ("take", "verb", "moved", None),  # took or taken
        ("large", "adj", "bigger", "larger"),
        ("easy", "adj", "happiest", "easiest"),
        ("bad", "adj", "best", "worst"),
        ("prominent", "adj", "bigger", None),  # more prominent
    ],
)
def test_forms_of_english(
    base: str, part: str, like: str, expected: str | None, published: WordNet
) -> None:
    assert published.inflected(base, part, like) == expected


@pytest.mark.parametrize("part", PARTS)
def test_every_form_leads_back_to_its_base(part: str, published: WordNet) -> None:
    likes = {
        "noun": ("cars",),
        "verb": ("moves", "moving", "went", "gone"),
        "adj": ("bigger", "best"),
        "adv": ("better",),
    }
    bases = [base for base in published._index[part] if base.isalpha()][::7]
    for like in likes[part]:
        forms = {base: published.inflected(base, part, like) for base in bases}
        assert all(
            base in published.bases(form, part) for base, form in forms.items() if form is not None
        )
        if part in ("noun", "verb"):
            assert sum(form is not None for form in forms.values()) > 0.97 * len(bases)


def test_parts_of_speech_are_guessed_by_use_and_by_the_word_before(published: WordNet) -> None:
    sentence = ["He", "can", "run", "the", "run", "to", "work"]
    assert published.parts_of_speech(sentence)[2::2] == ["verb", "noun", "verb"]
    assert published.parts_of_speech(["the", "", "xyzzy", "Quickly"]) == [None, None, None, "adv"]


def tagged() -> list[tuple[list[str], list[str]]]:
    path = ARCHIVE.parent / "ud_pos.jsonl.xz"
    if not path.is_file():
        pytest.skip("needs ud_pos.jsonl.xz in OODOMETER_DATA")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in list(file)[::20]]
    return [(row["tok"].split(" "), row["upos"].split(" ")) for row in rows]


def test_the_guess_is_as_good_as_it_says(published: WordNet) -> None:
    pairs = [
        (tag.lower(), guess)
        for words, tags in tagged()
        for tag, guess in zip(tags, published.parts_of_speech(words), strict=True)
        if tag.lower() in PARTS and guess is not None
    ]
    assert len(pairs) > 8_000
    assert abs(sum(tag == guess for tag, guess in pairs) / len(pairs) - 0.906) < 0.012


@pytest.mark.parametrize("cls", [UnknownWords, KnownWords])
@pytest.mark.parametrize("options", [{}, {"part_of_speech": True, "inflect": True}])
def test_real_dialogues_keep_their_words_but_those_exchanged(
    cls: Any, options: dict[str, Any], published: WordNet
) -> None:
    path = ARCHIVE.parent / "dailydialog.jsonl.xz"
    if not path.is_file():
        pytest.skip("needs dailydialog.jsonl.xz in OODOMETER_DATA")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        dialogues = [json.loads(next(file))["turns"] for _ in range(1_000)]
    shift = cls(
        Vocabulary.of(turn for turns in dialogues for turn in turns), synonyms=published, **options
    )
    exchanged = 0
    for row, turns in enumerate(dialogues[:150]):
        result = shift.apply(turns, "0.15", row=row)
        if not isinstance(result, ShiftedText):
            continue
        for before, after in zip(map(words_of, turns), map(words_of, result.turns), strict=True):
            assert len(before) == len(after)
            guesses = published.parts_of_speech([word.text for word in before])
            for at, (old, new) in enumerate(zip(before, after, strict=True)):
                if old.text == new.text:
                    continue
                exchanged += 1
                assert {old.text.lower(), new.text.lower()}.isdisjoint(NUMBERS | FUNCTION_WORDS)
                assert not is_piece(before, at)
                assert old.text[0].isupper() <= new.text[0].isupper()
                assert (shift.training.count(new.text) > 0) == (cls is KnownWords)
                if options:  # the new word has a base form among the synonyms of the old one's part of speech
                    part = guesses[at] or ""
                    small = new.text.lower()
                    names = {name.lower() for name in published.synonyms(old.text, part)}
                    assert {*published.bases(small, part)} & names, (old, new)
    assert exchanged > 500


def test_a_given_function_says_the_part_of_speech(published: WordNet) -> None:
    training = Vocabulary.of(["a car"])
    shift = UnknownWords(
        training,
        synonyms=published,
        part_of_speech=lambda words: ["NOUN"] * len(words),
        inflect=True,
    )
    assert (
        shift.apply(["cars went"], 1).why == "too few words that can be exchanged"
    )  # no noun is "went"
    assert shift.apply(["Cars went"], 0.5).turns == ("Automobiles went",)
    short = UnknownWords(training, synonyms=published, part_of_speech=lambda words: ["noun"])
    with raises_snapshot(InputError):
        short.apply(["Cars went"], 0.5)
    with raises_snapshot(UsageError):
        UnknownWords(training, synonyms=lambda word: [], inflect=True)
