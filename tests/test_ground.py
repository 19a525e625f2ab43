"""Small parts of the lower floors, each by an example."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oodometer import errors, integrations, options, registry
from oodometer.arrays import Coded, Ragged
from oodometer.classes import (
    class_of_truth,
    encode,
    encode_positions,
    is_missing_word,
    label_codes,
    named_classes,
)
from oodometer.engines import create_engine
from oodometer.engines.remote import Session, join, signals_waiting
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.fields import (
    both_of,
    candidate_softmax,
    check_candidate_scores,
    check_logits,
    own_probability,
    refuse_classes_beside_positions,
    survey_probabilities,
    top_candidates,
)
from oodometer.integrations import log
from oodometer.intervals import from_replicates, from_spread
from oodometer.kernels import concatenated, row_sums
from oodometer.persistence.archive import NotKept, class_named, name_of
from oodometer.predictions import follows_argmax
from oodometer.runs import places_of_run, places_said
from oodometer.store.harness.base import Metric, choose_metric, described
from oodometer.store.harness.inspect_log import _answer_probability, _letter_scores
from oodometer.store.harness.join import read_command
from oodometer.store.places import is_remote, path_of, split_query
from oodometer.store.predicates import may_match
from oodometer.store.where import parse_where, said

from .snapshots import raises_snapshot

CHOICES = Ragged.from_rows([[1.0, 1.0], [0.0, np.log(2.0), 0.0]])
WORDS = Coded(np.array([0, 1, 2]), ["cat", "NA", "wolf"])
RULE = np.array([[0.4, 0.6], [0.9, 0.1], [0.1, 0.9]])
ADDRESS = "postgresql://me:secret@host/db?password=secret&sslmode=require"
DAYS = parse_where(["day > 2026-10-31", "day = x", "a = b"])
TOP = [{"token": "A", "logprob": -0.2}, {"token": " B", "logprob": -1.8}]
TOKENS = [{"token": "A", "logprob": -0.2, "top_logprobs": TOP}]
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "visible": (errors.visible("cat\x1b[2J\u202e Katze \u00fc"), "cat\\x1b[2J\\u202e Katze \u00fc"),
    "password": (
        errors.without_passwords(ADDRESS),
        "postgresql://me:***@host/db?password=***&sslmode=require",
    ),
    "word": (
        errors.without_passwords("--store=pg://me:my secret@h/d", word=True),
        "--store=pg://me:***@h/d",
    ),
    "near": (errors.near_names("y_pred_prob", ["id", "y_pred", "y_pred_proba"]), ["y_pred_proba"]),
    "missing": (
        [is_missing_word(word) for word in ("NA", " None ", "?", "", "nothing", 0)],
        [True] * 4 + [False] * 2,
    ),
    "labels": (label_codes(WORDS, ("cat", "dog"), others=True)[0].codes.tolist(), [0, -1, -2]),
    "noted": (
        label_codes(WORDS, ("cat", "dog"), others=True)[1],
        {"missing 'NA'": 1, "class 'wolf'": 1},
    ),
    "names": (named_classes(np.array(["cat", "dog"])), ("cat", "dog")),
    "truths": (named_classes([False, True]), ("False", "True")),
    "numbers": (named_classes([1.0, 2.0]), (1, 2)),
    "true": (
        [class_of_truth(True, names) for names in (("0", "1"), ("a", "b"), ("true",))],
        ["1", "True", "true"],
    ),
    "encode": (encode(["dog", None, "cat"], ("cat", "dog"), "label").tolist(), [1, -1, 0]),
    "positions": (encode_positions([2, None, 0.0], "label").tolist(), [2, -1, 0]),
    "both": (both_of([0.25, 1.0], "probabilities").tolist(), [[0.75, 0.25], [0.0, 1.0]]),
    "digits": (survey_probabilities([[0.33, 0.33, 0.33], [0.98, 0.01, 0.01]]).digits, 2),
    "logits": (check_logits(np.array([[0.9, 0.1], [2.0, -0.5]])), None),
    "scores": (check_candidate_scores([[0.5, -1.0], [2.0, 0.0, 1.0]]).lengths.tolist(), [2, 3]),
    "top": (top_candidates(CHOICES, candidate_softmax(CHOICES)).best.tolist(), [0, 1]),
    "own": (
        own_probability(candidate_softmax(CHOICES), np.array([1, 1])).round(9).tolist(),
        [0.5, 0.5],
    ),
    "ordered": (refuse_classes_beside_positions(["candidate_scores", "label"]), "candidate_scores"),
    "spread": (from_spread(np.array([0.4, 0.5, 0.6]), 0.5, 0.9)[0] < 0.5, True),
    "replicates": (from_replicates(np.array([0.4, 0.5, 0.6]), 0.5, 0.9)[0] < 0.5, True),
    "argmax": (
        [follows_argmax(np.array(said), RULE, (0, 1)) for said in ([1, 0, 1], [0, 0, 1])],
        [True, False],
    ),
    "one of": (options.one_of("cpu", "cuda")("device", "cpu"), "cpu"),
    "texts": (
        [options.texts_or_one("keep", given) for given in ("age", ["age"])],
        ["age", ["age"]],
    ),
    "holds": (registry.holds("score", int), False),
    "foreign": (
        [registry.is_foreign(thing) for thing in (registry.PluginError, "text")],
        [False, True],
    ),
    "failed": (
        registry.why_failed("odd", "theirs", ZeroDivisionError("no")),
        "plugin odd failed: ZeroDivisionError: no",
    ),
    "skipped": (registry.why_failed("odd", "theirs", NotApplicable("needs more")), "needs more"),
    "concatenated": (concatenated([np.zeros(2), np.ones(1)]).tolist(), [0.0, 0.0, 1.0]),
    "row sums": (row_sums(np.array([[0.25, 0.75], [1.0, 2.0]])).tolist(), [1.0, 3.0]),
    "remote": (
        [is_remote(path) for path in ("s3://b/a.csv", "file:///a.csv", "a.csv")],
        [True, False, False],
    ),
    "query": (split_query("s3://b/a?b.csv?region=eu"), ("s3://b/a?b.csv", "?", "region=eu")),
    "no query": (split_query("s3://b/a?b.csv"), ("s3://b/a?b.csv", "", "")),
    "path": (
        [path_of(path) for path in ("file:///d/a%20b.csv", "s3://b/a")],
        ["/d/a b.csv", "s3://b/a"],
    ),
    "folders": ([may_match([one], {"day": "2026-11-01"}) for one in DAYS], [True, False, True]),
    "conditions": (said(parse_where(["a > 1", "b not in (x, y)"])), "a > 1 and b not in (x, y)"),
    "metrics": (
        described(
            {name: Metric(name, raw) for name, raw in {"acc": [1, 0], "f1": [["a", ["b"]]]}.items()}
        ),
        "acc (0 or 1, mean 0.5), f1 (no number a row)",
    ),
    "command": (read_command("logs/a_1.jsonl"), "oodometer read logs/a_1.jsonl --out a_1.parquet"),
    "letters": (_letter_scores(TOKENS, "A", ["yes", "no"], "B", "A"), ([-0.2, -1.8], 0, 1)),
    "answer": (
        [round(_answer_probability(TOKENS, answer), 4) for answer in ("A", None)],
        [0.8187, 0.8187],
    ),
    "places": (
        places_said(data="s3://a.jsonl", labels=None, model=print),
        {"data": "s3://a.jsonl", "model": "print"},
    ),
    "class": ([name_of(Ragged), class_named("arrays:Ragged")], ["arrays:Ragged", Ragged]),
    "engine": (create_engine("ray:head:6379").address, "head:6379"),
    "tracker": (integrations._name("0 - 20K \u20ac"), "0 - 20K _"),
    "aliases": (
        [registry.named("metric", name) for name in ("ROC-AUC", "auc", "mine")],
        ["roc_auc", "roc_auc", "mine"],
    ),
}


@pytest.mark.parametrize(("got", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_of_each(got: Any, expected: Any) -> None:
    assert got == expected


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: named_classes({"cat"}), InputError),
        (lambda: encode_positions(["B"], "label"), InputError),
        (lambda: survey_probabilities([[70.0, 30.0]]), InputError),
        (lambda: check_logits(np.array([[0.9, 0.1]] * 2)), InputError),
        (lambda: check_candidate_scores([[0.5, -1], [2]]), InputError),
        (lambda: refuse_classes_beside_positions(["candidate_scores", "logits"]), InputError),
        (lambda: follows_argmax(np.array([0, 1, 0]), RULE, (0, 1)), InputError),
        (lambda: choose_metric({}, "a", "l"), InputError),
        (lambda: places_of_run(target={}), UsageError),
        (lambda: class_named("os:system"), LookupError),
        (lambda: name_of(re.Pattern), NotKept),
        (lambda: log(None, "tensorboard"), UsageError),
        (lambda: options.check_seed(-1), UsageError),
        (lambda: options.need("even", lambda v: v % 2 == 0)("rows", 3), UsageError),
    ],
)
def test_what_each_refuses(call: Callable[[], Any], kind: type[Exception]) -> None:
    with raises_snapshot(kind):
        call()


def test_a_session_is_shared_and_stopped_with_the_last_that_holds_it() -> None:
    stopped: list[str] = []
    start = lambda: lambda: stopped.append("stopped")  # noqa: E731
    first = join("toy", None, lambda: False, start)
    assert isinstance(first, Session)
    assert join("toy", None, lambda: True, lambda: pytest.fail("never called")) is first
    del first
    assert stopped == ["stopped"]


def test_ctrl_c_waits_for_what_is_being_started() -> None:
    before, done = signal.signal(signal.SIGINT, signal.default_int_handler), False
    try:
        with pytest.raises(KeyboardInterrupt), signals_waiting():  # noqa: PT012
            signal.raise_signal(signal.SIGINT)
            done = True
    finally:
        signal.signal(signal.SIGINT, before)
    assert done
