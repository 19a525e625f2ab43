"""Lineup: the models of each suite, how each of them comes about, and which pairs of them are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    ig_steps: int = 50
    ig_seeds: int = 1
    truth_rows: int | None = None
    in_domain_rows: int | None = None
    paws_inoculation: int = 277
    draws: int = 500
    size: int = 10


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
    others = config.roles.get(f"{role}_others", ())
    if family in config.graded:
        how = config.graded[family]
        out = []
        for place, network in enumerate((base.network, *others)):
            slug = f"-{network.lower()}" if place else ""
            start = replace(
                base,
                name=f"{named}{slug}-base",
                label="start",
                network=network,
                inoculated=not place,
            )
            start = replace(start, shares=how.get("shares", {}), ranked=False)
            further = {"further": how["further"], "mixture": how.get("mixture", 1.0)}
            end = replace(
                start,
                name=f"{named}{slug}-end",
                label="end",
                start=start.name,
                shares={},
                **further,
            )
            graded = replace(start, start=start.name, toward=end.name, ranked=True, **further)
            out += [start, end]
            if place:
                turned = ACROSS[place:] + ACROSS[:place]
                out.append(replace(graded, name=f"{named}{slug}", label=network, grades=turned))
            else:
                for i, grade in enumerate(GRADES, 1):
                    label = f"grade {100 * grade:g} %"
                    out.append(
                        replace(graded, name=f"{named}-grade-{i}", label=label, grades=(grade,))
                    )
        return out
    if family == "paraphrase":
        return _paraphrase(config, replace(base, label="base"))
    if family == "nli":
        on = replace(base, start=base.name)
        inoculated = [
            replace(on, name=f"nli-{n}", label=f"{n} steps", further=n) for n in config.nli_further
        ]
        other = replace(base, inoculated=False)
        return [
            base,
            *inoculated,
            *(replace(other, name=f"nli-{n.lower()}", label=n, network=n) for n in others),
        ]
    out = []
    for label, doses in _DOSES.items():
        shares = {target: config.doses[family][size - 1] for target, size in doses.items()}
        out.append(
            replace(
                base, name=f"{named}-{label.replace(' ', '')}".lower(), label=label, shares=shares
            )
        )
    return out


def ranked_of(config: RunConfig, family: str) -> list[Plan]:
    """The models of a family that stand in its suites."""
    return [plan for plan in lineup(config) if plan.family == family and plan.ranked]


def beside_others(plans: Sequence[Plan], seed: int) -> list[Plan]:
    """The inoculated models that stand beside those of other architectures, the second one in Table 4 alone."""
    if any(plan.grades for plan in plans):
        wanted = [ACROSS[(seed + i) % len(ACROSS)] for i in (0, 1)]
        return [
            plan
            for grade in wanted
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
    own = None if pure else config.networks[plan.network].get("learning_rate")
    return replace(
        usual, learning_rate=own or rates.get(plan.family, usual.learning_rate), epochs=1
    )


def _paraphrase(config: RunConfig, base: Plan) -> list[Plan]:
    many = config.paws_further[base.network]
    on = replace(base, start=base.name)
    out = [base, replace(on, name="paws-pure", label=f"{many} target steps", further=many)]
    for place, (share, many) in enumerate(config.paws_mixed, 1):
        label = f"{many} steps with {100 * share:g} %"
        out.append(
            replace(on, name=f"paws-mixed-{place}", label=label, further=many, mixture=share)
        )
    for other in config.roles["paraphrase_others"]:
        slug, many = f"paws-{other.lower()}", config.paws_further[other]
        start = replace(
            base, name=f"{slug}-base", label=f"{other}, base", network=other, inoculated=False
        )
        start = replace(start, ranked=False)
        label = f"{other}, {many} target steps"
        out += [
            start,
            replace(start, name=slug, label=label, start=start.name, further=many, ranked=True),
        ]
    return out
