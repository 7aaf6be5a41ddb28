"""Faults in the choice of phases that the caller leaves open.

Each breaks one obligation of C-PHASE-SELECTION: the wrong counts are compared, or the right ones
in a wrong way. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference.capacity import Counts, Plans, subtract
from ownerlanes.reference.contract import ExtendAllocation, ExtendRequest, LaneLayout

CHOOSE = ("allocator.choose_phases", "capacity.choose_phases")
FULLEST = "capacity.fullest_phase"
Evictable = Callable[[], Counts] | None


@plant("C-PHASE-SELECTION/1", *CHOOSE)
def demand_of_earlier_requests_not_counted(
    original: Function,
    requests: Sequence[ExtendRequest],
    plans: Plans,
    *arguments: Any,
) -> list[int]:
    """Every request of a batch chooses its phase as if it were alone."""
    return [
        phase
        for request, choices in zip(requests, plans, strict=True)
        for phase in original([request], [choices], *arguments)
    ]


@plant("C-PHASE-SELECTION/1", *CHOOSE)
def phases_settled_from_the_last_request_on(
    original: Function,
    requests: Sequence[ExtendRequest],
    plans: Plans,
    *arguments: Any,
) -> list[int]:
    """Phases are settled in reverse batch order."""
    return list(original(requests[::-1], plans[::-1], *arguments))[::-1]


@plant("C-PHASE-SELECTION/2", "allocator.supported_plans")
def given_phase_left_open(original: Function, request: ExtendRequest, *arguments: Any) -> Any:
    """A request with phase 0 gets the phase that suits the pool."""
    plans = original(request, *arguments)
    if request.phase == 0 and type(request.split).__name__ != "ExplicitOwners":
        plans = original(replace(request, phase=None), *arguments)
    return plans


@plant("C-PHASE-SELECTION/3", FULLEST)
def open_phase_is_the_first(_: Function, demand: dict[int, Counts], __: Counts) -> int:
    """phase=None gets the smallest supported phase."""
    return min(demand)


@plant("C-PHASE-SELECTION/3", FULLEST)
def scarcest_lane_only(_: Function, demand: dict[int, Counts], counts: Counts) -> int:
    """Only the scarcest lane of what is left is compared, not the next ones."""
    return max(demand, key=lambda phase: (min(subtract(counts, demand[phase])), -phase))


@plant("C-PHASE-SELECTION/3", FULLEST)
def counts_compared_unsorted(_: Function, demand: dict[int, Counts], counts: Counts) -> int:
    """What is left is compared lane by lane, lane 0 first."""
    return max(demand, key=lambda phase: (subtract(counts, demand[phase]), -phase))


@plant("C-PHASE-SELECTION/3", FULLEST)
def counts_compared_from_the_fullest_lane(
    _: Function, demand: dict[int, Counts], counts: Counts
) -> int:
    """What is left is sorted descending before it is compared."""
    return max(
        demand,
        key=lambda phase: (sorted(subtract(counts, demand[phase]), reverse=True), -phase),
    )


@plant("C-PHASE-SELECTION/4", FULLEST)
def ties_go_to_the_largest_phase(_: Function, demand: dict[int, Counts], counts: Counts) -> int:
    """Of equal phases the largest is taken."""
    return max(demand, key=lambda phase: (sorted(subtract(counts, demand[phase])), phase))


@plant("C-PHASE-SELECTION/5", *CHOOSE)
def evictable_pages_not_counted(original: Function, *arguments: Any) -> Any:
    """Phases are chosen over the free pages even where these do not suffice."""
    *rest, _ = arguments
    return original(*rest, None)


@plant("C-PHASE-SELECTION/5", *CHOOSE)
def evictable_pages_always_counted(
    original: Function,
    requests: Sequence[ExtendRequest],
    plans: Plans,
    layout: LaneLayout,
    free: Counts,
    evictable: Evictable,
) -> Any:
    """Phases are chosen over free and evictable pages although the free ones suffice."""
    if evictable is not None and any(request.phase is None for request in requests):
        free = tuple(a + b for a, b in zip(free, evictable(), strict=True))
    return original(requests, plans, layout, free, evictable)


@plant("C-PHASE-SELECTION/6", "allocator.supported_plans")
def empty_extend_gets_the_last_phase(
    original: Function, request: ExtendRequest, layout: LaneLayout, index: int
) -> Any:
    """An empty extend with an open phase gets phase N-1."""
    plans = original(request, layout, index)
    if request.phase is None and plans == {0: ()}:
        return {layout.num_lanes - 1: ()}
    return plans


@plant("C-PHASE-SELECTION/7", "allocator.ReferenceAllocator.alloc_extend")
def phases_chosen_anew_after_eviction(original: Function, self: Any, requests: Any) -> Any:
    """After eviction the batch is planned again from the start."""
    evict, evicted = self._evict, []

    class Again(Exception):  # noqa: N818 - it is a jump
        """Start over: pages have been evicted."""

    def once(deficit: Counts, filling: Any) -> None:
        evicted.extend(evict(deficit, filling))
        raise Again

    self._evict = once
    try:
        return original(self, requests)
    except Again:
        del self._evict
        given: ExtendAllocation = original(self, requests)
        return replace(given, evicted=tuple(evicted))
    finally:
        self.__dict__.pop("_evict", None)


@plant("C-PHASE-SELECTION/8", "allocator.ReferenceAllocator.alloc_extend")
def phases_told_in_ascending_order(original: Function, self: Any, requests: Any) -> Any:
    """`phases` of an allocation are sorted, not in batch order."""
    given: ExtendAllocation = original(self, requests)
    return replace(given, phases=tuple(sorted(given.phases)))


@plant("C-PHASE-SELECTION/3", *CHOOSE)
def full_lanes_left_out(
    original: Function,
    requests: Sequence[ExtendRequest],
    plans: Plans,
    layout: LaneLayout,
    free: Counts,
    evictable: Evictable,
) -> Any:
    """A phase that needs no page of a full lane is preferred to the fullest pool."""
    chosen = list(original(requests, plans, layout, free, evictable))
    for index, choices in enumerate(plans):
        if len(choices) > 1 and 0 in free:
            avoiding = [p for p in choices if all(free[lane] for lane in choices[p])]
            chosen[index] = avoiding[0] if avoiding else chosen[index]
    return chosen
