"""The study: every suite of every seed evaluated, and what the claims and tables are about."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, present
from oodometer.errors import WorkError, needed
from oodometer.predictions import Predictions
from oodometer.rankings import few_shot as ranking
from oodometer.rankings.pool import pool_evidence
from oodometer.registry import create
from oodometer.store.artifact_cache import checksum_of_files, content_of

from ...attributions.base import WordAttributions, Words
from ...attributions.factors.base import factor_values
from ...attributions.in_folder import explain_in
from ...datasets import Dataset
from ...datasets.base import stratified
from ...datasets.sentences import MSGS_SETS, binary_entailment, hans, mrpc, msgs, paws_qqp
from ...models.artifacts import WEIGHTS
from ...models.base import load_model
from ...models.inoculation import batches_of, mixed
from ...models.text.encoder import Encoder
from ...models.torch.library import load_pretrained, use_threads
from ..base import Progress, Workspace
from ..kit.publish import facts
from ..kit.sources import (
    Place,
    load_answers,
    located,
    packaged_minilm,
    passing,
    source_of,
    store_answers,
)
from ..kit.tables import mean_and_spread, rounded
from .lineup import (
    FAMILIES,
    SUITES,
    Plan,
    RunConfig,
    Suite,
    beside_others,
    lineup,
    ranked_of,
    suites_of,
    training_of,
)

STAND_INS = {
    "nli": "SICK + RTE, binary, stands in for MNLI",
    "paraphrase": "MRPC stands in for QQP",
}
_HANS = {"SUB": "subsequence", "CON": "constituent"}


@final
@dataclass(frozen=True)
class Rows:
    """The rows out of domain of a suite; the first ``pool`` are drawn from. Those that are ``explained``, as words with
    what the data set marks: of sets that mark a word the ones that have it, else the pool.
    """

    data: Dataset
    pool: int
    explained: tuple[int, ...]
    words: tuple[Words, ...]
    counts: dict[str, int]


@final
@dataclass(frozen=True)
class _Source:
    """The data of a family: in-domain rows, target data by name for a seed, rows out of domain, marks by id."""

    train: Dataset
    test: Dataset
    targets: Callable[[int], dict[str, Dataset]]
    out: Callable[[str, int | None], Dataset]
    marks: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@final
class RunData:
    """The data of a run, read when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._sources = cache(self._read_source)
        self.rows = cache(self._rows)
        self.in_domain = cache(
            lambda family, seed: self._sources(family).test.sample(config.in_domain_rows, seed)
        )

    def fingerprints(self, family: str) -> dict[str, str]:
        """Names of the contents of all data of a family."""
        source = self._sources(family)
        sets = {"train": source.train, "in-domain": source.test}
        sets |= {f"target {name}": data for name, data in source.targets(0).items()}
        sets |= {suite.name: source.out(suite.name, None) for suite in suites_of(family)}
        return {name: data.fingerprint for name, data in sets.items()}

    def training(self, plan: Plan, seed: int) -> Dataset:
        """The rows that a model is trained on, from its network; all rows come once before any comes again."""
        source, rows = (
            self._sources(plan.family),
            plan.steps * training_of(self.config, plan).batch_size,
        )
        parts = [(source.targets(seed)[name], share) for name, share in plan.shares.items()]
        return mixed(source.train, parts, rows=rows, seed=seed)

    def further(self, plan: Plan, seed: int) -> Dataset:
        """The rows of a model's further steps; of pure target data, those of more steps hold those of fewer."""
        source, size = self._sources(plan.family), training_of(self.config, plan).batch_size
        targets = source.targets(seed)
        target = targets["target" if "target" in targets else "L"]
        if plan.mixture == 1:
            return batches_of(target, plan.further, size, seed)
        return mixed(source.train, [(target, plan.mixture)], rows=plan.further * size, seed=seed)

    def graded_on(self, family: str, seed: int) -> list[Dataset]:
        """The rows out of domain by which the models between two are graded: none of those that they are ranked on."""
        sets = [
            self._sources(family).out(suite.name, seed).sample(None, seed)
            for suite in suites_of(family)
        ]
        return [data.take(range(len(data) - self.config.grading_rows, len(data))) for data in sets]

    def _rows(self, suite: Suite, seed: int) -> Rows:
        source, config = self._sources(suite.family), self.config
        full, marks = source.out(suite.name, seed), source.marks
        count = len(full) - (config.grading_rows if suite.family in config.graded else 0)
        data = full.sample(None, seed).take(range(min(count, config.truth_rows or count)))
        marked = (
            [i for i, name in enumerate(data.ids) if name in marks]
            if suite.feature
            else list(range(len(data)))
        )
        explained = marked[: config.pool]
        pool, words = explained[-1] + 1, []
        for text, name in ((data.inputs[i], data.ids[i]) for i in explained):
            # The place among the words of the one that starts at a character
            at = (
                [begin for begin, _ in Words(text).spans].index(marks[name])
                if suite.feature
                else None
            )
            words.append(Words(text, at))
        counts = {
            "rows": len(full),
            "judged": len(data),
            "pool": pool,
            "explained": len(explained),
            **source.counts,
        }
        return Rows(
            data, pool, tuple(explained), tuple(words), {**counts, "positive": sum(data.targets)}
        )

    def _read_source(self, family: str) -> _Source:
        if family in MSGS_SETS:
            train, near, dose, test = (
                msgs(family, part) for part in ("train", "in-domain", "inoculation", "test")
            )
            targets = {"L": dose.data, "S": replace(dose.data, targets=dose.surface)}
            starts = zip(test.data.ids, test.features, strict=True)
            marks = {name: start for name, start in starts if start is not None}
            counts = {"too long": test.dropped, "unmarked": test.unmarked}
            return _Source(
                train.data, near.data, lambda _: targets, lambda *_: test.data, marks, counts
            )
        if family == "nli":
            target_sets = {"target": hans("train", "subsequence") + hans("train", "constituent")}
            out = {name: hans("eval", heuristic) for name, heuristic in _HANS.items()}
            # Two thirds are no entailment; small networks that learn this alone say it of all HANS, where the classes
            # are even.
            even = _even(binary_entailment("train"))
            return _Source(
                even, binary_entailment("test"), lambda _: target_sets, lambda name, _: out[name]
            )
        count, data = self.config.paws_inoculation, paws_qqp()
        if not 0 < count < len(data):
            raise WorkError(
                f"expected fewer than {len(data)} rows of PAWS-QQP to train on, got {count}"
            )

        def held_out(_: str, seed: int | None) -> Dataset:
            return data if seed is None else data.sample(None, seed).take(range(count, len(data)))

        def target(seed: int) -> dict[str, Dataset]:
            return {"target": data.sample(None, seed).take(range(count))}

        return _Source(
            _even(mrpc("train")), mrpc("test"), target, held_out, counts={"trained on": count}
        )


def _even(data: Dataset) -> Dataset:
    label = np.array(data.targets)
    rows = stratified(label, 2 * int(np.bincount(label, minlength=2).min()), seed=0)
    return data.take(np.sort(rows).tolist())


def record_of(positive: Array, label: Array | None) -> Predictions:
    """Probabilities of the positive class, shape (row,), as a record of two classes."""
    fields = {} if label is None else {"label": label}
    return Predictions.from_probabilities(np.stack([1 - positive, positive], axis=1), **fields)


def accuracies(positive: Array, label: Array) -> Array:
    """Accuracy of each model, shape (model,), from probabilities of the positive class; a tie goes to the first."""
    return np.asarray(((positive > 0.5) == label).mean(axis=1))


def balanced(positive: Array, label: Array) -> Array:
    """Mean of the accuracies on both classes, shape (model,); on those that there are."""
    right = (positive > 0.5) == label
    return np.asarray(
        np.mean([right[:, label == value].mean(axis=1) for value in np.unique(label)], axis=0)
    )


MODEL_FILES = (
    "oodometer_model.json",
    "config.json",
    "weights.safetensors",
    "tokenizer/tokenizer.json",
)
METHODS = {"lime": "lime", "shap": "kernel-shap", "token-ig": "token-ig"}
"""The paper's name of a method of attribution -> the registered one."""


def needs_of(config: RunConfig, data: RunData) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Checks of what a run needs, library, data and pretrained networks, by name."""
    if config.ig_seeds:
        yield "token-ig", partial(needed, "captum", "token integrated gradients", extra="explain")
    yield from ((family, partial(data.fingerprints, family)) for family in FAMILIES)
    for name, network in config.networks.items():
        if "source" in network:
            yield name, partial(load_pretrained, "AutoConfig", source_of(str(network["source"])))


def cut_folder(network: Mapping[str, Any]) -> str:
    """The folder of the first layers of MiniLM that a network starts from; else empty."""
    name, _, layers = str(network.get("source", "")).partition(":")
    return f"encoders/minilm-{layers}" if name == "minilm" and layers else ""


CUT_FILES = ("config.json", "model.safetensors", "tokenizer.json")


def cut(folders: Sequence[str], workspace: Workspace, progress: Progress) -> None:
    """Write a copy of MiniLM for each number of its first layers that a network starts from."""
    for done, folder in enumerate(folders, 1):
        layers, path = int(folder.rpartition("-")[2]), workspace / folder
        load_pretrained("AutoModel", packaged_minilm(), num_hidden_layers=layers).save_pretrained(
            path
        )
        load_pretrained("AutoTokenizer", packaged_minilm()).save_pretrained(path)
        progress(done, len(folders))


def train(data: RunData, plan: Plan, seed: int, place: Place) -> None:
    """Train a model and save it, with what its classes mean; it goes on from its checkpoint."""
    use_threads()
    config, workspace = data.config, place.workspace
    network = config.networks[plan.network]
    training = replace(training_of(config, plan), seed=seed)
    with passing(workspace, place.folder) as checkpoint:
        if plan.start:
            start = f"models/{seed}/{plan.start}"
            model = _loaded(workspace.folder, start)  # of its own: the training changes it
            roles = workspace.read_json(f"{start}/classes.json")
            rows = _with_classes(data.further(plan, seed), model, roles)
            model.fit_further(
                rows, training=training, checkpoint=checkpoint, progress=place.progress
            )
        elif network.get("ready"):
            options = _options_of(network, workspace)
            model = Encoder.from_pretrained(options["source"], max_length=options["max_length"])
            roles = _roles_of(model, data.in_domain(plan.family, seed))
        else:
            model = Encoder(**_options_of(network, workspace), training=training)
            roles, rows = {"positive": 1, "negative": 0}, data.training(plan, seed)
            model.fit(rows, classes=(0, 1), checkpoint=checkpoint, progress=place.progress)
        model.save(workspace / place.folder)
        workspace.write_json(f"{place.folder}/classes.json", roles)


def _options_of(network: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """What an encoder is made of; layers of MiniLM lie in the workspace."""
    options = located(network)
    for name in ("ready", "learning_rate"):
        options.pop(name, None)
    if folder := cut_folder(network):
        options["source"] = str(workspace.folder / folder)
    return options


def _with_classes(rows: Dataset, model: Any, roles: Mapping[str, int]) -> Dataset:
    """Rows whose targets are classes of the model."""
    positive, negative = (model.classes[roles[role]] for role in ("positive", "negative"))
    return replace(rows, targets=tuple(positive if target else negative for target in rows.targets))


def _roles_of(model: Any, near: Dataset) -> dict[str, int]:
    """Which output of a trained model is the positive class, entailment, and which one non-entailment is taught as:
    what a class is named counts for more than what it says of rows in its domain.
    """
    p, labels = model.ask(near.inputs).distribution, np.array(near.targets)
    positive, negative = p[labels == 1].mean(0), p[labels == 0].mean(0)
    names = [str(name).lower() for name in model.classes]
    entails = 3.0 * np.array([name.startswith("entail") for name in names])
    denies = 3.0 * np.array([name.startswith(("neutral", "not", "non")) for name in names])
    first = int((entails + positive - negative).argmax())
    candidates = [i for i in range(len(negative)) if i != first]
    return {"positive": first, "negative": max(candidates, key=(denies + negative).__getitem__)}


_STEPS = 17  # of the way between two models, on which their accuracy is looked up


def grade(
    data: RunData, plans: Sequence[Plan], seed: int, workspace: Workspace, progress: Progress
) -> None:
    """Write the models between two: weights (1 - a) w_start + a w_end, a such that the accuracy on rows to grade by is
    the grade of each, from the worst accuracy, or 0.1, to the best, or 0.9. Accuracies between the places that were
    tried are interpolated, and one below an earlier place's is taken for that.
    """
    use_threads()
    family, names = plans[0].family, (plans[0].start, plans[0].toward)
    model, end = (_loaded(workspace.folder, f"models/{seed}/{name}") for name in names)
    first, last = (
        {key: value.clone() for key, value in network.net.state_dict().items()}
        for network in (model, end)
    )

    def go(share: float) -> None:
        mixed = {
            key: v.lerp(last[key], share) if v.is_floating_point() else v
            for key, v in first.items()
        }
        model.net.load_state_dict(mixed)

    places, sets, scores = np.linspace(0, 1, _STEPS), data.graded_on(family, seed), []
    roles = workspace.read_json(f"models/{seed}/{names[0]}/classes.json")
    for done, position in enumerate(places, 1):
        go(float(position))
        p = [model.ask(rows.inputs).distribution[:, roles["positive"]] for rows in sets]
        right = [
            accuracies(positive[None], np.array(rows.targets))[0]
            for positive, rows in zip(p, sets, strict=True)
        ]
        scores.append(float(np.mean(right)))
        progress(done, len(places) + 1)
    rising = np.maximum.accumulate(scores)
    low, high = max(0.1, rising[0]), min(0.9, rising[-1])
    for plan in plans:
        share = float(np.interp(low + (plan.grade(seed) or 0.0) * (high - low), rising, places))
        go(share)
        model.save(workspace / f"models/{seed}/{plan.name}")
        workspace.write_json(f"models/{seed}/{plan.name}/classes.json", {**roles, "share": share})
    progress(1, 1)


def _opened(workspace: Workspace, folder: str) -> tuple[Encoder, int]:
    """The model in a folder, and which of its classes is the positive one."""
    positive: int = workspace.read_json(f"{folder}/classes.json")["positive"]
    return _open(
        workspace.folder, folder, content_of(workspace.folder / folder / WEIGHTS)
    ), positive


def _loaded(root: Path, folder: str, weights: str = "") -> Encoder:
    model = load_model(root / folder)
    if not isinstance(model, Encoder):
        raise WorkError(
            f"expected an encoder in {folder}, got {model.kind}; remove the folder and run again"
        )
    return model


# kept for the next step, which often explains the same one by another method
_open = lru_cache(maxsize=1)(_loaded)


def ask(data: RunData, plan: Plan, suites: Sequence[Suite], seed: int, place: Place) -> None:
    """Probabilities of the positive class, in-domain and on the rows of each suite; an NPZ file each."""
    use_threads()
    model, positive = _opened(place.workspace, f"models/{seed}/{plan.name}")
    sets = {"in-domain": data.in_domain(plan.family, seed)}
    sets |= {suite.name: data.rows(suite, seed).data for suite in suites}
    for done, (name, rows) in enumerate(sets.items(), 1):
        p = model.ask(rows.inputs).distribution[:, positive]
        arrays: dict[str, Any] = {"positive": np.asarray(p, dtype=np.float64)}
        arrays |= {
            "label": np.array(rows.targets, dtype=np.int64),
            "ids": np.array(rows.ids, dtype=str),
        }
        store_answers(place, name, {**arrays, "truncated": np.int64(model.truncated)})
        place.progress(done, len(sets))


_NUMBERS = ("separator", "probability", "base", "fit")


def explain(data: RunData, plan: Plan, suite: Suite, method: str, seed: int, place: Place) -> None:
    """What each word of the pool adds to the positive class of a model; for the other class the signs are turned."""
    use_threads()
    workspace, config, words = place.workspace, data.config, data.rows(suite, seed).words
    model, positive = _opened(workspace, f"models/{seed}/{plan.name}")
    options = (
        {"steps": config.ig_steps}
        if method == "token-ig"
        else {"seed": seed, "samples": config.samples_of(method, plan.family)}
    )
    parts = workspace / f"parts/{place.folder}/{plan.name}.{method}"
    weights = checksum_of_files(
        workspace.folder, [f"models/{seed}/{plan.name}/weights.safetensors"]
    )
    attributions = explain_in(
        parts,
        create("attribution", METHODS[method], **options),
        model,
        words,
        name=f"{plan.name} {sorted(weights.items())}",
        targets=[positive] * len(words),
        progress=place.progress,
    ).attributions
    arrays = {"values": np.concatenate([attribution.values for attribution in attributions])}
    arrays |= {
        "words": np.array([len(attribution.values) for attribution in attributions], dtype=np.int64)
    }
    arrays |= {
        name: np.array([getattr(a, name) for a in attributions], dtype=np.float64)
        for name in _NUMBERS
    }
    store_answers(place, f"{plan.name}.{method}", arrays)
    shutil.rmtree(parts, ignore_errors=True)


def explained(
    workspace: Workspace, folder: str, name: str, words: Sequence[Words]
) -> list[WordAttributions]:
    """Attributions of a file, of the predicted class of each example."""
    arrays, attributions = load_answers(workspace, folder, name), []
    values = np.split(arrays["values"], np.cumsum(arrays["words"])[:-1])
    for i, example in enumerate(words):
        if len(values[i]) != len(example.words):
            raise WorkError(
                f"the attributions {folder}/{name} are of other texts; remove the file and run again"
            )
        separator, p, base, fit = (float(arrays[number][i]) for number in _NUMBERS)
        fields = (
            (values[i], separator, 1, p, base)
            if p > 0.5
            else (-values[i], -separator, 0, 1 - p, 1 - base)
        )
        attributions.append(WordAttributions(example, *fields, fit))
    return attributions


POWERED = "PPI++"
BASELINE = "ACC"
COMBINED = ("ACC + all", "ACC + pool", "ACC + factors", "ACC + CONF-GT")
"""Names of the combined rankings that are compared with ACC; what they hold was settled before any run."""
_POOL = "plurality"


def powered_accuracy(correct: Array, score: Array, pool_score: Array) -> ranking.Rule:
    """PPI++ (Angelopoulos, Duchi and Zrnic 2023) as a rule: mean Y + lam (mean of f on the pool - mean of f).

    lam = cov(Y, f) / ((1 + n/N) var f) in the n drawn rows, N those of the pool, of all models together. All of shape
    (model, row).
    """
    means, rows = pool_score.mean(axis=1), pool_score.shape[1]

    def rule(indices: Array) -> Array:
        y, f = correct.T[indices], score.T[indices]  # (draw, row, model)
        away = f - f.mean(axis=1, keepdims=True)
        along, spread = np.einsum("dnm,dnm->d", away, y), np.einsum("dnm,dnm->d", away, away)
        varies = spread > 1e-12 * indices.shape[1]
        slope = np.where(
            varies, along / ((1 + indices.shape[1] / rows) * np.where(varies, spread, 1.0)), 0.0
        )
        return np.asarray(y.mean(axis=1) + slope[:, None] * (means - f.mean(axis=1)))

    return rule


def labels_first(correct: Array, pieces: Mapping[str, ranking.Method]) -> ranking.Rule:
    """ACC + e / n, n the drawn rows, e the mean of the evidence, each piece stretched over the models to [-1/2, 1/2]
    (less a millionth): a model with one row more right stays ahead, whatever it says.
    """

    def rule(indices: Array) -> Array:
        scores = ranking.scored(pieces, indices)
        defined = ~np.isnan(scores).all(axis=-1, keepdims=True)
        high = np.nanmax(np.where(defined, scores, 0.0), axis=-1, keepdims=True)
        low = np.nanmin(np.where(defined, scores, 0.0), axis=-1, keepdims=True)
        distinct = high - low > ranking.ROUNDING * np.maximum(np.abs(high), np.abs(low))
        evidence = (
            np.nan_to_num((scores - (high + low) / 2) / np.where(distinct, high - low, 1.0))
            * distinct
        )
        return np.asarray(
            ranking.drawn_scores(correct, indices)
            + (1 - 1e-6) * evidence.mean(axis=0) / indices.shape[1]
        )

    return rule


@final
class Evaluation:
    """What the models of a suite said, (model, row), and what each method makes of the first ``pool`` rows."""

    def __init__(
        self, workspace: Workspace, data: RunData, suite: Suite, seed: int, plans: Sequence[Plan]
    ) -> None:
        self.suite, self.seed, self.plans, self.config = suite, seed, tuple(plans), data.config
        folders, rows = [f"answers/{seed}/{plan.name}" for plan in plans], data.rows(suite, seed)
        far = [load_answers(workspace, folder, suite.name) for folder in folders]
        near = [load_answers(workspace, folder, "in-domain") for folder in folders]
        self.label, self.probabilities = (
            far[0]["label"],
            np.stack([arrays["positive"] for arrays in far]),
        )
        self.near_label, self.near = (
            near[0]["label"],
            np.stack([arrays["positive"] for arrays in near]),
        )
        self.truth, self.pool = accuracies(self.probabilities, self.label), rows.pool
        # Factors, shape (factor, model, example), nan where words do not occur or an example is not explained
        self._factors, self.explained = dict[str, Array](), methods_of(self.config, seed)
        self._with_words = np.array(rows.explained)
        for method in self.explained:
            names = [f"{plan.name}.{method}" for plan in plans]
            files = [
                explained(workspace, f"attributions/{seed}/{suite.name}", name, rows.words)
                for name in names
            ]
            values = np.stack([factor_values(file, suite.factors) for file in files], axis=1)
            self._factors[method] = np.full((*values.shape[:2], rows.pool), np.nan)
            self._factors[method][:, :, self._with_words] = values

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Name and models of each comparison (inoculated, one a network, Table 4); without those all alike."""
        uninoculated = [i for i, plan in enumerate(self.plans) if not plan.inoculated]
        groups = {"inoculated": [i for i, plan in enumerate(self.plans) if plan.inoculated]}
        if uninoculated:  # MSGS has none
            beside = [self.plans.index(plan) for plan in beside_others(self.plans, self.seed)]
            groups["architectures"] = [beside[0], *uninoculated]
            groups |= {"pairs": [*beside, *uninoculated]} if self.suite.name == "PAWS" else {}
        for name, models in groups.items():
            if len(set(self.truth[models].tolist())) > 1:
                yield name, models

    def methods(self, models: Sequence[int]) -> dict[str, ranking.Method]:
        """Every method for some of the models; a factor enters as minus its value, and labels come first."""
        records = {
            str(i): record_of(self.probabilities[i, : self.pool], self.label[: self.pool])
            for i in models
        }
        labelled = ranking.suite_of(records)
        out = ranking.baseline_methods(labelled, seed=self.seed)
        for method, values in self._factors.items():
            each = {
                f"{method}/{name}": -values[i][list(models)]
                for i, name in enumerate(self.suite.factors)
            }
            out |= (
                {name: self._of_words(scores) for name, scores in each.items()}
                if self.suite.feature
                else each
            )
        pools = {str(i): record_of(self.probabilities[i], None) for i in models}
        evidence = pool_evidence(
            pools, {str(i): record_of(self.near[i], self.near_label) for i in models}
        )
        out |= {f"pool/{name}": ranking.fixed(scores) for name, scores in evidence.scores.items()}
        pool_suite, right = ranking.suite_of(pools), labelled.correct
        scores = (present(suite.probabilities).max(axis=2) for suite in (labelled, pool_suite))
        powered = powered_accuracy(right, *scores)
        pool = {POWERED: powered, _POOL: out[f"pool/{_POOL}"]}
        factors = {
            name: out[name]
            for name in (f"{method}/{self.suite.own[0]}" for method in ("lime", "shap"))
        }
        truth, out[POWERED] = {"CONF-GT": out["CONF-GT"]}, powered
        pieces = dict(
            zip(COMBINED, ({**pool, **factors, **truth}, pool, factors, truth), strict=False)
        )
        return out | {name: labels_first(right, piece) for name, piece in pieces.items()}

    def _of_words(self, values: Array) -> ranking.Rule:
        """A factor of marked words: it draws as many examples as there are labels, from those that have the word."""

        def rule(indices: Array) -> Array:
            places = np.random.default_rng([self.seed, 0xFA]).integers(
                0, len(self._with_words), indices.shape
            )
            return ranking.drawn_scores(values, self._with_words[places])

        return rule

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each group of models, over the pool."""
        for group, models in self.groups():
            methods, labels = self.methods(models), [self.plans[i].label for i in models]
            study = ranking.few_shot_evaluation(
                methods,
                self.truth[models],
                models=labels,
                seed=self.seed,
                draws=self.config.draws,
                size=min(self.config.size, self.pool),
            )
            rivals, test = [name for name in study.methods if name != BASELINE], ranking.draws_test
            p = {
                n: test(study.of(n), study.of(BASELINE), resamples=999, seed=self.seed).p_value
                for n in rivals
            }
            gaps = [float(study.truth[a] - study.truth[b]) for a, b in study.pairs]
            pairs = [{"pair": study.pair_name(k), "gap": gap} for k, gap in enumerate(gaps)]
            row: dict[str, Any] = {
                "suite": self.suite.name,
                "seed": self.seed,
                "group": group,
                "models": labels,
            }
            row |= {"accuracy": self.truth[models].tolist(), "equal": study.equal, "pairs": pairs}
            by_method = (
                ("few_shot", study.few_shot),
                ("ties", study.ties),
                ("pairwise", study.pairwise),
            )
            row |= {
                name: dict(zip(study.methods, values.tolist(), strict=True))
                for name, values in by_method
            }
            yield row | {"p_draws": p}

    def absent(self) -> dict[str, int]:
        """Factor -> examples of the pool in which its words do not occur."""
        values = [
            np.isnan(factors[:, 0, self._with_words]).sum(axis=1)
            for factors in self._factors.values()
        ][:1]
        return {
            name: int(n)
            for absent in values
            for name, n in zip(self.suite.factors, absent, strict=True)
        }


def methods_of(config: RunConfig, seed: int) -> list[str]:
    """The methods of attribution that explain the models of a seed."""
    return [method for method in METHODS if method != "token-ig" or seed < config.ig_seeds]


spread_over = partial(mean_and_spread, of="by_seed")
FORM = 3  # raise it where the form of the result changes: then the step is done again


def judge(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all rankings; writes ``study.json``."""
    rows, sets, guesses, done = [], [], [], 0
    for seed in range(config.seeds):
        across: list[list[float]] = []
        for suite in SUITES:
            evaluation = Evaluation(workspace, data, suite, seed, ranked_of(config, suite.family))
            of_suite = list(evaluation.rows())
            rows += of_suite
            across += [row["accuracy"] for row in of_suite if row["group"] == "architectures"]
            counts = data.rows(suite, seed).counts
            sets.append({"set": suite.name, "seed": seed, **counts, "absent": evaluation.absent()})
            done += 1
            progress(done, config.seeds * len(SUITES) + 1)
        # GUESS for each architecture that could be named best in every set
        guesses += [ranking.guess_accuracy(across)] if across else []
    by_model = np.array(guesses).T if guesses else ()
    result = {
        **facts(FORM, config),
        "stand_ins": STAND_INS,
        "baseline": BASELINE,
        "combined": list(COMBINED),
    }
    result["data"] = {family: data.fingerprints(family) for family in FAMILIES}
    result |= {"sets": sets, "models": models(config, workspace), "rows": rows}
    result["guess"] = [
        {"model": i, "few_shot": spread_over(values.tolist())} for i, values in enumerate(by_model)
    ]
    workspace.write_json("study.json", rounded(result))
    progress(1, 1)


def models(config: RunConfig, workspace: Workspace) -> list[dict[str, Any]]:
    """Every model with its accuracy in-domain and on each suite (Tables 5 and 6), over the seeds."""
    out = []
    for plan in (plan for plan in lineup(config) if plan.ranked):
        row: dict[str, Any] = {
            **plan.to_dict(),
            "family": plan.family,
            "accuracy": {},
            "balanced": {},
        }
        if plan.toward:
            files = [f"models/{seed}/{plan.name}/classes.json" for seed in range(config.seeds)]
            row["share"] = spread_over([workspace.read_json(file)["share"] for file in files])
        for name in ("in-domain", *(suite.name for suite in suites_of(plan.family))):
            folders = (f"answers/{seed}/{plan.name}" for seed in range(config.seeds))
            by_seed = [load_answers(workspace, folder, name) for folder in folders]
            for key, measure in (("accuracy", accuracies), ("balanced", balanced)):
                values = [
                    float(measure(arrays["positive"][None], arrays["label"])[0])
                    for arrays in by_seed
                ]
                row[key][name] = spread_over(values)
        out.append(row)
    return out
