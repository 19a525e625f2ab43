"""The study: every suite of every seed evaluated, and what the claims and tables are about."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...attributions.base import Attribution, WordAttributions, Words
from ...attributions.factors.base import factor_values
from ...attributions.in_folder import explain_in
from ...datasets import Dataset
from ...datasets.base import stratified
from ...datasets.sentences import MSGS_SETS, binary_entailment, hans, mrpc, msgs, paws_qqp
from ...errors import MissingExtraError, OodometerError, WorkError
from ...models.artifacts import WEIGHTS
from ...models.base import load_model
from ...models.inoculation import batches_of, mixed
from ...models.text.encoder import Encoder
from ...models.torch.library import load_pretrained, use_threads
from ...predictions import Predictions
from ...rankings.combination import LearntWeights, labels_first, leave_one_out, powered_accuracy
from ...rankings.few_shot import (
    FewShot,
    Method,
    baseline_methods,
    draw_rows,
    draws_test,
    few_shot_evaluation,
    fixed,
    guess_accuracy,
    scored,
    suite_of,
)
from ...rankings.few_shot import Suite as Answers
from ...rankings.pool import pool_evidence
from ...registry import create
from ...store.artifact_cache import checksum_of_files, content_of
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.sources import Place, load_answers, packaged_minilm, source_of, store_answers
from ..kit.tables import mean_and_spread, rounded
from .lineup import FAMILIES, SUITES, Plan, RunConfig, Suite, lineup, suites_of, training_of

STAND_INS = {"nli": "SICK + RTE, binary, stands in for MNLI", "paraphrase": "MRPC stands in for QQP"}
_HANS = {"SUB": "subsequence", "CON": "constituent"}


@final
@dataclass(frozen=True)
class Rows:
    """The rows out of domain that a suite is judged on; the first ``pool`` of them are explained.

    ``features`` are the places of the marked words among those of `Words`, one a row of the pool; None where none is.
    ``counts`` says how many rows there were and why some are not here.
    """

    data: Dataset
    pool: int
    features: tuple[int | None, ...]
    counts: dict[str, int]

    def words(self) -> list[Words]:
        """The pool as words, with what the data set marks."""
        texts = self.data.inputs[: self.pool]
        return [Words(text, place) for text, place in zip(texts, self.features, strict=True)]


@final
class RunData:
    """The data of a run, read when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._sources = cache(self._read_source)
        self.rows = cache(self._rows)
        self.in_domain = cache(self._in_domain)

    def check(self) -> list[str]:
        """What cannot be read, one line a family."""
        out = []
        for family in FAMILIES:
            try:
                self.fingerprints(family)
            except OodometerError as error:
                out.append(str(error))
        return list(dict.fromkeys(out))

    def fingerprints(self, family: str) -> dict[str, str]:
        """Names of the contents of all data of a family."""
        found = self._sources(family)
        out = {"train": found.train.fingerprint, "in-domain": found.test.fingerprint}
        out |= {f"target {name}": data.fingerprint for name, data in found.targets(0).items()}
        return {
            **out,
            **{suite.name: found.out(suite.name, None).fingerprint for suite in SUITES if suite.family == family},
        }

    def training(self, plan: Plan, seed: int) -> Dataset:
        """The rows that a model is trained on, from its network; all rows come once before any comes again."""
        found, rows = self._sources(plan.family), plan.steps * training_of(self.config, plan).batch_size
        targets = found.targets(seed)
        parts = [(targets[name], share) for name, share in plan.shares.items()]
        return mixed(found.train, parts, rows=rows, seed=seed)

    def further(self, plan: Plan, seed: int) -> Dataset:
        """The rows of a model's further steps; of pure target data, those of more steps hold those of fewer."""
        found = self._sources(plan.family)
        target, size = found.targets(seed)["target"], training_of(self.config, plan).batch_size
        if plan.mixture == 1:
            return batches_of(target, plan.further, size, seed)
        return mixed(found.train, [(target, plan.mixture)], rows=plan.further * size, seed=seed)

    def _in_domain(self, family: str, seed: int) -> Dataset:
        return self._sources(family).test.sample(self.config.in_domain_rows, seed)

    def _rows(self, suite: Suite, seed: int) -> Rows:
        found = self._sources(suite.family)
        whole = found.out(suite.name, seed)
        data = whole.sample(self.config.truth_rows, seed)
        pool = min(self.config.pool_of(seed), len(data))
        marks = found.marks
        features = tuple(_place(data.inputs[i], marks.get(data.ids[i])) if marks else None for i in range(pool))
        counts = {"rows": len(whole), "judged": len(data), "pool": pool, **found.counts}
        counts["positive"] = sum(data.targets)
        if suite.feature:
            counts["marked in the pool"] = sum(place is not None for place in features)
        return Rows(data, pool, features, counts)

    def _read_source(self, family: str) -> _Source:
        if family in MSGS_SETS:
            train, near, dose, test = (msgs(family, part) for part in ("train", "in-domain", "inoculation", "test"))
            targets = {"L": dose.data, "S": replace(dose.data, targets=dose.surface)}
            found = zip(test.data.ids, test.features, strict=True)
            marks = {name: start for name, start in found if start is not None}
            counts = {"too long": test.dropped, "unmarked": test.unmarked}
            return _Source(train.data, near.data, lambda _: targets, lambda *_: test.data, marks, counts)
        if family == "nli":
            own = {"target": hans("train", "subsequence") + hans("train", "constituent")}
            out = {name: hans("eval", heuristic) for name, heuristic in _HANS.items()}
            # Two thirds are no entailment; small networks that learn this alone say it of all HANS, where the classes
            # are even.
            even = _even(binary_entailment("train"))
            return _Source(even, binary_entailment("test"), lambda _: own, lambda name, _: out[name])
        many, whole = self.config.paws_inoculation, paws_qqp()
        if not 0 < many < len(whole):
            raise WorkError(f"expected fewer than {len(whole)} rows of PAWS-QQP to train on, got {many}")

        def left(_: str, seed: int | None) -> Dataset:
            return whole if seed is None else whole.sample(None, seed).take(range(many, len(whole)))

        def target(seed: int) -> dict[str, Dataset]:
            return {"target": whole.sample(None, seed).take(range(many))}

        return _Source(_even(mrpc("train")), mrpc("test"), target, left, counts={"trained on": many})


@final
@dataclass(frozen=True)
class _Source:
    """The data of a family: in-domain rows to train and to judge on, and target data by name for a seed.

    Rows out of domain are by the name of the suite, those that a seed leaves or all; marks are starts of words by id.
    """

    train: Dataset
    test: Dataset
    targets: Callable[[int], dict[str, Dataset]]
    out: Callable[[str, int | None], Dataset]
    marks: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def _even(data: Dataset) -> Dataset:
    """As many rows of one class as of the other."""
    label = np.array(data.targets)
    places = stratified(label, 2 * int(np.bincount(label, minlength=2).min()), seed=0)
    return data.take(np.sort(places).tolist())


def _place(text: Any, start: int | None) -> int | None:
    """The place among the words of the one that starts at a character; None where no word is marked.

    >>> _place("It isn't so bad.", 12)
    5
    """
    if start is None:
        return None
    return [begin for begin, _ in Words(text).spans].index(start)


def labels_of(positive: Array) -> Array:
    """The predicted class, 0 or 1, of probabilities of the positive one; a tie goes to the first, as everywhere.

    >>> labels_of(np.array([0.5, 0.75])).tolist()
    [0, 1]
    """
    return np.asarray((positive > 0.5).astype(np.int64))


def record_of(positive: Array, label: Array | None) -> Predictions:
    """Probabilities of the positive class, shape (row,), as a record of two classes.

    >>> record_of(np.array([0.75]), np.array([1])).probabilities.tolist()
    [[0.25, 0.75]]
    """
    fields = {} if label is None else {"label": label}
    return Predictions.from_probabilities(np.stack([1 - positive, positive], axis=1), **fields)


def accuracies(positive: Array, label: Array) -> Array:
    """Accuracy of each model, shape (model,), from probabilities of the positive class, shape (model, row)."""
    return np.asarray((labels_of(positive) == label).mean(axis=1))


def balanced(positive: Array, label: Array) -> Array:
    """Mean of the accuracies on both classes, shape (model,); on those that there are.

    >>> balanced(np.array([[0.9, 0.9, 0.9, 0.1]]), np.array([1, 1, 1, 1])).tolist()
    [0.75]
    """
    right = labels_of(positive) == label
    return np.asarray(np.mean([right[:, label == one].mean(axis=1) for one in np.unique(label)], axis=0))


MODEL_FILES = ("oodometer_model.json", "config.json", "weights.safetensors", "tokenizer/tokenizer.json")
METHODS = {"lime": "lime", "shap": "kernel-shap", "token-ig": "token-ig"}
"""The paper's name of a method of attribution -> the registered one."""
_CUT = "minilm:"


def check(config: RunConfig, data: RunData) -> None:
    """Say all that is missing, library, data or pretrained network, in one line before anything is trained."""
    if config.ig_seeds and importlib.util.find_spec("captum") is None:
        raise MissingExtraError("token integrated gradients", "captum", extra="explain")
    missing = data.check()
    for name, network in config.networks.items():
        if "source" not in network:
            continue
        try:
            load_pretrained("AutoConfig", source_of(str(network["source"])))
        except OodometerError as error:
            missing.append(f"{name}: {error}")
    if missing:
        raise WorkError("this run lacks: " + "; ".join(missing))


def cut(config: RunConfig, workspace: Workspace, progress: Progress) -> None:
    """Write a copy of MiniLM for each number of its first layers that a network starts from."""
    named = sorted({str(one["source"]) for one in config.networks.values() if is_cut(one)})
    for done, source in enumerate(named, 1):
        layers = int(source.removeprefix(_CUT))
        folder = workspace / f"encoders/minilm-{layers}"
        load_pretrained("AutoModel", packaged_minilm(), num_hidden_layers=layers).save_pretrained(folder)
        load_pretrained("AutoTokenizer", packaged_minilm()).save_pretrained(folder)
        progress(done, len(named))


def is_cut(network: Mapping[str, Any]) -> bool:
    """Whether a network is the first layers of MiniLM."""
    return str(network.get("source", "")).startswith(_CUT)


def cut_files(network: Mapping[str, Any]) -> tuple[str, ...]:
    """The files of its copy."""
    folder = f"encoders/minilm-{str(network['source']).removeprefix(_CUT)}"
    return tuple(f"{folder}/{one}" for one in ("config.json", "model.safetensors", "tokenizer.json"))


def _options(network: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Arguments of `Encoder`."""
    options = {name: value for name, value in network.items() if name not in ("ready", "learning_rate")}
    if is_cut(network):
        layers = str(network["source"]).removeprefix(_CUT)
        options["source"] = str(workspace.folder / f"encoders/minilm-{layers}")
    elif "source" in network:
        options["source"] = source_of(str(network["source"]))
    return options


def train(data: RunData, plan: Plan, seed: int, place: Place) -> None:
    """Train a model and save it, with what its classes mean; it goes on from its checkpoint."""
    use_threads()
    config, workspace = data.config, place.workspace
    network, training = config.networks[plan.network], replace(training_of(config, plan), seed=seed)
    checkpoint = workspace / f"checkpoints/{place.folder}"
    if plan.start:
        model = _loaded(workspace.folder, f"models/{seed}/{plan.start}")  # of its own: the training changes it
        roles = workspace.read_json(f"models/{seed}/{plan.start}/classes.json")
        rows = data.further(plan, seed)
        named = [model.classes[roles["positive" if one else "negative"]] for one in rows.targets]
        model.fit_further(
            replace(rows, targets=tuple(named)), training=training,
            checkpoint=checkpoint, progress=place.progress,
        )  # fmt: skip
    elif network.get("ready"):
        options = _options(network, workspace)
        model = Encoder.from_pretrained(options["source"], max_length=options["max_length"])
        # Which output of a classifier of entailment is the positive class, and which one non-entailment is taught as
        near = data.in_domain(plan.family, seed)
        names = [str(one).lower() for one in model.classes]
        positive = next((i for i, one in enumerate(names) if one.startswith("entail")), None)
        negative = next((i for i, one in enumerate(names) if one.startswith(("neutral", "not", "non"))), None)
        if positive is None or negative is None:
            p = model.ask(near.inputs).distribution
            labels = np.array(near.targets)
            apart = p[labels == 1].mean(0) - p[labels == 0].mean(0)
            positive = int(apart.argmax()) if positive is None else positive
            others = [i for i in range(len(names)) if i != positive]
            negative = max(others, key=lambda i: float(p[labels == 0].mean(0)[i])) if negative is None else negative
        roles = {"positive": positive, "negative": negative}
    else:
        model = Encoder(**_options(network, workspace), training=training)
        rows = data.training(plan, seed)
        model.fit(rows, classes=(0, 1), checkpoint=checkpoint, progress=place.progress)
        roles = {"positive": 1, "negative": 0}
    model.save(workspace / place.folder)
    workspace.write_json(f"{place.folder}/classes.json", roles)
    shutil.rmtree(checkpoint, ignore_errors=True)


def _opened(workspace: Workspace, folder: str) -> Encoder:
    return _open(workspace.folder, folder, content_of(workspace.folder / folder / WEIGHTS))


@lru_cache(maxsize=1)
def _open(home: Path, folder: str, weights: str) -> Encoder:
    """The model in a folder, kept for the next step, which often explains the same one by another method."""
    return _loaded(home, folder)


def _loaded(home: Path, folder: str) -> Encoder:
    found = load_model(home / folder)
    if not isinstance(found, Encoder):
        raise WorkError(f"expected an encoder in {folder}, got {found.kind}; remove the folder and run again")
    return found


def ask(data: RunData, plan: Plan, suites: Sequence[Suite], seed: int, place: Place) -> None:
    """Probabilities of the positive class, in-domain and on the rows of each suite; an NPZ file each."""
    use_threads()
    workspace = place.workspace
    model = _opened(workspace, f"models/{seed}/{plan.name}")
    positive = workspace.read_json(f"models/{seed}/{plan.name}/classes.json")["positive"]
    asked = {"in-domain": data.in_domain(plan.family, seed)}
    asked |= {suite.name: data.rows(suite, seed).data for suite in suites}
    for done, (name, rows) in enumerate(asked.items(), 1):
        p = model.ask(rows.inputs).distribution[:, positive]
        arrays: dict[str, Any] = {"positive": np.asarray(p, dtype=np.float64)}
        arrays |= {"label": np.array(rows.targets, dtype=np.int64), "ids": np.array(rows.ids, dtype=str)}
        store_answers(place, name, {**arrays, "truncated": np.int64(model.truncated)})
        place.progress(done, len(asked))


def explain(data: RunData, plan: Plan, suite: Suite, method: str, seed: int, place: Place) -> None:
    """What each word of the pool adds to the positive class of a model; one NPZ file.

    Of two classes the attributions of one are those of the other with the opposite sign, so that the predicted class
    needs no call of its own, and a model with three classes is explained as the two-class one that it is used as.
    """
    use_threads()
    workspace = place.workspace
    model = _opened(workspace, f"models/{seed}/{plan.name}")
    positive = workspace.read_json(f"models/{seed}/{plan.name}/classes.json")["positive"]
    words = data.rows(suite, seed).words()
    parts = workspace / f"parts/{place.folder}/{plan.name}.{method}"
    weights = checksum_of_files(workspace.folder, [f"models/{seed}/{plan.name}/weights.safetensors"])
    found = explain_in(
        parts, _method(method, data.config, seed), model, words, name=f"{plan.name} {sorted(weights.items())}",
        targets=[positive] * len(words), progress=place.progress,
    ).attributions  # fmt: skip
    arrays = {"values": np.concatenate([one.values for one in found])}
    arrays |= {"words": np.array([len(one.values) for one in found], dtype=np.int64)}
    arrays |= {name: np.array([getattr(one, name) for one in found], dtype=np.float64) for name in _NUMBERS}
    store_answers(place, f"{plan.name}.{method}", arrays)
    shutil.rmtree(parts, ignore_errors=True)


_NUMBERS = ("separator", "probability", "base", "fit")


def _method(method: str, config: RunConfig, seed: int) -> Attribution:
    """A method of attribution, with the options of the run."""
    options: dict[str, Any] = {"seed": seed, "samples": config.samples_of(seed)}
    if method == "token-ig":
        options = {"steps": config.ig_steps}
    found: Attribution = create("attribution", METHODS[method], **options)
    return found


def explained(workspace: Workspace, folder: str, name: str, words: Sequence[Words]) -> list[WordAttributions]:
    """Attributions of a file, of the predicted class of each example."""
    held = load_answers(workspace, folder, name)
    values = np.split(held["values"], np.cumsum(held["words"])[:-1])
    out = []
    for i, one in enumerate(words):
        if len(values[i]) != len(one.words):
            raise WorkError(f"the attributions {folder}/{name} are of other texts; remove the file and run again")
        separator, probability, base, fit = (float(held[name][i]) for name in _NUMBERS)
        if labels_of(np.array(probability)):
            out.append(WordAttributions(one, values[i], separator, 1, probability, base, fit))
        else:
            out.append(WordAttributions(one, -values[i], -separator, 0, 1 - probability, 1 - base, fit))
    return out


POWERED = "PPI++"
LEARNT = "learnt"
COMBINED = ("ACC + all", "ACC + pool", "ACC + factors", "ACC + CONF-GT", LEARNT)
"""Names of the combined rankings that are compared with ACC; what they hold was settled before any run."""
_POOL = "plurality"
_PIECES = ("ACC", "CONF-GT", POWERED, f"pool/{_POOL}")
"""What the learnt ranking weighs, beside the factor made for the set."""


def evidence_methods(held: Evaluation, models: Sequence[int], known: Mapping[str, Method]) -> dict[str, Method]:
    """Rankings by the unlabelled pool, and by everything together, for some of the models.

    The pool is all rows out of domain without their labels, the reference of the estimators the in-domain rows. In the
    combined rankings labels come first and the rest is worth less than one of them: "all" is prediction-powered
    accuracy, agreement with the other models, CONF-GT and the factor made for the set, by LIME and by SHAP.
    """
    # What all rows out of domain say without their labels, with the in-domain rows for a reference
    pools = {str(i): record_of(held.probabilities[i], None) for i in models}
    found = pool_evidence(pools, {str(i): record_of(held.near[i], held.near_label) for i in models})
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


BASELINE = "ACC"
GROUPS = ("inoculated", "architectures", "pairs")
"""Models of one network that saw more or less of the target data; one model a network; and those of Table 4."""


@final
class Evaluation:
    """What the models of a suite said, and what each method makes of it.

    ``plans`` are the models, ``probabilities`` of the positive class, shape (model, row), of all rows out of domain;
    the first ``pool`` rows are the population that examples are drawn from.
    """

    def __init__(self, workspace: Workspace, data: RunData, suite: Suite, seed: int, plans: Sequence[Plan]) -> None:
        self.suite, self.seed, self.plans, self.config = suite, seed, tuple(plans), data.config
        self._workspace, self._rows = workspace, data.rows(suite, seed)
        held = [load_answers(workspace, f"answers/{seed}/{plan.name}", suite.name) for plan in plans]
        near = [load_answers(workspace, f"answers/{seed}/{plan.name}", "in-domain") for plan in plans]
        self.label = held[0]["label"]
        self.probabilities = np.stack([one["positive"] for one in held])
        self.near_label, self.near = near[0]["label"], np.stack([one["positive"] for one in near])
        self.truth = accuracies(self.probabilities, self.label)
        self.pool = self._rows.pool
        self._factors = {method: found for method in METHODS if (found := self._values(method)) is not None}

    def _values(self, method: str) -> Array | None:
        """Factors, shape (factor, model, example), nan where words do not occur; None without explanations."""
        if method == "token-ig" and self.seed >= self.config.ig_seeds:
            return None
        words, folder = self._rows.words(), f"attributions/{self.seed}/{self.suite.name}"
        found = [
            factor_values(explained(self._workspace, folder, f"{plan.name}.{method}", words), self.suite.factors)
            for plan in self.plans
        ]
        out = np.stack(found, axis=1)
        if self.suite.feature:
            out[:, :, [one.feature is None for one in words]] = np.nan
        return out

    # ---------------------------------------------------------------- groups

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Name and models of each comparison; those whose models are all equally good are left out."""
        inoculated = [i for i, plan in enumerate(self.plans) if plan.inoculated]
        others = [i for i, plan in enumerate(self.plans) if not plan.inoculated]
        found = {"inoculated": inoculated}
        if others:
            by_name = {plan.name: i for i, plan in enumerate(self.plans)}
            first = by_name["paws-pure" if self.suite.name == "PAWS" else "nli-base"]
            found["architectures"] = [first, *others]
            if self.suite.name == "PAWS":
                found["pairs"] = [first, by_name["paws-mixed-1"], *others]
        for name, models in found.items():
            if len(set(self.truth[models].tolist())) > 1:
                yield name, models

    def methods(self, models: Sequence[int]) -> dict[str, Method]:
        """Every method for some of the models; a factor enters as minus its value."""
        answers = self.answers(models, slice(0, self.pool))
        out = baseline_methods(answers, seed=self.seed)
        for method, values in self._factors.items():
            for place, factor in enumerate(self.suite.factors):
                out[f"{method}/{factor}"] = -values[place][list(models)]
        return {**out, **evidence_methods(self, models, out)}

    def answers(self, models: Sequence[int], rows: slice | None = None, *, labels: bool = True) -> Answers:
        """Answers of some models on some of the rows out of domain, by default on all."""
        rows = rows or slice(None)
        label = self.label[rows] if labels else None
        return suite_of({str(i): record_of(self.probabilities[i, rows], label) for i in models})

    def drawn(self) -> Array:
        """The draws of the protocol, shape (draw, size)."""
        config = self.config
        return draw_rows(self.pool, draws=config.draws, size=min(config.size, self.pool), seed=self.seed)

    def ranked(self, models: Sequence[int], weights: LearntWeights | None = None) -> FewShot:
        """The protocol over the pool, with the accuracy on all rows as truth; ``weights`` were learnt elsewhere."""
        config, methods = self.config, self.methods(models)
        if weights is not None:
            methods[LEARNT] = weights.rule(pieces_of(self, methods))
        return few_shot_evaluation(
            methods,
            self.truth[list(models)],
            models=[self.plans[i].label for i in models],
            draws=config.draws,
            size=min(config.size, self.pool),
            seed=self.seed,
        )

    def rows(self, weights: LearntWeights | None = None) -> Iterator[dict[str, Any]]:
        """What is to be told of each group of models; the inoculated ones are also ranked by learnt weights."""
        for group, models in self.groups():
            found = self.ranked(models, weights if group == "inoculated" else None)
            told = dict(zip(found.methods, found.few_shot.tolist(), strict=True))
            tests = {
                name: draws_test(found.of(name), found.of(BASELINE), resamples=999, seed=self.seed).p_value
                for name in found.methods
                if name != BASELINE
            }
            yield {
                "suite": self.suite.name,
                "seed": self.seed,
                "group": group,
                "models": [self.plans[i].label for i in models],
                "accuracy": self.truth[models].tolist(),
                "equal": found.equal,
                "pairs": [
                    {"pair": found.pair_name(k), "gap": float(found.truth[a] - found.truth[b])}
                    for k, (a, b) in enumerate(found.pairs)
                ],
                "few_shot": told,
                "ties": dict(zip(found.methods, found.ties.tolist(), strict=True)),
                "pairwise": dict(zip(found.methods, found.pairwise.tolist(), strict=True)),
                "p_draws": tests,
            }

    def absent(self) -> dict[str, int]:
        """Factor -> examples of the pool in which its words do not occur."""
        held = self._factors["lime"][:, 0]
        return dict(zip(self.suite.factors, np.isnan(held).sum(axis=1).tolist(), strict=True))


spread_over = partial(mean_and_spread, of="by_seed")


FORM = 1  # raise it where the form of the result changes: then the step is done again


def study(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all rankings; writes ``study.json``."""
    rows: list[dict[str, Any]] = []
    sets: list[dict[str, Any]] = []
    guesses: list[list[list[float]]] = []
    done = 0
    learnt: list[dict[str, Any]] = []
    for seed in range(config.seeds):
        three: list[list[float]] = []
        suites = [Evaluation(workspace, data, one, seed, ranked_plans(config, one.family)) for one in SUITES]
        weights = learnt_weights(suites)
        learnt += [{"left_out": name, "seed": seed, **one.to_dict()} for name, one in weights.items()]
        for suite, held in zip(SUITES, suites, strict=True):
            found = list(held.rows(weights.get(suite.name)))
            rows += found
            three += [one["accuracy"] for one in found if one["group"] == "architectures"]
            counts = data.rows(suite, seed).counts
            sets.append({"set": suite.name, "seed": seed, **counts, "absent": held.absent()})
            done += 1
            progress(done, config.seeds * len(SUITES) + 1)
        guesses.append(three)
    result: dict[str, Any] = {"form": FORM, "version": __version__, "python": platform.python_version()}
    result |= {"sizes": asdict(config), "stand_ins": STAND_INS, "baseline": BASELINE, "combined": list(COMBINED)}
    result["data"] = {family: data.fingerprints(family) for family in FAMILIES}
    result |= {"sets": sets, "models": models(config, workspace), "rows": rows, "guess": _guess(guesses)}
    result["learnt"] = learnt
    workspace.write_json("study.json", rounded(result))
    progress(1, 1)


def ranked_plans(config: RunConfig, family: str) -> list[Plan]:
    """The models of a family that stand in suites; those of other networks that others only go on from do not."""
    plans = [plan for plan in lineup(config) if plan.family == family]
    return [plan for plan in plans if plan.inoculated or all(other.start != plan.name for other in plans)]


def models(config: RunConfig, workspace: Workspace) -> list[dict[str, Any]]:
    """Every model with its accuracy in-domain and on each suite (Tables 5 and 6), over the seeds."""
    out = []
    for plan in lineup(config):
        told: dict[str, Any] = {**plan.to_dict(), "family": plan.family, "accuracy": {}, "balanced": {}}
        for name in ("in-domain", *(suite.name for suite in suites_of(plan.family))):
            right, even = [], []
            for seed in range(config.seeds):
                held = load_answers(workspace, f"answers/{seed}/{plan.name}", name)
                right.append(float(accuracies(held["positive"][None], held["label"])[0]))
                even.append(float(balanced(held["positive"][None], held["label"])[0]))
            told["accuracy"][name], told["balanced"][name] = spread_over(right), spread_over(even)
        out.append(told)
    return out


def _guess(by_seed: Sequence[Sequence[Sequence[float]]]) -> list[dict[str, Any]]:
    """GUESS for each architecture that could be named best in every set: few-shot accuracy over the seeds."""
    found = [guess_accuracy(sets) for sets in by_seed if sets]
    if not found:
        return []
    return [
        {"model": place, "few_shot": spread_over(values.tolist())} for place, values in enumerate(np.array(found).T)
    ]
