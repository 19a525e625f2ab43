"""The tables of the scale benchmark: rows a second beside a bare scan, memory, engines, states, and what was asked."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from ..kit import table

Round = dict[str, dict[str, Any]]
MEGA = 1e6
START, END = "<!-- tables: start -->", "<!-- tables: end -->"
STATE_ROWS = (("parts", "parts of the file", "{:,.0f}"),
    ("plan_bytes", "bytes of the fitted methods, sent once to each process or machine", "{:,.0f}"),
    ("part_bytes", "bytes of a reference to a part, sent to a worker", "{:,.0f}"),
    ("state_bytes", "bytes of a state, sent back for each part", "{:,.0f}"),
    ("kept_bytes", "bytes of a state in a run folder", "{:,.0f}"), ("merge_ms", "ms to merge a state", "{:.2f}"),
    ("pack_ms", "ms to pack a state for a run folder, on the worker", "{:.2f}"),
    ("unpack_ms", "ms to unpack it, here", "{:.2f}"),
    ("open_ms", "ms to open the head of a file of a folder, 16 at a time", "{:.2f}"),
    ("held_bytes_a_file", "bytes that the driver holds of a file", "{:,.0f}"),
    ("held_bytes_a_part", "bytes that the driver holds of a part", "{:,.0f}"))  # fmt: skip


def with_tables(page: str, result: dict[str, Any]) -> str:
    """A page of the documentation with these tables between its marks."""
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    return f"{before}{START}\n{to_markdown(result).partition(chr(10))[2].strip()}\n{END}{after}"


def to_markdown(result: dict[str, Any]) -> str:
    """The page, from what was measured."""
    about, rounds = result["about"], result["rounds"]
    sizes = [int(rows * MEGA) for rows in about["millions"]]
    said = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    sections = [
        "# Scale\n\n"
        f"`{about['command']}`: {len(rounds)} rounds on {about['cores']} cores, Python {about['python']}, {said}. "
        f"Targets of {' M, '.join(map(str, about['millions']))} M rows of {about['classes']} classes (float32, "
        "Parquet, row groups of 131,072 rows, in the page cache), a fitted file from 100,000 rows. Whole processes, "
        "cold interpreter; medians. Rows a second are between the smallest and the largest size, so that starting is "
        "left out; ratios are taken within a round.\n",
        _promises(rounds, sizes),
        _throughput(rounds, sizes),
        _engines(rounds, sizes),
        _states(rounds),
        _on_paper(rounds, sizes),
    ]
    return "\n".join(one for one in sections if one)


def median(rounds: Sequence[Round], of: Callable[[Round], float]) -> float | None:
    """The median over rounds of what is worked out within one; None where a case was left out."""
    try:
        found = statistics.median(map(of, rounds))
    except KeyError:
        return None
    return None if math.isnan(found) else found


def seconds(name: str) -> Callable[[Round], float]:
    """Seconds of a case."""
    return lambda one: float(one[name]["seconds"])


def rate(name: str, small: int, large: int, tail: str = "") -> Callable[[Round], float]:
    """Millions of rows a second between two sizes of a case."""

    def of(one: Round) -> float:
        took = seconds(f"{name} {large}{tail}")(one) - seconds(f"{name} {small}{tail}")(one)
        return (large - small) / took / MEGA if took > 0 else float("nan")

    return of


def _promises(rounds: Sequence[Round], sizes: Sequence[int]) -> str:
    small, middle, large = sizes[0], sizes[len(sizes) // 2], sizes[-1]

    def two_against_one(one: Round) -> float:
        return seconds(f"estimate all {middle} 1")(one) / seconds(f"estimate all {middle} 2")(one)

    def against_scan(kind: str, workers: int, how: str) -> Callable[[Round], float]:
        ours, bare = (
            rate(f"estimate {kind}", small, large, f" {workers}"),
            rate(f"scan {how}", small, large),
        )
        return lambda one: ours(one) / bare(one)

    def against_fastest(one: Round) -> float:
        bare = max(rate(f"scan {how}", small, large)(one) for how in ("stream", "threads"))
        return rate("estimate all", small, large, " 2")(one) / bare

    def straight(one: Round) -> float:
        return rate("estimate all", middle, large, " 2")(one) / rate(
            "estimate all", small, middle, " 2"
        )(one)

    def peak(one: Round) -> float:
        ours = [one[name] for name in one if name.startswith(("estimate", "engine"))]
        return max(
            (float(each[which]) for each in ours for which in ("peak_mb", "worker_mb")),
            default=math.nan,
        )

    def grown(one: Round) -> float:
        return float(one[f"estimate all {large} 2"]["peak_mb"]) / float(
            one[f"estimate all {small} 2"]["peak_mb"]
        )

    def engine(name: str) -> Callable[[Round], float]:
        return lambda one: (
            float(one[f"engine {name}"]["large"]) / float(one["engine local"]["large"])
        )

    low, mega, high = (int(rows / MEGA) for rows in (small, middle, large))
    bare = "against a bare scan in"
    rows = [
        (f"two workers, {mega} M rows, against one, the whole command: at least 1.5 times as fast",
            two_against_one, "≥", 1.5),
        (f"the same of the pass alone, from {low} M to {high} M rows",
            lambda one: rate("estimate all", small, large, " 2")(one) / rate("estimate all", small, large, " 1")(one),
            "≥", 1.5),
        (f"Ray, {mega} M rows, after its start: at most 1.5 times `local`", engine("ray"), "≤", 1.5),
        (f"Spark, {mega} M rows, after its start: at most 1.5 times `local`", engine("spark"), "≤", 1.5),
        (f"time is linear: rows a second from {mega} M to {high} M against those up to {mega} M", straight, "≥", 0.8),
        ("largest Python process (without Java), MB: under 1 GB", peak, "≤", 1000),
        (f"peak memory at {high} M rows against {low} M: flat", grown, "≤", 1.25),
        ("as typed (two workers), all methods, against the fastest bare scan", against_fastest, "≥", 0.5),
        (f"one worker, all methods, {bare} one thread", against_scan("all", 1, "stream"), "≥", 0.5),
        (f"one worker, five methods, {bare} one thread", against_scan("five", 1, "stream"), "≥", 0.5),
        (f"two workers, all methods, {bare} two threads", against_scan("all", 2, "threads"), "≥", 0.5),
        (f"two workers, five methods, {bare} two threads", against_scan("five", 2, "threads"), "≥", 0.5)]  # fmt: skip
    lines = []
    for said, of, sign, wanted in rows:
        found = median(rounds, of)
        if found is not None:
            holds = found >= wanted if sign == "≥" else found <= wanted
            shown = f"{found:,.0f}" if wanted >= 100 else f"{found:.2f}"
            lines.append([said, shown, f"{sign} {wanted:g}", "yes" if holds else "no"])
    head = ["asked", "measured", "wanted", "holds"]
    return "\n".join(["## What was asked, and what holds\n", *table(head, lines, "lrrl")])


def _throughput(rounds: Sequence[Round], sizes: Sequence[int]) -> str:
    sides = [(f"pyarrow, {said}", f"scan {how}", "") for how, said in _SCANS.items()]
    said_of = {"`estimate`, every method that applies": "estimate all", "`estimate`, five methods": "estimate five",
        "`evaluate`, every metric": "evaluate"}  # fmt: skip
    workers = ((1, "1 worker"), (2, "2 workers"))
    sides += [
        (f"{said}, {many}", name, f" {n}") for said, name in said_of.items() for n, many in workers
    ]
    lines = []
    for said, name, tail in sides:
        found = [median(rounds, seconds(f"{name} {rows}{tail}")) for rows in sizes]
        there = [rows for rows, took in zip(sizes, found, strict=True) if took is not None]
        if not there:
            continue
        speed = median(rounds, rate(name, there[0], there[-1], tail)) if len(there) > 1 else None
        peak = median(rounds, lambda one, n=f"{name} {there[-1]}{tail}": float(one[n]["peak_mb"]))
        lines.append(
            [
                said,
                *(shown(took, ".2f") for took in found),
                shown(speed, ".1f"),
                shown(peak, ",.0f"),
            ]
        )
    heads = ["side", *(f"{int(rows / MEGA)} M, s" for rows in sizes), "M rows/s", "peak, MB"]
    return "\n".join(["## Seconds, rows a second, memory\n", *table(heads, lines)])


def shown(found: float | None, form: str) -> str:
    """A number, or nothing where a case was left out."""
    return "" if found is None else format(found, form)


_SCANS = {
    "stream": "batches in one thread",
    "threads": "a scanner with two threads",
    "table": "`read_table`",
}


def _engines(rounds: Sequence[Round], sizes: Sequence[int]) -> str:
    small, middle = (f"{int(rows / MEGA)} M" for rows in (sizes[0], sizes[len(sizes) // 2]))
    names = [name.removeprefix("engine ") for name in rounds[0] if name.startswith("engine ")]
    lines = []
    for name in names:
        found = [median(rounds, lambda one, n=name, which=which: float(one[f"engine {n}"][which]))
            for which in ("first", "small", "large")]  # fmt: skip
        ratio = median(
            rounds,
            lambda one, n=name: float(one[f"engine {n}"]["large"]) / one["engine local"]["large"],
        )
        worker = median(
            rounds,
            lambda one, n=name: (
                float(one[f"engine {n}"]["worker_mb"]) or float(one[f"engine {n}"]["peak_mb"])
            ),
        )
        lines.append(
            [name, *(shown(cell, ".2f") for cell in (*found, ratio)), shown(worker, ",.0f")]
        )
    same = all(len({str(one[f"engine {name}"]["answer"]) for name in names}) == 1 for one in rounds)
    head = ["engine", f"first call, {small}, s", f"second, {small}, s", f"third, {middle}, s", "third against `local`",
        "largest worker, MB"]  # fmt: skip
    page = ["## Engines\n", "Two workers each, in one process that keeps the engine for three calls of `estimate`.\n",
        *table(head, lines),
        f"The answers of all engines are {'equal to the last bit' if same else 'NOT EQUAL'}.\n"]  # fmt: skip
    return "\n".join(page) if names else ""


def _states(rounds: Sequence[Round]) -> str:
    found = [
        (said, form, median(rounds, lambda one, k=key: float(one["states"][k])))
        for key, said, form in STATE_ROWS
    ]
    lines = [[said, form.format(number)] for said, form, number in found if number is not None]
    return (
        "\n".join(["## What a part and a file cost the driver\n", *table(["what", ""], lines)])
        if lines
        else ""
    )


def _on_paper(rounds: Sequence[Round], sizes: Sequence[int]) -> str:
    speed = median(rounds, rate("estimate all", sizes[0], sizes[-1], " 2"))
    if speed is None or "states" not in rounds[0]:
        return ""
    told = on_paper(
        speed * MEGA / 2, lambda key: median(rounds, lambda one: float(one["states"][key])) or 0.0
    )
    return f"## On paper: 1e9 and 1e11 rows\n\n{told}"


Get = Callable[[str], float]

BYTES_A_ROW = 45  # of a Parquet file of ten float32 probabilities
PRICE = 0.05  # dollars for an hour of a core: an assumption, put your own in its place
WORKERS = (2, 16, 256)
ROWS = (10**9, 10**11)
LONG_PART, SHORT_PART = 1 << 20, 1 << 17
SMALL_FILE = 10**6


def on_paper(rate: float, get: Get) -> str:
    """The section of the page; ``rate`` in rows a second of one worker, ``get`` a median of the table of states."""
    passes, driver = [], []
    for rows in ROWS:
        name = f"1e{len(str(rows)) - 1}"
        for workers in WORKERS:
            seconds, hours = rows / rate / workers, rows / rate / 3600
            passes.append([name, _bytes(rows * BYTES_A_ROW), str(workers), _time(seconds),
                _bytes(rows * BYTES_A_ROW / seconds), f"{hours:,.2f}", f"${hours * PRICE:,.3f}"])  # fmt: skip
        for size, length in ((10**9, LONG_PART), (SMALL_FILE, SHORT_PART)):
            files, parts = max(1, rows // size), max(1, rows // size) * -(-size // length)
            held = files * get("held_bytes_a_file") + parts * get("held_bytes_a_part")
            driver.append([name, f"{files:,} of {size:.0e} rows".replace("e+0", "e"), f"{parts:,}",
                _time(files * get("open_ms") / 1e3), _bytes(held), _time(parts * get("merge_ms") / 1e3),
                _time(parts * get("unpack_ms") / 1e3), _bytes(parts * get("kept_bytes"))])  # fmt: skip
    read = ["rows", "bytes read", "workers", "time of the passes", "bytes a second to read", "core hours",
        "at $0.05 an hour"]  # fmt: skip
    merged = ["rows", "files", "parts", "heads opened", "references held", "states merged",
        "and, with a run folder, unpacked", "its size"]  # fmt: skip
    alone = "What the process that merges has to do by itself, however many workers there are:"
    return "\n".join([*table(read, passes, "r"), alone, "", *table(merged, driver, "r")])


def _time(seconds: float) -> str:
    for name, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {name}"
    return f"{seconds:,.1f} s"


def _bytes(number: float) -> str:
    for name, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {name}"
    return f"{number:,.0f} B"
