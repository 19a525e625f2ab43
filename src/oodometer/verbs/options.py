"""Options of the verbs, each declared once (see `oodometer.options`); no numpy is loaded here, as ``-h`` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..options import (
    CHECKS,
    Check,
    Group,
    Options,
    argument,
    check_of,
    is_whole,
    need,
    one_of,
    option,
    texts,
    whole,
)

if TYPE_CHECKING:
    from ..engines import Engine
    from ..headline.natural_shifts import NaturalShifts
    from ..results.backtest import Backtest

_ROWS = "Rows and columns"
_WHAT = "What is worked out"
_ALARMS = "Alarms and past runs"
_RUN = "Where it runs"
_MODEL = "Model"


def parse_mapping(pairs: Sequence[str]) -> dict[str, str] | None:
    """``theirs=ours`` pairs as a mapping; `UsageError` for anything else."""
    out = {}
    for pair in pairs:
        theirs, equals, ours = pair.partition("=")
        if not (theirs and equals and ours):
            raise UsageError(f"expected --map theirs=ours, got {pair!r}")
        out[theirs] = ours
    return out or None


def parse_classes(text: str) -> list[int | str]:
    """``a,b,c`` as class names; whole numbers become integers when all are."""
    names = [part.strip() for part in text.split(",")]
    if all(name.lstrip("-").isdigit() for name in names):
        return [int(name) for name in names]
    return list(names)


def parse_bounds(texts: Sequence[str], option: str) -> dict[str, float] | None:
    """Bounds of metrics, ``0.93`` of the accuracy or ``f1=0.8``; `UsageError` for anything else."""
    out: dict[str, float] = {}
    for text in texts:
        metric, equals, number = text.rpartition("=")
        name = metric.strip() if equals else "accuracy"
        try:
            bound = float(number)
        except ValueError:
            bound = float("nan")
        if not name or bound != bound:
            raise UsageError(
                f"expected {option} NUMBER or METRIC=NUMBER, such as 0.93 or f1=0.8, got {text!r}"
            )
        if name in out:
            raise UsageError(f"{option} is given twice for {name}; leave one out")
        out[name] = bound
    return out or None


def _metric_names(name: str, value: Any) -> list[str]:
    from ..estimators.expected_classes import metric_name

    return [metric_name(text) for text in texts(name, value)]


def _prior(name: str, value: Any) -> Any:
    return value if hasattr(value, "gate") else check_of(name, "str | Path")(name, value)


def _backtest(name: str, value: Any) -> Any:
    """As the check of that name; no folder is made for "none"."""
    return None if isinstance(value, str) and value == "none" else CHECKS["backtest"](name, value)


_SHAPES = (
    "shape (n, K), columns in the order of the sorted classes (as those of scikit-learn's `predict_proba`) or of "
    "``classes``; shape (n,), of the second of two classes; or a frame with a column for each class."
)


class Known(Options):
    """What is known."""

    reference: Any = argument(
        kw_only=False,
        path="read",
        help="Predictions with true labels, the reference (- is standard input).",
        doc="Predictions with true labels (the reference): a file, frame, dict of arrays, `Predictions`, or a list of "
        "them; or labels alone, shape (n,), and their probabilities behind them. Or what was learnt from a reference "
        "before, an `Oodometer` or its file: the options of that fit hold then.",
    )


class Reference(Known):
    """What is known, which may be the first of several arrays."""

    def __post_init__(self) -> None:
        super().__post_init__()
        from ..vectors import by_place

        for name, value in by_place(self).items():
            object.__setattr__(self, name, value)


class Target(Options):
    """What is asked about."""

    target: Any = argument(
        kw_only=False,
        path="read",
        help="Predictions of the same model on the data in question.",
        doc="Predictions of the same model on the data in question; labels in it feed no method.",
    )


class LabelsAndP(Reference):
    """What is known, as a table or as labels and probabilities."""

    p: Any = argument(
        kw_only=False,
        default=None,
        flag="",
        help="Probabilities, where the first is labels: " + _SHAPES,
    )


class Pair(Target, Reference):
    """What is known, and what is asked about, as tables or as labels, probabilities and those of the target."""

    p_target: Any = argument(
        kw_only=False,
        default=None,
        flag="",
        help="Given as arrays, ``(y, p, p_target)``, the first is labels, shape (n,), the second their probabilities, "
        "the third those of the target: " + _SHAPES,
    )


class Where(Options):
    """Which rows are read."""

    where: str | Sequence[str] | None = option(
        default=None,
        group=_ROWS,
        metavar="CONDITION",
        many=True,
        noted=True,
        help='Only rows with "day >= 2026-11-01"; may be repeated.',
        doc='Conditions on rows of the target, such as ``"day >= 2026-11-01"`` or ``["site in (a, b)", "confidence < '
        '0.9"]``: only rows for which all hold are read. Columns are fields, your own, and those that folders name; '
        "signs are = != < <= > >= and in. No condition holds of an empty cell. Labels are joined by a column then. "
        "Without a target they are conditions on rows of the labelled data.",
    )


class Clock(Options):
    """Whose clock times are of."""

    timezone: str | None = option(
        default=None,
        group=_ROWS,
        place="read",
        metavar="ZONE",
        noted=True,
        rare=True,
        help="Whose clock calendars, --where and times without an offset follow: Europe/Berlin; by default UTC.",
        doc="Time zone of the calendars of ``every``, of times in ``where`` and of times in the data without an offset "
        'or zone, such as ``"Europe/Berlin"``; by default UTC. Times with an offset or zone are converted.',
    )


class Renaming(Options):
    """What columns are called."""

    mapping: Mapping[str, str] | None = option(
        default=None,
        group=_ROWS,
        place="read",
        many=True,
        parse=parse_mapping,
        flag="--map --mapping",
        metavar="THEIRS=OURS",
        help="Read a column as ours: label, prediction, time, ...; labels:THEIRS=OURS of the file of labels alone.",
        doc='Columns to rename in any of the files, {theirs: ours}; ``{"labels:theirs": ours}`` in the labels alone, '
        "and likewise ``reference:``, ``target:``, ``predictions:``, and ``a:`` and ``b:`` of two that are compared.",
    )


class Reading(Renaming):
    """How files are read."""

    classes: Sequence[int | str] | None = option(
        default=None,
        group=_ROWS,
        place="read",
        many=False,
        parse=parse_classes,
        rare=True,
        help="Class names in the order of the probabilities: a,b,c.",
    )
    positive: str | None = option(
        default=None,
        group=_ROWS,
        place="read",
        metavar="COLUMN",
        help="Probability of class 1; COLUMN=CLASS of another one.",
        doc='Column with a binary model\'s probability of class 1; ``"COLUMN=CLASS"`` where the class has another '
        'name, or ``"=CLASS"`` alone. Precision, recall, F1 and the like are of this class; by default of the one '
        "that a lone column is about, else of the second by name.",
    )
    threshold: float | None = option(
        default=None,
        group=_ROWS,
        place="read",
        rare=True,
        noted=True,
        help="A binary model decides for its positive class from this probability on, such as 0.6.",
        doc="From which probability on a binary model decides for its positive class: the one that its lone column is "
        "about, else the second by name. Where there is a `prediction`, that is the decision.",
    )


class Features(Options):
    """Inputs of the model."""

    features: str | Sequence[str] | None = option(
        default=None,
        group=_ROWS,
        place="read",
        metavar="COLUMNS",
        many=False,
        help="Inputs of the model, a,b,c; auto: all that can be.",
        doc='Columns of your own that are the model\'s inputs, the same in both files: names, or "auto" for all that '
        "can be. Numbers, categories, texts (by their length) and empty cells become `features`, by an encoding that "
        "is learnt on the reference; methods that compare inputs use them, and the diagnosis says which moved.",
    )


class Watched(Options):
    """Who hears how far the work came."""

    progress: Callable[[int, int], None] | None = option(
        default=None,
        flag="",
        help="Called with (done, in all), 0 in all where that is not known yet.",
    )


class Kept(Options):
    """What is kept of the work."""

    run_folder: str | Path | None = option(
        default=None,
        group=_RUN,
        path="folder",
        metavar="FOLDER",
        rare=True,
        help="Keep finished parts here: a run that was killed goes on, and of a folder that has grown only new files "
        "are read.",
    )


class WithColumns(Options):
    """A verb that takes `Columns`."""

    columns: Columns | None = whole(default=None, of="Columns")


class WithRun(Options):
    """A verb that takes `Run`."""

    run: Run | None = whole(default=None, of="Run")


class WithAlarms(Options):
    """A verb that takes `Alarms`."""

    alarms: Alarms | None = whole(default=None, of="Alarms")


class WithInference(Options):
    """A verb that takes `Inference`."""

    inference: Inference | None = whole(default=None, of="Inference")


class WithAsking(Options):
    """A verb that takes `Asking`."""

    asking: Asking | None = whole(default=None, of="Asking")


class Grouped(WithColumns, WithRun, WithInference):
    """A verb that takes what all of them do."""


class Running(Kept, Watched):
    """Where the work is done, and what is kept of it."""

    engine: str | Engine = option(
        default="local",
        group=_RUN,
        rare=True,
        help="Where the passes run: local (threads), processes, ray or spark; an address follows a colon: "
        "ray:HOST:PORT, spark:spark://HOST:PORT.",
    )
    workers: int | None = option(
        default=None, group=_RUN, rare=True, help="Number of workers; by default one for each core."
    )


class Level(Options):
    """How wide intervals are."""

    level: float = option(
        default=0.95,
        group=_WHAT,
        place="fit",
        rare=True,
        noted=True,
        help="Nominal coverage of the intervals.",
    )


class Methods(Options):
    """Which methods take part."""

    methods: Sequence[str] | None = option(
        default=None,
        group=_WHAT,
        place="fit",
        flag="--method",
        rare=True,
        noted=True,
        help="Only this method; may be repeated.",
        doc="Names as in ``oodometer methods``; by default all that apply.",
    )


def parse_scale(text: str) -> tuple[float, float]:
    """``LOW,HIGH`` as two numbers; `UsageError` for anything else."""
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"expected --scale LOW,HIGH, such as 1,5, got {text!r}") from None
    return low, high


def _scale(name: str, value: Any) -> tuple[float, float] | None:
    """The lowest and the highest score, finite and in this order."""
    if value is None:
        return None
    try:
        low, high = parse_scale(value) if isinstance(value, str) else map(float, value)
    except (TypeError, ValueError):
        raise UsageError(f"expected {name} (low, high), such as (1, 5), got {value!r}") from None
    if not -float("inf") < low < high < float("inf"):
        raise UsageError(f"expected {name} LOW,HIGH, the lowest score first, got {low:g},{high:g}")
    return low, high


class Scale(Options):
    """Between which numbers scores lie."""

    scale: Sequence[float] | None = option(
        default=None,
        group=_WHAT,
        metavar="LOW,HIGH",
        rare=True,
        many=False,
        parse=parse_scale,
        check=_scale,
        help="Lowest and highest score that is possible, 1,5; by default 0,1 where all scores lie there, else as seen.",
        doc="Lowest and highest possible `score`, such as ``(1, 5)``; the interval of a mean rests on it. By default 0 "
        "to 1 where all scores lie there, else the lowest and the highest that occur.",
    )

    @property
    def ends_of_scale(self) -> tuple[float, float] | None:
        """Both ends of the scale, where it was named."""
        return None if self.scale is None else (self.scale[0], self.scale[1])


class Cluster(Options):
    """Which rows depend on each other."""

    cluster: str | None = option(
        default=None,
        group=_ROWS,
        place="fit",
        metavar="COLUMN",
        rare=True,
        help="Rows with one value in this column depend on each other (questions of a passage, repeats of a prompt): "
        "intervals are those of clusters. By itself where ids repeat.",
    )


class Weight(Options):
    """What each row stands for."""

    weight: str | None = option(
        default=None,
        group=_ROWS,
        metavar="COLUMN",
        rare=True,
        help="Sampling weight of each row, from 0 on (inverse chance of being drawn; scikit-learn's sample_weight): "
        "numbers are those of the population that the weights stand for.",
    )


_text_of_key = need(
    "a column, or a mapping of the target's to that of the labels", lambda key: isinstance(key, str)
)


def _key(name: str, value: Any) -> str:
    """A key as the command line has it; a mapping of one column of the target to that of the labels is one, too."""
    if isinstance(value, Mapping) and len(value) == 1:
        value = "=".join(map(str, *value.items()))
    return str(_text_of_key(name, value))


class Key(Options):
    """How labels are joined."""

    key: Any = option(
        default=None,
        group=_ROWS,
        metavar="COLUMN",
        rare=True,
        check=_key,
        help="Join the labels by this column of both files, by default id, where both have it; TARGET=LABELS where "
        "they call it differently.",
        doc="Column of both files to join the labels by, by default `id`, where both have it; "
        '``"account=acct_no"`` or ``{"account": "acct_no"}`` where the labels call it differently.',
    )


class Truth(Key):
    """Labels of labelled data in a file of their own."""

    labels: Any = option(
        default=None,
        group=_ROWS,
        path="read",
        metavar="FILE",
        rare=True,
        help="Truth of the rows in a file of its own (null or left out where unknown); joined by id or --key, by a "
        "column row that counts from 0, or one for each row.",
        doc="Truth of the rows apart from them (a file, a frame, a dict, an array, a list, a Series; null or left out "
        "where unknown); joined by id or ``key``, by a column row that counts from 0, or one for each row.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        from ..vectors import given_labels

        object.__setattr__(self, "labels", given_labels(self.labels, None, self.key)[0])


class Payoff(Options):
    """What a row brings."""

    payoff: Any = option(
        default=None,
        group=_WHAT,
        path="read",
        metavar="FILE|JSON",
        rare=True,
        help="Pay-off of each true (row) and predicted class (column), costs below 0: a .json or .csv file, or JSON.",
        doc="What a row of each true class brings for each predicted one, {truth: {prediction: value}}, costs below "
        "0; or a .json or .csv file with such a table. Gives the metric ``expected_value``.",
    )


class IntervalSeed(Options):
    """Seed of what is drawn for intervals."""

    seed: int = option(
        default=0,
        group=_RUN,
        place="fit",
        rare=True,
        noted=True,
        help="Seed of the bootstrap in some intervals.",
    )


class Weighed(Options):
    """How what is learnt becomes one number."""

    target_accuracies: Sequence[float] = option(
        default=(0.95,),
        group=_WHAT,
        place="fit",
        flag="--target-accuracy",
        rare=True,
        help="Find the threshold for this accuracy; may be repeated.",
        doc="Accuracies for which the operating threshold is looked up on the label-free risk-coverage curve.",
    )
    calibrator: str = option(
        default="auto",
        group=_WHAT,
        place="fit",
        rare=True,
        noted=True,
        help="auto, none, temperature, isotonic or histogram.",
        doc='"auto" (temperature, where cross-validation on the reference says that it helps), "none", or a name.',
    )
    backtest: str | Path | Backtest | None = option(
        default="auto",
        group=_WHAT,
        check=_backtest,
        rare=True,
        help="What the headline is weighed by: auto (a quick backtest, kept in the cache), none, or a folder that "
        "keeps backtests.",
        doc='What the headline is weighed by: "auto" (a quick backtest on the reference, kept in the user\'s cache '
        'folder and reused), a folder to keep it in, a result of `oodometer.backtest`, or None or "none" for no '
        "backtest.",
    )
    diagnosis: bool = option(
        default=True,
        flag="",
        place="fit",
        help="Whether to look at the kind of shift; without it there is no backtest either, only the methods "
        "themselves.",
    )
    prior: str | Path | NaturalShifts | None = option(
        default=None,
        group=_WHAT,
        path="read",
        check=_prior,
        metavar="FILE",
        rare=True,
        help="Another prior of natural shifts than the packaged one.",
    )


class Metrics(Options):
    """What is estimated besides the accuracy."""

    metrics: Sequence[str] = option(
        default=(),
        group=_WHAT,
        place="fit",
        check=_metric_names,
        flag="--metric",
        noted=True,
        metavar="NAME",
        help="Also estimate this metric: f1, roc_auc, recall:CLASS, ...",
        doc="What to estimate besides the accuracy: f1, precision, recall, specificity, roc_auc, average_precision, "
        'balanced_accuracy, mcc, cohen_kappa, macro_f1, brier, nll, ece ..., or ``"recall:CLASS"``. Of two classes '
        "f1 and the like are those of the positive one (that of ``positive``, else the second by name), of more their "
        "mean over classes.",
    )


class Learnt(
    Weighed,
    Metrics,
    Methods,
    Level,
    Reading,
    Clock,
    Features,
    Cluster,
    Payoff,
    IntervalSeed,
    WithColumns,
    WithInference,
):
    """What shapes that which is learnt from a reference: the parameters of `Oodometer`."""


class Past(Options):
    """Periods behind the target whose truth is known."""

    history: Any = option(
        default=None,
        group=_ROWS,
        path="read",
        metavar="FILE",
        many=True,
        rare=True,
        help="Predictions with labels from before the target, which make the number sharper: a file a period, or cut "
        "as by --every; may be repeated.",
        doc="Predictions with labels from before the target (a file, a frame, a dict, or a list of them): each is a "
        "period, the oldest first, or with ``every`` cut into periods along `time`. How far estimates erred there "
        "makes this one sharper. Labelled chunks of a target teach those that follow without it.",
    )


class Assumed(Options):
    """What is assumed of the shift."""

    assume: str = option(
        default="natural",
        group=_WHAT,
        rare=True,
        noted=True,
        help="What to assume of the shift: natural (like those of public data), none, label (P(x | y) unchanged) "
        "or covariate (P(y | x) unchanged).",
        doc='What to assume of the shift for the headline: "natural" (it resembles shifts of public '
        'data), "none", "label" (P(x | y) unchanged) or "covariate" (P(y | x) unchanged). All four are in the result.',
    )
    domain: str | None = option(
        default=None,
        group=_WHAT,
        rare=True,
        noted=True,
        help="What the data are: people, things, sensors, texts, images, language-models, forecasts, or other: of such "
        "no public shift was seen, and trust is never high.",
    )


class Bounds(Options):
    """When a number is too low."""

    margin: float = option(
        default=0.01,
        group=_ALARMS,
        rare=True,
        noted=True,
        help="Say whether the accuracy fell by at least this much: target, slices and chunks.",
    )
    fail_below: float | Mapping[str, float] | None = option(
        default=None,
        group=_ALARMS,
        metavar="BOUND",
        many=True,
        noted=True,
        parse=partial(parse_bounds, option="--fail-below"),
        help="Alarm (exit code 3) below 0.93, or f1=0.8.",
        doc="Raise an alarm (`Estimation.alarms`) where an estimate lies below this number: one of the accuracy, or a "
        "mapping from metrics to numbers. Metrics that are named here are estimated as if ``metrics`` held them. "
        "Each chunk or slice is checked by itself, without them the whole target.",
    )
    fail_drop: float | Mapping[str, float] | None = option(
        default=None,
        group=_ALARMS,
        metavar="DROP",
        many=True,
        rare=True,
        noted=True,
        parse=partial(parse_bounds, option="--fail-drop"),
        help="Raise an alarm (exit code 3) where the estimate lies more than this below the reference's, such as 0.02.",
        doc="Raise an alarm where an estimate lies more than this below the reference's; otherwise as ``fail_below``.",
    )
    fail_when: str = option(
        default="default",
        group=_ALARMS,
        rare=True,
        noted=True,
        help="How likely it lies below: 70 % (default) or 80 % (likely); or its value, or the interval's upper end.",
    )


class Stored(Options):
    """Where past runs are kept."""

    store: Any = option(
        default=None,
        group=_ALARMS,
        path="written",
        metavar="STORE",
        rare=True,
        help="Add the run to this store of past runs: a file (SQLite) or postgresql://user@host/database; `oodometer "
        "history` shows it.",
    )
    job: str | None = option(
        default=None,
        group=_ALARMS,
        metavar="NAME",
        rare=True,
        help="Name of the series that the run belongs to; by default that of the reference.",
    )


class Counted(Options):
    """Which alarms count."""

    alarms: str | Alarms = option(
        default="all",
        of="Alarms",
        check=check_of("alarms", "str"),
        group=_ALARMS,
        rare=True,
        noted=True,
        help="Which alarms count for exit code 3: all, or new ones, which no earlier run of the job raised.",
    )


class TargetOptions(
    Assumed, Bounds, Stored, Counted, Target, Where, Key, Past, Learnt, Running, WithRun
):
    """What may be asked about a target; a fitted reference holds some of it already."""

    by: str | None = option(
        default=None, group=_ROWS, metavar="COLUMN", noted=True, help="Slice the target by it."
    )
    every: str | None = option(
        default=None,
        group=_ROWS,
        metavar="LENGTH",
        noted=True,
        help="Cut it into chunks: month (day, week, ...), 7d, 1000rows.",
        doc='Chunks along the column `time`: ``"month"`` (day, week, quarter, year: those of the calendar of '
        '``timezone``), a length such as ``"7d"``; or of so many rows, ``"1000rows"``. Not beside ``by``.',
    )
    labels: Any = option(
        default=None,
        group=_ROWS,
        path="read",
        metavar="FILE",
        help="Truth of target rows, joined by id, or one row each.",
        doc="Truth of target rows (a file, a frame, a dict with `label` or `correct`, an array, a list, a Series; null "
        "where unknown). Those of some rows at random correct the headline, falls and alarms "
        "(`Estimation.by_labels`); those of every row are the truth, beside which the estimate stands. Joined by `id` "
        "or the index of pandas where both have one, by a column `row` (target rows counted from 0), else "
        "one for each target row; refused where a column of both says that these are other rows.",
    )


class Verdicts(Options):
    """Which columns hold verdicts of judges."""

    judge: Sequence[str] = option(
        default=(),
        group=_ROWS,
        metavar="COLUMN",
        help="Column with a judge's verdict on every row (pass, yes, true, 1, A, a grade); may be repeated. Where "
        "other words stand there, COLUMN=WORD names the one that passes.",
        doc="Columns with a judge's verdict on every row: pass or fail, yes or no, true or false, 1 or 0, A or B or "
        'tie, a grade (``scale``), or lists of them; ``"COLUMN=WORD"`` names the word that passes where there are '
        "others. Then ``labels`` names the column of people's verdicts, which may be unknown in most rows.",
    )


class Judged(Verdicts):
    """Verdicts of judges, and ``labels`` that may be columns beside them."""

    def __post_init__(self) -> None:
        labels = getattr(self, "labels", None)
        columns = labels if isinstance(labels, (list, tuple)) else [labels]
        judged = isinstance(self.judge, (str, list, tuple)) and bool(self.judge)
        # no cells, as they else would be
        named = judged and all(isinstance(name, str) for name in columns)
        object.__setattr__(self, "labels", None if named else labels)
        super().__post_init__()
        if named:
            object.__setattr__(self, "labels", columns)


class EstimateOptions(Judged, TargetOptions, Pair):
    """What `estimate` is asked; judges' columns are read as `votes`, people's in the reference as `correct`."""

    rarely = frozenset({"judge"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.judge:
            if worded := next((name for name in self.judge if "=" in name), None):
                remedy = "write pass or fail, true or false, 1 or 0 there; `audit` and `compare` alone take a word"
                raise UsageError(f"--judge {worded}: {remedy}")
            columns = self.labels if isinstance(self.labels, list) else []
            renamed = {name: f"vote_{name}" for name in self.judge if not name.startswith("vote")}
            renamed |= dict.fromkeys(
                (name for name in columns if not Path(name).exists()), "correct"
            )
            object.__setattr__(self, "mapping", {**(self.mapping or {}), **renamed})
            object.__setattr__(self, "methods", self.methods or ["votes-corrected"])
            if columns:
                object.__setattr__(
                    self, "labels", next((name for name in columns if name not in renamed), None)
                )


class Sliced(Options):
    """Which slices are to be asked for."""

    by: str | None = option(
        default=None,
        group=_ROWS,
        metavar="COLUMN",
        rare=True,
        help="Keep what `estimate --by` of this column needs.",
        doc="Column of the reference by which targets will be sliced: its own rows of each slice are kept, so that "
        "slices can be held against them.",
    )


class Cut(Options):
    """How a history is cut into periods."""

    every: str | None = option(
        default=None,
        group=_ROWS,
        metavar="LENGTH",
        rare=True,
        help="Cut --history into periods: month (day, week, ...), 7d.",
        doc="How ``history`` is cut into periods, as ``every`` of `estimate` cuts a target.",
    )


class FitOptions(LabelsAndP, Where, Sliced, Past, Cut, Learnt, Running, WithRun):
    """What `fit` is asked."""

    out: str | Path | None = option(
        default=None,
        path="written",
        metavar="FILE",
        needed=True,
        help="Where to write what was learnt, FILE.oodo; no pickle.",
    )


class RefitOptions(LabelsAndP, Where, Sliced, Past, Cut, Running, WithRun):
    """What `Oodometer.fit` is asked."""


class LabelFiles(Options):
    """Truth of some rows."""

    labels: Any = option(
        default=None,
        group=_ROWS,
        path="read",
        metavar="FILE",
        many=True,
        help="Truth of some target rows: by id, by their number in a column row, or a row each; may be repeated. With "
        "--judge the column of people's verdicts, or such a file.",
        doc="Truth of some target rows: joined by id, by a column `row` that counts them from 0, or a row each, null "
        "where unknown. Several files in the order of labelling. By default the target's own labels.",
    )


class Suggesting(Options):
    """How many rows to label next."""

    suggest: int = option(
        default=0, group=_WHAT, help="Draw so many unlabelled rows to label next."
    )
    suggest_by: str = option(
        default="random",
        group=_WHAT,
        rare=True,
        help="How they are drawn: random (all rows alike) or confidence (more often where the model is unsure, if "
        "that is predicted to make the exact interval narrower).",
    )


class Worksheets(Options):
    """Where rows to label are written."""

    out: str | Path | None = option(
        default=None,
        group=_WHAT,
        path="written",
        metavar="FILE",
        help="Write the suggested rows to this .csv, .parquet or .jsonl file, or to a page, .html, to label them on.",
        doc="Write the suggested rows, with the target's columns and an empty label, to this .csv (for a spreadsheet), "
        ".parquet or .jsonl file, or to this .html page, on which they are labelled in a browser.",
    )
    question: str | None = option(
        default=None,
        group=_WHAT,
        rare=True,
        help='What that page asks, "Was it repaid?"; by default it is made of the label column and the classes.',
    )


class Audited(Options):
    """What an audit says."""

    margin: float = option(
        default=0.01,
        group=_WHAT,
        rare=True,
        help="Say how likely it is that the accuracy fell by at least this much.",
    )
    fail_below: float | Mapping[str, float] | None = option(
        default=None,
        group=_WHAT,
        metavar="BOUND",
        many=True,
        parse=partial(parse_bounds, option="--fail-below"),
        help="Alarm (exit code 3) below 0.93.",
        doc="Raise an alarm (`Audit.alarms`) where the accuracy lies below this number, by labels and public shifts "
        "together, as `estimate` does with labels; `Audit.decisions` says whether the labels decide it.",
    )
    fail_drop: float | Mapping[str, float] | None = option(
        default=None,
        group=_WHAT,
        metavar="DROP",
        many=True,
        rare=True,
        parse=partial(parse_bounds, option="--fail-drop"),
        help="Alarm (exit code 3) more than this below the reference's accuracy, such as 0.02.",
        doc="Raise an alarm where the accuracy lies more than this below the reference's; otherwise as ``fail_below``.",
    )
    methods: Sequence[str] | None = option(
        default=None,
        group=_WHAT,
        flag="--method",
        rare=True,
        help="Label-free methods to hear; may be repeated.",
    )
    seed: int = option(default=0, flag="", help="Seed of the suggestion and of the order of bets.")
    expected_widths: bool = option(
        default=False,
        flag="",
        help="Whether to work out the width to expect of 10 to 1,000 labels, which takes seconds; a page draws it.",
    )


class SuggestOptions(
    Target, Known, LabelFiles, Worksheets, Where, Clock, Key, Level, Reading, Running, Grouped
):
    """What `suggest_rows` is asked."""

    number: int = argument(
        kw_only=False,
        check=need("a whole number from 1 on", lambda value: is_whole(value, 1), int),
        help="So many rows.",
    )
    by: str = option(
        default="random",
        help="How they are drawn: random (all rows alike) or confidence (more often where the model is unsure, if "
        "that is predicted to make the exact interval narrower).",
    )
    seed: int = option(default=0, help="Seed of the draws.")


class AuditOptions(
    LabelFiles,
    Suggesting,
    Worksheets,
    Audited,
    Judged,
    Pair,
    Where,
    Clock,
    Key,
    Cluster,
    Scale,
    Level,
    Reading,
    Features,
    Running,
    Grouped,
    WithAlarms,
):
    """What `audit` is asked."""

    target: Any = argument(
        kw_only=False,
        default=None,
        path="read",
        help="Predictions of the same model on the data in question. With --judge REFERENCE alone is the data, or an "
        "earlier run of the judge on other rows.",
        doc="Predictions of the same model on the data in question; labels in it are not used for any estimate. With "
        "``judge`` the reference alone is the data; beside a target it is an earlier run of the judge, with labels.",
    )
    by: str | None = option(
        default=None,
        group=_ROWS,
        metavar="COLUMN",
        rare=True,
        help="With --judge: the rate of each value of this column, too.",
    )


class EvaluateOptions(
    Where,
    Clock,
    Truth,
    Cluster,
    Weight,
    Level,
    Scale,
    Reading,
    Payoff,
    IntervalSeed,
    Running,
    Grouped,
):
    """What `evaluate` is asked, besides the sources."""

    metrics: Sequence[str] | None = option(
        default=None,
        group=_WHAT,
        flag="--metric",
        help="Only this metric, such as f1 or auc; may be repeated.",
        doc="Names of metrics, curves and tables; by default all that apply.",
    )
    score: str | None = option(
        default=None,
        group=_WHAT,
        rare=True,
        help="Order rows by this score in metrics of risk and coverage.",
    )
    by: str | None = option(
        default=None,
        group=_ROWS,
        help="Slice by this column.",
        doc="Column to slice by; each slice gets the metrics asked for, by default the quick ones.",
    )


def parse_weights(text: str, option: str) -> list[float]:
    """``0.5,0.25,0.25`` as numbers; `UsageError` for anything else."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise UsageError(f"expected {option} as numbers, such as 0.5,0.5, got {text!r}") from None


_DISCA = "DiSCA, DiDMA and NiDMA"


_drop = need(
    "a drop from 0 on, a fraction such as 0.02 (2 points)",
    lambda value: isinstance(value, (int, float)) and 0 <= value < float("inf"),
    float,
)


class Gate(Options):
    """How a gate decides."""

    strict: bool = option(
        default=False,
        group=_WHAT,
        help="With --fail-drop: exit code 4 where it cannot be told.",
        doc="Whether a gate that cannot be decided fails, too (``result.gate.exit_code`` is 4).",
    )
    anytime: bool = option(
        default=False,
        group=_WHAT,
        rare=True,
        help="With --fail-drop: a verdict that stays valid however often one looks while rows come in, in random "
        "order; it takes up to 1.4 times as many rows on average.",
        doc="Whether the gate's interval holds however often one looks while rows come in, in random order "
        "(a confidence sequence, by betting); the comparison itself is for one look.",
    )


class Gated(Gate):
    """Which drop must not happen."""

    fail_drop: float | None = option(
        default=None,
        group=_WHAT,
        metavar="DROP",
        check=_drop,
        help="Exit code 3 where the second is shown worse than the first by more than 0.02: by the whole interval.",
        doc="The largest fall of the second model below the first that is no failure, as a fraction of accuracy or an "
        "amount on the scale: ``result.gate`` says whether the second is shown worse by more (the whole interval of "
        "the difference lies below it), shown not to be (it lies above), or neither.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("strict", "anytime"):
            if getattr(self, name) and self.fail_drop is None:
                raise UsageError(f"--{name} belongs to --fail-drop; add --fail-drop 0.02")


def _targets(name: str, value: Any) -> Any:
    """One word as a list of one, else a list of files."""
    return check_of("models", "Sequence[Any]")(name, [value] if isinstance(value, str) else value)


class Disca(Options):
    """How DiSCA, DiDMA and NiDMA are worked out."""

    tolerance: float = option(
        default=0.95,
        group=_DISCA,
        rare=True,
        help="Accuracy at which DiSCA reads b, 1.0 to 0.5.",
    )
    weights: Sequence[float] = option(
        default=(1 / 3, 1 / 3, 1 / 3),
        group=_DISCA,
        metavar="X,Y,Z",
        rare=True,
        many=False,
        parse=partial(parse_weights, option="--weights"),
        help="Weights of DiSCA, 0.5,0.25,0.25; by default a third each.",
        doc="Weights x, y, z of DiSCA; by default a third each.",
    )
    energy: Sequence[float] = option(
        default=(),
        group=_DISCA,
        rare=True,
        help="Energy of a model in joules; once for each, for DiDMA.",
    )
    energy_unit: str = option(default="J", flag="", help="Unit of the energies.")
    parameters: Sequence[float] = option(
        default=(),
        group=_DISCA,
        rare=True,
        help="Number of parameters; once for each model, for DiDMA in the place of energy.",
    )
    optimal_parameters: float | None = option(
        default=None,
        group=_DISCA,
        rare=True,
        help="As many parameters as the device runs well: the parameter ratio is this by a model's.",
    )
    steps: int = option(
        default=100, flag="", help="Steps of the grid on which DiSCA reads the curve."
    )
    grid: str = option(
        default="coverage",
        flag="",
        help="What the steps divide: coverage, thresholds, or samples (every one).",
    )
    didma_weights: Sequence[float] = option(
        default=(0.5, 0.5),
        group=_DISCA,
        metavar="P,Q",
        rare=True,
        many=False,
        parse=partial(parse_weights, option="--didma-weights"),
        help="Weights of DiSCA and of computation in DiDMA; by default a half each.",
    )
    nidma_weights: Sequence[float] = option(
        default=(0.5, 0.5),
        group=_DISCA,
        metavar="U,V",
        rare=True,
        many=False,
        parse=partial(parse_weights, option="--nidma-weights"),
        help="Weights of DiDMA and of DiSCA out of domain in NiDMA; by default a half each.",
    )


class CompareOptions(
    Disca,
    Judged,
    Where,
    Clock,
    Truth,
    Cluster,
    Weight,
    Scale,
    Level,
    Reading,
    Features,
    Gated,
    Running,
    Grouped,
    WithAlarms,
):
    """What `compare` is asked."""

    rarely = frozenset({"features", "positive"})

    selective: Selective | None = whole(default=None, of="Selective")
    models: Sequence[Any] = argument(
        kw_only=False,
        path="read",
        metavar="MODELS...",
        help="Labelled predictions, one file for each model.",
        doc="Labelled predictions of each model in its domain, a list or name -> predictions: files, frames, dicts of "
        "arrays, lists of rows or `Predictions`; or what each model says as an array, with the truth as ``labels``.",
    )
    out_of_domain: Sequence[Any] = option(
        default=(),
        group=_WHAT,
        path="read",
        metavar="FILE",
        help="Labelled predictions out of domain; once for each model, in their order.",
    )
    target: Sequence[Any] = option(
        default=(),
        group=_WHAT,
        path="read",
        metavar="FILE",
        check=_targets,
        help="Predictions without labels, one a model; with --judge: system (what they will meet) or rows (these).",
        doc='With ``judge`` "system" or "rows": whether the difference is of what the systems will meet, of which '
        "these rows are a sample, or of these rows alone. Else predictions without labels, one for each model, in the "
        "same order: their accuracy is estimated as `estimate` does it, with its interval, assumption and trust, "
        "beside the accuracy-coverage curve that the first file would lead one to expect.",
    )
    names: Sequence[str] = option(
        default=(),
        group=_WHAT,
        flag="--name",
        rare=True,
        help="Name of a model; once for each, by default the file's.",
    )
    metrics: Sequence[str] = option(
        default=(),
        group=_WHAT,
        flag="--metric",
        metavar="NAME",
        help="Compare pass@4, pass^4 or maj@4 of questions that were answered several times; may be repeated.",
        doc="Curves of k answers to a question, such as pass@4, pass^4 and maj@4, in the place of who is right: the "
        "first is compared, the others stand beside it. Questions are told by `id`, and each model may answer them as "
        "often as it did.",
    )
    require: Sequence[float] = option(
        default=(0.9, 0.95, 0.99),
        group=_WHAT,
        help="Accuracy to find a threshold for; may be repeated. By default 0.9, 0.95, 0.99.",
    )
    score: str | None = option(
        default=None, group=_WHAT, rare=True, help="Order rows by this score, not the confidence."
    )
    seed: int = option(default=0, flag="", help="Seed of the bootstrap.")


def _number_in(low: float, high: float, what: str) -> Check:
    """A check that a number lies between two others."""
    return need(
        what,
        lambda value: (
            isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
        ),
        float,
    )


def _counts(name: str, value: Any) -> tuple[int, ...]:
    """Whole numbers from 1 on."""
    numbers = check_of(name, "Sequence[float]")(name, value)
    if any(number < 1 or number != int(number) for number in numbers):
        raise UsageError(f"expected {name} as whole numbers from 1 on, got {value!r}")
    return tuple(int(number) for number in numbers)


def _pilots(name: str, value: Any) -> list[Any]:
    """One pilot as a list of one, or two."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


_share = partial(_number_in, 0.0)


class Power(Options):
    """How surely a difference is to be shown."""

    power: float = option(
        default=0.8,
        group=_WHAT,
        check=_number_in(0.06, 0.999, "a power between 0.06 and 0.999 such as 0.8"),
        help="The chance with which it is to be shown.",
    )


class PlanOptions(
    Power, Judged, Where, Clock, Truth, Cluster, Scale, Level, Renaming, Watched, Grouped
):
    """What `plan` is asked."""

    rarely = frozenset({"where", "mapping", "judge", "judge_correlation", "within", "correlation"})

    pilots: Sequence[Any] = argument(
        kw_only=False,
        default=(),
        path="read",
        metavar="PILOT",
        check=_pilots,
        help="Labelled predictions of one system, or of two on the same few questions.",
        doc="Labelled predictions of one system, or a list of two on the same questions, from a first small run: "
        "files, frames, dicts of arrays or `Predictions`. Without them ``accuracy`` and ``correlation`` stand there.",
    )
    difference: float | None = option(
        default=None,
        group=_WHAT,
        check=_number_in(-1e9, 1e9, "a difference such as 0.03 (3 points)"),
        help="By how much the new system is better, such as 0.03.",
        doc="By how much the new system is better (worse: -0.03), a fraction or on the scale; without it the smallest "
        "one that the questions show is said.",
    )
    fail_drop: float | None = option(
        default=None,
        group=_WHAT,
        metavar="DROP",
        check=_drop,
        help="How often the gate of compare --fail-drop will say worse, not worse, or that it cannot be told.",
        doc="The drop of the gate of `compare`: the chances of its verdicts, where the new system is better by "
        "``difference`` (as good by default), and the questions after which it says what is true with the power.",
    )
    questions: Sequence[int] = option(
        default=(),
        group=_WHAT,
        check=_counts,
        metavar="N",
        help="A number to look at; may be repeated.",
        doc="Numbers of questions to look at; by default those at hand and those needed.",
    )
    epochs: Sequence[int] = option(
        default=(),
        group=_WHAT,
        check=_counts,
        metavar="K",
        help="How often each is asked; may be repeated.",
        doc="How often each question is asked; 1, 2 and 4 by default, where it is known what they tell.",
    )
    human_labels: Sequence[int] = option(
        default=(),
        group=_WHAT,
        check=_counts,
        metavar="N",
        help="Questions that people label, beside a judge.",
        doc="Questions that people label, the answers of both systems, beside a judge of all.",
    )
    accuracy: float | None = option(
        default=None,
        group="Instead of pilots",
        check=_share(1.0, "an accuracy between 0 and 1 such as 0.7"),
        help="The base's accuracy.",
    )
    correlation: float | None = option(
        default=None,
        group="Instead of pilots",
        check=_number_in(-1.0, 1.0, "a correlation between -1 and 1 such as 0.5"),
        help="Of the systems' answers to a question, such as 0.5.",
        doc="Of the two systems' answers to the same question; 0.5 is common, versions of one system have more.",
    )
    within: float | None = option(
        default=None,
        group="Instead of pilots",
        check=_share(1.0, "a share between 0 and 1 such as 0.3"),
        help="Share of variance within questions, such as 0.3.",
        doc="Share of an answer's variance within questions, which epochs average away; 0 by default.",
    )
    judge_correlation: float | None = option(
        default=None,
        group="Instead of pilots",
        check=_number_in(-1.0, 1.0, "a correlation between -1 and 1 such as 0.6"),
        help="Of a judge's difference with people's.",
        doc="Of a judge's difference of a question with that of people.",
    )
    cost_question: float | None = option(
        default=None,
        group=_WHAT,
        check=_share(1e12, "a cost from 0 on"),
        help="Of a question asked once, of both systems.",
    )
    cost_label: float | None = option(
        default=None,
        group=_WHAT,
        check=_share(1e12, "a cost from 0 on"),
        help="Of a question labelled by people.",
    )
    seed: int = option(default=0, flag="", help="Seed of what is drawn.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.pilots) > 2:
            raise UsageError(f"expected one pilot or two, got {len(self.pilots)}")
        if not self.pilots and self.accuracy is None:
            raise UsageError(
                "say what is known: a file of a first small run, or two, or --accuracy 0.7 --correlation 0.5"
            )
        if self.pilots and self.accuracy is not None:
            raise UsageError("the pilot tells the accuracy; leave --accuracy out")
        if self.difference == 0:
            raise UsageError("expected a difference other than 0 such as 0.03")
        if self.human_labels and self.epochs:
            raise UsageError("people label answers to questions asked once; leave --epochs out")
        if self.human_labels and self.judge_correlation is None and not self.judge:
            raise UsageError(
                "--human-labels correct a judge; name it: --judge-correlation 0.6, or --judge COLUMN with two pilots"
            )


class BacktestOptions(
    LabelsAndP, Where, Clock, Methods, Level, Truth, Reading, Features, Running, Grouped
):
    """What `backtest` is asked."""

    families: Sequence[str] | None = option(
        default=None,
        group=_WHAT,
        flag="--family",
        help="Only this family of shifts; may be repeated.",
    )
    repeats: int | None = option(
        default=None,
        group=_WHAT,
        help="Trials of each family and severity, for all methods; by default 8, and 3 for slow methods.",
    )
    cache: str | Path | None = option(
        default="auto",
        flag="",
        help='Folder that keeps trials, so that an interrupted backtest goes on and a finished one is reused; "auto" '
        "for ``$OODOMETER_CACHE`` or the user's cache folder, None for none.",
    )
    seed: int = option(default=0, flag="", help="Seed of splits and draws.")


class HistoryOptions(Options):
    """What `history` is asked."""

    store: Any = argument(
        kw_only=False,
        path="read",
        help="A file, or postgresql://user@host/database; estimate --store fills it.",
    )
    job: str | None = option(default=None, metavar="NAME", help="Only the runs of this job.")
    last: int | None = option(
        default=None, metavar="N", help="Only the newest so many runs of each job."
    )


class DiagnoseOptions(Pair, Where, Clock, Reading, Features, Running, Grouped):
    """What `diagnose` is asked."""

    every: str | None = option(
        default=None,
        group=_ROWS,
        metavar="LENGTH",
        help="Follow the columns along time: month (day, week, ...), 7d, 1000rows. Needs --features.",
        doc="Chunks of the target in which the columns of ``features`` are followed, as ``every`` of `estimate`.",
    )
    seed: int = option(
        default=0,
        group=_RUN,
        rare=True,
        help="Seed of the bootstraps and of the classifier's folds.",
    )


class DemoOptions(Watched):
    """What `demo` is asked."""

    out: str | Path = argument(
        kw_only=False,
        default="demo",
        flag="--out",
        path="folder",
        metavar="FOLDER",
        help="Folder for the prediction files and the report.",
    )


class CiteOptions(Options):
    """What `cite` is asked."""

    method: str = argument(kw_only=False, help="A method, or a BibTeX key.")


class ReadOptions(Renaming):
    """What `read` is asked."""

    logs: Any = argument(
        kw_only=False,
        path="read",
        metavar="PATH",
        help="A log of an evaluation (lm-evaluation-harness, inspect, HELM, promptfoo, SWE-bench, ...), a folder of "
        "logs, a table of results, or ratings of several people.",
        doc="A log of an evaluation: lm-evaluation-harness (``samples_*.jsonl``), inspect (``.eval``, ``.json``), the "
        "folder of a HELM run, lighteval's details, OpenCompass' predictions or results, AlpacaEval's annotations, "
        "simple-evals' results, SQuAD-like predictions, uqlm's results, a chat, or a file of a tool in "
        "`oodometer.store.shapes`; or several logs, or a folder of them. Or a table of results: a predictions file, or "
        "one with columns of your own; or ratings of several people.",
    )
    out: str | Path | None = option(
        default=None,
        path="written",
        metavar="FILE",
        help="Write the predictions to this file; FOLDER/: a file for each task.",
        doc="The predictions file to write, or a folder (or a name that ends in a slash) for a file a task; None keeps "
        "the record in memory (``result.record``).",
    )
    metric: str | Sequence[str] | None = option(
        default=None,
        many=True,
        help="The metric instead of the main one: "
        "NAME, NAME:FILTER, or TASK=NAME for one task; f1>=0.5 counts as right from 0.5 on; may be repeated.",
    )
    filter: str | None = option(
        default=None, help="Of lm-evaluation-harness: the filter instead of the first one."
    )
    keep_input: bool = option(default=False, help="Keep the prompts as input.")


class Tasks(Watched):
    """Tasks of one thread."""

    engine: str | Engine | None = option(
        default=None,
        group=_RUN,
        rare=True,
        help="Where tasks of one thread each run: processes, ray or spark, with an address ray:HOST:PORT, "
        "spark:spark://HOST:PORT; local: here, one after another. By default no tasks: here, with all threads.",
        doc='Where tasks of one thread run: "processes", "ray", "spark", or an `Engine`. Models and data are then '
        "named by their paths, which machines of a cluster must see. By default no tasks: all in this process, with "
        "its threads; the result is the same.",
    )
    workers: int | None = option(
        default=None,
        group=_RUN,
        rare=True,
        help="Tasks at a time, in processes if no engine is named; by default one for each core, on a GPU one.",
    )


class Typed(Options):
    """What was typed."""

    argv: str | None = option(default=None, flag="", help="A command line to note in the result.")


class Device(Options):
    """What networks run on."""

    device: str | None = option(
        default=None,
        group=_MODEL,
        rare=True,
        help="cpu or cuda; by default a GPU where one is there.",
    )


class Gives(Device):
    """What a model from outside gives."""

    gives: str | None = option(
        default=None,
        group=_MODEL,
        check=one_of("logits", "probabilities"),
        rare=True,
        help="What a model from outside gives: logits or probabilities.",
    )


class Models(Gives):
    """How models from outside are opened."""

    classes: Sequence[int | str] | None = option(
        default=None,
        group=_MODEL,
        many=False,
        parse=parse_classes,
        rare=True,
        help="Class names in the order of the probabilities: a,b,c.",
    )

    @property
    def of_models(self) -> dict[str, Any]:
        """What `open_classifier` takes."""
        named = {name: getattr(self, name) for name in ("gives", "max_length", "device")}
        return named | {"classes": None if self.classes is None else tuple(self.classes)}


class Given(Options):
    """Where what a live model reads stands."""

    inputs: str | Sequence[str] | None = option(
        default=None,
        flag="--input",
        help="Column that the models read; twice for pairs of texts, again for a table.",
    )
    label: str | None = option(
        default=None, rare=True, help="Column of the truth; by default label."
    )
    id: str | None = option(
        default=None,
        flag="--id --key",
        rare=True,
        help="Column that names the rows; by default id.",
    )


class Tokens(Options):
    """How much of a text a live model reads."""

    max_length: int | None = option(
        default=None, rare=True, help="Tokens of a text that are read, at most."
    )


class Drawn(Options):
    """What is drawn as live models are asked."""

    dropout: int = option(
        default=0, rare=True, help="Passes with dropout left on; probabilities are their mean."
    )
    candidates: int = option(
        default=10,
        flag="",
        help="Of a ranker: how many candidates a response without any gets, drawn by the seed from all responses: the "
        "same ones at every severity of a shift.",
    )


class RankOptions(
    Given, Tokens, Models, Reading, Cluster, Level, Tasks, Typed, Grouped, WithAsking
):
    """What `rank` is asked."""

    rarely = frozenset(("mapping", "positive"))

    models: Any = argument(
        kw_only=False,
        path="read",
        metavar="MODEL...",
        many=True,
        help="Two models or more: what `predict` takes, or predictions files of all of them; NAME=MODEL names one.",
        doc="Two or more, a list or name -> model; texts may be ``NAME=MODEL``. Live models: what `predict` takes. Or "
        "all of them as what they predicted: files, frames, arrays, lists of rows, records. Rows are matched by their "
        "ids; by position where none has any, if labels or answers show that the rows have one order.",
    )
    examples: Any = option(
        default=None,
        path="read",
        metavar="FILE",
        help="A few labelled rows of the data in question, drawn at random; of predictions files the labels by id, "
        "by default their own. Without any label the rows without labels decide alone.",
        doc="A few labelled rows, drawn at random from the data in question; what `predict` takes as data. Rows "
        "without a label join the pool. For predictions files: ids and labels, or an array of labels, None where "
        "unknown; by default the files' own labels. "
        "Without any label agreement and the reference decide alone.",
    )
    unlabelled: Any = option(
        default=None,
        path="read",
        metavar="FILE",
        help="More rows of the same data, without labels: the pool.",
        doc="The pool, of live models: more rows of the same data; labels in it are not read. Predictions files "
        "hold it.",
    )
    reference: Any = option(
        default=None,
        path="read",
        metavar="FILE",
        many=True,
        parse=lambda files: files[0] if len(files) == 1 else files,
        help="Rows with true labels (the reference), for estimates without labels; of predictions files one a model, "
        "in their order.",
    )
    factors: Sequence[str] = option(
        default=(),
        flag="--factor",
        help="A factor over attributions, such as max-diff; may be repeated. By default those that fit.",
    )
    attribution: str | None = option(
        default=None,
        help="lime, kernel-shap or token-ig: explain the labelled texts, for the table and the page; lime for factors.",
        doc='"lime", "kernel-shap" or "token-ig", with all factors that fit unless some are named. Nothing is '
        "explained unless factors or an attribution are named; it takes many questions of each model.",
    )
    samples: int | None = option(
        default=None, rare=True, help="Texts that are asked for one attribution, or its steps."
    )
    normalize: str = option(
        default="none",
        flag="",
        check=one_of("none", "l1", "l2", "max"),
        help='Attributions of an example: "none", "l1", "l2" or "max".',
    )
    explain: int = option(
        default=50, flag="", help="Explain at most so many of the examples, drawn by the seed."
    )
    suggest: int = option(
        default=0, help="Name so many rows of the pool that are best labelled next."
    )
    run_folder: str | Path | None = option(
        default=None,
        group=_RUN,
        path="folder",
        metavar="FOLDER",
        help="Keep answers and attributions here as they come: a run that was killed goes on.",
        doc="A folder that keeps what each model answers, in calls of 4,096 rows, and attributions as groups of texts "
        "are explained: a run that was killed goes on, and gives what an undisturbed one gives, to the last bit, with "
        "or without the folder. Of live models, and files, that have a path. What is kept counts as long as files and "
        "options of the model, texts, method and version are the same, and whether `engine` or `workers` are given.",
    )
    seed: int = option(default=0, rare=True, help="Seed of draws, attributions and bootstraps.")


class Columns(Group, Reading, Clock, Features, Cluster, Weight, Key, Scale, Verdicts, Given):
    """What the columns of your tables are.

    >>> columns = Columns(mapping={"y": "label", "score": "confidence"}, cluster="user")
    >>> columns
    Columns(mapping={'y': 'label', 'score': 'confidence'}, cluster='user')
    >>> import oodometer
    >>> table = {"y": [1, 0] * 50, "prediction": [1, 0, 1, 1] * 25, "score": [0.9, 0.6] * 50, "user": [*range(50)] * 2}
    >>> oodometer.evaluate(table, columns=columns, metrics=["accuracy"])["accuracy"].value
    0.75
    """


class Run(Group, Tasks, Kept, Stored, Typed):
    """Where the work runs, who hears of it, and what is kept of it.

    >>> Run(workers=2, run_folder="unfinished")
    Run(workers=2, run_folder='unfinished')
    """


class Alarms(Group, Bounds, Gate, Counted):
    """When a result is an alarm; a command line leaves with exit code 3 then.

    >>> alarms = Alarms(fail_below={"f1": 0.8}, fail_drop=0.05)
    >>> import oodometer
    >>> reference = {"probabilities": [[0.9, 0.1], [0.3, 0.7]] * 50, "label": [0, 1, 0, 0] * 25}
    >>> found = oodometer.estimate(reference, reference, methods=["cbpe"], backtest=None, alarms=alarms)
    >>> [rule.metric for rule in found.alarms.rules]
    ['f1', 'accuracy']
    """


class Inference(Group, Level, IntervalSeed, Power, Weighed, Assumed, Payoff):
    """How numbers are inferred: the level of intervals, the seed of draws, what is learnt and assumed.

    >>> Inference(level=0.9, assume="label", backtest=None)
    Inference(level=0.9, backtest=None, assume='label')
    """


class Selective(Group, Disca):
    """How `compare` scores models that answer only where they are sure: DiSCA, DiDMA and NiDMA.

    >>> Selective(tolerance=0.9, energy=(10, 4))
    Selective(tolerance=0.9, energy=(10.0, 4.0))
    """


class Asking(Group, Gives, Tokens, Drawn):
    """How live models are asked.

    >>> Asking(device="cpu", max_length=128)
    Asking(device='cpu', max_length=128)
    """
