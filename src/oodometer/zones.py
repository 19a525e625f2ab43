"""Zones: instants of UTC as the clock of a place shows them, by the IANA time zone database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from .arrays import Array
from .errors import UsageError, near_names

_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check_zone(name: str) -> str:
    """The name of a time zone; `UsageError` for one that is not in the database, or where there is no database.

    >>> check_zone("Europe/Berlin")
    'Europe/Berlin'
    """
    from zoneinfo import ZoneInfo, available_timezones

    try:
        if name != "UTC":
            ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a path, a folder of zones, a name that is not there
        if not (zones := available_timezones()):
            missing = f"this machine has no time zone database, which --timezone {name} needs"
            raise UsageError(f"{missing}: pip install tzdata (UTC needs none)") from None
        near = [zone for zone in zones if zone.lower() == name.lower()] or near_names(
            name, sorted(zones)
        )
        near = near or sorted(
            zone for zone in zones if zone.lower().endswith(f"/{name.lower().replace(' ', '_')}")
        )
        hint = (
            f"did you mean {near[0]}?"
            if near
            else "IANA names are Europe/Berlin, America/New_York, UTC, ..."
        )
        raise UsageError(f"--timezone: there is no time zone {name!r}; {hint}") from None
    return name


@lru_cache(4096)
def _changes(zone: str, year: int) -> list[tuple[int, int]]:
    """When the clock of a zone changes in a year of UTC and two days around it: seconds since 1970, and its offset from
    then on; first that of the beginning. Days are looked at one by one, and the second by halving.
    """
    from zoneinfo import ZoneInfo

    info = ZoneInfo(zone)

    def offset(second: int) -> int:
        local: Any = (_EPOCH + timedelta(seconds=second)).astimezone(info)
        return int(local.utcoffset().total_seconds())

    first = int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) - 2 * _DAY
    out = [(first, offset(first))]
    for day in range(first + _DAY, first + 371 * _DAY, _DAY):
        before, now = out[-1][1], offset(day)
        if now != before:
            low, high = day - _DAY, day
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == before else (low, middle)
            out.append((high, now))
    return out


def _table(times: Array, zone: str) -> tuple[Array, Array]:
    """The changes in the years of these times, in their order: instants and offsets."""
    years = np.unique(times[~np.isnat(times)].astype("datetime64[Y]").astype(np.int64) + 1970)
    changes = [
        change for year in np.clip(years, 2, 9997).tolist() for change in _changes(zone, year)
    ]
    instants, index = np.unique(
        np.array([at for at, _ in changes] or [0], "datetime64[s]"), return_index=True
    )
    offsets = np.array([by for _, by in changes] or [0], "timedelta64[s]")
    return instants.astype("datetime64[us]"), offsets[index].astype("timedelta64[us]")


def clock(instants: Array, zone: str) -> Array:
    """What the clock of a zone shows at instants of UTC, datetime64[us] of any shape.

    >>> clock(np.array(["2026-03-29T00:59", "2026-03-29T01:00"], "datetime64[us]"), "Europe/Berlin").astype("M8[m]")
    array(['2026-03-29T01:59', '2026-03-29T03:00'], dtype='datetime64[m]')
    """
    if zone in ("", "UTC"):
        return instants
    changes, offsets = _table(instants, zone)
    out: Array = instants + offsets[np.searchsorted(changes, instants, side="right") - 1]
    return out


def instants(clock: Array, zone: str) -> Array:
    """The instants of UTC at which the clock of a zone shows these times, datetime64[us] of any shape. Of an hour that
    it shows twice the first one; a time that it skips is as long after the change as it lies behind the last time shown
    (PEP 495, fold=0).

    >>> instants(np.array(["2026-10-25T02:30", "2026-10-26"], "datetime64[us]"), "Europe/Berlin").astype("M8[m]")
    array(['2026-10-25T00:30', '2026-10-25T23:00'], dtype='datetime64[m]')
    """
    if zone in ("", "UTC"):
        return clock
    changes, offsets = _table(clock, zone)
    local_changes = changes + np.maximum(offsets, np.concatenate([offsets[:1], offsets[:-1]]))
    out: Array = clock - offsets[np.searchsorted(local_changes, clock, side="right") - 1]
    return out
