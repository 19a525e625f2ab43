"""JSON text of a result, as `--json` and files that end in .json hold it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from json import dumps
from typing import Any

# What JSON may hold as it is and a terminal must not get: further controls, turns of direction, half characters.
_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def json_text(result: Mapping[str, Any]) -> str:
    r"""The mapping as JSON that nothing in it can steer a terminal with.

    >>> json_text({"name": "a\u202e"})
    '{\n  "name": "a\\u202e"\n}\n'
    """
    text = dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return _UNSAFE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
