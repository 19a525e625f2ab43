"""Lineup: the models of each suite, how each of them comes about, and which pairs of them are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

from ...models.torch.training import TrainingConfig
from .run_config import RunConfig

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
        out: dict[str, Any] = {
            "name": self.name,
            "label": self.label,
            "network": self.network,
            "shares": dict(self.shares),
        }
        out |= {"steps": self.steps, "further": self.further, "mixture": self.mixture}
        return {**out, "inoculated": self.inoculated}


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
    return (*_msgs(config), *_nli(config), *_paraphrase(config))


def training_of(config: RunConfig, plan: Plan) -> TrainingConfig:
    """How a model is trained, from its network or from the model that it goes on from."""
    pure = plan.start and plan.mixture == 1
    usual, rates = (config.further, config.further_rates) if pure else (config.training, config.rates)
    own = None if pure else config.networks[plan.network].get("learning_rate")
    return replace(usual, learning_rate=own or rates.get(plan.family, usual.learning_rate), epochs=1)


def _msgs(config: RunConfig) -> list[Plan]:
    out = []
    for name in ("MORPH", "VERB", "ADJECT"):
        for label, named in _DOSES.items():
            shares = {target: config.doses[name][size - 1] for target, size in named.items()}
            slug = f"{name}-{label.replace(' ', '')}".lower()
            out.append(Plan(slug, label, name, config.roles["msgs"], shares, config.steps[name]))
    return out


def _nli(config: RunConfig) -> list[Plan]:
    network, steps = config.roles["nli"], config.steps["nli"]
    base = Plan("nli-base", "0 steps", "nli", network, steps=steps)
    out = [base]
    for many in config.nli_further:
        name = f"nli-{many}"
        out.append(Plan(name, f"{many} steps", "nli", network, steps=steps, start=base.name, further=many))
    for other in config.roles["nli_others"]:
        out.append(Plan(f"nli-{other.lower()}", other, "nli", other, steps=steps, inoculated=False))
    return out


def _paraphrase(config: RunConfig) -> list[Plan]:
    family, network, steps = "paraphrase", config.roles["paraphrase"], config.steps["paraphrase"]
    base = Plan("paws-base", "base", family, network, steps=steps)
    many = config.paws_further[network]
    pure = Plan("paws-pure", f"{many} target steps", family, network, steps=steps, start=base.name, further=many)
    out = [base, pure]
    for place, (share, many) in enumerate(config.paws_mixed, 1):
        label = f"{many} steps with {100 * share:g} %"
        more = Plan(f"paws-mixed-{place}", label, family, network, steps=steps, start=base.name, further=many)
        out.append(replace(more, mixture=share))
    for other in config.roles["paraphrase_others"]:
        slug, many = f"paws-{other.lower()}", config.paws_further[other]
        start = Plan(f"{slug}-base", f"{other}, base", family, other, steps=steps, inoculated=False)
        label = f"{other}, {many} target steps"
        further = Plan(slug, label, family, other, steps=steps, start=start.name, further=many, inoculated=False)
        out += [start, further]
    return out
