"""EncoderDecoder: it learns, keeps snapshots, goes on to the same bits, survives saving, makes records."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import InputError, UsageError, WorkError
from oodometer_lab.models import EncoderDecoder as FromTheFace
from oodometer_lab.models.seq2seq import (
    EncoderDecoder,
    StandIns,
    exact_match,
    snapshot_folders,
    squeeze,
)
from oodometer_lab.models.seq2seq.codec import Codec
from oodometer_lab.models.torch.training import TrainingConfig

from ...snapshots import raises_snapshot
from .conftest import QUICK, SIZES

Pairs = tuple[list[str], list[str]]
Stop = Callable[[int], Callable[[int, int], None]]


def make(plan: TrainingConfig = QUICK, **options: Any) -> EncoderDecoder:
    return EncoderDecoder(
        config={**SIZES, "dropout_rate": 0.1}, training=plan, max_output_length=24, **options
    )


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def same_weights(a: EncoderDecoder, b: EncoderDecoder) -> bool:
    first, second = a.net.state_dict(), b.net.state_dict()
    return set(first) == set(second) and all(
        bool((first[name] == second[name]).all()) for name in first
    )


def test_it_learns_and_its_record_says_so(model: EncoderDecoder, pairs: Pairs) -> None:
    inputs, outputs = pairs[0][200:], pairs[1][200:]
    record = model.predict(inputs, gold=outputs, ids=range(40), columns={"kind": ["x"] * 40})
    assert record.correct.mean() >= 0.7
    assert record.input.tolist() == inputs
    beams = model.decode(inputs, beams=4)
    assert record.output.tolist() == beams.best
    assert record.confidence is not None
    np.testing.assert_allclose(record.confidence, np.exp(beams.logprobs[:, 0]), atol=1e-5)
    np.testing.assert_allclose(record.token_logprobs.sums(), np.log(record.confidence), atol=1e-4)
    np.testing.assert_array_equal(record.correct, exact_match(beams.best, outputs))
    assert record.columns["id"].tolist() == [str(i) for i in range(40)]
    assert record.columns["gold"].tolist() == outputs
    assert record.columns["kind"].tolist() == ["x"] * 40
    # A model that has learnt something is surer where it is right.
    right = record.correct == 1
    assert right.all() or record.confidence[right].mean() > record.confidence[~right].mean()


def test_gold_may_be_unknown_and_is_cleaned(model: EncoderDecoder) -> None:
    record = model.predict(["ant", "ant", "ant"], gold=["ANT()", None, "BEE ( )"], clean=squeeze)
    assert record.correct.tolist() == [1, -1, 0]
    assert model.predict(["ant"]).correct is None


def test_bad_gold_is_named_before_the_work(
    model: EncoderDecoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model.net, "generate", None)
    with raises_snapshot(InputError):
        model.predict(["a", "b"], gold=["a"])
    with raises_snapshot(InputError):
        model.predict(["a", "b"], gold=["a", 7])  # type: ignore[list-item]


def test_saved_and_loaded_it_answers_the_same(
    trained: Path, model: EncoderDecoder, pairs: Pairs, tmp_path: Path
) -> None:
    again = EncoderDecoder.load(model.save(tmp_path / "again"))
    assert same_weights(again, model)
    assert again.parameters == model.parameters
    assert again.options() == model.options()
    a, b = again.decode(pairs[0][:20], beams=3), model.decode(pairs[0][:20], beams=3)
    assert a.outputs == b.outputs
    np.testing.assert_array_equal(a.logprobs, b.logprobs)
    names = {path.name for path in (tmp_path / "again").rglob("*")}
    assert {"weights.safetensors", "oodometer_model.json", "config.json", "tokenizer"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl", ".part"))]
    assert FromTheFace is EncoderDecoder


def test_a_tied_embedding_is_kept_once(model: EncoderDecoder, trained: Path) -> None:
    by_hand = sum(one.numel() for one in {id(one): one for one in model.net.parameters()}.values())
    assert model.parameters == by_hand
    assert (trained / "weights.safetensors").stat().st_size < 4 * by_hand + 20_000
    net = model.net
    assert (
        net.lm_head.weight.data_ptr()
        == net.shared.weight.data_ptr()
        == net.encoder.embed_tokens.weight.data_ptr()
    )


@pytest.mark.parametrize(
    "plan", [QUICK, TrainingConfig(epochs=3, batch_tokens=150, learning_rate=5e-3, warmup=0.1)]
)
@pytest.mark.parametrize("at", [1, 20, 25, 31])
def test_interrupted_it_goes_on_to_the_same_weights_and_snapshots(
    plan: TrainingConfig, at: int, transformers: Any, pairs: Pairs, tmp_path: Path, stop_at: Stop
) -> None:
    """At the first step, at a snapshot, between two, and behind the last that is kept."""
    whole = make(plan).fit(*pairs, snapshots=tmp_path / "whole", every=10, most=3)
    steps: list[int] = []
    options = {
        "checkpoint": tmp_path / "state",
        "snapshots": tmp_path / "parts",
        "every": 10,
        "most": 3,
    }
    with pytest.raises(KeyboardInterrupt):
        make(plan).fit(*pairs, progress=stop_at(at), **options)  # type: ignore[arg-type]
    resumed = make(plan).fit(*pairs, progress=lambda done, total: steps.append(done), **options)  # type: ignore[arg-type]
    assert steps[0] == at + 1
    assert same_weights(resumed, whole)
    names = [one.name for one in snapshot_folders(tmp_path / "whole")]
    assert names == ["step-000010", "step-000020", "step-000030"]
    assert [one.name for one in snapshot_folders(tmp_path / "parts")] == names
    for name in names:
        assert weights(tmp_path / "whole" / name) == weights(tmp_path / "parts" / name)
        for part in ("oodometer_model.json", "config.json", "tokenizer/tokenizer.json"):
            assert (tmp_path / "whole" / name / part).read_bytes() == (
                tmp_path / "parts" / name / part
            ).read_bytes()
    assert len({weights(tmp_path / "whole" / name) for name in names}) == 3


def test_interrupted_while_a_snapshot_is_written(
    transformers: Any, pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing half-written stays, and the snapshot is there once the training has gone on."""
    whole = make().fit(*pairs, snapshots=tmp_path / "whole", every=10)
    options = {"checkpoint": tmp_path / "state", "snapshots": tmp_path / "parts", "every": 10}
    plain = EncoderDecoder._save

    def broken(self: EncoderDecoder, home: Path, **facts: Any) -> Path:
        plain(self, home, **facts)
        if facts["step"] == 20:
            raise KeyboardInterrupt
        return home

    monkeypatch.setattr(EncoderDecoder, "_save", broken)
    with pytest.raises(KeyboardInterrupt):
        make().fit(*pairs, **options)  # type: ignore[arg-type]
    assert [one.name for one in (tmp_path / "parts").iterdir()] == ["step-000010"]
    monkeypatch.undo()
    steps: list[int] = []
    resumed = make().fit(*pairs, progress=lambda done, total: steps.append(done), **options)  # type: ignore[arg-type]
    assert steps[0] == 21
    assert same_weights(resumed, whole)
    for one in snapshot_folders(tmp_path / "whole"):
        assert weights(one) == weights(tmp_path / "parts" / one.name)


def test_interrupted_in_the_middle_of_a_step(
    torch: Any, transformers: Any, pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that are half those of one step and half of the next are no state to go on from."""
    plan = TrainingConfig(
        epochs=3, batch_size=16, learning_rate=5e-3, warmup=0.1, checkpoint_seconds=0
    )
    whole = make(plan).fit(*pairs)
    plain, calls = torch.optim.AdamW.step, []

    def broken(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == 12:
            with torch.no_grad():
                self.param_groups[0]["params"][0].add_(1.0)
            raise KeyboardInterrupt
        return plain(self, *given)

    monkeypatch.setattr(torch.optim.AdamW, "step", broken)
    with pytest.raises(KeyboardInterrupt):
        make(plan).fit(*pairs, checkpoint=tmp_path)
    monkeypatch.undo()
    steps: list[int] = []
    resumed = make(plan).fit(
        *pairs, checkpoint=tmp_path, progress=lambda done, total: steps.append(done)
    )
    assert steps[0] == 12
    assert same_weights(resumed, whole)


def test_snapshots_that_are_missing_are_made_again(
    transformers: Any, pairs: Pairs, tmp_path: Path, stop_at: Stop
) -> None:
    """Asked for only after the interruption, they cost the steps done so far: the state does not hold the past."""
    with pytest.raises(KeyboardInterrupt):
        make().fit(*pairs, checkpoint=tmp_path / "state", progress=stop_at(25))
    steps: list[int] = []
    make().fit(
        *pairs, checkpoint=tmp_path / "state", snapshots=tmp_path / "parts", every=10,
        progress=lambda done, total: steps.append(done),
    )  # fmt: skip
    assert steps[0] == 1
    assert len(snapshot_folders(tmp_path / "parts")) == 4


def test_snapshots_of_another_training_are_not_mixed_in(
    transformers: Any, pairs: Pairs, tmp_path: Path
) -> None:
    make().fit(*pairs, snapshots=tmp_path, every=20, most=1)
    make().fit(*pairs, snapshots=tmp_path, every=20, most=1)  # the same one: nothing to do
    for other in (make(TrainingConfig(epochs=4, batch_size=16)), make(max_length=9)):
        with raises_snapshot(InputError):
            other.fit(*pairs, snapshots=tmp_path, every=20)


def test_snapshots_can_be_loaded_and_get_better(
    transformers: Any, pairs: Pairs, tmp_path: Path
) -> None:
    plan = TrainingConfig(epochs=12, batch_size=16, learning_rate=5e-3, warmup=0.1)
    inputs, outputs = pairs
    EncoderDecoder(config=SIZES, training=plan, max_output_length=24).fit(
        inputs, outputs, snapshots=tmp_path, every=60
    )
    folders = snapshot_folders(tmp_path)
    assert [one.name for one in folders] == ["step-000060", "step-000120", "step-000180"]
    fit = [
        float(EncoderDecoder.load(one).logprobs(inputs, outputs).sums().mean()) for one in folders
    ]
    assert fit == sorted(fit)
    assert fit[0] < fit[-1] - 0.5


def test_snapshot_folders_are_in_the_order_of_steps(tmp_path: Path) -> None:
    for name in ("step-1000000", "step-000020", "step-000100", "notes", ".step-000030.ab.part"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-000001").write_text("a file")
    assert [one.name for one in snapshot_folders(tmp_path)] == [
        "step-000020",
        "step-000100",
        "step-1000000",
    ]


def test_stopped_early_it_is_the_beginning_of_the_whole(
    transformers: Any, pairs: Pairs, tmp_path: Path
) -> None:
    """The same schedule: its weights are those of the snapshot; called again without a stop, it goes on."""
    whole = make().fit(*pairs, snapshots=tmp_path / "whole", every=20)
    early = make().fit(*pairs, stop_after=20, checkpoint=tmp_path / "state")
    assert same_weights(early, EncoderDecoder.load(tmp_path / "whole" / "step-000020"))
    steps: list[int] = []
    on = make().fit(
        *pairs, checkpoint=tmp_path / "state", progress=lambda done, total: steps.append(done)
    )
    assert steps[0] == 21
    assert same_weights(on, whole)
    back = make().fit(*pairs, stop_after=10, checkpoint=tmp_path / "state")
    assert same_weights(back, make().fit(*pairs, stop_after=10))
    assert same_weights(make().fit(*pairs, stop_after=10_000), whole)


def test_a_checkpoint_of_other_data_or_weights_is_left_alone(
    tiny_t5: Path, pairs: Pairs, tmp_path: Path, stop_at: Stop, torch: Any, transformers: Any
) -> None:
    other = tmp_path / "other"
    net = transformers.T5ForConditionalGeneration.from_pretrained(tiny_t5)
    transformers.AutoTokenizer.from_pretrained(tiny_t5).save_pretrained(other)
    with torch.no_grad():
        net.shared.weight.mul_(1.5)
    plan = TrainingConfig(epochs=1, batch_size=16)
    home = tmp_path / "home"
    home.symlink_to(tiny_t5, target_is_directory=True)
    with pytest.raises(KeyboardInterrupt):
        EncoderDecoder(str(home), training=plan).fit(
            *pairs, checkpoint=tmp_path / "state", progress=stop_at(5)
        )
    net.save_pretrained(other)
    home.unlink()
    home.symlink_to(other, target_is_directory=True)  # other weights under the same name
    steps: list[int] = []
    EncoderDecoder(str(home), training=plan).fit(
        *pairs, checkpoint=tmp_path / "state", progress=lambda done, total: steps.append(done)
    )
    assert steps[0] == 1


def test_pretrained_models_are_fine_tuned_saved_and_loaded(
    source: str, pairs: Pairs, tmp_path: Path
) -> None:
    inputs, outputs = pairs[0][:60], pairs[1][:60]
    plan = TrainingConfig(epochs=30, batch_size=12, learning_rate=5e-3, warmup=0.1)
    model = EncoderDecoder(source, training=plan, max_output_length=40)
    assert exact_match(model.decode(inputs).best, outputs).mean() == 0
    before = float(model.logprobs(inputs, outputs).sums().mean())
    model.fit(inputs, outputs)
    assert float(model.logprobs(inputs, outputs).sums().mean()) > before / 3
    again = EncoderDecoder.load(model.save(tmp_path))
    a, b = model.decode(inputs, beams=2), again.decode(inputs, beams=2)
    assert a.outputs == b.outputs
    np.testing.assert_array_equal(a.logprobs, b.logprobs)
    assert exact_match(a.best, outputs).mean() > 0.15


def test_a_saved_model_can_be_trained_further(trained: Path, pairs: Pairs) -> None:
    """Its folder is a source like any other; the first weights are those it was saved with."""
    saved, source = (
        EncoderDecoder.load(trained),
        EncoderDecoder(str(trained), max_output_length=24, training=QUICK),
    )
    some = pairs[0][200:], pairs[1][200:]
    assert source.decode(some[0]).outputs == saved.decode(some[0]).outputs
    np.testing.assert_array_equal(source.logprobs(*some).values, saved.logprobs(*some).values)
    before = float(saved.logprobs(*pairs).sums().mean())
    gentle = TrainingConfig(epochs=3, batch_size=16, learning_rate=5e-4)
    further = EncoderDecoder(str(trained), max_output_length=24, training=gentle).fit(*pairs)
    assert float(further.logprobs(*pairs).sums().mean()) > before


def test_dropout_is_for_training_only(transformers: Any, pairs: Pairs) -> None:
    model = EncoderDecoder(
        config={**SIZES, "dropout_rate": 0.5}, training=QUICK, max_output_length=24
    ).fit(*pairs)
    model.net.train()
    first, second = (model.logprobs(*pairs).values for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not model.net.training


def test_pieces_learn_as_well(transformers: Any, pairs: Pairs) -> None:
    plan = TrainingConfig(epochs=12, batch_tokens=400, learning_rate=5e-3, warmup=0.1)
    model = EncoderDecoder(
        config=SIZES, tokens="pieces", vocab_size=280, training=plan, max_output_length=32
    ).fit(*pairs)
    assert len(model.tokenizer) <= 280
    assert float(model.logprobs(*pairs).sums().mean()) > -8
    assert model.decode(["ant naïve → {unseen}"]).best
    assert model.unknown == 0


def test_another_type_from_scratch_learns_as_well(
    transformers: Any, pairs: Pairs, tmp_path: Path
) -> None:
    sizes = {
        "model_type": "bart", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "dropout": 0.0,
        "init_std": 0.1,
    }  # fmt: skip
    plan = TrainingConfig(epochs=30, batch_size=16, learning_rate=5e-3, warmup=0.1)
    model = EncoderDecoder(config=sizes, training=plan, max_output_length=24).fit(
        *(one[:200] for one in pairs)
    )
    found = model.decode(pairs[0][200:], beams=2)
    assert np.mean([a == b for a, b in zip(found.best, pairs[1][200:], strict=True)]) > 0.7
    model.save(tmp_path)
    again = EncoderDecoder.load(tmp_path)
    assert type(again.net).__name__ == "BartForConditionalGeneration"
    assert again.decode(pairs[0][200:], beams=2).outputs == found.outputs


def test_a_type_that_writes_nothing_is_refused(transformers: Any, pairs: Pairs) -> None:
    with raises_snapshot(UsageError):
        EncoderDecoder(config={"model_type": "bert"}, training=QUICK).fit(*pairs)


def test_outputs_that_are_too_long_are_learnt_in_part(transformers: Any) -> None:
    """Of a long output the beginning is learnt, and not that it ends there."""
    model = EncoderDecoder(
        config=SIZES, training=TrainingConfig(epochs=1, batch_size=2), max_output_length=3
    )
    with pytest.warns(
        UserWarning,
        match=r"1 of 2 outputs \(50.0 %\) are longer than 3 tokens and can be learnt in part",
    ):
        model.fit(["a", "b"], ["x y z x y", "x y"])
    codec = Codec(model.tokenizer, StandIns(), max_length=9, max_output_length=3)
    with pytest.warns(UserWarning, match="in part only"):
        ids = codec.learnt(["x y z x y", "x y"])
    assert ids.offsets.tolist() == [0, 3, 6]
    assert (
        ids.values.tolist()[:3] == model.tokenizer("x y z", add_special_tokens=False)["input_ids"]
    )
    assert ids.values.tolist()[3:] == model.tokenizer("x y")["input_ids"]


def test_a_model_that_diverged_is_no_model(model: EncoderDecoder, torch: Any) -> None:
    with torch.no_grad():
        model.net.shared.weight[5] = torch.nan
    with raises_snapshot(WorkError):
        model.decode(["ant bee"], beams=2)
    with raises_snapshot(WorkError):
        model.logprobs(["ant bee"], ["ANT"])


def test_a_model_without_a_mark_of_the_end_is_refused(tiny_t5: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_t5, tmp_path / "home")
    for name in ("config.json", "generation_config.json"):
        about = json.loads((tmp_path / "home" / name).read_text())
        (tmp_path / "home" / name).write_text(json.dumps({**about, "eos_token_id": None}))
    with raises_snapshot(InputError):
        EncoderDecoder(str(tmp_path / "home")).decode(["a"])


def test_errors_are_one_line(
    transformers: Any, tiny_encoder: Path, model: EncoderDecoder, tmp_path: Path
) -> None:
    with raises_snapshot(UsageError):
        EncoderDecoder()
    with raises_snapshot(UsageError):
        EncoderDecoder("x", config={})
    with raises_snapshot(UsageError):
        EncoderDecoder(config={}, tokens="letters")  # type: ignore[arg-type]
    with raises_snapshot(UsageError):
        EncoderDecoder(config={}, max_length=1)
    with raises_snapshot(UsageError):
        EncoderDecoder(config={}).decode(["a"])
    with raises_snapshot(UsageError):
        EncoderDecoder(config={}).save(tmp_path / "none")
    with raises_snapshot(InputError):
        EncoderDecoder(str(tmp_path)).fit(["a"], ["b"])
    with raises_snapshot(InputError):
        EncoderDecoder(str(tiny_encoder)).decode(["a"])
    for inputs, outputs, words in (
        ([], [], "column input: expected a list of strings"),
        (["a"], [], "column output: expected a list of strings"),
        (["a", "b"], ["c"], "expected 2 outputs, one an input, got 1"),
        (
            ["a", "b"],
            ["c", " "],
            "row 2: column output: expected a string that is not empty, got ' '",
        ),
        (["a", "b"], ["c", None], "row 2: column output"),
        (["a", 1.5], ["c", "d"], "row 2: column input"),
    ):
        with pytest.raises(InputError, match=words):
            make().fit(inputs, outputs)
    with raises_snapshot(UsageError):
        make().fit(["a"], ["b"], snapshots=tmp_path)
    with raises_snapshot(UsageError):
        make().fit(["a"], ["b"], every=3)
    with raises_snapshot(UsageError):
        make().fit(["a"], ["b"], snapshots=tmp_path, every=0)
    with raises_snapshot(UsageError):
        make().fit(["a"], ["b"], stop_after=0)
    home = model.save(tmp_path / "model")
    about = json.loads((home / "oodometer_model.json").read_text())
    (home / "oodometer_model.json").write_text(json.dumps({**about, "kind": "encoder"}))
    with raises_snapshot(InputError):
        EncoderDecoder.load(home)
