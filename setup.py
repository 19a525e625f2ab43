"""The compiled passes; everything else about the package stands in pyproject.toml.

One build serves every Python from 3.11 on. Without a compiler the package installs all the same, and the plain numpy
passes do the work (docs/decisions.md). ``OODOMETER_PURE=1`` leaves them out: the wheel is for any
system then.
"""

import os

from setuptools import Extension, setup

PASSES = Extension(
    "oodometer.kernels._passes",
    sources=["src/oodometer/kernels/passes.c"],
    depends=["src/oodometer/kernels/passes_of.h"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    extra_compile_args=["-O3", "-ffp-contract=off"],
    py_limited_api=True,
    optional=True,
)

setup(ext_modules=[] if os.environ.get("OODOMETER_PURE") == "1" else [PASSES])
