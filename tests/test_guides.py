"""The documents: guides in the order of use, none of them in need of the decisions; an API of public names only."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import oodometer

DOCS = Path(__file__).resolve().parent.parent / "docs"
GUIDES = sorted(path.stem for path in (DOCS / "guides").glob("*.md") if path.stem != "index")
NAMED = re.compile(r"\.\. auto(module|class|function|data):: (oodometer[\w.]*)\n(?:   :members: *([\w, \n]*))?")


def test_every_guide_stands_once_in_the_index() -> None:
    index = (DOCS / "guides" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert sorted(listed) == GUIDES


@pytest.mark.parametrize("guide", GUIDES)
def test_no_guide_sends_its_reader_to_the_decisions(guide: str) -> None:
    assert "decisions.md" not in (DOCS / "guides" / f"{guide}.md").read_text(encoding="utf-8")


def documented() -> list[tuple[str, str, str]]:
    """Kind, dotted name and members of everything that the API reference shows."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    return [(kind, name, members.strip()) for kind, name, members in NAMED.findall(text)]


def module_of(name: str) -> ModuleType:
    pytest.importorskip("captum", reason="needs the extra explain: pip install '.[explain]'")
    return importlib.import_module(name)


@pytest.mark.parametrize(("kind", "name", "members"), documented(), ids=lambda text: str(text)[:60])
def test_the_api_shows_public_names_only(kind: str, name: str, members: str) -> None:
    assert not any(part.startswith("_") for part in name.split("."))
    home, _, last = (name, "", "") if kind == "module" else name.rpartition(".")
    asked = [one.strip() for one in members.split(",") if one.strip()] if kind == "module" else [last]
    module = module_of(home)
    public = getattr(module, "__all__", None) or [one for one in dir(module) if not one.startswith("_")]
    assert sorted(set(asked) - set(public)) == []


def test_the_whole_public_face_is_in_the_api() -> None:
    assert ("module", "oodometer", "") in documented()
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    verbs = [name for name in oodometer.__all__ if name.islower() and not name.startswith("_")]
    assert [name for name in verbs if f"`{name}`" not in text] == []
