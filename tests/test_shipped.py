"""What an index, a container, a workflow, a hook and conda are given: read, run where that is possible, and in step."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import oodometer
from oodometer.options import declared, spelt
from oodometer.verbs.options import CompareOptions, EstimateOptions

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HOME = PROJECT["urls"]["Repository"]
GUIDE = (ROOT / "docs/guides/scheduling.md").read_text(encoding="utf-8")


def run(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True
    )


# ------------------------------------------------------------------------------------------ an index


def test_an_index_gets_addresses_in_the_place_of_links() -> None:
    shown = run([sys.executable, "-W", "ignore", "setup.py", "-q", "--long-description"], ROOT)
    assert shown.returncode == 0, shown.stderr
    links = re.findall(r"\]\(([^)\s]+)\)", shown.stdout)
    assert len(links) > 15
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    for link in links:
        if link.startswith(HOME):
            path = re.sub(rf"{HOME}/(blob|raw)/main/", "", link).partition("#")[0]
            assert (ROOT / path).exists(), link


def test_the_addresses_of_the_project_are_of_one_repository_and_of_files_that_are_there() -> None:
    assert {"Homepage", "Repository", "Documentation", "Changelog", "Issues"} <= {*PROJECT["urls"]}
    for address in PROJECT["urls"].values():
        assert address.startswith(HOME)
        _, blob, path = address.partition("/blob/main/")
        assert not blob or (ROOT / path).is_file()


@pytest.mark.lab
def test_what_is_typed_says_so() -> None:
    for package in ("oodometer", "oodometer_lab"):
        assert (ROOT / "src" / package / "py.typed").is_file()
    assert "Typing :: Typed" in PROJECT["classifiers"]


def test_the_change_log_opens_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## \[([\d.]+)\]", text, re.MULTILINE)
    assert first is not None
    assert first[1] == oodometer.__version__
    page = text[first.end() :].partition("\n## [")[0]
    assert len(page.splitlines()) <= 60


# ------------------------------------------------------------------------------------------ a container

DOCKER = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def copied() -> list[str]:
    """What `.dockerignore` leaves of the checkout."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    return [line[1:] for line in lines if line.startswith("!")]


def test_the_container_asks_python_for_what_is_there() -> None:
    checks = re.findall(r"bin/python -c \"(.+?)\"", DOCKER)
    assert checks
    for check in checks:
        modules = re.findall(r"from ([\w.]+) import (\w+)", check)
        assert modules
        for module, name in modules:
            done = run([sys.executable, "-c", f"from {module} import {name}"], ROOT)
            assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.lab
def test_what_the_container_copies_installs_and_answers(tmp_path: Path) -> None:
    source, library = tmp_path / "source", tmp_path / "library"
    for name in copied():
        path = ROOT / name
        if path.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
            shutil.copytree(path, source / name, ignore=skipped)
        else:
            source.mkdir(exist_ok=True)
            shutil.copy(path, source / name)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
    ]
    done = run(
        [*pip, "--no-build-isolation", "--target", str(library), str(source)],
        tmp_path,
        OODOMETER_PURE="1",
    )
    assert done.returncode == 0, done.stderr
    shipped = (library / "oodometer_lab/benchmarks/tables").iterdir()
    assert {"answers.json", "SOURCES.md"} < {path.name for path in shipped}
    entry = json.loads(next(re.finditer(r"^ENTRYPOINT (.+)$", DOCKER, re.MULTILINE))[1])
    script = str(library / "bin" / entry[0])
    words = [
        sys.executable,
        script,
        "estimate",
        "--sample",
        "digits",
        "--json",
        "-",
        "--method",
        "ac",
    ]
    answer = run(words, tmp_path, PYTHONPATH=str(library), OODOMETER_CACHE=str(tmp_path / "cache"))
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["version"] == oodometer.__version__
    where = run(
        [sys.executable, "-c", "import oodometer; print(oodometer.__file__)"],
        tmp_path,
        PYTHONPATH=str(library),
    )
    assert where.stdout.startswith(str(library))


# ------------------------------------------------------------------------------------------ a workflow

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SAMPLE = next(
    block for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "jobs:" in block
)


def steps_of(workflow: Any) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_sample_workflow_calls_the_action_with_inputs_that_it_has() -> None:
    calls = [
        step
        for step in steps_of(yaml.safe_load(SAMPLE))
        if str(step.get("uses", "")).partition("@")[0] == HOME.removeprefix("https://github.com/")
    ]
    assert {shlex.split(call["with"]["arguments"])[0] for call in calls} == {"estimate", "compare"}
    for call in calls:
        assert {*call["with"]} <= {*ACTION["inputs"]}
        command, *words = shlex.split(call["with"]["arguments"])
        record: Any = {"estimate": EstimateOptions, "compare": CompareOptions}[command]
        known = {way for name, _, about in declared(record) for way in spelt(name, about)}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("arguments", "undecided", "code"),
    [
        (
            "estimate --sample digits --fail-below 0.999 --fail-when value --backtest none",
            "fail",
            3,
        ),
        ("compare --sample runs --fail-drop 0.001 --cluster 'passage' --strict", "pass", 0),
        ("compare --sample runs no-such-option", "fail", 2),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="the step is one of bash")
def test_the_step_ends_as_the_command_does(
    arguments: str, undecided: str, code: int, tmp_path: Path
) -> None:
    script = next(step["run"] for step in ACTION["runs"]["steps"] if step.get("id") == "run")
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    environment = {
        "ARGUMENTS": arguments,
        "UNDECIDED": undecided,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(output),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    done = run(words, tmp_path, **environment)
    assert done.returncode == code, done.stderr
    assert summary.exists() == (code != 2)
    assert output.read_text().startswith("code=")


def test_every_hook_calls_a_command_that_is_there() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"] for hook in hooks] == ["oodometer estimate", "oodometer compare"]
    config = next(b for b in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "repos:" in b)
    repository = yaml.safe_load(config)["repos"][0]
    assert repository["repo"] == HOME
    assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in hooks}
    for hook in hooks:
        assert re.search(hook["files"], "data/target.csv")


# ------------------------------------------------------------------------------------------ conda


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == oodometer.__version__
    asked = {need.replace(" ", "") for need in recipe["requirements"]["run"]}
    assert asked == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    assert recipe["about"]["homepage"] == HOME
