"""Extras: the line that installs one, from wherever this package itself came."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "oodometer"


def install_line(extra: str) -> str:
    """The command that adds the extra to this installation.

    An index may not hold the package, or another release of it, so the line names the place that this one came from
    (PEP 610): a checkout, a wheel or a repository. Where that place is gone, it names the libraries themselves, and for
    a package from an index the extra.

    >>> install_line("report").startswith("pip install ")
    True
    """
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:  # run from the sources, never installed
        root = Path(__file__).resolve().parents[2]
        return f"pip install '{root}[{extra}]'" if (root / "pyproject.toml").is_file() else _from_index(extra)
    try:
        origin = json.loads(found.read_text("direct_url.json") or "{}")
        return _from_origin(found, origin, extra) if origin else _from_index(extra)
    except (ValueError, KeyError, TypeError, AttributeError):  # written by another hand than pip's
        return _from_index(extra)


def _from_index(extra: str) -> str:
    return f"pip install '{_NAME}[{extra}]'"


def _from_origin(found: Distribution, origin: dict[str, dict[str, str]], extra: str) -> str:
    url = str(origin["url"])
    if "vcs_info" in origin:
        return f"pip install '{_NAME}[{extra}] @ {origin['vcs_info']['vcs']}+{url}@{origin['vcs_info']['commit_id']}'"
    if urlsplit(url).scheme != "file":
        return f"pip install '{_NAME}[{extra}] @ {url}'"
    path = Path(url2pathname(urlsplit(url).path))
    if not path.exists():
        return _libraries(found, extra)
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f"pip install {editable}'{path}[{extra}]'"


def _libraries(found: Distribution, extra: str) -> str:
    """The libraries of the extra by name; a requirement of ours is ``vl-convert-python>=1.8; extra == "report"``."""
    asked = [one.partition(";") for one in found.requires or []]
    of_extra = [name.strip() for name, _, marker in asked if marker.strip().replace("'", '"') == f'extra == "{extra}"']
    return "pip install " + " ".join(f"'{name}'" for name in of_extra) if of_extra else _from_index(extra)
