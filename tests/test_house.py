"""Rules of the house that no other tool checks: quick import, first lines, sizes, public face, documents."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import subprocess
import sys
import textwrap
import token as kinds
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import jaxtyping
import pytest

from oodometer import registry
from oodometer.fields import FIELDS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "oodometer"
LAB = ROOT / "src" / "oodometer_lab"
MODULES = sorted([*PACKAGE.rglob("*.py"), *LAB.rglob("*.py")])
DOCUMENTS = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src").rglob("*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
    ]
    if "_build" not in path.parts
)
BRANCHES = (ast.If, ast.For, ast.While, ast.IfExp, ast.BoolOp, ast.comprehension, ast.ExceptHandler)
WORDS = (kinds.NAME, kinds.NUMBER, kinds.STRING, kinds.OP)


class Effort(NamedTuple):
    """What a reader pays for a floor."""

    tokens: int
    hard: int
    very_hard: int
    dict_calls: int


# Of each floor: tokens, functions of 15 branches and more, of 25 and more, calls with a dict built beside them.
# An entry may rise only together with a word on why in the notes of the change.
MOST = {
    "accuracy_proxies": Effort(3630, 0, 0, 0),
    "audits": Effort(30523, 0, 0, 0),
    "backtests": Effort(4896, 0, 0, 0),
    "calibrators": Effort(5323, 0, 0, 0),
    "cli": Effort(14309, 0, 0, 0),
    "datasets": Effort(655, 0, 0, 0),
    "diagnoses": Effort(7850, 0, 0, 0),
    "engines": Effort(6334, 0, 0, 0),
    "estimators": Effort(44826, 0, 0, 0),
    "ground": Effort(33792, 0, 0, 0),
    "headline": Effort(24858, 0, 0, 0),
    "histories": Effort(7181, 0, 0, 0),
    "inference": Effort(29509, 0, 0, 0),
    "integrations": Effort(2100, 0, 0, 0),
    "kernels": Effort(6888, 0, 0, 0),
    "lab/attributions": Effort(13719, 0, 0, 0),
    "lab/benchmarks": Effort(4615, 0, 0, 0),
    "lab/cli": Effort(2007, 0, 0, 0),
    "lab/datasets": Effort(21816, 0, 0, 0),
    "lab/discriminators": Effort(14906, 0, 0, 0),
    "lab/ground": Effort(3263, 0, 0, 0),
    "lab/models": Effort(56491, 0, 0, 2),
    "lab/rankings": Effort(3658, 0, 0, 0),
    "lab/recipes": Effort(83751, 0, 0, 0),
    "lab/results": Effort(6825, 0, 0, 0),
    "lab/shifts": Effort(18696, 0, 0, 0),
    "lab/testing": Effort(3061, 0, 0, 0),
    "lab/verbs": Effort(49267, 0, 0, 2),
    "metrics": Effort(48755, 0, 0, 0),
    "outputs": Effort(8563, 0, 0, 0),
    "passes": Effort(22271, 0, 0, 0),
    "persistence": Effort(3836, 0, 0, 0),
    "rankings": Effort(18014, 0, 0, 0),
    "reports": Effort(41751, 0, 0, 0),
    "results": Effort(41008, 1, 0, 0),
    "runs": Effort(2252, 0, 0, 0),
    "scores": Effort(4666, 0, 0, 0),
    "simulations": Effort(3590, 0, 0, 0),
    "store": Effort(111068, 1, 0, 0),
    "testing": Effort(4974, 0, 0, 0),
    "verbs": Effort(116035, 2, 0, 1),
}
MOST_PARAMETERS = 8
# Phrases in asserts and in `match=`: each is an edit of a test where its sentence becomes a better one.
MOST_PHRASES = 1217

# What `import oodometer` must not load.
HEAVY = (
    "torch",
    "pandas",
    "polars",
    "sklearn",
    "altair",
    "scipy.stats",
    "typer",
    "pyarrow.dataset",
)

# What no file may import at its top: libraries of the extras, frames of the user, and slow parts of the core.
LAZY = {
    "PIL",
    "altair",
    "captum",
    "codecarbon",
    "datasets",
    "mlflow",
    "pandas",
    "polars",
    "psycopg",
    "pyspark",
    "rapidfuzz",
    "ray",
    "safetensors",
    "sklearn",
    "torch",
    "transformers",
    "vl_convert",
    "wandb",
    "wn",
}
AT_HOME = {"reports": {"vl_convert"}}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_wing(path: Path) -> Path:
    """The place of a file in its wing, the core or the lab."""
    return path.relative_to(LAB if path.is_relative_to(LAB) else PACKAGE)


def floor_of(path: Path) -> str:
    """The floor of a file; those of the lab are told by the wing, files on no floor are the ground."""
    parts = in_wing(path).parts
    floor = parts[0] if len(parts) > 1 else "ground"
    return f"lab/{floor}" if path.is_relative_to(LAB) else floor


def fresh(code: str) -> str:
    """Run code in an interpreter of its own and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_light() -> None:
    loaded = set(fresh("import sys, oodometer; print(*sys.modules, sep='\\n')").split())
    assert "oodometer" in loaded
    assert sorted(loaded & set(HEAVY)) == []


@cache
def parsed(path: Path) -> tuple[str, ast.Module]:
    """Text and tree of a file."""
    text = path.read_text(encoding="utf-8")
    return text, ast.parse(text)


@cache
def walked(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All that `ast.walk` finds, which several tests look through."""
    return tuple(ast.walk(tree))


@pytest.fixture(scope="module", autouse=True)
def _forget_trees() -> Iterator[None]:
    """What follows in this process does not pay for some million nodes each time that garbage is collected."""
    yield
    for kept in (parsed, walked, functions):
        kept.cache_clear()


def test_first_lines_say_what_the_room_is() -> None:
    silent = [
        relative(path)
        for path in MODULES
        if not parsed(path)[0].startswith(('"""', 'r"""'))
        or not (ast.get_docstring(parsed(path)[1]) or "").strip()
    ]
    assert silent == [], "begin the file with a docstring"


def branches(function: ast.AST) -> int:
    """Number of places where the flow of a function parts, those of functions inside it as well."""
    return sum(isinstance(node, BRANCHES) for node in ast.walk(function))


def dict_calls(function: ast.AST) -> int:
    """Number of calls that receive ``**name`` of a dict or of a call's result kept in the same function."""
    kept: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(
            node.value, ast.Dict | ast.DictComp | ast.Call
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            kept |= {target.id for target in targets if isinstance(target, ast.Name)}
    return sum(
        keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id in kept
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )


def effort(paths: Iterable[Path]) -> Effort:
    """Reading effort of some files; comments, blank lines and layout count nothing, a docstring is one token."""
    tokens, hard, very_hard, unpacked = 0, 0, 0, 0
    for path in paths:
        text, tree = parsed(path)
        lexed = tokenize.generate_tokens(io.StringIO(text).readline)
        tokens += sum(token.type in WORDS for token in lexed)
        for node in walked(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                parts = branches(node)
                hard += parts >= 15
                very_hard += parts >= 25
                unpacked += dict_calls(node)
    return Effort(tokens, hard, very_hard, unpacked)


@pytest.mark.lab
def test_no_floor_takes_more_reading() -> None:
    """Floors are bounded and not their files: a file is as long as its idea. Lines count nothing."""
    floors: dict[str, list[Path]] = {}
    for path in MODULES:
        floors.setdefault(floor_of(path), []).append(path)
    now = {floor: effort(paths) for floor, paths in floors.items()}
    nothing = Effort(0, 0, 0, 0)
    rose = {
        floor: f"{now[floor]} where at most {MOST.get(floor, nothing)} is asked"
        for floor in now
        if any(many > most for many, most in zip(now[floor], MOST.get(floor, nothing), strict=True))
    }
    assert rose == {}, (
        "make the floor as quick to read as it was, or raise its entry in MOST and say why"
    )


def phrases(path: Path) -> int:
    """How many texts with a space stand in the asserts of a test file, and how many `match=` beside them."""
    found = 0
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Assert):
            found += sum(
                isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and " " in one.value
                and len(one.value) > 12
                for one in ast.walk(node)
            )
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "raises":
            found += sum(keyword.arg == "match" for keyword in node.keywords)
    return found


def test_tests_pin_no_more_phrases() -> None:
    """What is said stands in snapshots and screens (`tests/snapshots.py`), which one command writes anew."""
    assert sum(map(phrases, (ROOT / "tests").rglob("*.py"))) <= MOST_PHRASES, (
        "ask for a field, or keep what is said with assert_snapshot or raises_snapshot"
    )


def is_ours(module: str | None) -> bool:
    """Whether a module is one of the core or of the lab."""
    return (module or "").partition(".")[0] in (PACKAGE.name, LAB.name)


def dependencies(path: Path) -> set[Path]:
    """Files of the package that a file imports: at its top, for type checking, inside functions."""
    out = set()
    for node in walked(parsed(path)[1]):
        if isinstance(node, ast.ImportFrom) and (node.level or is_ours(node.module)):
            above = path.parents[node.level - 1] if node.level else PACKAGE.parent
            home = above.joinpath(*(node.module or "").split("."))
            for alias in node.names:
                if alias.name != "_passes":  # compiled
                    inside = home / alias.name
                    near = (
                        inside.with_suffix(".py"),
                        inside / "__init__.py",
                        home.with_suffix(".py"),
                    )
                    out.add(next(one for one in (*near, home / "__init__.py") if one.is_file()))
    return out - {path}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of files that import each other, directly or by others (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    out: list[list[str]] = []

    def visit(one: str) -> None:
        number[one] = low[one] = len(number)
        stack.append(one)
        for other in sorted(graph[one]):
            if other not in number:
                visit(other)
            if other in stack:
                low[one] = min(low[one], low[other])
        if low[one] == number[one]:
            at = stack.index(one)
            group = sorted(stack[at:])
            del stack[at:]
            out.extend([group] if len(group) > 1 else [])

    for one in sorted(graph):
        if one not in number:
            visit(one)
    return out


@pytest.mark.lab
def test_no_files_import_each_other() -> None:
    """Also none for type checking alone or inside a function; what a package shows counts where it is taken from."""
    graph = {relative(path): {relative(one) for one in dependencies(path)} for path in MODULES}
    assert circles(graph) == [], "merge the files, or move what both need to where it belongs"


def test_the_core_names_nothing_of_the_lab() -> None:
    """Neither inside a function nor for type checking, but for the types of what the face shows of it."""
    named = {
        relative(path): sorted(relative(one) for one in dependencies(path) if LAB in one.parents)
        for path in MODULES
        if PACKAGE in path.parents and path != PACKAGE / "__init__.py"
    }
    assert {place: names for place, names in named.items() if names} == {}


def test_circles_are_seen() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set()}
    assert circles(graph) == [["a", "b", "c"]]


# What lists more names of fields than this repeats the table; fewer are what one method needs or reads.
MOST_FIELDS = {"store": 2, "backtests": 2, "ground": 2}
USUALLY = 9  # fields that one method may name; about half of them


def named_fields(tree: ast.Module) -> list[tuple[int, list[str]]]:
    """Names of fields in each tuple, list, set and mapping that is written out, and the lines where they stand."""
    out = []
    for node in walked(tree):
        cells = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = [
            cell.value for cell in cells if isinstance(cell, ast.Constant) and cell.value in FIELDS
        ]
        out += [(node.lineno, names)] if names else []  # type: ignore[attr-defined]
    return out


def test_no_file_keeps_its_own_table_of_fields() -> None:
    tables = {}
    for path in MODULES:
        most = MOST_FIELDS.get(floor_of(path), USUALLY)
        found = [one for one in named_fields(parsed(path)[1]) if len(one[1]) > most]
        if found and path.name != "fields.py":
            tables[relative(path)] = found
    assert tables == {}


def test_lists_of_fields_are_seen() -> None:
    tree = ast.parse('A = ("label", "votes", "x")\nB = {"views": 1, "time": 2, "group": 3}\n')
    assert named_fields(tree) == [(1, ["label", "votes"]), (2, ["views", "time", "group"])]


Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def functions(public: bool) -> list[tuple[str, Function]]:
    """Functions with their places: the public face (verbs and commands), or all others.

    Verbs are what the package shows of `verbs/`, and the calls of `discriminate`, which its face shows.
    """
    import oodometer
    from oodometer_lab.verbs import discriminate

    verbs = {*oodometer.__all__, *discriminate.__all__}
    found = []
    for path in MODULES:
        room = in_wing(path).as_posix()
        tree = parsed(path)[1]
        top = {id(node) for node in tree.body}
        for node in walked(tree):
            if not isinstance(node, Function):
                continue
            verb = room.startswith("verbs/") and node.name in verbs
            command = room.startswith("cli/") and any(
                "options." in ast.unparse(a) for a in node.args.args
            )
            if (id(node) in top and (verb or command)) == public:
                found.append((f"{room}: {node.name}", node))
    return found


def parameters(node: Function) -> int:
    """How many parameters a function has, `self` and `cls` aside."""
    given = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    given += [a.arg for a in (node.args.vararg, node.args.kwarg) if a is not None]
    return len(set(given) - {"self", "cls"})


def test_functions_have_few_parameters() -> None:
    """Many options travel in one record; the public face and constructors name each."""
    many = [
        place
        for place, node in functions(public=False)
        if node.name != "__init__" and parameters(node) > MOST_PARAMETERS
    ]
    assert many == [], "put what belongs together into one options record"


def top_level_imports(tree: ast.Module) -> set[str]:
    """First names of the libraries that a module imports as it loads; `if TYPE_CHECKING:` is left out."""
    found: set[str] = set()
    queue: list[ast.AST] = list(tree.body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            queue.extend(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            queue.extend(ast.iter_child_nodes(node))
    return found


def test_top_level_imports_are_seen() -> None:
    source = (
        "import os.path\nfrom . import near\ntry:\n    import ray\nexcept ImportError:\n    pass\n"
        "if TYPE_CHECKING:\n    import torch\nclass A:\n    import wn\n    def f(self):\n        import pandas\n"
    )
    assert top_level_imports(ast.parse(source)) == {"os", "ray", "wn"}


def test_optional_libraries_load_where_they_are_used() -> None:
    early = {}
    for path in MODULES:
        lazy = LAZY - AT_HOME.get(floor_of(path), set())
        found = top_level_imports(parsed(path)[1]) & lazy
        if found:
            early[relative(path)] = sorted(found)
    assert early == {}, "import it inside the function that needs it"


def test_public_names_import_and_are_documented() -> None:
    import oodometer

    assert len(set(oodometer.__all__)) == len(oodometer.__all__)
    assert set(oodometer.__all__) <= set(dir(oodometer))
    bare = []
    for name in oodometer.__all__:
        thing = getattr(oodometer, name)
        if (inspect.isclass(thing) or callable(thing)) and not (
            inspect.getdoc(thing) or ""
        ).strip():
            bare.append(name)
    assert bare == []


def undocumented(tree: ast.Module) -> list[str]:
    """Functions and classes of a file and methods of any class that have neither an underscore nor a docstring."""
    return [
        one.name
        for node in walked(tree)
        for one in (node.body if isinstance(node, ast.Module | ast.ClassDef) else [])
        if isinstance(one, Function | ast.ClassDef) and not one.name.startswith("_")
        if "overload" not in map(ast.unparse, one.decorator_list) and ast.get_docstring(one) is None
    ]


def test_public_functions_and_methods_have_a_docstring() -> None:
    bare = {relative(path): undocumented(parsed(path)[1]) for path in MODULES}
    assert {place: names for place, names in bare.items() if names} == {}


def test_missing_docstrings_are_seen() -> None:
    source = (
        "def a(): pass\ndef _b(): pass\n"
        + "class _C:\n    def d(self): pass\n    def _e(self): pass\n"
    )
    assert undocumented(ast.parse(source)) == ["a", "d"]


def unsaid(thing: object) -> list[str]:
    """Parameters of a function, or fields that a record is made of, that its docstring does not name."""
    if inspect.isfunction(thing):
        names = list(inspect.signature(thing).parameters)
    elif (
        isinstance(thing, type)
        and dataclasses.is_dataclass(thing)
        and not issubclass(thing, BaseException)
    ):
        fields = dataclasses.fields(thing)
        names = [one.name for one in fields if one.init and not one.name.startswith("_")]
    else:
        return []
    said = inspect.getdoc(thing) or ""
    return [name for name in names if not re.search(rf"\b{re.escape(name)}\b", said)]


def public_names() -> Iterator[tuple[str, object]]:
    """What `oodometer` and each floor of its wings, the lab where it is installed, show in ``__all__``."""
    wings = [name for name in (PACKAGE.name, LAB.name) if find_spec(name) is not None]
    floors = [
        f"{wing}.{module.name}"
        for wing in wings
        for module in pkgutil.iter_modules(importlib.import_module(wing).__path__)
        if not module.name.startswith("__")
    ]
    for place in (PACKAGE.name, *floors):
        module = importlib.import_module(place)
        for name in getattr(module, "__all__", ()):
            yield f"{place}.{name}", getattr(module, name)


def test_docstrings_of_public_names_say_every_parameter() -> None:
    names = {place: unsaid(thing) for place, thing in public_names()}
    assert len(names) > 200
    assert {place: some for place, some in names.items() if some} == {}


def test_parameters_that_no_docstring_says_are_seen() -> None:
    def drawn(rows: int, *more: int, seed: int = 0) -> None:
        """Some rows, and more_of them."""

    @dataclasses.dataclass
    class Box:
        """Its ``width``."""

        width: int
        height: int
        _hidden: int = 0
        area: int = dataclasses.field(default=0, init=False)

    assert unsaid(drawn) == ["more", "seed"]
    assert unsaid(Box) == ["height"]
    assert unsaid(UserWarning) == unsaid(3) == []


def test_public_names_are_not_hidden_by_modules() -> None:
    """A file named like a public function must not replace it once that file has been imported."""
    code = """
import importlib, pkgutil, types, oodometer
before = {name: getattr(oodometer, name) for name in oodometer.__all__}
for module in pkgutil.iter_modules(oodometer.__path__):
    if not module.name.startswith("__main__"):
        importlib.import_module(f"oodometer.{module.name}")
for name, thing in before.items():
    if getattr(oodometer, name) is not thing or type(thing) is types.ModuleType:
        print(name)
"""
    assert fresh(code).split() == []


def prose(path: Path) -> str:
    """A document without its fenced blocks and its code spans."""
    text = re.sub(
        r"^(```+|~~~+).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    return re.sub(r"`[^`\n]*`", "", text)


def broken_links(path: Path) -> list[str]:
    """Targets of relative links in a document that are not there."""
    targets = re.findall(r"\]\(\s*<?([^)\s>]+)", prose(path)) + re.findall(
        r"^\[[^\]]+\]:\s+(\S+)", prose(path), flags=re.MULTILINE
    )
    return [
        target
        for target in targets
        if not re.match(r"[a-z][a-z0-9+.-]*:|#", target)
        and not (path.parent / target.partition("#")[0]).exists()
    ]


def test_relative_links_resolve() -> None:
    assert {relative(path): broken_links(path) for path in DOCUMENTS if broken_links(path)} == {}


def sessions(path: Path) -> list[tuple[int, str]]:
    """Line number and text of each fenced block that shows a Python session."""
    text = path.read_text(encoding="utf-8")
    found = re.finditer(r"^```(?:pycon|python)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match[1]) for match in found if ">>>" in match[1]]


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if sessions(path)], ids=relative)
def test_python_sessions_in_documents_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    names: dict[str, object] = {}
    report: list[str] = []
    for line, block in sessions(path):
        test = parser.get_doctest(block, names, relative(path), str(path), line)
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize(
    ("place", "kind", "name"),
    [
        ("oodometer.scores", "score", "second_gap"),
        ("oodometer.estimators", "estimator", "halfway"),
        ("oodometer.metrics", "metric", "wrong_share"),
        ("oodometer_lab.shifts.text", "shift", "split-words"),
    ],
)
def test_examples_in_contributing_work(place: str, kind: registry.MethodKind, name: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^   ```python\n(.*?)^   ```", text, flags=re.DOTALL | re.MULTILINE)
    (block,) = (one for one in blocks if f'name = "{name}"' in one)
    module = ModuleType(f"{place}.{name}")
    module.__package__ = place
    try:
        exec(compile(textwrap.dedent(block), "CONTRIBUTING.md", "exec"), module.__dict__)
        assert name in registry.names(kind)
        runner = doctest.DocTestRunner()
        for test in doctest.DocTestFinder().find(module):
            runner.run(test)
        assert runner.tries > 0
        assert runner.failures == 0
    finally:
        registry.unregister(kind, name)


def test_annotations_are_checked_under_test() -> None:
    from oodometer.scores import margin

    with pytest.raises(jaxtyping.TypeCheckError):
        margin("no array")  # type: ignore[arg-type]


HINTED = """
from __future__ import annotations
import dataclasses
import typing
import numpy as np

def same(a: Float[np.ndarray, "row class"], b: Float[np.ndarray, "row"] | None = None, *, k: int = 1) -> int:
    return k

def result(a: Float[np.ndarray, "row class"], out: object) -> Float[np.ndarray, "row"]:
    return out

def many(*a: Int[np.ndarray, "row"], **b: float) -> None:
    inner(*a)

def inner(*a: typing.Any) -> tuple[int, ...] | None:
    def deeper(a: Int[np.ndarray, "row"], b: Int[np.ndarray, "row"]) -> Int[np.ndarray, "2 row"]:
        return np.stack([a, b])
    return deeper(*a).shape if len(a) == 2 else None

def unknown(a: NeverHeardOf, b: int) -> NeverHeardOf:
    return a

def grown(n: float) -> Float[np.ndarray, "2"]:
    return np.ones(int(n))

def named(*, a: int = 0, b: str = "") -> None:
    pass

def each(a: list[int]) -> None:
    pass

class Box:
    def itself(self, n: int) -> typing.Self:
        return self

    @property
    def wrong(self) -> int:
        return "1"

    @staticmethod
    def half(n: float) -> float:
        return n / 2

@dataclasses.dataclass
class Pair:
    a: Float[np.ndarray, "row"]
    b: Float[np.ndarray, "row"]
"""
CALLS = """
same(np.ones((3, 2)))
same(np.ones((3, 2)), np.ones(3))
same(np.ones((3, 2)), np.ones(4))
same(np.ones((3, 2)), b=np.ones(4))
same(np.ones(3))
same(np.ones((3, 2), dtype=int))
same(np.ones((3, 2)), k=2.0)
same(np.ones((3, 2)), None, k=True)
result(np.ones((3, 2)), np.ones(3))
result(np.ones((3, 2)), np.ones(2))
result(np.ones((3, 2)), None)
result(np.ones((3, 2)), "3")
many()
many(np.arange(3), np.arange(3), c=1.5)
many(np.arange(3), np.arange(3), c=1)
many(np.arange(3), np.arange(3), c="1")
many(np.arange(3), np.arange(4))
many(np.arange(3), np.ones(3))
inner(np.arange(3), np.arange(3))
inner(np.arange(3), np.arange(4))
inner(np.arange(4), np.arange(4))
inner(np.arange(4.0), np.arange(4))
unknown("a", 1)
unknown("a", "b")
grown(2.0)
grown(3.0)
named(a=1, b="x")
named(b=1, a="x")
each([1])
each(["1"])
Box().itself(1)
Box().itself("1")
Box().wrong
Box.half(1)
Box.half("1")
Pair(np.ones(3), np.ones(3))
Pair(np.ones(3), np.ones(2))
Pair(np.ones(3), "b")
"""


def test_quick_checks_of_annotations_refuse_what_jaxtyping_refuses() -> None:
    """The hook decorates with checks of our own, which cost less; jaxtyping's are what they are held against."""
    from jaxtyping._decorator import jaxtyped as slow
    from jaxtyping._import_hook import JaxtypingTransformer, Typechecker

    checker = Typechecker("oodometer_type_checks.check_types")
    verdicts: dict[object, list[bool]] = {}
    for decorate in (slow, jaxtyping.jaxtyped):
        tree = ast.fix_missing_locations(
            JaxtypingTransformer(typechecker=checker).visit(ast.parse(HINTED))
        )
        module = ModuleType("hinted")
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "hinted", module)
            patch.setattr(jaxtyping, "jaxtyped", decorate)
            exec(compile(tree, "hinted", "exec"), module.__dict__)
            verdicts[decorate] = []
            for call in CALLS.split("\n")[1:-1] * 2:  # what passed once is not looked at again
                try:
                    eval(call, module.__dict__)
                    verdicts[decorate].append(True)
                except jaxtyping.TypeCheckError:
                    verdicts[decorate].append(False)
    first, second = verdicts.values()
    assert len(verdicts) == 2
    assert first == second
    assert first.count(False) == 2 * 22


def test_extras_that_errors_name_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = set(project["optional-dependencies"])
    named = {
        name
        for path in MODULES
        for name in re.findall(r"extra=\"(\w+)\"", path.read_text(encoding="utf-8"))
    }
    assert sorted(named - declared) == []


def test_typed_marker_is_there() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_version_has_one_source() -> None:
    import oodometer

    assert isinstance(oodometer, ModuleType)
    assert version("oodometer") == oodometer.__version__
    assert f"[{oodometer.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
