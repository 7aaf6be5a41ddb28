"""Choices that are the same on every machine, in every version of Python and of every library.

A stream is named; its choices are a function of that name and of nothing else, so that one vector
does not change when another is added. It is no source of entropy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Stream:
    """Choices drawn from SHA-256 of a name and a counter.

    Args:
        name: such as "seed/theme/7".
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._drawn = 0

    def below(self, bound: int) -> int:
        """An integer in [0, bound), near enough to uniform for a bound below 2**64."""
        block = hashlib.sha256(f"{self._name}|{self._drawn}".encode("ascii")).digest()
        self._drawn += 1
        return int.from_bytes(block[:16], "big") % bound

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + self.below(high - low + 1)

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        """True `percent` times in a hundred."""
        return self.below(100) < percent
