"""Classes of input: JSONL files that are damaged, odd or written by another program."""

from __future__ import annotations

import gzip
import json
from typing import Any

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import as_lists, jsonl_text
from .texts import JSONL


def _jsonl(
    name: str, came: str, must: Any, words: Any, change: Any, file: str = "t.jsonl", close: float = 1e-9
) -> None:
    trial(JSONL, name, came, must, words, ("jsonl",))(
        lambda kit, form: kit.estimate(target=kit.path(file, change(jsonl_text(kit.target()))), close=close)
    )


def _objects(text: str, change: Any) -> str:
    """The lines with each object changed: `change(row number from 0, object)` gives the object or a text."""
    made = [change(i, json.loads(line)) for i, line in enumerate(text.splitlines())]
    return "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in made)


_jsonl("keys in another order on every line", "`label` first, then last", SAME, (),
    lambda t: _objects(t, lambda i, o: dict(list(o.items())[i % 4 :] + list(o.items())[: i % 4])))  # fmt: skip
_jsonl("keys that nobody knows", "`comment` on some lines", SAME, (),
    lambda t: _objects(t, lambda i, o: {**o, **({"comment": {"by": ["x", i]}} if i % 3 == 0 else {})}))  # fmt: skip
_jsonl("a key twice in one object", '`{"prob_cat": 0.9, ..., "prob_cat": 0.1}`', REFUSED, ("row 7", "prob_cat"),
    lambda t: _objects(t, lambda i, o: o if i != 6 else json.dumps(o)[:-1] + ', "prob_cat": 0.1}'))  # fmt: skip
_jsonl("a label twice in one object", '`{"label": "cat", ..., "label": "dog"}`', REFUSED, ("row 7", "label"),
    lambda t: _objects(t, lambda i, o: o if i != 6 else json.dumps(o)[:-1] + ', "label": "dog"}'))  # fmt: skip
_jsonl("a key that is missing on one line", "no `prob_dog` in row 7", REFUSED, ("row 7", "prob_dog"),
    lambda t: _objects(t, lambda i, o: {k: v for k, v in o.items() if i != 6 or k != "prob_dog"}))  # fmt: skip
_jsonl("blank lines between rows", "an empty line after each", SAME, (), lambda t: t.replace("\n", "\n\n"))
_jsonl("lines that end as on Windows", "`\\r\\n`", SAME, (), lambda t: t.replace("\n", "\r\n"))
_jsonl("a byte order mark", "UTF-8 with BOM", SAME, (), lambda t: b"\xef\xbb\xbf" + t.encode())
_jsonl("packed by gzip", "`t.jsonl.gz`", SAME, (), lambda t: gzip.compress(t.encode()), "t.jsonl.gz")
_jsonl("a JSON array", "`[{...}, {...}]`", REFUSED, "JSON array", lambda t: "[" + ",".join(t.splitlines()) + "]")
_jsonl("one object over many lines", "indented JSON", REFUSED, (),
    lambda t: json.dumps(json.loads(t.splitlines()[0]), indent=2))  # fmt: skip
_jsonl("commas at the ends of lines", "`{...},`", REFUSED, "row 1", lambda t: t.replace("}\n", "},\n"))
_jsonl("a line that is no object", "`3` in row 7", REFUSED, "row 7",
    lambda t: _objects(t, lambda i, o: o if i != 6 else "3"))  # fmt: skip
_jsonl("a line cut off", "row 7 ends early", REFUSED, "row 7",
    lambda t: _objects(t, lambda i, o: o if i != 6 else json.dumps(o)[:20]))  # fmt: skip
_jsonl("cut off at the end", "the last 20 bytes are missing", REFUSED, "row 240", lambda t: t[:-20])
_jsonl("two objects on a line", "`{...} {...}`", (REFUSED, SAME), (), lambda t: t.replace("}\n{", "} {", 1))
_jsonl("numbers that JSON does not know", "`NaN`", REFUSED, "row 7",
    lambda t: _objects(t, lambda i, o: {**o, "prob_cat": float("nan")} if i == 6 else o))  # fmt: skip
_jsonl("single quotes", "`{'prob_cat': 0.9}`", REFUSED, "row 1", lambda t: t.replace('"', "'"))
_jsonl(
    "deep nesting",
    "5,000 lists in one another",
    REFUSED,
    (),
    lambda t: _objects(
        t,
        lambda i, o: o if i != 6 else json.dumps({**o, "prob_cat": 0})[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}",
    ),
)
_jsonl("a number of 400 digits", "`1000...`", REFUSED, "row 7",
    lambda t: _objects(t, lambda i, o: {**o, "prob_cat": 10**400} if i == 6 else o))  # fmt: skip
_jsonl("true in a column of numbers", "`true` for every probability of one class", REFUSED, "prob_cat",
    lambda t: _objects(t, lambda i, o: {**o, "prob_cat": True, "prob_dog": 0, "prob_emu": 0}))  # fmt: skip
_jsonl(
    "bytes that are no text", "0xe9 in a label", REFUSED, "UTF-8", lambda t: t.encode().replace(b"emu", b"\xe9mu", 1)
)
_jsonl("half a surrogate pair", '`"\\ud800"` as a label', REFUSED, (), lambda t: _objects(t,
    lambda i, o: json.dumps(o).replace(f'"{o["label"]}"}}', '"\\ud800"}') if i == 6 else o))  # fmt: skip
_jsonl("escaped letters in keys", '`"prob_\\u0063at"`', SAME, (), lambda t: t.replace('"prob_cat"', '"prob_\\u0063at"'))
_jsonl("an empty file", "0 bytes", REFUSED, "empty", lambda t: "")
_jsonl("only blank lines", "`\\n\\n`", REFUSED, "at least one row", lambda t: "\n\n")


@trial(JSONL, "a key first seen far down", "`label` begins after 2 MB", (SAME, WARNED, REFUSED), "label", ("jsonl",))
def _(kit: Kit, form: str) -> Call:
    columns = {k: v * 100 for k, v in kit.reference().items()}
    rows = len(columns["label"])
    late = rows - 2400
    lines = jsonl_text({k: v for k, v in columns.items() if k != "label"}).splitlines()[:late]
    tail = jsonl_text({k: v[late:] for k, v in columns.items()})
    holed = {**columns, "label": [None] * late + columns["label"][late:]}
    return kit.evaluate(kit.path("r.jsonl", "\n".join(lines) + "\n" + tail), clean=kit.put("holed.parquet", holed))


@trial(JSONL, "lists of other lengths", "2 probabilities in row 7, 3 elsewhere", REFUSED, ("row 7", "probabilities"),
    ("jsonl",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][6] = columns["probabilities"][6][:2]
    return kit.evaluate(kit.put("r.jsonl", columns))


@trial(JSONL, "a list within a list", "[[0.9, 0.06, 0.04]] in row 7", REFUSED, ("row 7", "probabilities"), ("jsonl",))
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][6] = [columns["probabilities"][6]]
    return kit.evaluate(kit.put("r.jsonl", columns))
