"""Glossary: what the kinds of interval, the levels of trust and the kinds of shift mean, in words for everyone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of interval: how much it promises, in a few words and in full."""

    name: str
    short: str
    text: str


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "exact",
            "holds for any number of rows",
            "The interval holds the true value at the stated level, however few rows there are. It assumes only that "
            "the labelled rows are a random sample of the rows it speaks about. An exact interval of the reference "
            "therefore says nothing about the target.",
        ),
        Kind(
            "asymptotic",
            "holds for many rows",
            "As exact, but only approximately, and better the more rows there are. It assumes only random sampling.",
        ),
        Kind(
            "conditional",
            "holds only if its assumption does",
            "The interval covers chance in the rows and nothing else. It holds only if the assumption printed beside "
            "it holds on the target; without labels it can sometimes be refuted, never proved.",
        ),
        Kind(
            "empirical",
            "rests on experience and promises nothing",
            "The interval was right in the past, or spans the answers of several methods. It promises nothing about "
            "data unlike those it was learned from.",
        ),
        Kind(
            "backtest",
            "is as wide as the errors on simulated shifts",
            "Shifts were simulated from the labelled reference, and the interval is as wide as the errors made there. "
            "A real shift can be worse than any simulated one.",
        ),
    )
}

NO_GUARANTEE = (
    "None of the estimates made without labels is a guarantee, whatever the kind of its interval. Only randomly "
    "chosen labelled rows of the target can give one; a few dozen already help."
)

TRUST: dict[str, tuple[str, str]] = {
    "high": (
        "High trust",
        "It says that outputs show nothing against this number. A fall that leaves no trace in them needs labels.",
    ),
    "low": ("Low trust", "This is a first guess: label some random target rows before you rely on it."),
    "none": ("No trust", "Do not act on this number. Label some random target rows first."),
}

SHIFTS: dict[str, str] = {
    "none": "The target looks like the reference: nothing that can be seen has moved.",
    "label": "The mix of classes has changed; the rows of each class look as before.",
    "covariate": "The mix of inputs has changed; there is no sign of rows beyond what the reference has seen.",
    "support": "The target holds rows unlike any in the reference; for those, nothing vouches for the model.",
    "unknown": "The data do not tell what kind of shift this is.",
}

STRENGTHS: dict[str, tuple[str, str]] = {
    "strong": ("strong sign", "low"),
    "weak": ("weak sign", "faint"),
    "none": ("no sign", "quiet"),
}
"""How strong a finding is: in words, and the style of its badge."""
