"""Stand-ins: one-to-one exchanges, found for what a vocabulary lacks, and the check that comes before a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer_lab.models.seq2seq import (
    EncoderDecoder,
    StandIns,
    check_spelling,
    exact_match,
    find_stand_ins,
    learn_words,
)
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot

BRACES = ["CAT { ANT < BEE }", "{x}<y", "DOG ( )"]


@pytest.fixture(scope="module")
def t5(transformers: Any, tiny_t5: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(tiny_t5)


def plain(tokenizer: Any, text: str) -> str:
    """There and back, one text at a time."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


@given(st.text(alphabet="ab{}«» <", max_size=30))
def test_an_exchange_undoes_itself(text: str) -> None:
    swap = StandIns({"{": "«", "}": "»", "<": "b"})
    assert swap.decode(swap.encode(text)) == text


def test_by_hand() -> None:
    swap = StandIns({"{": "«", "count(*)": "all"})
    assert swap.encode("{ count(*) } «") == "« all } {"
    assert StandIns().encode("{") == "{"


@pytest.mark.parametrize(
    "mapping", [{"{": "a", "}": "a"}, {"{": "}", "}": "a"}, {"{": "{"}, {"{": ""}, {"": "a"}]
)
def test_what_is_not_one_to_one_is_refused(mapping: dict[str, str]) -> None:
    with raises_snapshot(InputError):
        StandIns(mapping)


def test_the_vocabulary_lacks_what_it_should(t5: Any) -> None:
    assert plain(t5, "{ a }") != "{ a }"
    assert plain(t5, "CAT ( ANT , BEE )") == "CAT ( ANT , BEE )"


def test_found_for_what_is_lost_and_for_nothing_else(t5: Any) -> None:
    found = find_stand_ins(t5, BRACES)
    assert set(found) == {"{", "}", "<"}
    assert len(set(found.values())) == 3
    everything = "\n".join(BRACES)
    for one in found.values():
        assert one not in everything
        assert one in t5.get_vocab() or f"▁{one}" in t5.get_vocab()
    swap = StandIns(found)
    for text in BRACES:
        assert swap.decode(plain(t5, swap.encode(text))) == text
    assert find_stand_ins(t5, ["CAT ( ANT )"]) == {}


def test_a_stand_in_occurs_in_no_text(t5: Any) -> None:
    first = find_stand_ins(t5, BRACES)
    taken = sorted(first.values())[0]
    assert taken not in find_stand_ins(t5, [*BRACES, f"a{taken}b"]).values()


def test_too_few_tokens_are_left(transformers: Any) -> None:
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), ("a", -2.0), ("b", -2.0)]
    with raises_snapshot(InputError):
        find_stand_ins(transformers.T5Tokenizer(vocab=pieces, extra_ids=1), ["a { b }"])


def test_check_names_the_row_and_what_is_lost(t5: Any) -> None:
    check_spelling(t5, ["CAT ( )", "CAT  ( )"])
    with raises_snapshot(InputError):
        check_spelling(t5, ["CAT", "CAT", "CAT ANT {", "}"])
    check_spelling(t5, BRACES, StandIns(find_stand_ins(t5, BRACES)))


def test_check_covers_every_distinct_output(t5: Any) -> None:
    """The last of many thousands, too."""
    many = [f"CAT {i}" for i in range(9000)]
    check_spelling(t5, many)
    with pytest.raises(InputError, match="row 9001"):
        check_spelling(t5, [*many, "{"])


def test_a_mark_of_the_end_within_an_output_is_lost(transformers: Any) -> None:
    found = learn_words(["a b"])
    with pytest.raises(InputError, match="row 1"):
        check_spelling(found, ["a c"])


def test_a_parser_learns_through_stand_ins(tiny_t5: Path, tmp_path: Path) -> None:
    """Braces are learnt, written, scored and matched as braces, after loading too."""
    inputs, outputs = ["ant", "bee", "cat", "dog"], ["{ ANT", "{ BEE }", "CAT < }", "DOG"]
    plan = TrainingConfig(epochs=150, batch_size=4, learning_rate=1e-2)
    model = EncoderDecoder(str(tiny_t5), training=plan, max_output_length=16).fit(inputs, outputs)
    assert exact_match(model.decode(inputs).best, outputs).all()
    again = EncoderDecoder.load(model.save(tmp_path))
    assert again.decode(inputs).best == outputs
    assert float(again.logprobs(inputs, outputs).sums().min()) > -0.5


def test_without_stand_ins_the_training_does_not_start(tiny_t5: Path) -> None:
    with raises_snapshot(InputError):
        EncoderDecoder(str(tiny_t5), stand_ins=None).fit(["a", "b"], ["CAT", "{ CAT }"])
    with pytest.raises(InputError, match="row 1: column output"):
        EncoderDecoder(str(tiny_t5), stand_ins={"{": "§"}).fit(["a"], ["{ CAT }"])


def test_unknown_words_of_inputs_are_counted_not_refused(model: EncoderDecoder) -> None:
    model.decode(["ant zebra", "yak zebra"])
    assert model.unknown == 3
    model.decode(["ant"])
    assert model.unknown == 0
