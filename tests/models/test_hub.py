"""The hub: a name is looked for there only where it answers, else among what was downloaded before."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from oodometer.datasets.hub import hub_rows
from oodometer.errors import InputError, WorkError
from oodometer.models.hub import from_hub, load_pretrained

constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra hf")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodometer.datasets.hub.getproxies", dict)
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
    monkeypatch.setattr("oodometer.datasets.hub.getproxies", lambda: {"https": "http://proxy:3128"})
    assert from_hub() == {}


def test_the_answer_reaches_the_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    seen: dict[str, Any] = {}

    def recorded(source: str, **options: Any) -> None:
        seen.update(options, source=source)
        raise OSError("not among the downloaded ones")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", recorded)
    with pytest.raises(InputError, match=r"a hub name of an encoder and its tokenizer, got 'somebody/net'"):
        load_pretrained("AutoConfig", "somebody/net")
    assert seen == {"source": "somebody/net", "local_files_only": True}


def test_a_data_set_of_a_hub_that_does_not_answer_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="needs the extra hf")

    def asked(*arguments: Any, **options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setattr(datasets, "load_dataset", asked)
    with pytest.raises(WorkError, match=r"cannot load somebody/rows from the hub, which does not answer; set OODO"):
        hub_rows("somebody/rows", "train")


def test_a_hub_is_asked_once_a_minute_whether_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def connect(place: Any, patience: float) -> None:
        asked.append(place)
        raise OSError("unreachable")

    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.invalid")
    monkeypatch.setattr("oodometer.datasets.hub.time.monotonic", lambda: 6000.0)
    monkeypatch.setattr("oodometer.datasets.hub.socket.create_connection", connect)
    assert [from_hub() for _ in range(3)] == [{"local_files_only": True}] * 3
    assert asked == [("hub.invalid", 443)]
    monkeypatch.setattr("oodometer.datasets.hub.time.monotonic", lambda: 6060.0)
    from_hub()
    assert len(asked) == 2
