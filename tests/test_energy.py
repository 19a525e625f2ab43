"""Energy: the equation by hand, what was measured and what assumed, a missing extra in one line."""

from __future__ import annotations

import builtins
import re
import time
from typing import Any

import pytest

from oodometer.energy import Part, _cpu, _dram, _gpu
from oodometer.errors import MissingExtraError, UsageError
from oodometer.extras import install_line
from oodometer.models import Energy, EnergyMeter


def test_the_equation_by_hand() -> None:
    found = Energy(Part(10.0, True, "c"), Part(20.0, True, "g"), Part(5.0, False, "d"), pue=2.0, seconds=1.0)
    assert found.joules == 70
    assert not found.measured
    assert found.to_dict()["gpu"] == {"joules": 20.0, "measured": True, "how": "g"}
    assert (
        Energy(found.cpu, Part(0.0, *_gpu([])), found.dram, 1.0, 1.0)
        .summary()
        .startswith("CPU measured (c); no GPU was found; DRAM")
    )
    assert found.summary() == "CPU measured (c); GPU measured (g); DRAM assumed (d); PUE 2 assumed"


@pytest.mark.parametrize(
    ("name", "mode", "measured"),
    [
        ("CPU", "intel_rapl", True),
        ("CPU", "cpu_load", False),
        ("CPU", "constant", False),
        ("Raspberry", "", True),
    ],
)
def test_counters_are_told_from_assumptions(name: str, mode: str, measured: bool) -> None:
    thing = type(name, (), {"_mode": mode, "_tdp": 65.0})()
    assert _cpu([thing])[0] is measured
    assert _cpu([])[0] is False
    assert _gpu([type("GPU", (), {})()]) == (True, "counters of the card; all its users")
    assert _dram([thing], 10.0)[0] is (name == "Raspberry")


def test_a_loop_costs_energy_and_more_time_costs_more() -> None:
    pytest.importorskip("codecarbon", reason="needs the extra energy: pip install '.[energy]'")
    found = []
    for seconds in (0.5, 2.0):
        with EnergyMeter(pue=1.0) as meter:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                pass
        found.append(meter.energy)
    assert 0 < found[0].joules < found[1].joules
    assert found[0].pue == 1
    assert found[1].seconds == pytest.approx(2, abs=1.5)


def test_misuse_is_said() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        EnergyMeter(pue=0)
    with pytest.raises(UsageError, match="after the block"):
        _ = EnergyMeter().energy


def test_a_missing_extra_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("codecarbon"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("energy"))), EnergyMeter():
        pass
