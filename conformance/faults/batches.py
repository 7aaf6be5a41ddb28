"""Faults in all-or-nothing: what a failed batch leaves, which fault is told, calls of nothing.

Each breaks one obligation of C-ATOMIC-BATCH; what a batch that fits is given is right. None of
them is known to the kit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ExtendAllocation,
    InvalidArgumentError,
    InvalidRequestError,
    LaneLayout,
    UnsupportedPagePlanError,
)
from ownerlanes.reference.validation import checked_lanes

ALLOC = "allocator.ReferenceAllocator.alloc_extend"
ALLOC_PAGES = "allocator.ReferenceAllocator.alloc_pages"
PLANNED = "allocator.ReferenceAllocator._planned"


@plant("C-ATOMIC-BATCH/1", ALLOC)
def requests_that_fit_keep_their_pages(original: Function, self: Any, requests: Any) -> Any:
    """Of a batch that does not fit, the first request stays allocated where it fits alone."""
    try:
        return original(self, requests)
    except CapacityWaitError:
        if len(requests) > 1 and not any(self.plan_extend(requests[:1]).deficit):
            original(self, requests[:1])
        raise


@plant("C-ATOMIC-BATCH/1", ALLOC)
def rollback_forgets_the_last_lane(original: Function, self: Any, requests: Any) -> Any:
    """A batch that fails on a lane keeps a page of the highest lane that had room."""
    try:
        return original(self, requests)
    except CapacityWaitError as fault:
        roomy = [
            lane
            for lane, missing in enumerate(fault.deficit)
            if not missing and fault.required[lane]
        ]
        self._pool, _ = pool.take(self._pool, roomy[-1:])
        raise


@plant("C-ATOMIC-BATCH/1", ALLOC_PAGES)
def pages_before_the_short_lane_stay_taken(original: Function, self: Any, owners: Any) -> Any:
    """alloc_pages that fails keeps the pages that it took before the short lane."""
    try:
        return original(self, owners)
    except CapacityWaitError:
        for lane in owners:
            if not self._pool.free[lane]:
                break
            self._pool, _ = pool.take(self._pool, (lane,))
        raise


@plant("C-ATOMIC-BATCH/2", ALLOC)
def capacity_checked_before_the_plans(original: Function, self: Any, requests: Any) -> Any:
    """A batch with an unsupported plan and a shortage before it tells the shortage."""
    try:
        return original(self, requests)
    except UnsupportedPagePlanError as fault:
        before = list(requests)[: fault.request_index]
        if any(self.plan_extend(before).deficit):
            original(self, before)
        raise


@plant("C-ATOMIC-BATCH/2", PLANNED)
def each_request_checked_and_planned_in_turn(original: Function, self: Any, requests: Any) -> Any:
    """An unsupported plan is told before a malformed request that comes later."""
    try:
        return original(self, requests)
    except InvalidRequestError as fault:
        original(self, list(requests)[: fault.request_index])
        raise


@plant("C-ATOMIC-BATCH/3", PLANNED)
def fault_told_without_its_place(original: Function, self: Any, requests: Any) -> Any:
    """request_index of an InvalidRequestError is always 0."""
    try:
        return original(self, requests)
    except InvalidRequestError as fault:
        raise InvalidRequestError(str(fault), request_index=0) from None


@plant("C-ATOMIC-BATCH/4", PLANNED)
def zero_length_extend_refused(original: Function, self: Any, requests: Any) -> Any:
    """A request without new tokens is malformed."""
    batch, plans = original(self, requests)
    for index, request in enumerate(batch):
        if request.prefix_len == request.seq_len:
            raise InvalidRequestError("seq_len: expected new tokens", request_index=index)
    return batch, plans


@plant("C-ATOMIC-BATCH/4", ALLOC)
def zero_length_extends_left_out(original: Function, self: Any, requests: Any) -> Any:
    """`pages` has no row for a request without new tokens."""
    given: ExtendAllocation = original(self, requests)
    ends = given.extend_offsets
    kept = [i for i in range(len(given.pages)) if ends[i] < ends[i + 1]]
    return replace(given, pages=tuple(given.pages[i] for i in kept))


@plant("C-ATOMIC-BATCH/5", ALLOC)
def empty_batch_without_offsets(original: Function, self: Any, requests: Any) -> Any:
    """extend_offsets of an empty batch is empty."""
    given: ExtendAllocation = original(self, requests)
    return given if given.pages else replace(given, extend_offsets=())


@plant("C-ATOMIC-BATCH/5", ALLOC)
def empty_batch_refused(original: Function, self: Any, requests: Any) -> Any:
    """An empty batch is an invalid argument."""
    given: ExtendAllocation = original(self, requests)
    if not given.pages:
        raise InvalidArgumentError("requests: expected at least one")
    return given


@plant("C-ATOMIC-BATCH/6", ALLOC_PAGES)
def pages_without_tokens_sorted_by_lane(original: Function, self: Any, owners: Any) -> Any:
    """alloc_pages gives its pages lane by lane, not in the order of `owners`."""
    return tuple(sorted(original(self, owners), key=self.layout.lane_of_page))


@plant("C-ATOMIC-BATCH/6", ALLOC_PAGES)
def one_page_for_each_distinct_owner(original: Function, self: Any, owners: Any) -> Any:
    """alloc_pages gives one page for a lane that is named twice."""
    return original(self, tuple(dict.fromkeys(checked_lanes(owners, self.layout))))


@plant("C-ATOMIC-BATCH/7", ALLOC_PAGES)
def pages_without_tokens_never_evict(original: Function, self: Any, owners: Any) -> Any:
    """alloc_pages waits without asking the evictor."""
    evictor = self._evictor
    self._evictor = type(evictor)(None, self.layout)
    try:
        return original(self, owners)
    finally:
        self._evictor = evictor


@plant("C-ATOMIC-BATCH/8", "allocator.checked_lanes")
def negative_owners_count_from_the_last_lane(
    original: Function, owners: Any, layout: LaneLayout
) -> Any:
    """Owner -1 of alloc_pages is lane N-1."""
    if isinstance(owners, list) and all(type(owner) is int for owner in owners):
        owners = [o + layout.num_lanes if -layout.num_lanes <= o < 0 else o for o in owners]
    return original(owners, layout)


@plant("C-ATOMIC-BATCH/9", PLANNED)
def no_batch_is_an_empty_batch(original: Function, self: Any, requests: Any) -> Any:
    """None in place of requests is an empty batch."""
    return original(self, [] if requests is None else requests)


@plant("C-ATOMIC-BATCH/10", ALLOC)
def shortage_told_by_a_memory_error(original: Function, self: Any, requests: Any) -> Any:
    """A shortage raises MemoryError with the right attributes."""
    try:
        return original(self, requests)
    except CapacityWaitError as fault:
        error = MemoryError(str(fault))
        error.__dict__.update(vars(fault), can_wait=fault.can_wait)
        raise error from None
