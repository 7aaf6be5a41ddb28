"""Faults in planning request by request, and in the dry run that tells a plan.

Each breaks one obligation of C-REQUEST-LOCAL-PLANNING; the splits themselves are dealt as the RFC
says. None of them is known to the kit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.ownership import with_phase
from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import planning
from ownerlanes.reference.contract import (
    CapacityWaitError,
    ContiguousPages,
    ExtendRequest,
    InvalidRequestError,
    RoundRobinPages,
    UnsupportedPagePlanError,
    ZigzagPages,
)


@plant("C-REQUEST-LOCAL-PLANNING/2", "allocator.ReferenceAllocator._planned")
def batch_concatenated_before_planning(original: Function, self: Any, requests: Any) -> Any:
    """The ZigzagPages requests of a batch are dealt as if they were one long request."""
    batch, plans = original(self, requests)
    dealt = [i for i, r in enumerate(batch) if r.split == ZigzagPages() and r.last_slot is None]
    lengths = [len(next(iter(plans[i].values()))) for i in dealt]
    owners = planning.zigzag(sum(lengths), self.layout.num_lanes)
    for index, length in zip(dealt, lengths, strict=True):
        own = [next(owners) for _ in range(length)]
        for phase in plans[index]:
            plans[index][phase] = tuple((o + phase) % self.layout.num_lanes for o in own)
    return batch, plans


@plant("C-REQUEST-LOCAL-PLANNING/1", "planning.plan")
def rotated_by_the_place_in_the_batch(original: Function, *arguments: Any) -> Any:
    """Each request is rotated by its index in the batch on top of its phase."""
    return with_phase(original, lambda index, phase: phase + index)(*arguments)


@plant("C-REQUEST-LOCAL-PLANNING/1", "allocator.ReferenceAllocator._planned")
def plan_moved_to_where_pages_are_free(original: Function, self: Any, requests: Any) -> Any:
    """A request of one page is planned on the lane with most free pages."""
    batch, plans = original(self, requests)
    free = [len(lane) for lane in self._pool.free]
    for request, choices in zip(batch, plans, strict=True):
        for phase, lanes in choices.items():
            if len(lanes) == 1 and request.last_slot is None:
                choices[phase] = (free.index(max(free)),)
    return batch, plans


@plant("C-REQUEST-LOCAL-PLANNING/3", "allocator.ReferenceAllocator._planned")
def first_split_for_the_whole_batch(original: Function, self: Any, requests: Any) -> Any:
    """Page splits of a batch are all planned as the first request's."""
    batch, _ = original(self, requests)
    pages = ZigzagPages | ContiguousPages | RoundRobinPages
    if batch and isinstance(batch[0].split, pages):
        requests = [
            replace(r, split=batch[0].split)
            if isinstance(r.split, pages) and r.last_slot is None
            else r
            for r in batch
        ]
    return original(self, requests)


DRY_RUN = "allocator.ReferenceAllocator.plan_extend"


@plant("C-REQUEST-LOCAL-PLANNING/4", DRY_RUN)
def dry_run_with_every_page_free(original: Function, self: Any, requests: Any) -> Any:
    """The deficit of a dry run is that of an empty pool."""
    plan = original(self, requests)
    capacity = self.layout.capacity
    return replace(plan, deficit=tuple(max(0, pages - capacity) for pages in plan.required))


@plant("C-REQUEST-LOCAL-PLANNING/4", DRY_RUN)
def dry_run_tells_the_last_demand(original: Function, self: Any, requests: Any) -> Any:
    """`required` of a dry run is the demand of the last request, not the sum."""
    plan = original(self, requests)
    return replace(plan, required=plan.demand[-1]) if plan.demand else plan


@plant("C-REQUEST-LOCAL-PLANNING/5", "capacity.new_pages")
def demand_counts_the_tail_page(
    _: Function, __: ExtendRequest, lanes: tuple[int, ...]
) -> tuple[int, ...]:
    """A tail page is counted as a page to be taken."""
    return lanes


@plant("C-REQUEST-LOCAL-PLANNING/6", DRY_RUN)
def dry_run_of_a_bad_batch_plans_the_good_part(original: Function, self: Any, requests: Any) -> Any:
    """A dry run leaves out the request at fault and those after it."""
    try:
        return original(self, requests)
    except (InvalidRequestError, UnsupportedPagePlanError) as fault:
        return original(self, list(requests)[: fault.request_index])


@plant("C-REQUEST-LOCAL-PLANNING/7", DRY_RUN)
def dry_run_waits(original: Function, self: Any, requests: Any) -> Any:
    """A dry run of a batch that does not fit raises CapacityWaitError."""
    plan = original(self, requests)
    if any(plan.deficit):
        raise CapacityWaitError(
            required=plan.required,
            available=self._free(),
            deficit=plan.deficit,
            evicted=(0,) * self.layout.num_lanes,
            infeasible=plan.infeasible,
        )
    return plan


@plant("C-REQUEST-LOCAL-PLANNING/8", DRY_RUN)
def dry_run_takes_the_pages(original: Function, self: Any, requests: Any) -> Any:
    """A dry run of a batch that fits allocates it."""
    plan = original(self, requests)
    if not any(plan.deficit):
        self.alloc_extend(requests)
    return plan


@plant("C-REQUEST-LOCAL-PLANNING/8", DRY_RUN)
def dry_run_evicts(original: Function, self: Any, requests: Any) -> Any:
    """A dry run has the evictor evict what the batch is short of."""
    plan = original(self, requests)
    if any(plan.deficit) and self._evictor.count_once() is not None:
        self._evictor.evict(plan.deficit)
    return plan
