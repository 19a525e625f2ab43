"""The libraries torch and transformers: loaded where they are used, threads that suit the machine, hub models."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from oodometer.errors import InputError, MissingExtraError, UsageError, needed
from oodometer.kernels import cores

_DEVICE = re.compile(r"cpu|cuda(:\d+)?")


def torch() -> Any:
    """The module torch; `MissingExtraError` names the ``pip install`` line where it is absent."""
    return needed("torch", "a live model", extra="hf")


def transformers() -> Any:
    """The module transformers, its own progress bars and advice switched off; `MissingExtraError` as for torch."""
    torch()
    library = needed("transformers", "a transformer encoder", extra="hf")
    _silence(library)
    return library


@cache
def _silence(library: Any) -> None:
    """Once in a process: each time every logger's memory would be emptied, and a user's own choice undone."""
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()


def seed_draws(seed: int) -> None:
    """Seed the generators in use; ``torch.manual_seed`` writes down the stack for a later GPU, which takes long."""
    library = torch()
    library.default_generator.manual_seed(seed)
    if library.cuda.is_initialized():
        library.cuda.manual_seed_all(seed)


def choose_device(name: str | None) -> str:
    """``name``, or "cuda" where a GPU is there, else "cpu"; `UsageError` for another, or a GPU that is not there."""
    has_gpu = torch().cuda.is_available()
    if name is None:
        return "cuda" if has_gpu else "cpu"
    if not _DEVICE.fullmatch(name):
        raise UsageError(f"expected the device to be cpu, cuda or cuda:N, got {name!r}")
    number = int(name.partition(":")[2] or 0)
    if name != "cpu" and (not has_gpu or number >= torch().cuda.device_count()):
        raise UsageError(f"the device {name} is not there; leave the device out or say cpu")
    return name


@cache
def idle_cores() -> int:
    """Cores that nobody else keeps busy, at least 1, looked at once: two threads on two busy cores are slow."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        busy = os.getloadavg()[0]
    except (AttributeError, OSError):  # not every system counts
        busy = 0.0
    return max(1, min(cores, round(cores - busy)))


def use_threads(count: int | None = None) -> int:
    """Let torch use ``count`` threads, by default as many as there are idle cores for us; returns the number."""
    count = count or min(idle_cores(), cores())
    torch().set_num_threads(count)
    return count


def idle_threads() -> AbstractContextManager[None]:
    """Let torch use no more threads than there are idle cores, for as long as the work lasts."""
    return _threads(min(torch().get_num_threads(), idle_cores()))


@contextmanager
def _threads(count: int) -> Iterator[None]:
    library = torch()
    before = library.get_num_threads()
    library.set_num_threads(count)
    try:
        yield
    finally:
        library.set_num_threads(before)


def one_torch_thread() -> AbstractContextManager[None]:
    """Inside, torch (if there) has one thread, as every task has: sums of several threads are rounded otherwise."""
    try:
        torch()
    except MissingExtraError:
        return nullcontext()
    return _threads(1)


def on_gpu(device: str | None) -> bool:
    """Whether a model that is told this device runs on a GPU of this machine; without torch none does."""
    try:
        return choose_device(device) != "cpu"
    except MissingExtraError:
        return False


_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_EXPLICIT = "hub:"
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
# transformers would ask a service on the hub for one
_NO_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"


def load_pretrained(
    loader: str, source: str, *, expected: str = "an encoder", **options: Any
) -> Any:
    """``transformers.<loader>.from_pretrained(source)`` of a folder, of ``owner/name`` on the hub whose owner is no
    folder here, or of ``hub:name``. Code that a model brings along is never run, weights come from safetensors alone.
    """
    local, name = Path(source).expanduser(), source.removeprefix(_EXPLICIT)
    is_here = name == source and local.is_dir()
    if not is_here and name == source:
        _check_hub_name(source, expected)
    options |= {
        "trust_remote_code": False,
        **({"local_files_only": True} if is_here else from_hub()),
    }
    if loader.startswith("AutoModel"):
        options["use_safetensors"] = True
        if is_here and not any(local.glob("*.safetensors")):
            names = [entry.name for entry in sorted(local.iterdir()) if entry.suffix in _PICKLED]
            raise _no_safetensors(
                expected, loader, str(local), ", ".join(names[:3]) or "a folder without weights"
            )
    make = getattr(transformers(), loader).from_pretrained
    try:
        with _quiet_hub():
            loaded = make(str(local) if is_here else name, **options)
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        if "trust_remote_code" in str(error):
            raise InputError(
                f"{expected} of a kind that transformers knows itself",
                got="a config.json that names code of its own (auto_map)",
                file=source,
                remedy="code that a model brings along is never run; load it in a function of yours and name that, "
                "package.module:function",
            ) from error
        if "use_safetensors" in str(error):
            raise _no_safetensors(
                expected, loader, name, "a model without model.safetensors"
            ) from error
        got = repr(source)
        remedy = f"check the name and the network, or download it and give the folder ({type(error).__name__})"
        raise InputError(
            f"a folder or a hub name of {expected} and its tokenizer", got=got, remedy=remedy
        ) from error
    # saved again, a tokenizer would write where it was read from
    for option in ("local_files_only", "is_local"):
        getattr(loaded, "init_kwargs", {}).pop(option, None)
    return loaded


def _check_hub_name(source: str, expected: str) -> None:
    """Raise `InputError` for a path in place of a name on the hub: its folder is here, or it begins as paths do."""
    is_path = source.startswith((".", "~", os.sep)) or Path(source).parent.is_dir()
    if not is_path and _HUB.fullmatch(source):
        return
    got = f"the file {source!r}"
    if not Path(source).expanduser().exists():
        got = f"{source!r}, and no such folder is here"
    remedy = f"check the path; {_EXPLICIT}NAME asks the hub whatever the name looks like"
    raise InputError(
        f"{expected}: a folder, or OWNER/NAME on the Hugging Face hub", got=got, remedy=remedy
    )


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Inside, retries are no lines, and no service is asked for a conversion; afterwards all is as it was."""
    log = logging.getLogger("huggingface_hub")
    before, converts = log.level, os.environ.get(_NO_CONVERSION)
    log.setLevel(logging.ERROR)
    os.environ[_NO_CONVERSION] = "1"
    try:
        yield
    finally:
        log.setLevel(before)
        del os.environ[_NO_CONVERSION]
        if converts is not None:
            os.environ[_NO_CONVERSION] = converts


def _no_safetensors(expected: str, loader: str, source: str, got: str) -> InputError:
    beside = "AutoImageProcessor" if "Image" in loader else "AutoTokenizer"
    write = "; ".join(
        f"t.{n}.from_pretrained({source!r}).save_pretrained('converted')" for n in (loader, beside)
    )
    return InputError(
        f"{expected} with its weights as safetensors",
        got=got,
        file=source,
        remedy="pickled weights can run any code and are never read; if you trust who wrote them, "
        f'python -c "import transformers as t; {write}" writes the folder converted, which is',
    )


def from_hub() -> dict[str, Any]:
    """Options of ``from_pretrained`` for a hub name: only what was downloaded before where the hub is not there."""
    from ...datasets.files import hub_answers

    return {} if hub_answers() else {"local_files_only": True}


_NUMBERED = re.compile(r"LABEL_(\d+)")


def class_names(config: Any, source: str) -> tuple[int | str, ...]:
    """Class names of a classifier of transformers, in the order of its logits; ``LABEL_0``, ... are 0, ..."""
    problem = getattr(config, "problem_type", None)
    labels = {int(number): str(name) for number, name in (config.id2label or {}).items()}
    if len(labels) < 2 or problem not in (None, "single_label_classification"):
        got = f"one with {len(labels)} output" if len(labels) < 2 else f"one of the type {problem}"
        expected = "a classifier that gives one distribution over its classes"
        remedy = "regression and several labels at once have no accuracy"
        raise InputError(expected, got=got, remedy=remedy, file=source)
    names = [labels[number] for number in sorted(labels)]
    if all(
        (match := _NUMBERED.fullmatch(name)) and int(match[1]) == i for i, name in enumerate(names)
    ):
        return tuple(range(len(names)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        got = f"{twice!r} twice"
        raise InputError(
            "a name for each class",
            got=got,
            remedy="correct id2label in its config.json",
            file=source,
        )
    return tuple(names)
