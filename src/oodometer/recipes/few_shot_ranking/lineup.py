"""Lineup: the models of each suite, how each of them comes about, and which pairs of them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

from ...models.torch.training import TrainingConfig


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is.

    Parameters
    ----------
    networks : name -> arguments of `Encoder`; ``source`` may be ``minilm:N``, the first N layers of the packaged one.
        ``ready``: a classifier that exists already, asked as it is; ``learning_rate``: one of its own.
    roles : what a network is taken for, by suite: the inoculated models, and the other architectures.
    training : how models are trained; its batches count rows, ``epochs`` is not read.
    further : the same of further steps on target data alone.
    steps : training steps on in-domain data, by family.
    rates, further_rates : learning rates by family, where they are not those of ``training`` and ``further``.
    doses : shares of the training rows that the "1" and the "2" of MSGS's doses stand for, by set.
    nli_further : further steps of the inoculated models of HANS; ``paws_further`` the same of PAWS, by network.
    paws_mixed : share of target rows and steps of the models of PAWS whose training goes on with a mixture.
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
    rates: Mapping[str, float] = field(default_factory=dict)
    further_rates: Mapping[str, float] = field(default_factory=dict)
    nli_further: tuple[int, ...] = (25, 50, 75, 100, 150)
    paws_further: Mapping[str, int] = field(default_factory=dict)
    paws_mixed: tuple[tuple[float, int], ...] = ((0.02, 6_000), (0.02, 12_000))
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


# What `small` costs, step by step, stands in the README: a change here changes it.
_SMALL = TrainingConfig(
    epochs=1, batch_size=16, learning_rate=3e-4, warmup=0.1, weight_decay=0.1, optimizer="fused_adamw"
)
# The paper's rate, batches ("small") and weight decay; its warm-up of 10 % of the steps.
_PAPER = TrainingConfig(epochs=1, batch_size=16, learning_rate=1e-5, warmup=0.1, weight_decay=0.1, precision="bfloat16")

_SCRATCH = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 512}

RUN_CONFIGS = {
    "small": RunConfig(
        networks={
            "MiniLM-3": {"source": "minilm:3", "max_length": 96},
            "MiniLM-6": {"source": "minilm:6", "max_length": 96},
            "MiniLM-1": {"source": "minilm:1", "max_length": 96, "learning_rate": 3e-4},
            "BERT-scratch": {"config": _SCRATCH, "vocab_size": 6_000, "max_length": 96, "learning_rate": 3e-4},
        },
        roles={
            "msgs": "MiniLM-3",
            "nli": "MiniLM-3",
            "nli_others": ("MiniLM-1", "BERT-scratch"),
            "paraphrase": "MiniLM-6",
            "paraphrase_others": ("MiniLM-1", "BERT-scratch"),
        },
        training=_SMALL,
        further=TrainingConfig(
            epochs=1, batch_size=16, learning_rate=5e-5, weight_decay=0.1, schedule="constant", optimizer="fused_adamw"
        ),
        rates={"VERB": 1e-4, "nli": 1e-4, "paraphrase": 1.5e-4},
        steps={"MORPH": 150, "VERB": 350, "ADJECT": 150, "nli": 300, "paraphrase": 250},
        doses={"MORPH": (0.05, 0.1), "VERB": (0.2, 0.4), "ADJECT": (0.1, 0.2)},
        nli_further=(20, 40, 60, 90, 160),
        paws_further={"MiniLM-6": 5, "MiniLM-1": 10, "BERT-scratch": 20},
        paws_mixed=((0.1, 60), (0.1, 120)),
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
            "deberta-v3-base-mnli": {"source": "MoritzLaurer/DeBERTa-v3-base-mnli", "max_length": 128, "ready": True},
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


FAMILIES = ("MORPH", "VERB", "ADJECT", "nli", "paraphrase")
"""Sources of in-domain data, each with its target data."""
_DOSES: Mapping[str, Mapping[str, int]] = {
    "No-inoc": {},
    "2L": {"L": 2},
    "2S": {"S": 2},
    "2L 1S": {"L": 2, "S": 1},
    "1L 2S": {"L": 1, "S": 2},
    "2L 2S": {"L": 2, "S": 2},
}
"""The paper's names of the doses of MSGS: which target sets in the first or the second of the config's shares."""


@final
@dataclass(frozen=True)
class Plan:
    """How a model comes about.

    Parameters
    ----------
    name : unique among the models of a seed, in letters, digits and hyphens: that of its folder.
    label : as the tables have it.
    family : where its in-domain data come from.
    network : what it starts from, a name among the config's.
    shares : target set -> its share of the training rows.
    steps : training steps on in-domain data with those shares; 0: the network is asked as it is.
    start : name of the model that it goes on from; empty where it starts from its network.
    further : steps from there, of pure target data or of a mixture with in-domain data.
    mixture : share of target rows in those steps; below 1 they are trained as the steps before them were.
    inoculated : whether it belongs to the suite of inoculated models, or stands for another architecture.
    """

    name: str
    label: str
    family: str
    network: str
    shares: Mapping[str, float] = field(default_factory=dict)
    steps: int = 0
    start: str = ""
    further: int = 0
    mixture: float = 1.0
    inoculated: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if name not in ("family", "start")}


@final
@dataclass(frozen=True)
class Suite:
    """A set of target data with the models that are ranked on it.

    ``factors`` are the registered names of those that the paper tries there, the one made for the set first;
    ``feature`` says whether the data mark a word, without which a window factor counts as absent.
    """

    name: str
    family: str
    factors: tuple[str, ...]
    own: tuple[str, ...]
    feature: bool = False


_GENERAL = ("index-diff", "max-diff", "sum-diff", "first-tok")
SUITES = (
    Suite("MORPH", "MORPH", ("irreg",), ("irreg",), True),
    Suite("VERB", "VERB", ("verb",), ("verb",), True),
    Suite("ADJECT", "ADJECT", ("adj",), ("adj",), True),
    Suite("PAWS", "paraphrase", ("swap-avg", "swap-max-diff", *_GENERAL), ("swap-avg", "swap-max-diff")),
    Suite("SUB", "nli", _GENERAL, ("index-diff",)),
    Suite("CON", "nli", ("const", *_GENERAL), ("const",)),
)


def suites_of(family: str) -> tuple[Suite, ...]:
    """The suites that the models of a family are ranked on.

    >>> [one.name for one in suites_of("nli")]
    ['SUB', 'CON']
    """
    return tuple(one for one in SUITES if one.family == family)


def lineup(config: RunConfig) -> tuple[Plan, ...]:
    """All models of a seed, each behind the one that it goes on from."""
    out = []
    for name in ("MORPH", "VERB", "ADJECT"):
        for label, named in _DOSES.items():
            shares = {target: config.doses[name][size - 1] for target, size in named.items()}
            slug = f"{name}-{label.replace(' ', '')}".lower()
            out.append(Plan(slug, label, name, config.roles["msgs"], shares, config.steps[name]))
    network, others = config.roles["nli"], config.roles["nli_others"]
    base = Plan("nli-base", "0 steps", "nli", network, steps=config.steps["nli"])
    inoculated = [
        replace(base, name=f"nli-{many}", label=f"{many} steps", start=base.name, further=many)
        for many in config.nli_further
    ]
    other = replace(base, inoculated=False)
    return (
        *out,
        *[base, *inoculated, *(replace(other, name=f"nli-{o.lower()}", label=o, network=o) for o in others)],
        *_paraphrase(config),
    )


def training_of(config: RunConfig, plan: Plan) -> TrainingConfig:
    """How a model is trained, from its network or from the model that it goes on from."""
    pure = plan.start and plan.mixture == 1
    usual, rates = (config.further, config.further_rates) if pure else (config.training, config.rates)
    own = None if pure else config.networks[plan.network].get("learning_rate")
    return replace(usual, learning_rate=own or rates.get(plan.family, usual.learning_rate), epochs=1)


def _paraphrase(config: RunConfig) -> list[Plan]:
    network = config.roles["paraphrase"]
    many = config.paws_further[network]
    base = Plan("paws-base", "base", "paraphrase", network, steps=config.steps["paraphrase"])
    on = replace(base, start=base.name)
    out = [base, replace(on, name="paws-pure", label=f"{many} target steps", further=many)]
    for place, (share, many) in enumerate(config.paws_mixed, 1):
        label = f"{many} steps with {100 * share:g} %"
        out.append(replace(on, name=f"paws-mixed-{place}", label=label, further=many, mixture=share))
    for other in config.roles["paraphrase_others"]:
        slug, many = f"paws-{other.lower()}", config.paws_further[other]
        start = replace(base, name=f"{slug}-base", label=f"{other}, base", network=other, inoculated=False)
        label = f"{other}, {many} target steps"
        out += [start, replace(start, name=slug, label=label, start=start.name, further=many)]
    return out
