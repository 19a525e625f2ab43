"""Classes of input: Parquet, Arrow and NPZ files that are damaged, odd or made to hurt."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from .base import METHODS, REFUSED, SAME, WARNED, Call, Kit, arrays, trial
from .material import CLASSES, Columns, as_lists, npz_with

PARQUET, NPZ = "Parquet and Arrow", "NPZ"
BOTH = ("parquet", "arrow")


def _table(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def _put(path: Path, table: Any, **options: Any) -> Path:
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    if path.suffix == ".parquet":
        parquet.write_table(table, path, **options)
    else:
        feather.write_feather(table, str(path), **options)
    return path


def _damaged(
    name: str,
    came: str,
    change: Any,
    words: Any = (),
    forms: Any = (*BOTH, "npz"),
    must: Any = REFUSED,
) -> None:
    group = "Damaged binary files"

    @trial(group, name, came, must, words, forms)
    def _(kit: Kit, form: str) -> Call:
        path = kit.put(f"t.{form}", kit.target())
        path.write_bytes(change(path.read_bytes()))
        return kit.estimate(target=path)


def _zeroed(content: bytes, start: float, stop: float) -> bytes:
    a, b = int(len(content) * start), int(len(content) * stop)
    return content[:a] + bytes(b - a) + content[b:]


_damaged("cut off in the middle", "the first half of the file", lambda b: b[: len(b) // 2])
_damaged("cut off at the end", "the last 10 bytes are missing", lambda b: b[:-10])
_damaged("the start is missing", "without its first 100 bytes", lambda b: b[100:])
_damaged("the foot is zeros", "the last tenth overwritten", lambda b: _zeroed(b, 0.9, 1.0))
_damaged("an empty file", "0 bytes", lambda b: b"", "empty")
_damaged("only the first bytes", "4 bytes", lambda b: b[:4])
_damaged(
    "text by the name of a binary format", "a CSV line", lambda b: b"prob_cat,prob_dog\n0.9,0.1\n"
)
_damaged("noise", "1,000 random bytes", lambda b: np.random.default_rng(5).bytes(1000))
_damaged("noise after a true beginning", "8 true bytes, then noise",
    lambda b: b[:8] + np.random.default_rng(6).bytes(1000))  # fmt: skip
_damaged("a flipped byte among the numbers, under a checksum", "one bit of a probability", lambda b: _flip_array(b), (),
    ("npz",))  # fmt: skip
_damaged(
    "bytes behind the end",
    "100 bytes appended",
    lambda b: b + bytes(100),
    (),
    (*BOTH, "npz"),
    (REFUSED, SAME),
)


def _flip_array(content: bytes) -> bytes:
    out = bytearray(content)
    out[content.index(b"prob_dog.npy") + 12 + 128 + 402] ^= (
        1  # a low bit of one number: no other check can see it
    )
    return bytes(out)


trial(
    PARQUET,
    "packed in every way that there is",
    "snappy, gzip, brotli, zstd, lz4, none",
    SAME,
    (),
    ("snappy", "gzip", "brotli", "zstd", "lz4", "none"),
    lambda kit, form: kit.estimate(
        target=_put(kit.path("t.parquet"), _table(kit.target()), compression=form)
    ),
)
trial(
    PARQUET,
    "one row a group",
    "240 row groups",
    SAME,
    (),
    ("parquet",),
    lambda kit, form: kit.estimate(
        target=_put(kit.path("t.parquet"), _table(kit.target()), row_group_size=1)
    ),
)
trial(PARQUET, "Feather by its other endings", "`t.feather`, `t.ipc`", SAME, (), ("feather", "ipc"),
    lambda kit, form: kit.estimate(target=_put(kit.path(f"t.{form}"), _table(kit.target()))))  # fmt: skip
trial(PARQUET, "Feather of version 1", "an old file", (SAME, REFUSED), (), ("feather",),
    lambda kit, form: kit.estimate(target=_put(kit.path("t.feather"), _table(kit.target()), version=1)))  # fmt: skip


@trial(
    PARQUET, "an Arrow stream", "the stream format in `t.arrow`", (SAME, REFUSED), (), ("arrow",)
)
def _(kit: Kit, form: str) -> Call:
    import pyarrow as pa

    table, out = _table(kit.target()), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return kit.estimate(target=kit.path("t.arrow", out.getvalue()))


def _typed(
    name: str, came: str, cast: Any, must: Any = SAME, words: Any = (), close: float = 1e-9
) -> None:
    trial(PARQUET, name, came, must, words, BOTH,
        lambda kit, form: kit.estimate(target=_put(kit.path(f"t.{form}"), cast(_table(kit.target()))),
        methods=METHODS if close < 1e-8 else ("source", "ac", "atc", "bbse"), close=close))  # fmt: skip


def _cast(column: str, to: str) -> Any:
    def change(table: Any) -> Any:
        import pyarrow as pa

        types: dict[str, Any] = {
            "dictionary": pa.dictionary(pa.int8(), pa.string()),
            "large": pa.large_string(),
            "half": pa.float16(),
            "decimal": pa.decimal128(12, 9),
            "binary": pa.binary(),
            "view": pa.string_view(),
        }
        at = table.column_names.index(column)
        cells = table.column(column)
        if to == "half":
            cells = pa.chunked_array([pa.array(np.array(cells.to_pylist(), np.float16))])
        elif to == "decimal":
            cells = cells.cast(pa.decimal128(38, 18)).cast(types[to], safe=False)
        else:
            cells = cells.cast(types[to])
        return table.set_column(at, column, cells)

    return change


_typed("labels as a dictionary", "`dictionary<int8, string>`", _cast("label", "dictionary"))
_typed("labels as large strings", "`large_string`", _cast("label", "large"))
_typed("labels as bytes", "`binary`", _cast("label", "binary"), (SAME, REFUSED))
# as for three digits: the classifier that tells both sides apart sees the rounding
_typed("half precision", "`halffloat` probabilities in one column", _cast("prob_cat", "half"), (SAME, REFUSED, WARNED),
    (), 2e-2)  # fmt: skip
_typed("decimals", "`decimal128(12, 9)`", _cast("prob_cat", "decimal"), (SAME, REFUSED), (), 1e-7)
_typed("many chunks", "24 pieces of 10 rows",
    lambda t: __import__("pyarrow").concat_tables([t.slice(i, 10) for i in range(0, t.num_rows, 10)]))  # fmt: skip
_typed("metadata of a frame library", "a pandas index in the schema",
    lambda t: t.replace_schema_metadata({"pandas": '{"index_columns": ["nothing"], "columns": []}'}))  # fmt: skip
_typed("no rows", "a schema alone", lambda t: t.slice(0, 0), REFUSED, "at least one row")
_typed("structures for numbers", "`struct<p: double>`", lambda t: t.set_column(0, "prob_cat", _struct(t)), REFUSED,
    "prob_cat")  # fmt: skip
_typed("a column twice", "`prob_cat` twice", lambda t: t.append_column("prob_cat", t.column("prob_cat")), REFUSED,
    "prob_cat twice")  # fmt: skip


def _struct(table: Any) -> Any:
    import pyarrow as pa

    return pa.array([{"p": v} for v in table.column("prob_cat").to_pylist()])


@trial(
    PARQUET,
    "lists of fixed size and of views",
    "`fixed_size_list`, `large_list`",
    SAME,
    (),
    ("fixed", "large"),
)
def _(kit: Kit, form: str) -> Call:
    import pyarrow as pa

    columns = as_lists(kit.reference())
    kind = pa.list_(pa.float64(), 3) if form == "fixed" else pa.large_list(pa.float64())
    table = pa.table(
        {"probabilities": pa.array(columns["probabilities"], kind), "label": columns["label"]}
    )
    return kit.evaluate(_put(kit.path("r.parquet"), table))


@trial(
    PARQUET,
    "a null list",
    "null for row 7's `probabilities`",
    REFUSED,
    ("row 7", "probabilities"),
    BOTH,
)
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][6] = None
    return kit.evaluate(_put(kit.path(f"r.{form}"), _table(columns)))


@trial(PARQUET, "lists of other lengths", "2 numbers in row 150, 3 elsewhere", REFUSED, ("row 150", "probabilities"),
    BOTH)  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][149] = columns["probabilities"][149][:2]
    return kit.evaluate(_put(kit.path(f"r.{form}"), _table(columns)))


@trial(
    PARQUET, "bytes behind the schema's back", "text of broken UTF-8 as labels", REFUSED, (), BOTH
)
def _(kit: Kit, form: str) -> Call:
    import pyarrow as pa

    columns = kit.reference()
    raw = pa.array(
        [b"em\xff" if i == 6 else v.encode() for i, v in enumerate(columns["label"])], pa.binary()
    )
    broken = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    table = _table(columns).set_column(3, "label", broken)
    return kit.evaluate(_put(kit.path(f"r.{form}"), table))


def _npz(name: str, came: str, must: Any, words: Any, make: Any, close: float = 1e-9) -> None:
    """A class made from the arrays of the reference, or written by ``make`` itself, judged by `evaluate`."""

    @trial(NPZ, name, came, must, words, ("npz",))
    def _(kit: Kit, form: str) -> Call:
        path = kit.path("r.npz")
        made = make(path, arrays(kit.reference()))
        if isinstance(made, dict):
            np.savez(path, **made)
        return kit.evaluate(path, close=close)


def _order(held: dict[str, Any], order: list[int], names: list[str]) -> dict[str, Any]:
    return {**held, "probabilities": held["probabilities"][:, order], "classes": np.array(names)}


def _unnamed(held: dict[str, Any]) -> dict[str, Any]:
    codes = np.searchsorted(np.array(CLASSES), held["label"])
    return {"probabilities": held["probabilities"], "label": codes}


_npz("class names beside lists", "an array `classes`", SAME, (), lambda p, a: a)
_npz("class names in another order, with their columns", "`classes` emu, cat, dog", SAME, (),
    lambda p, a: _order(a, [2, 0, 1], ["emu", "cat", "dog"]))  # fmt: skip
_npz("too few class names", "2 names for 3 columns", REFUSED, "classes",
    lambda p, a: {**_unnamed(a), "classes": np.array(["cat", "dog"])})  # fmt: skip
_npz("too many class names", "4 names for 3 columns", REFUSED, "classes",
    lambda p, a: {**_unnamed(a), "classes": np.array(["cat", "dog", "emu", "fox"])})  # fmt: skip
_npz("a class name twice", "cat, dog, cat", REFUSED, "classes",
    lambda p, a: {**_unnamed(a), "classes": np.array(["cat", "dog", "cat"])})  # fmt: skip
_npz("packed", "`savez_compressed`", SAME, (), lambda p, a: npz_with(p, a, compress=True))
_npz("big-endian numbers", "`>f8`, `>i4`", SAME, (), lambda p, a: {**_unnamed(a),
    "probabilities": a["probabilities"].astype(">f8"), "label": _unnamed(a)["label"].astype(">i4")})  # fmt: skip
_npz("columns before rows in memory", "Fortran order", SAME, (),
    lambda p, a: {**a, "probabilities": np.asfortranarray(a["probabilities"])})  # fmt: skip
_npz(
    "labels as bytes",
    "`S3`",
    (SAME, REFUSED),
    (),
    lambda p, a: {**a, "label": a["label"].astype("S3")},
)
_npz("half precision", "`float16`", (SAME, REFUSED, WARNED), "round",
    lambda p, a: {**a, "probabilities": a["probabilities"].astype(np.float16)}, 1e-2)  # fmt: skip
_npz("extended precision", "`longdouble`", (SAME, REFUSED), (),
    lambda p, a: {**a, "probabilities": a["probabilities"].astype(np.longdouble)}, 1e-7)  # fmt: skip
_npz("complex numbers", "`complex128`", REFUSED, "probabilities",
    lambda p, a: {**a, "probabilities": a["probabilities"].astype(complex)})  # fmt: skip
_npz("Python objects", "a pickled array", REFUSED, "pickle",
    lambda p, a: npz_with(p, {**a, "label": a["label"].astype(object)}))  # fmt: skip
_npz("arrays of other lengths", "239 labels for 240 rows", REFUSED, "label",
    lambda p, a: {**a, "label": a["label"][:-1]})  # fmt: skip
_npz("axes the wrong way round", "`probabilities` (class, sample)", REFUSED, (),
    lambda p, a: {**a, "probabilities": np.ascontiguousarray(a["probabilities"].T)})  # fmt: skip
_npz("an axis too many", "`probabilities` (1, sample, class)", REFUSED, "probabilities",
    lambda p, a: {**a, "probabilities": a["probabilities"][None]})  # fmt: skip
_npz(
    "a single number",
    "`probabilities` 0.5",
    REFUSED,
    "probabilities",
    lambda p, a: {**a, "probabilities": 0.5},
)
_npz("a structured array", "fields a and b", REFUSED, (),
    lambda p, a: {**a, "probabilities": np.zeros(240, [("a", "f8"), ("b", "f8")])})  # fmt: skip
_npz("times for numbers", "`datetime64`", REFUSED, "probabilities",
    lambda p, a: {**a, "probabilities": np.zeros((240, 3), "M8[s]")})  # fmt: skip
_npz("an array twice", "two members `label.npy`", REFUSED, "label", lambda p, a: _twice(p, a))
_npz("a member that is no array", "`notes.npy` holds text", (REFUSED, SAME), (),
    lambda p, a: npz_with(p, a, notes=b"a note, no array"))  # fmt: skip
_npz("a header of a negative shape", "`(-3, 3)`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(-3, 3)")))  # fmt: skip
_npz("a header of a shape beyond all memory", "`(10**15, 3)`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(1000000000000000, 3)")))  # fmt: skip
_npz("a header that is no header", "`{'descr': ` cut off", REFUSED, (), lambda p, a: npz_with(p, {"label": a["label"]},
    probabilities=b"\x93NUMPY\x01\x00\x20\x00{'descr': '<f8', 'fortran_order'"))  # fmt: skip
_npz("a header of an unknown type", "`'descr': 'hello'`", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=_header("(240, 3)", "hello")))  # fmt: skip
_npz("a header of a version to come", "version 9.0", REFUSED, (),
    lambda p, a: npz_with(p, {"label": a["label"]}, probabilities=b"\x93NUMPY\x09\x00" + bytes(100)))  # fmt: skip
_npz("an archive without arrays", "a zip file of a text", REFUSED, (),
    lambda p, a: _archive(p, {"readme.txt": b"hello"}))  # fmt: skip
_npz("an empty archive", "a zip file of nothing", REFUSED, (), lambda p, a: _archive(p, {}))
_npz("a path in a member's name", "`../../label.npy`", (REFUSED, SAME), (),
    lambda p, a: npz_with(p, {**a, "../../x": a["label"]}))  # fmt: skip


def _header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(64)


def _archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _twice(path: Path, held: dict[str, Any]) -> Path:
    import warnings

    npz_with(path, held)
    out = io.BytesIO()
    np.save(out, np.roll(held["label"], 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("label.npy", out.getvalue())
    return path
