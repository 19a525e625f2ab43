"""inspect: a log (``.json``, ``.eval``) of one task, with outputs, scores and, where they are, log-probabilities."""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import InputError
from ..files import check_unpacked, translated
from .base import Answers, LogOptions, choose_metric, read_json

_ATTACHED = "attachment://"
_ZSTANDARD = 93  # the number of the method in the zip format; the standard library reads it from Python 3.14 on
_LOCAL = 30  # bytes of a member's own header, before its name and its extra field


def read_inspect(file: str, options: LogOptions) -> Answers:
    """A log as columns of a record: ``correct`` by the scorer, ``output``, and what the log-probabilities tell. Samples
    without a score (an error, a limit) are left out and counted.
    """
    header, samples = _samples(file)
    about = _mapping(header.get("eval"))
    out = Answers(file, str(about.get("task") or "task"), str(about["model"]) if about.get("model") else None)
    logged = [_Sample(sample, row, file) for row, sample in enumerate(samples, 1)]
    if not logged:
        remedy = "run it again with samples logged"
        raise InputError("a log with samples", got=f"none (status {header.get('status')})", file=file, remedy=remedy)
    order = _mapping(about.get("dataset")).get("sample_ids")
    order_in = {str(name): i for i, name in enumerate(order if isinstance(order, list) else [])}
    logged.sort(key=lambda sample: (sample.epoch, order_in.get(sample.id, len(order_in))))
    repeated = len({sample.epoch for sample in logged}) > 1
    first: dict[tuple[str, int], int] = {}
    for sample in logged:
        row = first.setdefault((sample.id, sample.epoch), sample.row)
        if row != sample.row:
            got = f"{sample.id} (epoch {sample.epoch}) as in row {row}"
            raise InputError("each sample once an epoch", got=got, file=file, row=sample.row, remedy="keep one of them")
    scored = [sample for sample in logged if sample.scores]
    out.skipped = [(sample.name(repeated), sample.why) for sample in logged if not sample.scores]
    if not scored:
        got = f"{len(logged)} samples without one, the first: {logged[0].why}"
        raise InputError("a sample with a score", got=got, file=file, remedy="score the log first (inspect score)")
    status = header.get("status")
    if status != "success":
        out.warnings.append(f"{file}: the run ended with status {status}; the log may lack samples")
    reducers = [reducer for reducer in _mapping(about.get("config")).get("epochs_reducer") or () if reducer != "mean"]
    if repeated and reducers:
        named = ", ".join(map(str, reducers))
        out.warnings.append(f"{file}: the log's own figures are {named} of epochs, not their mean")
    scores: dict[str, list[Any]] = {}
    for sample in scored:
        for name, value in sample.scores.items():
            scores.setdefault(name, []).append(value)
    metric = choose_metric(scores, options.metric, out.file)
    out.metric, why = str(metric), f"no score by {metric.name}"
    out.skipped += [(sample.name(repeated), why) for sample in scored if metric.name not in sample.scores]
    scored = [sample for sample in scored if metric.name in sample.scores]
    out.columns["correct"] = metric.verdicts(scores, [sample.row for sample in scored], out.file)
    out.ids += [sample.id for sample in scored]
    out.columns["output"] = [sample.output for sample in scored]
    if repeated:
        out.columns["epoch"] = [sample.epoch for sample in scored]
    if options.keep_input:
        out.columns["input"] = [sample.input for sample in scored]
    scorer = metric.name.partition("/")[0]
    letters = [
        _letter_scores(sample.tokens, sample.output, sample.choices, sample.target, sample.answers.get(scorer))
        for sample in scored
    ]
    whole = [letter for letter in letters if letter is not None]
    if len(whole) == len(letters):
        out.columns["candidate_scores"] = [scores for scores, _, _ in whole]
        out.columns["prediction"] = [position for _, position, _ in whole]
        if all(right is not None for _, _, right in whole):
            out.columns["label"] = [right for _, _, right in whole]
    if all(sample.tokens is not None for sample in scored):
        all_tokens = [sample.tokens or () for sample in scored]
        out.columns["token_logprobs"] = [[min(token["logprob"], 0.0) for token in own] for own in all_tokens]
        if len(whole) < len(letters):
            probable = [_answer_probability(sample.tokens or (), sample.answers.get(scorer)) for sample in scored]
            out.columns["confidence"] = probable
    elif any(sample.tokens for sample in scored):
        without = [sample for sample in scored if sample.tokens is None]
        out.warnings.append(
            f"{out.file}: {len(without)} samples have no log-probabilities (the first: {without[0].id}); "
            "those of the others are left out"
        )
    return out


class _Sample:
    """What is needed of one sample of a log."""

    def __init__(self, given: Any, row: int, file: str) -> None:
        sample = _mapping(given)
        if "id" not in sample or "output" not in sample:
            expected = "a sample with id, epoch, input, output and scores"
            got = ", ".join(list(sample)[:6]) or type(given).__name__
            raise InputError(expected, got=got, file=file, row=row, remedy="the log may be cut off, or of another kind")
        self.row, self.id, self.epoch = row, str(sample["id"]), int(sample.get("epoch") or 1)
        # values by scorer (``scorer/key`` where there are several), and the answers that scorers read off
        given = _mapping(sample.get("scores"))
        if not given and isinstance(sample.get("score"), Mapping):  # one scorer, in logs of version 1
            given = {"score": sample["score"]}
        values: dict[str, Any] = {}
        answers: dict[str, str] = {}
        for name, entry in given.items():
            score = _mapping(entry)
            value = score.get("value")
            parts = {name: value}
            if isinstance(value, Mapping):
                parts = {f"{name}/{key}": part for key, part in value.items()}
            values |= {key: part for key, part in parts.items() if part is not None and part == part}
            if isinstance(score.get("answer"), str):
                answers[name] = score["answer"]
        self.scores, self.answers = ({}, answers) if sample.get("invalidation") else (values, answers)
        self.why = _why(sample)
        attached = _mapping(sample.get("attachments"))
        value = _mapping(sample["output"]).get("choices")
        choice = _mapping(value[0]) if isinstance(value, list) and value else {}
        self.output = _content(_mapping(choice.get("message")).get("content"), attached)
        options = sample.get("choices")
        self.choices: list[str] = list(map(str, options)) if isinstance(options, list) else []
        self.target = sample.get("target")
        given = sample.get("input")
        if isinstance(given, list):
            messages = [(m.get("role"), _content(m.get("content"), attached)) for m in map(_mapping, given)]
            text = messages[0][1] if len(messages) == 1 else "\n\n".join(f"{role}: {words}" for role, words in messages)
        else:
            text = _content(given, attached)
        lettered = (f"{chr(ord('A') + i)}) {words}" for i, words in enumerate(self.choices))
        self.input = "\n".join([text, *lettered])
        tokens = _logprobs(choice.get("logprobs"), file, row) if self.scores else None
        self.tokens = tokens or (None if self.output.strip() else tokens)  # none of an answer that is empty

    def name(self, repeated: bool) -> str:
        """The id, with the epoch where there are several."""
        return f"{self.id}_epoch_{self.epoch}" if repeated else self.id


def _samples(file: str) -> tuple[Mapping[str, Any], Iterator[Any]]:
    """The header of a log, and its samples one after the other."""
    with open(file, "rb") as stream:
        packed = stream.read(2) == b"PK"
    if not packed and not file.endswith(".eval"):
        header = _mapping(read_json(file))
        samples = header.get("samples")
        return header, iter(samples if isinstance(samples, list) else [])
    headers = (one for name in ("header.json", "_journal/start.json") for one in _members(file, name.__eq__))
    header = {"status": "started", **_mapping(next(headers, None))}
    return header, _members(file, lambda name: name.startswith("samples/") and name.endswith(".json"))


def _members(file: str, wanted: Callable[[str], bool]) -> Iterator[Any]:
    """The JSON in the members of a zip archive with such names, checked against their checksums; of a name that is
    there twice the last one counts.
    """
    with translated(file, "zip"), zipfile.ZipFile(file) as packed, open(file, "rb") as stream:
        for name, member in {one.filename: one for one in packed.infolist()}.items():
            if not wanted(name):
                continue
            check_unpacked(member.compress_size, member.file_size, file)
            if member.compress_type != _ZSTANDARD:
                content = packed.read(member)
            else:
                import pyarrow as pa

                stream.seek(member.header_offset)
                header = stream.read(_LOCAL)
                stream.seek(sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28)), 1)
                source = pa.BufferReader(stream.read(member.compress_size))
                with pa.CompressedInputStream(source, "zstd") as unpacked:
                    content = bytes(unpacked.read(member.file_size + 1))  # no more than was promised
                if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
                    raise ValueError(f"{name} has another checksum than the archive says")
            with translated(file, "JSON"):
                value = json.loads(content)
            yield value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _why(sample: Mapping[str, Any]) -> str:
    """Why a sample has no score."""
    if sample.get("invalidation"):
        return "invalidated"
    error = sample.get("error")
    message = _mapping(error).get("message") if isinstance(error, Mapping) else error
    return " ".join(str(message).split())[:80] if message else "no score"


def _content(content: Any, attached: Mapping[str, Any]) -> str:
    """Text of a message; other parts of it, such as images and reasoning, are left out."""
    if isinstance(content, list):
        texts = [_mapping(part).get("text") for part in content if _mapping(part).get("type") == "text"]
        return "\n".join(_resolved(text, attached) for text in texts if isinstance(text, str))
    return _resolved(content, attached) if isinstance(content, str) else ""


def _resolved(text: str, attached: Mapping[str, Any]) -> str:
    attachment = attached.get(text.removeprefix(_ATTACHED)) if text.startswith(_ATTACHED) else None
    return attachment if isinstance(attachment, str) else text


def _logprobs(given: Any, file: str, row: int) -> list[Mapping[str, Any]] | None:
    """The tokens with their log-probabilities, none of an empty answer; None where the log does not have them."""
    content = _mapping(given).get("content")
    if not isinstance(content, list):
        return None
    tokens = [_mapping(token) for token in content]
    for token in tokens:
        value = token.get("logprob")
        if not isinstance(value, (int, float)) or value - value != 0 or value > 1e-3:
            remedy = "find out why the model gave it, or remove the sample"
            expected = "a log-probability, at most 0"
            raise InputError(expected, got=repr(value), file=file, row=row, column="logprobs", remedy=remedy)
    return tokens


def _letter_scores(
    tokens: Sequence[Mapping[str, Any]] | None, output: str, choices: Sequence[str], target: Any, answer: str | None
) -> tuple[list[float], int, int | None] | None:
    """Log-probabilities of A, B, ... at the last token that is the answer, its position, and that of the right one
    (None where it is not one letter); nothing where the log lacks one of them. Spellings of a letter (``A`` and `` A``)
    are one option, of the sum of their probabilities. Where the tokens do not end with the output, it was rewritten
    after the model gave it, and the letters with it.
    """
    spelt = "".join(str(token.get("token")) for token in tokens or ()).strip()
    if len(choices) < 2 or not output.strip() or not spelt.endswith(output.strip()):
        return None
    import numpy as np

    for token in reversed(tokens or ()):
        letter = _letter_place(token.get("token"), len(choices))
        if letter is None or (answer is not None and _letter_place(answer, len(choices)) != letter):
            continue
        by_letter: dict[int, float] = {}
        for other in token.get("top_logprobs") or []:
            position, value = _letter_place(other.get("token"), len(choices)), other.get("logprob")
            if position is not None and isinstance(value, (int, float)) and value - value == 0:
                by_letter[position] = (
                    float(np.logaddexp(by_letter[position], value)) if position in by_letter else float(value)
                )
        if len(by_letter) < len(choices):
            return None
        targets = target if isinstance(target, list) else [target]
        right = _letter_place(targets[0], len(choices)) if len(targets) == 1 else None
        return [by_letter[i] for i in range(len(choices))], letter, right
    return None


def _answer_probability(tokens: Sequence[Mapping[str, Any]], answer: str | None) -> float:
    """Probability of the tokens that say what the scorer took for the answer, the last time it stands in the output:
    what comes before, such as reasoning, tells nothing of the answer. That of all tokens where none is found, and 0
    where nothing was said.
    """
    texts = [str(token.get("token")) for token in tokens]
    start = "".join(texts).rfind(answer.strip()) if answer and answer.strip() else -1
    stop = start + len(answer.strip()) if answer else 0
    total, at = 0.0, 0
    for token, text in zip(tokens, texts, strict=True):
        if start < 0 or (at < stop and at + len(text) > start):
            total += min(token["logprob"], 0.0)
        at += len(text)
    return math.exp(total) if tokens else 0.0


def _letter_place(letter: Any, count: int) -> int | None:
    """Position of the option that a letter names."""
    text = letter.strip() if isinstance(letter, str) else ""
    position = ord(text) - ord("A") if len(text) == 1 else -1
    return position if 0 <= position < count else None
