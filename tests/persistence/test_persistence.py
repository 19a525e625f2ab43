"""Persistence: every method comes back bit by bit, the same bytes every time, and a damaged file is an error."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oodometer.arrays import Ragged
from oodometer.errors import InputError, NotApplicable
from oodometer.estimators import Estimator
from oodometer.inference.method import Sums
from oodometer.passes.plan import default_methods
from oodometer.persistence import Archive, Damaged, Encoder, NotKept, decoded, write_archive
from oodometer.persistence.archive import FLOORS
from oodometer.predictions import Predictions
from oodometer.registry import create, names, register, unregister
from oodometer.results import Skipped
from oodometer.results.backtest import Trial
from oodometer.testing.methods import example_candidates, example_record

from ..snapshots import raises_snapshot

REFERENCE, TARGET = (
    example_record(300, seed=1),
    example_record(200, seed=2, difficulty=1.4, labelled=False),
)
CANDIDATES = example_candidates(300, seed=1), example_candidates(200, seed=2, labelled=False)
_BINARY = Predictions.from_probabilities(
    np.stack([1 - np.linspace(0.01, 0.99, 200), np.linspace(0.01, 0.99, 200)], axis=1),
    prediction=(np.linspace(0.01, 0.99, 200) > 0.6).astype(np.int32),
    label=(np.arange(200) % 7 < np.linspace(0, 7, 200)).astype(np.int32),
)
KINDS = {
    "classes": (REFERENCE, TARGET),
    "candidates": CANDIDATES,
    "decisions": (_BINARY, _BINARY.without_labels()),
}


def test_the_floors_are_there() -> None:
    """A module that moved would no longer be kept, and finished parts would be read again."""
    assert [floor for floor in FLOORS if find_spec(f"oodometer.{floor}") is None] == []


def exact(found: Any) -> str:
    """All fields of an estimate, its numbers to the last bit."""
    return repr(vars(found))


def there_and_back(value: Any) -> Any:
    """The value through JSON and arrays, as in a file; to encode what came back gives the same bytes."""
    encoder, again = Encoder(), Encoder()
    told = json.dumps(encoder.encode(value), allow_nan=False)
    back = decoded(json.loads(told), encoder.arrays)
    assert json.dumps(again.encode(back)) == told
    assert again.arrays == encoder.arrays
    return back


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted({*names("estimator"), *default_methods()}))
def test_every_estimator_comes_back_bit_by_bit(name: str, kind: str) -> None:
    reference, target = KINDS[kind]
    try:
        fitted: Estimator = create("estimator", name, seed=3).fit(reference)
        before = fitted.estimate(target)
    except NotApplicable:
        pytest.skip("does not apply to these data")
    back = there_and_back(fitted)
    assert type(back) is type(fitted)
    assert exact(back.estimate(target)) == exact(before)


def test_every_estimator_was_among_them() -> None:
    for name in default_methods():
        answered = 0
        for reference, target in KINDS.values():
            try:
                create("estimator", name).fit(reference).estimate(target)
                answered += 1
            except NotApplicable:
                continue
        assert answered, name


# ------------------------------------------------------------------------------------------ values

_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.floats(width=32).map(np.float32) | st.integers(-9, 9).map(np.int64)
)  # fmt: skip
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.just("~"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_VALUES)
@settings(max_examples=25)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert repr(there_and_back(value)) == repr(value)


def test_arrays_come_back_with_type_shape_order_and_identity() -> None:
    shared = np.asfortranarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    value = {
        "a": shared,
        "b": [shared, np.array(["2026-01-31", "NaT"], dtype="datetime64[us]")],
        "c": np.array([["x", None], [2, "y"]], dtype=object),
        "d": np.empty((0, 3), dtype=np.int8),
        "e": {2, 1},
        "f": Ragged.from_rows([[1.0], [], [2.0, 3.0]]),
        "g": Sums(rows=2, hits=np.array(1)),
    }
    back = there_and_back(value)
    assert back["a"] is back["b"][0]
    assert back["a"].flags.f_contiguous
    assert back["a"].flags.writeable
    for name in ("a", "c", "d"):
        assert back[name].dtype == value[name].dtype  # type: ignore[attr-defined]
        assert np.array_equal(back[name], value[name])  # type: ignore[arg-type]
    assert np.isnat(back["b"][1][1])
    assert back["e"] == {1, 2}
    assert back["f"].values.tolist() == [1.0, 2.0, 3.0]
    assert isinstance(back["g"], Sums)
    trial = Trial("none", 0.0, 1, 9, 0.5, 0.5, {"atc": (0.1, 0.2, float("nan"))}, {})
    assert repr(vars(there_and_back(trial))) == repr(vars(trial))


def test_a_record_comes_back_without_what_was_worked_out() -> None:
    record = example_record(40)
    _ = record.top, record.verdicts
    back = there_and_back(record)
    assert back._cache == {}
    assert back.accuracy == record.accuracy
    assert (back.top.best == record.top.best).all()


@dataclass
class Stranger:
    a: int = 1


@pytest.mark.parametrize(
    "value", [Stranger(), lambda: 1, re.compile("a"), b"bytes", Path("a"), {"x": [Stranger()]}]
)
def test_what_is_not_known_is_not_kept(value: Any) -> None:
    with raises_snapshot(NotKept):
        Encoder().encode({"it": value})


@pytest.mark.parametrize(
    "told",
    [
        {"~": "object", "c": "os:system", "v": {}},
        {"~": "object", "c": "store.atomic:_Waiting", "v": {"files": [], "after": []}},
        {"~": "object", "c": "results.values:np", "v": {}},
        {"~": "object", "c": "results.values:Skipped", "v": {"method": "a"}},
        {"~": "object", "c": "results.values:Skipped", "v": {"method": "a", "why": "b", "__class__": "c"}},
        {"~": "object", "c": "estimators.source:SourceAccuracy", "v": {"__class__": 1}},
        {"~": "object", "c": "estimators..source:SourceAccuracy", "v": {}},
        {"~": "object", "c": "estimators.base:Estimator", "v": {}},
        {"~": "object", "c": "plugin:estimator:atc", "v": {}},
        {"~": "object", "c": "plugin:estimator:no-such-method", "v": {}},
        {"~": "object", "c": "plugin:nothing:atc", "v": {}},
        {"~": "object", "c": 7, "v": {}},
        {"~": "named", "c": "results.values:Skipped", "v": []},
        {"~": "same", "v": 0},
        {"~": "array", "v": 0},
        {"~": "array", "v": -1},
        {"~": "tuple", "v": "ab"},
        {"~": "no such", "v": 1},
        {"~": []},
        {"~": "map", "v": [[[], 1]]},
    ],
)  # fmt: skip
def test_what_was_not_written_by_us_is_damage(told: Any) -> None:
    with pytest.raises(Damaged):
        decoded(told, [])


def test_no_array_of_objects_is_unpickled() -> None:
    from io import BytesIO

    file = BytesIO()
    np.save(file, np.array([Skipped("a", "b")], dtype=object), allow_pickle=True)
    with pytest.raises(Damaged):
        decoded({"~": "array", "v": 0}, [file.getvalue()])


def test_a_method_of_a_plugin_is_found_by_its_name() -> None:
    from oodometer.estimators import SourceAccuracy

    @register("estimator")
    class OfSomeoneElse(SourceAccuracy):
        name = "of-someone-else"

    try:
        fitted = OfSomeoneElse().fit(REFERENCE)
        encoder = Encoder()
        told = encoder.encode(fitted)
        assert told["c"] == "plugin:estimator:of-someone-else"
        again = decoded(told, encoder.arrays).estimate(TARGET)
        assert exact(again) == exact(fitted.estimate(TARGET))
    finally:
        unregister("estimator", "of-someone-else")


# ------------------------------------------------------------------------------------------ the file


@cache
def whole() -> bytes:
    """A small file."""
    import tempfile

    encoder = Encoder()
    told = encoder.encode({"a": np.arange(5), "b": "text", "c": Skipped("m", "w")})
    return write_archive(
        Path(tempfile.mkdtemp()) / "a.oodo", {"x": 1}, {"it": told}, encoder.arrays
    ).read_bytes()


def read(content: bytes) -> Any:
    archive = Archive("a.oodo", content)
    return decoded(archive.section("it"), archive.arrays)


def test_a_file_is_a_zip_that_others_can_look_into(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(whole())
    with np.load(path) as found:
        assert found["arrays/0000"].tolist() == [0, 1, 2, 3, 4]
    assert read(whole())["c"] == Skipped("m", "w")


@given(place=st.integers(0, len(whole()) - 1), flip=st.integers(1, 255))
@settings(max_examples=60)
def test_a_changed_byte_is_an_error_wherever_it_is(place: int, flip: int) -> None:
    content = bytearray(whole())
    content[place] ^= flip
    with pytest.raises(InputError):
        read(bytes(content))


@given(cut=st.integers(0, len(whole()) - 1))
@settings(max_examples=30)
def test_a_file_that_is_cut_off_is_an_error(cut: int) -> None:
    with pytest.raises(InputError):
        read(whole()[:cut])


def sealed(content: bytes) -> bytes:
    """The content with a checksum that fits, as somebody who means harm would write it."""
    from oodometer.persistence.archive import _DIGEST, _checksum

    body = content[: -2 * _DIGEST]
    return body + _checksum(body)


@given(place=st.integers(0, len(whole()) - 41), flip=st.integers(1, 255))
@example(place=369, flip=1)  # a header that numpy takes for one of Python 2
@settings(max_examples=150)
def test_a_forged_file_runs_nothing_and_fails_in_one_way(place: int, flip: int) -> None:
    content = bytearray(whole())
    content[place] ^= flip
    with suppress(
        InputError, Damaged
    ):  # anything else fails here; a changed name or number may be read
        read(sealed(bytes(content)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"format": 5', b'"format": 6'),
        (b'"oodometer": "0.', b'"oodometer": "9.'),
    ],
)
def test_a_file_of_another_version_is_refused(old: bytes, new: bytes) -> None:
    with raises_snapshot(InputError):
        read(sealed(whole().replace(old, new)))


def test_other_files_are_no_fitted_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.arange(3))
    with raises_snapshot(InputError):
        Archive.open(tmp_path / "a.npz")
    with raises_snapshot(InputError):
        Archive("a", b"prob_a,prob_b\n")
    with raises_snapshot(InputError):
        Archive("a", b"")
    with raises_snapshot(InputError):
        Archive.open(tmp_path / "none.oodo")


@pytest.mark.parametrize(
    "tree",
    [
        {"~": "objects", "s": [400_000_000], "v": []},
        {"~": "objects", "s": [20_000, 20_000], "v": [1]},
        {"~": "array", "v": 0},
        [{"~": "array", "v": 1}] * 400,
    ],
)
def test_a_file_makes_no_more_than_it_holds(tree: Any) -> None:
    header = (
        f"{{'descr': '<U0', 'fortran_order': False, 'shape': ({400_000_000},), }}".ljust(117) + "\n"
    )
    many = b"\x93NUMPY\x01\x00v\x00" + header.encode()
    file = BytesIO()
    np.save(file, np.zeros(1 << 20, np.uint8))
    tracemalloc.start()
    with pytest.raises(Damaged):
        decoded(tree, [many, file.getvalue()])
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.oodo")
    with raises_snapshot(InputError):
        Archive.open(tmp_path / "model.oodo")
