"""Recipes under test: a tiny folder of data in the real forms, tiny sizes, a tiny encoder in the place of MiniLM."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORDS = "good great fine lovely bad awful poor dull film story actor scene the a was seen"


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained BERT of 16 units and its tokenizer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
        transformers = pytest.importorskip(
            "transformers", reason="needs the extra hf: pip install '.[hf]'"
        )
    torch.set_num_threads(1)
    from oodometer_lab.models.tokens import learn_wordpiece

    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = learn_wordpiece([WORDS], 200, 64)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=130,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_data: Path, encoder: Path) -> Iterator[Any]:
    """The recipe at a tiny size, for as long as the session lasts."""
    pytest.importorskip("gensim", reason="needs the extra text: pip install '.[text]'")
    from oodometer_lab.models.torch import library as torch_library
    from oodometer_lab.recipes.kit import sources
    from oodometer_lab.recipes.selective_answering import RECIPE, lineup, study, tables
    from oodometer_lab.recipes.selective_answering.lineup import RunConfig

    config = RunConfig(
        train_rows=120,
        test_rows=60,
        sst2_splits=("test",),
        encoder_rows=40,
        dimensions=8,
        word2vec_epochs=1,
        glove_epochs=2,
        trainings=3,
        encoder_trainings=2,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OODOMETER_DATA", str(tiny_data))
        patch.setitem(RECIPE.config, "small", config)
        for place in (lineup, sources):
            patch.setattr(place, "packaged_minilm", lambda: str(encoder))
        patch.setattr(tables, "_ROUNDS", 2)
        patch.setattr(tables, "_CHANCE", 20)
        patch.setattr(tables, "_SAMPLES", 1)
        patch.setattr(torch_library, "idle_cores", lambda: 1)
        patch.setattr(study, "is_metered", lambda: False)
        yield RECIPE


@pytest.fixture(scope="session")
def reports() -> list[tuple[str, float]]:
    """What that run reports."""
    return []


@pytest.fixture(scope="session")
def finished(tiny: Any, reports: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A whole run at the tiny size."""
    from oodometer_lab.recipes import reproduce

    out = tmp_path_factory.mktemp("run")
    return reproduce(
        "selective-answering", out=out, report=lambda what, share: reports.append((what, share))
    )
