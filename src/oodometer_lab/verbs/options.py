"""Options of the verbs that ask models or shift what they are asked about, each declared once (`oodometer.options`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oodometer.options import (
    Group,
    Options,
    anything,
    argument,
    check_of,
    judges_or_folder,
    one_of,
    option,
    several_or_none,
    whole,
)
from oodometer.verbs.options import (
    Device,
    Drawn,
    Grouped,
    Level,
    Models,
    Renaming,
    Tasks,
    Tokens,
    Typed,
    Watched,
    WithAsking,
    WithColumns,
    WithInference,
    WithRun,
)

if TYPE_CHECKING:
    from oodometer.engines import Engine

    from ..discriminators import Panel

_MODEL, _RUN = "Model", "Where it runs"
_TEXTS, _IMAGES = "Texts and dialogues", "Images"


class Training(Options):
    """What shifts of texts are made with."""

    training: str | Path | None = option(
        default=None,
        group=_TEXTS,
        path="read",
        metavar="FILE",
        help="File of the texts that the model was trained on: what is known.",
        doc="The texts that the model was trained on, in a file of the same forms (also one with turns).",
    )
    training_column: str | None = option(
        default=None,
        flag="",
        group=_TEXTS,
        help="Where the text or the turns stand in it; by default as in the data.",
    )
    training_where: str | Sequence[str] = option(
        default=(), group=_TEXTS, help="Only training rows with COLUMN=VALUE."
    )
    wordnet: str | Path | None = option(
        default=None,
        group=_TEXTS,
        path="read",
        metavar="PATH",
        help="Folder or archive of the WordNet database.",
        doc="Folder or archive of the WordNet database; by default `oodometer_lab.shifts.text.find_wordnet` looks for "
        "it.",
    )
    importance: Any = option(
        default=None,
        flag="",
        group=_TEXTS,
        help="A function from the words of a text to numbers, or the folder of a Hugging Face model whose attention "
        "gives them; for ``important-words``.",
    )
    pieces: bool = option(
        default=False,
        flag="",
        group=_TEXTS,
        help='Whether parts of contractions ("don" in "don\'t") may be changed, too.',
    )
    function_words: bool = option(
        default=False,
        group=_TEXTS,
        help="Exchange articles, pronouns, auxiliaries, parts of contractions and the like, too, as the paper does.",
    )
    part_of_speech: bool = option(
        default=False,
        flag="",
        group=_TEXTS,
        help="Only synonyms of the likely part of speech of a word, which is a guess.",
    )
    inflect: bool = option(
        default=False,
        flag="",
        group=_TEXTS,
        help="Synonyms in the form of the word: automobiles for cars.",
    )
    least: int = option(
        default=1,
        flag="",
        group=_TEXTS,
        help="Occurrences in training that make a word a known one.",
    )


class Turns(Options):
    """Contexts that are cut."""

    turns: int | None = option(
        default=None,
        group=_TEXTS,
        help="For insufficient-context: the last so many turns of contexts that have them.",
        doc="For ``insufficient-context``: only contexts of at least so many turns, and of them the last so many.",
    )


class Constants(Options):
    """How strong corruptions of images are."""

    preset: str | None = option(
        default=None,
        group=_IMAGES,
        rare=True,
        check=one_of("cifar-10-c", "imagenet-c"),
        help="Whose constants: cifar-10-c, stated for 32 pixels, by default; or imagenet-c, for 224.",
    )


class Perturbation(Group, Training, Turns, Constants):
    """What shifts of texts, dialogues and images are made with.

    >>> Perturbation(training="train.jsonl", inflect=True)
    Perturbation(training='train.jsonl', inflect=True)
    """


class WithPerturbation(Options):
    """A verb that takes `Perturbation`."""

    perturbation: Perturbation | None = whole(default=None, of="Perturbation")


class ShiftOptions(
    Training, Turns, Constants, Tasks, Typed, WithRun, WithInference, WithPerturbation
):
    """What `shift` is asked."""

    data: str | Path = argument(
        kw_only=False,
        path="read",
        help="A folder of images, or an NPZ file with an array of them; JSON lines or a table with a text in each row, "
        "JSON lines with the turns of dialogues, plain or packed.",
        doc="A folder of images, read and written a few at a time; or an NPZ file with an array of uint8 images, whose "
        "other arrays are carried along. Or JSON lines or a table (CSV, TSV) with a text in each row, plain or packed "
        "(.gz, .xz, .bz2). Other columns are carried along; ``source_row`` is added, the number of the text among "
        "those that were read. Or dialogues as JSON lines, each with a list of turns: texts, or objects with a text in "
        "``content``, ``text``, ``utterance`` or ``value``. Where they stand in ``context`` (or ``history``) they are "
        "what was said before a reply, and are shifted as they are. Else each turn but the first becomes a reply once, "
        "as in the paper, and of a chat with roles each turn of the assistant: a row has ``context``, ``response`` and "
        "``turn``.",
    )
    out: str | Path = option(
        default=MISSING,
        path="folder",
        metavar="OUT",
        help="An empty or new folder for images, a new file of the same form for texts or an NPZ file; several copies "
        "go into an empty or new folder as <kind>-<severity>.",
    )
    kind: str | Sequence[str] = option(
        default=(),
        help="Kind of shift, such as fog, typing-errors or insufficient-context, or with severities: casing=0.1,0.3; "
        "may be repeated; all: the fifteen of CIFAR-10-C, extra: its four others; words: unknown-words and "
        "known-words.",
        doc='What shift: of images one of ``oodometer_lab.shifts.IMAGE_SHIFTS`` or "all" of them, one of '
        '``EXTRA_IMAGE_SHIFTS`` or "extra", all of these; of texts one of ``TEXT_SHIFTS``, '
        '"words" (unknown and known ones), of dialogues also of ``DIALOGUE_SHIFTS``; ``"casing=0.1,0.3"`` has '
        "severities of its own; several give one copy for each severity.",
    )
    severity: float | str | Sequence[float | str] = option(
        default=(),
        check=anything,
        many=True,
        parse=list,  # each shift says which severities it has
        help="For kinds without their own: 1 to 5 of images and important-words; a share of the words or turns (0.2, "
        "1/6), or a number of turns; may be repeated; by default those of the paper.",
        doc="How strong, where a kind has no severities of its own; by default all that its paper has. Of images 1 to "
        "5; of texts as a rule the share of words, above 0 and at most 1, of dialogues also of turns, such as 0.2 or "
        "1/6; a number of turns (``short-context``); a fifth from 1 to 5 (``important-words``). Several give one copy "
        "for each kind.",
    )
    seed: int = option(
        default=0,
        help="Seed of the draws.",
        doc="Of the draws; those of an image or a text depend on the seed, the kind and its number alone.",
    )
    modality: str | None = option(
        default=None,
        flag="",
        check=one_of("image", "text", "dialogue"),
        help="What the data are: image, text or dialogue; by default as the kind says, else dialogues where the rows "
        "have a list of turns.",
    )
    column: str | None = option(
        default=None,
        group=_TEXTS,
        help="Where the text or the turns stand; by default text, sentence, review, or turns, context.",
        doc="Where the text is, by default ``text``, ``sentence``, ``review``, ``content`` or ``input``; or the turns, "
        "by default ``turns``, ``context``, ``dialog``, ``dialogue``, ``utterances`` or ``history``.",
    )
    where: str | Sequence[str] = option(
        default=(), group=_TEXTS, help="Only rows with COLUMN=VALUE; may be repeated."
    )
    on_error: str = option(
        default="refuse",
        check=one_of("refuse", "skip"),
        group=_IMAGES,
        rare=True,
        help="Images that do not decode: refuse, or skip and count them.",
    )
    layout: str | None = option(
        default=None,
        group=_IMAGES,
        rare=True,
        check=one_of("cifar-10-c", "imagenet-c"),
        help="Lay copies out as the published sets do: cifar-10-c, of an NPZ file (<kind>.npy, severities 1 to 5 one "
        "after another, beside labels.npy), or imagenet-c, of a folder (<kind>/<severity>/).",
    )
    input: str | None = option(
        default=None,
        group=_IMAGES,
        rare=True,
        help="Name of the array of images in an NPZ file.",
        doc="Name of the array of images in an NPZ file; by default ``image``, ``img``, ``images``, ``x`` or ``X``.",
    )


class PredictOptions(Tokens, Drawn, Models, Tasks, WithColumns, WithRun, WithInference, WithAsking):
    """What `predict` is asked."""

    apart = frozenset({"features"})  # of the model

    model: Any = argument(
        kw_only=False,
        path="read",
        help="A Hugging Face classifier of texts or images (folder or hub name), the folder of a sequence model, a "
        "model saved by oodometer, an .onnx file, or package.module:name of a fitted estimator, a torch module or a "
        "function. Without DATA: a log of lm-evaluation-harness (samples_*.jsonl) or inspect (.eval, .json), or a "
        "folder of them.",
        doc="A Hugging Face classifier of texts or images (folder or hub name), the folder of an encoder-decoder (its "
        "best outputs are written, with their probability), a model that oodometer saved, an ONNX file, "
        "``package.module:name`` of a fitted estimator, a torch module or a function, or such an object. Without data: "
        "a log of lm-evaluation-harness (``samples_*.jsonl``) or inspect (``.eval``, ``.json``), or several, or a "
        "folder.",
    )
    data: Any = argument(
        kw_only=False,
        default=None,
        path="read",
        help="CSV, JSONL, Parquet, Arrow or NPZ; a folder of images; a data set's folder, or hf:NAME:SPLIT. For a "
        "ranker dialogues: turns, or a context with candidates or a response.",
        doc="A CSV, JSONL, Parquet or Arrow file, a frame, a Hugging Face data set (also ``hf:NAME:SPLIT``), a folder "
        "of images, an NPZ file, or a `Dataset`. Of a ranker: rows with ``context`` and ``candidates`` (and ``label``, "
        "the position of the right one) or ``response``; or with ``turns``, of which each but the first is a response.",
    )
    out: str | Path | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write the predictions to this file.",
        doc="The predictions file to write; None keeps the record in memory (``found.record``).",
    )
    inputs: str | Sequence[str] | None = option(
        default=None,
        flag="--input",
        help="Column that the model reads; twice for pairs of texts, again for a table.",
    )
    label: str | None = option(default=None, help="Column of the truth; by default label.")
    id: str | None = option(default=None, help="Column that names the rows; by default id.")
    keep: str | Sequence[str] | None = option(
        default=None, flag="", help="Further columns to carry along."
    )
    keep_input: bool = option(default=False, rare=True, help="Keep the texts as input.")
    unlabelled: bool = option(
        default=False,
        help="Leave labels out: subfolders of images are no classes, or the column is of something else.",
    )
    members: Sequence[Any] = option(
        default=(),
        flag="--member",
        check=several_or_none,
        path="read",
        help="A further model of the same classes, for agreement; may be repeated.",
    )
    average: bool = option(
        default=False, flag="", help="Whether to take the mean of all models, else the first."
    )
    features: bool = option(default=False, help="Write what the last linear layer reads.")
    views: int = option(default=0, help="Augmented copies of each input to ask.")
    seed: int = option(default=0, rare=True, help="Seed of views, dropout and candidates.")
    augmentation: str = option(
        default="shift",
        check=one_of("shift", "randaugment", "randaugment-published"),
        help="How the copies are made: shift (images mirrored and moved, texts with words left out; the default); of "
        "images also randaugment, or randaugment-published, the policy of the code of Trivedi et al. (2023).",
    )
    on_error: str = option(
        default="refuse",
        check=one_of("refuse", "skip"),
        rare=True,
        help="Images that do not decode: refuse, or skip and count them.",
    )
    batch_rows: int = option(
        default=4096, flag="", help="Rows that are read and asked at once; they bound the memory."
    )
    replies: Any = option(
        default=None,
        flag="",
        help="The data whose responses these are drawn from, by default the same (of a shifted copy its source, so "
        "that both have the same).",
    )
    metric: str | None = option(
        default=None,
        help="Of a log: the metric or scorer that says what is right; f1>=0.5 for a score.",
    )
    filter: str | None = option(
        default=None, rare=True, help="Of a log of lm-evaluation-harness: the filter."
    )


class StressOptions(
    Training,
    Turns,
    Constants,
    Tokens,
    Drawn,
    Models,
    Level,
    Tasks,
    Typed,
    Grouped,
    WithAsking,
    WithPerturbation,
):
    """What `stress` is asked."""

    unsaid = frozenset({"max_length", "dropout", "device"})

    data: str | Path = argument(
        kw_only=False,
        path="read",
        help="Labelled texts (JSONL, CSV, TSV), images (a folder with a subfolder for each class, or NPZ), or for a "
        "ranker dialogues (JSONL: turns, or a context with a response or candidates); texts plain or packed.",
        doc="Labelled texts (JSON lines, CSV, TSV) for classifiers of texts; a folder of images, whose subfolders are "
        "the labels, or an NPZ file for classifiers of images; for rankers dialogues (JSON lines): "
        "``turns``, of which each but the first is a response once, or a ``context`` with a ``response``, or with "
        "``candidates`` and the position of the right one. Plain or packed (.gz, .xz, .bz2).",
    )
    models: Any = argument(
        kw_only=False,
        flag="--model",
        many=True,
        path="read",
        metavar="MODEL",
        help="What `predict` takes, or NAME=MODEL; may be repeated. Models of one NAME are runs of one model: the "
        "spread over them is the band.",
        doc="What `predict` takes, one or a list of them; or name -> model, or name -> list of runs: models that were "
        "trained alike with several seeds, whose curves become one with a spread.",
    )
    out: str | Path = option(
        default=MISSING,
        path="folder",
        metavar="OUT",
        help="A folder, new or of the same job: predictions, stress.json, .csv, report.html.",
        doc="A folder, new or of the same job: predictions of each model at each severity, ``stress.json``, "
        "``stress.csv``. What is finished in it is kept.",
    )
    kind: str | Sequence[str] = option(
        default=(),
        help="Kind of shift, such as casing, or with severities: casing=0.1,0.3; may be repeated; all, extra: images.",
        doc='What shifts, of ``oodometer_lab.shifts.TEXT_SHIFTS``, ``DIALOGUE_SHIFTS`` or ``IMAGE_SHIFTS`` ("all"); '
        '``"casing=0.1,0.3"`` has severities of its own. Without a kind: synonyms where there are training texts; else '
        "typing errors and casing; of dialogues contexts that are cut; of images one each of noise, blur, weather and "
        "digital faults.",
    )
    severity: float | str | Sequence[float | str] = option(
        default=(),
        check=anything,
        many=True,
        parse=list,  # each shift says which severities it has
        help="For kinds without their own; may be repeated; by default those of the paper.",
    )
    label: str | None = option(
        default=None,
        help="Column of the truth; by default label.",
        doc="Column of the truth, by default ``label``. Without labels in the data there are only estimates, and a "
        "labelled ``reference`` is needed.",
    )
    column: str | None = option(
        default=None, group=_TEXTS, rare=True, help="Where the text or the turns stand."
    )
    where: str | Sequence[str] = option(
        default=(), group=_TEXTS, rare=True, help="Only rows with COLUMN=VALUE; may be repeated."
    )
    reference: str | Path | None = option(
        default=None,
        path="read",
        metavar="FILE",
        help="Labelled rows for the estimates; by default a half of DATA.",
        doc="Labelled rows of the same form, which are not shifted and on which the estimates rest. By default a half "
        "of the data, drawn by the seed with conversations whole; the other half is shifted.",
    )
    reference_where: str | Sequence[str] = option(
        default=(), flag="", help="Only reference rows with COLUMN=VALUE."
    )
    rows: int | None = option(
        default=None, rare=True, help="Only so many rows of DATA, drawn by the seed."
    )
    repeats: int = option(
        default=1,
        rare=True,
        help="Draws of each shift; their spread is the band.",
        doc="Draws of each shift, of seeds ``seed``, ``seed + 1``, ...; the spread of the numbers stands beside their "
        "intervals.",
    )
    seed: int = option(
        default=0, rare=True, help="Seed of halves, rows, candidates, draws and bootstraps."
    )


class CollectPairsOptions(Renaming, Device, Tasks):
    """What `discriminate collect` is asked."""

    checkpoints: Any = argument(
        kw_only=False,
        path="read",
        metavar="CHECKPOINT...",
        many=True,
        help="Folders of a sequence model in the order of its training, of transformers or saved by oodometer; or a "
        "folder that holds them as checkpoint-N or step-N, of which the first 5 are asked.",
        doc="Folders of an encoder-decoder in the order of its training: of transformers (``save_pretrained``) or "
        "saved by `EncoderDecoder`. A folder that holds such as ``checkpoint-N`` or ``step-N`` stands for the first 5.",
    )
    examples: Any = argument(
        kw_only=False,
        flag="--examples",
        path="read",
        metavar="FILE",
        help="The model's training examples: rows of input and gold.",
        doc="The training examples of the model: a file, frame or mapping with ``input`` and ``gold``.",
    )
    out: str | Path | None = argument(
        kw_only=False,
        default=None,
        flag="--out",
        path="written",
        metavar="FILE",
        help="Write the pairs to this file, for `discriminate train`.",
        doc="File for the pairs, rows of ``input``, ``output``, ``correct`` and ``origin``; None keeps them in memory. "
        "Interrupted, the beams of the checkpoints that are done are kept beside it.",
    )
    first: int | None = option(
        default=None, help="Ask the first N checkpoints alone; by default all that are named."
    )
    beams: int = option(default=4, help="Width of the beam search.")
    per_input: int = option(
        default=1,
        flag="",
        help="Most mistakes of one input and checkpoint, drawn among its wrong beams.",
    )
    rows: int | None = option(
        default=None, help="Ask each checkpoint about so many examples, drawn by the seed."
    )
    balance: float = option(
        default=1.0, flag="", help="Most wrong pairs for each right one, 0 for all."
    )
    max_length: int | None = option(
        default=None, flag="", help="Tokens of an input that are read; 512 by default."
    )
    max_output_length: int | None = option(
        default=None,
        rare=True,
        help="Tokens of an output that are written, at most; 512 by default. Early checkpoints may not stop before.",
    )
    seed: int = option(default=0, help="Seed of all draws.")


class TrainOptions(Renaming, Device, Tasks):
    """What `discriminate train` is asked."""

    pairs: Any = argument(
        kw_only=False,
        path="read",
        metavar="PAIRS...",
        many=True,
        help="Rows of input, output and gold (or correct), one file or several; - is standard input.",
        doc="One or several files, frames, mappings of arrays or records with ``input``, ``output`` and ``gold`` (or "
        "``correct``). A row without an output is a right pair of its gold one.",
    )
    out: str | Path = argument(
        kw_only=False,
        flag="--out",
        path="folder",
        metavar="FOLDER",
        help="Folder for the judges.",
        doc="Folder for the judges; a new one, or one of the very same training, which is then kept. While it lasts "
        "the training lies beside it (``OUT.training``), and an interrupted one goes on from there.",
    )
    dev: Any = option(
        default=None,
        path="read",
        metavar="FILE",
        help="Labelled outputs of the model as it is now, held out; the judges' thresholds are set on them. By default "
        "a tenth of the inputs of PAIRS, and thresholds of 0.5.",
        doc="Rows, as ``pairs``, that choose the best weights and show how good the judges are: labelled outputs of "
        "the model as it is now. The judges' thresholds are set on their outputs, too (see `fit_thresholds`). None: a "
        "tenth of the inputs of ``pairs``, drawn by the seed, with all their rows, and thresholds of 0.5.",
    )
    judges: int = option(
        default=5,
        help="How many judges.",
        doc="How many, which differ in their first weights and in the order of the data.",
    )
    kind: str = option(
        default="encoder",
        help="encoder (cheap), encoder-decoder (answers Correct or Incorrect), or likelihood (a model of its own, "
        "trained on gold: how probable it finds an output; with --dev FILE, PAIRS need no outputs).",
        doc='"encoder" (a classifier of pairs), "encoder-decoder" (answers Correct or Incorrect, as in the paper), or '
        '"likelihood" (a model of its own, trained on the right pairs, that says how probable it finds an output; '
        "with ``dev``, which gives it a threshold, ``pairs`` need no outputs).",
    )
    source: str | None = option(
        default=None,
        help="Pretrained model, a name on the hub or a path; by default a small one from scratch.",
    )
    config: Mapping[str, Any] | None = option(
        default=None, flag="", help="Sizes of a model from scratch."
    )
    head: str | None = option(
        default=None,
        flag="",
        help='What an encoder\'s verdict is read from: "tokens", every token of the output, which small encoders learn '
        'better; or "mark", the mark before the pair. By default tokens from scratch, mark for a ``source``.',
    )
    pretraining: int = option(
        default=0,
        flag="",
        help="Passes over the right pairs in which an encoder from scratch learns to fill gaps, before all judges "
        "start from it; 0 for none. See `pretrain`.",
    )
    epochs: int | None = option(default=None, help="Passes over the pairs.")
    batch_size: int | None = option(default=None, flag="", help="Pairs a step.")
    learning_rate: float | None = option(
        default=None, flag="", help="Of the training; None for what suits the model."
    )
    max_length: int = option(
        default=512, rare=True, help="Tokens of a pair that are read; longer ones are cut."
    )
    balance: float = option(
        default=1.0, flag="", help="Most wrong pairs for each right one, 0 for all."
    )
    augment: int = option(
        default=0,
        rare=True,
        help="Copies of each pair to learn from, their inputs in another form (a comma more, lower case, quotes), so "
        "that judges fail less where the form is a new one.",
        doc="Copies of each pair to learn from whose inputs are in another form (see `reformatted`); held-out pairs "
        "stay as they are.",
    )
    metric: str = option(
        default="exact", help="exact (right or wrong), or a metric to predict: token-f1 or bleu."
    )
    all_judges: bool = option(
        default=False,
        flag="",
        help="Whether to train the others where the first judge is no better than a coin on the held-out pairs; by "
        "default the training ends there, and goes on from there when it is asked for all.",
    )
    level: float = option(default=0.95, flag="", help="Nominal coverage of the intervals.")
    seed: int = option(
        default=0, help="Seed of the judges, of the held-out inputs and of all draws."
    )


class JudgeOptions(Renaming, Device, Level, Watched):
    """What `discriminate predict` is asked."""

    judges: Panel | str | Path | Sequence[str | Path] | None = argument(
        kw_only=False,
        flag="",
        check=judges_or_folder,
        help="The folder that `train_judges` wrote, several of them (judges of different kinds that vote together), or "
        "a `Panel`; None where ``existing`` ones are enough, or where the rows hold columns ``p_correct_<judge>`` from "
        "an earlier call: then nobody is asked.",
    )
    outputs: Any = argument(
        kw_only=False,
        flag="",
        help="File, frame, mapping of arrays or record with ``input`` and ``output``; ``gold`` or ``correct`` where "
        "known. An output that is empty or null is judged Incorrect without asking. Votes that the rows have already "
        "count as further judges, unless they are of judges of the same names, which are asked anew.",
    )
    out: str | Path | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write the rows with their votes to this file; of several OUTPUTS into this folder.",
        doc="File for the rows with their votes and P(Correct) by each judge, all other columns kept: .jsonl, .csv, "
        ".parquet, .arrow or .npz. Interrupted, the answers of the judges that are done are kept beside it.",
    )
    agree: int | None = option(
        default=None, help="Judges that must accept, a majority; all by default."
    )
    calibrate: Any = option(
        default=None,
        path="read",
        metavar="FILE",
        help="Labelled outputs of the same model (gold or correct): each judge accepts as often as they are right.",
        doc="Rows as ``outputs``, of the same model, with ``gold`` or ``correct``: each judge then accepts outputs "
        "from the P(Correct) on from which it accepts as many of these as are right (see `fit_thresholds`). By "
        "default the thresholds that the folder keeps (``dev`` of `train_judges`), else 0.5, as in the paper.",
    )
    threshold: float | None = option(
        default=None,
        help="Accept from this P(Correct) on; the paper's is 0.5, and the default without labelled outputs.",
        doc="One number for all judges in their place; 0.5 is the paper's.",
    )
    with_confidence: bool = option(
        default=False,
        help="The rows' own confidence votes as well; its threshold is calibrated.",
        doc="Whether the rows' own confidence votes as well, from the threshold on that ``calibrate`` gives it (ATC): "
        "a judge of another kind, which fails on other rows.",
    )
    pseudo_labels: str | Path | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write accepted rows as input and gold to this file, to train a model on.",
        doc="File for (input, gold) rows, gold being the outputs that ``agree`` judges accept, to train a model on.",
    )
    existing: Sequence[str] = option(
        default=(),
        flag="--judge",
        help="A Hugging Face classifier as a further judge, by name or path; may be repeated.",
    )
    judge_labels: Sequence[str] = option(
        default=(),
        flag="--judge-label",
        rare=True,
        help="Its label that means Correct; once for all, or once for each judge.",
    )
    max_length: int = option(
        default=512, flag="", help="Tokens of a pair that the ``existing`` ones read."
    )
    seed: int = option(default=0, flag="", help="Seed of draws for intervals.")


class ReproduceOptions(Options):
    """What `reproduce` is asked."""

    paper: str = argument(kw_only=False, help="Name of the paper, such as selective-answering.")
    scale: str = option(
        default="small",
        help="small (two cores, half an hour a task), tiny (a look in five minutes) or paper (a GPU, its models).",
    )
    out: str | Path | None = option(
        default=None,
        path="folder",
        metavar="FOLDER",
        help="Folder for all files; by default reproduce/PAPER-SCALE.",
    )
    only: Sequence[str] = option(
        default=(),
        help="Only this model; may be repeated.",
        doc="Names of the models to work on, by default all.",
    )
    tasks: Sequence[str] = option(
        default=(),
        flag="--task",
        help="Only this task of a paper that has tasks, such as cogs; may be repeated.",
    )
    engine: str | Engine | None = option(
        default=None,
        help="Where steps run as tasks of one thread each: processes, ray or spark, with an address ray:HOST:PORT, "
        "spark:spark://HOST:PORT; local: here, one after another. All workers must see the folder. By default no "
        "tasks: processes of this machine.",
    )
    workers: int | None = option(
        default=None,
        help="Processes that do steps side by side, for a paper whose steps can be, or tasks at a time; by default one "
        "for each core.",
    )
    report: Callable[[str, float], None] | None = option(
        default=None,
        flag="",
        check=check_of("report", "Report"),
        help="Called with what is being done and the share of the work that is behind.",
    )


class BenchmarkOptions(Watched, Typed):
    """What `benchmark` is asked."""

    estimators: Any = argument(
        kw_only=False,
        many=True,
        metavar="ESTIMATOR",
        help="module:Name of a class that derives from Estimator, or of a function of reference, target and level (a "
        "ranker: of targets, labels and references); the module lies in this folder or is installed. Or the name of "
        "an estimator of a plugin. Several may be given.",
        doc="A class that derives from `oodometer.estimators.Estimator`, a function ``(reference, target, level) -> "
        "(value, lower, upper)``, ``module:name`` of one, the name of a registered one, or a list of these.",
    )
    kinds: Sequence[str] = option(
        default=(),
        flag="--kind",
        help="Only this kind of shift: time, place, people or none; may be repeated.",
        doc='Kinds of shift: "time", "place", "people" or "none"; by default all.',
    )
    run_folder: str | Path | None = option(
        default=None,
        path="folder",
        metavar="FOLDER",
        help="Keep finished cases here: a run that was stopped goes on, as long as the estimator's file is the same.",
    )
