"""On paper: what a thousand and a hundred thousand million rows would take, worked out from what was measured."""

from __future__ import annotations

from collections.abc import Callable

Get = Callable[[str], float]

BYTES_A_ROW = 45  # of a Parquet file of ten float32 probabilities
PRICE = 0.05  # dollars for an hour of a core: an assumption, put your own in its place
WORKERS = (2, 16, 256)
ROWS = (10**9, 10**11)
LONG_PART, SHORT_PART = 1 << 20, 1 << 17
SMALL_FILE = 10**6


def on_paper(rate: float, get: Get) -> str:
    """The section of the page; ``rate`` in rows a second of one worker, ``get`` a median of the table of states."""
    lines = [
        "| rows | bytes read | workers | time of the passes | bytes a second to read | core hours | at $0.05 an hour |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rows in ROWS:
        for workers in WORKERS:
            seconds = rows / rate / workers
            hours = rows / rate / 3600
            lines.append(
                f"| 1e{len(str(rows)) - 1} | {_bytes(rows * BYTES_A_ROW)} | {workers} | {_time(seconds)} | "
                f"{_bytes(rows * BYTES_A_ROW / seconds)} | {hours:,.2f} | ${hours * PRICE:,.3f} |"
            )
    lines += [
        "",
        "What the process that merges has to do by itself, however many workers there are:",
        "",
        "| rows | files | parts | heads opened | references held | states merged | and, with a run folder, unpacked | "
        "its size |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rows in ROWS:
        for size, length in ((10**9, LONG_PART), (SMALL_FILE, SHORT_PART)):
            files, parts = max(1, rows // size), max(1, rows // size) * -(-size // length)
            held = files * get("held_bytes_a_file") + parts * get("held_bytes_a_part")
            lines.append(
                f"| 1e{len(str(rows)) - 1} | {files:,} of {size:.0e} rows | {parts:,} | "
                f"{_time(files * get('open_ms') / 1e3)} | {_bytes(held)} | {_time(parts * get('merge_ms') / 1e3)} | "
                f"{_time(parts * get('unpack_ms') / 1e3)} | {_bytes(parts * get('kept_bytes'))} |"
            )
    return "\n".join(lines).replace("e+0", "e") + "\n"


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
