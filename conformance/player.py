"""One allocator with its scripted evictor: plays steps and tells what came of each.

The oracle and the candidate are played by the same code, so what differs between two outcomes is
theirs. Nothing is judged here, and no exception of the allocator's escapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ownerlanes.conformance.evictors import ScriptedEvictor
from ownerlanes.conformance.operations import (
    AllocExtend,
    AllocPages,
    Clear,
    Free,
    FreePages,
    PlanExtend,
    Step,
)


@dataclass(frozen=True)
class Outcome:
    """What came of one step.

    Attributes:
        result: what the call returned; None where it raised.
        error: what it raised, or None.
        evictions: the conversation with the evictor, counts left out.
        times_counted: how often evictable_pages() was asked.
        own_failure: the exception of the evictor's own that it was told to raise, or None.
    """

    result: Any = None
    error: Exception | None = None
    evictions: tuple[tuple[Any, ...], ...] = ()
    times_counted: int = 0
    own_failure: Exception | None = None


class Player:
    """Plays steps on one allocator.

    Args:
        allocator: whom to call.
        evictor: the evictor that it was constructed with, or None.
    """

    def __init__(self, allocator: Any, evictor: ScriptedEvictor | None) -> None:
        self.allocator = allocator
        self.evictor = evictor
        self._own_slots: Any = None
        if evictor is not None:
            evictor.allocator = allocator

    def play(self, step: Step) -> Outcome:
        """Make the call that the step describes."""
        if self.evictor is not None:
            self.evictor.begin(getattr(step, "evictor", None))
        result, error = None, None
        try:
            result = self._call(step)
        except Exception as raised:
            error = raised
        if isinstance(step, AllocExtend) and error is None:
            self._own_slots = getattr(result, "out_cache_loc", None)
        if self.evictor is None:
            return Outcome(result, error)
        return Outcome(
            result,
            error,
            tuple(self.evictor.evictions),
            self.evictor.times_counted,
            self.evictor.raised,
        )

    def _call(self, step: Step) -> Any:
        match step:
            case AllocExtend():
                return self.allocator.alloc_extend(_listed(step.requests))
            case PlanExtend():
                return self.allocator.plan_extend(_listed(step.requests))
            case AllocPages():
                return self.allocator.alloc_pages(_listed(step.owners))
            case Free():
                return self.allocator.free(self._carried(step.slots, step.carried))
            case FreePages():
                return self.allocator.free_pages(self._carried(step.pages, step.carried))
            case Clear():
                return self.allocator.clear()

    def _carried(self, ids: Any, how: str) -> Any:
        """Ids in the type of the allocator's own slots, the way an engine hands them back."""
        if how != "own":
            return _listed(ids)
        return like(self._own_slots, list(ids))


def like(example: Any, ids: list[int]) -> Any:
    """The ids in the type, dtype and on the device of `example`, where that can be known."""
    if hasattr(example, "new_tensor"):
        return example.new_tensor(ids)
    if hasattr(example, "dtype") and hasattr(example, "__array_namespace__"):
        return example.__array_namespace__().asarray(ids, dtype=example.dtype)
    return tuple(ids) if isinstance(example, tuple) else ids


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
