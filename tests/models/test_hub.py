"""The hub: a name is looked for there only where it answers, else among what was downloaded before."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from oodometer.errors import InputError
from oodometer.models.hub import from_hub, load_pretrained

constants = pytest.importorskip("huggingface_hub.constants", reason="needs the extra hf")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oodometer.models.hub.getproxies", dict)
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
    monkeypatch.setattr("oodometer.models.hub.getproxies", lambda: {"https": "http://proxy:3128"})
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
