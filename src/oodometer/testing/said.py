"""Said: the contract check of what a registered method says of itself."""

from __future__ import annotations

import inspect
from typing import Any

from ..citations import BIBTEX


def check_said(method: Any) -> None:
    """Check name, sentence, docstring and citation of a method; `AssertionError` names the rule that was broken."""
    said = inspect.getdoc(type(method)) or ""
    assert method.name
    assert method.name == method.name.strip().lower(), "a name in lower case"
    assert method.about, "`about` is one sentence"
    assert not method.about.endswith("."), "`about` is one sentence without its full stop"
    assert "Source:" in said, "the docstring names a source"
    assert ">>>" in said, "the docstring has an example"
    assert method.citation in BIBTEX, f"{method.citation} stands in citations.bib"
