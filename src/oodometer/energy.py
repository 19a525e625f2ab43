"""Energy: what a call costs in joules, by CPU, GPU and memory, and whether that was measured or assumed."""

from __future__ import annotations

import logging
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self, final

from .errors import MissingExtraError, UsageError

__all__ = ["PUE", "Energy", "EnergyMeter", "Part"]

PUE = 1.58
"""Power usage effectiveness: the world's average data centre of 2018. Source: Strubell et al. (2019)."""

_JOULES = 3.6e6  # in a kilowatt-hour
_NO_GPU = "no GPU was found"
_ASSUMING = ("cpu_load", "constant")  # modes in which the meter has no counter of the CPU


@final
@dataclass(frozen=True)
class Part:
    """Energy of one resource before the power usage effectiveness; ``how`` says what stands behind the number."""

    joules: float
    measured: bool
    how: str


@final
@dataclass(frozen=True)
class Energy:
    """e_total = PUE (e_dram + e_cpu + e_gpu), in joules; each part is the share p e of the processes that are counted.

    Source: Henderson et al. (2020); the default PUE is that of Strubell et al. (2019).

    Parameters
    ----------
    cpu, gpu, dram : the parts, before the PUE.
    pue : power usage effectiveness, at least 1.
    seconds : wall-clock time.

    >>> none = Part(0.0, True, "no GPU was found")
    >>> Energy(Part(6.0, False, "load and TDP"), none, Part(4.0, False, "a constant"), pue=1.5, seconds=2.0).joules
    15.0
    """

    cpu: Part
    gpu: Part
    dram: Part
    pue: float
    seconds: float

    @property
    def joules(self) -> float:
        """The total, the PUE included."""
        return self.pue * (self.cpu.joules + self.gpu.joules + self.dram.joules)

    @property
    def measured(self) -> bool:
        """Whether counters stand behind every part."""
        return self.cpu.measured and self.gpu.measured and self.dram.measured

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON; joules and seconds."""
        parts = {name: asdict(getattr(self, name)) for name in ("cpu", "gpu", "dram")}
        return {
            "joules": self.joules,
            "pue": self.pue,
            "seconds": self.seconds,
            "measured": self.measured,
            **parts,
        }

    def summary(self) -> str:
        """What was measured and what was assumed, in a sentence."""
        said = [
            part.how if part.how == _NO_GPU else f"{label} {'measured' if part.measured else 'assumed'} ({part.how})"
            for label, part in (("CPU", self.cpu), ("GPU", self.gpu), ("DRAM", self.dram))
        ]
        return f"{'; '.join(said)}; PUE {self.pue:g} assumed"


@final
class EnergyMeter:
    """Counts the energy of a block of code, offline, by codecarbon; read ``energy`` after the block.

    With ``whole_machine=False`` the CPU and DRAM count as far as this process uses them, where the meter can tell;
    counters of the hardware always read the whole socket or card.

    Parameters
    ----------
    pue : power usage effectiveness, 1 for a device that nobody cools.
    whole_machine : whether other processes are counted too.
    every : seconds between two readings of the power.

    Raises `MissingExtraError` without codecarbon (extra `energy`), `UsageError` for a PUE below 1.

    >>> from oodometer.models import EnergyMeter
    >>> EnergyMeter(pue=0.5)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected a power usage effectiveness of at least 1, got 0.5
    """

    def __init__(self, *, pue: float = PUE, whole_machine: bool = False, every: float = 1.0) -> None:
        if not pue >= 1:
            raise UsageError(f"expected a power usage effectiveness of at least 1, got {pue}")
        self.pue, self.whole_machine, self.every = pue, whole_machine, every
        self._tracker: Any = None
        self._start = 0.0
        self._found: Energy | None = None

    @staticmethod
    def check() -> None:
        """Raise `MissingExtraError` where codecarbon is not installed."""
        try:
            import codecarbon  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("measuring energy", "codecarbon", extra="energy") from error

    @property
    def energy(self) -> Energy:
        """What the block took; `UsageError` before its end."""
        if self._found is None:
            raise UsageError("the energy is known after the block; read it behind `with EnergyMeter() as meter:`")
        return self._found

    def __enter__(self) -> Self:
        self.check()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from codecarbon import OfflineEmissionsTracker

            logging.getLogger("codecarbon").setLevel(logging.CRITICAL)
            # The country only weighs emissions, which are not read. The PUE is applied here, to keep the parts bare.
            self._tracker = OfflineEmissionsTracker(
                country_iso_code="USA",
                save_to_file=False,
                log_level="critical",
                pue=1.0,
                tracking_mode="machine" if self.whole_machine else "process",
                measure_power_secs=self.every,
                allow_multiple_runs=True,
                output_dir=tempfile.gettempdir(),
            )
            self._tracker.start()
        self._start = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.monotonic() - self._start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tracker.stop()
        data = self._tracker.final_emissions_data
        hardware = list(getattr(self._tracker, "_hardware", []))
        self._found = Energy(
            cpu=Part(data.cpu_energy * _JOULES, *_cpu(hardware)),
            gpu=Part(data.gpu_energy * _JOULES, *_gpu(hardware)),
            dram=Part(data.ram_energy * _JOULES, *_dram(hardware, float(data.ram_power))),
            pue=self.pue,
            seconds=seconds,
        )


def _named(hardware: list[Any], *names: str) -> Any:
    return next((one for one in hardware if type(one).__name__ in names), None)


def _cpu(hardware: list[Any]) -> tuple[bool, str]:
    """Whether the CPU has counters, and what stands behind its number."""
    if _named(hardware, "AppleSiliconChip", "Raspberry") is not None:
        return True, "counters of the chip"
    found = _named(hardware, "CPU")
    if found is None:
        return False, "no CPU was recognised, counted as 0"
    mode = str(getattr(found, "_mode", "unknown"))
    if mode in _ASSUMING or mode == "unknown":
        power = getattr(found, "_tdp", None)
        of = f"of {power:g} W" if isinstance(power, int | float) else "unknown"
        return False, f"no counters; {'load times' if mode == 'cpu_load' else 'half of'} a design power {of}"
    return True, f"counters, {mode}; the whole socket"


def _gpu(hardware: list[Any]) -> tuple[bool, str]:
    if _named(hardware, "GPU") is not None:
        return True, "counters of the card; all its users"
    return True, _NO_GPU


def _dram(hardware: list[Any], watts: float) -> tuple[bool, str]:
    if _named(hardware, "Raspberry") is not None:
        return True, "counters of the board"
    return False, f"no counters; a power of {watts:g} W taken from the size of the memory"
