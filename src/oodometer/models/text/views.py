"""Views of texts: copies in which one word in ten is left out, for the agreement of a model with itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base import Text

SHARE = 0.1


def with_words_dropped(texts: Sequence[Text], seed: Sequence[int], share: float = SHARE) -> list[Text]:
    """Each text with every word left out with probability ``share``, at least one in a text of several words.

    ``seed`` is (seed, view, position of the first text): text i draws by (seed, view, position + i), so that it
    does not matter how the texts are batched. Source: Wei and Zou (2019), random deletion.

    >>> with_words_dropped(["a b c", "d"], (0, 0, 0))
    ['a b', 'd']
    >>> with_words_dropped(["d"], (0, 0, 1)) == with_words_dropped(["a b c", "d"], (0, 0, 0))[1:]
    True
    """
    whole, view, first = seed
    out: list[Text] = []
    for row, text in enumerate(texts, first):
        rng = np.random.default_rng((whole, view, row))
        if isinstance(text, str):
            out.append(_dropped(text, rng, share))
        else:
            out.append((_dropped(text[0], rng, share), _dropped(text[1], rng, share)))
    return out


def _dropped(text: str, rng: np.random.Generator, share: float) -> str:
    words = text.split()
    if len(words) < 2:
        return text
    draws = rng.random(len(words))
    stay = draws >= share
    if stay.all():
        stay[int(draws.argmin())] = False
    if not stay.any():
        stay[int(draws.argmax())] = True
    return " ".join(word for word, there in zip(words, stay, strict=True) if there)
