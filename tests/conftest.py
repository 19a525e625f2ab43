"""Shared set-up: shape checks at run time, hypothesis settings, the data folder, a browser, torch, a tiny encoder."""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import importlib.util
import inspect
import json
import lzma
import os
import re
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, get_type_hints

import beartype
import hypothesis
import jaxtyping
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation

if __package__:
    from .snapshots import forget, snapshots_of
else:  # in a process that asks for these hooks alone
    from snapshots import forget, snapshots_of

ROOT = Path(__file__).resolve().parent.parent

# One thread of BLAS and of OpenMP, here, in the workers of xdist and in every process that a test starts: two processes
# of two threads each on two cores mostly wait for one another. Set before the libraries are loaded. The package's own
# threads are another matter and stay as many as there are cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # and so do the threads of tokenizers
# A Spark of a test lives for seconds: the slower compiler of Java would not earn back what it costs.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A background job of a shell ignores Ctrl-C, and all that it starts inherits that; tests send it to what they start. A
# handler of Python's is not inherited, and one that does nothing ignores as well.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: None)

# Under test the annotations on these floors are checked against what passes, shapes too: Float[Array, "sample class"].
# The package does not depend on jaxtyping: it imports the names for type checkers only, so they are put where every
# module finds them. The hook must stand before the first import of oodometer.
CHECKED_FLOORS = ("calibrators", "estimators", "metrics", "scores")


def check_types(function: Any) -> Any:
    """The function with its arguments and result checked; an int passes for a float, as type checkers have it."""
    if any("Self" in str(hint) for hint in getattr(function, "__annotations__", {}).values()):
        return function  # beartype knows Self only inside a class, and the hook shows it functions
    return beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))(function)


# Of the arguments and of the result, whether they name axes, and what has passed: arguments, or these with a result.
Checks = tuple[Callable[..., Any] | None, Callable[[Any], Any] | None, bool, set[tuple[Any, ...]]]
_SCOPE: Any = jaxtyping.jaxtyped("context")  # inside, an axis keeps the length that it had first
_KNOWN: dict[
    int, tuple[CodeType, Checks]
] = {}  # of inner functions, which are made at every call of the outer one


def names_axes(hint: Any) -> bool:
    """Whether an annotation holds the shape of an array, and so needs a scope in which axes keep their length."""
    inner = getattr(hint, "__args__", ())
    is_array = isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray)
    return is_array or any(map(names_axes, inner if isinstance(inner, tuple) else ()))


def checks_of(function: FunctionType) -> Checks:
    """What checks arguments and result; a hint that cannot be read (a name for type checkers only) asks for nothing."""
    known = _KNOWN.get(id(function.__code__))
    if known is not None:
        return known[1]
    hints = {}
    for name, hint in function.__annotations__.items():
        alone = SimpleNamespace(__annotations__={name: hint}, __globals__=function.__globals__)
        try:
            hints[name] = get_type_hints(alone, function.__globals__, include_extras=True)[name]
        except Exception:
            hints[name] = Any
    result = {"return": hints.pop("return")} if "return" in hints else {}
    if any("Self" in str(hint) for hint in hints.values()):
        return None, None, False, set()
    axes = any(names_axes(hint) for hint in (*hints.values(), result.get("return", Any)))
    # verbs show fewer than they take (`oodometer.options.arguments_of`)
    signature = getattr(function, "__arguments__", None) or inspect.signature(function)
    plain = [
        one.replace(annotation=one.empty, default=one.empty if one.default is one.empty else None)
        for one in signature.parameters.values()
    ]
    made: dict[str, Any] = {}
    exec(
        f"def arguments{inspect.Signature(plain)}: pass\ndef result(out): return out", made
    )  # only their hints matter
    for name, asked in (("arguments", hints), ("result", result)):
        made[name].__annotations__ = asked
        made[name].__name__, made[name].__qualname__ = function.__name__, function.__qualname__
        made[name].__module__ = function.__module__
        asks = any(hint is not Any for hint in asked.values())
        made[name] = check_types(made[name]) if asks else None
    checks = made["arguments"], made["result"], axes, set()
    if all(isinstance(hint, str) for hint in function.__annotations__.values()):
        _KNOWN[id(function.__code__)] = function.__code__, checks
    return checks


def shapes(values: Iterable[Any]) -> str:
    """Shapes of the arrays among the values, for a message."""
    return ", ".join(str(getattr(value, "shape", type(value).__name__)) for value in values)


# Whether an annotation asks no more of a value than its kind; of an array it asks dtype and shape, of a text all.
_PLAIN: dict[type, bool] = dict.fromkeys(
    (bool, int, float, type(None), FunctionType, np.random.Generator, np.float64), True
)


def is_plain(kind: type) -> bool:
    """Whether it is a class of the package that is no container: an annotation cannot look into it."""
    own = kind.__module__.partition(".")[0] in ("oodometer", "oodometer_lab")
    found = own and not issubclass(kind, (dict, list, set, str, tuple, type))
    return _PLAIN.setdefault(kind, found)


def seen_of(value: Any) -> Any:
    """What an annotation can see of a value; None where it looks at the content, as of a list."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape
    if kind is str:
        return value
    known = _PLAIN.get(kind)
    return kind if (is_plain(kind) if known is None else known) else None


def seen_of_all(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """The same of arguments; None where it is None of one of them."""
    seen = [seen_of(value) for value in args]
    for name, value in kwargs.items():
        seen += [name, seen_of(value)]
    return None if None in seen else (len(args), *seen)


def quick_checks(function: FunctionType) -> Any:
    """The function with arguments and result checked, as `jaxtyping.jaxtyped` does it, for a tenth of the time.

    That one binds the arguments to the signature at each call, checks them twice, and compiles the checks of an inner
    function again at each call of the outer one: more than half of what a test of `estimate` took. Arrays of the same
    types and shapes are looked at once: a backtest asks a method two hundred times.
    """
    arguments, result, axes, passed = checks_of(function)
    if arguments is None and result is None:
        return function
    scope = _SCOPE if axes else contextlib.nullcontext()  # most functions name no axes

    def check_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        __tracebackhide__ = True
        if arguments is not None:
            try:
                arguments(*args, **kwargs)
            except BeartypeCallHintViolation as violation:
                came = shapes((*args, *kwargs.values()))
                raise jaxtyping.TypeCheckError(
                    f"arguments: {violation} Shapes: {came}."
                ) from violation

    def check_result(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        __tracebackhide__ = True
        if result is not None:
            try:
                result(out)
            except BeartypeCallHintViolation as violation:
                came = shapes((*args, *kwargs.values()))
                told = f"result: {violation} Shapes of the arguments: {came}; of the result: {shapes([out])}."
                raise jaxtyping.TypeCheckError(told) from violation

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        came = seen_of_all(args, kwargs)
        if came in passed:
            out = function(*args, **kwargs)
            gave = seen_of(out)
            if gave is not None and (came, gave) in passed:
                return out
            with scope:
                check_arguments(args, kwargs)
                check_result(args, kwargs, out)
        else:
            with scope:
                check_arguments(args, kwargs)
                out = function(*args, **kwargs)
                check_result(args, kwargs, out)
            gave = seen_of(out)
        if came is not None:
            passed.update([came, (came, gave)])
        return out

    checked.__shape_checked__ = True  # type: ignore[attr-defined]
    return checked


def checked_shapes(slow: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator that the hook puts on classes and functions: `quick_checks`; ``slow`` for generators and such."""

    def jaxtyped(thing: Any = None, *, typechecker: Any) -> Any:
        if thing is None:
            return functools.partial(jaxtyped, typechecker=typechecker)
        if getattr(thing, "__no_type_check__", False):
            return thing
        if inspect.isclass(thing):
            begin = vars(thing).get("__init__")
            if dataclasses.is_dataclass(thing) and isinstance(begin, FunctionType):
                if not hasattr(begin, "__shape_checked__"):
                    thing.__init__ = quick_checks(begin)  # type: ignore[misc]
                return thing
        elif isinstance(thing, FunctionType) and not (
            inspect.isgeneratorfunction(thing) or inspect.iscoroutinefunction(thing)
        ):
            return quick_checks(thing)
        return slow(thing, typechecker=typechecker)

    return jaxtyped


def install_shape_checks() -> None:
    if any(name.partition(".")[0] == "oodometer" for name in sys.modules):
        raise RuntimeError(
            "oodometer was imported before tests/conftest.py could install the shape checks"
        )
    for name in ("Bool", "Float", "Int", "Num", "Real", "Shaped", "UInt"):
        setattr(builtins, name, getattr(jaxtyping, name))
    home = ModuleType("oodometer_type_checks")  # the hook finds its checker by the name of a module
    home.check_types = check_types  # type: ignore[attr-defined]
    sys.modules[home.__name__] = home
    jaxtyping.jaxtyped = checked_shapes(
        jaxtyping.jaxtyped
    )  # the hook decorates with what stands here
    floors = [f"oodometer.{floor}" for floor in CHECKED_FLOORS]
    jaxtyping.install_import_hook(floors, f"{home.__name__}.check_types")


install_shape_checks()

# Backtests are kept between the tests of one run and never among the user's own.
_CACHE = tempfile.TemporaryDirectory(prefix="oodometer-tests-", ignore_cleanup_errors=True)
os.environ["OODOMETER_CACHE"] = _CACHE.name

# Two processes on two cores make any deadline a coin toss. On a build machine the examples are always the same.
hypothesis.settings.register_profile("default", deadline=None, max_examples=50, print_blob=True)
hypothesis.settings.register_profile(
    "ci", deadline=None, max_examples=50, derandomize=True, print_blob=True
)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)


# What a property test found is written here, so that it is not lost with the output: commit it as an @example.
FALSIFIED = Path(os.environ.get("OODOMETER_FALSIFIED") or ROOT / "tests" / "falsified.txt")


def notes_of(error: BaseException) -> list[str]:
    """What hypothesis noted on an error, or on each one of a group."""
    inner = [note for one in getattr(error, "exceptions", ()) for note in notes_of(one)]
    return [*getattr(error, "__notes__", ()), *inner]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A falsifying example goes to a file, as a decorator for its test. Where the lab is not installed, a test that
    asked it for something is skipped: the command said so.
    """
    report = yield
    said = "\n".join([str(report.longrepr), *(text for _, text in report.sections)])
    if not HAS_LAB and report.failed and _ASKED_LAB.search(said):
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, line or 0, "needs oodometer_lab")
        return report
    notes = notes_of(call.excinfo.value) if report.failed and call.excinfo is not None else []
    lines = []
    for note in notes:
        for found in re.finditer(
            r"(?:Falsifying example|Failing test case): \w+(\(.*?^\))",
            note,
            re.DOTALL | re.MULTILINE,
        ):
            lines.append(f"@hypothesis.example{found[1]}")
        lines += [f"# or {found}" for found in re.findall(r"@reproduce_failure\(.*\)", note)]
    if lines:
        text = "\n".join([f"# {item.nodeid}", *lines, ""])
        known = FALSIFIED.read_text(encoding="utf-8") if FALSIFIED.exists() else ""
        if text not in known:
            with FALSIFIED.open("a", encoding="utf-8") as file:
                file.write(text)
        report.sections.append(
            (
                "falsifying example",
                f"{text}kept in {FALSIFIED}: put it above the test and commit it",
            )
        )
    return report


_NAMED = os.environ.get("OODOMETER_DATA")  # before any test sets another


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data: OODOMETER_DATA, else ../shared/data; the test is skipped where neither exists."""
    named = _NAMED
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        where = (
            f"OODOMETER_DATA names {named}, which is no folder"
            if named
            else "set OODOMETER_DATA to its folder"
        )
        pytest.skip(f"needs the real data: {where}")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a chromium; the test is skipped where there is none."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs chromium on PATH")
    return path


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Any]:
    """A chromium for all tests: `open` a page, `run` an expression on it."""
    spec = importlib.util.spec_from_file_location(
        "browser_of_tests", ROOT / "tests/reports/browser.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.Browser(chromium) as one:
        yield one


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, which is not ours: `npm pack axe-core`, and its axe.min.js named in OODOMETER_AXE."""
    path = os.environ.get("OODOMETER_AXE", "")
    if not Path(path).is_file():
        pytest.skip("OODOMETER_AXE names no axe.min.js (npm pack axe-core)")
    return Path(path).read_text(encoding="utf-8")


GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
PLAIN = ("film", "story", "actor", "scene", "the", "a", "was", "seen")


def write_data(folder: Path, train: int = 160, test: int = 80, far: int = 60) -> Path:
    """IMDb and SST-2 as the real files have them; far texts tell their label less clearly."""
    rng = np.random.default_rng(0)

    def text(label: int, words: int, clear: float) -> str:
        kind = label if rng.random() < clear else 1 - label
        found = [
            *rng.choice(PLAIN, size=words).tolist(),
            *rng.choice(GOOD if kind else BAD, size=2).tolist(),
        ]
        rng.shuffle(found)
        return " ".join(found)

    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", train), ("test", test)):
        lines = [
            json.dumps({"id": f"{split}/{i}", "label": str(int(i >= rows // 2)), "rating": "1",
                        "text": text(int(i >= rows // 2), 12, 0.9)})
            for i in range(rows)
        ]  # fmt: skip
        with lzma.open(folder / f"imdb_{split}.jsonl.xz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    with lzma.open(folder / "sst_mr_cr_etc.tsv.xz", "wt") as file:
        file.write("mr.all\t1\tanother set\n")
        for part in ("train", "dev", "test"):
            for i in range(far):
                file.write(f"stsa.binary.{part}\t{i % 2}\t{text(i % 2, 4, 0.75)}\n")
    return folder


HAS_LAB = importlib.util.find_spec("oodometer_lab") is not None
_ASKED_LAB = re.compile(
    r"needs oodometer_lab, which is not installed|No module named 'oodometer_lab"
)
_OF_LAB = re.compile(r"^(from|import) oodometer_lab\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Where the lab is not installed, files that import it are left out; the core is tested without them."""
    file = collection_path / "conftest.py" if collection_path.is_dir() else collection_path
    if HAS_LAB or file.suffix != ".py" or file == Path(__file__) or not file.is_file():
        return None
    return True if _OF_LAB.search(file.read_text(encoding="utf-8")) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes snapshots."""
    parser.addoption(
        "--write-snapshots", action="store_true", help="keep what the tests say, to be looked at"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Snapshots are written by one process."""
    if config.option.write_snapshots and (
        hasattr(config, "workerinput") or config.getoption("numprocesses", None)
    ):
        raise pytest.UsageError("--write-snapshots goes without -n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """What a test says is compared with its snapshots, or becomes them."""
    if not item.path.is_relative_to(ROOT / "tests"):
        return (yield)  # an example of a docstring
    with snapshots_of(item, write=item.config.option.write_snapshots):
        return (yield)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Snapshots of tests that are gone go as well, where whole files are run."""
    option = session.config.option
    whole = not (
        option.keyword or option.markexpr or any("::" in arg for arg in session.config.args)
    )
    if option.write_snapshots and whole:
        forget(item for item in session.items if item.path.is_relative_to(ROOT / "tests"))


def pytest_report_header() -> list[str]:
    """Say that the lab's tests are left out."""
    return [] if HAS_LAB else ["oodometer_lab is not installed: tests that need it are left out"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that are marked as needing the lab, where it is not installed."""
    for item in items:
        if not HAS_LAB and item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.skip(reason="needs oodometer_lab"))


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "awful", "poor", "dull")
PLAIN = ("film", "story", "actor", "scene", "the", "a", "was", "seen")


@pytest.fixture(scope="session")
def torch() -> Any:
    """The library, with one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("torch", reason="needs the extra hf: pip install '.[hf]'")
    found.set_num_threads(1)
    return found


@pytest.fixture(scope="session")
def no_torch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for the path of processes that do not use torch, in which there is none that they could load."""
    folder = tmp_path_factory.mktemp("no_torch")
    (folder / "torch.py").write_text("raise ImportError('torch is absent here')")
    return str(folder)


@pytest.fixture(scope="session")
def transformers(torch: Any) -> Any:
    """The library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("transformers", reason="needs the extra hf: pip install '.[hf]'")


def review(rng: np.random.Generator, label: int) -> str:
    """A text of plain words with two words that give its label away."""
    told = rng.choice(GOOD if label else BAD, size=2).tolist()
    length = int(rng.integers(3, 12))
    found = [*rng.choice(PLAIN, size=length).tolist(), *told]
    rng.shuffle(found)
    return " ".join(found)


@pytest.fixture(scope="session")
def reviews() -> tuple[list[str], list[int]]:
    """200 texts and their labels."""
    rng = np.random.default_rng(0)
    labels = (np.arange(200) % 2).tolist()
    return [review(rng, label) for label in labels], labels


@pytest.fixture(scope="session")
def tiny_encoder(transformers: Any, tmp_path_factory: pytest.TempPathFactory, reviews: Any) -> Path:
    """A folder with an untrained BERT of 16 units and its tokenizer, as a hub would give it."""
    from oodometer_lab.models.tokens import learn_wordpiece

    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = learn_wordpiece(reviews[0], 200, 64)
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
