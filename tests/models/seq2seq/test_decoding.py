"""Decoding and scoring against plain loops: one input at a time, with and without a cache, T5 and BART."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError
from oodometer_lab.models.seq2seq import Beams, EncoderDecoder, decoding
from oodometer_lab.models.seq2seq.decoding import search
from oodometer_lab.models.torch.batches import padded
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot
from .conftest import SIZES

Pairs = tuple[list[str], list[str]]


def plain_generate(
    model: EncoderDecoder, torch: Any, text: str, beams: int, longest: int
) -> list[tuple[str, float]]:
    """transformers' own generate for one input, without batches, and its own account of the scores."""
    net, tokenizer = model.net, model.tokenizer
    with torch.inference_mode():
        found = net.generate(
            **tokenizer(text, return_tensors="pt", return_token_type_ids=False), num_beams=beams,
            num_return_sequences=beams, max_new_tokens=longest, do_sample=False, length_penalty=0.0,
            early_stopping=False, output_scores=True, return_dict_in_generate=True,
        )  # fmt: skip
    if beams > 1:
        scores = found.sequences_scores
    else:
        scores = net.compute_transition_scores(
            found.sequences, found.scores, normalize_logits=True
        ).sum(1)
    texts = tokenizer.batch_decode(
        found.sequences, skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return [(one.strip(), float(score)) for one, score in zip(texts, scores, strict=True)]


def plain_greedy(
    model: EncoderDecoder, torch: Any, text: str, longest: int
) -> tuple[list[int], list[float]]:
    """The most probable token again and again, the whole prefix read anew at each step: no cache, no generate."""
    net = model.net
    ids = model.tokenizer(text, return_tensors="pt", return_token_type_ids=False)
    written, scores = [net.generation_config.decoder_start_token_id], []
    with torch.inference_mode():
        while len(scores) < longest:
            logits = net(**ids, decoder_input_ids=torch.tensor([written])).logits[0, -1]
            logprobs = torch.log_softmax(logits, -1)
            written.append(int(logprobs.argmax()))
            scores.append(float(logprobs.max()))
            if written[-1] == net.generation_config.eos_token_id:
                break
    return written[1:], scores


INPUTS = [
    "ant",
    "fox eel dog",
    "bee cat",
    "zebra ant",
    "",
    "cat",
    "fox fox fox",
    "ant bee cat dog eel fox ant",
]


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_beams_equal_plain_generate(model: EncoderDecoder, torch: Any, beams: int) -> None:
    model.batch_tokens = 300  # a few rows a batch
    found = model.decode(INPUTS, beams=beams)
    for i, text in enumerate(INPUTS):
        expected = plain_generate(model, torch, text, beams, model.max_output_length)
        assert found.outputs[i] == [one for one, _ in expected]
        np.testing.assert_allclose(found.logprobs[i], [score for _, score in expected], atol=2e-4)


def test_greedy_equals_a_loop_without_a_cache(model: EncoderDecoder, torch: Any) -> None:
    found = model.decode(INPUTS)
    for i, text in enumerate(INPUTS):
        ids, scores = plain_greedy(model, torch, text, model.max_output_length)
        own = slice(found.token_logprobs.offsets[i], found.token_logprobs.offsets[i + 1])
        np.testing.assert_allclose(found.token_logprobs.values[own], scores, atol=1e-4)
        assert found.outputs[i] == [model.tokenizer.decode([one for one in ids if one != 1])]


@pytest.mark.parametrize("beams", [1, 3])
def test_pretrained_models_equal_plain_generate(
    source: str, torch: Any, pairs: Pairs, beams: int
) -> None:
    """Untrained weights write outputs without end, which real ones seldom do; BART begins with <s>."""
    model = EncoderDecoder(source, max_output_length=9, batch_tokens=200)
    texts = [*pairs[0][:6], "CAT ( )", "a"]
    found = model.decode(texts, beams=beams)
    for i, text in enumerate(texts):
        expected = plain_generate(model, torch, text, beams, 9)
        np.testing.assert_allclose(found.logprobs[i], [score for _, score in expected], atol=2e-4)
        assert [one.replace(" ", "") for one in found.outputs[i]] == [
            one.replace(" ", "") for one, _ in expected
        ]


def test_habits_of_decoding_are_not_taken_over(
    tiny_bart: Path, transformers: Any, torch: Any
) -> None:
    """The tiny BART was published with a least length and without repeated tokens."""
    published = transformers.BartForConditionalGeneration.from_pretrained(tiny_bart)
    assert published.generation_config.min_length == 12
    model = EncoderDecoder(str(tiny_bart), max_output_length=12)
    ids, _ = plain_greedy(model_ready(model), torch, "ant bee", 12)
    own = model.tokenizer("ant bee", return_tensors="pt", return_token_type_ids=False)
    theirs = published.generate(**own, max_new_tokens=12)[0, 1:].tolist()
    assert ids != theirs
    expected = model.tokenizer.decode([one for one in ids if one not in (0, 1, 2)])
    assert model.decode(["ant bee"]).best[0] == expected.strip()


def model_ready(model: EncoderDecoder) -> EncoderDecoder:
    model.decode(["ant"])
    return model


@pytest.mark.parametrize("beams", [1, 4])
def test_no_answer_depends_on_order_neighbours_or_budget(
    model: EncoderDecoder, pairs: Pairs, beams: int
) -> None:
    texts = [*pairs[0][200:], *INPUTS]
    whole = model.decode(texts, beams=beams)
    order = np.random.default_rng(1).permutation(len(texts))
    for budget in (1, 60, 500, 10**6):
        model.batch_tokens = budget
        again = model.decode([texts[i] for i in order], beams=beams)
        assert again.outputs == [whole.outputs[i] for i in order]
        np.testing.assert_allclose(again.logprobs, whole.logprobs[order], atol=2e-4)
        np.testing.assert_allclose(
            again.token_logprobs.values, whole.token_logprobs.take(order).values, atol=2e-4
        )


@pytest.mark.parametrize("usual", [1, 4, 7, 500])
def test_no_answer_depends_on_where_the_first_pass_stops(
    model: EncoderDecoder, pairs: Pairs, usual: int
) -> None:
    texts = [*pairs[0][200:220], *INPUTS]
    whole = model.decode(texts, beams=3)
    model._usual = usual
    again = model.decode(texts, beams=3)
    assert again.outputs == whole.outputs
    np.testing.assert_allclose(again.logprobs, whole.logprobs, atol=2e-4)


def test_batches_stay_within_the_budget(
    model: EncoderDecoder, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    plain = decoding.search

    def watched(net: Any, states: Any, mask: Any, *, beams: int, cap: int) -> Any:
        rows, width = mask.shape
        seen.append(rows * beams * (width + cap))
        assert seen[-1] <= 400 or rows == 1
        return plain(net, states, mask, beams=beams, cap=cap)

    monkeypatch.setattr(decoding, "search", watched)
    model.batch_tokens = 400
    model.decode(pairs[0][:100], beams=3)
    assert len(seen) > 10
    assert np.median(seen) > 250  # and fill it


@pytest.mark.parametrize("gain", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("beams", [1, 3])
def test_no_answer_depends_on_who_has_left_the_batch(
    torch: Any,
    model: EncoderDecoder,
    pairs: Pairs,
    gain: float,
    beams: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Packed at each step, now and then, or never."""
    read = model.ready()[0].read([*pairs[0][200:], *INPUTS])
    ids, real = padded(read, np.arange(len(read)), model.tokenizer.pad_token_id)
    mask = torch.from_numpy(real).long()
    with torch.inference_mode():
        states = model.net.get_encoder()(input_ids=torch.from_numpy(ids), attention_mask=mask)
        whole = search(model.net, states, mask, beams=beams, cap=20)
        monkeypatch.setattr(decoding, "LEAST_GAIN", gain)
        again = search(model.net, states, mask, beams=beams, cap=20)
    (ids, _, real, totals, _), (ids_again, _, real_again, totals_again, _) = whole, again
    assert bool((ids_again == ids)[real].all())
    assert bool((real_again == real).all())
    np.testing.assert_allclose(totals_again, totals, atol=2e-4)


def test_a_wide_search_finds_every_output(transformers: Any) -> None:
    """A vocabulary of one word: all 13 outputs of at most two tokens are found, and where there are no more, NaN."""
    model = EncoderDecoder(
        config=SIZES, training=TrainingConfig(epochs=1), max_output_length=2
    ).fit(["a"], ["a"])
    found = model.decode(["a", "a a"], beams=16)
    assert [len(beams) for beams in found.outputs] == [13, 13]
    assert np.isnan(found.logprobs[:, 13:]).all()
    np.testing.assert_allclose(np.exp(found.logprobs[:, :13].astype(float)).sum(1), 1, atol=1e-5)
    assert (np.diff(found.logprobs[:, :13], axis=1) <= 0).all()
    for text, beams, logprobs in zip(["a", "a a"], found.outputs, found.logprobs, strict=True):
        best = [beam for beam in beams if beam in ("", "a", "a a")]
        for beam in set(best):
            scored = model.logprobs([text], [beam]).values
            expected = scored[:2].sum() if beam == "a a" else scored.sum()  # cut after two tokens
            assert np.isclose(logprobs[:13], expected, atol=1e-4).any()


def test_logits_of_large_vocabularies_are_scored_in_parts(
    model: EncoderDecoder, pairs: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = model.logprobs(*pairs).values
    monkeypatch.setattr(decoding, "MOST_LOGITS", 700)
    seen: list[tuple[int, int]] = []
    found = model.logprobs(*pairs, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 10
    assert seen[-1] == (len(pairs[0]), len(pairs[0]))
    np.testing.assert_allclose(found.values, whole, atol=1e-4)


def test_given_outputs_score_as_they_did_when_they_were_written(
    model: EncoderDecoder, pairs: Pairs
) -> None:
    texts = pairs[0][200:]
    found = model.decode(texts, beams=2)
    again = model.logprobs(texts, found.best)
    np.testing.assert_array_equal(again.offsets, found.token_logprobs.offsets)
    np.testing.assert_allclose(again.values, found.token_logprobs.values, atol=2e-4)
    np.testing.assert_allclose(again.sums(), found.logprobs[:, 0], atol=1e-3)
    assert found.logprobs.dtype == np.float32


def test_log_probabilities_against_a_loop(source: str, torch: Any, pairs: Pairs) -> None:
    """One pair at a time, token after token, by the formula."""
    model = EncoderDecoder(source, batch_tokens=120)
    inputs, outputs = pairs[0][:7], pairs[1][:7]
    found = model.logprobs(inputs, outputs)
    for i, (text, output) in enumerate(zip(inputs, outputs, strict=True)):
        ids = model.tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        written = [model.net.generation_config.decoder_start_token_id]
        own = found.values[found.offsets[i] : found.offsets[i + 1]]
        labels = model.tokenizer(output)["input_ids"]
        assert len(own) == len(labels)
        for value, label in zip(own, labels, strict=True):
            with torch.inference_mode():
                logits = (
                    model.net(**ids, decoder_input_ids=torch.tensor([written]))
                    .logits[0, -1]
                    .double()
                )
            assert value == pytest.approx(
                float(logits[label] - torch.logsumexp(logits, 0)), abs=1e-4
            )
            written.append(label)


def test_what_the_model_cannot_spell_has_no_probability(model: EncoderDecoder) -> None:
    found = model.logprobs(["ant", "ant"], ["ANT zebra", "ANT ( )"])
    assert found.values[:3].tolist()[1] == -np.inf
    assert np.isfinite(found.values[3:]).all()
    assert found.sums()[0] == -np.inf


def test_empty_outputs_are_answers(trained: Path, torch: Any) -> None:
    """A model whose first token is the mark of the end says nothing, and with what probability."""
    model = EncoderDecoder.load(trained)
    with torch.no_grad():
        model.net.decoder.final_layer_norm.weight.zero_()  # all logits 0: the end is as likely as anything
    found = model.decode(["ant", "bee cat"], beams=1)
    size = model.net.config.vocab_size
    np.testing.assert_allclose(found.token_logprobs.values, -np.log(size), rtol=1e-5)
    record = model.predict(["ant"], gold=[""], beams=1)
    assert record.output is not None
    scored = model.logprobs(["ant"], [""])
    assert scored.lengths.tolist() == [1]
    assert float(scored.values[0]) == pytest.approx(-np.log(size), rel=1e-5)


def test_an_output_without_end_is_cut(model: EncoderDecoder) -> None:
    whole = model.decode(["ant", "fox eel dog"])
    assert whole.token_logprobs.lengths.min() > 3
    model._codec.max_output_length = 3  # type: ignore[union-attr]
    cut = model.decode(["ant", "fox eel dog"])
    for i in (0, 1):
        assert cut.best[i].split() == whole.best[i].split()[:3]
        first = whole.token_logprobs.values[whole.token_logprobs.offsets[i] :][:3]
        np.testing.assert_allclose(cut.token_logprobs.values[3 * i : 3 * i + 3], first, atol=1e-4)


def test_no_inputs_no_beams(model: EncoderDecoder) -> None:
    found = model.decode([], beams=3)
    assert isinstance(found, Beams)
    assert (len(found), found.logprobs.shape, found.truncated) == (0, (0, 3), 0)
    assert len(model.logprobs([], [])) == 0


def test_progress_counts_samples(model: EncoderDecoder, pairs: Pairs) -> None:
    for call in (
        lambda progress: model.decode(pairs[0][:30], beams=2, progress=progress),
        lambda progress: model.logprobs(pairs[0][:30], pairs[1][:30], progress=progress),
    ):
        seen: list[tuple[int, int]] = []
        model.batch_tokens = 100
        call(lambda done, total, seen=seen: seen.append((done, total)))
        assert [done for done, _ in seen] == sorted({done for done, _ in seen})
        assert seen[-1] == (30, 30)
        assert len(seen) > 2


def test_inputs_that_are_too_long_are_counted_and_warned_about_once(trained: Path) -> None:
    model = EncoderDecoder.load(trained)
    model._codec.max_length = 3  # type: ignore[union-attr]
    with pytest.warns(
        UserWarning, match=r"2 of 3 inputs \(66.7 %\) are longer than 3 tokens and lose their end"
    ) as seen:
        found = model.decode(["ant bee cat", "ant", "dog eel fox ant"])
    assert len(seen) == 1
    assert Path(seen[0].filename) == Path(__file__)
    assert found.truncated == model.truncated == 2
    again = model.decode(["ant bee dog", "ant bee"])  # no second warning: warnings are errors here
    assert again.truncated == 1
    assert again.best[0] == again.best[1]
    model.decode(["ant"])
    assert model.truncated == 0


def test_a_model_with_few_places(tiny_bart: Path) -> None:
    """BART has places for so many tokens and no more: longer inputs are cut there, longer outputs not scored."""
    model = EncoderDecoder(str(tiny_bart))
    with pytest.warns(
        UserWarning,
        match="longer than 48 tokens and lose their end; the model has places for no more",
    ):
        found = model.decode(["ant bee " * 40])
    assert found.truncated == 1
    assert found.token_logprobs.lengths[0] <= 48
    with raises_snapshot(InputError):
        model.logprobs(["a", "a"], ["ANT", "ANT ( BEE ) " * 30])


def test_bad_calls_are_one_line(model: EncoderDecoder) -> None:
    with raises_snapshot(UsageError):
        model.decode(["ant"], beams=0)
    with raises_snapshot(InputError):
        model.decode(["ant", None])  # type: ignore[list-item]
    with raises_snapshot(InputError):
        model.logprobs(["ant", "bee"], ["ANT"])
    with raises_snapshot(InputError):
        model.predict("ant")
