"""ReferenceAllocator: the contract as one object, for others to be compared with.

It strings together the checks (validation), the plans (planning), the counts (capacity), the
eviction protocol (eviction) and the transitions (pool) in the order that the RFC gives. The only
thing that it ever changes is which PoolSnapshot it holds, after the last check that can fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice, pairwise

from ownerlanes.reference import pool
from ownerlanes.reference.capacity import (
    Counts,
    Plans,
    choose_phases,
    count_lanes,
    covers,
    deficits,
    demand_by_lane,
    infeasible_lanes,
    short_lanes,
    total,
)
from ownerlanes.reference.contract import (
    BatchPlan,
    CapacityWaitError,
    Evictor,
    ExtendAllocation,
    ExtendRequest,
    InvalidArgumentError,
    InvalidFreeError,
    InvalidRequestError,
    LaneLayout,
    Page,
    PoolSnapshot,
    shown,
)
from ownerlanes.reference.eviction import EvictorCalls, check_given_up
from ownerlanes.reference.planning import new_pages, supported_plans
from ownerlanes.reference.validation import checked_ids, checked_lanes, checked_request


class ReferenceAllocator:
    """The oracle. Same contract as any other allocator, and no speed to speak of.

    Time and memory grow with the tokens of a batch and the pages of the pool, which it enumerates:
    it is for batches of up to some 10**6 tokens, not for every length that a request may have.

    Args:
        layout: the pool.
        evictor: who may give pages up when a lane is short, or None.

    Raises:
        InvalidArgumentError: `layout` is not a LaneLayout, or `evictor` lacks a method.
    """

    def __init__(self, layout: LaneLayout, evictor: Evictor | None = None) -> None:
        if not isinstance(layout, LaneLayout):
            raise InvalidArgumentError(f"layout: expected a LaneLayout, found {shown(layout)}")
        self.layout = layout
        self._pool = pool.all_free(layout)
        self._evictor = EvictorCalls(evictor, layout)

    def alloc_extend(self, requests: Sequence[ExtendRequest]) -> ExtendAllocation:
        """Pages and slots for the new tokens of a batch, all or nothing.

        Serves [[RFC-0001:C-ATOMIC-BATCH]] and [[RFC-0001:C-FLATTENED-ORDER]].

        Raises:
            InvalidArgumentError: `requests` is not a sequence.
            InvalidRequestError, UnsupportedPagePlanError, CapacityWaitError: in this order over
                the whole batch; of the first two, the first request at fault.
            EvictorContractError: the evictor broke its contract; its own exceptions pass through.
            ReentrantCallError: called back from the evictor.
        """
        self._evictor.refuse_reentry("alloc_extend")
        batch, plans = self._planned(requests)
        evictable = self._evictor.count_once()
        phases = choose_phases(batch, plans, self.layout, self._free(), evictable)
        evicted = self._make_room(
            total(demand_by_lane(batch, plans, phases, self.layout), self.layout),
            evictable,
            infeasible=lambda: infeasible_lanes(batch, plans, self.layout),
            filling={self.layout.page_of_slot(slot) for slot in _last_slots(batch)},
        )
        lanes = [
            new_pages(request, choices[phase])
            for request, choices, phase in zip(batch, plans, phases, strict=True)
        ]
        self._pool, taken = pool.take(self._pool, tuple(chain.from_iterable(lanes)))
        pages = tuple(taken[a:b] for a, b in pairwise(accumulate(map(len, lanes), initial=0)))
        lengths = (request.seq_len - request.prefix_len for request in batch)
        return ExtendAllocation(
            out_cache_loc=tuple(chain.from_iterable(map(self._slots, batch, pages))),
            extend_offsets=tuple(accumulate(lengths, initial=0)),
            pages=pages,
            phases=tuple(phases),
            evicted=evicted,
        )

    def plan_extend(self, requests: Sequence[ExtendRequest]) -> BatchPlan:
        """What alloc_extend would take, for admission; changes nothing and never waits.

        Serves [[RFC-0001:C-REQUEST-LOCAL-PLANNING]].

        Raises:
            InvalidArgumentError, InvalidRequestError, UnsupportedPagePlanError: as alloc_extend.
            EvictorContractError, ReentrantCallError: as alloc_extend, when a phase is to choose.
        """
        self._evictor.refuse_reentry("plan_extend")
        batch, plans = self._planned(requests)
        evictable = self._evictor.count_once()
        phases = choose_phases(batch, plans, self.layout, self._free(), evictable)
        demand = demand_by_lane(batch, plans, phases, self.layout)
        required = total(demand, self.layout)
        return BatchPlan(
            phases=tuple(phases),
            demand=demand,
            required=required,
            deficit=deficits(required, self._free()),
            infeasible=infeasible_lanes(batch, plans, self.layout),
        )

    def alloc_pages(self, owners: Sequence[int]) -> tuple[Page, ...]:
        """One new page on each named lane, in that order, all or nothing.

        Raises:
            InvalidArgumentError: an owner is not a lane.
            CapacityWaitError, EvictorContractError, ReentrantCallError: as alloc_extend.
        """
        self._evictor.refuse_reentry("alloc_pages")
        lanes = checked_lanes(owners, self.layout)
        required = count_lanes(lanes, self.layout)
        everything = (self.layout.capacity,) * self.layout.num_lanes
        self._make_room(
            required,
            self._evictor.count_once(),
            infeasible=lambda: short_lanes(deficits(required, everything)),
            filling=set(),
        )
        self._pool, pages = pool.take(self._pool, lanes)
        return pages

    def free(self, slots: Iterable[int]) -> None:
        """Release every page that the slots touch; duplicates are one release.

        Serves [[RFC-0001:C-RELEASE]].

        Raises:
            InvalidFreeError: a page is free, reserved or out of range; nothing was released.
        """
        self._refuse_release("free")
        ids = checked_ids(slots, "slots")
        self._release("free", (slot // self.layout.page_size for slot in ids))

    def free_pages(self, pages: Iterable[int]) -> None:
        """Release these pages; duplicates are one release.

        Serves [[RFC-0001:C-RELEASE]].

        Raises:
            InvalidFreeError: a page is free, reserved or out of range; nothing was released.
        """
        self._refuse_release("free_pages")
        self._release("free_pages", checked_ids(pages, "pages"))

    def available_pages(self) -> Counts:
        """The free pages, by lane."""
        self._evictor.refuse_reentry("available_pages")
        return self._free()

    def snapshot(self) -> PoolSnapshot:
        """The whole state, as data."""
        self._evictor.refuse_reentry("snapshot")
        return self._pool

    def digest(self) -> str:
        """The whole state in 64 hex digits; see pool.digest for the encoding."""
        self._evictor.refuse_reentry("digest")
        return pool.digest(self._pool)

    def clear(self) -> None:
        """Make every page free that is not reserved; the evictor is the caller's to clear."""
        self._evictor.refuse_reentry("clear")
        self._pool = pool.all_free(self.layout)

    def _free(self) -> Counts:
        return pool.free_counts(self._pool)

    def _planned(self, requests: Sequence[ExtendRequest]) -> tuple[list[ExtendRequest], Plans]:
        """The checked batch and the plans of each request; every request is checked first."""
        try:
            given = list(requests)
        except TypeError:
            raise InvalidArgumentError(
                f"requests: expected a sequence of ExtendRequest, found {shown(requests)}"
            ) from None
        batch: list[ExtendRequest] = []
        for index, request in enumerate(given):
            checked = checked_request(request, self.layout, index)
            if checked.last_slot is not None:
                self._check_tail_page(checked.last_slot, index, batch)
            batch.append(checked)
        return batch, [supported_plans(r, self.layout, index) for index, r in enumerate(batch)]

    def _check_tail_page(self, slot: int, index: int, earlier: list[ExtendRequest]) -> None:
        page = self.layout.page_of_slot(slot)
        if not pool.is_allocated(self._pool, page):
            raise InvalidRequestError(
                f"last_slot: expected a slot of an allocated page, found {slot} of page {page}",
                request_index=index,
            )
        if any(self.layout.page_of_slot(other) == page for other in _last_slots(earlier)):
            raise InvalidRequestError(
                f"last_slot: slot {slot} is on page {page}, which an earlier request of the batch "
                "fills",
                request_index=index,
            )

    def _make_room(
        self,
        required: Counts,
        evictable: Callable[[], Counts] | None,
        *,
        infeasible: Callable[[], tuple[int, ...]],
        filling: set[Page],
    ) -> tuple[int, ...]:
        """Have `required` pages free on every lane, evicting at most once; the pages evicted.

        Serves [[RFC-0001:C-CAPACITY-AND-EVICTION]].
        """
        deficit = deficits(required, self._free())
        evicted: tuple[int, ...] = ()
        if any(deficit) and evictable is not None and covers(evictable(), deficit):
            evicted = self._evict(deficit, filling)
            deficit = deficits(required, self._free())
        if any(deficit):
            evicted_lanes = [self.layout.lane_of_page(page) for page in evicted]
            raise CapacityWaitError(
                required=required,
                available=self._free(),
                deficit=deficit,
                evicted=count_lanes(evicted_lanes, self.layout),
                infeasible=infeasible(),
            )
        return evicted

    def _evict(self, deficit: Counts, filling: set[Page]) -> tuple[int, ...]:
        given_up = self._evictor.evict(deficit)
        check_given_up(
            given_up, lambda page: pool.is_allocated(self._pool, page) and page not in filling
        )
        self._pool = pool.release(self._pool, given_up)
        return tuple(sorted(given_up))

    def _refuse_release(self, name: str) -> None:
        """During evict() a release is the evictor's way to give pages up."""
        if not self._evictor.evicting:
            self._evictor.refuse_reentry(name)

    def _release(self, name: str, pages: Iterable[int]) -> None:
        distinct = list(dict.fromkeys(pages))
        if self._evictor.evicting:
            self._evictor.give_up(distinct)
            return
        for page in distinct:
            if not pool.is_allocated(self._pool, page):
                raise InvalidFreeError(
                    f"{name}: page {shown(page)} is free, reserved or out of range; "
                    "nothing was released"
                )
        self._pool = pool.release(self._pool, distinct)

    def _slots(self, request: ExtendRequest, pages: tuple[Page, ...]) -> Iterator[int]:
        """The slots of a request's new tokens: the tail page's rest, then the new pages."""
        size = self.layout.page_size
        tail = () if request.last_slot is None else (self.layout.page_of_slot(request.last_slot),)
        slots = chain.from_iterable(
            range(page * size, (page + 1) * size) for page in (*tail, *pages)
        )
        first = request.prefix_len % size
        return islice(slots, first, first + request.seq_len - request.prefix_len)


def _last_slots(batch: Iterable[ExtendRequest]) -> Iterator[int]:
    return (request.last_slot for request in batch if request.last_slot is not None)
