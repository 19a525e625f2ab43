"""Build the source archive, the wheel and the pure-Python wheel, and try each in an environment of its own.

    python scripts/wheels.py [--out dist]

The wheels are built from the source archive, so that what it lacks is seen. Each of four installations (archive,
archive without a compiler, wheel, pure wheel) then imports the package in less than 0.3 s, runs the demonstration, and
says whether it has the compiled passes; all four must give the same numbers. `make wheel` runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMPORT_LIMIT = 0.3  # seconds
TRIES = 7

PROBE = """
import json, sys, time
start = time.perf_counter()
import oodometer
took = time.perf_counter() - start
heavy = [name for name in ("sklearn", "pandas", "torch", "altair", "scipy.stats") if name in sys.modules]
from oodometer.kernels.threads import passes
print(json.dumps({"version": oodometer.__version__, "seconds": took, "heavy": heavy, "compiled": passes is not None}))
"""


def run(*command: str | Path, **env: str) -> str:
    """What the command printed; its errors and an end of the script where it fails."""
    done = subprocess.run(
        [str(one) for one in command],
        env={**os.environ, "PYTHONPATH": "", **env},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(out: Path) -> dict[str, Path]:
    """Archive and wheels in ``out``, by name."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    archive = one_of(out, "*.tar.gz")
    made = {"archive": archive}
    for name, pure in (("wheel", "0"), ("pure wheel", "1")):
        with tempfile.TemporaryDirectory() as folder:
            run(
                sys.executable,
                "-m",
                "pip",
                "wheel",
                "--no-deps",
                "-w",
                folder,
                archive,
                OODOMETER_PURE=pure,
            )
            wheel = one_of(Path(folder), "*.whl")
            made[name] = Path(shutil.copy(wheel, out))
    return made


def one_of(folder: Path, pattern: str) -> Path:
    """The only file of this pattern."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"expected one {pattern} in {folder}, got {[one.name for one in found]}")
    return found[0]


def tried(what: Path, folder: Path, **env: str) -> tuple[bool, str]:
    """Install into a fresh environment and use it: whether the passes are compiled, and the demonstration's table."""
    start = time.monotonic()
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", what, **env)
    installed = time.monotonic() - start
    probes = [json.loads(run(python, "-c", PROBE)) for _ in range(TRIES)]
    seconds = sorted(probe["seconds"] for probe in probes)[TRIES // 2]
    if seconds > IMPORT_LIMIT or probes[0]["heavy"]:
        sys.exit(f"import oodometer took {seconds:.2f} s and loaded {probes[0]['heavy']}")
    table = run(folder / "bin" / "oodometer", "demo", "--out", folder / "demo")
    size = (
        sum(
            file.stat().st_size
            for file in folder.rglob("*")
            if file.is_file() and not file.is_symlink()
        )
        / 1e6
    )
    print(
        f"{what.name}: {probes[0]['version']}, installed in {installed:.0f} s, {size:.0f} MB with its environment, "
        f"import {seconds:.3f} s, {'compiled' if probes[0]['compiled'] else 'plain numpy'} passes"
    )
    rows = [line for line in table.splitlines() if line[:1].isdigit()]
    return probes[0]["compiled"], "\n".join(rows)


def main() -> None:
    """Build and try."""
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    words.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="folder of what is built; emptied first"
    )
    asked = words.parse_args()
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    made = build(asked.out.resolve())
    if (
        not made["pure wheel"].name.endswith("-py3-none-any.whl")
        or "-cp311-abi3-" not in made["wheel"].name
    ):
        sys.exit(f"wheels of the wrong kind: {made['wheel'].name}, {made['pure wheel'].name}")
    cases = {
        "archive": (made["archive"], {}, True),
        "archive without a compiler": (made["archive"], {"CC": "no-such-compiler"}, False),
        "wheel": (made["wheel"], {}, True),
        "pure wheel": (made["pure wheel"], {}, False),
    }
    tables = set()
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, (what, env, compiled)) in enumerate(cases.items()):
            print(f"{name}: ", end="", flush=True)
            has, table = tried(what, Path(folder) / str(i), **env)
            if has != compiled:
                sys.exit(f"{name}: expected {'compiled' if compiled else 'plain'} passes")
            tables.add(table)
            shutil.rmtree(Path(folder) / str(i))
    if len(tables) != 1 or not all(tables):
        sys.exit("the installations give different numbers:\n" + "\n\n".join(sorted(tables)))
    print(f"the demonstration gives the same table in all {len(cases)}; built: {asked.out}")


if __name__ == "__main__":
    main()
