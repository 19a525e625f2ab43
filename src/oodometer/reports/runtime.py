"""The library in a page that draws its charts: put together once by vl-convert, then kept."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from ..backtests.trial_store import cache_folder

__all__ = ["runtime"]


@cache
def runtime() -> str:
    """Vega alone, since the specifications are compiled here (600 kB instead of 900).

    To put it together takes vl-convert two seconds, so it is kept where backtests are, under its release and with a
    hash of itself; a file that does not fit its hash is made again.
    """
    import vl_convert

    # The address is a key into what vl-convert carries with it; nothing is fetched.
    address = f"https://cdn.jsdelivr.net/npm/vega@{vl_convert.get_vega_version()}/+esm"
    wanted = f"import {{View,parse,Error}} from '{address}';window.vega={{View,parse,Error}};"
    of = hashlib.blake2b(f"{version('vl-convert-python')} {wanted}".encode(), digest_size=8).hexdigest()
    folder = cache_folder()
    kept = None if folder is None else folder / f"charts-{of}.js"
    bundle = None if kept is None else _read(kept)
    if bundle is None:
        bundle = vl_convert.javascript_bundle(wanted)
        if kept is not None:
            _keep(kept, bundle)
    # A tag in the text of the library would end the script early.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _mark(bundle: bytes) -> bytes:
    return b"// " + hashlib.blake2b(bundle, digest_size=16).hexdigest().encode()


def _read(kept: Path) -> str | None:
    try:
        first, _, bundle = kept.read_bytes().partition(b"\n")
        return bundle.decode("utf-8") if first == _mark(bundle) else None
    except (OSError, UnicodeDecodeError):
        return None


def _keep(kept: Path, bundle: str) -> None:
    """Written beside and renamed; where nothing can be kept, the next page takes two seconds again."""
    content = bundle.encode("utf-8")
    part = kept.with_name(f"{kept.name}.{secrets.token_hex(4)}.tmp")
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(_mark(content) + b"\n" + content)
            part.replace(kept)
        finally:
            part.unlink(missing_ok=True)
