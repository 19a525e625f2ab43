"""Judges that meet outputs in another form than those by which their errors are known: every number says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oodometer
from oodometer.cli import main
from oodometer.diagnoses.text_likeness import unlike_texts

from ..snapshots import assert_snapshot

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August")
FORMS: dict[str, Callable[[str], str]] = {
    "lower case": str.lower,
    "a full stop": lambda text: f"{text}.",
    "ordinals": lambda text: text.replace(" ", "th ", 1),
    "joined": lambda text: text.replace(" ", "-"),
    "a comma in a third": lambda text: (
        text.replace(" ", ", ", 1) if hash_of(text) < 1 / 3 else text
    ),
}


def hash_of(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return sum(map(ord, text)) % 97 / 97


def judged(rows: int, seed: int, form: Callable[[str], str] = str) -> dict[str, Any]:
    """Dates and what a normaliser makes of them, right in four of five; judges fail where the form is a new one."""
    rng = np.random.default_rng(seed)
    days = [
        (int(d), MONTHS[m], int(y))
        for d, m, y in rng.integers((1, 0, 1980), (29, 8, 2020), (rows, 3))
    ]
    inputs = [f"{day} {month} {year}" for day, month, year in days]
    right = rng.random(rows) < 0.8
    outputs = [
        f"{year + (not hit)}-{MONTHS.index(month) + 1:02d}-{day:02d}"
        for (day, month, year), hit in zip(days, right, strict=True)
    ]
    written = [form(text) for text in inputs]
    misled = np.array([new != old for new, old in zip(written, inputs, strict=True)])
    votes = [(right & ~misled) ^ (rng.random(rows) < 0.03) for _ in range(3)]
    return {"input": written, "output": outputs, "votes": np.array(votes), "correct": right}


def without_truth(data: dict[str, Any]) -> dict[str, Any]:
    return {name: values for name, values in data.items() if name != "correct"}


def test_in_the_same_form_nothing_is_wider() -> None:
    reference, target = judged(300, 0), judged(600, 1)
    head = oodometer.estimate(reference, without_truth(target)).headline
    bare = {name: without_truth(data)["votes"] for name, data in (("votes", target),)}
    plain = oodometer.estimate({k: reference[k] for k in ("votes", "correct")}, bare).headline
    assert head.trust == "low"
    assert (head.lower, head.upper) == (plain.lower, plain.upper)


@pytest.mark.parametrize("form", FORMS)
def test_in_another_form_the_interval_holds_the_truth_and_nothing_fell(form: str) -> None:
    reference, target = judged(300, 0), judged(600, 1, FORMS[form])
    found = oodometer.estimate(reference, without_truth(target))
    assert found.headline.lower <= target["correct"].mean() <= found.headline.upper
    assert found.headline.trust == "none"
    assert_snapshot(found.headline.why)
    assert found.fell is not None
    assert (found.fell.verdict, found.fell.p, found.fell.alarm) == ("cannot say", None, False)


def test_an_audit_and_the_exit_code_hear_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"reference": judged(300, 0), "target": judged(600, 1, FORMS["a full stop"])}
    for name, data in files.items():
        truth = data["correct"].tolist() if name == "reference" else [None] * 600
        cells = zip(data["input"], data["output"], data["votes"].T.tolist(), truth, strict=True)
        rows = [
            {"id": at, "input": i, "output": o, "votes": v, "correct": c}
            for at, (i, o, v, c) in enumerate(cells)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = files["target"]["correct"]
    (tmp_path / "ten.csv").write_text(
        "id,correct\n" + "".join(f"{at},{int(truth[at])}\n" for at in range(0, 600, 60))
    )
    paths = [str(tmp_path / f"{name}.jsonl") for name in files]
    assert main(["estimate", *paths, "--fail-drop", "0.05"]) == 0
    assert_snapshot(capsys.readouterr().out)
    wrong = tmp_path / "wrong.csv"  # what labels prove is an alarm, whatever the judges say
    wrong.write_text("id,correct\n" + "".join(f"{at},0\n" for at in range(0, 600, 20)))
    labels = ["--labels", str(wrong), "--fail-drop", "0.05"]
    assert main(["estimate", *paths, *labels]) == 3
    capsys.readouterr()
    assert main(["audit", *paths, "--labels", str(tmp_path / "ten.csv"), "--json", "-"]) == 0
    audited = json.loads(capsys.readouterr().out)
    assert audited["refuted"] is False
    assert audited["estimate"]["lower"] <= truth.mean() <= audited["estimate"]["upper"]


def test_the_distance_is_the_share_of_rows_in_another_form() -> None:
    labelled, others = judged(900, 2), judged(900, 3, FORMS["a comma in a third"])
    texts = [(data["input"], data["output"]) for data in (labelled, others)]
    unlike = unlike_texts(*texts)
    assert unlike is not None
    share = np.mean(["," in text for text in others["input"]])
    assert unlike.distance == pytest.approx(share, abs=0.06)
    assert unlike_texts(texts[0], texts[0]) is None
