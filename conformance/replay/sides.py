"""The two sides of a replay in lock-step: every call goes to both and the answers are compared.

The scheduler talks to `LockStep` as it would to one allocator and one cache and gets the oracle's
answers. A difference ends the replay at once, as from then on the states differ; with one side
only (the oracle alone) nothing is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

from ownerlanes.conformance.compare import (
    ERROR_CLAUSE,
    Difference,
    State,
    compare_allocation,
    compare_error,
    compare_ints,
    compare_state,
)
from ownerlanes.conformance.protocol import Allocator
from ownerlanes.reference.contract import (
    CachedPrefix,
    Evictor,
    ExtendAllocation,
    ExtendRequest,
    InsertResult,
    LaneLayout,
    OwnerLaneError,
)

MATCH = "RFC-0001:C-LANE-EVICTION/13"
INSERT = "RFC-0001:C-LANE-EVICTION/15"
SAME_CALLS = "RFC-0001:C-REPLICA-DETERMINISM/1"
Slots = tuple[Any, ...]
"""Something that each side has its own of, such as the slots that one extend got."""


class Cache(Evictor, Protocol):
    """What a replay asks of a prefix cache, which is its allocator's evictor as well."""

    def match(self, keys: Sequence[Hashable]) -> CachedPrefix:
        """The longest cached prefix of `keys`."""

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None = None
    ) -> InsertResult:
        """Cache these pages under these keys."""

    def pin(self, prefix: CachedPrefix) -> None:
        """Protect a prefix from eviction."""

    def unpin(self, prefix: CachedPrefix) -> None:
        """Take one pin back."""


@dataclass
class Side:
    """One allocator with the cache that is its evictor.

    Attributes:
        name: what to call it.
        allocator, cache: the two of them; no cache without prefix reuse.
        is_oracle: whether its answers are the right ones by definition.
        has_snapshot, has_digest: whether the allocator offers snapshot() and digest().
        seconds: time spent in their calls so far, comparisons left out.
    """

    name: str
    allocator: Allocator
    cache: Cache | None
    is_oracle: bool = False
    has_snapshot: bool = True
    has_digest: bool = True
    seconds: float = 0.0


@dataclass(frozen=True)
class Matched:
    """A cached prefix, on every side.

    Attributes:
        pages: the page ids, the same on all sides.
        phase: what the chain carries.
        handles: each side's own CachedPrefix.
    """

    pages: tuple[int, ...]
    phase: int | None
    handles: tuple[CachedPrefix, ...]


class DivergedError(Exception):
    """The candidate gave something else than the oracle.

    Attributes:
        call: the call's number in the replay, from 1.
        operation: the call, as text.
        difference: the first differing field, with both values.
    """

    def __init__(self, call: int, operation: str, difference: Difference) -> None:
        super().__init__(f"call {call} of the replay: {operation}\n{difference}")
        self.call = call
        self.operation = operation
        self.difference = difference


class LockStep:
    """One oracle and perhaps one candidate, driven as one.

    Args:
        layout: the pool of every side.
        sides: the oracle first.

    Attributes:
        compared: calls whose answers and states were compared so far.
    """

    def __init__(self, layout: LaneLayout, sides: Sequence[Side]) -> None:
        self.layout = layout
        self.sides = tuple(sides)
        self.compared = 0

    def available_pages(self) -> tuple[int, ...]:
        """The oracle's free pages, by lane."""
        return tuple(self.sides[0].allocator.available_pages())

    def alloc_extend(
        self, requests: Sequence[ExtendRequest]
    ) -> tuple[ExtendAllocation, list[Slots]]:
        """Allocate on every side: the oracle's answer, and each request's slots on all sides.

        Raises:
            OwnerLaneError: what the oracle raised; the other side raised the same.
            DivergedError: the answers, the errors or the states after it differ.
        """
        answers = self._everywhere(
            f"alloc_extend({list(requests)})",
            lambda side, _: side.allocator.alloc_extend(requests),
            compare=lambda expected, actual: compare_allocation(expected, actual, self.layout),
            changes_pool=True,
        )
        spans = pairwise(answers[0].extend_offsets)
        slots = [tuple(answer.out_cache_loc[a:b] for answer in answers) for a, b in spans]
        return answers[0], slots

    def free(self, slots: Slots) -> None:
        """Release by slots, each side its own."""
        self._everywhere(
            "free(the slots of one extend)",
            lambda side, own: side.allocator.free(own),
            given=slots,
            changes_pool=True,
        )

    def free_pages(self, pages: Sequence[int]) -> None:
        """Release by page ids."""
        self._everywhere(
            f"free_pages({list(pages)})",
            lambda side, _: side.allocator.free_pages(pages),
            changes_pool=True,
        )

    def match(self, keys: Sequence[Hashable]) -> Matched:
        """The longest cached prefix, found to be the same on every side."""
        found = self._everywhere(
            f"match({len(keys)} keys)",
            lambda side, _: _cache(side).match(keys),
            compare=_compare_prefix,
        )
        return Matched(tuple(found[0].pages), found[0].phase, tuple(found))

    def insert(
        self, keys: Sequence[Hashable], pages: Sequence[int], phase: int | None
    ) -> tuple[int, ...]:
        """Cache pages on every side; the duplicates, which are the caller's to release."""
        results = self._everywhere(
            f"insert({len(keys)} keys, {list(pages)}, phase={phase})",
            lambda side, _: _cache(side).insert(keys, pages, phase),
            compare=_compare_insert,
        )
        return tuple(results[0].duplicates)

    def pin(self, prefix: Matched) -> None:
        """Pin on every side."""
        self._everywhere(
            "pin(prefix)", lambda side, own: _cache(side).pin(own), given=prefix.handles
        )

    def unpin(self, prefix: Matched) -> None:
        """Unpin on every side."""
        self._everywhere(
            "unpin(prefix)", lambda side, own: _cache(side).unpin(own), given=prefix.handles
        )

    def _everywhere(
        self,
        operation: str,
        call: Callable[[Side, Any], Any],
        *,
        given: Slots | None = None,
        compare: Callable[[Any, Any], None] | None = None,
        changes_pool: bool = False,
    ) -> list[Any]:
        """Make one call on every side; the answers, once they and the pools are compared."""
        given = given or (None,) * len(self.sides)
        oracle, *others = self.sides
        expected = _outcome(oracle, call, given[0])
        answers = [expected]
        try:
            for side, own in zip(others, given[1:], strict=True):
                actual = _outcome(side, call, own)
                _compare_outcome(expected, actual, compare)
                if changes_pool:
                    _compare_pools(oracle, side)
                answers.append(actual)
                self.compared += 1
        except Difference as difference:
            raise DivergedError(self.compared + 1, operation, difference) from None
        except Exception as fault:  # reading an answer or a state may be the candidate's code
            unreadable = Difference(
                clause=SAME_CALLS, field="answer", expected="one that can be read", actual=fault
            )
            raise DivergedError(self.compared + 1, operation, unreadable) from fault
        if isinstance(expected, OwnerLaneError):
            raise expected
        return answers


def _outcome(side: Side, call: Callable[[Side, Any], Any], given: Any) -> Any:
    """What the call returned or raised. Only the oracle's own bugs pass through."""
    expected_faults = OwnerLaneError if side.is_oracle else Exception
    start = perf_counter()
    try:
        return call(side, given)
    except expected_faults as fault:
        return fault
    finally:
        side.seconds += perf_counter() - start


def _compare_outcome(
    expected: Any, actual: Any, compare: Callable[[Any, Any], None] | None
) -> None:
    if isinstance(expected, OwnerLaneError) and isinstance(actual, Exception):
        compare_error(expected, actual)
    elif isinstance(expected, OwnerLaneError) or isinstance(actual, Exception):
        fault = expected if isinstance(expected, OwnerLaneError) else actual
        raise Difference(
            clause=ERROR_CLAUSE.get(type(fault), SAME_CALLS),
            field="outcome",
            expected=expected,
            actual=actual,
        ) from (actual if isinstance(actual, Exception) else None)
    elif compare is not None:
        compare(expected, actual)


def _compare_pools(oracle: Side, other: Side) -> None:
    """Digests, or counts where there is no digest; what differs is then looked for in detail."""
    if other.has_digest and oracle.allocator.digest() == other.allocator.digest():
        return
    compare_state(
        State.of(oracle.allocator),
        State.of(other.allocator, snapshot=other.has_snapshot, digest=other.has_digest),
        clause=SAME_CALLS,
    )


def _compare_prefix(expected: CachedPrefix, actual: CachedPrefix, clause: str = MATCH) -> None:
    compare_ints(expected.pages, actual.pages, field="prefix.pages", clause=clause)
    for field, wanted, found in (
        ("len(prefix)", len(expected), len(actual)),
        ("prefix.phase", expected.phase, actual.phase),
    ):
        if wanted != found:
            raise Difference(clause=clause, field=field, expected=wanted, actual=found)


def _compare_insert(expected: InsertResult, actual: InsertResult) -> None:
    _compare_prefix(expected.prefix, actual.prefix, INSERT)
    compare_ints(expected.duplicates, actual.duplicates, field="duplicates", clause=INSERT)


def _cache(side: Side) -> Cache:
    if side.cache is None:
        raise TypeError(f"{side.name} has no cache")
    return side.cache
