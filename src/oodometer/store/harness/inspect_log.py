"""inspect: a log (``.json``, ``.eval``) of one task, with outputs, scores and, where they are, log-probabilities."""

from __future__ import annotations

import itertools
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...errors import InputError
from ..files import check_unpacked, opened, translated
from .base import Answers, JsonStream, LogOptions, Metric, mapping

_ATTACHED = "attachment://"
_ZSTANDARD = 93  # the number of the method in the zip format; the standard library reads it from Python 3.14 on
_LOCAL = 30  # bytes of a member's own header, before its name and its extra field


def run_of(file: str) -> tuple[str, tuple[bool, str]]:
    """The task of a log with its arguments and its model, and whether it came to its end, and when it ran."""
    header, _ = _samples(file)
    about = mapping(header.get("eval"))
    name = json.dumps([about.get("task"), about.get("task_args"), about.get("model")], default=str)
    return name, (header.get("status") == "success", str(about.get("created")))


def read_inspect(file: str, options: LogOptions) -> Answers:
    """A log as columns of a record: ``correct`` or ``score`` by the scorer, ``output``, and what the log-probabilities
    tell. Samples without a score (an error, a limit) are left out and counted.
    """
    header, samples = _samples(file)
    about, results = mapping(header.get("eval")), mapping(header.get("results"))
    out = Answers(
        file, str(about.get("task") or "task"), str(about["model"]) if about.get("model") else None
    )
    logged, wanted = list[_Sample](), options.choice(out.task)[0]
    scorer = wanted and wanted.partition(">=")[0].strip().partition("/")[0]
    for row, sample in enumerate(samples, 1):
        logged.append(_Sample(sample, row, file, scorer, options.keep_input))
        scorer = scorer or logged[-1].scorer
    if not logged:
        remedy = "run it again with samples logged"
        raise InputError(
            "a log with samples",
            got=f"none (status {header.get('status')})",
            file=file,
            remedy=remedy,
        )
    order = mapping(about.get("dataset")).get("sample_ids")
    order_in = {str(name): i for i, name in enumerate(order if isinstance(order, list) else [])}
    logged.sort(key=lambda sample: (sample.epoch, order_in.get(sample.id, len(order_in))))
    epochs = len({sample.epoch for sample in logged})
    first: dict[tuple[str, int], int] = {}
    for sample in logged:
        row = first.setdefault((sample.id, sample.epoch), sample.row)
        if row != sample.row:
            got = f"{sample.id} (epoch {sample.epoch}) as in row {row}"
            raise InputError(
                "each sample once an epoch",
                got=got,
                file=file,
                row=sample.row,
                remedy="keep one of them",
            )
    scored = [sample for sample in logged if sample.scores]
    out.skipped = [(sample.name(epochs > 1), sample.why) for sample in logged if not sample.scores]
    if not scored:
        got = f"{len(logged)} samples without one, the first: {logged[0].why}"
        raise InputError(
            "a sample with a score",
            got=got,
            file=file,
            remedy="score the log first (inspect score)",
        )
    headline = mapping(results.get("headline"))  # of later releases: the score that comes first
    main = (headline.get("score"), f"{headline.get('scorer')}/{headline.get('score')}")
    names = dict.fromkeys(name for sample in scored for name in sample.scores)
    own, metric, named = out.graded(
        scored, sorted(names, key=lambda name: name not in main), options
    )
    why = f"no score by {metric.name}"
    out.skipped += [
        (sample.name(epochs > 1), why) for sample in scored if metric.name not in sample.scores
    ]
    scored = own
    out.warnings, out.notes = (
        out.warnings + out.notes,
        [],
    )  # which scorer is meant is less clear than which metric
    out.ids += [sample.id for sample in scored]
    out.columns["output"] = [sample.output for sample in scored]
    if epochs > 1:
        out.columns["epoch"] = [sample.epoch for sample in scored]
        if any(
            sample.answer for sample in scored
        ):  # what a scorer read off the text: by it repeats are compared
            out.columns["answer"] = [sample.answer for sample in scored]
    if options.keep_input:
        out.columns["input"] = [sample.input for sample in scored]
    whole = [sample.letters for sample in scored if sample.letters is not None]
    if len(whole) == len(scored):
        out.columns["candidate_scores"] = [scores for scores, _, _ in whole]
        out.columns["prediction"] = [position for _, position, _ in whole]
        if all(right is not None for _, _, right in whole):
            out.columns["label"] = [right for _, _, right in whole]
    without = [sample for sample in scored if sample.logprobs is None]
    if not without:
        out.columns["token_logprobs"] = [sample.logprobs for sample in scored]
        if len(whole) < len(scored):
            out.columns["confidence"] = [sample.probability for sample in scored]
    elif len(without) < len(scored):
        lack = f"{len(without)} samples have no log-probabilities (the first: {without[0].id})"
        out.warnings.append(f"{out.task}: {lack}; those of the others are left out")
    _hold(out, header, metric, scored, len(logged), named)
    for what, count in (
        (
            "have no answer (N, or an empty text): they count as the scorer has it",
            sum(one.is_empty for one in scored),
        ),
        ("ran into a limit", sum(one.is_limited for one in scored)),
    ):
        if count:
            out.warnings.append(f"{out.task}: {count} of {len(scored)} samples {what}")
    if results.get("early_stopping"):
        out.warnings.append(
            f"{out.task}: samples were stopped early; the mean of the others may be off"
        )
    return out


def _hold(
    out: Answers,
    header: Mapping[str, Any],
    metric: Metric,
    scored: Sequence[_Sample],
    rows: int,
    named: bool,
) -> None:
    """Hold the answers against what the header of the log says: the end of the run, the samples, the mean."""
    about, results, status = (
        mapping(header.get("eval")),
        mapping(header.get("results")),
        header.get("status"),
    )
    config, ids = mapping(about.get("config")), mapping(about.get("dataset")).get("sample_ids")
    asked = results.get("total_samples")
    if asked is None and isinstance(ids, list):
        asked = len(ids) * (config.get("epochs") or 1)
    if status != "success":
        of = (
            f"{rows} of {asked} samples are in the log"
            if isinstance(asked, int)
            else "the log may lack samples"
        )
        out.warnings.append(f"{out.task}: the run ended with status {status}: {of}")
        asked = None
    reducers = config.get("epochs_reducer") or ["mean"]
    others = ", ".join(str(reducer) for reducer in reducers if reducer != "mean")
    if others and "epoch" in out.columns:
        out.warnings.append(
            f"{out.task}: the log's own figures are {others} of epochs, not their mean"
        )
    scorer, _, key = metric.name.partition("/")
    figures: Mapping[str, Any] = {}
    entries = results.get("scores")
    for entry in map(mapping, entries if isinstance(entries, list) else []):
        if entry.get("name") == (key or scorer) and entry.get("scorer") in (None, scorer):
            figures = (
                mapping(entry.get("metrics")) if entry.get("reducer") in (None, "mean") else figures
            )
    by_id: dict[str, list[float]] = {}
    for sample, score in zip(scored, metric.scores, strict=True):
        by_id.setdefault(sample.id, []).append(score or 0.0)
    means = [math.fsum(own) / len(own) for own in by_id.values()]  # as inspect's: a mean of means
    reported = mapping(figures.get("accuracy") or figures.get("mean"))
    plain = (
        metric.least is None
        and "mean" in reducers
        and not (reported.get("params") or reported.get("options"))
    )
    mean, spread = math.fsum(means) / len(means), mapping(figures.get("stderr"))
    out.check("its header", mean, reported.get("value") if plain else None, rows, asked, named)
    error, stated = math.sqrt(math.fsum((own - mean) ** 2 for own in means)), spread.get("value")
    error /= math.sqrt(max(len(means) - 1, 1) * len(means))
    is_off = isinstance(stated, float) and abs(error - stated) > 1e-3 * max(error, stated)
    if is_off and plain and not spread.get("params"):
        out.warnings.append(
            f"{out.task}: the standard error of the log is {error:.4g}, its header says {stated:.4g}"
        )


class _Sample:
    """What is needed of one sample of a log: of its log-probabilities what they say of the answer of one scorer."""

    def __init__(
        self, given: Any, row: int, file: str, scorer: str | None, with_input: bool
    ) -> None:
        sample = mapping(given)
        if "id" not in sample or "output" not in sample:
            expected = "a sample with id, epoch, input, output and scores"
            got = ", ".join(list(sample)[:6]) or type(given).__name__
            raise InputError(
                expected,
                got=got,
                file=file,
                row=row,
                remedy="the log may be cut off, or of another kind",
            )
        self.row, self.id, self.epoch = row, str(sample["id"]), int(sample.get("epoch") or 1)
        # values by scorer (``scorer/key`` where there are several), and the answers that scorers read off
        given = mapping(sample.get("scores"))
        if not given and isinstance(
            sample.get("score"), Mapping
        ):  # one scorer, in logs of version 1
            given = {"score": sample["score"]}
        values: dict[str, Any] = {}
        for name, entry in given.items():
            value = mapping(entry).get("value")
            parts = {name: value}
            if isinstance(value, Mapping):
                parts = {f"{name}/{key}": part for key, part in value.items()}
            values |= {
                key: part for key, part in parts.items() if part is not None and part == part
            }
        self.scores = {} if sample.get("invalidation") else values
        self.scorer = scorer or next(iter(given), None)
        error = sample.get("error")
        message = mapping(error).get("message") if isinstance(error, Mapping) else error
        self.why = " ".join(str(message).split())[:80] if message else "no score"
        self.why = "invalidated" if sample.get("invalidation") else self.why
        attached = mapping(sample.get("attachments"))
        value = mapping(sample["output"]).get("choices")
        choice = mapping(value[0]) if isinstance(value, list) and value else {}
        self.output = _content(mapping(choice.get("message")).get("content"), attached)
        own = mapping(given.get(self.scorer))
        answer = own.get("answer") if isinstance(own.get("answer"), str) else None
        self.answer = answer or ""
        self.is_limited = bool(sample.get("limit"))
        self.is_empty = own.get("value") == "N" or not (self.output.strip() or answer)
        options = sample.get("choices")
        choices: list[str] = list(map(str, options)) if isinstance(options, list) else []
        asked, self.input = sample.get("input"), ""  # a text, or messages with their roles
        if with_input:
            messages = (
                [mapping(m) for m in asked] if isinstance(asked, list) else [{"content": asked}]
            )
            roles = [f"{m.get('role')}: " if len(messages) > 1 else "" for m in messages]
            texts = [
                role + _content(m.get("content"), attached)
                for role, m in zip(roles, messages, strict=True)
            ]
            letters = [f"{chr(ord('A') + i)}) {words}" for i, words in enumerate(choices)]
            self.input = "\n".join(["\n\n".join(texts), *letters])
        tokens = _logprobs(choice.get("logprobs"), file, row) if self.scores else None
        tokens = tokens or (
            None if self.output.strip() else tokens
        )  # none of an answer that is empty
        self.letters = _letter_scores(tokens, self.output, choices, sample.get("target"), answer)
        self.logprobs = None if tokens is None else [min(token["logprob"], 0.0) for token in tokens]
        self.probability = 0.0 if tokens is None else _answer_probability(tokens, answer)

    def name(self, repeated: bool) -> str:
        """The id, with the epoch where there are several."""
        return f"{self.id}_epoch_{self.epoch}" if repeated else self.id


def _samples(file: str) -> tuple[Mapping[str, Any], Iterator[Any]]:
    """The header of a log, and its samples one after the other; what stands behind them is added to the header."""
    with open(file, "rb") as stream:
        packed = stream.read(2) == b"PK"
    if packed or file.endswith(".eval"):
        headers = (
            one
            for name in ("header.json", "_journal/start.json")
            for one in _members(file, name.__eq__)
        )
        whole = {"status": "started", **mapping(next(headers, None))}
        return whole, _members(
            file, lambda name: name.startswith("samples/") and name.endswith(".json")
        )
    header: dict[str, Any] = {}
    samples = _streamed(file, header)
    first = list(itertools.islice(samples, 1))
    if "eval" not in header:  # it stands behind them
        first += samples
    return header, itertools.chain(first, samples)


def _streamed(file: str, header: dict[str, Any]) -> Iterator[Any]:
    """The samples of a log in JSON; all else goes to ``header``."""
    with translated(file, "JSON"), opened(file) as stream:
        text = JsonStream(stream, file)
        text.take("{")
        while text.peek() != "}":
            name = text.value()
            text.take(":")
            if name == "samples" and text.peek() == "[":
                yield from text.elements()
            else:
                header[name] = text.value()
            if text.take(",}") == "}":
                break
        text.check_end("one log a file", "write each log to a file of its own")


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
                stream.seek(
                    sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28)), 1
                )
                source = pa.BufferReader(stream.read(member.compress_size))
                with pa.CompressedInputStream(source, "zstd") as unpacked:
                    content = bytes(
                        unpacked.read(member.file_size + 1)
                    )  # no more than was promised
                if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
                    raise ValueError(f"{name} has another checksum than the archive says")
            with translated(file, "JSON"):
                value = json.loads(content)
            yield value


def _content(content: Any, attached: Mapping[str, Any]) -> str:
    """Text of a message; other parts of it, such as images and reasoning, are left out."""
    if isinstance(content, list):
        texts = [
            mapping(part).get("text") for part in content if mapping(part).get("type") == "text"
        ]
        return "\n".join(_resolved(text, attached) for text in texts if isinstance(text, str))
    return _resolved(content, attached) if isinstance(content, str) else ""


def _resolved(text: str, attached: Mapping[str, Any]) -> str:
    attachment = attached.get(text.removeprefix(_ATTACHED)) if text.startswith(_ATTACHED) else None
    return attachment if isinstance(attachment, str) else text


def _logprobs(given: Any, file: str, row: int) -> list[Mapping[str, Any]] | None:
    """The tokens with their log-probabilities, none of an empty answer; None where the log does not have them."""
    content = mapping(given).get("content")
    if not isinstance(content, list):
        return None
    tokens = [mapping(token) for token in content]
    for token in tokens:
        value = token.get("logprob")
        if not isinstance(value, (int, float)) or value - value != 0 or value > 1e-3:
            remedy = "find out why the model gave it, or remove the sample"
            expected = "a log-probability, at most 0"
            raise InputError(
                expected, got=repr(value), file=file, row=row, column="logprobs", remedy=remedy
            )
    return tokens


def _letter_scores(
    tokens: Sequence[Mapping[str, Any]] | None,
    output: str,
    choices: Sequence[str],
    target: Any,
    answer: str | None,
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
                by_letter[position] = float(np.logaddexp(by_letter.get(position, -math.inf), value))
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
