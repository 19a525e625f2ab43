"""Letters: scores of the options of a question from the log-probabilities of the token that named one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["LetterScores", "answer_probability", "letter_scores"]


@dataclass(frozen=True)
class LetterScores:
    """Scores of the options, position of the answer, position of the right one (None where it is not one letter)."""

    scores: list[float]
    prediction: int
    label: int | None


def letter_scores(
    tokens: Sequence[Mapping[str, Any]] | None, output: str, choices: Sequence[str], target: Any, answer: str | None
) -> LetterScores | None:
    """Log-probabilities of A, B, ... at the last token that is the answer; None where the log lacks one of them.

    Spellings of a letter (``A`` and `` A``) are one option, of the sum of their probabilities. Where the tokens do not
    end with the output, it was rewritten after the model gave it (options put back in order), and the letters with it;
    reasoning may come before it.

    >>> top = [{"token": "A", "logprob": -0.2}, {"token": " B", "logprob": -1.8}]
    >>> letter_scores([{"token": "A", "logprob": -0.2, "top_logprobs": top}], "A", ["yes", "no"], "B", "A")
    LetterScores(scores=[-0.2, -1.8], prediction=0, label=1)
    """
    spelt = "".join(str(one.get("token")) for one in tokens or ()).strip()
    if len(choices) < 2 or not output.strip() or not spelt.endswith(output.strip()):
        return None
    import numpy as np

    for one in reversed(tokens or ()):
        said = _position(one.get("token"), len(choices))
        if said is None or (answer is not None and _position(answer, len(choices)) != said):
            continue
        found: dict[int, float] = {}
        for other in one.get("top_logprobs") or []:
            place, value = _position(other.get("token"), len(choices)), other.get("logprob")
            if place is not None and isinstance(value, (int, float)) and value - value == 0:
                found[place] = float(np.logaddexp(found[place], value)) if place in found else float(value)
        if len(found) < len(choices):
            return None
        targets = target if isinstance(target, list) else [target]
        right = _position(targets[0], len(choices)) if len(targets) == 1 else None
        return LetterScores([found[i] for i in range(len(choices))], said, right)
    return None


def answer_probability(tokens: Sequence[Mapping[str, Any]], answer: str | None) -> float:
    """Probability of the tokens that say what the scorer took for the answer, the last time it stands in the output.

    What comes before, such as reasoning, has a probability that falls with its length and tells nothing of the answer.
    It is that of all tokens where no answer is known or none is found, and 0 where nothing was said.

    >>> tokens = [{"token": "Hm: ", "logprob": -9.0}, {"token": "4", "logprob": 0.0}, {"token": "2", "logprob": 0.0}]
    >>> answer_probability(tokens, "42"), round(answer_probability(tokens, None), 4), answer_probability([], "")
    (1.0, 0.0001, 0.0)
    """
    texts = [str(one.get("token")) for one in tokens]
    start = "".join(texts).rfind(answer.strip()) if answer and answer.strip() else -1
    stop = start + len(answer.strip()) if answer else 0
    total, at = 0.0, 0
    for one, text in zip(tokens, texts, strict=True):
        if start < 0 or (at < stop and at + len(text) > start):
            total += min(one["logprob"], 0.0)
        at += len(text)
    return math.exp(total) if tokens else 0.0


def _position(letter: Any, count: int) -> int | None:
    """Position of the option that a letter names."""
    text = letter.strip() if isinstance(letter, str) else ""
    place = ord(text) - ord("A") if len(text) == 1 else -1
    return place if 0 <= place < count else None
