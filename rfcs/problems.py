"""What a check found wrong, and where: one type for all checks of the RFC."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing to fix.

    Attributes:
        path: the file, relative to the tree.
        line: from 1.
        message: what is wrong and what to do about it.
    """

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


def line_of(text: str, start: str) -> int:
    """The first line that begins with `start`, ignoring indentation; 1 when none does."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(start):
            return number
    return 1
