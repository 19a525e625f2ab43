"""Inputs: what shifts of texts are made with beside a severity: training texts, WordNet, the importance of words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, final

from ...errors import UsageError
from ...shifts import TextShift
from ...shifts.dialogue import InsufficientContext
from ...shifts.text import ImportantWords, KnownWords, Vocabulary, find_wordnet
from ...shifts.text.synonyms import SynonymShift
from .rows import Rows
from .texts import Texts, filters_of

PathLike = str | os.PathLike[str]


@final
@dataclass(frozen=True)
class ShiftInputs:
    """What shifts are made with, beside a severity; as in `shift_text` and `shift_dialogue`."""

    training: PathLike | None
    training_column: str | None
    training_where: str | Sequence[str]
    wordnet: PathLike | None
    importance: Any
    pieces: bool
    least: int
    turns: int | None

    @classmethod
    def of(cls, options: Any) -> ShiftInputs:
        """Those of the options of a verb."""
        given: dict[str, Any] = {one.name: getattr(options, one.name, None) for one in fields(cls)}
        return cls(**given)

    def check(self, kinds: Sequence[type[TextShift]]) -> None:
        """`UsageError` for what is missing, or belongs to no kind that was asked for."""
        lacking = [cls.name for cls in kinds if issubclass(cls, SynonymShift)] if self.training is None else []
        if lacking:
            said = f"{lacking[0]} needs the texts that the model was trained on"
            raise UsageError(f"{said}; name a file of them (--training FILE)")
        for name, given, cls in (
            ("training", self.training, SynonymShift),
            ("importance", self.importance, ImportantWords),
            ("turns", self.turns, InsufficientContext),
        ):
            if given is not None and not any(issubclass(kind, cls) for kind in kinds):
                raise UsageError(f"{name} belongs to another kind of shift than {kinds[0].name}; leave it out")
        if self.importance is None and ImportantWords in kinds:
            raise UsageError(
                f"{ImportantWords.name} needs the importance of words; in Python importance= is a model or function"
            )

    def make(self, cls: type[TextShift], vocabulary: Vocabulary | None) -> TextShift:
        """A shift of a kind."""
        options: dict[str, Any] = {}
        if issubclass(cls, InsufficientContext):
            options = {"turns": self.turns}
        elif issubclass(cls, SynonymShift):
            options = {"training": vocabulary, "synonyms": find_wordnet(self.wordnet).synonyms, "pieces": self.pieces}
            if issubclass(cls, KnownWords):
                options["least"] = self.least
            if issubclass(cls, ImportantWords):
                options["importance"] = self._weights()
        return cls(**options)

    def made(self, kinds: Sequence[type[TextShift]]) -> list[tuple[TextShift, dict[str, Any]]]:
        """A shift of each kind, and what the manifest says of it; the training texts are read once."""
        reads_training = any(issubclass(cls, SynonymShift) for cls in kinds)
        vocabulary = self.vocabulary() if reads_training else None
        return [(self.make(cls, vocabulary), self.told(cls)) for cls in kinds]

    def told(self, cls: type[TextShift]) -> dict[str, Any]:
        """What the manifest says of how a shift of a kind was made."""
        if issubclass(cls, InsufficientContext):
            return {"turns": self.turns}
        if not issubclass(cls, SynonymShift):
            return {}
        out: dict[str, Any] = {"training": str(self.training), "training_where": filters_of(self.training_where)}
        out |= {"wordnet": str(find_wordnet(self.wordnet).path), "pieces": self.pieces}
        if issubclass(cls, KnownWords):
            out["least"] = self.least
        if issubclass(cls, ImportantWords):
            out["importance"] = str(self.importance)
        return out

    def vocabulary(self) -> Vocabulary:
        """The words of the training texts."""
        assert self.training is not None
        texts = Texts(Rows(Path(self.training)), self.training_column, filters_of(self.training_where), None)
        return Vocabulary.of(turn for turns in texts.read_turns() for turn in turns)

    def _weights(self) -> Any:
        if callable(self.importance):
            return self.importance
        from ...models.text.attention import AttentionImportance

        return AttentionImportance(self.importance)
