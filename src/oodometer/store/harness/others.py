"""Others: HELM, lighteval, OpenCompass, AlpacaEval, simple-evals, uqlm, SQuAD and chats: rows of an id, an answer and
its scores.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, OodometerError, Remedy
from ...fields import FIELDS
from ...plain import Json, Plain
from ..files import translated
from .base import Answers, LogOptions, json_rows, mapping, read_json

STATS = "per_instance_stats.json"  # of the folder of a HELM run
# The number of a scenario in HELM's own tables, where it is not whether the answer is exactly the reference.
_MAIN = {
    "gsm": "final_number_exact_match",
    "math": "math_equiv_chain_of_thought",
    "narrative_qa": "f1_score",
}
_MAIN |= {
    "natural_qa": "f1_score",
    "quac": "f1_score",
    "wmt_14": "bleu_4",
    "summarization_xsum": "rouge_2",
}
_MAIN |= {
    "summarization_cnndm": "rouge_2",
    "mmlu_pro": "chain_of_thought_correct",
    "ifeval": "ifeval_strict_accuracy",
}
_MAIN |= {"gpqa": "chain_of_thought_correct", "omni_math": "omni_math_accuracy"}
_MAIN |= dict.fromkeys(
    ("legalbench", "med_qa", "boolq", "imdb", "raft", "civil_comments"), "quasi_exact_match"
)
# What HELM measures besides the quality of an answer.
_NOT_QUALITY = re.compile(
    r"num_.*|.*inference.*|training_.*|finish_reason_.*|.*truncated.*|batch_size|max_prob|logprob.*|predicted_index|"
    r"perplexity|bits_per_byte|.*(runtime|cost|emissions).*"
)
_DETAILS = re.compile(r"details_(?P<task>.+?)(_\d{4}-\d{2}-\d{2}T[\d.:-]+)?\.parquet")
# What is read of lighteval's details to 0.9 and from 0.10 on; tokens and logits are not.
_OLD = {
    "metrics": "metrics",
    "full_prompt": "input",
    "predictions": "said",
    "choices": "choices",
    "gold_index": "gold",
}
_NEW = {
    "metric": "metrics",
    "doc.query": "input",
    "doc.choices": "choices",
    "doc.gold_index": "gold",
    "doc.id": "id",
}
_NEW |= {"model_response.text": "said", "model_response.logprobs": "logprobs"}
_ACC = ("acc", "loglikelihood_acc", "em", "exact_match", "extractive_match")
# of OpenCompass
_VERDICTS, _LABEL = (("correct", "is_correct", "cascade_correct", "score"), "label: ")
_SAID = ("prediction", "predictions", "pred", "origin_prediction")
_RESULT = re.compile(
    r"(?P<task>healthbench_(hard|consensus|meta)|[^_]+)_(?P<model>.+?)(_DEBUG)?(_\d{8}_\d{6})?(_allresults)?"
)
_PAIR = rb'\s*"(?:[^"\\]|\\.)*"\s*:\s*"(?:[^"\\]|\\.)*"\s*[,}]'
# of SQuAD, and what marks the data set
_ANSWERS = re.compile(rb"\{" + _PAIR + rb"(" + _PAIR + rb")*")
_DATA = re.compile(rb'"(paragraphs|qas|answers)"\s*:')
_PAGE = re.compile(r"<p>Score: (-?[\d.]+|True|False)</p>")  # of an example of simple-evals


class Row(NamedTuple):
    """One answer: its row in the file, the id of the question, scores by metric (none where it has no verdict, and
    why), answer and prompt as text, which time the question was asked, further columns; options with their scores, and
    the position of the right one.
    """

    row: int
    id: str
    scores: Plain
    output: str | None = None
    input: str | None = None
    epoch: int = 1
    more: Mapping[str, Any] = {}
    why: str = "no score"
    options: Sequence[float] = ()
    gold: int | None = None
    costs: Mapping[str, Any] = {}


def graded(
    out: Answers, rows: Sequence[Row], options: LogOptions, usual: Sequence[str] = ()
) -> Answers:
    """Fill the answers of a log: ``correct`` where the metric is 0 or 1, ``score`` where it is another number; rows
    without it are left out and counted. ``candidate_scores`` and ``label`` are given where the best option is right
    just where the verdict says so. Raises `InputError` for a question that comes twice.
    """
    if not rows:
        raise InputError(
            "at least one row", got="none", file=out.file, remedy="check what wrote the file"
        )
    _refuse_twice(rows, out.file)
    names = _metric_names(rows, usual)
    scored, repeated = rows, len({row.epoch for row in rows}) > 1
    if names or options.choice(out.task, names)[0] is not None:
        scored, metric, _ = out.graded(rows, names, options)
        without = [row for row in rows if row.scores.get(metric.name) is None]
        out.skipped += [
            (f"{row.id}_epoch_{row.epoch}" if repeated else row.id, row.why) for row in without
        ]
    out.ids += [row.id for row in scored]
    _take_texts(out, scored, options)
    if repeated:
        out.columns["epoch"] = [row.epoch for row in scored]
    for name in scored[0].more:
        out.columns[name] = [row.more.get(name) for row in scored]
    out.take_costs([row.costs for row in scored])
    _take_options(out, scored)
    return out


def _metric_names(rows: Sequence[Row], usual: Sequence[str]) -> list[str]:
    """The metrics by which a row has a score, the usual ones first."""
    names = dict.fromkeys([*usual, *(name for row in rows for name in row.scores)])
    return [name for name in names if any(row.scores.get(name) is not None for row in rows)]


def _take_texts(out: Answers, scored: Sequence[Row], options: LogOptions) -> None:
    """Fill in the outputs, and the prompts if they are kept, where every row has one."""
    for name in ("output", "input") if options.keep_input else ("output",):
        texts = [getattr(row, name) for row in scored]
        if None not in texts:
            out.columns[name] = texts


def _refuse_twice(rows: Sequence[Row], file: str) -> None:
    seen: dict[tuple[str, int, Any], int] = {}
    for row in rows:
        key = (row.id, row.epoch, row.more.get("model"))
        if (first := seen.setdefault(key, row.row)) != row.row:
            raise InputError(
                "each question once",
                got=f"{row.id} as in row {first}",
                file=file,
                row=row.row,
                remedy="keep the rows of one run",
            )


def _take_options(out: Answers, scored: Sequence[Row]) -> None:
    """Fill in the scores of options where the best one is right just where the verdict says so."""
    if any(row.gold is None or not row.options for row in scored):
        return
    best = [max(range(len(row.options)), key=row.options.__getitem__) for row in scored]
    golds = [row.gold for row in scored]
    agrees = [top == gold for top, gold in zip(best, golds, strict=True)]
    if agrees == list(out.columns.get("correct", ())):
        out.columns |= {"candidate_scores": [[*row.options] for row in scored], "label": golds}
        out.label_decides = True


def check_total(out: Answers, total: Any, options: LogOptions) -> None:
    """Hold the mean of what was read, clipped as HealthBench does, against the total that the file states."""
    values = out.columns.get("score", out.columns.get("correct", ()))
    mean = min(max(math.fsum(values) / len(values), 0.0), 1.0)
    out.check("its total", mean, total, len(values), None, options.choice(out.task)[0] is not None)


def _refused(expected: str, got: Any, file: str, row: int, column: str | None = None) -> InputError:
    """The error for what no release of the harness writes."""
    got = ", ".join(map(str, got)) if isinstance(got, Mapping) else repr(got)
    return InputError(
        expected,
        got=got[:60],
        file=file,
        row=row,
        column=column,
        remedy="check what wrote the file",
    )


def replies(messages: Any) -> list[str]:
    """What an assistant said, of a list of messages with roles; parts of a message that are no text are left out."""
    texts = []
    for message in map(mapping, messages if isinstance(messages, list) else ()):
        content = message.get("content") if message.get("role") == "assistant" else None
        if isinstance(content, list):
            content = "\n".join(str(mapping(part).get("text", "")) for part in content)
        texts += [content] if isinstance(content, str) else []
    return texts


def read_helm(file: str, options: LogOptions) -> Answers:
    """A run of HELM: the score of each instance, what the model wrote (`display_predictions.json`), the prompt
    (`instances.json`), model and task (`run_spec.json`). Perturbed instances are left out, as in HELM's main tables,
    and of several splits all but the test; trials with other examples in the prompt are epochs.
    """
    folder = Path(file).parent

    def beside(name: str) -> Any:
        return read_json(str(folder / name)) if (folder / name).is_file() else []

    spec, predictions = mapping(beside("run_spec.json")), beside("display_predictions.json")
    run = str(spec.get("name") or folder.name)
    scenario = re.split("[:,]", run)[0]
    task, model = _helm_run(run, scenario, spec)
    out = Answers(file, task, model)
    texts = {
        _trial(instance): instance.get("predicted_text")
        for instance in predictions
        if not instance.get("perturbation")
    }
    prompts = {
        str(instance.get("id")): mapping(instance.get("input")).get("text")
        for instance in beside("instances.json")
    }
    scores: dict[tuple[str, int], Json] = {}
    splits, perturbed = dict[str, str](), 0
    for row, entry in enumerate(read_json(file), 1):
        if "instance_id" not in mapping(entry) or not isinstance(entry.get("stats"), list):
            raise _refused(
                "an instance with instance_id, train_trial_index and stats", entry, file, row
            )
        if entry.get("perturbation"):
            perturbed += 1
            continue
        for stat in entry["stats"]:
            about = mapping(stat["name"])
            name = str(about.get("name"))
            splits.setdefault(str(entry["instance_id"]), str(about.get("split")))
            if not _NOT_QUALITY.fullmatch(name) and stat.get("mean") is not None:
                scores.setdefault(_trial(entry), {})[name] = stat["mean"]
    several = len({*splits.values()}) > 1 and "test" in splits.values()
    out.notes += [f"{out.task}: the test split alone, as in HELM's tables"] * several
    out.notes += [f"{out.task}: {perturbed} perturbed instances left out"] * bool(perturbed)
    out.notes += [f"{out.task}: no outputs, as helm-summarize was not run"] * (not predictions)
    rows = [
        Row(row, name, figures, texts.get((name, trial)), prompts.get(name), trial + 1)
        for row, ((name, trial), figures) in enumerate(scores.items(), 1)
        if not several or splits[name] == "test"
    ]
    return graded(out, rows, options, (_MAIN.get(scenario, "exact_match"), "quasi_exact_match"))


def _helm_run(run: str, scenario: str, spec: Plain) -> tuple[str, str | None]:
    """The task and the model of a run by its name, ``scenario:name=value,...``."""
    named = dict(part.split("=", 1) for part in re.split("[:,]", run) if "=" in part)
    model = mapping(spec.get("adapter_spec")).get("model") or named.get("model")
    about = ",".join(
        value
        for name, value in named.items()
        if name not in ("model", "model_deployment", "method")
    )
    task = f"{scenario}:{about}" if about else scenario
    return task, str(model).replace("/", "_") if model else None


def _trial(entry: Plain) -> tuple[str, int]:
    return str(entry.get("instance_id")), int(entry.get("train_trial_index") or 0)


def columns_of(file: str) -> list[str]:
    """Names of the columns of a Parquet file; none where it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return [*pq.read_schema(file).names]
    except (pa.ArrowException, OSError, ValueError):  # names of damaged files are no text
        return []


def read_lighteval(file: str, options: LogOptions) -> Answers:
    """lighteval's details: the metric, ``output`` of what was written, ``candidate_scores`` of options whose
    log-likelihoods, as they are or divided by the length, give the verdicts.
    """
    named, parts = _DETAILS.fullmatch(Path(file).name), Path(file).resolve().parts
    model = "_".join(parts[parts.index("details") + 1 : -2]) if "details" in parts[:-2] else ""
    task = named["task"].replace("|", ":") if named else Path(file).stem
    pairs = [_detail(cells, file, row) for row, cells in enumerate(_detail_cells(file), 1)]
    for is_divided in (False, True):
        rows = [_by_length(*pair) if is_divided else pair[0] for pair in pairs]
        out = graded(Answers(file, task, model or None), rows, options, _ACC)
        if "candidate_scores" in out.columns or not any(row.options for row in rows):
            break
    return out


def _detail_cells(file: str) -> Iterator[Json]:
    """What is read of each row of lighteval's details, by one set of names."""
    import pyarrow.parquet as pq

    with translated(file, "Parquet"):
        table, leaves = pq.ParquetFile(file), dict[str, str]()
        for field in table.schema_arrow:
            bare = field.name.strip("_")
            leaves[bare] = field.name
            if str(field.type).startswith("struct"):
                leaves |= {
                    f"{bare}.{inner.name}": f"{field.name}.{inner.name}" for inner in field.type
                }
        names = _NEW if "doc" in leaves else _OLD
        taken = {name: leaf for leaf, name in names.items() if leaf in leaves}
        rows = table.read(columns=[leaves[leaf] for leaf in taken.values()]).to_pylist()
    for row in rows:
        cells = dict.fromkeys((*_OLD.values(), *_NEW.values()))
        for name, leaf in taken.items():
            outer, _, inner = leaves[leaf].partition(".")
            cell = mapping(row[outer]).get(inner) if inner else row[outer]
            cells[name] = cell if name in ("input", "id") else _literal(cell)
        yield cells


def _detail(cells: Plain, file: str, row: int) -> tuple[Row, Sequence[Any]]:
    """One row of lighteval's details, and the texts of its options."""
    if not isinstance(cells["metrics"], Mapping):
        raise _refused("scores by metric", cells["metrics"], file, row, "metrics")
    answers, golds, choices = _listed(cells["said"]), _listed(cells["gold"]), cells["choices"] or []
    likely = [_first(value) for value in cells["logprobs"] or answers]
    is_scored = all(isinstance(value, (int, float)) and math.isfinite(value) for value in likely)
    is_named = len(golds) == 1 and isinstance(golds[0], int)
    is_choice = is_scored and is_named and len(choices) == len(likely) > 1
    metrics = cells["metrics"].items()
    detail = Row(
        row,
        str(row - 1 if cells["id"] in (None, "") else cells["id"]),
        {name: value for name, value in metrics if isinstance(value, (bool, int, float))},
        output=next((text for text in answers if isinstance(text, str)), None),
        input=cells["input"] if isinstance(cells["input"], str) else None,
        options=[*map(float, likely)] if is_choice else (),
        gold=golds[0] if is_choice else None,
    )
    return detail, choices


def _by_length(row: Row, choices: Sequence[Any]) -> Row:
    """A row with the scores of options divided by the lengths of their texts."""
    pairs = zip(row.options, choices, strict=True) if row.options else ()
    return row._replace(options=[value / max(len(str(choice)), 1) for value, choice in pairs])


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and value else value


def _listed(value: Any) -> list[Any]:
    """A list as it is, anything else as the one entry of a list."""
    return value if isinstance(value, list) else [value]


def _literal(cell: Any) -> Any:
    """A list or a mapping that was written as its text."""
    if isinstance(cell, str) and cell[:1] in "[{(":
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return ast.literal_eval(cell)
    return cell


def read_opencompass(file: str, options: LogOptions) -> Answers:
    """OpenCompass: results say what is right (``correct``). Predictions hold answers and the truth alone: of options
    that were scored, the lowest perplexity decides; of what was written, ``exact_match`` and ``f1`` compare both as
    SQuAD does, as the task's own postprocessor and evaluator are not in the file.
    """
    path, document, rows = Path(file).resolve(), read_json(file), list[Row]()
    out = Answers(file, path.stem, path.parent.name if path.parent.name != "results" else None)
    details = document.get("details", document)
    entries = [
        (name, entry)
        for name, entry in (details.items() if isinstance(details, dict) else enumerate(details))
        if name != "type"
    ]
    for row, (name, entry) in enumerate(entries, 1):
        verdict = next((key for key in _VERDICTS if key in mapping(entry)), None)
        if not isinstance(entry, Mapping) or ("details" in document and verdict is None):
            raise _refused(
                f"an answer with a verdict ({', '.join(_VERDICTS[:3])})", entry, file, row
            )
        if verdict is None:
            rows.append(_prediction(str(name), entry, row))
        else:
            rows += _verdicts(str(entry.get("example_abbr", name)), entry, verdict, row)
    graded(out, rows, options)
    total: Any = document.get("accuracy")
    if "correct" in out.columns and isinstance(total, (int, float)):
        check_total(out, total / 100, options)
    return out


def _verdicts(name: str, entry: Plain, verdict: str, row: int) -> list[Row]:
    """The rows of an answer of OpenCompass that was judged, once or several times."""
    values, answer = _listed(entry[verdict]), _answer_of(entry)
    if not isinstance(answer, list) or not len(answer) == len(values) > 1:
        answer = [answer] * len(values)
    pairs = enumerate(zip(values, answer, strict=True), 1)
    return [
        Row(row, name, {verdict: value}, str(text), _prompt_of(entry), epoch)
        for epoch, (value, text) in pairs
    ]


def _prediction(name: str, entry: Plain, row: int) -> Row:
    """An answer of OpenCompass that nobody judged, held against the truth."""
    answer = _answer_of(entry)
    text = str(answer[-1] if isinstance(answer, list) and answer else answer)  # of a talk the last
    golds = [str(gold) for gold in _listed(entry.get("gold")) if gold is not None]
    labels = [key for key in entry if str(key).startswith(_LABEL)]
    if not labels:
        scores = {"exact_match": exact_match(text, golds), "f1": f1(text, golds)} if golds else {}
        return Row(row, name, scores, text, _prompt_of(entry), why="no gold answer")
    options = [label.removeprefix(_LABEL) for label in labels]
    perplexities = [mapping(entry[label]).get("PPL") for label in labels]
    likely = [-value for value in perplexities if isinstance(value, (int, float))]
    is_choice = len(likely) == len(labels) > 1 and golds[:1] != [] and golds[0] in options
    return Row(
        row,
        name,
        {"acc": float(text == golds[0])} if golds else {},
        input=_prompt_of(entry),
        why="no gold answer",
        options=likely if is_choice else (),
        gold=options.index(golds[0]) if is_choice else None,
    )


def _answer_of(entry: Plain) -> Any:
    return next((entry[key] for key in _SAID if entry.get(key) is not None), "")


def _prompt_of(entry: Plain) -> Any:
    """The prompt of OpenCompass, of messages their texts."""
    prompt = entry.get("prompt", entry.get("origin_prompt"))
    if not isinstance(prompt, list):
        return prompt
    messages = [*map(mapping, prompt)]
    return "\n".join(str(message.get("prompt", message.get("content", ""))) for message in messages)


def read_alpaca(file: str, options: LogOptions) -> Answers:
    """AlpacaEval: ``preference`` is 1 where ``generator_1``, the baseline, is better, 2 where ``generator_2`` is, 1.5
    or 0 for a draw, and a number between for a weighted annotator; ``score`` is preference - 1, whose mean is the win
    rate of ``generator_2``. Annotations without a preference are left out, as there. Outputs that nobody judged
    (``model_outputs.json``) are read as ``output``.
    """
    out, rows, names = Answers(file, "alpaca_eval"), list[Row](), set[str]()
    for row, entry in json_rows(file):
        if "instruction" not in entry:
            raise _refused("an instruction", entry, file, row)
        judged = "generator_2" in entry or "preference" in entry
        names.add(str(entry.get("generator_2" if judged else "generator")))
        instruction, text = str(entry["instruction"]), entry.get("output_2" if judged else "output")
        rows.append(
            Row(
                row,
                # the same in any order of rows
                hashlib.sha256(instruction.encode()).hexdigest()[:12],
                _win_rate(entry.get("preference"), file, row),
                output=None if text is None else str(text),
                input=instruction,
                more={"dataset": str(entry["dataset"])} if "dataset" in entry else {},
                why="no preference",
            )
        )
    if len(names) > 1:
        raise InputError(
            "answers of one model",
            got=", ".join(sorted(names)[:3]),
            file=file,
            remedy="write a file for each model",
        )
    out.model = next(iter(names - {"None"}), None)
    if "correct" in graded(out, rows, options).columns:  # a win rate, also without a draw
        out.columns["score"] = [float(value) for value in out.columns.pop("correct")]
    return out


def _win_rate(preference: Any, file: str, row: int) -> dict[str, float]:
    """What a preference says of `generator_2`; nothing where there is none."""
    if not isinstance(preference, (int, float)) or preference != preference:
        return {}
    if not (1 <= preference <= 2 or preference == 0):
        raise _refused("a preference between 1 and 2, or 0", preference, file, row, "preference")
    return {"win_rate": 0.5 if preference == 0 else preference - 1}


def read_simple_evals(file: str, options: LogOptions) -> Answers:
    """simple-evals: the score of each example as its metadata or its page has it, and the assistant's last reply."""
    document, name = read_json(file), Path(file).stem
    named = _RESULT.fullmatch(name)
    out = Answers(file, named["task"], named["model"]) if named else Answers(file, name)
    examples = _examples(document, file)
    talks = document.get("convos") or []
    if len(talks) != len(examples):
        talks = [about.get("completion") for about in examples]
    rows, times = [], Counter[str]()
    for row, (about, talk) in enumerate(zip(examples, talks, strict=True), 1):
        name = str(about.get("prompt_id", row - 1))
        times[name] += 1  # each may be asked again
        answers, score = replies(talk), about.get("score")
        messages = about.get("prompt") or (talk[:-1] if isinstance(talk, list) else [])
        prompt = messages if isinstance(messages, str) else _said_before(messages)
        rows.append(
            Row(
                row,
                name,
                {"score": score} if isinstance(score, (bool, int, float)) else {},
                output=answers[-1] if answers else None,
                input=prompt if messages else None,
                epoch=times[name],
            )
        )
    check_total(graded(out, rows, options), document.get("score"), options)
    return out


def _said_before(messages: Sequence[Any]) -> str:
    """The texts of messages, one below the other."""
    return "\n\n".join(str(mapping(message).get("content")) for message in messages)


def _examples(document: Plain, file: str) -> list[Plain]:
    """What simple-evals says of each example, or its score as the page has it."""
    metadata = mapping(document.get("metadata")).get("example_level_metadata") or []
    examples = [*map(mapping, metadata)]
    if not any(examples):
        pages = (page if isinstance(page, str) else "" for page in document.get("htmls") or [])
        marks = [_PAGE.search(page) for page in pages]
        examples = [{"score": float(ast.literal_eval(mark[1]))} if mark else {} for mark in marks]
    if not any(examples):
        raise InputError(
            "the score of each example",
            got="that of all together",
            file=file,
            remedy="name the file that ends in _allresults.json: an interval needs the score of each example",
        )
    return examples


def read_uqlm(file: str, options: LogOptions) -> Answers:
    """uqlm: responses with their confidence scores, in [0, 1], as columns; ``--metric`` names the one that is read as
    ``confidence``, where there are several. It knows no truth.
    """
    lists = {
        name: value for name, value in read_json(file)["data"].items() if isinstance(value, list)
    }
    responses = lists.get("responses")
    if not responses or any(len(value) != len(responses) for value in lists.values()):
        raise InputError(
            "as many prompts as responses",
            got=", ".join(f"{len(value)} {name}" for name, value in lists.items()) or "none",
            file=file,
            remedy="write result.to_dict()",
        )
    out = Answers(file, Path(file).stem)
    columns = _confidences(lists, options.choice(out.task)[0] or "ensemble_score", file)
    prompts = lists.get("prompts", [None] * len(responses))
    rows = [
        Row(
            row,
            str(row - 1),
            {},
            output=str(text),
            input=None if prompt is None else str(prompt),
            more={name: values[row - 1] for name, values in columns.items()},
        )
        for row, (text, prompt) in enumerate(zip(responses, prompts, strict=True), 1)
    ]
    return graded(out, rows, LogOptions(keep_input=options.keep_input))


def _confidences(
    lists: Mapping[str, Sequence[Any]], metric: str, file: str
) -> dict[str, list[float]]:
    """The scores of uqlm that lie in [0, 1]: as ``confidence`` the one that is wanted, or the only one."""
    scores = {
        name.removesuffix("s") if name == "confidence_scores" else name: [*map(float, values)]
        for name, values in lists.items()
        if all(isinstance(value, (int, float)) and 0 <= value <= 1 for value in values)
    }
    name = metric if metric in scores or len(scores) != 1 else next(iter(scores))
    if name not in scores:
        text = " or ".join(f"`--metric {key}`" for key in scores)
        remedy = (
            Remedy(text, "--metric", next(iter(scores))) if scores else "score the responses first"
        )
        raise InputError(
            "one confidence score", got=", ".join(scores) or "none", file=file, remedy=remedy
        )
    return {"confidence": scores.pop(name), **scores}


def read_chat(file: str, options: LogOptions) -> Answers:
    """A chat a row, as OpenAI writes messages: each reply of the assistant is a row with its own ``output``; what was
    said before is ``input``; replies of one chat are a cluster, its ``chat``.
    """
    out, rows = Answers(file, Path(file).stem), list[Row]()
    for row, entry in json_rows(file):
        talk = entry.get("messages")
        if not isinstance(talk, list) or not all("role" in mapping(message) for message in talk):
            raise _refused("a list of messages with role and content", talk, file, row, "messages")
        name = str(entry.get("id", row - 1))
        turns = [i for i, message in enumerate(talk) if replies([message])]
        for number, i in enumerate(turns, 1):
            before = "\n\n".join(
                f"{message['role']}: {message.get('content')}" for message in talk[:i]
            )
            reply = name if len(turns) == 1 else f"{name}/{number}"
            rows.append(Row(row, reply, {}, replies([talk[i]])[0], before, 1, {"chat": name}))
    if not rows:
        raise InputError(
            "a reply of the assistant",
            got="none",
            file=file,
            remedy="a model has to answer first: oodometer predict MODEL DATA --out FILE",
        )
    return graded(out, rows, options)


def is_answers(file: str, start: bytes) -> bool:
    """Whether a file is one mapping from ids to texts, and no row of a table."""
    try:
        document = read_json(file) if _ANSWERS.match(start) else None
    except OodometerError:
        return False
    return (
        isinstance(document, dict)
        and all(isinstance(v, str) for v in document.values())
        and not FIELDS.keys() & document
    )


def normalized(text: str) -> str:
    """Small letters without punctuation, articles and repeated blanks, as the official script compares answers.

    >>> normalized("The  Eiffel-Tower!")
    'eiffeltower'
    """
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 where the answer is one of the right ones after normalising, else 0; no right one means: no answer."""
    return float(normalized(answer) in {normalized(gold) for gold in golds or [""]})


def f1(answer: str, golds: Sequence[str]) -> float:
    """Harmonic mean of the precision and recall of words, of the right answer where it is largest (Rajpurkar et al.
    2016); where either has no words 1 if both have none, else 0.

    >>> round(f1("the red fox", ["red fox cub", "dog"]), 3)
    0.8
    """
    best, words = 0.0, normalized(answer).split()
    for gold in [normalized(gold).split() for gold in golds or [""]]:
        same = sum((Counter(words) & Counter(gold)).values())
        best = max(
            best, 2 * same / (len(words) + len(gold)) if words and gold else float(words == gold)
        )
    return best


def read_squad(file: str, options: LogOptions) -> Answers:
    """Predictions, graded by the data set in the same folder that has their ids; ``passage`` is the paragraph, of which
    several questions are: a cluster.
    """
    answers, folder, best = read_json(file), Path(file).parent, ""
    questions: dict[str, tuple[list[str], str, int]] = {}
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.jsonl"))):
        with path.open("rb") as stream:
            is_data = path.name != Path(file).name and _DATA.search(stream.read(1 << 16))
        if is_data:
            with suppress(OodometerError, AttributeError, TypeError, KeyError):  # another file
                candidate = dict(_questions(str(path)))
                if len(answers.keys() & candidate) > len(answers.keys() & questions):
                    best, questions = str(path), candidate
    if missing := [name for name in answers if name not in questions]:
        got = f"{best} without {missing[0]}" if best else f"none beside it that has {missing[0]}"
        remedy = "put the data set (data, paragraphs, qas, answers) into its folder; it holds the right answers"
        raise InputError(
            "the data set that these answers are of", got=got, file=file, remedy=remedy
        )
    out, rows = Answers(file, Path(best).stem), list[Row]()
    for row, (name, text) in enumerate(answers.items(), 1):
        golds, question, passage = questions[name]
        scores = {"exact_match": exact_match(text, golds), "f1": f1(text, golds)}
        rows.append(Row(row, name, scores, text, question, more={"passage": passage}))
    if absent := len(questions) - len(answers):
        out.warnings.append(
            f"{absent} questions of {best} have no answer; the official script counts them as 0"
        )
    return graded(out, rows, options)


def _questions(file: str) -> Iterator[tuple[str, tuple[list[str], str, int]]]:
    """The id of each question, with the right answers, itself and the number of its paragraph."""
    document = (
        [entry for _, entry in json_rows(file)] if file.endswith(".jsonl") else read_json(file)
    )
    entries = document.get("data", []) if isinstance(document, Mapping) else document
    passages: dict[str, int] = {}
    for entry in entries:
        for paragraph in entry.get("paragraphs", [entry]):
            passage = passages.setdefault(str(paragraph.get("context")), len(passages))
            for question in paragraph.get("qas", [paragraph]):
                answers = question["answers"]  # a list of texts, or their columns, as on the hub
                texts = (
                    answers["text"]
                    if isinstance(answers, Mapping)
                    else [answer["text"] for answer in answers]
                )
                golds = [text for text in texts if normalized(text)]
                yield str(question["id"]), (golds, str(question.get("question", "")), passage)


READERS: dict[str, Callable[[str, LogOptions], Answers]] = {
    "helm": read_helm,
    "lighteval": read_lighteval,
    "opencompass": read_opencompass,
    "alpaca_eval": read_alpaca,
    "simple_evals": read_simple_evals,
    "uqlm": read_uqlm,
    "squad": read_squad,
    "chat": read_chat,
}
