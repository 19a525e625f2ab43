"""Lineup: the models of each suite, how each of them comes about, and which pairs of them are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    graded: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    grading_rows: int = 0
    seeds: int = 3
    pool: int = 600
    samples: int = 256
    shap_samples: Mapping[str, int] = field(default_factory=dict)
    ig_steps: int = 50
    ig_seeds: int = 1
    truth_rows: int | None = None
    in_domain_rows: int | None = None
    paws_inoculation: int = 277
    draws: int = 500
    size: int = 10

    def samples_of(self, method: str, family: str) -> int:
        """Perturbed texts of each example for LIME or KernelSHAP."""
        return self.shap_samples.get(family, self.samples) if method == "shap" else self.samples


RUN_CONFIGS = read_sizes(__file__, RunConfig)
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
GRADES = (0.0, 0.2, 0.45, 0.7, 0.95, 1.0)
"""How far the models of a graded suite stand from the worst accuracy to the best; the last two are near each other."""
ACROSS = GRADES[1:4]
"""The grades of the models across architectures, in turn: with each seed another network is the best one."""


@final
@dataclass(frozen=True)
class Plan:
    """How a model comes about: from its ``network`` by ``steps`` on in-domain data with ``shares`` of target sets, or
    on from the model ``start`` by ``further`` steps on a ``mixture`` with so large a share of target rows, or between
    the models ``start`` and ``toward``, at one of some ``grades`` by seed. ``inoculated`` or of another architecture;
    those that are not ``ranked`` are there for others.
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
    toward: str = ""
    grades: tuple[float, ...] = ()
    inoculated: bool = True
    ranked: bool = True

    def grade(self, seed: int) -> float | None:
        """How far it stands from the worst accuracy to the best; None where it was trained as it is."""
        return self.grades[seed % len(self.grades)] if self.grades else None

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in ("family", "start", "toward")
        }


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
SUITES = (
    Suite("MORPH", "MORPH", ("irreg",), ("irreg",), True),
    Suite("VERB", "VERB", ("verb",), ("verb",), True),
    Suite("ADJECT", "ADJECT", ("adj",), ("adj",), True),
    Suite(
        "PAWS",
        "paraphrase",
        ("swap-avg", "swap-max-diff", *_GENERAL),
        ("swap-avg", "swap-max-diff"),
    ),
    Suite("SUB", "nli", _GENERAL, ("index-diff",)),
    Suite("CON", "nli", ("const", *_GENERAL), ("const",)),
)


def suites_of(family: str) -> tuple[Suite, ...]:
    """The suites that the models of a family are ranked on."""
    return tuple(suite for suite in SUITES if suite.family == family)


def lineup(config: RunConfig) -> tuple[Plan, ...]:
    """All models of a seed, each behind those that it goes on from."""
    return tuple(plan for family in FAMILIES for plan in _of_family(config, family))


def _of_family(config: RunConfig, family: str) -> list[Plan]:
    named = {"nli": "nli", "paraphrase": "paws"}.get(family, family.lower())
    role = family if family in config.roles else "msgs"
    base = Plan(f"{named}-base", "0 steps", family, config.roles[role], steps=config.steps[family])
    networks = config.roles.get(f"{role}_others", ())
    if family in config.graded:
        return [*_graded(config, base, networks)]
    if family == "paraphrase":
        return _paraphrase(config, replace(base, label="base"))
    if family == "nli":
        return [*_inference(config, base, networks)]
    return [*_dosed(config, base)]


def _graded(config: RunConfig, base: Plan, networks: Sequence[str]) -> Iterator[Plan]:
    """Models between a start and an end: of the usual network at each grade, of another one at a grade by seed."""
    settings, named = config.graded[base.family], base.name.removesuffix("-base")
    further, mixture = settings["further"], settings.get("mixture", 1.0)
    base = replace(base, label="start", shares=settings.get("shares", {}), ranked=False)
    for index, network in enumerate((base.network, *networks)):
        name = f"{named}-{network.lower()}" if index else named
        start = replace(base, name=f"{name}-base", network=network, inoculated=not index)
        on = replace(start, start=start.name, further=further, mixture=mixture)
        end = replace(on, name=f"{name}-end", label="end", shares={})
        graded = replace(on, toward=end.name, ranked=True)
        yield start
        yield end
        if index:
            turned = ACROSS[index:] + ACROSS[:index]
            yield replace(graded, name=name, label=network, grades=turned)
            continue
        for i, grade in enumerate(GRADES, 1):
            label = f"grade {100 * grade:g} %"
            yield replace(graded, name=f"{name}-grade-{i}", label=label, grades=(grade,))


def _inference(config: RunConfig, base: Plan, networks: Sequence[str]) -> Iterator[Plan]:
    """Models of entailment: the base, those inoculated by more and more steps, and other networks."""
    yield base
    for n in config.nli_further:
        yield replace(base, name=f"nli-{n}", label=f"{n} steps", start=base.name, further=n)
    for network in networks:
        name = f"nli-{network.lower()}"
        yield replace(base, name=name, label=network, network=network, inoculated=False)


def _dosed(config: RunConfig, base: Plan) -> Iterator[Plan]:
    """Models whose training data hold doses of target sets."""
    named, sizes = base.name.removesuffix("-base"), config.doses[base.family]
    for label, doses in _DOSES.items():
        name = f"{named}-{label.replace(' ', '')}".lower()
        shares = {target: sizes[size - 1] for target, size in doses.items()}
        yield replace(base, name=name, label=label, shares=shares)


def ranked_of(config: RunConfig, family: str) -> list[Plan]:
    """The models of a family that stand in its suites."""
    return [plan for plan in lineup(config) if plan.family == family and plan.ranked]


def beside_others(plans: Sequence[Plan], seed: int) -> list[Plan]:
    """The inoculated models that stand beside those of other architectures, the second one in Table 4 alone."""
    if any(plan.grades for plan in plans):
        grades = [ACROSS[(seed + i) % len(ACROSS)] for i in (0, 1)]
        return [
            plan
            for grade in grades
            for plan in plans
            if plan.inoculated and plan.grades == (grade,)
        ]
    return [
        plan
        for name in ("nli-base", "paws-pure", "paws-mixed-1")
        for plan in plans
        if plan.name == name
    ]


def training_of(config: RunConfig, plan: Plan) -> TrainingConfig:
    """How a model is trained, from its network or from the model that it goes on from."""
    pure = plan.start and plan.mixture == 1
    usual, rates = (
        (config.further, config.further_rates) if pure else (config.training, config.rates)
    )
    rate = None if pure else config.networks[plan.network].get("learning_rate")
    return replace(
        usual, learning_rate=rate or rates.get(plan.family, usual.learning_rate), epochs=1
    )


def _paraphrase(config: RunConfig, base: Plan) -> list[Plan]:
    steps = config.paws_further[base.network]
    on = replace(base, start=base.name)
    out = [base, replace(on, name="paws-pure", label=f"{steps} target steps", further=steps)]
    for number, (share, steps) in enumerate(config.paws_mixed, 1):
        label = f"{steps} steps with {100 * share:g} %"
        out.append(
            replace(on, name=f"paws-mixed-{number}", label=label, further=steps, mixture=share)
        )
    for network in config.roles["paraphrase_others"]:
        slug, steps = f"paws-{network.lower()}", config.paws_further[network]
        start = replace(
            base, name=f"{slug}-base", label=f"{network}, base", network=network, inoculated=False
        )
        start = replace(start, ranked=False)
        label = f"{network}, {steps} target steps"
        out += [
            start,
            replace(start, name=slug, label=label, start=start.name, further=steps, ranked=True),
        ]
    return out
