"""Judged texts: are the outputs that judges voted on in the form of those by which their errors are known?"""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnoses.text_likeness import Texts, UnlikeTexts, unlike_texts
from ..store import Source

_TEXTS = ("input", "output")


def unlike_judged_texts(references: Sequence[Source], target: Source) -> UnlikeTexts | None:
    """How the texts of a target differ from those of the references; None where judges did not vote on both, where a
    file has no texts, and where nothing differs by more than chance.
    """
    files = [*references, target]
    if not all({"votes", *_TEXTS} <= {*source.fields} for source in files):
        return None
    labelled = [_texts(source) for source in references]
    inputs, outputs = ([text for texts in labelled for text in texts[side]] for side in (0, 1))
    return unlike_texts((inputs, outputs), _texts(target))


def _texts(source: Source) -> Texts:
    """Inputs and outputs of all rows, empty where there is none."""
    inputs: list[str] = []
    outputs: list[str] = []
    for batch in source.batches(_TEXTS):
        for texts, values in ((inputs, batch.input), (outputs, batch.output)):
            texts.extend(str(text or "") for text in (() if values is None else values.tolist()))
    return inputs, outputs
