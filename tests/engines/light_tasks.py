"""Tasks that load no network: a worker that is started anew for them, where another died, is there in a moment."""

from __future__ import annotations

import os
import warnings
from pathlib import Path


def die_at_two(place: str, item: int) -> int:
    """Write what is finished; end the whole worker at the item 2."""
    if item == 2:
        os._exit(1)
    Path(place, f"done-{item}").touch()
    return item


def warned(item: int) -> str:
    """The item and the threads of torch; warns of something for users, and for developers."""
    warnings.warn("a long text was cut", UserWarning, stacklevel=1)
    warnings.warn("for developers", FutureWarning, stacklevel=1)
    import torch

    return f"{item} {torch.get_num_threads()}"
