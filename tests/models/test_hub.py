"""The hub: a name is looked for there only where it answers, else among what was downloaded before."""

from __future__ import annotations

import io
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oodometer.cli import main
from oodometer.errors import InputError, WorkError
from oodometer_lab.datasets.files import hub_rows
from oodometer_lab.models import open_classifier
from oodometer_lab.models.torch.library import from_hub, load_pretrained

from ..snapshots import raises_snapshot

constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra hf")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodometer_lab.datasets.files.getproxies", dict)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_a_hub_that_does_not_answer_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    assert from_hub() == {"local_files_only": True}
    monkeypatch.setattr(constants, "ENDPOINT", "https://no-such-host.invalid")
    assert from_hub() == {"local_files_only": True}


def test_a_hub_that_answers_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        assert from_hub() == {}


def test_a_proxy_is_left_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setattr(
        "oodometer_lab.datasets.files.getproxies", lambda: {"https": "http://proxy:3128"}
    )
    assert from_hub() == {}


def test_the_answer_reaches_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    seen: dict[str, Any] = {}

    def recorded(source: str, **options: Any) -> None:
        seen.update(options, source=source)
        raise OSError("not among the downloaded ones")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", recorded)
    with raises_snapshot(InputError):
        load_pretrained("AutoConfig", "somebody/net")
    assert seen == {"source": "somebody/net", "local_files_only": True, "trust_remote_code": False}


def test_a_data_set_of_a_hub_that_does_not_answer_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra hf")

    def asked(*arguments: Any, **options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setattr(datasets, "load_dataset", asked)
    with raises_snapshot(WorkError):
        hub_rows("somebody/rows", "train")


def test_a_hub_is_asked_once_a_minute_whether_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connect(place: Any, patience: float) -> None:
        asked.append(place)
        raise OSError("unreachable")

    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.invalid")
    monkeypatch.setattr("oodometer_lab.datasets.files.time.monotonic", lambda: 6000.0)
    monkeypatch.setattr("oodometer_lab.datasets.files.socket.create_connection", connect)
    assert [from_hub() for _ in range(3)] == [{"local_files_only": True}] * 3
    assert asked == [("hub.invalid", 443)]
    monkeypatch.setattr("oodometer_lab.datasets.files.time.monotonic", lambda: 6060.0)
    from_hub()
    assert len(asked) == 2


@pytest.mark.parametrize(
    "name",
    ["modl", "./modl", "runs/modl", "a/b/c", "/nowhere/modl", "~/no-such-modl", "modl/", "a.csv"],
)
def test_a_mistyped_path_is_not_looked_for_on_the_hub(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would tell others its name, and run for a while; `hub:` asks for whatever the name looks like."""
    transformers = pytest.importorskip("transformers")
    (tmp_path / "runs").mkdir()
    (tmp_path / "a.csv").write_text("a")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    seen: list[str] = []
    monkeypatch.setattr(
        transformers.AutoConfig, "from_pretrained", lambda source, **options: seen.append(source)
    )
    with raises_snapshot(InputError):
        load_pretrained("AutoConfig", name)
    assert seen == []
    load_pretrained("AutoConfig", "hub:modl")
    load_pretrained("AutoConfig", "owner/modl")
    assert seen == ["modl", "owner/modl"]


@pytest.fixture
def theirs(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A classifier of texts that transformers saved."""
    transformers = pytest.importorskip("transformers")
    out = tmp_path / "theirs"
    net = transformers.AutoModelForSequenceClassification.from_pretrained(
        str(tiny_encoder), num_labels=2
    )
    net.save_pretrained(out)
    transformers.AutoTokenizer.from_pretrained(str(tiny_encoder)).save_pretrained(out)
    return out


CODE = """
from transformers import PretrainedConfig
open({mark!r}, "w").write("ran")
class Theirs(PretrainedConfig):
    model_type = "theirs"
"""


@pytest.mark.parametrize("kind", ["theirs", "bert"])
def test_code_that_a_model_brings_along_is_never_run(
    kind: str,
    theirs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nor is anybody asked whether it may; a kind that transformers knows itself is read as usual."""
    mark = tmp_path / "mark"
    (theirs / "theirs.py").write_text(CODE.format(mark=str(mark)))
    config = json.loads((theirs / "config.json").read_text())
    config |= {"model_type": kind, "auto_map": {"AutoConfig": "theirs.Theirs"}}
    (theirs / "config.json").write_text(json.dumps(config))
    (tmp_path / "t.csv").write_text("text\na good film\n")
    monkeypatch.setattr("builtins.input", lambda *asked: pytest.fail("asked"))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\ny\n"))
    code = main(["predict", str(theirs), str(tmp_path / "t.csv"), "--out", str(tmp_path / "p.csv")])
    said = capsys.readouterr().err
    assert not mark.exists()
    assert code == (0 if kind == "bert" else 2), said
    if kind == "theirs":
        assert said.count("\n") == 1
        assert "code of its own (auto_map)" in said
        assert "code that a model brings along is never run" in said


def test_pickled_weights_are_never_read_and_the_remedy_works(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    torch.save(safetensors.load_file(theirs / "model.safetensors"), theirs / "pytorch_model.bin")
    (theirs / "model.safetensors").unlink()
    with raises_snapshot(InputError) as raised:
        open_classifier(str(theirs))
    found = re.search(r'python -c "(.*?)" writes', raised.value.remedy or "")
    subprocess.run([sys.executable, "-c", found[1]], cwd=tmp_path, check=True, timeout=120)
    assert open_classifier(str(tmp_path / "converted")).ask(["a good film"]).logits.shape == (1, 2)


ENDS = """
import sys
def answers(texts): sys.exit(0)
def makes(): sys.exit(0)
"""


@pytest.mark.parametrize("name", ["answers", "makes", "on_import"])
def test_a_model_that_ends_the_program_is_an_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 with no file would look like success."""
    module = f"ends_by_{name}"
    (tmp_path / f"{module}.py").write_text(ENDS + ("sys.exit(0)\n" if name == "on_import" else ""))
    (tmp_path / "t.csv").write_text("text\na good film\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code = main(["predict", f"{module}:{name}", "t.csv", "--out", "p.csv"])
    said = capsys.readouterr().err
    assert code == (1 if name == "answers" else 2)
    assert said.count("\n") == 1
    assert "SystemExit" in said
    assert not (tmp_path / "p.csv").exists()


def test_whatever_ends_the_program_within_a_command_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("oodometer.verbs.methods.cite", lambda *given, **named: sys.exit(0))
    assert main(["cite", "atc"]) == 1
    assert "ended the program (exit 0) before the command was done" in capsys.readouterr().err
