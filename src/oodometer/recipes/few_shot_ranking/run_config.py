"""Run config: which networks and models, how many steps and examples; the only numbers a test makes smaller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from ...models.torch.training import TrainingConfig

__all__ = ["RUN_CONFIGS", "RunConfig"]


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is.

    Parameters
    ----------
    networks : name -> arguments of `Encoder`; ``source`` may be ``minilm:N``, the first N layers of the packaged one.
        ``ready``: a classifier that exists already, asked as it is. The first one is that of the inoculated models.
    roles : what a network is taken for, by suite: the inoculated models, and the other architectures.
    training : how models are trained; its batches count rows, ``epochs`` is not read.
    further : the same of further steps on target data alone.
    steps : training steps on in-domain data, by family.
    doses : shares of the training rows that the "1" and the "2" of MSGS's doses stand for, by set; ``paws_share`` of
        the mixed models of PAWS.
    nli_further : further steps of the inoculated models of HANS; ``paws_further`` the same of PAWS, by network.
    seeds : of suites; each draws other rows, trainings and pools.
    pool, samples : examples that are explained, and perturbed texts of each, for LIME and for KernelSHAP; by seed.
    ig_steps, ig_seeds : steps of integrated gradients, and for how many of the seeds.
    truth_rows, in_domain_rows : rows out of domain that the true accuracy comes from, and in-domain rows.
    paws_inoculation : rows of PAWS-QQP to train on; models are ranked on the others.
    draws, size : few-shot sets and their examples.
    """

    networks: Mapping[str, Mapping[str, Any]]
    roles: Mapping[str, Any]
    training: TrainingConfig
    further: TrainingConfig
    steps: Mapping[str, int]
    doses: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: dict.fromkeys(("MORPH", "VERB", "ADJECT"), (0.01, 0.02))
    )
    paws_share: float = 0.02
    nli_further: tuple[int, ...] = (25, 50, 75, 100, 150)
    paws_further: Mapping[str, int] = field(default_factory=dict)
    seeds: int = 3
    pool: tuple[int, ...] = (600,)
    samples: tuple[int, ...] = (256,)
    ig_steps: int = 50
    ig_seeds: int = 1
    truth_rows: int | None = None
    in_domain_rows: int | None = None
    paws_inoculation: int = 277
    draws: int = 500
    size: int = 10

    def pool_of(self, seed: int) -> int:
        """Examples that are explained in the suites of a seed: later seeds take the last number."""
        return self.pool[min(seed, len(self.pool) - 1)]

    def samples_of(self, seed: int) -> int:
        """Perturbed texts of each example."""
        return self.samples[min(seed, len(self.samples) - 1)]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return asdict(self)


# Tokens of `small`, to be changed here alone; core seconds measured on two busy cores without bfloat16. One core reads
# about 9,000 tokens a second with two layers of MiniLM, and learns from about 1,500.
#
# | a seed                       |   models | tokens a model                             | core seconds |
# |------------------------------|----------|--------------------------------------------|--------------|
# | training MSGS                |       18 | 150 to 200 steps x 16 x 18 = 43,000-58,000 |          660 |
# | training entailment          |        3 | 300 steps x 16 x 40 = 192,000              |          200 |
# | training paraphrases         |        5 | 150 steps x 16 x 55 = 132,000              |          330 |
# | further steps, HANS and PAWS |        8 | 10 to 120 steps x 16 x 25 = up to 48,000   |           90 |
# | truth and in-domain          |       32 | 2,500 rows x 20 = 50,000                   |          180 |
# | LIME + SHAP, MSGS            |       18 | pool 90 x 2 x 64 texts x 11 = 127,000      |          250 |
# | LIME + SHAP, SUB and CON     |    2 x 8 | pool 90 x 2 x 64 texts x 14 = 161,000      |          350 |
# | LIME + SHAP, PAWS            |        6 | pool 90 x 2 x 64 texts x 30 = 346,000      |          510 |
# | token IG, seed 0 alone       | 18+16+ 6 | pool 90 x 16 steps x 17 to 45, gradients   |          640 |
#
# Seeds 1 and 2 explain 60 examples in place of 90. In all about 7,600 core seconds, or 63 minutes on two cores.
_SMALL = TrainingConfig(
    epochs=1, batch_size=16, learning_rate=3e-4, warmup=0.1, weight_decay=0.1, optimizer="fused_adamw"
)
# The paper's rate, batches ("small") and weight decay; its warm-up of 10 % of the steps.
_PAPER = TrainingConfig(epochs=1, batch_size=16, learning_rate=1e-5, warmup=0.1, weight_decay=0.1, precision="bfloat16")

RUN_CONFIGS = {
    "small": RunConfig(
        networks={
            "MiniLM-2": {"source": "minilm:2", "max_length": 96},
            "MiniLM-3": {"source": "minilm:3", "max_length": 96},
            "MiniLM-1": {"source": "minilm:1", "max_length": 96},
            "BERT-scratch": {
                "config": {
                    "hidden_size": 128,
                    "num_hidden_layers": 2,
                    "num_attention_heads": 4,
                    "intermediate_size": 512,
                },
                "vocab_size": 6_000,
                "max_length": 96,
            },
        },
        roles={
            "msgs": "MiniLM-2",
            "nli": "MiniLM-3",
            "nli_others": ("MiniLM-1", "BERT-scratch"),
            "paraphrase": "MiniLM-3",
            "paraphrase_others": ("MiniLM-1", "BERT-scratch"),
        },
        training=_SMALL,
        further=TrainingConfig(
            epochs=1,
            batch_size=16,
            learning_rate=1.5e-4,
            weight_decay=0.1,
            schedule="constant",
            optimizer="fused_adamw",
        ),
        steps={"MORPH": 150, "VERB": 200, "ADJECT": 150, "nli": 300, "paraphrase": 150},
        doses={"MORPH": (0.05, 0.1), "VERB": (0.2, 0.4), "ADJECT": (0.1, 0.2)},
        paws_share=0.1,
        nli_further=(10, 20, 40, 80, 120),
        paws_further={"MiniLM-3": 30, "MiniLM-1": 30, "BERT-scratch": 30},
        seeds=3,
        pool=(90, 60),
        samples=(64, 64),
        ig_steps=16,
        truth_rows=2_000,
        in_domain_rows=500,
    ),
    "paper": RunConfig(
        networks={
            "roberta-base": {"source": "roberta-base", "max_length": 128},
            "roberta-large-mnli": {"source": "roberta-large-mnli", "max_length": 128, "ready": True},
            "electra-base-mnli": {"source": "howey/electra-base-mnli", "max_length": 128, "ready": True},
            "deberta-v3-base-mnli": {
                "source": "MoritzLaurer/DeBERTa-v3-base-mnli",
                "max_length": 128,
                "ready": True,
            },
            "electra-base": {"source": "google/electra-base-discriminator", "max_length": 128},
            "deberta-base": {"source": "microsoft/deberta-base", "max_length": 128},
        },
        roles={
            "msgs": "roberta-base",
            "nli": "roberta-large-mnli",
            "nli_others": ("electra-base-mnli", "deberta-v3-base-mnli"),
            "paraphrase": "roberta-base",
            "paraphrase_others": ("electra-base", "deberta-base"),
        },
        training=_PAPER,
        # Its further steps lie within a warm-up of 500, so that the rate keeps rising.
        further=TrainingConfig(
            epochs=1, batch_size=16, learning_rate=1e-5, warmup=0.99, weight_decay=0.1, precision="bfloat16"
        ),
        steps={"MORPH": 6_000, "VERB": 6_000, "ADJECT": 6_000, "nli": 0, "paraphrase": 12_000},
        paws_further={"roberta-base": 100, "electra-base": 200, "deberta-base": 100},
        seeds=3,
    ),
}
