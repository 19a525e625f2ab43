"""The documents: guides in the order of use, none of them in need of the decisions; an API of public names only."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import oodometer

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_SPEC = importlib.util.spec_from_file_location(
    "console_of_documents", ROOT / "scripts" / "console.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
console = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(console)
GUIDES = sorted(path.stem for path in (DOCS / "guides").glob("*.md") if path.stem != "index")
NAMED = re.compile(
    r"\.\. auto(module|class|function|data):: (oodometer[\w.]*)\n(?:   :members: *([\w, \n]*))?"
)


def test_every_guide_stands_once_in_the_index() -> None:
    index = (DOCS / "guides" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL)
    listed = [
        line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")
    ]
    assert sorted(listed) == GUIDES


@pytest.mark.parametrize("guide", GUIDES)
def test_no_guide_sends_its_reader_to_the_decisions(guide: str) -> None:
    assert "decisions.md" not in (DOCS / "guides" / f"{guide}.md").read_text(encoding="utf-8")


PAGES = sorted(DOCS.glob("[gh]*/*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_opens_with_its_question(path: Path) -> None:
    assert "?" in "".join(path.read_text(encoding="utf-8").splitlines()[1:6])


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
    asked = (
        [one.strip() for one in members.split(",") if one.strip()] if kind == "module" else [last]
    )
    module = module_of(home)
    public = getattr(module, "__all__", None) or [
        one for one in dir(module) if not one.startswith("_")
    ]
    assert sorted(set(asked) - set(public)) == []


def test_the_whole_public_face_is_in_the_api() -> None:
    assert ("module", "oodometer", "") in documented()
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    verbs = [name for name in oodometer.__all__ if name.islower() and not name.startswith("_")]
    assert [name for name in verbs if f"`{name}`" not in text] == []


SAMPLES = [path for path in console.PAGES if console.has_samples(path)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_its_commands_print(path: Path) -> None:
    _, difference, skipped = console.drift(path)
    assert not difference, (
        f"{difference}\nLook at it, then run: python scripts/console.py {path.stem}"
    )
    if lacking := [block for block in skipped if "(data" in block]:
        pytest.skip(f"OODOMETER_DATA is not set: {'; '.join(lacking)}")


def test_samples_in_documents_show_where_they_drift() -> None:
    """Lines left out, times and last digits that may differ, numbers that may not, and a part that has grown."""
    old = "Accuracy: 90.0 %\n...\nslice   rows\nnorth     12\n...\ntook 1.2 s\n"
    new = (
        "Accuracy: 90.0 %\n  by 12 labels\n\nslice   rows\nnorth     12\nsouth      3\ntook 3.4 s\n"
    )
    assert console.like(old, new) == old
    assert console.like(old, new.replace("12\nsouth", "14\nsouth")) == old.replace(
        "     12", "     14"
    )
    assert console.like(old, new.replace("90.0", "90.1")) == old
    assert console.like("a 1\n", "a 1\nb 2\n") == "a 1\nb 2\n"
    assert (
        console.some("north     14\nboth  14 s\n", new + "both  15 s\n")
        == "north     12\nboth  14 s\n"
    )
    assert console.run("echo 3 | cat; exit 3") == ("3\n", 3)
