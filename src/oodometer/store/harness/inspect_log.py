"""inspect: a log (``.json``, ``.eval``) of one task, with outputs, scores and, where they are, log-probabilities."""

from __future__ import annotations

import itertools
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...plain import Json, Plain
from ..files import check_unpacked, opened, translated
from .base import Answers, JsonStream, LogOptions, Metric, mapping

_TIMES = ("total_time", "working_time")  # seconds of a sample
# of each model that it asked
_USED = ("input_tokens", "output_tokens", "total_tokens", "total_cost")
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
    task, model = str(about.get("task") or "task"), about.get("model")
    out = Answers(file, task, str(model) if model else None)
    logged = _logged(samples, out, options)
    if not logged:
        raise InputError(
            "a log with samples",
            got=f"none (status {header.get('status')})",
            file=file,
            remedy="run it again with samples logged",
        )
    order = mapping(about.get("dataset")).get("sample_ids")
    order_in = {str(name): i for i, name in enumerate(order if isinstance(order, list) else [])}
    logged.sort(key=lambda sample: (sample.epoch, order_in.get(sample.id, len(order_in))))
    _refuse_twice(logged, file)
    repeated = len({sample.epoch for sample in logged}) > 1
    out.skipped = [(sample.name(repeated), sample.why) for sample in logged if not sample.scores]
    scored, metric, named = _graded(out, logged, mapping(results.get("headline")), options)
    without = [sample for sample in logged if sample.scores and metric.name not in sample.scores]
    out.skipped += [(sample.name(repeated), f"no score by {metric.name}") for sample in without]
    # which scorer is meant is less clear than which metric
    out.warnings, out.notes = out.warnings + out.notes, []
    _take_answers(out, scored, options, repeated=repeated)
    out.take_costs([sample.costs for sample in scored])
    _take_probabilities(out, scored)
    _hold(out, header, metric, scored, len(logged), named)
    _warn(out, scored, results)
    return out


def _logged(samples: Iterator[Any], out: Answers, options: LogOptions) -> list[_Sample]:
    """All samples, each with what the scorer that is wanted took for its answer, or the first one."""
    logged, metric = list[_Sample](), options.choice(out.task)[0]
    scorer = metric and metric.partition(">=")[0].strip().partition("/")[0]
    for row, sample in enumerate(samples, 1):
        logged.append(_Sample(sample, row, out.file, scorer, options.keep_input))
        scorer = scorer or logged[-1].scorer
    return logged


def _refuse_twice(logged: Sequence[_Sample], file: str) -> None:
    first: dict[tuple[str, int], int] = {}
    for sample in logged:
        row = first.setdefault((sample.id, sample.epoch), sample.row)
        if row != sample.row:
            raise InputError(
                "each sample once an epoch",
                got=f"{sample.id} (epoch {sample.epoch}) as in row {row}",
                file=file,
                row=sample.row,
                remedy="keep one of them",
            )


def _graded(
    out: Answers, logged: Sequence[_Sample], headline: Plain, options: LogOptions
) -> tuple[list[_Sample], Metric, bool]:
    """The samples that have a score, the metric and whether it was named; ``headline`` is the score that comes first,
    in later releases.
    """
    scored = [sample for sample in logged if sample.scores]
    if not scored:
        raise InputError(
            "a sample with a score",
            got=f"{len(logged)} samples without one, the first: {logged[0].why}",
            file=out.file,
            remedy="score the log first (inspect score)",
        )
    main = (headline.get("score"), f"{headline.get('scorer')}/{headline.get('score')}")
    names = dict.fromkeys(name for sample in scored for name in sample.scores)
    return out.graded(scored, sorted(names, key=lambda name: name not in main), options)


def _take_answers(
    out: Answers, scored: Sequence[_Sample], options: LogOptions, *, repeated: bool
) -> None:
    """Fill in what the model wrote, and what it was asked."""
    out.ids += [sample.id for sample in scored]
    out.columns["output"] = [sample.output for sample in scored]
    if repeated:
        out.columns["epoch"] = [sample.epoch for sample in scored]
        # what a scorer read off the text: by it repeats are compared
        if any(sample.answer for sample in scored):
            out.columns["answer"] = [sample.answer for sample in scored]
    if options.keep_input:
        out.columns["input"] = [sample.input for sample in scored]


def _take_probabilities(out: Answers, scored: Sequence[_Sample]) -> None:
    """Fill in what the log-probabilities tell: scores of lettered options, and how sure the model was of its answer."""
    letters = [sample.letters for sample in scored if sample.letters is not None]
    if len(letters) == len(scored):
        out.columns["candidate_scores"] = [scores for scores, _, _ in letters]
        out.columns["prediction"] = [position for _, position, _ in letters]
        if all(right is not None for _, _, right in letters):
            out.columns["label"] = [right for _, _, right in letters]
    without = [sample for sample in scored if sample.logprobs is None]
    if not without:
        out.columns["token_logprobs"] = [sample.logprobs for sample in scored]
        if len(letters) < len(scored):
            out.columns["confidence"] = [sample.probability for sample in scored]
    elif len(without) < len(scored):
        lack = f"{len(without)} samples have no log-probabilities (the first: {without[0].id})"
        out.warnings.append(f"{out.task}: {lack}; those of the others are left out")


def _warn(out: Answers, scored: Sequence[_Sample], results: Plain) -> None:
    """Warn of samples that have no answer, and of what was stopped."""
    empty = sum(sample.is_empty for sample in scored)
    limited = sum(sample.is_limited for sample in scored)
    of = f"of {len(scored)} samples"
    if empty:
        text = "have no answer (N, or an empty text): they count as the scorer has it"
        out.warnings.append(f"{out.task}: {empty} {of} {text}")
    if limited:
        out.warnings.append(f"{out.task}: {limited} {of} ran into a limit")
    if results.get("early_stopping"):
        out.warnings.append(
            f"{out.task}: samples were stopped early; the mean of the others may be off"
        )


def _hold(
    out: Answers,
    header: Plain,
    metric: Metric,
    scored: Sequence[_Sample],
    rows: int,
    named: bool,
) -> None:
    """Hold the answers against what the header of the log says: the end of the run, the samples, the mean."""
    results, status = mapping(header.get("results")), header.get("status")
    config = mapping(mapping(header.get("eval")).get("config"))
    expected = _sample_count(header)
    if status != "success":
        of = "the log may lack samples"
        if isinstance(expected, int):
            of = f"{rows} of {expected} samples are in the log"
        out.warnings.append(f"{out.task}: the run ended with status {status}: {of}")
        expected = None
    reducers = config.get("epochs_reducer") or ["mean"]
    reducer_names = ", ".join(str(reducer) for reducer in reducers if reducer != "mean")
    if reducer_names and "epoch" in out.columns:
        out.warnings.append(
            f"{out.task}: the log's own figures are {reducer_names} of epochs, not their mean"
        )
    figures = _figures(results.get("scores"), metric.name)
    reported = mapping(figures.get("accuracy") or figures.get("mean"))
    is_changed = metric.least is not None or reported.get("params") or reported.get("options")
    is_mean = "mean" in reducers and not is_changed
    mean, error = _mean_and_error(scored, metric)
    out.check("its header", mean, reported.get("value") if is_mean else None, rows, expected, named)
    spread = mapping(figures.get("stderr"))
    stated = spread.get("value")
    is_off = isinstance(stated, float) and abs(error - stated) > 1e-3 * max(error, stated)
    if is_off and is_mean and not spread.get("params"):
        out.warnings.append(
            f"{out.task}: the standard error of the log is {error:.4g}, its header says {stated:.4g}"
        )


def _sample_count(header: Plain) -> Any:
    """How many samples the run was to have, as far as the header says."""
    about = mapping(header.get("eval"))
    total = mapping(header.get("results")).get("total_samples")
    ids = mapping(about.get("dataset")).get("sample_ids")
    if total is None and isinstance(ids, list):
        return len(ids) * (mapping(about.get("config")).get("epochs") or 1)
    return total


def _figures(entries: Any, name: str) -> Plain:
    """The figures by a metric, ``scorer`` or ``scorer/key``, that were reduced by the mean."""
    scorer, _, key = name.partition("/")
    figures: Plain = {}
    for entry in map(mapping, entries if isinstance(entries, list) else []):
        is_named = entry.get("name") == (key or scorer) and entry.get("scorer") in (None, scorer)
        if is_named and entry.get("reducer") in (None, "mean"):
            figures = mapping(entry.get("metrics"))
    return figures


def _mean_and_error(scored: Sequence[_Sample], metric: Metric) -> tuple[float, float]:
    """The mean and its standard error as inspect has them: of the means of each sample over epochs."""
    by_id: dict[str, list[float]] = {}
    for sample, score in zip(scored, metric.scores, strict=True):
        by_id.setdefault(sample.id, []).append(score or 0.0)
    means = [math.fsum(scores) / len(scores) for scores in by_id.values()]
    mean = math.fsum(means) / len(means)
    spread = math.sqrt(math.fsum((each - mean) ** 2 for each in means))
    return mean, spread / math.sqrt(max(len(means) - 1, 1) * len(means))


class _Sample:
    """What is needed of one sample of a log: of its log-probabilities what they say of the answer of one scorer."""

    def __init__(self, raw: Any, row: int, file: str, scorer: str | None, with_input: bool) -> None:
        sample = _checked(raw, row, file)
        self.row, self.id, self.epoch = row, str(sample["id"]), int(sample.get("epoch") or 1)
        entries = mapping(sample.get("scores")) or _lone_score(sample)
        self.scores = {} if sample.get("invalidation") else _values(entries)
        self.scorer = scorer or next(iter(entries), None)
        self.why = _why(sample)
        self.costs = _costs(sample)
        attached = mapping(sample.get("attachments"))
        choice = _first_choice(sample["output"])
        self.output = _content(mapping(choice.get("message")).get("content"), attached)
        entry = mapping(entries.get(self.scorer or ""))
        answer = _text(entry.get("answer"))
        self.answer = answer or ""
        self.is_limited = bool(sample.get("limit"))
        self.is_empty = entry.get("value") == "N" or not (self.output.strip() or answer)
        options = sample.get("choices")
        choices = [*map(str, options)] if isinstance(options, list) else []
        self.input = _prompt(sample.get("input"), choices, attached) if with_input else ""
        tokens = None
        if self.scores:
            tokens = _logprobs(choice.get("logprobs"), self.output, file, row)
        self.letters = _letter_scores(tokens, self.output, choices, sample.get("target"), answer)
        self.logprobs = None if tokens is None else [min(token["logprob"], 0.0) for token in tokens]
        self.probability = 0.0 if tokens is None else _answer_probability(tokens, answer)

    def name(self, repeated: bool) -> str:
        """The id, with the epoch where there are several."""
        return f"{self.id}_epoch_{self.epoch}" if repeated else self.id


def _checked(raw: Any, row: int, file: str) -> Plain:
    """A sample of a log; `InputError` for what is none."""
    sample = mapping(raw)
    if "id" not in sample or "output" not in sample:
        raise InputError(
            "a sample with id, epoch, input, output and scores",
            got=", ".join(list(sample)[:6]) or type(raw).__name__,
            file=file,
            row=row,
            remedy="the log may be cut off, or of another kind",
        )
    return sample


def _costs(sample: Plain) -> Json:
    """What a sample took: its seconds, and the tokens of all models that it asked, graders among them."""
    costs: Json = {name: sample[name] for name in _TIMES if sample.get(name) is not None}
    usages = sample.get("model_usage")
    for usage in usages.values() if isinstance(usages, Mapping) else ():
        for name in _USED:
            if isinstance(amount := mapping(usage).get(name), (int, float)):
                costs[name] = costs.get(name, 0) + amount
    return costs


def _lone_score(sample: Plain) -> Plain:
    """The score of the one scorer that logs of version 1 have."""
    score = sample.get("score")
    return {"score": score} if isinstance(score, Mapping) else {}


def _first_choice(output: Any) -> Plain:
    choices = mapping(output).get("choices")
    return mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _values(entries: Plain) -> Json:
    """Values by scorer, ``scorer/key`` where it has several."""
    values: Json = {}
    for name, entry in entries.items():
        value = mapping(entry).get("value")
        if isinstance(value, Mapping):
            values |= {f"{name}/{key}": part for key, part in value.items()}
        else:
            values[name] = value
    return {key: value for key, value in values.items() if value is not None and value == value}


def _why(sample: Plain) -> str:
    """Why a sample has no score."""
    if sample.get("invalidation"):
        return "invalidated"
    error = sample.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    return " ".join(str(message).split())[:80] if message else "no score"


def _prompt(prompt: Any, choices: Sequence[str], attached: Plain) -> str:
    """What the model was asked, a text or messages with their roles, and the options by their letters."""
    messages = [*map(mapping, prompt)] if isinstance(prompt, list) else [{"content": prompt}]
    texts = [_content(message.get("content"), attached) for message in messages]
    if len(messages) > 1:
        roles = [message.get("role") for message in messages]
        texts = [f"{role}: {text}" for role, text in zip(roles, texts, strict=True)]
    letters = [f"{chr(ord('A') + i)}) {words}" for i, words in enumerate(choices)]
    return "\n".join(["\n\n".join(texts), *letters])


def _samples(file: str) -> tuple[Plain, Iterator[Any]]:
    """The header of a log, and its samples one after the other; what stands behind them is added to the header."""
    with open(file, "rb") as stream:
        packed = stream.read(2) == b"PK"
    if packed or file.endswith(".eval"):
        headers = (
            member
            for name in ("header.json", "_journal/start.json")
            for member in _members(file, name.__eq__)
        )
        merged_header = {"status": "started", **mapping(next(headers, None))}
        return merged_header, _members(
            file, lambda name: name.startswith("samples/") and name.endswith(".json")
        )
    header: Json = {}
    samples = _streamed(file, header)
    first = list(itertools.islice(samples, 1))
    if "eval" not in header:  # it stands behind them
        first += samples
    return header, itertools.chain(first, samples)


def _streamed(file: str, header: Json) -> Iterator[Any]:
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


def _members(file: str, predicate: Callable[[str], bool]) -> Iterator[Any]:
    """The JSON in the members of a zip archive with such names, checked against their checksums; of a name that is
    there twice the last one counts.
    """
    with translated(file, "zip"), zipfile.ZipFile(file) as packed, open(file, "rb") as stream:
        for name, member in {info.filename: info for info in packed.infolist()}.items():
            if not predicate(name):
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
                    # no more than was promised
                    content = bytes(unpacked.read(member.file_size + 1))
                if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
                    raise ValueError(f"{name} has another checksum than the archive says")
            with translated(file, "JSON"):
                value = json.loads(content)
            yield value


def _content(content: Any, attached: Plain) -> str:
    """Text of a message; other parts of it, such as images and reasoning, are left out."""
    if isinstance(content, list):
        texts = [
            mapping(part).get("text") for part in content if mapping(part).get("type") == "text"
        ]
        return "\n".join(_resolved(text, attached) for text in texts if isinstance(text, str))
    return _resolved(content, attached) if isinstance(content, str) else ""


def _resolved(text: str, attached: Plain) -> str:
    attachment = attached.get(text.removeprefix(_ATTACHED)) if text.startswith(_ATTACHED) else None
    return attachment if isinstance(attachment, str) else text


def _logprobs(logprobs: Any, output: str, file: str, row: int) -> list[Plain] | None:
    """The tokens with their log-probabilities, none of an empty answer; None where the log does not have them."""
    content = mapping(logprobs).get("content")
    if not isinstance(content, list):
        return None
    tokens = [mapping(token) for token in content]
    for token in tokens:
        value = token.get("logprob")
        if not isinstance(value, (int, float)) or value - value != 0 or value > 1e-3:
            raise InputError(
                "a log-probability, at most 0",
                got=repr(value),
                file=file,
                row=row,
                column="logprobs",
                remedy="find out why the model gave it, or remove the sample",
            )
    # no tokens are those of an empty answer alone
    return tokens if tokens or not output.strip() else None


def _letter_scores(
    tokens: Sequence[Plain] | None,
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
    count = len(choices)
    for token in reversed(tokens or ()):
        letter = _letter_place(token.get("token"), count)
        if letter is None or (answer is not None and _letter_place(answer, count) != letter):
            continue
        by_letter = _by_letter(token.get("top_logprobs") or [], count)
        if len(by_letter) < count:
            return None
        targets = target if isinstance(target, list) else [target]
        right = _letter_place(targets[0], count) if len(targets) == 1 else None
        return [by_letter[i] for i in range(count)], letter, right
    return None


def _by_letter(tokens: Sequence[Plain], count: int) -> dict[int, float]:
    """The log-probability of each letter of an option, over its spellings."""
    out: dict[int, float] = {}
    for token in tokens:
        position, value = _letter_place(token.get("token"), count), token.get("logprob")
        if position is not None and isinstance(value, (int, float)) and value - value == 0:
            out[position] = float(np.logaddexp(out.get(position, -math.inf), value))
    return out


def _answer_probability(tokens: Sequence[Plain], answer: str | None) -> float:
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
