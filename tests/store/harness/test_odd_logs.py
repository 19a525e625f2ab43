"""Odd logs: any value in any place of a log gives a record or one line, never another error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oodometer.errors import OodometerError
from oodometer.store.harness import LogOptions, read_logs

LOGS = Path(__file__).parent / "logs"
ODD: tuple[Any, ...] = (
    None,
    5,
    -1.5,
    True,
    "odd",
    "",
    [],
    [1],
    {},
    {"a": 1},
    [[]],
    float("nan"),
    float("inf"),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a nest of mappings and lists."""
    inner: Any = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def changed(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    out = copy.deepcopy(value)
    at = out
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = odd
    return out


@pytest.mark.parametrize(
    "name", ["samples_animals_mc", "samples_sums_gen", "inspect_animals", "inspect_sums"]
)
def test_any_value_in_any_place_gives_a_record_or_one_line(tmp_path: Path, name: str) -> None:
    log = next(LOGS.glob(f"{name}*"))
    lines = log.suffix == ".jsonl"
    whole = (
        [json.loads(line) for line in log.read_text().splitlines()]
        if lines
        else json.loads(log.read_text())
    )
    rng = np.random.default_rng(0)
    where = [one for one in places(whole) if lines or one[0] == "samples"]
    options = LogOptions(
        metric="match" if name == "inspect_sums" else None,
        filter="loose" if "sums_gen" in name else None,
        keep_input=True,
    )
    path, read, said = tmp_path / log.name, 0, []
    for at in rng.integers(len(where), size=250):
        odd = changed(whole, where[at], ODD[int(rng.integers(len(ODD)))])
        path.write_text("\n".join(map(json.dumps, odd)) if lines else json.dumps(odd))
        try:
            read += len(read_logs(path, options).record) > 0
        except OodometerError as error:
            said.append(str(error))
    assert read > 0
    assert said
    assert not any("\n" in one for one in said)
