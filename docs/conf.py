"""Sphinx settings; `make docs` builds with warnings as errors."""

import re

import oodometer

project = "oodometer"
author = "The oodometer authors"
copyright = "The oodometer authors"
version = release = oodometer.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
suppress_warnings = [
    "misc.highlighting_failure"
]  # a shell command over two lines in a notebook has no lexer
nb_execution_mode = "off"  # the notebooks hold their outputs; `make tutorials` makes them
default_role = "py:obj"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_param = False

html_theme = "furo"
html_title = "oodometer"


def adapt_docstring(app, what, name, obj, options, lines):
    """Turn the short form of our docstrings into what napoleon reads.

    A paragraph of lines "name : what it is" becomes a section, and each text stands on a line of its own; an example
    after a section gets the heading that ends the section. Bars of formulas, |x|, are no substitutions.
    """
    out = []
    section = shown = False
    for i, line in enumerate(lines):
        shown = line.lstrip().startswith(">>>") or (shown and bool(line.strip()))
        if "|" in line and not shown:
            words = line.split("``")  # every other one is code
            words[::2] = [word.replace("|", "\\|") for word in words[::2]]
            line = "``".join(words)
        if re.fullmatch(r"-{3,}", line):
            section = lines[i - 1] != "Examples"
        elif section and line.startswith(">>>"):
            out += ["Examples", "--------"]
            section = False
        elif (
            match := re.fullmatch(r"(\S.*?) : (.+)" if section else r"(\w+(?:, \w+)*) : (.+)", line)
        ) and (
            section or not "".join(out[-1:]).strip()  # a paragraph of parameters needs no heading
        ):
            out += [] if section else ["Parameters", "----------"]
            section = True
            out.append(match[1])
            line = "    " + match[2]
        out.append(line)
    lines[:] = out


def setup(app):
    """Read the docstrings before napoleon does (which stands at priority 500)."""
    app.connect("autodoc-process-docstring", adapt_docstring, priority=400)
