"""Response ranking: which of several candidates answers a conversation, by a cross-encoder over context and candidate.

- `pieces.py`: a context and its candidates as token ids; what is too long loses its oldest words.
- `heads.py`: from hidden states to a score.
- `views.py`: copies of dialogues with words left out.
- `ranker.py`: the ranker, a classifier over the candidates of each sample.
"""

from __future__ import annotations

from .ranker import ResponseRanker

__all__ = ["ResponseRanker"]
