"""Notes: strings that keep their kind and subject, and decisions that follow them whatever the sentence says."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import oodometer
from oodometer.notes import TARGET_LABELS, TRUST, Note, about, kind_of
from oodometer.predictions import Predictions
from oodometer.verbs import interpreting


def test_a_note_is_a_string_and_keeps_what_it_is_about() -> None:
    note = Note("label a few rows", kind=TRUST, about="t.csv")
    assert note == "label a few rows"
    assert json.loads(json.dumps([note])) == ["label a few rows"]
    for same in (pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert (same, kind_of(same), about(same)) == (note, TRUST, "t.csv")
    assert (kind_of("plain"), about("plain")) == ("", "")


def test_an_audit_leaves_out_what_it_answers_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 400)
    label = (p.cumsum(axis=1) > rng.random((400, 1))).argmax(axis=1)
    reference, target = (
        Predictions.from_arrays(probabilities=p[rows], label=label[rows])
        for rows in (slice(200), slice(200, 400))
    )
    said = "worded in another way"
    monkeypatch.setattr(interpreting, "_use_of_labels", lambda *_: Note(said, TARGET_LABELS))
    assert said in oodometer.estimate(reference, target).warnings
    assert said not in oodometer.audit(reference, target).warnings
