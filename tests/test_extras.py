"""The line that installs an extra, by where the package came from; every `pip install` line of the documents."""

from __future__ import annotations

import importlib.metadata
import json
import re
import tomllib
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from oodometer.errors import install_line

ROOT = Path(__file__).resolve().parent.parent
EXTRAS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


class Installed(Distribution):
    """An installation that says where it came from; ``origin`` is the text of its ``direct_url.json``."""

    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, filename: str) -> str | None:
        return self.origin if filename == "direct_url.json" else None

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(path)

    @property
    def metadata(self) -> Any:
        out = Message()
        for line in (
            "numpy>=2",
            'altair>=5.5; extra == "dev"',
            'vl-convert-python>=1.8; extra == "report"',
        ):
            out["Requires-Dist"] = line
        return out


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "pip install 'oodometer[report]'"),
        ({"url": "{here}", "dir_info": {}}, "pip install '{path}[report]'"),
        ({"url": "{here}", "dir_info": {"editable": True}}, "pip install -e '{path}[report]'"),
        ({"url": "{here}/gone.whl", "archive_info": {}}, "pip install 'vl-convert-python>=1.8'"),
        (
            {"url": "https://example.org/o.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'oodometer[report] @ git+https://example.org/o.git@abc'",
        ),
        (
            {"url": "https://example.org/oodometer-1-py3-none-any.whl", "archive_info": {}},
            "pip install 'oodometer[report] @ https://example.org/oodometer-1-py3-none-any.whl'",
        ),
        ({"dir_info": {}}, "pip install 'oodometer[report]'"),
    ],
)
def test_the_line_names_the_place_that_the_package_came_from(
    origin: dict[str, Any] | None, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "my checkout"
    here.mkdir()
    said = json.dumps(origin).replace("{here}", here.as_uri()) if origin else None
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed(said))
    assert install_line("report") == line.replace("{path}", str(here))


def test_a_broken_note_of_the_origin_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("{", "[1]", '{"url": "file:///gone", "dir_info": null}'):
        monkeypatch.setattr(
            importlib.metadata, "distribution", lambda name, said=said: Installed(said)
        )
        assert install_line("report").startswith("pip install '")


def test_sources_that_were_never_installed_name_their_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)
    assert install_line("hf") == f"pip install '{ROOT}[hf]'"


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.md")]


@pytest.mark.parametrize(
    "path", [p for p in DOCUMENTS if p.name != "CHANGELOG.md"], ids=lambda p: p.stem
)
def test_documents_install_from_the_checkout_until_an_index_has_the_package(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    for line in re.findall(r"pip install [^\n`]*", page):
        asked = re.search(r"(\.|oodometer)\[([\w,]+)\]", line)
        if asked:
            assert set(asked[2].split(",")) <= set(EXTRAS), line
        if "oodometer" in re.sub(r"\S*\.whl\S*", "", line):
            assert path.name in ("README.md", "first_steps.md"), line
            assert "once an index has it" in page.lower(), line
