"""Sequences for recipes: each loader on a file in its real form, each cleaner by hand, every fault in one line."""

from __future__ import annotations

import json
import lzma
import sys
import tarfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from oodometer import datasets as sequences
from oodometer.errors import InputError, MissingExtraError, UsageError, WorkError
from oodometer_lab.datasets import Dataset
from oodometer_lab.datasets.base import split_by_group
from oodometer_lab.datasets.files import read_lines, read_member
from oodometer_lab.datasets.logical_forms import DOMAINS, few_of_each, tags_of, without_variables
from oodometer_lab.datasets.tagging import from_brown, from_penn
from oodometer_lab.datasets.trees import (
    Tree,
    linearise,
    numbered,
    parse,
    signature,
    with_signatures,
)

from ..snapshots import raises_snapshot

UNIVERSAL = {"NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", "."}


def jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


# ---------------------------------------------------------------- the record


def toy(rows: int = 30) -> Dataset:
    return Dataset.of_rows(
        "toy", [(f"in {i}", f"out {i}", "abc"[min(2, i // 5)], str(i)) for i in range(rows)], "here"
    )


def test_samples_are_even_seeded_and_keep_pairs() -> None:
    data = toy()
    few = data.sample(13, seed=1)
    assert few.counts == {"a": 4, "b": 4, "c": 5} or sorted(few.counts.values()) == [4, 4, 5]
    assert few == data.sample(13, seed=1)
    assert few.ids != data.sample(13, seed=2).ids
    assert all(
        i.split()[1] == o.split()[1] == n
        for i, o, n in zip(few.inputs, few.targets, few.ids, strict=True)
    )
    assert data.sample(25, seed=0).counts == {"a": 5, "b": 5, "c": 15}  # small types are used up
    whole = data.sample(None, seed=0)
    assert sorted(whole.ids) == sorted(data.ids) != list(whole.ids)


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=40),
    st.integers(1, 50),
    st.integers(0, 3),
)
def test_samples_differ_by_one_at_most_until_a_type_is_used_up(
    types: list[str], rows: int, seed: int
) -> None:
    data = Dataset.of_rows("toy", [(str(i), "", t, str(i)) for i, t in enumerate(types)], "here")
    drawn = data.sample(rows, seed)
    assert len(drawn) == min(rows, len(types))
    assert len(set(drawn.ids)) == len(drawn)
    whole, part = Counter(types), drawn.counts
    open_ones = [part.get(t, 0) for t in whole if part.get(t, 0) < whole[t]]
    if open_ones:
        assert max(part.values()) <= min(open_ones) + 1


def test_rows_are_kept_rewritten_and_joined() -> None:
    data = toy(4)
    short = data.keep(lambda i, o: i != "in 2")
    assert short.ids == ("0", "1", "3")
    assert data.rewritten(str.upper).inputs[0] == "IN 0"
    both = data + short
    assert (len(both), both.source) == (7, "here")
    assert both.fingerprint != data.fingerprint == toy(4).fingerprint
    with raises_snapshot(InputError):
        data.keep(lambda i, o: False)
    with raises_snapshot(InputError):
        Dataset.of_rows("toy", [], "here")


def test_documents_stay_together() -> None:
    rng = np.random.default_rng(0)
    groups = [f"d{i}" for i in rng.integers(0, 40, size=300)]
    data = Dataset.of_rows("toy", [(str(i), "", "", str(i)) for i in range(300)], "here")
    parts = split_by_group(data, groups, (0.7, 0.1, 0.2), seed=3)
    of = [{groups[int(i)] for i in part.ids} for part in parts]
    assert not of[0] & of[1] | of[0] & of[2] | of[1] & of[2]
    assert sum(map(len, parts)) == 300
    assert abs(len(parts[0]) - 210) < 20
    assert [part.ids for part in split_by_group(data, groups, (0.7, 0.1, 0.2), seed=3)] == [
        p.ids for p in parts
    ]


# ---------------------------------------------------------------- COGS


def cogs_files(
    home: Path, text: str = "A boy saw to Emma .\tsee ( agent = boy )\tin_distribution\n"
) -> None:
    (home / "cogs").mkdir(exist_ok=True)
    for split in ("train", "dev", "test", "gen"):
        for form in ("", "_varfree"):
            (home / "cogs" / f"{split}{form}.tsv").write_text(text)
    lexicon: dict[str, Any] = {
        "nouns": ["boy"],
        "proper_nouns": ["Emma"],
        "verbs2lemmas": {"saw": "see"},
    }
    for name in ("nouns", "proper_nouns", "verbs2lemmas", "V_trans", "V_unacc", "V_unerg"):
        (home / "cogs" / f"lexicon_{name}.json").write_text(json.dumps(lexicon.get(name, [])))


def test_cogs_from_a_folder_and_from_the_archive(here: Path) -> None:
    cogs_files(here)
    data = sequences.cogs("gen")
    assert (data.inputs, data.targets, data.types, data.ids) == (
        ("A boy saw to Emma .",), ("see ( agent = boy )",), ("in_distribution",), ("gen/1",)
    )  # fmt: skip
    assert sequences.pos_cogs("train").targets == ("Det N V P Name",)
    with tarfile.open(here / "cogs.tar.xz", "w:xz") as archive:
        archive.add(here / "cogs", "cogs")
    (here / "cogs").rename(here / "away")
    assert sequences.cogs("gen") == data
    with raises_snapshot(UsageError):
        sequences.cogs("all")


def test_tags_by_hand() -> None:
    lexicon = {"The": "Det", "girl": "N", "was": "Aux", "given": "V", "a": "Det", "cake": "N", "in": "P", "walk": "V",
               "wanted": "V", "hoped": "V", "that": "C", "Liam": "Name", "by": "P"}  # fmt: skip
    assert tags_of(["Liam", "hoped", "that", "The", "girl", "wanted", "to", "walk", "."], lexicon) == [
        "Name", "V", "C", "Det", "N", "V", "Inf", "V",
    ]  # fmt: skip
    assert tags_of(["a", "cake", "was", "given", "to", "Liam", "by", "a", "girl", "."], lexicon) == [
        "Det", "N", "Aux", "V", "P", "Name", "P", "Det", "N",
    ]  # fmt: skip
    assert tags_of(["walk"], lexicon) == ["V"]  # a primitive has no full stop


def test_faults_of_cogs(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_snapshot(InputError):
        sequences.cogs("dev")
    (here / "cogs.tar.xz").write_bytes(b"nothing")
    with raises_snapshot(InputError):
        sequences.cogs("dev")
    with tarfile.open(here / "cogs.tar.xz", "w:xz"):
        pass
    with raises_snapshot(InputError):
        sequences.cogs("dev")
    cogs_files(here, "A boy saw Emma .\tno type\n")
    with raises_snapshot(InputError):
        sequences.cogs("dev")
    cogs_files(here, "A gnu saw Emma .\tx\tin_distribution\n")
    with raises_snapshot(InputError):
        sequences.pos_cogs("dev")
    monkeypatch.setattr("oodometer_lab.datasets.files.data_folder", lambda: None)
    with raises_snapshot(WorkError):
        sequences.cogs("dev")


# ---------------------------------------------------------------- tags


def test_wsj_brown_and_masc(here: Path) -> None:
    rows = [
        {
            "corpus": "wsj_sample",
            "genre": "news",
            "doc": f"d{i}",
            "i": 0,
            "tok": f"w{i} to",
            "tag": "NN TO",
        }
        for i in range(10)
    ]
    rows += [
        {"corpus": "conll2000_train", "genre": "news", "i": 1, "tok": "His dog", "tag": "PRP$ NN"},
        {
            "corpus": "brown",
            "genre": "humor",
            "doc": "b",
            "i": 0,
            "tok": "His dog to that",
            "tag": "PP$ NN-HL IN WPS",
        },
        {"corpus": "masc", "genre": "spoken", "doc": "m", "i": 0, "tok": "uh -", "tag": "UH -"},
        {"corpus": "nps_chat", "genre": "chat", "tok": "lol", "tag": "UH"},
    ]
    jsonl(here / "pos_wsj_brown_etc.jsonl.xz", rows)
    parts = {
        split: sequences.wsj_tags(split) for split in ("train", "dev", "test", "brown", "masc")
    }
    assert [len(part) for part in parts.values()] == [8, 1, 2, 1, 1]
    assert "PRON NOUN" in parts["train"].targets  # of CoNLL-2000
    assert parts["brown"].targets == ("PRON NOUN PRT DET",)
    assert parts["masc"].targets == ("X .",)
    assert parts["brown"].types == ("humor",)
    seen = {name for split in ("train", "dev", "test") for name in parts[split].inputs}
    assert len(seen) == 11
    with raises_snapshot(UsageError):
        sequences.wsj_tags("chat")


def test_universal_tags() -> None:
    assert {
        from_penn(tag)
        for tag in ("NN", "VBZ", "JJR", "WRB", "WP$", "EX", "IN", "CD", "CC", "RP", "FW", "``")
    } == UNIVERSAL
    by_hand = {"NP$-TL": "NOUN", "HVD*": "VERB", "ABN": "DET", "AP": "ADJ", "QL": "ADV", "CS": "ADP", "DT+BEZ": "DET",
               "*": "ADV", "NIL": "X", "(-HL": ".", "---HL": ".", "FW-NN-TL": "X", "WP$": "PRON"}  # fmt: skip
    assert {tag: from_brown(tag) for tag in by_hand} == by_hand


def test_ud(here: Path) -> None:
    jsonl(
        here / "ud_pos.jsonl.xz",
        [{"treebank": t, "split": s, "genre": g, "id": f"{t}{s}", "tok": "a b", "upos": "DET NOUN", "xpos": "DT NN"}
         for t, s, g in (("ewt", "train", "email"), ("ewt", "dev", "weblog"), ("gum", "test", "bio"))],
    )  # fmt: skip
    assert sequences.ud_tags("ewt", ("train",)).types == ("email",)
    assert sequences.ud_tags("gum").targets == ("DET NOUN",)
    with raises_snapshot(InputError):
        sequences.ud_tags("gentle")
    jsonl(
        here / "ud_pos.jsonl.xz",
        [{"treebank": "gum", "split": "test", "genre": "bio", "tok": "a b", "upos": "DET"}],
    )
    sequences.tagging._treebanks.cache_clear()
    with raises_snapshot(InputError):
        sequences.ud_tags("gum")


# ---------------------------------------------------------------- trees


def test_trees_by_hand() -> None:
    tree = parse(
        "(ROOT (S (NP-SBJ-1 (DT A) (NN cat)) (VP (VBZ sits) (NP (-NONE- *T*-1)) (PP (IN on) (NP=2 (PRP it)))) (. .)))"
    )
    assert tree.words == ["A", "cat", "sits", "on", "it", "."]
    assert tree.tags == ["DT", "NN", "VBZ", "IN", "PRP", "."]
    assert linearise(tree) == "(TOP(S(NP(DT A)(NN cat))(VP(VBZ sits)(PP(IN on)(NP(PRP it))))(. .)))"
    assert linearise(tree, words=False) == "(TOP (S (NP 1 2 ) (VP 3 (PP 4 (NP 5 ) ) ) 6 ) )"
    assert [one.label for one in tree.constituents()] == ["TOP", "S", "NP", "VP", "PP", "NP"]
    # the release's nameless top, and brackets as words
    assert parse("((S (-LRB- -LRB-) (X y)))").tags == ["-LRB-", "X"]
    for broken in (
        "",
        "(S",
        "(S (NN a)))",
        "(S (NN a)) (S (NN b))",
        "word",
        "(S (NN a b))",
        "(S (NP (-NONE- *)))",
    ):
        with raises_snapshot(InputError):
            parse(broken)


def _trees(depth: int) -> st.SearchStrategy[Tree]:
    leaf = st.builds(
        lambda tag, word: Tree(tag, word=word),
        st.sampled_from(["NN", "DT", "."]),
        st.sampled_from("abc"),
    )
    labels = st.sampled_from(["NP", "VP", "S"])
    return st.recursive(
        leaf,
        lambda parts: st.builds(Tree, labels, st.lists(parts, min_size=1, max_size=3).map(tuple)),
        max_leaves=depth,
    )


@given(_trees(8))
def test_linearised_trees_can_be_read_back(tree: Tree) -> None:
    whole = Tree("TOP", (tree,))
    assert parse(linearise(whole)) == whole
    form = linearise(whole, words=False).split()
    assert [one for one in form if one.isdigit()] == [
        str(i) for i in range(1, len(whole.words) + 1)
    ]
    assert len(form) == len(whole.words) + 2 * len(whole.constituents())


def test_treebanks(here: Path) -> None:
    tree = "(S (NP (DT A) (NN cat)) (VP (VBZ sits)))"
    jsonl(
        here / "wsj_sample_trees.jsonl.xz",
        [{"doc": f"d{i}", "i": 0, "tree": tree} for i in range(20)],
    )
    jsonl(
        here / "gum_const.jsonl.xz",
        [{"corpus": "GUM", "genre": "bio", "doc": "g", "i": 1, "tree": f"(ROOT {tree})"}],
    )
    assert [len(sequences.wsj_trees(split)) for split in ("train", "dev", "test")] == [15, 2, 3]
    gum = sequences.gum_trees(words=False)
    assert (gum.inputs, gum.targets, gum.types) == (
        ("1 DT 2 NN 3 VBZ",),
        ("(TOP (S (NP 1 2 ) (VP 3 ) ) )",),
        ("bio",),
    )
    more = sequences.wsj_trees("train", words=False, clauses=True)
    assert len(more) == 16  # fifteen sentences and, once, the noun phrase; one word is no phrase
    assert more.targets[-1] == "(TOP (NP 1 2 ) )"
    assert more.counts == {"news": 15, "phrase": 1}
    with raises_snapshot(UsageError):
        sequences.wsj_trees("all")
    jsonl(here / "gum_const.jsonl.xz", [{"doc": "g", "i": 1, "tree": "(S"}])
    sequences.trees._trees.cache_clear()
    with raises_snapshot(InputError):
        sequences.gum_trees()


def test_penn_treebank_as_released(here: Path) -> None:
    for place in ("WSJ/02/WSJ_0200.MRG", "WSJ/23/WSJ_2300.MRG", "BROWN/CF/CF01.MRG"):
        path = here / "ptb" / place
        path.parent.mkdir(parents=True)
        path.write_text(
            "\n( (S (NP-SBJ (NNP Ms.) (NNP Haag))\n (VP (VBZ plays)) ))\n\n( (NP (NN end)) )\n"
        )
    assert len(sequences.penn_trees("train")) == len(sequences.penn_trees("test")) == 2
    brown = sequences.penn_tags("brown")
    assert (brown.targets, brown.types[0]) == (("NNP NNP VBZ", "NN"), "cf")
    assert sequences.penn_trees("brown").targets[1] == "(TOP(NP(NN end)))"
    with raises_snapshot(InputError):
        sequences.penn_trees("dev")
    with raises_snapshot(UsageError):
        sequences.penn_trees("all")


# ---------------------------------------------------------------- graphs


def test_graphs_by_hand() -> None:
    assert without_variables("(c / chapter :mod 1)") == "( chapter :mod 1 )"
    graph = """(b / boy :name (n / name :op1 "Ab (c" :op2 "d/e") :wiki - :ARG0-of (r / run-01 :polarity -) :poss b)"""
    assert (
        without_variables(graph)
        == '( boy :name ( name :op1 "Ab (c" :op2 "d/e" ) :ARG0-of ( run-01 :polarity - ) :poss boy )'
    )
    assert without_variables("(e / end)") == "end"
    for broken in ("(a / b", "(a / b))", ""):
        with raises_snapshot(InputError):
            without_variables(broken)


def test_little_prince_and_amr_2(here: Path) -> None:
    text = "# a head\n\n" + "".join(
        f"# ::id lp.{i} ::date\n# ::snt Chapter {i} .\n# ::file x\n(c / chapter\n   :mod {i})\n\n"
        for i in range(20)
    )
    (here / "amr_lp").mkdir()
    (here / "amr_lp" / "amr-bank-struct-v3.0.txt").write_text(text)
    parts = [sequences.little_prince(split) for split in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [16, 2, 2]
    assert len({name for part in parts for name in part.ids}) == 20
    found = dict(zip(parts[0].inputs, parts[0].targets, strict=True))
    assert all(found[one] == f"( chapter :mod {one.split()[1]} )" for one in found)
    with raises_snapshot(InputError):
        sequences.news_amr("train")
    home = here / "amr-2.0/data/amrs/split/training"
    home.mkdir(parents=True)
    (home / "amr-release-2.0-amrs-training-proxy.txt").write_text(text)
    assert sequences.news_amr("train").counts == {"proxy": 20}
    (home / "amr-release-2.0-amrs-training-proxy.txt").write_text("# ::id 1\n# ::snt a\n(a / b\n")
    with raises_snapshot(InputError):
        sequences.news_amr("train")
    for load in (sequences.news_amr, sequences.little_prince):
        with raises_snapshot(UsageError):
            load("all")


# ---------------------------------------------------------------- CFQ and TOPv2


def test_cfq_as_released(here: Path) -> None:
    (here / "cfq/splits").mkdir(parents=True)
    rows = [{"questionPatternModEntities": f"Did M{i} sing", "sparqlPatternModEntities": f"SELECT count(*)\nWHERE {i}"}
            for i in range(50)]  # fmt: skip
    (here / "cfq/dataset.json").write_text(json.dumps(rows))
    (here / "cfq/splits/mcd1.json").write_text(
        json.dumps({"trainIdxs": list(range(40)), "devIdxs": [40], "testIdxs": list(range(41, 50))})
    )
    train, dev, test = (sequences.cfq("mcd1", split) for split in ("train", "dev", "test"))
    assert (len(train), len(dev), len(test)) == (38, 2, 9)
    assert not {*train.inputs} & {*dev.inputs}
    assert {*train.ids, *dev.ids} == {
        f"train/{i}" for i in range(40)
    }  # never CFQ's own, which is like the test set
    assert test.targets[0] == "SELECT count(*) WHERE 41"
    with raises_snapshot(UsageError):
        sequences.cfq("random", "train")
    with raises_snapshot(InputError):
        sequences.cfq("mcd2", "train")
    (here / "cfq/splits/mcd3.json").write_text("{}")
    with raises_snapshot(InputError):
        sequences.cfq("mcd3", "train")


def top_files(home: Path) -> None:
    home.mkdir()
    for domain in DOMAINS:
        for split in ("train", "eval", "test"):
            (home / f"{domain}_{split}.tsv").write_text(
                "domain\tutterance\tsemantic_parse\n"
                + "".join(f"{domain}\tsay {i}\t[IN:A{i % 2} [SL:X {i} ] ]\n" for i in range(60))
            )


def test_topv2_as_released(here: Path) -> None:
    top_files(here / "TOPv2_Dataset")
    train = sequences.topv2("train", examples=5)
    assert {
        name: count for name, count in train.counts.items() if name not in ("weather", "reminder")
    } == dict.fromkeys(("alarm", "event", "messaging", "music", "navigation", "timer"), 60)
    assert 10 <= train.counts["weather"] <= 16
    assert sequences.topv2("test").counts == {"weather": 60}
    assert "weather" not in sequences.topv2("dev").counts
    few = here / "TOPv2_Dataset/low_resource_splits"
    few.mkdir()
    (few / "weather_train_5spis.tsv").write_text(
        "domain\tutterance\tsemantic_parse\nweather\train\t[IN:A ]\n"
    )
    assert sequences.topv2("train", examples=5).counts["weather"] == 1
    (few / "weather_train_5spis.tsv").write_text(
        "domain\tutterance\tsemantic_parse\nweather\train\n"
    )
    with raises_snapshot(InputError):
        sequences.topv2("train", examples=5)
    with raises_snapshot(UsageError):
        sequences.topv2("train", domain="sports")


@given(
    st.lists(st.lists(st.sampled_from("ABC"), min_size=1, max_size=3), min_size=1, max_size=30),
    st.integers(1, 4),
)
def test_few_of_each_has_enough_of_each(labels: list[list[str]], examples: int) -> None:
    outputs = [" ".join(f"[SL:{label} x ]" for label in row) for row in labels]
    kept = few_of_each(outputs, examples, seed=0)
    whole = Counter(label for row in labels for label in set(row))
    found = Counter(label for i in kept for label in set(labels[i]))
    assert all(found[label] >= min(examples, whole[label]) for label in whole)
    assert len(kept) <= sum(min(examples, count) for count in whole.values())


def test_the_hub_is_asked_where_no_folder_is(hub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    class Rows(list[dict[str, Any]]):
        @property
        def features(self) -> dict[str, Any]:
            names = ModuleType("upos")
            names.feature = ModuleType("feature")  # type: ignore[attr-defined]
            names.feature.names = ["DET", "NOUN"]
            return {"upos": names}

    def load(name: str, config: str | None = None, *, split: str) -> Rows:
        asked.append((name, config, split))
        if name.endswith("cfq"):
            return Rows({"question": f"q{i}", "query": "a\nb"} for i in range(20))
        if name.endswith("top_v2"):
            return Rows(
                {"domain": d, "utterance": "u", "semantic_parse": "[IN:A ]"}
                for d in ("weather", "alarm")
            )
        if split == "test":
            raise ConnectionError
        return Rows([{"tokens": ["a", "cat"], "upos": [0, 1]}])

    hub(load)
    assert len(sequences.cfq("mcd1", "train")) == 19
    assert sequences.cfq("mcd1", "test").targets[0] == "a b"
    assert sequences.topv2("test").counts == {"weather": 1}
    assert sequences.ud_tags("ewt", ("train", "dev")).targets == ("DET NOUN", "DET NOUN")
    assert asked[-1] == ("universal-dependencies/universal_dependencies", "en_ewt", "validation")
    with raises_snapshot(WorkError):
        sequences.ud_tags("gum", ("test",))
    for load_one in (
        lambda: sequences.ud_tags("gentle"), lambda: sequences.penn_trees("train"),
        lambda: sequences.news_amr("train"), lambda: sequences.little_prince("train"),
        lambda: sequences.wsj_trees("train"), lambda: sequences.wsj_tags("dev"),
    ):  # fmt: skip
        with raises_snapshot(WorkError):
            load_one()
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"\[hf\]"):
        sequences.cfq("mcd1", "train")


# ---------------------------------------------------------------- words and files


def test_words() -> None:
    rewrite = with_signatures(["a a b", "a b c"], least=2)
    assert rewrite("a b c Zurich 3rd 1,000") == f"a b {signature('c')} ~X ~0x ~0"
    assert [signature(word) for word in ("walked", "Walked", "walk-in", "I", "'s", "U.S.", "x2")] == [
        "~xed", "~Xed", "~x-", "~X", "~x", "~XX", "~x0",
    ]  # fmt: skip
    assert numbered("a b") == "1 a 2 b"
    assert numbered("") == ""


@given(st.text(alphabet="abcXYZ019-.,' ", min_size=1, max_size=20))
def test_signatures_keep_the_number_of_words(text: str) -> None:
    words = text.split()
    assert len(with_signatures([])(text).split()) == len(words)
    assert all(" " not in signature(word) and signature(word).startswith("~") for word in words)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\r\ntwo\n")
    assert list(read_lines(tmp_path / "a.txt")) == ["one", "two"]
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
    with raises_snapshot(InputError):
        list(read_lines(tmp_path / "b.txt"))
    with tarfile.open(tmp_path / "c.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "a.txt", "in/a.txt")
    assert read_member(tmp_path / "c.tar.xz", "in/a.txt") == ["one", "two"]


# ---------------------------------------------------------------- the real data


@pytest.mark.slow
def test_the_real_data(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OODOMETER_DATA", str(data_dir))
    gen = sequences.pos_cogs("gen")
    assert (len(sequences.cogs("train")), len(gen), len(gen.counts)) == (24_155, 21_000, 21)
    assert all(
        len(i.split()) - i.endswith(" .") == len(o.split())
        for i, o in zip(gen.inputs, gen.targets, strict=True)
    )
    assert sum(len(sequences.wsj_trees(split)) for split in ("train", "dev", "test")) == 3_914
    assert len(sequences.gum_trees(words=False).counts) == 23
    assert len(sequences.wsj_tags("brown").counts) == 15
    assert {
        tag for output in sequences.wsj_tags("train").targets for tag in output.split()
    } == UNIVERSAL
    assert sum(len(sequences.little_prince(split)) for split in ("train", "dev", "test")) == 1_562
    assert len(sequences.ud_tags("ewt", ("test",))) == 2_077
