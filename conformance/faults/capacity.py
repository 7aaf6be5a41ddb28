"""Faults in telling that a batch does not fit, and whether waiting can help.

Each breaks one obligation of C-CAPACITY-AND-EVICTION or C-INFEASIBLE-DEMAND; how an evictor is
asked is another module's. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool
from ownerlanes.reference.capacity import Counts, short_lanes
from ownerlanes.reference.contract import (
    CapacityWaitError,
    InvalidRequestError,
    LaneLayout,
    PoolSnapshot,
)

ALLOC = "allocator.ReferenceAllocator.alloc_extend"
MAKE_ROOM = "allocator.ReferenceAllocator._make_room"
INFEASIBLE = "allocator.infeasible_lanes"


def telling(original: Function, change: Callable[[CapacityWaitError], dict[str, Any]]) -> Function:
    """The function with its CapacityWaitError told otherwise."""

    def told(*arguments: Any, **named: Any) -> Any:
        try:
            return original(*arguments, **named)
        except CapacityWaitError as fault:
            given = vars(fault) | change(fault)
            raise CapacityWaitError(**given) from None

    return told


def first_only(counts: Sequence[int]) -> Counts:
    """The first count that is not zero, the others as zero."""
    first = next((lane for lane, count in enumerate(counts) if count), None)
    return tuple(count if lane == first else 0 for lane, count in enumerate(counts))


@plant("C-CAPACITY-AND-EVICTION/1", MAKE_ROOM)
def shortage_never_evicts(
    original: Function, self: Any, required: Counts, _: Any, **named: Any
) -> Any:
    """A shortage is reported without asking the evictor."""
    return original(self, required, None, **named)


@plant("C-CAPACITY-AND-EVICTION/1", MAKE_ROOM)
def only_the_first_lane_evicts(
    original: Function, self: Any, required: Counts, *arguments: Any, **named: Any
) -> Any:
    """The evictor is asked only when lane 0 is short."""
    if required[0] <= len(self._pool.free[0]):
        arguments = (None,)
    return original(self, required, *arguments, **named)


@plant("C-CAPACITY-AND-EVICTION/2", "allocator.deficits", "pool.take")
def shortage_of_the_aggregate_only(original: Function, first: Any, second: Any) -> Any:
    """A lane borrows pages of other lanes as long as the pool as a whole has room."""
    if not isinstance(first, PoolSnapshot):  # the counts required and available
        deficit: Counts = original(first, second)
        return (0,) * len(deficit) if sum(first) <= sum(second) else deficit
    free = [list(lane) for lane in first.free]
    pages = []
    for lane in second:
        lender = lane if free[lane] else max(range(len(free)), key=lambda each: len(free[each]))
        pages.append(first.layout.page(lender, free[lender].pop(0)))
    return PoolSnapshot(first.layout, tuple(map(tuple, free))), tuple(pages)


@plant("C-CAPACITY-AND-EVICTION/2", MAKE_ROOM)
def exact_fit_refused(
    original: Function, self: Any, required: Counts, *arguments: Any, **named: Any
) -> Any:
    """A batch that takes a lane's last page waits."""
    free = tuple(map(len, self._pool.free))
    if any(pages and pages == room for pages, room in zip(required, free, strict=True)):
        deficit = tuple(
            max(0, pages - room) + int(0 < pages == room)
            for pages, room in zip(required, free, strict=True)
        )
        raise CapacityWaitError(
            required=required,
            available=free,
            deficit=deficit,
            evicted=(0,) * len(free),
            infeasible=named["infeasible"](),
        )
    return original(self, required, *arguments, **named)


@plant("C-CAPACITY-AND-EVICTION/2", ALLOC)
def shortage_told_by_none(original: Function, self: Any, requests: Any) -> Any:
    """A shortage gives None, although typed errors are claimed."""
    try:
        return original(self, requests)
    except CapacityWaitError:
        return None


@plant("C-CAPACITY-AND-EVICTION/3", MAKE_ROOM)
def deficit_of_the_first_short_lane_only(original: Function, *arguments: Any, **named: Any) -> Any:
    """Of several short lanes the error carries the deficit of the first."""
    change = telling(original, lambda fault: {"deficit": first_only(fault.deficit)})
    return change(*arguments, **named)


@plant("C-CAPACITY-AND-EVICTION/3", MAKE_ROOM)
def deficit_is_what_is_required(original: Function, *arguments: Any, **named: Any) -> Any:
    """A short lane's deficit counts all that is required of it."""

    def change(fault: CapacityWaitError) -> dict[str, Any]:
        pairs = zip(fault.required, fault.deficit, strict=True)
        return {"deficit": tuple(pages if missing else 0 for pages, missing in pairs)}

    return telling(original, change)(*arguments, **named)


@plant("C-CAPACITY-AND-EVICTION/3", MAKE_ROOM)
def available_as_before_eviction(
    original: Function, self: Any, *arguments: Any, **named: Any
) -> Any:
    """`available` are the counts of the first attempt, not of the retry."""
    before = tuple(map(len, self._pool.free))
    return telling(original, lambda _: {"available": before})(self, *arguments, **named)


@plant("C-CAPACITY-AND-EVICTION/3", ALLOC)
def required_of_the_first_request_only(original: Function, self: Any, requests: Any) -> Any:
    """`required` is the demand of the first request of a batch."""
    demand: list[Counts] = []

    def change(fault: CapacityWaitError) -> dict[str, Any]:
        demand.append(fault.required)
        if len(requests) > 1:
            demand.append(self.plan_extend(list(requests)[:1]).required)
        return {"required": demand[-1]}

    return telling(original, change)(self, requests)


@plant("C-CAPACITY-AND-EVICTION/4", ALLOC)
def lanes_with_room_pay_for_a_failure(original: Function, self: Any, requests: Any) -> Any:
    """A batch that fails takes the pages of those lanes that had enough."""
    try:
        return original(self, requests)
    except CapacityWaitError as fault:
        served = [
            lane
            for lane, pages in enumerate(fault.required)
            if not fault.deficit[lane]
            for _ in range(pages)
        ]
        self._pool, _ = pool.take(self._pool, served)
        raise


@plant("C-CAPACITY-AND-EVICTION/4", ALLOC)
def failure_resets_the_pool(original: Function, self: Any, requests: Any) -> Any:
    """A batch that does not fit makes every page free."""
    try:
        return original(self, requests)
    except CapacityWaitError:
        self._pool = pool.all_free(self.layout)
        raise


@plant("C-CAPACITY-AND-EVICTION/5", MAKE_ROOM)
def message_without_numbers(original: Function, *arguments: Any, **named: Any) -> Any:
    """The error carries its counts, and its message does not."""
    try:
        return original(*arguments, **named)
    except CapacityWaitError as fault:
        fault.args = ("out of pages",)
        raise


@plant("C-CAPACITY-AND-EVICTION/5", MAKE_ROOM)
def message_of_the_first_short_lane(original: Function, *arguments: Any, **named: Any) -> Any:
    """The message names one short lane of several."""
    try:
        return original(*arguments, **named)
    except CapacityWaitError as fault:
        first = CapacityWaitError(**{**vars(fault), "deficit": first_only(fault.deficit)})
        fault.args = first.args
        raise


@plant("C-INFEASIBLE-DEMAND/1", MAKE_ROOM)
def short_lanes_called_infeasible(original: Function, *arguments: Any, **named: Any) -> Any:
    """Every lane that is short now is infeasible."""
    change = telling(original, lambda fault: {"infeasible": short_lanes(fault.deficit)})
    return change(*arguments, **named)


@plant("C-INFEASIBLE-DEMAND/1", INFEASIBLE)
def infeasible_lanes_descending(original: Function, *arguments: Any) -> Any:
    """Infeasible lanes are told from the highest down."""
    return original(*arguments)[::-1]


@plant("C-INFEASIBLE-DEMAND/1", INFEASIBLE)
def infeasible_by_single_requests(
    original: Function, requests: Any, plans: Any, layout: LaneLayout
) -> Any:
    """A lane is infeasible only when one request alone exceeds it."""
    alone = [original([r], [p], layout) for r, p in zip(requests, plans, strict=True)]
    return tuple(sorted({lane for lanes in alone for lane in lanes}))


@plant("C-INFEASIBLE-DEMAND/2", MAKE_ROOM)
def infeasible_with_the_phases_of_now(
    original: Function, self: Any, required: Counts, *arguments: Any, **named: Any
) -> Any:
    """Infeasible lanes are judged with the phases that the present pool led to."""
    capacity = self.layout.capacity
    named["infeasible"] = lambda: tuple(
        lane for lane, pages in enumerate(required) if pages > capacity
    )
    return original(self, required, *arguments, **named)


class HopefulCapacityWaitError(CapacityWaitError):
    """Says that waiting helps, whatever is infeasible."""

    can_wait = True


@plant("C-INFEASIBLE-DEMAND/3", MAKE_ROOM)
def waiting_always_helps(original: Function, *arguments: Any, **named: Any) -> Any:
    """can_wait is true although a lane is infeasible."""
    try:
        return original(*arguments, **named)
    except CapacityWaitError as fault:
        raise HopefulCapacityWaitError(**vars(fault)) from None


@plant("C-INFEASIBLE-DEMAND/4", "allocator.ReferenceAllocator.plan_extend")
def dry_run_knows_no_infeasible_lane(original: Function, self: Any, requests: Any) -> Any:
    """`infeasible` of a dry run is empty."""
    return replace(original(self, requests), infeasible=())


@plant("C-INFEASIBLE-DEMAND/5", ALLOC)
def infeasible_batch_called_malformed(original: Function, self: Any, requests: Any) -> Any:
    """A batch that no empty pool could hold raises InvalidRequestError."""
    try:
        return original(self, requests)
    except CapacityWaitError as fault:
        if not fault.can_wait:
            raise InvalidRequestError("seq_len: too long", request_index=0) from None
        raise
