"""Lineup: the models of each suite, how each of them comes about, and which pairs of them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final

from ...models.torch.training import TrainingConfig
from ..kit.sources import read_sizes


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is; sizes.toml has each scale and says what each value means."""

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


RUN_CONFIGS = read_sizes(__file__, RunConfig)
FAMILIES = ("MORPH", "VERB", "ADJECT", "nli", "paraphrase")
"""Sources of in-domain data, each with its target data."""
_DOSES: Mapping[str, Mapping[str, int]] = {"No-inoc": {}, "2L": {"L": 2}, "2S": {"S": 2}, "2L 1S": {"L": 2, "S": 1},
    "1L 2S": {"L": 1, "S": 2}, "2L 2S": {"L": 2, "S": 2}}  # fmt: skip
"""The paper's names of the doses of MSGS: which target sets in the first or the second of the config's shares."""


@final
@dataclass(frozen=True)
class Plan:
    """How a model comes about: from its ``network`` by ``steps`` on in-domain data with ``shares`` of target sets, or
    on from the model ``start`` by ``further`` steps on a ``mixture`` with so large a share of target rows.
    ``inoculated`` or of another architecture.
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
    """A set of target data: its ``factors``, those made for it (``own``), and whether its data mark a word."""

    name: str
    family: str
    factors: tuple[str, ...]
    own: tuple[str, ...]
    feature: bool = False


_GENERAL = ("index-diff", "max-diff", "sum-diff", "first-tok")
SUITES = (Suite("MORPH", "MORPH", ("irreg",), ("irreg",), True), Suite("VERB", "VERB", ("verb",), ("verb",), True),
    Suite("ADJECT", "ADJECT", ("adj",), ("adj",), True),
    Suite("PAWS", "paraphrase", ("swap-avg", "swap-max-diff", *_GENERAL), ("swap-avg", "swap-max-diff")),
    Suite("SUB", "nli", _GENERAL, ("index-diff",)), Suite("CON", "nli", ("const", *_GENERAL), ("const",)))  # fmt: skip


def suites_of(family: str) -> tuple[Suite, ...]:
    """The suites that the models of a family are ranked on."""
    return tuple(suite for suite in SUITES if suite.family == family)


def lineup(config: RunConfig) -> tuple[Plan, ...]:
    """All models of a seed, each behind the one that it goes on from."""
    out = []
    for name in ("MORPH", "VERB", "ADJECT"):
        for label, named in _DOSES.items():
            shares = {target: config.doses[name][size - 1] for target, size in named.items()}
            slug = f"{name}-{label.replace(' ', '')}".lower()
            out.append(Plan(slug, label, name, config.roles["msgs"], shares, config.steps[name]))
    base = Plan("nli-base", "0 steps", "nli", config.roles["nli"], steps=config.steps["nli"])
    on = replace(base, start=base.name)
    inoculated = [replace(on, name=f"nli-{n}", label=f"{n} steps", further=n) for n in config.nli_further]
    other, networks = replace(base, inoculated=False), config.roles["nli_others"]
    others = [replace(other, name=f"nli-{name.lower()}", label=name, network=name) for name in networks]
    return (*out, base, *inoculated, *others, *_paraphrase(config))


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
