"""Token integrated gradients: a plain torch loop gives the same, words add up to what the probability changed by."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, MissingExtraError, UsageError, install_line
from oodometer_lab.attributions import IntegratedGradients, Words
from oodometer_lab.attributions.integrated_gradients import pieces_of

from ..snapshots import raises_snapshot

pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")
TEXT = "a good film, unbelievably dull"
PAIR = ("the good film was seen", "a dull actor")


@pytest.fixture(scope="module")
def model(tiny_encoder: Path, transformers: Any) -> Any:
    from oodometer_lab.models import Encoder

    transformers.set_seed(3)
    found = Encoder.opened(str(tiny_encoder), device="cpu")
    found.net.classifier.weight.data *= 30  # so that probabilities are not all near a half
    found.net.bert.embeddings.word_embeddings.weight.data *= 10
    return found


def by_hand(
    model: Any, text: Any, torch: Any, steps: int, start: str
) -> tuple[Any, float, float, int]:
    """Values of the pieces: the trapezoidal rule over inputs_embeds, with the library's own network and tokenizer."""
    net, tokenizer = model.net, model.tokenizer
    given = tokenizer(*([text] if isinstance(text, str) else text), return_tensors="pt")
    ids = given.pop("input_ids")
    table = net.get_input_embeddings().weight.detach()
    there = table[ids]
    away = {
        "mask": table[tokenizer.mask_token_id],
        "pad": table[tokenizer.pad_token_id],
        "zero": torch.zeros(16),
    }[start]
    begin = there.clone()
    begin[:, 1:-1] = away  # all but the tokens at both ends
    sums = torch.zeros_like(there)
    for at in range(steps + 1):
        x = (begin + at / steps * (there - begin)).requires_grad_()
        p = net(inputs_embeds=x, **given).logits.softmax(-1)[0]
        if at == 0:
            first = p.detach()
            target = int(net(inputs_embeds=there, **given).logits.argmax())
        sums += torch.autograd.grad(p[target], x)[0] * (0.5 if at in (0, steps) else 1)
    values = ((there - begin) * sums / steps).sum(-1)[0].numpy()
    return values, float(p[target].detach()), float(first[target]), target


@pytest.mark.parametrize("baseline", ["mask", "pad", "zero"])
@pytest.mark.parametrize("text", [TEXT, PAIR])
def test_a_plain_loop_gives_the_same(model: Any, torch: Any, text: Any, baseline: str) -> None:
    values, p, base, target = by_hand(model, text, torch, 600, baseline)
    (found,) = IntegratedGradients(steps=100, baseline=baseline).explain(model, [text])
    assert found.target == target
    assert found.probability == pytest.approx(p, abs=1e-5)
    assert found.base == pytest.approx(base, abs=1e-5)
    given = model.tokenizer(
        *([text] if isinstance(text, str) else text), return_offsets_mapping=True
    )
    parts, offsets = given.sequence_ids(0), given["offset_mapping"]
    for (start, stop), part, word in zip(
        found.words.spans, found.words.parts, found.values, strict=True
    ):
        mine = [
            v
            for v, (a, b), where in zip(values, offsets, parts, strict=True)
            if where == part and start <= a < stop
        ]
        assert word == pytest.approx(sum(mine), abs=2e-4)
    if isinstance(text, tuple):
        assert found.separator == pytest.approx(values[parts.index(None, 1)], abs=2e-4)
    else:
        assert np.isnan(found.separator)


def test_values_add_up_to_what_the_probability_changed_by(model: Any) -> None:
    texts = [TEXT, PAIR, "good", ("", "a scene"), "the dull scene was seen"]
    for one in IntegratedGradients(steps=80).explain(model, texts):
        whole = float(np.nansum([*one.values, one.separator]))
        assert whole == pytest.approx(one.probability - one.base, abs=1e-2)
        assert one.fit == pytest.approx(one.probability - one.base - whole, abs=1e-9)
    (rough,) = IntegratedGradients(steps=1).explain(model, [TEXT])
    (fine,) = IntegratedGradients(steps=80).explain(model, [TEXT])
    assert abs(rough.fit) > abs(fine.fit)


def test_groups_are_the_batches_and_the_same_apart(model: Any) -> None:
    """To the last bit: each group alone is the batch that it is among the others."""
    texts: list[Any] = [*(" ".join(["a good dull film"] * (1 + at % 4)) for at in range(12)), PAIR]
    method = IntegratedGradients(steps=60)
    groups = method.groups_for(model, texts)
    assert sorted(at for group in groups for at in group) == list(range(13))
    assert 3 < len(groups) < 12  # neither one of all nor one a text
    whole = method.explain(model, texts)
    for group in groups:
        for at, one in zip(group, method.explain(model, [texts[at] for at in group]), strict=True):
            assert (one.words, one.target) == (whole[at].words, whole[at].target)
            assert np.array_equal(one.values, whole[at].values)
            assert (one.probability, one.base, one.fit) == (
                whole[at].probability,
                whole[at].base,
                whole[at].fit,
            )


def test_batches_of_examples_and_steps_do_not_matter(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import oodometer_lab.attributions.integrated_gradients as home

    texts: list[Any] = [TEXT, "good", PAIR, "a film " * 9, "dull"]
    told: list[tuple[int, int]] = []
    whole = IntegratedGradients(steps=20).explain(
        model, texts, progress=lambda *at: told.append(at)
    )
    assert told[-1] == (5, 5)
    monkeypatch.setattr(home, "tokens_at_once", lambda device: 40)
    parts = IntegratedGradients(steps=20).explain(model, texts)
    for one, other in zip(whole, parts, strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-5)


@pytest.mark.parametrize("cut_at_the_end", [True, False])
def test_a_long_text_has_0_where_it_was_cut(
    model: Any, cut_at_the_end: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_ends_cut", cut_at_the_end)
    long = " ".join(["film"] * 100)
    method = IntegratedGradients(steps=4)
    found = method.explain(model, [long, "a film", (long, "a film")])
    assert method.truncated == 2
    zeros = found[0].values == 0
    assert zeros.sum() == 100 - 62
    assert zeros[62:].all() if cut_at_the_end else (zeros[15:53].all() and found[0].values[-1] != 0)
    assert (found[2].values == 0).sum() == 102 - 61
    assert found[2].values[-1] != 0


@pytest.mark.parametrize(
    "texts", [[TEXT, "x" * 30, "film " * 80], [PAIR, ("film " * 50, "a " * 40), ("", "a film")]]
)
def test_pieces_are_those_that_the_encoder_asks_about(model: Any, texts: Any) -> None:
    ids = model._ids(texts)
    pieces = pieces_of(model, [Words(one) for one in texts])
    for row, one in enumerate(pieces):
        assert one.ids.tolist() == ids.values[ids.offsets[row] : ids.offsets[row + 1]].tolist()
        assert set(one.shares.sum(axis=1).round(12)) <= {0.0, 1.0}
        assert one.moves.tolist() == [False] + [True] * (len(one.ids) - 2) + [False]


def test_two_separators_and_pieces_over_several_words(tmp_path: Path, transformers: Any) -> None:
    """As in RoBERTa: pieces by bytes that hold a space or several marks, two special tokens between the parts."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors

    from oodometer_lab.models import Encoder

    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merged = ["..", "...", "\u0120a", "fi", "lm", "film", "\u0120film"]
    merges = [
        (".", "."),
        ("..", "."),
        ("\u0120", "a"),
        ("f", "i"),
        ("l", "m"),
        ("fi", "lm"),
        ("\u0120", "film"),
    ]
    vocabulary = {one: at for at, one in enumerate([*marks, *letters, *merged])}
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>",
        pad_token="<pad>", mask_token="<mask>", unk_token="<unk>", model_max_length=64,
    )  # fmt: skip
    config = transformers.RobertaConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=66, pad_token_id=1, type_vocab_size=1,
    )  # fmt: skip
    transformers.set_seed(0)
    transformers.RobertaForSequenceClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = Encoder.opened(str(tmp_path), device="cpu")
    words = Words(("a film...", "film a"))
    (pieces,) = pieces_of(model, [words])
    names = model.tokenizer.convert_ids_to_tokens(pieces.ids.tolist())
    assert names == ["<s>", "a", "\u0120film", "...", "</s>", "</s>", "film", "\u0120a", "</s>"]
    assert words.words == ("a", "film", ".", ".", ".", "film", "a")
    assert pieces.shares[3].round(3).tolist() == [0, 0, 0.333, 0.333, 0.333, 0, 0, 0]
    assert pieces.shares[:, -1].tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0]
    (found,) = IntegratedGradients(steps=30).explain(model, [words])
    assert float(found.values.sum()) + found.separator == pytest.approx(
        found.probability - found.base, abs=1e-4
    )
    assert found.values[2] == found.values[3] == found.values[4]


def test_what_is_no_encoder(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from oodometer_lab.models import BagOfWords

    for wrong, kind in ((len, "function"), (BagOfWords(), "BagOfWords")):
        with pytest.raises(UsageError, match=f"got {kind}; use lime or kernel-shap"):
            IntegratedGradients().explain(wrong, [TEXT])
    monkeypatch.setattr(type(model.tokenizer), "is_fast", False)
    with raises_snapshot(UsageError):
        IntegratedGradients().explain(model, [TEXT])


def test_wrong_options_and_input(model: Any) -> None:
    with pytest.raises(UsageError, match="steps"):
        IntegratedGradients(steps=0)
    with raises_snapshot(UsageError):
        IntegratedGradients(baseline="noise")
    with raises_snapshot(InputError):
        IntegratedGradients().explain(model, ["film", ""])
    with pytest.raises(InputError, match="row 2: column target"):
        IntegratedGradients(steps=2).explain(model, ["film", "dull"], targets=[0, 2])


def test_an_encoder_without_a_mask(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "tokenizer", SimpleNamespace(mask_token_id=None))
    with raises_snapshot(UsageError):
        IntegratedGradients().explain(model, [TEXT])


def test_without_captum(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "captum", None)
    monkeypatch.setitem(sys.modules, "captum.attr", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("explain"))):
        IntegratedGradients().explain(model, [TEXT])


def test_a_broken_model_gives_no_attributions(model: Any, torch: Any, tmp_path: Path) -> None:
    from copy import deepcopy

    from oodometer_lab.attributions import explain_in

    broken = deepcopy(model)
    broken.net.classifier.weight.data.fill_(float("nan"))
    for explain in (
        lambda: IntegratedGradients(steps=2).explain(broken, [TEXT]),
        lambda: explain_in(tmp_path / "a", IntegratedGradients(steps=2), broken, [TEXT], name="m"),
    ):
        with raises_snapshot(InputError):
            explain()


def test_gradients_that_are_not_finite_are_refused(
    model: Any, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probabilities alone may look well: the square root of 0 has no gradient."""
    scores = model._scores

    def rough(net: Any, ids: Any, real: Any) -> Any:
        found = scores(net, ids, real)
        return found + (found - found).sum().sqrt()

    monkeypatch.setattr(model, "_scores", rough)
    with raises_snapshot(InputError):
        IntegratedGradients(steps=2).explain(model, [TEXT])
