"""Ends runs with SIGKILL at random moments, runs the same command again, and demands what an undisturbed run gave."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import kit
from benchmarks.kit import RESULTS, ROOT
from oodometer.passes.run_folder import FACTS
from oodometer.runs import LOCK, MANIFEST

from .material import columns_of, select, write

# What differs between two runs of the same command: how long they took, on what, what was kept from before.
RESTLESS = re.compile(
    r"seconds|energy|kwh|emissions|power|watts|started|finished|took|date|kept|duration|machine|resumed|reused|per_second"
)
PAGES = re.compile(r"[\d.,]+ (s|ms|min|kWh|Wh|J|rows a second)\b")


@dataclass(frozen=True)
class Job:
    """A command with its inputs in a folder, and the outputs that must be whole whenever they are there."""

    name: str
    prepare: Callable[[Path], None]
    command: str  # of `python -m`
    outputs: tuple[str, ...]


def _predictions(folder: Path) -> None:
    wanted = ("prob_*", "label", "feature_*")
    write(folder / "r.parquet", select(columns_of(1, 1500), *wanted))
    write(folder / "t.parquet", select(columns_of(2, 1500, 0.8), *wanted))


def _pairs(folder: Path) -> None:
    rng = random.Random(0)
    with (folder / "pairs.jsonl").open("w") as file:
        for i in range(160):
            words = [rng.choice(["cat", "dog", "emu", "fox"]) for _ in range(4)]
            said = words[::-1] if i % 3 else rng.sample(words, 4)
            row = {
                "input": " ".join(words),
                "output": " ".join(said),
                "gold": " ".join(words[::-1]),
            }
            file.write(json.dumps(row) + "\n")


def _recipe(folder: Path) -> None:
    tiny_cogs().write_cogs(folder / "data")


def tiny_cogs() -> Any:
    """The tiny data and sizes of the recipe's own tests."""
    sys.path.insert(0, str(ROOT / "tests" / "recipes"))
    return importlib.import_module("tiny_cogs")


QUICK = "--method ac --method atc --method cbpe --method bbse"
JOBS = (
    Job("estimate", _predictions,
        f"oodometer estimate r.parquet t.parquet --backtest kept --json out.json --report out.html {QUICK}",
        ("out.json", "out.html")),
    Job("backtest", _predictions, f"oodometer backtest r.parquet --repeats 2 --json out.json {QUICK}", ("out.json",)),
    Job("backtest in a run folder", _predictions,
        f"oodometer backtest r.parquet --no-cache --run-folder kept --repeats 2 --json out.json {QUICK}",
        ("out.json",)),
    Job("audit in a run folder", _predictions,
        f"oodometer audit r.parquet t.parquet --run-folder kept --json out.json {QUICK}", ("out.json",)),
    Job("discriminate", _pairs,
        "oodometer discriminate train pairs.jsonl --out judges --judges 3 --epochs 2 --json out.json --device cpu",
        ("out.json",)),
    Job("reproduce", _recipe,
        "benchmarks.hostile.tiny_reproduce correctness-discriminators --workers 1 --task cogs --out run "
        "--json out.json", ("out.json", "run/result.json", "run/result.md")),
)  # fmt: skip


def start(job: Job, folder: Path) -> subprocess.Popen[bytes]:
    """The command in this folder, with a cache of its own and one thread."""
    paths = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OODOMETER_CACHE": str(folder / "kept"),
        "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TMPDIR": str(folder / "tmp"),
        "OODOMETER_DATA": str(folder / "data")}  # fmt: skip
    (folder / "tmp").mkdir(exist_ok=True)
    return subprocess.Popen([sys.executable, "-m", *job.command.split()], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip


def finish(job: Job, folder: Path) -> tuple[float, str]:
    """Run to the end; the seconds, and what it said where it failed."""
    begin = time.perf_counter()
    process = start(job, folder)
    _, said = process.communicate(timeout=1800)
    text = said.decode(errors="replace").strip().splitlines()
    return time.perf_counter() - begin, "" if process.returncode == 0 else (
        text[-1] if text else f"exit {process.returncode}"
    )


def held(folder: Path) -> dict[str, str]:
    """What each file says, without what may differ: a hash by the file's path."""
    out = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        # when it began and ended, and names that tell where the data lie
        of_a_run = path.name in (MANIFEST, LOCK, FACTS) or path.suffix == ".state"
        if not (
            of_a_run
            or name.startswith(("data/", "tmp/"))
            or name.endswith((".parquet.lock", "energy.csv"))
        ):
            out[name] = _content(path, folder)
    return out


def _content(path: Path, folder: Path) -> str:
    if path.suffix in (".json", ".jsonl"):
        text = path.read_text(encoding="utf-8").replace(str(folder), ".")
        try:
            whole = path.suffix == ".json"
            lines = [json.loads(line) for line in ([text] if whole else text.splitlines()) if line]
            if (
                "backtests" in path.parts
            ):  # a cache: the order of its lines depends on who was first
                lines = sorted(lines, key=lambda one: json.dumps(one, sort_keys=True))
            return hashlib.blake2b(
                json.dumps(_still(lines), sort_keys=True).encode(), digest_size=8
            ).hexdigest()
        except ValueError:
            return "broken JSON"
    content = path.read_bytes()
    if path.suffix in (".html", ".md"):
        content = PAGES.sub("", content.decode()).encode()
        if path.suffix == ".html" and not content.rstrip().endswith(b"</html>"):
            return "broken page"
        content = re.sub(rb'"[a-z_]*(seconds|kwh)[a-z_]*": ?[-\d.e]+', b"", content)
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _still(value: Any) -> Any:
    """The value without times and energy; of a record that is kept with its checksum, what it says."""
    if isinstance(value, dict):
        if isinstance(value.get("value"), str) and "checksum" in value:
            said = _still(json.loads(value["value"]))
            if (
                value.get("kind") == "step"
            ):  # hashes of files that tell their time; the files are compared as well
                said["files"] = sorted(said.get("files", {}))
            return said
        return {k: _still(v) for k, v in value.items() if not RESTLESS.search(str(k))}
    return [_still(v) for v in value] if isinstance(value, list) else value


def attempt(
    job: Job, inputs: Path, clean: dict[str, str], moment: float, folder: Path
) -> dict[str, Any]:
    """Kill at this moment (seconds), look, run again, compare."""
    shutil.copytree(inputs, folder)
    process = start(job, folder)
    with suppress(subprocess.TimeoutExpired):
        process.wait(moment)
    ended = process.poll() is not None
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    there = {
        name: _content(folder / name, folder) for name in job.outputs if (folder / name).exists()
    }
    broken = [name for name, content in there.items() if content != clean[name]]
    seconds, said = finish(job, folder)
    after = held(folder)
    differ = [name for name in clean if after.get(name) != clean[name]]
    left = [name for name in after if name not in clean]
    usual = (
        "torchinductor_root",
        f"torchinductor_{os.environ.get('USER', 'root')}",
    )  # torch's own, empty, kept
    left += [f"tmp/{p.name}" for p in (folder / "tmp").iterdir() if p.name not in usual]
    return {"job": job.name, "moment": round(moment, 2), "ended_before": ended,
        "seconds_of_the_second_run": round(seconds, 2), "failed": said, "broken": broken, "differ": differ,
        "left": left}  # fmt: skip


def verdict(one: dict[str, Any]) -> str:
    """The worst of what came."""
    order = (("failed", "the second run fails"), ("broken", "half an output"), ("differ", "another result"),
        ("left", "files left over"))  # fmt: skip
    return next((words for key, words in order if one[key]), "as an undisturbed run")


def run(times: int, seed: int, wanted: list[str] | None = None) -> list[dict[str, Any]]:
    """Kill so many runs, the jobs in turn, each at a moment uniform over the time that it takes undisturbed."""
    rng = random.Random(seed)
    root = Path(tempfile.mkdtemp(prefix="oodometer-kill-"))
    jobs = [job for job in JOBS if not wanted or job.name in wanted]
    known: dict[str, tuple[dict[str, str], float]] = {}
    found = []
    for job in jobs:
        inputs, undisturbed = root / f"{job.name}-inputs", root / f"{job.name}-clean"
        inputs.mkdir()
        job.prepare(inputs)
        shutil.copytree(inputs, undisturbed)
        seconds, said = finish(job, undisturbed)
        if said:
            raise RuntimeError(f"{job.name} fails undisturbed: {said}")
        again = root / f"{job.name}-again"  # a second one shows what differs without a kill
        shutil.copytree(inputs, again)
        finish(job, again)
        clean, other = held(undisturbed), held(again)
        unsteady = [name for name in clean if other.get(name) != clean[name]]
        print(f"{job.name}: {seconds:.1f} s undisturbed", flush=True)
        if unsteady:
            raise RuntimeError(
                f"{job.name} differs without a kill, in {unsteady}: nothing can be said of a killed one"
            )
        known[job.name] = clean, seconds
    for i in range(times):
        job = jobs[i % len(jobs)]
        clean, seconds = known[job.name]
        folder = root / f"{job.name}-{i}"
        one = attempt(job, root / f"{job.name}-inputs", clean, rng.uniform(0, seconds), folder)
        found.append(one)
        said = verdict(one)
        detail = one["failed"] or ", ".join([*one["broken"], *one["differ"], *one["left"]][:4])
        print(
            f"{job.name} killed at {one['moment']} s: {said}" + (f": {detail}" if detail else ""),
            flush=True,
        )
        if said == "as an undisturbed run":
            shutil.rmtree(folder, ignore_errors=True)
    if all(verdict(one) == "as an undisturbed run" for one in found):
        shutil.rmtree(root, ignore_errors=True)
    return found


def page(result: kit.Result) -> str:
    found = result["runs"]
    kinds = [
        "as an undisturbed run",
        *sorted({verdict(one) for one in found} - {"as an undisturbed run"}),
    ]
    out = [
        f"# {len(found)} runs ended by kill -9",
        "",
        f"`python -m benchmarks.hostile kill --times {len(found)} --seed {result['seed']}`. Each command is killed at "
        "a moment uniform over the time that it takes, then run again; every file that it leaves (times and energy "
        "apart) is set against those of a run that nobody disturbed.",
        "",
        f"| command | killed | {' | '.join(kinds)} |",
        "|---|--:|" + "--:|" * len(kinds),
    ]
    counts = Counter((one["job"], verdict(one)) for one in found)
    for job in dict.fromkeys(one["job"] for one in found):
        row = [counts[job, kind] for kind in kinds]
        out.append(f"| {job} | {sum(row)} | {' | '.join(map(str, row))} |")
    left = Counter(re.sub(r"[0-9a-f]{12}", "*", name) for one in found for name in one["left"])
    if left:
        out += ["", "Left over: " + ", ".join(f"`{name}` ({n})" for name, n in left.items()) + "."]
    return kit.joined(out)


def main(times: int, seed: int, wanted: list[str] | None, write_results: bool) -> int:
    found = run(times, seed, wanted)
    result = {
        "times": times,
        "seed": seed,
        "runs": [{**one, "verdict": verdict(one)} for one in found],
    }
    print(kit.save(RESULTS / "hostile_kill", result, page) if write_results else page(result))
    return int(any(verdict(one) != "as an undisturbed run" for one in found))
