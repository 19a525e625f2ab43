"""Classes of input: text files, CSV and JSONL, that are damaged, odd or written by another program."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from typing import Any

from .base import REFUSED, SAME, WARNED, Call, Kit, trial
from .material import as_lists, csv_text, jsonl_text

CSV, JSONL = "CSV", "JSONL"


def _csv(
    name: str,
    came: str,
    must: Any,
    words: Any,
    change: Any,
    file: str = "t.csv",
    close: float = 1e-9,
) -> None:
    """A class made from the text (or the bytes) of a clean target."""

    trial(CSV, name, came, must, words, ("csv",),
        lambda kit, form: kit.estimate(target=kit.path(file, change(csv_text(kit.target()))), close=close))  # fmt: skip


def _lines(text: str) -> list[str]:
    return text.splitlines()


def _replace_line(number: int, make: Any) -> Any:
    def change(text: str) -> str:
        lines = _lines(text)
        lines[number] = make(lines[number])
        return "\n".join(lines) + "\n"

    return change


_csv("lines that end as on Windows", "`\\r\\n`", SAME, (), lambda t: t.replace("\n", "\r\n"))
_csv("lines that end as on old Macs", "`\\r`", (SAME, REFUSED), (), lambda t: t.replace("\n", "\r"))
_csv("a byte order mark", "UTF-8 with BOM", SAME, (), lambda t: b"\xef\xbb\xbf" + t.encode())
_csv("tabs between cells", "`0.9<tab>0.06`", SAME, (), lambda t: t.replace(",", "\t"))
_csv("semicolons between cells", "`0.9;0.06`", SAME, (), lambda t: t.replace(",", ";"))
_csv("every cell in quotes", '`"0.9","0.06"`', SAME, (),
    lambda t: "".join(",".join(f'"{c}"' for c in line.split(",")) + "\n" for line in _lines(t)))  # fmt: skip
_csv(
    "blanks after the commas",
    "`0.9, 0.06, 0.04, cat`",
    (SAME, REFUSED),
    (),
    lambda t: t.replace(",", ", "),
)
_csv(
    "blank lines between rows",
    "an empty line after each row",
    SAME,
    (),
    lambda t: t.replace("\n", "\n\n"),
)
_csv("no newline at the end", "the last byte is a letter", SAME, (), lambda t: t.rstrip("\n"))
_csv(
    "numbers with many digits",
    "`0.90000000000000000000`",
    SAME,
    (),
    lambda t: (
        "\n".join(
            [_lines(t)[0]]
            + [
                ",".join([c + "0" * 30 for c in line.split(",")[:-1]] + [line.split(",")[-1]])
                for line in _lines(t)[1:]
            ]
        )
        + "\n"
    ),
)
_csv(
    "numbers with exponents",
    "`9.0e-01`",
    SAME,
    (),
    lambda t: (
        "\n".join(
            [_lines(t)[0]]
            + [
                ",".join([f"{float(c):.12e}" for c in line.split(",")[:-1]] + [line.split(",")[-1]])
                for line in _lines(t)[1:]
            ]
        )
        + "\n"
    ),
    close=1e-8,
)
_csv(
    "an unknown column",
    "a column `comment`",
    SAME,
    (),
    lambda t: (
        "\n".join(
            line + (",comment" if i == 0 else f',"said ""{i}"""')
            for i, line in enumerate(_lines(t))
        )
        + "\n"
    ),
)
_csv("an empty file", "0 bytes", REFUSED, "empty", lambda t: "")
_csv(
    "a header without rows", "one line", REFUSED, "at least one row", lambda t: _lines(t)[0] + "\n"
)
_csv("only blank lines", "`\\n\\n\\n`", REFUSED, "blank", lambda t: "\n\n\n")
_csv(
    "no header line",
    "the first line is a row",
    REFUSED,
    "header line",
    lambda t: t.split("\n", 1)[1],
)
_csv(
    "the header line twice",
    "it stands again as row 1",
    REFUSED,
    "row 1",
    lambda t: _lines(t)[0] + "\n" + t,
)
_csv("the header line again in the middle", "two files pasted together", REFUSED, "row 101",
    lambda t: "\n".join([*_lines(t)[:101], *_lines(t)]) + "\n")  # fmt: skip
_csv("a cell too few", "row 7 has 3 cells", REFUSED, ("row 7", "cells"),
    _replace_line(7, lambda x: x.rsplit(",", 1)[0]))  # fmt: skip
_csv(
    "a cell too many",
    "row 7 has 5 cells",
    REFUSED,
    ("row 7", "cells"),
    _replace_line(7, lambda x: x + ",1"),
)
_csv(
    "an open quote", 'row 7 begins with `"`', REFUSED, "row 7", _replace_line(7, lambda x: '"' + x)
)
_csv("cut off in a row", "the last 20 bytes are missing", REFUSED, (), lambda t: t[:-20])
_csv(
    "a column twice",
    "`prob_cat` twice",
    REFUSED,
    "prob_cat twice",
    lambda t: t.replace("prob_dog", "prob_cat", 1),
)
_csv("a zero byte", "`\\0` in a cell", REFUSED, (), _replace_line(7, lambda x: "\0" + x))
_csv(
    "bytes that are no text",
    "0xe9 in a label",
    REFUSED,
    "UTF-8",
    lambda t: t.encode().replace(b"emu", b"\xe9mu", 1),
)
_csv("UTF-16", "every second byte is zero", SAME, (), lambda t: t.encode("utf-16"))
_csv(
    "a comment above the header", "`# made by ...`", REFUSED, (), lambda t: "# made by a tool\n" + t
)
_csv(
    "`sep=;` above the header",
    "as a spreadsheet writes it",
    (REFUSED, SAME),
    (),
    lambda t: "sep=,\n" + t,
)
_csv("an index column without a name", "the first header cell is empty", SAME, (),
    lambda t: "\n".join(("" if i == 0 else str(i - 1)) + "," + line for i,
    line in enumerate(_lines(t))) + "\n")  # fmt: skip
_csv("thousands separators", '`"1,000"` in a cell', REFUSED, "row 7",
    _replace_line(7, lambda x: '"1,000",' + x.split(",", 1)[1]))  # fmt: skip
_csv(
    "hexadecimal digits",
    "`0x1` in a cell",
    REFUSED,
    "row 7",
    _replace_line(7, lambda x: "0x1," + x.split(",", 1)[1]),
)
_csv("digits of another script", "Arabic digits in a cell", REFUSED, "row 7",
    _replace_line(7, lambda x: "٠.٥," + x.split(",", 1)[1]))  # fmt: skip
_csv("a spreadsheet's error", "`#N/A` in a cell", REFUSED, "row 7",
    _replace_line(7, lambda x: "#N/A," + x.split(",", 1)[1]))  # fmt: skip
_csv("a spreadsheet's formula", "`=1-B2` in a cell", REFUSED, "row 7",
    _replace_line(7, lambda x: "=1-B2," + x.split(",", 1)[1]))  # fmt: skip
_csv(
    "a web page",
    "`<html>`",
    REFUSED,
    (),
    lambda t: "<!DOCTYPE html><html><body>Not found</body></html>\n",
)
_csv("a large-file pointer", "`version https://git-lfs...`", REFUSED, (),
    lambda t: "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")  # fmt: skip
_csv("packed by gzip", "`t.csv.gz`", SAME, (), lambda t: gzip.compress(t.encode()), "t.csv.gz")
_csv(
    "packed by bzip2",
    "`t.csv.bz2`",
    (SAME, REFUSED),
    (),
    lambda t: bz2.compress(t.encode()),
    "t.csv.bz2",
)
_csv(
    "packed by xz",
    "`t.csv.xz`",
    (SAME, REFUSED),
    (),
    lambda t: lzma.compress(t.encode()),
    "t.csv.xz",
)
_csv("gzip in two members", "two gzip files joined", SAME, (),
    lambda t: gzip.compress(t[:900].encode()) + gzip.compress(t[900:].encode()), "t.csv.gz")  # fmt: skip
_csv("gzip cut off", "the second half is missing", REFUSED, "cut off", lambda t: gzip.compress(t.encode())[:900],
    "t.csv.gz")  # fmt: skip
_csv("gzip with a wrong checksum", "a byte of the checksum flipped", REFUSED, (),
    lambda t: _flipped(gzip.compress(t.encode()), -6), "t.csv.gz")  # fmt: skip
_csv(
    "a gzip ending without gzip",
    "plain text in `t.csv.gz`",
    (REFUSED, SAME),
    (),
    lambda t: t,
    "t.csv.gz",
)
_csv(
    "gzip without its ending",
    "gzip in `t.csv`",
    (REFUSED, SAME),
    (),
    lambda t: gzip.compress(t.encode()),
)
_csv(
    "Parquet by the name of CSV",
    "`PAR1...` in `t.csv`",
    REFUSED,
    "parquet",
    lambda t: b"PAR1" + bytes(300) + b"PAR1",
)
_csv(
    "JSONL by the name of CSV",
    "`{...}` in `t.csv`",
    REFUSED,
    (),
    lambda t: '{"prob_cat": 1.0}\n{"prob_cat": 1.0}\n',
)
_csv("an ending in capitals", "`T.CSV`", SAME, (), lambda t: t, "T.CSV")
_csv(
    "a name with blanks and accents", "`mes données.csv`", SAME, (), lambda t: t, "mes données.csv"
)


def _flipped(content: bytes, at: int) -> bytes:
    out = bytearray(content)
    out[at] ^= 0x55
    return bytes(out)


@trial(CSV, "a list written by Python", "`[0.9 0.06 0.04]` without commas", SAME, (),
    ("csv",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.target())
    columns["probabilities"] = [f"[{' '.join(map(str, row))}]" for row in columns["probabilities"]]
    return kit.estimate(kit.put("r.csv", as_lists(kit.reference())), kit.put("t.csv", columns))


@trial(
    CSV,
    "blank lines in a file of one column",
    "an empty line among the labels",
    (REFUSED, SAME),
    (),
    ("csv",),
)
def _(kit: Kit, form: str) -> Call:
    labels = kit.target()["label"]
    lines = ["label", *[v if i != 100 else "" for i, v in enumerate(labels)]]
    holed = {"label": [v if i != 100 else None for i, v in enumerate(labels)]}
    clean = kit.estimate(None, None, "--labels", str(kit.put("holed.parquet", holed)), clean=None)
    return kit.estimate(
        None, None, "--labels", str(kit.path("labels.csv", "\n".join(lines) + "\n")), clean=clean
    )


trial(
    CSV,
    "a short row far down",
    "row 200,001 has a cell less",
    REFUSED,
    "row 200001",
    ("csv",),
    lambda kit, form: kit.estimate(
        target=kit.path(
            "t.csv", "prob_cat,prob_dog,prob_emu\n" + "0.5,0.3,0.2\n" * 200_000 + "0.5,0.5\n"
        )
    ),
)


def _jsonl(
    name: str,
    came: str,
    must: Any,
    words: Any,
    change: Any,
    file: str = "t.jsonl",
    close: float = 1e-9,
) -> None:
    trial(JSONL, name, came, must, words, ("jsonl",),
        lambda kit, form: kit.estimate(target=kit.path(file, change(jsonl_text(kit.target()))),
        close=close))  # fmt: skip


def _seventh(change: Any) -> Any:
    return lambda text: _objects(text, lambda i, o: change(o), 6)


def _objects(text: str, change: Any, row: int | None = None) -> str:
    """The lines with each object (or that of a row) changed: `change(row number from 0, object)`, object or text."""
    objects = [json.loads(line) for line in text.splitlines()]
    made = [change(i, one) if row in (None, i) else one for i, one in enumerate(objects)]
    return "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in made)


_jsonl("keys in another order on every line", "`label` first, then last", SAME, (),
    lambda t: _objects(t, lambda i, o: dict(list(o.items())[i % 4 :] + list(o.items())[: i % 4])))  # fmt: skip
_jsonl("keys that nobody knows", "`comment` on some lines", SAME, (),
    lambda t: _objects(t, lambda i, o: {**o, **({"comment": {"by": ["x", i]}} if i % 3 == 0 else {})}))  # fmt: skip
_jsonl("a key twice in one object", '`{"prob_cat": 0.9, ..., "prob_cat": 0.1}`', REFUSED, ("row 7", "prob_cat"),
    _seventh(lambda o: json.dumps(o)[:-1] + ', "prob_cat": 0.1}'))  # fmt: skip
_jsonl("a label twice in one object", '`{"label": "cat", ..., "label": "dog"}`', REFUSED, ("row 7", "label"),
    _seventh(lambda o: json.dumps(o)[:-1] + ', "label": "dog"}'))  # fmt: skip
_jsonl("a key that is missing on one line", "no `prob_dog` in row 7", REFUSED, ("row 7", "prob_dog"),
    lambda t: _objects(t, lambda i, o: {k: v for k, v in o.items() if i != 6 or k != "prob_dog"}))  # fmt: skip
_jsonl(
    "blank lines between rows",
    "an empty line after each",
    SAME,
    (),
    lambda t: t.replace("\n", "\n\n"),
)
_jsonl("lines that end as on Windows", "`\\r\\n`", SAME, (), lambda t: t.replace("\n", "\r\n"))
_jsonl("a byte order mark", "UTF-8 with BOM", SAME, (), lambda t: b"\xef\xbb\xbf" + t.encode())
_jsonl(
    "packed by gzip", "`t.jsonl.gz`", SAME, (), lambda t: gzip.compress(t.encode()), "t.jsonl.gz"
)
_jsonl(
    "a JSON array",
    "`[{...}, {...}]`",
    REFUSED,
    "JSON array",
    lambda t: "[" + ",".join(t.splitlines()) + "]",
)
_jsonl("one object over many lines", "indented JSON", REFUSED, (),
    lambda t: json.dumps(json.loads(t.splitlines()[0]), indent=2))  # fmt: skip
_jsonl(
    "commas at the ends of lines", "`{...},`", REFUSED, "row 1", lambda t: t.replace("}\n", "},\n")
)
_jsonl("a line that is no object", "`3` in row 7", REFUSED, "row 7", _seventh(lambda o: "3"))
_jsonl(
    "a line cut off", "row 7 ends early", REFUSED, "row 7", _seventh(lambda o: json.dumps(o)[:20])
)
_jsonl("cut off at the end", "the last 20 bytes are missing", REFUSED, "row 240", lambda t: t[:-20])
_jsonl(
    "two objects on a line",
    "`{...} {...}`",
    (REFUSED, SAME),
    (),
    lambda t: t.replace("}\n{", "} {", 1),
)
_jsonl("numbers that JSON does not know", "`NaN`", REFUSED, "row 7",
    _seventh(lambda o: {**o, "prob_cat": float("nan")}))  # fmt: skip
_jsonl("single quotes", "`{'prob_cat': 0.9}`", REFUSED, "row 1", lambda t: t.replace('"', "'"))
_jsonl(
    "deep nesting",
    "5,000 lists in one another",
    REFUSED,
    (),
    lambda t: _objects(
        t,
        lambda i, o: (
            o
            if i != 6
            else json.dumps({**o, "prob_cat": 0})[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}"
        ),
    ),
)
_jsonl(
    "a number of 400 digits",
    "`1000...`",
    REFUSED,
    "row 7",
    _seventh(lambda o: {**o, "prob_cat": 10**400}),
)
_jsonl("true in a column of numbers", "`true` for every probability of one class", REFUSED, "prob_cat",
    lambda t: _objects(t, lambda i, o: {**o, "prob_cat": True, "prob_dog": 0, "prob_emu": 0}))  # fmt: skip
_jsonl("bytes that are no text", "0xe9 in a label", REFUSED, "UTF-8",
    lambda t: t.encode().replace(b"emu", b"\xe9mu", 1))  # fmt: skip
_jsonl("half a surrogate pair", '`"\\ud800"` as a label', REFUSED, (), lambda t: _objects(t,
    lambda i, o: json.dumps(o).replace(f'"{o["label"]}"}}', '"\\ud800"}') if i == 6 else o))  # fmt: skip
_jsonl(
    "escaped letters in keys",
    '`"prob_\\u0063at"`',
    SAME,
    (),
    lambda t: t.replace('"prob_cat"', '"prob_\\u0063at"'),
)
_jsonl("an empty file", "0 bytes", REFUSED, "empty", lambda t: "")
_jsonl("only blank lines", "`\\n\\n`", REFUSED, "at least one row", lambda t: "\n\n")


@trial(
    JSONL,
    "a key first seen far down",
    "`label` begins after 2 MB",
    (SAME, WARNED, REFUSED),
    "label",
    ("jsonl",),
)
def _(kit: Kit, form: str) -> Call:
    columns = {k: v * 100 for k, v in kit.reference().items()}
    rows = len(columns["label"])
    late = rows - 2400
    lines = jsonl_text({k: v for k, v in columns.items() if k != "label"}).splitlines()[:late]
    tail = jsonl_text({k: v[late:] for k, v in columns.items()})
    holed = {**columns, "label": [None] * late + columns["label"][late:]}
    return kit.evaluate(
        kit.path("r.jsonl", "\n".join(lines) + "\n" + tail), clean=kit.put("holed.parquet", holed)
    )


@trial(JSONL, "lists of other lengths", "2 probabilities in row 7, 3 elsewhere", REFUSED, ("row 7", "probabilities"),
    ("jsonl",))  # fmt: skip
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][6] = columns["probabilities"][6][:2]
    return kit.evaluate(kit.put("r.jsonl", columns))


@trial(
    JSONL,
    "a list within a list",
    "[[0.9, 0.06, 0.04]] in row 7",
    REFUSED,
    ("row 7", "probabilities"),
    ("jsonl",),
)
def _(kit: Kit, form: str) -> Call:
    columns = as_lists(kit.reference())
    columns["probabilities"][6] = [columns["probabilities"][6]]
    return kit.evaluate(kit.put("r.jsonl", columns))
