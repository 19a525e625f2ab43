"""Samples: small tables that ship with the package, to try everything on before one has files of one's own."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MissingExtraError
from ..store import write_atomic

TABLES = Path(__file__).with_name(
    "tables"
)  # what they are, and under which licence: SOURCES.md there
_MODELS = ("bayes", "forest", "logistic", "neighbors", "svm", "tree")


class CarLoan(NamedTuple):
    """A deployed model of car loans: 50,000 rows with the truth (column ``repaid``), 50,000 later ones without, and the
    truth of these that came later, joined by ``id``.
    """

    reference: Any
    target: Any
    labels: Any


class DigitModels(NamedTuple):
    """Six models of handwritten digits by name: 597 predictions of each on noisy, turned images (``targets``), 500 with
    labels on images as in training (``references``); the labels of ten rows of the target, and of all of them.
    """

    targets: dict[str, Any]
    references: dict[str, Any]
    ten: Any
    labels: Any


def _table(name: str | Path, as_frame: bool) -> Any:
    import pyarrow.parquet as pq

    table = pq.ParquetFile(TABLES / f"{name}.parquet").read()
    if not as_frame:
        return table
    try:
        return table.to_pandas()
    except ImportError as error:
        raise MissingExtraError("as_frame=True", "pandas", install="pandas") from error


def load_car_loan(*, as_frame: bool = False) -> CarLoan:
    """NannyML's car loans (made by its authors, Apache-2.0): a classifier says who repays, and customers change.

    Tables of pyarrow; with ``as_frame`` of pandas, `MissingExtraError` where it is not installed.

    >>> loan = load_car_loan()
    >>> loan.reference.num_rows, loan.target.num_rows, loan.labels.column_names
    (50000, 50000, ['id', 'repaid'])
    """
    return CarLoan(*(_table(f"car-loan/{name}", as_frame) for name in CarLoan._fields))


def load_digit_models(*, as_frame: bool = False) -> DigitModels:
    """Predictions of six small scikit-learn models, for `rank` and `compare`; ``as_frame`` as of `load_car_loan`.

    >>> digits = load_digit_models()
    >>> list(digits.targets), digits.ten.num_rows
    (['bayes', 'forest', 'logistic', 'neighbors', 'svm', 'tree'], 10)
    """
    sides = (
        {name: _table(f"digits/{side}/{name}", as_frame) for name in _MODELS}
        for side in ("target", "reference")
    )
    return DigitModels(*sides, *(_table(f"digits/{name}", as_frame) for name in ("ten", "labels")))


def load_judged(*, as_frame: bool = False) -> Any:
    """2,000 answers with two judges' verdicts, and people's on 150 drawn at random; ``as_frame`` as of `load_car_loan`.

    Made by `scripts/samples.py`: 54.2 % of the answers are right; ``judge_passed`` passes 90 % of these and 44 % of the
    others, long answers more often than short ones, ``second_passed`` 77 % and 18 %.

    >>> load_judged().column_names
    ['id', 'group', 'length', 'judge_passed', 'second_passed', 'human_passed']
    """
    return _table("judged/verdicts", as_frame)


def load_runs(*, as_frame: bool = False) -> dict[str, Any]:
    """Two models, ``small`` and ``large``, on the same 400 questions of three tasks, for `compare`: name -> table.

    ``as_frame`` as of `load_car_loan`. Made by `scripts/samples.py`, no model was asked; ``large`` is better in truth.
    200 questions are about 20 passages, on which a model does well or badly as a whole; ``score`` is the F1 of an
    answer's words.

    >>> load_runs()["small"].column_names
    ['id', 'group', 'passage', 'correct', 'score']
    """
    return {name: _table(f"runs/{name}", as_frame) for name in ("small", "large")}


def write_sample(name: str, folder: str | Path) -> list[Path]:
    """Write the files of a sample, as one's own look, into a folder, tables as CSV; their paths.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_sample("sums", folder)]
    ['samples_three_digits.jsonl', 'samples_two_digits.jsonl']
    """
    out = []
    for source in sorted(path for path in (TABLES / name).rglob("*") if path.is_file()):
        path = Path(folder) / source.relative_to(TABLES / name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".gz":
            out.append(write_atomic(path.with_suffix(""), gzip.decompress(source.read_bytes())))
        elif source.suffix == ".json":
            out.append(write_atomic(path, source.read_bytes()))
        else:
            table = _table(source.relative_to(TABLES).with_suffix(""), False)
            out.append(write_atomic(path.with_suffix(".csv"), partial(_write_csv, table)))
    return out


def _write_csv(table: Any, file: Any) -> None:
    import pyarrow.csv

    file.write(f"{','.join(table.column_names)}\n".encode())
    plain = pyarrow.csv.WriteOptions(
        include_header=False, quoting_style="none"
    )  # as no cell needs quotes
    pyarrow.csv.write_csv(table, file, plain)
