"""The compiled passes, and README as an index shows it; everything else about the package stands in pyproject.toml.

One build serves every Python from 3.11 on. Without a compiler the package installs all the same, and the plain numpy
passes do the work (docs/decisions.md). ``OODOMETER_PURE=1`` leaves them out: the wheel is for any
system then. An index shows README alone, so that its links into the repository become addresses there.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).resolve().parent
LINK = re.compile(r"\]\((?!https?://|#)([^)\s]+)\)")  # of Markdown, to a file beside README
PASSES = Extension(
    "oodometer.kernels._passes",
    sources=["src/oodometer/kernels/passes.c"],
    depends=["src/oodometer/kernels/passes_of.h"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=["-O3", "-ffp-contract=off"],
    py_limited_api=True,
    optional=True,
)


def readme() -> str:
    """README with every link to a file of the repository as an address."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = project["urls"]["Repository"]

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1].endswith((".svg", ".png")) else "blob"
        return f"]({home}/{kind}/main/{link[1]})"

    return LINK.sub(absolute, (HERE / "README.md").read_text(encoding="utf-8"))


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    ext_modules=[] if os.environ.get("OODOMETER_PURE") == "1" else [PASSES],
)
