"""Where two sets of integers differ first, told so that a stranger can act on it.

Exact comparison of sequences, arrays and tensors of integers, by duck typing; the one error that
it raises names clause, field, expected and actual value. It knows nothing of allocators and has
no tolerance.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

Ints = tuple[int, ...]


class Difference(AssertionError):  # noqa: N818 - it is a finding
    """Two things that had to be equal are not.

    Attributes:
        clause: the clause that asks for it, such as "RFC-0001:C-FLATTENED-ORDER".
        field: where it was found, such as "out_cache_loc[17]".
        expected, actual: the values there.
        note: what else helps to read it, or "".
        history: the operations.History that led there, its last step the one at fault; None
            until whoever plays it says so.
    """

    history: Any = None

    def __init__(
        self, *, clause: str, field: str, expected: object, actual: object, note: str = ""
    ) -> None:
        self.clause = clause
        self.field = field
        self.expected = expected
        self.actual = actual
        self.note = note
        lines = [
            f"{clause}: {field} differs",
            f"  expected {_short(expected)}",
            f"  actual   {_short(actual)}",
        ]
        super().__init__("\n".join([*lines, f"  ({note})"] if note else lines))

    def named(self, clause: str) -> Difference:
        """The same difference as a violation of another clause, which the caller looked at."""
        other = Difference(
            clause=clause,
            field=self.field,
            expected=self.expected,
            actual=self.actual,
            note=self.note,
        )
        other.history = self.history
        return other


def _short(value: object, limit: int = 400) -> str:
    text = str(value) if isinstance(value, BaseException) else repr(value)
    if isinstance(value, BaseException):
        text = f"{type(value).__name__}: {text}"
    return text if len(text) <= limit else f"{text[:limit]} ... ({len(text)} characters)"


def ints(values: Any) -> Ints:
    """The integers of a sequence, an array or a one-dimensional tensor, as Python ints.

    Raises:
        TypeError: something in it is not an integer (bool is none), or it is no sequence.
    """
    listed = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        raise TypeError(f"expected a sequence of integers, found {_short(values)}")
    found = tuple(listed)
    if set(map(type, found)) <= {int}:
        return found
    return tuple(_as_int(value) for value in found)


def _as_int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise TypeError(f"expected an integer, found {value!r} ({type(value).__name__})")
    return operator.index(value)


def compare_ints(expected: Any, actual: Any, *, field: str, clause: str, note: str = "") -> None:
    """Two sequences of integers, entry by entry.

    Raises:
        Difference: naming the first differing index, or the lengths.
    """
    wanted, found = ints(expected), found_ints(actual, field=field, clause=clause)
    if wanted == found:
        return
    if len(wanted) != len(found):
        raise Difference(
            clause=clause,
            field=f"len({field})",
            expected=len(wanted),
            actual=len(found),
            note="; ".join(filter(None, (note, _around(wanted, found)))),
        )
    at = first_difference(wanted, found)
    raise Difference(
        clause=clause,
        field=f"{field}[{at}]",
        expected=wanted[at],
        actual=found[at],
        note="; ".join(filter(None, (note, _around(wanted, found)))),
    )


def found_ints(actual: Any, *, field: str, clause: str) -> Ints:
    """`ints` of what a candidate gave; a Difference when it is no sequence of integers."""
    try:
        return ints(actual)
    except TypeError as fault:
        raise Difference(
            clause=clause, field=field, expected="a sequence of integers", actual=str(fault)
        ) from None


def first_difference(wanted: Sequence[object], found: Sequence[object]) -> int:
    """The first index at which two sequences differ, or the length of the shorter one."""
    pairs = enumerate(zip(wanted, found, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(wanted), len(found)))


def _around(wanted: Ints, found: Ints, reach: int = 4) -> str:
    """The neighbourhood of the first difference, so that a shift can be told from a stray value."""
    at = first_difference(wanted, found)
    window = slice(max(0, at - reach), at + reach + 1)
    return (
        f"{len(wanted)} entries; from index {window.start}: expected {list(wanted[window])}, "
        f"actual {list(found[window])}"
    )


def compare_rows(expected: Any, actual: Any, *, field: str, clause: str) -> None:
    """Two sequences of sequences of integers, such as the pages of each request."""
    wanted = list(expected)
    try:
        found = list(actual)
    except TypeError:
        found = [actual]
    if len(wanted) != len(found):
        raise Difference(
            clause=clause, field=f"len({field})", expected=len(wanted), actual=len(found)
        )
    for index, (row, other) in enumerate(zip(wanted, found, strict=True)):
        compare_ints(row, other, field=f"{field}[{index}]", clause=clause)


def read(result: Any, name: str, clause: str) -> Any:
    """A field of a result; a Difference when it lacks it."""
    try:
        return getattr(result, name)
    except AttributeError:
        raise Difference(
            clause=clause,
            field=name,
            expected=f"a result with the attribute {name}",
            actual=f"{type(result).__name__} without it",
        ) from None
