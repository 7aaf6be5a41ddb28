"""Emits a set of vectors from the oracle: the same seed gives the same bytes anywhere.

It draws histories by theme, records them, and has them written; it invents no answers.
"""

from __future__ import annotations

from pathlib import Path

from ownerlanes.conformance.vectors import store
from ownerlanes.conformance.vectors.edges import edges
from ownerlanes.conformance.vectors.histories import histories
from ownerlanes.conformance.vectors.record import record
from ownerlanes.conformance.vectors.themes import THEMES
from ownerlanes.rfcs import obligations

ROUNDS = {"quick": 6, "full": 66}
"""Histories a theme of weight 1; quick stays below one million bytes."""


def emit(folder: Path, *, size: str = "quick", seed: int = 0) -> None:
    """Write a set of vectors.

    Args:
        folder: where to; made where it is missing.
        size: a key of ROUNDS.
        seed: names the choices; any integer.
    """
    files = {
        theme.name: [
            record(history, f"{theme.name}/{index}", theme.about)
            for index, history in enumerate(histories(theme, seed, ROUNDS[size]))
        ]
        for theme in THEMES
    }
    files["edges"] = [
        record(history, f"edges/{index}", about) for index, (about, history) in enumerate(edges())
    ]
    store.write(folder, files, rfc=obligations.load(), seed=seed, size=size)
