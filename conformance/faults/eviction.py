"""Faults in the conversation with an evictor: when it is asked, and how its answer is judged.

Each breaks one obligation of C-LANE-EVICTION on the allocator's side; the cache's side is not an
allocator's. None of them is known to the kit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ownerlanes.conformance.faults.planting import Function, plant
from ownerlanes.reference import pool
from ownerlanes.reference.capacity import Counts
from ownerlanes.reference.contract import (
    CapacityWaitError,
    EvictorContractError,
    OwnerLaneError,
    PoolSnapshot,
)

ALLOC = "allocator.ReferenceAllocator.alloc_extend"
MAKE_ROOM = "allocator.ReferenceAllocator._make_room"
EVICT = "allocator.ReferenceAllocator._evict"
JUDGE = "allocator.check_given_up"
ASK_COUNT = "eviction.EvictorCalls._evictable_pages"
ASK_PAGES = "eviction.EvictorCalls.evict"
REENTRY = "eviction.EvictorCalls.refuse_reentry"
MayRelease = Callable[[int], bool]


@plant("C-LANE-EVICTION/1", MAKE_ROOM)
def evicts_with_nothing_short(original: Function, self: Any, *arguments: Any, **named: Any) -> Any:
    """evict is called in every allocation, with a deficit of zeros where nothing is short."""
    evicted = original(self, *arguments, **named)
    if not evicted and arguments[1] is not None:
        self._evictor.evict((0,) * self.layout.num_lanes)
    return evicted


@plant("C-LANE-EVICTION/2", "allocator.covers")
def evicts_before_checking_that_it_helps(_: Function, __: Counts, ___: Counts) -> bool:
    """evict is called although what is evictable cannot cover the deficit."""
    return True


@plant("C-LANE-EVICTION/2", "allocator.covers")
def coverage_checked_in_total(_: Function, evictable: Counts, deficit: Counts) -> bool:
    """evict is called when the evictable pages of all lanes together are enough."""
    return sum(evictable) >= sum(deficit)


@plant("C-LANE-EVICTION/2", "allocator.covers")
def one_lane_covered_is_enough(_: Function, evictable: Counts, deficit: Counts) -> bool:
    """evict is called when the evictable pages cover one of the short lanes."""
    return any(0 < want <= have for have, want in zip(evictable, deficit, strict=True))


@plant("C-LANE-EVICTION/3", "allocator.covers")
def more_than_the_deficit_wanted(_: Function, evictable: Counts, deficit: Counts) -> bool:
    """evict is called only when more is evictable than the deficit of each short lane."""
    return all(have > want for have, want in zip(evictable, deficit, strict=True) if want)


@plant("C-LANE-EVICTION/3", EVICT)
def evicts_and_retries_twice(
    original: Function, self: Any, deficit: Counts, filling: set[int]
) -> Any:
    """evict is called again when the first answer was too little."""
    before = tuple(map(len, self._pool.free))
    evicted = original(self, deficit, filling)
    after = tuple(map(len, self._pool.free))
    got = zip(deficit, before, after, strict=True)
    left = tuple(max(0, want - (new - old)) for want, old, new in got)
    return (*evicted, *original(self, left, filling)) if any(left) else evicted


@plant("C-LANE-EVICTION/3", MAKE_ROOM)
def evict_given_what_is_required(
    original: Function, self: Any, required: Counts, *arguments: Any, **named: Any
) -> Any:
    """evict is called with the required pages in place of the deficit."""
    evict = self._evict
    self._evict = lambda _, filling: evict(required, filling)
    try:
        return original(self, required, *arguments, **named)
    finally:
        del self._evict


@plant("C-LANE-EVICTION/4", "eviction.EvictorCalls.count_once")
def evictable_pages_asked_in_every_call(original: Function, self: Any) -> Any:
    """evictable_pages() is asked in every call, needed or not."""
    ask = original(self)
    if ask is not None:
        ask()
    return ask


@plant("C-LANE-EVICTION/4", "eviction.EvictorCalls.count_once")
def evictable_pages_asked_again(original: Function, self: Any) -> Any:
    """evictable_pages() is asked anew wherever its answer is needed."""
    return None if original(self) is None else self._evictable_pages


@plant("C-LANE-EVICTION/5", "allocator.ReferenceAllocator._release")
def pages_freed_meanwhile_released_at_once(
    original: Function, self: Any, name: str, pages: Any
) -> None:
    """free and free_pages during evict() release at once and are not judged with the rest."""
    asking, self._evictor._asking = self._evictor._asking, None
    try:
        original(self, name, pages)
    finally:
        self._evictor._asking = asking


@plant("C-LANE-EVICTION/5", ASK_PAGES)
def pages_freed_meanwhile_forgotten(original: Function, self: Any, deficit: Counts) -> Any:
    """What an evictor frees through the allocator is not released."""
    given_up = original(self, deficit)
    return given_up[len(self._given_up) :]


@plant("C-LANE-EVICTION/6", JUDGE)
def page_being_filled_given_up(
    original: Function, pages: Sequence[int], may_release: MayRelease
) -> None:
    """A tail page of the batch may be evicted under it."""
    filling = inside(may_release, "filling")
    original([page for page in pages if page not in filling], may_release)


def inside(function: Any, name: str) -> Any:
    """The value that a closure holds under a name."""
    names = function.__code__.co_freevars
    return function.__closure__[names.index(name)].cell_contents


@plant("C-LANE-EVICTION/6", JUDGE)
def page_given_up_twice_accepted(
    original: Function, pages: Sequence[int], may_release: MayRelease
) -> None:
    """A page that an evictor names twice is accepted."""
    original(tuple(dict.fromkeys(pages)), may_release)


@plant("C-LANE-EVICTION/6", JUDGE)
def first_wrong_page_told_only(
    original: Function, pages: Sequence[int], may_release: MayRelease
) -> None:
    """Of several pages that must not be given up, one is told."""
    try:
        original(pages, may_release)
    except EvictorContractError as fault:
        raise EvictorContractError(pages=fault.pages[:1]) from None


@plant("C-LANE-EVICTION/6", JUDGE, "pool.release")
def wrong_pages_left_out(original: Function, first: Any, second: Any) -> Any:
    """Pages that must not be given up are left out, and the others released."""
    if not isinstance(first, PoolSnapshot):  # the judgement
        return None
    return original(first, {page for page in second if pool.is_allocated(first, page)})


@plant("C-LANE-EVICTION/6", ASK_PAGES)
def pages_out_of_range_left_out(original: Function, self: Any, deficit: Counts) -> Any:
    """Pages out of range are left out of what an evictor gave up, and nobody is told."""
    return tuple(page for page in original(self, deficit) if 0 <= page < self._layout.num_pages)


@plant("C-LANE-EVICTION/7", EVICT)
def pages_of_other_lanes_kept(
    original: Function, self: Any, deficit: Counts, filling: set[int]
) -> Any:
    """Pages that an evictor gives up on lanes that are not short stay allocated."""
    before = self._pool
    evicted = original(self, deficit, filling)
    free = (
        new if want else old
        for new, old, want in zip(self._pool.free, before.free, deficit, strict=True)
    )
    self._pool = PoolSnapshot(self.layout, tuple(free))
    return evicted


@plant("C-LANE-EVICTION/7", ASK_PAGES)
def pages_beyond_the_deficit_kept(original: Function, self: Any, deficit: Counts) -> Any:
    """Of what an evictor gives up, only as many pages as are missing are released."""
    return original(self, deficit)[: sum(deficit)]


@plant("C-LANE-EVICTION/8", MAKE_ROOM)
def eviction_undone_when_too_little(
    original: Function, self: Any, *arguments: Any, **named: Any
) -> Any:
    """When the evicted pages are too few, they are allocated again."""
    before = self._pool
    try:
        return original(self, *arguments, **named)
    except CapacityWaitError:
        self._pool = before
        raise


class Padded:
    """An evictor, with zeros for the counts that it leaves out."""

    def __init__(self, evictor: Any, lanes: int) -> None:
        self._evictor = evictor
        self._lanes = lanes

    def evictable_pages(self) -> Any:
        """Its counts, at least one a lane."""
        counts = self._evictor.evictable_pages()
        if not isinstance(counts, tuple):
            return counts
        return (*counts, *(0,) * (self._lanes - len(counts)))


@plant("C-LANE-EVICTION/9", ASK_COUNT)
def missing_counts_are_zeros(original: Function, self: Any) -> Any:
    """Too few counts of evictable_pages() are filled up with zeros."""
    evictor = self._evictor
    self._evictor = Padded(evictor, self._layout.num_lanes)
    try:
        return original(self)
    finally:
        self._evictor = evictor


@plant("C-LANE-EVICTION/9", "eviction._integers")
def floats_of_an_evictor_truncated(original: Function, answer: Sequence[Any], name: str) -> Any:
    """Floats in an evictor's answer are cut to integers."""
    return original([int(x) if isinstance(x, float) else x for x in answer], name)


@plant("C-LANE-EVICTION/10", REENTRY)
def reads_allowed_while_evicting(original: Function, self: Any, name: str) -> None:
    """available_pages, snapshot and digest answer during evict()."""
    if not (self.evicting and name in ("available_pages", "snapshot", "digest")):
        original(self, name)


@plant("C-LANE-EVICTION/10", REENTRY)
def doors_open_while_counting(original: Function, self: Any, name: str) -> None:
    """The allocator can be called during evictable_pages()."""
    if self._asking != "evictable_pages":
        original(self, name)


@plant("C-LANE-EVICTION/10", REENTRY)
def allocation_allowed_while_evicting(original: Function, self: Any, name: str) -> None:
    """alloc_pages answers during evict()."""
    if not (self.evicting and name == "alloc_pages"):
        original(self, name)


@plant("C-LANE-EVICTION/11", ASK_PAGES)
def failure_of_the_evictor_taken_for_no_pages(
    original: Function, self: Any, deficit: Counts
) -> Any:
    """An exception of the evictor's own counts as an empty answer."""
    try:
        return original(self, deficit)
    except OwnerLaneError:
        raise
    except Exception:
        return ()


@plant("C-LANE-EVICTION/11", EVICT)
def pages_freed_before_a_failure_stay_released(
    original: Function, self: Any, *arguments: Any
) -> Any:
    """What an evictor freed before it raised is released all the same."""
    try:
        return original(self, *arguments)
    except OwnerLaneError:
        raise
    except Exception:
        with suppress(OwnerLaneError):
            self._pool = pool.release(self._pool, set(self._evictor._given_up))
        raise


@plant("C-LANE-EVICTION/12", ALLOC)
def evicted_pages_not_told(original: Function, self: Any, requests: Any) -> Any:
    """`evicted` of an allocation is empty."""
    return replace(original(self, requests), evicted=())


@plant("C-LANE-EVICTION/12", EVICT)
def evicted_pages_in_the_order_given(original: Function, self: Any, *arguments: Any) -> Any:
    """`evicted` holds the page ids from the highest down."""
    return original(self, *arguments)[::-1]


@plant("C-LANE-EVICTION/12", MAKE_ROOM)
def evicted_of_a_wait_not_told(original: Function, *arguments: Any, **named: Any) -> Any:
    """`evicted` of a CapacityWaitError is all zeros."""
    try:
        return original(*arguments, **named)
    except CapacityWaitError as fault:
        given = vars(fault) | {"evicted": (0,) * len(fault.evicted)}
        raise CapacityWaitError(**given) from None
