"""Logs of inspect: what scorers said, log-probabilities of tokens and of letters, packed or not, whole or cut off."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oodometer
from oodometer.errors import InputError
from oodometer.scores import natural_confidence, sequence_probability
from oodometer.store import read_predictions, write_predictions
from oodometer.store.harness import LogOptions, log_kind, read_logs

from ...snapshots import assert_snapshot, raises_snapshot

LOGS = (
    Path(__file__).parent / "logs"
)  # written by inspect-ai 0.3.285 and its mock model, events left out
ANIMALS, SUMS, ERRS = (LOGS / f"inspect_{name}.json" for name in ("animals", "sums", "errs"))


def read(path: Any, **options: Any) -> Any:
    return read_logs(path, LogOptions(**options))


def remarks(result: Any) -> str:
    """All that is said of the choices that were made, and of what is odd."""
    return " | ".join((*result.warnings, *result.notes))


def refused(path: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value)


def given(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def put(folder: Path, log: Mapping[str, Any], name: str = "log.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(log))
    return path


def members_of(log: Mapping[str, Any], first: str = "header.json") -> dict[str, bytes]:
    """The members of the packed form: the header, and each sample by itself."""
    out = {
        f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one).encode()
        for one in log["samples"]
    }
    return out | {
        "summaries.json": b"[]",
        first: json.dumps({k: v for k, v in log.items() if k != "samples"}).encode(),
    }


def zstd_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    """A zip whose members are packed by method 93, Zstandard, by the zip format's own description."""
    body, directory = b"", b""
    for name, content in members.items():
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(content)
        packed = sink.getvalue().to_pybytes()
        about = struct.pack(
            "<HHHIIIHH", 0, 93, 0, 33, zlib.crc32(content), len(packed), len(content), len(name)
        )
        about = struct.pack(
            "<HHHHHIIIHH",
            63,
            0,
            93,
            0,
            33,
            zlib.crc32(content),
            len(packed),
            len(content),
            len(name),
            0,
        )
        directory += struct.pack("<IH", 0x02014B50, 63) + about
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name.encode()
        body += struct.pack("<I", 0x04034B50) + about + name.encode() + packed
    count = len(members)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)
    return path


def test_letters_give_candidate_scores() -> None:
    found = read(ANIMALS, keep_input=True)
    record = found.record
    assert (found.model, found.tasks) == ("mockllm/model", ("animals",))
    assert record.columns["id"].tolist() == ["q1", "q2", "q3"]
    assert record.label.tolist() == [1, 0, 2]
    assert record.prediction.tolist() == [1, 1, 2]
    assert record.verdicts.tolist() == [1, 0, 1]
    assert record.accuracy == pytest.approx(
        given(ANIMALS)["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    )
    assert record.candidate_scores.values[:3].tolist() == pytest.approx(
        [math.log(p) for p in (0.1, 0.8, 0.05)]
    )
    assert record.token_logprobs.lengths.tolist() == [3, 3, 3]
    assert record.input[0] == "Which animal barks?\nA) cat\nB) dog\nC) cow"


def test_times_and_tokens_stand_beside_the_score(tmp_path: Path) -> None:
    """Tokens of all models that a sample asked; a log whose samples do not say has no such column."""
    log = given(SUMS)
    for i, sample in enumerate(log["samples"]):
        sample["total_time"] = 1.5 + i
        usage = {"input_tokens": 10, "output_tokens": 5 + i, "total_tokens": 15 + i}
        sample["model_usage"] = {"a": usage, "grader": usage}
    columns = read(put(tmp_path, log)).record.columns
    rows = len(log["samples"])
    assert sorted(columns["total_tokens"].tolist()) == [30 + 2 * i for i in range(rows)]
    assert sorted(columns["total_time"].tolist()) == [1.5 + i for i in range(rows)]
    assert "total_cost" not in columns


def test_a_letter_that_is_not_among_the_top_leaves_the_scores_out(tmp_path: Path) -> None:
    log = given(ANIMALS)
    log["samples"][1]["output"]["choices"][0]["logprobs"]["content"][2]["top_logprobs"].pop(0)
    record = read(put(tmp_path, log)).record
    assert record.candidate_scores is None
    assert record.confidence[0] == pytest.approx(math.exp(-0.2231435513142097)), (
        "of the letter, not of all tokens"
    )


def reasoned(tmp_path: Path) -> Path:
    """The questions answered behind reasoning of another length each, which is as improbable as it is long."""
    log = given(ANIMALS)
    for i, one in enumerate(log["samples"]):
        choice = one["output"]["choices"][0]
        words = [f"w{k} " for k in range(20 * (i + 1))]
        choice["message"]["content"] = "".join(words) + choice["message"]["content"]
        choice["logprobs"]["content"][:0] = [
            {"token": word, "logprob": -2.0, "top_logprobs": []} for word in words
        ]
    return put(tmp_path, log)


def test_confidence_is_of_the_option_and_not_of_the_reasoning_before_it(tmp_path: Path) -> None:
    record, plain = read(reasoned(tmp_path)).record, read(ANIMALS).record
    assert (
        record.confidence.tolist()
        == plain.confidence.tolist()
        == [max(p) for p in plain_softmax(plain)]
    )
    path = tmp_path / "p.parquet"
    write_predictions(record, path)
    assert natural_confidence(record)(record).min() > 0.3
    target = read_predictions(path)
    assert oodometer.estimate(target, target, methods=["ac"])["ac"].value > 0.3
    log = json.loads(reasoned(tmp_path).read_text())
    for one in log["samples"]:  # reasoning that stands apart from the text of the message
        message = one["output"]["choices"][0]["message"]
        message["content"] = [
            {"type": "reasoning", "reasoning": "w"},
            {"type": "text", "text": message["content"][-9:]},
        ]
    assert read(put(tmp_path, log)).record.confidence.tolist() == plain.confidence.tolist()
    for one in log["samples"]:
        one["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"] = []
    record = read(put(tmp_path, log)).record
    assert record.candidate_scores is None
    assert record.confidence.min() > 0.3, (
        "without the other letters, that of the letter that was said"
    )


def plain_softmax(record: Any) -> list[Any]:
    return [record.candidate_probabilities.take([i]).values.tolist() for i in range(len(record))]


def test_an_empty_answer_is_not_the_surest(tmp_path: Path) -> None:
    log = given(SUMS)
    choice = log["samples"][2]["output"]["choices"][0]
    choice["message"]["content"], choice["logprobs"]["content"] = "", []
    log["samples"][2]["scores"] = {
        "match": {"value": "I", "answer": ""},
        "includes": {"value": "I", "answer": ""},
    }
    found = read(put(tmp_path, log), metric="match")
    record = found.record
    assert record.token_logprobs.lengths.tolist().count(0) == 1, (
        "no token is not the same as no log-probabilities"
    )
    assert record.confidence.tolist().index(0.0) == record.token_logprobs.lengths.tolist().index(0)
    assert sequence_probability(record.token_logprobs).tolist().count(0) == 1


def test_a_list_without_tokens_beside_a_text_is_no_log_probability(tmp_path: Path) -> None:
    log = given(SUMS)
    for one in log["samples"]:
        one["output"]["choices"][0]["logprobs"]["content"] = []
    record = read(put(tmp_path, log), metric="match").record
    assert record.confidence is record.token_logprobs is None


def test_the_first_scorer_is_read_even_if_another_is_0_or_1_and_some_samples_lack_it(
    tmp_path: Path,
) -> None:
    log = given(SUMS)
    for i, one in enumerate(log["samples"]):
        one["scores"] = {"quality": {"value": i / 4}, "format_ok": {"value": "C"}}
    del log["samples"][1]["scores"]["quality"], log["results"]
    path = put(tmp_path, log)
    result = read(path)
    assert result.record.score.tolist() == [0.0, 0.5, 0.75]
    assert result.record.columns["format_ok"].tolist() == [1.0] * 3
    assert_snapshot(remarks(result))
    assert_snapshot(result.skipped[0][1])
    assert read(path, metric="quality>=0.5").metrics == ("quality>=0.5",)
    assert len(read(path, metric="sums=format_ok").record) == 4


def test_the_interval_of_epochs_counts_samples() -> None:
    found = oodometer.read(str(SUMS), metric="match")
    assert (found.rows, found.accuracy.value) == (4, 0.5)
    same = oodometer.evaluate(found.record).metrics["accuracy"]
    assert (found.accuracy.lower, found.accuracy.upper) == pytest.approx((same.lower, same.upper))
    assert_snapshot(found.warnings[-1])
    assert found.to_dict()["metrics"] == ["match"]
    assert_snapshot(repr(found))


def test_options_put_back_in_order_leave_the_scores_out(tmp_path: Path) -> None:
    """The text then names other letters than the tokens that the model gave."""
    log = given(ANIMALS)
    log["samples"][0]["output"]["choices"][0]["message"]["content"] = "ANSWER: A"
    assert read(put(tmp_path, log)).record.candidate_scores is None


def test_several_scorers_and_epochs(tmp_path: Path) -> None:
    assert_snapshot(remarks(read(SUMS)))
    log = given(SUMS)
    log["results"]["headline"] = {"scorer": "includes", "score": "includes", "metric": "accuracy"}
    assert read(put(tmp_path, log)).metrics == ("includes",)
    record = read(SUMS, metric="includes", keep_input=True).record
    assert record.columns["id"].tolist() == ["1", "2", "1", "2"], (
        "one name for one sample: epochs are seen as repeats"
    )
    assert record.columns["epoch"].tolist() == [1, 1, 2, 2]
    assert record.columns["metric"].tolist() == ["includes"] * 4
    assert record.verdicts.tolist() == [1, 0, 0, 1]
    assert record.output.tolist() == ["4", "4", "It is 7", "6"]
    assert record.confidence.tolist() == pytest.approx(
        [math.exp(x) for x in (-0.1, -0.2, -1.4, -0.4)]
    )
    assert record.input[1].startswith("system: Be brief.\n\nuser: What is 3+3? Think")
    assert "attachment://" not in record.input[1]


def test_samples_with_an_error_are_left_out_and_named() -> None:
    found = read(ERRS)
    assert found.skipped == (("2", "ValueError('broken sample')"),)
    assert found.record.columns["id"].tolist() == ["1", "3"]


def test_log_probabilities_of_some_are_left_out_with_a_warning(tmp_path: Path) -> None:
    log = given(SUMS)
    del log["samples"][2]["output"]["choices"][0]["logprobs"]
    found = read(put(tmp_path, log), metric="match")
    assert found.record.confidence is None
    assert_snapshot(remarks(found))


@pytest.mark.parametrize("packing", ["deflate", "zstd"])
@pytest.mark.parametrize("log", [ANIMALS, SUMS, ERRS])
def test_packed_logs_say_the_same(tmp_path: Path, log: Path, packing: str) -> None:
    members, path = members_of(given(log)), tmp_path / "log.eval"
    if packing == "zstd":
        zstd_zip(path, members)
        with zipfile.ZipFile(path) as packed:
            assert {one.compress_type for one in packed.infolist()} == {93}
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in members.items():
                packed.writestr(name, content)
    options = {"metric": "match", "keep_input": True} if log == SUMS else {"keep_input": True}
    one, other = read(log, **options), read(path, **options)
    assert one.record.fields == other.record.fields
    assert one.record.columns["id"].tolist() == other.record.columns["id"].tolist()
    assert one.record.verdicts.tolist() == other.record.verdicts.tolist()
    assert one.record.input.tolist() == other.record.input.tolist()
    assert one.skipped == other.skipped


def test_a_run_that_did_not_end_is_read_with_a_warning(tmp_path: Path) -> None:
    members = members_of(given(ANIMALS), "_journal/start.json")
    start = json.loads(members["_journal/start.json"])
    members["_journal/start.json"] = json.dumps(
        {k: start[k] for k in ("version", "eval", "plan")}
    ).encode()
    found = read(zstd_zip(tmp_path / "log.eval", members))
    assert_snapshot(remarks(found))
    assert len(found.record) == 3


@pytest.mark.parametrize(("value", "score"), [("P", 0.5), (0.4, 0.4), ("0.25", 0.25)])
def test_partly_right_is_a_score(tmp_path: Path, value: Any, score: float) -> None:
    log = given(SUMS)
    log["samples"][1]["scores"]["match"]["value"] = value
    del log["results"]
    path = put(tmp_path, log)
    assert sorted(read(path, metric="match").record.score.tolist()) == sorted([1, score, 0, 1])
    assert read(path, metric="match>=0.5").record.verdicts.sum() == 2 + (score >= 0.5)


@pytest.mark.parametrize("value", ["banana", [1, 0]])
def test_a_score_that_is_no_number_is_refused(tmp_path: Path, value: Any) -> None:
    log = given(SUMS)
    log["samples"][1]["scores"]["match"]["value"] = value
    said = refused(put(tmp_path, log), metric="match")
    assert f"column match: expected a number, got {value!r}" in said
    assert_snapshot(said)


def test_scores_of_several_values(tmp_path: Path) -> None:
    log = given(SUMS)
    for one in log["samples"]:
        one["scores"] = {
            "rubric": {
                "value": {"style": 0.3, "fact": 1 if one["scores"]["match"]["value"] == "C" else 0}
            }
        }
    result = read(put(tmp_path, log))
    assert result.record.score.tolist() == [0.3] * 4, (
        "that another is 0 or 1 does not mean that it is meant"
    )
    assert_snapshot(remarks(result))
    assert read(put(tmp_path, log), metric="rubric/fact").record.verdicts.tolist() == [1, 0, 0, 1]
    assert read(put(tmp_path, log), metric="rubric/style>=0.2").record.accuracy == 1.0


def test_the_header_is_held_against_the_samples(tmp_path: Path) -> None:
    log = given(SUMS)
    log["results"]["total_samples"] = 6
    assert_snapshot(remarks(read(put(tmp_path, log))))
    log = given(SUMS)
    log["results"]["scores"][0]["metrics"]["stderr"]["value"] = 0.9
    assert_snapshot(remarks(read(put(tmp_path, log))))
    log = given(SUMS)
    log["results"]["scores"][0]["metrics"]["accuracy"]["value"] = 0.75
    said = refused(put(tmp_path, log))
    assert_snapshot(said)
    _, remedy, _ = said.split("`")
    assert_snapshot(remarks(read(put(tmp_path, log), metric=remedy.split()[1])))
    log["eval"]["config"]["epochs_reducer"] = ["max"]
    assert_snapshot(remarks(read(put(tmp_path, log))))
    log = {
        "samples": log["samples"],
        **{name: part for name, part in given(SUMS).items() if name != "samples"},
    }
    assert len(read(put(tmp_path, log)).record) == 4, "samples may come first"


def test_answers_that_are_none_and_limits_are_counted(tmp_path: Path) -> None:
    log = given(SUMS)
    log["samples"][0]["scores"]["match"]["value"] = "N"
    log["samples"][1]["limit"] = {"type": "token", "limit": 5}
    del log["results"]
    notes = read(put(tmp_path, log)).warnings
    assert_snapshot(notes)


def test_the_newest_whole_run_of_a_task_is_read(tmp_path: Path) -> None:
    for name, day, status in (("a", 1, "success"), ("b", 2, "success"), ("c", 3, "error")):
        log = given(ANIMALS)
        log["eval"]["created"], log["status"] = f"2026-01-0{day}T00:00:00+00:00", status
        put(tmp_path, log, f"{name}.json")
    result = read(tmp_path)
    assert len(result.record) == 3
    assert_snapshot(remarks(result))


def test_a_second_log_in_one_file_is_refused(tmp_path: Path) -> None:
    text = json.dumps(given(SUMS))
    path = tmp_path / "two.json"
    path.write_text(f"{text}\n{text}\n")
    with raises_snapshot(InputError):
        read(path)


def test_what_is_left_out_of_a_folder_is_named(tmp_path: Path) -> None:
    put(tmp_path, given(SUMS), "a.json")
    put(tmp_path, {**given(ANIMALS), "status": "success"}, "b.json")
    assert not any("left out" in text for text in read(tmp_path).warnings)
    (tmp_path / "t.csv").write_text("label,prediction\n1,1\n")
    (tmp_path / "README.txt").write_text("logs")
    (tmp_path / "small").mkdir()
    row = {
        "doc_id": 0,
        "doc": {},
        "target": "4",
        "arguments": {},
        "resps": [["4"]],
        "filtered_resps": ["4"],
    }
    (tmp_path / "small" / "samples_x.jsonl").write_text(
        json.dumps({**row, "exact_match": 1.0}) + "\n"
    )
    (warning,) = (text for text in read(tmp_path).warnings if "left out" in text)
    assert f"{tmp_path}: left out: " in warning
    assert "small/samples_x.jsonl (lm-evaluation-harness)" in warning.replace(
        "small (", "small/samples_x.jsonl ("
    )
    assert_snapshot(warning)


def test_a_single_score_of_version_1(tmp_path: Path) -> None:
    log = given(SUMS)
    for one in log["samples"]:
        one["score"] = one.pop("scores")["match"]
        del one["output"]["completion"], one["attachments"]
    assert read(put(tmp_path, {**log, "version": 1})).record.verdicts.tolist() == [1, 0, 0, 1]


def test_bad_logs_have_one_line(tmp_path: Path) -> None:
    log = given(ANIMALS)
    assert_snapshot(refused(put(tmp_path, {**log, "samples": []})))
    del log["samples"][1]["output"]
    assert_snapshot(refused(put(tmp_path, log)))
    log = given(ANIMALS)
    log["samples"].append(log["samples"][0])
    assert_snapshot(refused(put(tmp_path, log)))
    log = given(ANIMALS)
    log["samples"][2]["output"]["choices"][0]["logprobs"]["content"][0]["logprob"] = math.nan
    assert_snapshot(refused(put(tmp_path, log)))
    log = given(ERRS)
    log["samples"] = log["samples"][1:2]
    assert_snapshot(refused(put(tmp_path, log)))
    path = tmp_path / "cut.json"
    path.write_text(ANIMALS.read_text()[:-500])
    assert_snapshot(refused(path))


def test_cut_off_and_damaged_archives(tmp_path: Path) -> None:
    path = zstd_zip(tmp_path / "log.eval", members_of(given(ANIMALS)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert log_kind(path) == "inspect"
    assert_snapshot(refused(path))
    path.write_bytes(whole[:300] + bytes([whole[300] ^ 255]) + whole[301:])
    assert_snapshot(refused(path))


def test_other_models_are_kept_apart(tmp_path: Path) -> None:
    log = given(SUMS)
    put(tmp_path, log, "a.json")
    log["eval"] = {**log["eval"], "task": "other", "model": "openai/another"}
    put(tmp_path, log, "b.json")
    assert_snapshot(refused(tmp_path, metric="match"))
