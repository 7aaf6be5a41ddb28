"""What tests say about a candidate beyond agreement with the oracle.

A clause is checked twice where it can be: in lock-step with the oracle, and as a statement on the
candidate's own answer, so that an oracle at fault is noticed too. Nothing here makes a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from ownerlanes.conformance.difference import Difference, Ints, ints
from ownerlanes.conformance.lockstep import Lockstep
from ownerlanes.conformance.operations import AllocExtend, Step
from ownerlanes.reference.contract import ExtendAllocation, ExtendRequest

Test = TypeVar("Test", bound=Callable[..., Any])


def needs(*claims: str) -> Callable[[Test], Test]:
    """The test is for candidates that claim all this; on others it counts as not claimed."""
    return pytest.mark.needs(*claims)


def expect(expected: object, actual: object, *, clause: str, field: str, note: str = "") -> None:
    """Two values are equal.

    Raises:
        Difference: they are not.
    """
    if expected != actual:
        raise Difference(
            clause=f"RFC-0001:{clause}", field=field, expected=expected, actual=actual, note=note
        )


def allocation(
    played: Lockstep, requests: tuple[ExtendRequest, ...], *, about: str | None = None
) -> ExtendAllocation | None:
    """The candidate's own answer to a batch, in plain integers; None where the oracle refuses.

    Args:
        played: what is played on.
        requests: the batch.
        about: the obligation that a wrong owner lane breaks here; that of the flattened order if
            it is left out.
    """
    try:
        expected, actual = played.step_both(AllocExtend(requests))
    except Difference as difference:
        if about is None or not difference.field.startswith("lane_of_slot("):
            raise
        raise difference.named(f"RFC-0001:{about}") from difference.__cause__
    return None if expected.error is not None else plain_allocation(actual.result)


def plain_allocation(given: Any) -> ExtendAllocation:
    """An allocation with tuples of ints; without `evicted` where eviction is not claimed."""
    return ExtendAllocation(
        ints(given.out_cache_loc),
        ints(given.extend_offsets),
        tuple(ints(row) for row in given.pages),
        ints(given.phases),
        ints(getattr(given, "evicted", ())),
    )


def own_counts(played: Lockstep) -> Ints:
    """What the candidate's available_pages() gives."""
    return ints(played.player.allocator.available_pages())


def error_of(played: Lockstep, step: Step) -> Exception | None:
    """What the oracle raises for a step, once the candidate has done likewise."""
    return played.step(step).error
