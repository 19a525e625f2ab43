"""Opening: a classifier from whatever a user names: a folder, a hub name, an ONNX file, a function in a module."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

from oodometer.engines import Engine, run_tasks
from oodometer.errors import InputError, UsageError, WorkError
from oodometer.runs import Kept
from oodometer.store.artifact_cache import content_of

from .artifacts import described, kind_named
from .base import Classifier, Progress, load_model
from .torch.library import load_pretrained, on_gpu, one_torch_thread

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".bin", ".ckpt")
_TEXT, _IMAGE = "ForSequenceClassification", "ForImageClassification"


def open_classifier(
    model: Any,
    *,
    gives: str | None = None,
    classes: Sequence[int | str] | None = None,
    max_length: int | None = None,
    device: str | None = None,
) -> Classifier:
    """A classifier that can be asked.

    model : A `Classifier`; a folder that one saved itself to; a Hugging Face classifier of texts or images, or a ranker
        (a cross-encoder with one output), by folder or hub name; an ``.onnx`` file; ``package.module:name`` of a fitted
        estimator, a torch module, a function that answers a batch, or a function without arguments that gives one of
        these; or such an object itself.
    gives : "logits" or "probabilities", of a function, a module or an ONNX file.
    classes : Class names in the order of the outputs, in place of the model's own; not these in another order.
    max_length : Tokens of a text that are read, at most.
    device : "cpu" or "cuda".

    Raises `InputError` for a folder or name that is no classifier, `UsageError` for a pickle, which is never read,
    and for ``classes`` that are a model's own in another order.
    """
    if isinstance(model, Classifier):
        return _renamed(model, classes)
    if not isinstance(model, (str, os.PathLike)):
        called = str(getattr(model, "__name__", type(model).__name__))
        return _of_object(model, called, gives, classes, device)
    name = str(model)
    path = Path(name).expanduser()
    if path.suffix.lower() in _PICKLES and path.is_file():
        raise UsageError(
            f"{name}: a pickle can run any code and is never read; save the model as safetensors or ONNX, or name a "
            "function that builds it, package.module:function"
        )
    if path.suffix.lower() == ".onnx":
        from .outside import OnnxClassifier

        return OnnxClassifier(str(path), gives=_checked(gives), classes=classes)
    if not path.exists() and _REFERENCE.fullmatch(name) and not name.startswith("hub:"):
        return _of_object(imported(name), name, gives, classes, device)
    if described(path) is not None:
        loaded = load_model(path)
        if hasattr(loaded, "device"):
            loaded.device = device
        _check_order(name, loaded.classes, classes)
        return _renamed(loaded, classes)
    if path.exists() and not (path / "config.json").is_file():
        got = "a file"
        if not path.is_file():
            got = ", ".join(sorted(entry.name for entry in path.iterdir())[:6]) or "nothing"
        raise InputError(
            "the folder of a model, with config.json or oodometer_model.json in it",
            got=got,
            file=name,
            remedy="name the folder that save_pretrained, or save, wrote",
        )
    return _renamed(_of_transformers(name, max_length, device), classes)


def _of_transformers(name: str, max_length: int | None, device: str | None) -> Classifier:
    """A Hugging Face classifier of texts or images, or a ranker, by folder or hub name."""
    config = load_pretrained("AutoConfig", name, expected="a classifier")
    kinds = list(getattr(config, "architectures", None) or [])
    if any(kind.endswith(_TEXT) for kind in kinds):
        ranks = config.num_labels == 1 and config.problem_type != "regression"
        text: Any = kind_named("response-ranker" if ranks else "encoder")
        return text.from_pretrained(name, device=device, max_length=max_length)  # type: ignore[no-any-return]
    if any(kind.endswith(_IMAGE) for kind in kinds):
        image: Any = kind_named("image-encoder")
        return image.from_pretrained(name, device=device)  # type: ignore[no-any-return]
    if getattr(config, "is_encoder_decoder", False):
        raise InputError(
            "a classifier of texts or images",
            got=f"a sequence model ({', '.join(kinds) or config.model_type})",
            remedy="its outputs are written by `oodometer predict FOLDER DATA` of its folder, and mistakes of its "
            "checkpoints by `oodometer discriminate collect`",
            file=name,
        )
    got = ", ".join(kinds) or f"a {config.model_type} without a head"
    remedy = "fine-tune it to a classification first (Encoder.fit, or transformers)"
    raise InputError("a classifier of texts or images", got=got, remedy=remedy, file=name)


def imported(name: str) -> Any:
    """What ``package.module:name`` names, of a module that can be imported here or lies in the folder of the command.

    Raises `InputError` where there is no such module or name, or importing it fails.
    """
    module, _, attribute = name.partition(":")
    folder = os.getcwd()
    added = folder not in sys.path
    if added:  # as python -m does: a user's own file lies in the folder of the command
        sys.path.insert(0, folder)
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        remedy = "check the name, or run in its folder"
        raise InputError(f"a module {module}", got=str(error), remedy=remedy, file=name) from error
    except (Exception, SystemExit) as error:  # somebody else's code
        got = f"{type(error).__name__}: {error}"[:160]
        raise InputError(
            f"a module {module} that can be imported", got=got, remedy="mend it", file=name
        ) from error
    finally:
        if added:
            sys.path.remove(folder)
    if not hasattr(imported, attribute):
        names = ", ".join(member for member in vars(imported) if not member.startswith("_"))
        got = f"{names[:120] or 'nothing'}"
        raise InputError(f"{attribute} in {module}", got=got, file=name, remedy="name one of these")
    return getattr(imported, attribute)


def _of_object(
    model: Any,
    name: str,
    gives: str | None,
    classes: Sequence[int | str] | None,
    device: str | None,
) -> Classifier:
    if isinstance(model, Classifier):
        return _renamed(model, classes)
    if hasattr(model, "predict_proba") and not isinstance(model, type):
        from .outside import EstimatorClassifier

        if hasattr(model, "classes_"):
            _check_order(name, list(model.classes_), classes)
        return EstimatorClassifier(model, classes=classes, name=name)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        from .outside import ModuleClassifier

        return ModuleClassifier(
            model, gives=_checked(gives) or "logits", classes=classes, name=name, device=device
        )
    if hasattr(model, "predict") and not callable(model):
        got = f"{type(model).__name__}, which has none"
        remedy = (
            "wrap it in CalibratedClassifierCV, or give a function that answers with probabilities"
        )
        raise InputError("an estimator with predict_proba", got=got, file=name, remedy=remedy)
    if not callable(model) or isinstance(model, type):
        expected = "a function, a fitted estimator or a torch module"
        raise InputError(
            expected, got=repr(model)[:80], file=name, remedy="name a function that returns one"
        )
    if _needs_nothing(model):
        return _of_object(_made_by(model, name), name, gives, classes, device)
    from .outside import FunctionClassifier

    return FunctionClassifier(
        model, gives=_checked(gives) or "probabilities", classes=classes, name=name
    )


def _made_by(function: Callable[[], Any], name: str) -> Any:
    """What a function without arguments gives; `InputError` where it fails, or gives another such function."""
    try:
        model = function()
    except (Exception, SystemExit) as error:  # somebody else's code
        got = f"{type(error).__name__}: {error}"[:160]
        raise InputError(
            "a function that gives a model", got=got, file=name, remedy="mend it"
        ) from error
    if model is function or (
        callable(model) and _needs_nothing(model) and not hasattr(model, "predict_proba")
    ):
        raise InputError(
            "a model", got=repr(model)[:80], file=name, remedy="return one that takes a batch"
        )
    return model


def _needs_nothing(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # it needs some, or is a builtin without a signature
        return False
    return True


def _checked(gives: str | None) -> Any:
    if gives not in (None, "logits", "probabilities"):
        raise UsageError(f"expected --gives logits or probabilities, got {gives!r}")
    return gives


def _renamed(model: Classifier, classes: Sequence[int | str] | None) -> Classifier:
    if classes is None:
        return model
    if len(classes) != len(model.classes) or len(set(classes)) < len(classes):
        raise UsageError(
            f"expected {len(model.classes)} different class names, got {', '.join(map(str, classes))}; the model's "
            f"own are {', '.join(map(str, model.classes))}"
        )
    if model.classes != tuple(range(len(classes))):  # positions say nothing of what they stand for
        _check_order(str(getattr(model, "name", type(model).__name__)), model.classes, classes)
    model.classes = tuple(classes)
    return model


def _check_order(
    name: str, class_names: Sequence[Any], classes: Sequence[int | str] | None
) -> None:
    if classes is None:
        return
    mine, theirs = (
        [str(name_of_class).casefold() for name_of_class in labels]
        for labels in (class_names, classes)
    )
    if mine != theirs and sorted(mine) == sorted(theirs):
        raise UsageError(
            f"{name} has its own names of its classes, {', '.join(map(str, class_names))}, in the order of its "
            f"outputs; --classes {','.join(map(str, classes))} would exchange them; leave it out"
        )


def path_of(model: Any) -> str:
    """The path by which a worker opens a model; `UsageError` for one that has none."""
    if not isinstance(model, (str, os.PathLike)):
        raise UsageError(
            f"workers open models by their paths, and {getattr(model, '__name__', type(model).__name__)} is in memory; "
            "save it and give its folder, or leave engine and workers out"
        )
    return os.fspath(model)


_kept: dict[str, Classifier] = {}  # one at most


@final
@dataclass(frozen=True)
class SentModel:
    """A model by its path (or ``package.module:name``), what tells it from a later one there, and the arguments of
    `open_classifier` that open it.
    """

    path: str
    stamp: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gpu(self) -> bool:
        """Whether a GPU is used where there is one."""
        return self.options.get("device") != "cpu"

    @property
    def on_gpu_here(self) -> bool:
        """Whether a GPU of this machine would be used."""
        return self.gpu and on_gpu(self.options.get("device"))

    def opened(self) -> AbstractContextManager[Classifier]:
        """The model, asked by one thread inside."""
        key = repr((self.path, self.stamp, sorted(self.options.items())))
        return kept_model(key, lambda: open_classifier(self.path, **self.options))


@contextmanager
def kept_model(key: str, make: Callable[[], Classifier]) -> Iterator[Classifier]:
    """What ``make`` gave for this very key before, else gives now; one model is kept. Inside, torch has one thread."""
    with one_torch_thread():
        if key not in _kept:
            _kept.clear()
            _kept[key] = make()
        yield _kept[key]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A piece of work: how many rows it has, and where its result is kept, if so; ``lost``: what is said where it is
    not, and which folder to name.
    """

    size: int
    lost: tuple[str, str]
    kept: Kept | None
    key: str

    def known(self) -> Any:
        """What was kept of it; None for nothing."""
        return None if self.kept is None else self.kept.get(self.key)


@contextmanager
def forgetting() -> Iterator[None]:
    """Around tasks: a model that was opened in this process does not stay in its memory."""
    try:
        yield
    finally:
        _kept.clear()


def pieces_of_work(
    pieces: Sequence[Piece],
    engine: Engine | None,
    work: Callable[[Any, Progress], Any],
    task: Any,
    progress: Progress | None,
) -> list[Any]:
    """What each piece gives, in order: kept before, made by ``work(piece, progress)``, or by tasks."""
    results = {
        at: stored for at, piece in enumerate(pieces) if (stored := piece.known()) is not None
    }
    rest = [at for at in range(len(pieces)) if at not in results]
    done, total = 0, sum(piece.size for piece in pieces)

    def tell(piece: Piece, part_done: int = 1, part_total: int = 1) -> None:
        if progress is not None:
            progress(done + piece.size * part_done // max(part_total, 1), total)

    def finished(piece: Piece) -> None:
        nonlocal done
        tell(piece)
        done += piece.size

    for at in results:
        finished(pieces[at])
    if engine is None:
        for at in rest:
            results[at] = work(pieces[at], partial(tell, pieces[at]))
            finished(pieces[at])
        return [results[at] for at in range(len(pieces))]
    answers = run_tasks(engine, task, [pieces[at] for at in rest], on_done=finished)
    for at, answer in zip(rest, answers, strict=True):
        results[at] = answer if pieces[at].kept is None else pieces[at].known()
        if results[at] is None:
            where = "the workers write to folders of other machines; name a"
            raise WorkError(
                f"{pieces[at].lost[0]}: {where} {pieces[at].lost[1]} that all of them see"
            )
    return [results[at] for at in range(len(pieces))]


def stamp_of(model: Any) -> Any:
    """What tells a model from a later one in its place: the content of its files, or of the modules of its package."""
    path = Path(str(model)).expanduser()
    if not path.exists() and ":" in str(model):
        spec = importlib.util.find_spec(str(model).partition(":")[0].partition(".")[0])
        homes = () if spec is None else spec.submodule_search_locations or ()
        files = [file for folder in homes for file in sorted(Path(folder).rglob("*.py"))]
        files += [Path(spec.origin)] if spec is not None and spec.origin and not files else []
        return [str(model), *([str(file), content_of(file)] for file in files)]
    return [str(model), content_of(path)]
