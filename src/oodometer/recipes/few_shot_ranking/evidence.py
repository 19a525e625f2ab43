"""Evidence: what an unlabelled pool adds to ten labels, and the rankings that put all of it together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...rankings.combination import labels_first
from ...rankings.learnt import LearntWeights, leave_one_out
from ...rankings.pool import PoolEvidence, pool_evidence
from ...rankings.powered import powered_accuracy
from ...rankings.rules import Method, fixed, scored
from .record import record_of

if TYPE_CHECKING:
    from .evaluation import Evaluation

__all__ = ["COMBINED", "LEARNT", "POWERED", "learnt_weights", "methods", "pieces_of"]

POWERED = "PPI++"
LEARNT = "learnt"
COMBINED = ("ACC + all", "ACC + pool", "ACC + factors", "ACC + CONF-GT", LEARNT)
"""Names of the combined rankings that are compared with ACC; what they hold was settled before any run."""
_POOL = "plurality"
_PIECES = ("ACC", "CONF-GT", POWERED, f"pool/{_POOL}")
"""What the learnt ranking weighs, beside the factor made for the set."""


def methods(held: Evaluation, models: Sequence[int], known: Mapping[str, Method]) -> dict[str, Method]:
    """Rankings by the unlabelled pool, and by everything together, for some of the models.

    The pool is all rows out of domain without their labels, the reference of the estimators the in-domain rows. In the
    combined rankings labels come first and the rest is worth less than one of them: "all" is prediction-powered
    accuracy, agreement with the other models, CONF-GT and the factor made for the set, by LIME and by SHAP.
    """
    found = _of_pool(held, models)
    out: dict[str, Method] = {f"pool/{name}": fixed(scores) for name, scores in found.scores.items()}
    answers, whole = held.answers(models, slice(0, held.pool)), held.answers(models, labels=False)
    assert answers.probabilities is not None
    assert whole.probabilities is not None
    right = answers.correct
    out[POWERED] = powered_accuracy(right, answers.probabilities.max(axis=2), whole.probabilities.max(axis=2))
    pool = {POWERED: out[POWERED], _POOL: out[f"pool/{_POOL}"]}
    own = {name: known[name] for one in held.suite.own[:1] for name in (f"lime/{one}", f"shap/{one}")}
    truth = {"CONF-GT": known["CONF-GT"]}
    pieces = ({**pool, **own, **truth}, pool, own, truth)
    return {**out, **{name: labels_first(right, one) for name, one in zip(COMBINED, pieces, strict=False)}}


def pieces_of(held: Evaluation, known: Mapping[str, Method]) -> dict[str, Method]:
    """The evidence that the learnt ranking weighs, by names that all suites share."""
    own = {f"{method}/own": known[f"{method}/{held.suite.own[0]}"] for method in ("lime", "shap")}
    return {**{name: known[name] for name in _PIECES}, **own}


def learnt_weights(suites: Sequence[Evaluation]) -> dict[str, LearntWeights]:
    """For each suite of a seed the weights that the inoculated models of the others teach."""
    sets = {}
    for held in suites:
        models = dict(held.groups()).get("inoculated")
        if models is not None:
            pieces = pieces_of(held, held.methods(models))
            sets[held.suite.name] = (scored(pieces, held.drawn()), held.truth[models])
            names = list(pieces)
    return leave_one_out(sets, names) if len(sets) > 1 else {}


def _of_pool(held: Evaluation, models: Sequence[int]) -> PoolEvidence:
    """What all rows out of domain say without their labels, with the in-domain rows for a reference."""
    pools = {str(i): record_of(held.probabilities[i], None) for i in models}
    return pool_evidence(pools, {str(i): record_of(held.near[i], held.near_label) for i in models})
